//! What a `kustomization.yaml` says of the files beside it: which of them are patches, that is, parts of objects.

use super::operations::PatchTarget;
use kubefoundry_yaml::Node;

/// The API group of kustomizations.
const GROUP: &str = "kustomize.config.k8s.io";

/// Their kinds.
pub(super) const KINDS: [&str; 2] = ["Kustomization", "Component"];

/// Whether a document is a kustomization, by the names that kustomize itself looks for or by its kind.
pub(super) fn is_kustomization(source: &str, group: &str, kind: &str) -> bool {
    let file = source.rsplit('/').next().unwrap_or(source);
    matches!(file, "kustomization.yaml" | "kustomization.yml" | "Kustomization")
        || (group == GROUP && KINDS.contains(&kind))
}

/// The files it applies as patches, as paths from where its own path starts: `patches[].path`,
/// `patchesStrategicMerge[]`, `patchesJson6902[].path`. With each, the kind of ours that its `target` names;
/// `is_among_ours` says whether the input has objects of ours.
pub(super) fn patch_paths(source: &str, root: &Node<'_>, is_among_ours: bool) -> Vec<(String, Option<PatchTarget>)> {
    let directory = source.rsplit_once('/').map_or("", |(directory, _)| directory);
    let listed = |field: &str| root.get(field).map(Node::items).unwrap_or_default();
    let with_target = listed("patches").iter().chain(listed("patchesJson6902"));
    let with_target = with_target.filter_map(|entry| Some((entry.get("path")?, PatchTarget::of(entry, is_among_ours))));
    with_target
        .chain(listed("patchesStrategicMerge").iter().map(|path| (path, None)))
        .filter_map(|(path, target)| Some((path.as_str()?, target)))
        .filter(|(path, _)| !path.contains('\n'))
        .map(|(path, target)| (normalize(directory, path), target))
        .collect()
}

/// The files that a kustomization applies as patches.
pub(crate) fn patch_files(source: &str, root: &Node<'_>) -> Vec<String> {
    patch_paths(source, root, true).into_iter().map(|(path, _)| path).collect()
}

/// Joins a relative path to a directory and resolves `.` and `..` without asking a file system.
pub(crate) fn normalize(directory: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let directory = if path.starts_with('/') { "/" } else { directory };
    let absolute = directory.starts_with('/');
    for part in directory.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_to_the_kustomizations_own_folder() {
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
