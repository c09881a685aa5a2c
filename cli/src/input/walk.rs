//! The files of a directory.

use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::InputError;

/// Every `.yaml`, `.yml` and `.json` file below a directory, sorted, and `Kustomization`, which says which of them are
/// patches. Left out: hidden files, what a `.gitignore` names, and what lies behind a link to a directory.
///
/// A `.gitignore` counts without a repository, too, but one above the directory only inside of one. So what is left out
/// depends on the tree, and neither on a user's own git settings nor on what happens to lie in a home directory.
///
/// What cannot be looked into stands among them as an error.
pub(super) fn files(directory: &Path) -> Vec<Result<PathBuf, InputError>> {
    let mut walk = WalkBuilder::new(directory);
    // In a repository the walker looks up as far as the repository goes; told not to look for one, it knows no end.
    let in_repository = in_repository(directory);
    walk.standard_filters(false).hidden(true).git_ignore(true).parents(in_repository).require_git(in_repository);
    walk.follow_links(false).sort_by_file_name(Ord::cmp);
    let mut files = Vec::new();
    for entry in walk.build() {
        match entry {
            Ok(entry) => {
                let is_readable = entry.file_type().is_some_and(|kind| is_readable(kind, entry.path()));
                if is_manifest(entry.path()) && is_readable {
                    files.push(Ok(tidy(entry.path())));
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

/// Whether it is a file, or a link to one: mounted ConfigMaps consist of those. Not a pipe, which might never end. A
/// link to nothing is a file that cannot be read, and whoever reads it says so.
fn is_readable(kind: FileType, path: &Path) -> bool {
    kind.is_file() || (kind.is_symlink() && fs::metadata(path).map_or(true, |target| target.is_file()))
}

/// The path as a user would type it: `render .` reads `llama.yaml`, not `./llama.yaml`.
pub(super) fn tidy(path: &Path) -> PathBuf {
    path.strip_prefix(".").unwrap_or(path).to_owned()
}

pub(super) fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("yaml" | "yml" | "json")) || path.file_name().is_some_and(|name| name == "Kustomization")
}
