//! Reads from a `kustomization.yaml` which files are patches, that is, incomplete objects.

use super::patch_operations::PatchTarget;
use kubefoundry_model::composition::Composition;
use kubefoundry_yaml::Node;

/// The API group of kustomizations.
const GROUP: &str = "kustomize.config.k8s.io";

/// The kinds of kustomizations.
pub(crate) const KINDS: [&str; 2] = ["Kustomization", "Component"];

/// Returns whether a document is a kustomization, by the file names that kustomize looks for or by its kind.
pub(crate) fn is_kustomization(source: &str, group: &str, kind: &str) -> bool {
    let file = source.rsplit('/').next().unwrap_or(source);
    matches!(file, "kustomization.yaml" | "kustomization.yml" | "Kustomization")
        || (group == GROUP && KINDS.contains(&kind))
}

/// Returns the files that a kustomization applies as patches (`patches[].path`, `patchesStrategicMerge[]`,
/// `patchesJson6902[].path`), relative to the same directory as its own path, each with the input kind that its
/// `target` names. `has_input_kinds` states whether the input has objects of input kinds.
pub(crate) fn patch_paths(
    composition: &Composition,
    source: &str,
    root: &Node<'_>,
    has_input_kinds: bool,
) -> Vec<(String, Option<PatchTarget>)> {
    let directory = source.rsplit_once('/').map_or("", |(directory, _)| directory);
    let entries_of = |field: &str| root.get(field).map(Node::items).unwrap_or_default();
    let entries = entries_of("patches").iter().chain(entries_of("patchesJson6902"));
    let with_target = entries
        .filter_map(|entry| Some((entry.get("path")?, PatchTarget::from_entry(composition, entry, has_input_kinds))));
    with_target
        .chain(entries_of("patchesStrategicMerge").iter().map(|path| (path, None)))
        .filter_map(|(path, target)| Some((path.as_str()?, target)))
        // An entry with a line break is an inline patch.
        .filter(|(path, _)| !path.contains('\n'))
        .map(|(path, target)| (normalize(directory, path), target))
        .collect()
}

/// Returns the files that a kustomization applies as patches.
pub fn patch_files(composition: &Composition, source: &str, root: &Node<'_>) -> Vec<String> {
    patch_paths(composition, source, root, true).into_iter().map(|(path, _)| path).collect()
}

/// Joins a relative path to a directory and resolves `.` and `..` lexically.
pub fn normalize(directory: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let directory = if path.starts_with('/') { "/" } else { directory };
    let is_absolute = directory.starts_with('/');
    for part in directory.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    format!("{}{}", if is_absolute { "/" } else { "" }, parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_folder_of_the_kustomization() {
        for (directory, path, joined) in [
            ("overlays/prod", "patch.yaml", "overlays/prod/patch.yaml"),
            ("overlays/prod", "../../base/p.yaml", "base/p.yaml"),
            ("", "./patch.yaml", "patch.yaml"),
            ("/abs/dir", "../p.yaml", "/abs/p.yaml"),
            ("", "../up.yaml", "../up.yaml"),
            ("", "/abs/dir/./p.yaml", "/abs/dir/p.yaml"),
            ("overlays/prod", "/abs/p.yaml", "/abs/p.yaml"),
        ] {
            assert_eq!(normalize(directory, path), joined, "{directory} + {path}");
        }
    }
}
