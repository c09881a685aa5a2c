//! Finds the manifests in a directory.
//!
//! ```text
//! directory ─ entries, sorted ─┬─ hidden or matched by a .gitignore ─ read only if git tracks it
//!                              └─ any other ─ read
//! ```

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::error::InputError;
use super::git;
use super::paths::{is_kustomization, is_manifest, strip_current_dir};

/// The name of the files with patterns of what git ignores.
const IGNORE_FILE: &str = ".gitignore";

/// The maximum size of a `.gitignore` in bytes.
const MAX_IGNORE_BYTES: u64 = 1024 * 1024;

/// The maximum number of patterns in all `.gitignore` files of a run. Each takes kilobytes of memory.
const MAX_IGNORE_PATTERNS: usize = 50_000;

/// The maximum length of a pattern in bytes. No path is longer.
pub(crate) const MAX_PATTERN_BYTES: usize = 4096;

/// Lists the files of directories, with what is shared by all walks of a run.
#[derive(Debug, Default)]
pub(crate) struct Walker {
    /// The number of patterns in the `.gitignore` files that were read.
    ignore_patterns: Cell<usize>,
    /// What git tracks, by the root of the repository; `None` if git cannot tell.
    tracked: RefCell<BTreeMap<PathBuf, Option<Rc<TrackedFiles>>>>,
    /// Number of manifests and directories that a `.gitignore` leaves out where git cannot tell whether they are tracked.
    left_out: Cell<usize>,
}

/// The paths that git tracks in a repository, relative to its root, with `/` between their parts.
#[derive(Debug)]
struct TrackedFiles(BTreeSet<String>);

impl TrackedFiles {
    fn contains(&self, path: &str, is_directory: bool) -> bool {
        if !is_directory {
            return self.0.contains(path);
        }
        let inside = format!("{path}/");
        self.0.range(inside.clone()..).next().is_some_and(|first| first.starts_with(&inside))
    }
}

/// A directory of a walk.
struct Level {
    /// Its path as the user reaches it, and its canonical path.
    path: PathBuf,
    absolute: PathBuf,
    entries: std::vec::IntoIter<(OsString, FileType)>,
    /// The patterns of its `.gitignore`.
    patterns: Option<Gitignore>,
    /// Whether it is the root of a repository, so that no pattern from above applies.
    is_root: bool,
    /// The root of its repository.
    repository: Option<PathBuf>,
    /// Whether it is left out, but for what git tracks in it.
    is_left_out: bool,
}

/// What a walk looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Manifests.
    Manifests,
    /// Every regular file, also hidden ones.
    Everything,
}

impl Walker {
    /// Lists the `.yaml`, `.yml` and `.json` files below a directory in order, and `Kustomization` files, which tell which
    /// of the others are patches. Linked directories are skipped, and so are hidden files and what a `.gitignore` matches,
    /// unless git tracks them: what is in the repository is applied from there, whatever its name is.
    ///
    /// A `.gitignore` applies outside of a repository, too; one above the directory applies only inside of a repository.
    /// Thus the result depends on the tree alone, and not on the git settings or the home directory of a user.
    ///
    /// A link to another listed file comes last: what is read twice gets the name of the first entry, and findings about
    /// the name of the link would not be shown on the lines of a changed file.
    ///
    /// The list contains an error for each entry that cannot be read.
    pub(crate) fn find_manifests(&self, directory: &Path) -> Vec<Result<PathBuf, InputError>> {
        let mut files = Vec::new();
        let mut links = Vec::new();
        let repository = directory.canonicalize().ok().and_then(|directory| {
            directory.ancestors().find(|ancestor| ancestor.join(".git").exists()).map(Path::to_owned)
        });
        let leads_out = |path: &Path| {
            let is_inside = |root: &PathBuf| path.canonicalize().is_ok_and(|target| target.starts_with(root));
            repository.as_ref().is_some_and(|root| !is_inside(root))
        };
        self.walk(directory, Wanted::Manifests, &mut |entry| match entry {
            Ok((path, kind)) => {
                let name = || strip_current_dir(&path).display().to_string();
                if kind.is_symlink() && fs::metadata(&path).is_err() {
                    files.push(Err(InputError::DanglingLink(name())));
                } else if is_kustomization(&path) && !kind.is_dir() && (!is_readable(kind, &path) || leads_out(&path)) {
                    // It decides about other files, so it is not passed over.
                    files.push(Err(InputError::NotRegular(name())));
                } else if kind.is_symlink() && leads_out(&path) {
                    files.push(Err(InputError::LinkOutside(name())));
                } else if is_readable(kind, &path) {
                    if kind.is_symlink() {
                        links.push(files.len());
                    }
                    files.push(Ok(strip_current_dir(&path)));
                }
            }
            Err(error) => files.push(Err(error)),
        });
        move_duplicates_last(&mut files, &links);
        files
    }

    /// Lists all regular files below a directory, sorted, without those that git ignores and does not track.
    pub(crate) fn find_files(&self, directory: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        self.walk(directory, Wanted::Everything, &mut |entry| {
            files.extend(entry.ok().filter(|(_, kind)| kind.is_file()).map(|(path, _)| path));
        });
        files.sort();
        files
    }

    /// Returns how much `.gitignore` files leave out where git cannot tell whether it is tracked.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out.get()
    }

    fn walk(&self, start: &Path, wanted: Wanted, visit: &mut dyn FnMut(Result<(PathBuf, FileType), InputError>)) {
        let mut levels = match self.open_start(start) {
            Ok(levels) => levels,
            Err(error) => return visit(Err(error)),
        };
        while let Some(level) = levels.last_mut() {
            let Some((name, kind)) = level.entries.next() else {
                levels.pop();
                continue;
            };
            let (path, absolute) = (level.path.join(&name), level.absolute.join(&name));
            let is_directory = kind.is_dir();
            let is_wanted = is_directory || wanted == Wanted::Everything || is_manifest(&path);
            if name == ".git" || !is_wanted {
                continue;
            }
            let is_ignored = is_ignored(&levels, &absolute, is_directory);
            let is_hidden = wanted == Wanted::Manifests && name.as_encoded_bytes().starts_with(b".");
            let Some(level) = levels.last() else { break };
            let is_left_out = level.is_left_out || is_hidden || is_ignored;
            if is_left_out && !self.is_tracked(level, &absolute, is_directory, is_ignored) {
                continue;
            }
            if !is_directory {
                visit(Ok((path, kind)));
                continue;
            }
            let repository = level.repository.clone();
            match self.open(path, absolute, repository, is_left_out) {
                Ok(opened) => levels.push(opened),
                Err(error @ InputError::TooManyPatterns { .. }) => return visit(Err(error)),
                Err(error) => visit(Err(error)),
            }
        }
    }

    /// Opens the directory in which a walk starts, below those above it in its repository, whose entries are not visited.
    fn open_start(&self, start: &Path) -> Result<Vec<Level>, InputError> {
        let failed = |error| InputError::Read(start.display().to_string(), error);
        let absolute = start.canonicalize().map_err(failed)?;
        let root = absolute.ancestors().find(|ancestor| ancestor.join(".git").exists());
        let mut above: Vec<&Path> = root.map_or_else(Vec::new, |root| {
            absolute.ancestors().skip(1).take_while(|ancestor| ancestor.starts_with(root)).collect()
        });
        above.reverse();
        let mut levels = Vec::new();
        for directory in above {
            levels.push(Level {
                path: directory.to_owned(),
                absolute: directory.to_owned(),
                entries: Vec::new().into_iter(),
                patterns: self.read_patterns(directory, directory)?,
                is_root: Some(directory) == root,
                repository: None,
                is_left_out: false,
            });
        }
        levels.push(self.open(start.to_owned(), absolute.clone(), root.map(Path::to_owned), false)?);
        Ok(levels)
    }

    fn open(
        &self,
        path: PathBuf,
        absolute: PathBuf,
        repository: Option<PathBuf>,
        is_left_out: bool,
    ) -> Result<Level, InputError> {
        let failed = |error| InputError::Read(path.display().to_string(), error);
        let mut entries = Vec::new();
        for entry in fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            entries.push((entry.file_name(), entry.file_type().map_err(failed)?));
        }
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        let has = |name: &str| entries.binary_search_by(|(entry, _)| entry.as_os_str().cmp(OsStr::new(name))).is_ok();
        let (is_root, has_patterns) = (has(".git"), has(IGNORE_FILE));
        let patterns = if has_patterns { self.read_patterns(&path, &absolute)? } else { None };
        let repository = if is_root { Some(absolute.clone()) } else { repository };
        Ok(Level { path, absolute, entries: entries.into_iter(), patterns, is_root, repository, is_left_out })
    }

    /// Reads the `.gitignore` of a directory, if there is one. It must be a small regular file, as git requires: a link may
    /// lead to a device without an end, and a pipe may never be written.
    fn read_patterns(&self, directory: &Path, absolute: &Path) -> Result<Option<Gitignore>, InputError> {
        let path = directory.join(IGNORE_FILE);
        let failed = |error| InputError::Read(path.display().to_string(), error);
        let refuse = |reason: &str| failed(io::Error::new(io::ErrorKind::InvalidInput, reason.to_owned()));
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        if !metadata.is_file() {
            return Err(refuse("is not a regular file, so it is not followed or read"));
        }
        if metadata.len() > MAX_IGNORE_BYTES {
            return Err(refuse("is larger than 1 MiB"));
        }
        let bytes = fs::read(&path).map_err(failed)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.trim_start_matches('\u{feff}').lines();
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        self.ignore_patterns.set(self.ignore_patterns.get() + lines.len());
        if self.ignore_patterns.get() > MAX_IGNORE_PATTERNS {
            let limit = format!("the .gitignore files of a run have more than {MAX_IGNORE_PATTERNS} patterns");
            return Err(InputError::TooManyPatterns { origin: path.display().to_string(), limit });
        }
        let mut builder = GitignoreBuilder::new(absolute);
        for line in lines {
            if line.len() > MAX_PATTERN_BYTES {
                return Err(refuse("has a line of more than 4096 bytes"));
            }
            // git skips a line that is not a pattern, too.
            let _ = builder.add_line(None, line);
        }
        // Without patterns that cannot be compiled, more is read than git would.
        Ok(builder.build().ok().filter(|patterns| !patterns.is_empty()))
    }

    /// Whether git tracks what would be left out. Counts what a `.gitignore` leaves out if git cannot tell.
    fn is_tracked(&self, level: &Level, absolute: &Path, is_directory: bool, is_ignored: bool) -> bool {
        let tracked = level.repository.as_ref().and_then(|root| Some((root, self.tracked_in(root)?)));
        let Some((root, tracked)) = tracked else {
            self.left_out.set(self.left_out.get() + usize::from(is_ignored));
            return false;
        };
        let path = absolute.strip_prefix(root).unwrap_or(absolute);
        let parts: Vec<_> = path.iter().map(OsStr::to_string_lossy).collect();
        tracked.contains(&parts.join("/"), is_directory)
    }

    fn tracked_in(&self, root: &Path) -> Option<Rc<TrackedFiles>> {
        if let Some(known) = self.tracked.borrow().get(root) {
            return known.clone();
        }
        let tracked = git::tracked_files(root).map(|files| Rc::new(TrackedFiles(files)));
        self.tracked.borrow_mut().insert(root.to_owned(), tracked.clone());
        tracked
    }
}

/// Whether a `.gitignore` of these levels matches a path of the last one. The nearest one that says something decides.
fn is_ignored(levels: &[Level], absolute: &Path, is_directory: bool) -> bool {
    for level in levels.iter().rev() {
        if let Some(patterns) = &level.patterns {
            let matched = patterns.matched(absolute, is_directory);
            if !matched.is_none() {
                return matched.is_ignore();
            }
        }
        if level.is_root {
            break;
        }
    }
    false
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

/// Whether an entry is a file, or a link to one, as in mounted ConfigMaps. Pipes are skipped, because they might never
/// end.
fn is_readable(kind: FileType, path: &Path) -> bool {
    kind.is_file() || (kind.is_symlink() && fs::metadata(path).is_ok_and(|target| target.is_file()))
}

/// Explains that a directory has no manifest to read: none at all, or only hidden files and files that git ignores.
pub(crate) fn describe_empty(directory: &Path) -> String {
    let all = WalkBuilder::new(directory).standard_filters(false).hidden(true).build().flatten();
    let ignored = all.filter(|entry| is_manifest(entry.path()) && entry.file_type().is_some_and(|kind| kind.is_file()));
    let name = directory.display();
    match ignored.count() {
        0 => format!("{name}: contains no .yaml, .yml or .json file"),
        1 => format!("{name}: its only file of the kind .yaml, .yml or .json is ignored by git; name it to read it"),
        count => format!("{name}: its {count} .yaml, .yml and .json files are ignored by git; name them to read them"),
    }
}
