//! Classifies the changes of one live object of a provider, for an applier of rendered objects.

use serde_json::Value;

use super::class::{ChangeClass, classify};
use super::rendered_change::diff_outputs;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_kubernetes::server_fields;
use kubefoundry_provider::Provider;
use kubefoundry_provider::status::text_or_empty;
use kubefoundry_yaml::field_path::FieldPath;

/// A changed field of an object, and the reaction of its controller.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamChange {
    /// The path; the root if the two are different objects.
    pub path: FieldPath,
    /// The old value; `None` if it is new.
    pub before: Option<Value>,
    /// The new value; `None` if it is removed.
    pub after: Option<Value>,
    /// The class of the change.
    pub class: ChangeClass,
    /// The evidence for the class.
    pub source: &'static str,
}

/// Lists the differences between two states of one object, each classified by the provider's table
/// ([`ProviderInfo::behaviors`](kubefoundry_provider::ProviderInfo::behaviors)). Pass, for example, the live
/// object and the result of a dry run of applying the new one, so that both have defaults. Status and metadata that the
/// API server manages are ignored. Another kind, name or namespace is another object, which replaces the serving one.
///
/// ```
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_analysis::plan::{ChangeClass, upstream_changes};
/// use serde_json::json;
/// let kaito = BUILTIN.find_provider("kaito").unwrap();
/// let workspace = |count: u32, instance: &str| json!({
///     "apiVersion": "kaito.sh/v1beta1", "kind": "Workspace",
///     "metadata": {"name": "phi", "generation": count},
///     "resource": {"count": count, "instanceType": instance},
///     "status": {"state": "Ready"},
/// });
/// let changes = upstream_changes(kaito, &workspace(1, "a"), &workspace(1, "b"));
/// assert_eq!(changes.len(), 1);
/// assert_eq!((changes[0].path.to_string().as_str(), changes[0].class), ("resource.instanceType", ChangeClass::Refused));
/// assert!(upstream_changes(kaito, &workspace(1, "a"), &workspace(1, "a")).is_empty());
/// let most_severe = upstream_changes(kaito, &workspace(1, "a"), &workspace(2, "b")).iter().map(|it| it.class).max();
/// assert_eq!(most_severe, Some(ChangeClass::Refused));
/// ```
pub fn upstream_changes(provider: &dyn Provider, before: &Value, after: &Value) -> Vec<UpstreamChange> {
    let changes = diff_outputs(&[desired_state(before)], &[desired_state(after)]);
    let upstream_changes = changes.into_iter().map(|change| {
        let classification = classify(&change, Some(provider.info().behaviors));
        UpstreamChange {
            path: change.path,
            before: change.before,
            after: change.after,
            class: classification.class,
            source: classification.source,
        }
    });
    upstream_changes.collect()
}

/// Returns the reference of an object, and the object without status and server-managed metadata.
fn desired_state(object: &Value) -> (ObjectRef, Value) {
    let text = |pointer: &str| text_or_empty(object, pointer).into();
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).map(Into::into);
    let reference =
        ObjectRef { api_version: text("/apiVersion"), kind: text("/kind"), namespace, name: text("/metadata/name") };
    let mut desired = object.clone();
    server_fields::remove(&mut desired);
    (reference, desired)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use kubefoundry_composition::BUILTIN;

    fn classes(provider: &str, before: &Value, after: &Value) -> Vec<String> {
        let provider = BUILTIN.find_provider(provider).unwrap();
        let line = |change: UpstreamChange| {
            assert!(!change.source.is_empty());
            format!("{} {}", change.path, change.class)
        };
        upstream_changes(provider, before, after).into_iter().map(line).collect()
    }

    // A dry run returns the fields that the API server sets, so they differ without a change.
    #[test]
    fn ignores_server_managed_fields() {
        let object = |version: &str| {
            json!({
                "apiVersion": "ray.io/v1", "kind": "RayService",
                "metadata": {"name": "m", "namespace": "ml", "uid": version, "resourceVersion": version, "generation": 1,
                    "managedFields": [{"time": version}], "creationTimestamp": version},
                "spec": {"serveConfigV2": "a: 1\n"}, "status": {"observedGeneration": version},
            })
        };
        assert_eq!(classes("kuberay", &object("1"), &object("2")), Vec::<String>::new());
    }

    #[test]
    fn a_changed_name_or_kind_means_a_new_object() {
        let object =
            |kind: &str, name: &str| json!({"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": name}});
        let classes_by_name = classes("kuberay", &object("RayService", "m"), &object("RayService", "n"));
        assert_eq!(classes_by_name, [" recreate", " recreate"]);
        assert_eq!(
            classes("kuberay", &object("RayService", "m"), &object("RayCluster", "m")),
            [" recreate", " recreate"]
        );
    }

    // Annotations of kubefoundry change with every rendering and restart nothing.
    #[test]
    fn metadata_changes_have_class_none() {
        let object = |reason: &str| {
            json!({"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment",
                "metadata": {"name": "m", "annotations": {"kubefoundry.ai/selected-reason": reason}}, "spec": {}})
        };
        let classes = classes("dynamo", &object("a"), &object("b"));
        assert_eq!(classes, ["metadata.annotations[\"kubefoundry.ai/selected-reason\"] none"]);
    }

    #[test]
    fn the_table_decides_what_is_refused_or_unknown() {
        let object = |framework: &str, foreign: u32| {
            json!({"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "m"},
                "spec": {"backendFramework": framework, "fromAnotherVersion": foreign}})
        };
        let classes = classes("dynamo", &object("vllm", 1), &object("sglang", 2));
        assert_eq!(classes, ["spec.backendFramework refused", "spec.fromAnotherVersion unknown"]);
    }
}
