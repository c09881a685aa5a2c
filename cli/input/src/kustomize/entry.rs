//! What kustomize takes an entry of a kustomization for.

use kubefoundry_compiler::options::render;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::Node;

use super::closure::FunctionInput;

/// Whether a file of that name is an object of another group, such as a Kustomization of Flux, which kustomize refuses. It
/// must have one version in any letter case, as kustomize takes the last one.
pub(super) fn is_of_another_group(root: &Node<'_>) -> bool {
    let versions = root.entries().iter().filter(|entry| entry.key.eq_ignore_ascii_case("apiVersion"));
    let [version] = versions.collect::<Vec<_>>()[..] else { return false };
    let is_plain = root.entries().iter().all(|entry| entry.key.is_ascii());
    let is_other = |version: &str| version.contains('/') && !version.starts_with("kustomize.config.k8s.io/");
    is_plain && version.node.as_str().is_some_and(is_other)
}

/// Returns a relative path as kustomize cannot take it for anything else, such as a URL.
pub(super) fn relative(text: &str) -> String {
    format!("./{text}")
}

/// Returns the documents of a text as JSON, if it is not the name of a file but holds objects itself.
pub(super) fn inline_documents(text: &str) -> Option<String> {
    let parsed = yaml::parse(text, &yaml::Limits::default());
    let is_collection = |node: &Node<'_>| matches!(node.value, yaml::Value::Mapping(_) | yaml::Value::Sequence(_));
    let is_inline = parsed.documents.first().is_some_and(|document| is_collection(&document.root));
    let documents = parsed.documents.iter().map(|document| document.root.to_json().to_string());
    is_inline.then(|| documents.collect::<Vec<_>>().join("\n---\n"))
}

/// Returns what a configuration of our own function is; `None` if the function would not accept it.
pub(super) fn function_input(text: &str, config: &Node<'_>) -> Option<FunctionInput> {
    let string = |key: &str| config.get(key).and_then(Node::as_str).unwrap_or_default();
    match (string("apiVersion"), string("kind")) {
        (render::API_VERSION, _) => Some(FunctionInput::Options(text.to_owned())),
        ("v1", "ConfigMap") => kubefoundry_krm::config_map_options(config).map(FunctionInput::Options),
        (_, kubefoundry_deployment::wire::KIND) => Some(FunctionInput::Deployment(text.to_owned())),
        _ => None,
    }
}

/// Whether kustomize takes an entry as a URL, even if a file has that name.
pub(super) fn has_scheme(entry: &str) -> bool {
    entry.contains("://")
}

/// Whether an entry that is neither a file nor a directory names a repository or a file in the network.
pub(super) fn is_remote(entry: &str) -> bool {
    let host = entry.split(['/', ':']).next().unwrap_or_default();
    has_scheme(entry)
        || entry.contains("?ref=")
        || entry.contains(".git")
        || entry.contains("::")
        || host.contains('@')
        || (host.contains('.') && !host.starts_with('.') && entry.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_entries_are_recognized() {
        for entry in [
            "https://example.com/a.yaml",
            "github.com/org/repo//path?ref=v1",
            "git@github.com:org/repo.git",
            "ssh://git@example.com/repo",
            "git::https://example.com/repo",
            "example.com/org/repo",
        ] {
            assert!(is_remote(entry), "{entry}");
        }
        for entry in ["../base", "./missing.yaml", "missing", "a/b", "model.v1.yaml"] {
            assert!(!is_remote(entry), "{entry}");
        }
    }
}
