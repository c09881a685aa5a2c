//! Words in the options that their declaration does not list: codes, providers, and the versions of providers.

use kubefoundry_compiler::options::render::Render;
use kubefoundry_composition::BUILTIN;
use kubefoundry_provider::Provider;
use kubefoundry_reference::DocumentedKind;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// Returns whether the keys of a mapping are codes.
pub(crate) fn is_code_key(kind: &DocumentedKind, mapping: &FieldPath) -> bool {
    is_render(kind) && *mapping == FieldPath::from(Render::path().severities())
}

/// Returns whether the keys of a mapping are providers.
pub(crate) fn is_provider_key(kind: &DocumentedKind, mapping: &FieldPath) -> bool {
    let fields = [FieldPath::from(Render::path().runtimes()), FieldPath::from(Render::path().crd_versions())];
    is_render(kind) && fields.contains(mapping)
}

/// Returns the versions that options can choose at a path, the default first.
pub(crate) fn versions_at(kind: &DocumentedKind, path: &FieldPath) -> Vec<&'static str> {
    let provider = path.segments().last().and_then(Segment::as_key).and_then(|name| BUILTIN.find_provider(name));
    let Some(provider) = provider.filter(|_| is_render(kind)).map(Provider::info) else { return Vec::new() };
    let field = path.parent();
    if field == FieldPath::from(Render::path().runtimes()) {
        return provider.runtimes.to_vec();
    }
    if field == FieldPath::from(Render::path().crd_versions()) { provider.crd_versions.to_vec() } else { Vec::new() }
}

fn is_render(kind: &DocumentedKind) -> bool {
    kind.name == "Render"
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubefoundry_reference::KINDS;

    #[test]
    fn knows_the_versions_of_a_provider() {
        let render = KINDS.iter().find(|kind| kind.name == "Render").unwrap();
        let at = |path: &str| versions_at(render, &FieldPath::try_parse(path).unwrap());
        assert!(at("runtimes.dynamo").contains(&"1.4.0"));
        assert!(at("crdVersions.dynamo").contains(&"nvidia.com/v1beta1"));
        assert!(at("runtimes.unknown").is_empty() && at("images.dynamo").is_empty() && at("runtimes").is_empty());
        assert!(versions_at(&KINDS[0], &FieldPath::parse("runtimes.dynamo")).is_empty());
    }
}
