//! Finds the manifests in a directory.

use std::collections::BTreeSet;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use ignore::WalkBuilder;

use super::InputError;

/// The maximum size of a `.gitignore` in bytes. The walker reads one as a whole, and its patterns take many times as much
/// memory.
const MAX_IGNORE_BYTES: u64 = 1024 * 1024;

/// Lists the `.yaml`, `.yml` and `.json` files below a directory in order, and `Kustomization` files, which tell which
/// of the others are patches. Hidden files, files in a `.gitignore`, and linked directories are skipped.
///
/// A `.gitignore` applies outside of a repository, too; one above the directory applies only inside of a repository.
/// Thus the result depends on the tree alone, and not on the git settings or the home directory of a user.
///
/// A link to another listed file comes last: what is read twice gets the name of the first entry, and findings about the
/// name of the link would not be shown on the lines of a changed file.
///
/// The list contains an error for each entry that cannot be read.
pub(super) fn find_manifests(directory: &Path) -> Vec<Result<PathBuf, InputError>> {
    let mut walk = WalkBuilder::new(directory);
    // In a repository, the walker looks for .gitignore files up to its root. Outside of one, `parents(true)` would make
    // it search up to the root of the file system.
    let in_repository = in_repository(directory);
    walk.standard_filters(false).hidden(true).git_ignore(true).parents(in_repository).require_git(in_repository);
    walk.follow_links(false).sort_by_file_name(Ord::cmp);
    // The walker reads every `.gitignore`, also those above in a repository, whatever they are.
    let above = if in_repository { repository_directories(directory) } else { vec![directory.to_owned()] };
    let mut files: Vec<Result<PathBuf, InputError>> =
        above.iter().filter_map(|folder| check_ignore_file(folder).err()).map(Err).collect();
    if !files.is_empty() {
        return files;
    }
    let refused: Arc<Mutex<Vec<InputError>>> = Arc::default();
    let refusals = Arc::clone(&refused);
    walk.filter_entry(move |entry| {
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        let checked = if is_directory { check_ignore_file(entry.path()) } else { Ok(()) };
        checked.map_err(|error| refusals.lock().unwrap_or_else(PoisonError::into_inner).push(error)).is_ok()
    });
    let mut links = Vec::new();
    for entry in walk.build() {
        match entry {
            Ok(entry) => {
                let Some(kind) = entry.file_type().filter(|_| is_manifest(entry.path())) else { continue };
                if kind.is_symlink() && fs::metadata(entry.path()).is_err() {
                    files.push(Err(InputError::DanglingLink(strip_current_dir(entry.path()).display().to_string())));
                } else if is_readable(kind, entry.path()) {
                    if kind.is_symlink() {
                        links.push(files.len());
                    }
                    files.push(Ok(strip_current_dir(entry.path())));
                }
            }
            Err(error) => files.push(Err(InputError::Walk(error))),
        }
    }
    move_duplicates_last(&mut files, &links);
    files.extend(refused.lock().unwrap_or_else(PoisonError::into_inner).drain(..).map(Err));
    files
}

/// Moves those of the links, given by their places in the list, to its end that lead to another file of the list.
fn move_duplicates_last(files: &mut Vec<Result<PathBuf, InputError>>, links: &[usize]) {
    if links.is_empty() {
        return;
    }
    let is_link = |place: &usize| links.binary_search(place).is_ok();
    let target = |file: &Result<PathBuf, InputError>| file.as_ref().ok()?.canonicalize().ok();
    let regular = files.iter().enumerate().filter(|(place, _)| !is_link(place));
    let regular: BTreeSet<PathBuf> = regular.filter_map(|(_, file)| target(file)).collect();
    let mut place = 0;
    let (duplicates, mut others): (Vec<_>, Vec<_>) = files.drain(..).partition(|file| {
        place += 1;
        is_link(&(place - 1)) && target(file).is_some_and(|target| regular.contains(&target))
    });
    others.extend(duplicates);
    *files = others;
}

/// Returns the directories whose `.gitignore` the walker opens for a directory in a repository: itself and all above it.
/// Those above the repository do not apply, but the walker reads them before it finds that out.
fn repository_directories(directory: &Path) -> Vec<PathBuf> {
    let Ok(directory) = directory.canonicalize() else { return Vec::new() };
    directory.ancestors().map(Path::to_owned).collect()
}

/// Checks that the `.gitignore` of a directory, if there is one, is a small regular file, as git requires. A link may
/// lead to a device without an end, and a pipe may never be written.
fn check_ignore_file(directory: &Path) -> Result<(), InputError> {
    let path = directory.join(".gitignore");
    let refuse = |reason: &str| {
        let error = io::Error::new(io::ErrorKind::InvalidInput, reason.to_owned());
        Err(InputError::Read(path.display().to_string(), error))
    };
    match fs::symlink_metadata(&path) {
        Ok(metadata) if !metadata.is_file() => refuse("is not a regular file, so it is not followed or read"),
        Ok(metadata) if metadata.len() > MAX_IGNORE_BYTES => refuse("is larger than 1 MiB"),
        _ => Ok(()),
    }
}

fn in_repository(directory: &Path) -> bool {
    directory.canonicalize().is_ok_and(|path| path.ancestors().any(|ancestor| ancestor.join(".git").exists()))
}

/// Whether an entry is a file, or a link to one, as in mounted ConfigMaps. Pipes are skipped, because they might never
/// end.
fn is_readable(kind: FileType, path: &Path) -> bool {
    kind.is_file() || (kind.is_symlink() && fs::metadata(path).is_ok_and(|target| target.is_file()))
}

/// Explains that a directory has no manifest to read: none at all, or only hidden files and files that git ignores.
pub(super) fn describe_empty(directory: &Path) -> String {
    let all = WalkBuilder::new(directory).standard_filters(false).hidden(true).build().flatten();
    let ignored = all.filter(|entry| is_manifest(entry.path()) && entry.file_type().is_some_and(|kind| kind.is_file()));
    let name = directory.display();
    match ignored.count() {
        0 => format!("{name}: contains no .yaml, .yml or .json file"),
        1 => format!("{name}: its only file of the kind .yaml, .yml or .json is ignored by git; name it to read it"),
        count => format!("{name}: its {count} .yaml, .yml and .json files are ignored by git; name them to read them"),
    }
}

/// Removes a leading `./`, so that `render .` reports `llama.yaml` and not `./llama.yaml`.
pub(super) fn strip_current_dir(path: &Path) -> PathBuf {
    path.strip_prefix(".").unwrap_or(path).to_owned()
}

pub(super) fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("yaml" | "yml" | "json")) || path.file_name().is_some_and(|name| name == "Kustomization")
}
