//! The files of a directory.

use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::InputError;

/// Every `.yaml`, `.yml` and `.json` file below a directory, sorted, and `Kustomization`, which says which of them are
/// patches. Left out: hidden files, what a `.gitignore` names (in a repository or not), and what lies behind a link to
/// a directory. What is left out depends on the tree alone, not on the machine: not on a user's own git settings.
pub(super) fn files(directory: &Path) -> Result<Vec<PathBuf>, InputError> {
    let mut walk = WalkBuilder::new(directory);
    walk.standard_filters(false).hidden(true).parents(true).git_ignore(true).require_git(false).follow_links(false);
    walk.sort_by_file_name(Ord::cmp);
    let mut files = Vec::new();
    for entry in walk.build() {
        let entry = entry.map_err(|error| InputError::Walk(directory.display().to_string(), error))?;
        // A link to a file is read like the file, as `kubectl apply -f` does; mounted ConfigMaps consist of them.
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file() || kind.is_symlink());
        if is_file && entry.depth() > 0 && is_manifest(entry.path()) && !entry.path().is_dir() {
            files.push(tidy(entry.path()));
        }
    }
    Ok(files)
}

/// The path as a user would type it: `render .` reads `llama.yaml`, not `./llama.yaml`.
pub(super) fn tidy(path: &Path) -> PathBuf {
    path.strip_prefix(".").unwrap_or(path).to_owned()
}

fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("yaml" | "yml" | "json")) || path.file_name().is_some_and(|name| name == "Kustomization")
}
