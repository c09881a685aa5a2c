//! Paths, as they are written: nothing here reads a file.

use std::env;
use std::path::{Component, Path, PathBuf};

/// The names of kustomization files.
pub(crate) const KUSTOMIZATION_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Resolves `.` and `..` in a path without reading the file system.
pub(crate) fn lexical(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(resolved.components().next_back(), Some(Component::Normal(_))) => {
                resolved.pop();
            }
            other => resolved.push(other.as_os_str()),
        }
    }
    resolved
}

/// Returns the absolute form of a path, without reading what is at it.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "in a directory that was removed, paths stay relative to each other")]
    let here = env::current_dir().unwrap_or_default();
    lexical(&here.join(path))
}

/// Removes a leading `./`, so that `render .` reports `llama.yaml` and not `./llama.yaml`.
pub(crate) fn strip_current_dir(path: &Path) -> PathBuf {
    path.strip_prefix(".").unwrap_or(path).to_owned()
}

/// Returns whether a file is read in a directory, by its name.
pub fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("yaml" | "yml" | "json")) || path.file_name().is_some_and(|name| name == "Kustomization")
}

/// Returns whether a file is a kustomization, by its name.
pub fn is_kustomization(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| KUSTOMIZATION_NAMES.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_without_the_file_system() {
        for (path, expected) in
            [("./a/../b/c", "b/c"), (".", ""), ("../x", "../x"), ("a//b/", "a/b"), ("/../a", "/../a")]
        {
            assert_eq!(lexical(Path::new(path)), Path::new(expected), "{path}");
        }
    }
}
