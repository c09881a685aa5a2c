//! Finds the manifests in a directory.

use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::InputError;

/// Lists the `.yaml`, `.yml` and `.json` files below a directory in order, and `Kustomization` files, which tell which
/// of the others are patches. Hidden files, files in a `.gitignore`, and linked directories are skipped.
///
/// A `.gitignore` applies outside of a repository, too; one above the directory applies only inside of a repository.
/// Thus the result depends on the tree alone, and not on the git settings or the home directory of a user.
///
/// The list contains an error for each entry that cannot be read.
pub(super) fn find_manifests(directory: &Path) -> Vec<Result<PathBuf, InputError>> {
    let mut walk = WalkBuilder::new(directory);
    // In a repository, the walker looks for .gitignore files up to its root. Outside of one, `parents(true)` would make
    // it search up to the root of the file system.
    let in_repository = in_repository(directory);
    walk.standard_filters(false).hidden(true).git_ignore(true).parents(in_repository).require_git(in_repository);
    walk.follow_links(false).sort_by_file_name(Ord::cmp);
    let mut files = Vec::new();
    for entry in walk.build() {
        match entry {
            Ok(entry) => {
                let is_readable = entry.file_type().is_some_and(|kind| is_readable(kind, entry.path()));
                if is_manifest(entry.path()) && is_readable {
                    files.push(Ok(strip_current_dir(entry.path())));
                }
            }
            Err(error) => files.push(Err(InputError::Walk(error))),
        }
    }
    files
}

fn in_repository(directory: &Path) -> bool {
    directory.canonicalize().is_ok_and(|path| path.ancestors().any(|ancestor| ancestor.join(".git").exists()))
}

/// Whether an entry is a file, or a link to one, as in mounted ConfigMaps. Pipes are skipped, because they might never
/// end. A dangling link is included, so that opening it reports the error.
fn is_readable(kind: FileType, path: &Path) -> bool {
    kind.is_file() || (kind.is_symlink() && fs::metadata(path).map_or(true, |target| target.is_file()))
}

/// Removes a leading `./`, so that `render .` reports `llama.yaml` and not `./llama.yaml`.
pub(super) fn strip_current_dir(path: &Path) -> PathBuf {
    path.strip_prefix(".").unwrap_or(path).to_owned()
}

pub(super) fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("yaml" | "yml" | "json")) || path.file_name().is_some_and(|name| name == "Kustomization")
}
