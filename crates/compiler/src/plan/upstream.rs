//! One object of a provider before and after a change, for whoever applies it.

use serde_json::Value;

use super::class::{ChangeClass, judge};
use super::rendered_change::between;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_model::provider::Provider;
use kubefoundry_model::status::text_or_empty;
use kubefoundry_yaml::field_path::FieldPath;

/// Metadata that the apiserver keeps for itself.
const SERVER_MANAGED_METADATA: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// A field of an object that changes, and what its controller makes of that.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamChange {
    /// The field; the root when the one object is not the other.
    pub path: FieldPath,
    /// What was there; nothing when it is new.
    pub before: Option<Value>,
    /// What is to be there; nothing when it goes.
    pub after: Option<Value>,
    /// How grave it is.
    pub class: ChangeClass,
    /// How that is known.
    pub source: &'static str,
}

/// What differs between two states of one object of a provider, and what the provider's controller makes of each difference
/// by its table ([`ProviderInfo::behaviors`](kubefoundry_model::provider::ProviderInfo::behaviors)). Both are JSON: the live object, say, and what a dry run of applying the new one
/// gives, so that defaults are in both. Status and what the apiserver keeps in metadata are no difference. Another kind,
/// name or namespace is another object: it takes the place of the one that served.
///
/// ```
/// use kubefoundry_model::providers;
/// use kubefoundry_compiler::plan::{ChangeClass, upstream_changes};
/// use serde_json::json;
/// let kaito = providers::find("kaito").unwrap();
/// let workspace = |count: u32, instance: &str| json!({
///     "apiVersion": "kaito.sh/v1beta1", "kind": "Workspace",
///     "metadata": {"name": "phi", "generation": count},
///     "resource": {"count": count, "instanceType": instance},
///     "status": {"state": "Ready"},
/// });
/// let found = upstream_changes(kaito, &workspace(1, "a"), &workspace(1, "b"));
/// assert_eq!(found.len(), 1);
/// assert_eq!((found[0].path.to_string().as_str(), found[0].class), ("resource.instanceType", ChangeClass::Refused));
/// assert!(upstream_changes(kaito, &workspace(1, "a"), &workspace(1, "a")).is_empty());
/// let gravest = upstream_changes(kaito, &workspace(1, "a"), &workspace(2, "b")).iter().map(|it| it.class).max();
/// assert_eq!(gravest, Some(ChangeClass::Refused));
/// ```
pub fn upstream_changes(provider: &dyn Provider, before: &Value, after: &Value) -> Vec<UpstreamChange> {
    let movements = between(&[named(before)], &[named(after)]);
    let changes = movements.into_iter().map(|movement| {
        let verdict = judge(&movement, Some(provider.info().behaviors));
        UpstreamChange {
            path: movement.path,
            before: movement.before,
            after: movement.after,
            class: verdict.class,
            source: verdict.source,
        }
    });
    changes.collect()
}

/// What is wanted of an object, with its name.
fn named(object: &Value) -> (ObjectRef, Value) {
    let text = |pointer: &str| text_or_empty(object, pointer).into();
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).map(Into::into);
    let reference =
        ObjectRef { api_version: text("/apiVersion"), kind: text("/kind"), namespace, name: text("/metadata/name") };
    let mut wanted = object.clone();
    if let Some(fields) = wanted.as_object_mut() {
        fields.shift_remove("status");
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|name, _| !SERVER_MANAGED_METADATA.contains(&name.as_str()));
        }
    }
    (reference, wanted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use kubefoundry_model::providers::find;

    fn told(provider: &str, before: &Value, after: &Value) -> Vec<String> {
        let provider = find(provider).unwrap();
        let one = |change: UpstreamChange| {
            assert!(!change.source.is_empty());
            format!("{} {}", change.path, change.class)
        };
        upstream_changes(provider, before, after).into_iter().map(one).collect()
    }

    /// What another operator's dry run brings with it is no change.
    #[test]
    fn what_the_apiserver_keeps_is_no_change() {
        let object = |version: &str| {
            json!({
                "apiVersion": "ray.io/v1", "kind": "RayService",
                "metadata": {"name": "m", "namespace": "ml", "uid": version, "resourceVersion": version, "generation": 1,
                    "managedFields": [{"time": version}], "creationTimestamp": version},
                "spec": {"serveConfigV2": "a: 1\n"}, "status": {"observedGeneration": version},
            })
        };
        assert_eq!(told("kuberay", &object("1"), &object("2")), Vec::<String>::new());
    }

    #[test]
    fn another_object_takes_the_place_of_the_one_that_served() {
        let object =
            |kind: &str, name: &str| json!({"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": name}});
        let other = told("kuberay", &object("RayService", "m"), &object("RayService", "n"));
        assert_eq!(other, [" recreate", " recreate"]);
        assert_eq!(told("kuberay", &object("RayService", "m"), &object("RayCluster", "m")), [" recreate", " recreate"]);
    }

    /// Metadata of ours changes with every rendering, and restarts nothing.
    #[test]
    fn metadata_is_stored() {
        let object = |reason: &str| {
            json!({"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment",
                "metadata": {"name": "m", "annotations": {"kubefoundry.ai/selected-reason": reason}}, "spec": {}})
        };
        let found = told("dynamo", &object("a"), &object("b"));
        assert_eq!(found, ["metadata.annotations[\"kubefoundry.ai/selected-reason\"] none"]);
    }

    #[test]
    fn the_table_says_what_is_refused_and_what_is_not_known() {
        let object = |framework: &str, foreign: u32| {
            json!({"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "m"},
                "spec": {"backendFramework": framework, "fromAnotherVersion": foreign}})
        };
        let found = told("dynamo", &object("vllm", 1), &object("sglang", 2));
        assert_eq!(found, ["spec.backendFramework refused", "spec.fromAnotherVersion unknown"]);
    }
}
