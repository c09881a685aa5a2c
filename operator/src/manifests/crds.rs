//! The CustomResourceDefinitions of KubeFoundry, as `cargo xtask generate` writes them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::ApiResource;
use kubefoundry::schemas::SCHEMAS;
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_yaml::infallible::parse_builtin_yaml;
use serde_json::Value;

use super::object::{self, Object};

/// Returns the CRDs of these API groups.
#[expect(clippy::expect_used, reason = "the CRDs are a part of the program, and a test reads their names")]
pub(super) fn crds(groups: &[&'static ApiGroup]) -> Vec<Object> {
    let of_group =
        |name: &str| groups.iter().any(|api_group| name.strip_prefix(api_group.name).is_some_and(starts_kind));
    let crds = SCHEMAS.iter().filter(|schema| schema.is_crd && of_group(schema.name));
    crds.map(|schema| {
        let mut value = parse_builtin_yaml(schema.name, &schema.text());
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            let labels = object::labels().into_iter().map(|(key, value)| (key, Value::from(value))).collect();
            metadata.insert("labels".to_owned(), Value::Object(labels));
        }
        let name = value.pointer("/metadata/name").and_then(Value::as_str).expect("a CRD has a name").to_owned();
        let resource = ApiResource::erase::<CustomResourceDefinition>(&());
        Object { resource, namespace: None, name, value }
    })
    .collect()
}

/// Returns the names of the CRDs of these API groups.
pub(crate) fn names(groups: &[&'static ApiGroup]) -> Vec<String> {
    crds(groups).into_iter().map(|crd| crd.name).collect()
}

/// Whether the rest of a schema's name, after its API group, starts a kind. Without this check a group would match
/// every group that it is a prefix of.
fn starts_kind(rest: &str) -> bool {
    rest.starts_with('_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_has_two_valid_crds() {
        for (group, other) in [("kubefoundry.ai", "kubeairunway.ai"), ("kubeairunway.ai", "kubefoundry.ai")] {
            let api_group = ApiGroup::find(group).unwrap();
            let crds = crds(&[api_group]);
            assert_eq!(crds.len(), 2);
            for crd in crds {
                let typed: CustomResourceDefinition = serde_json::from_value(crd.value).unwrap();
                assert_eq!((typed.spec.group.as_str(), typed.metadata.name), (group, Some(crd.name)));
                assert_ne!(typed.spec.group, other);
                assert_eq!(typed.metadata.labels, Some(object::labels()));
            }
        }
    }
}
