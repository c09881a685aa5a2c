//! Compares desired and live objects, and predicts how the provider reacts to a change.

use kubefoundry_analysis::drift::drift;
use kubefoundry_analysis::plan::{ChangeClass, upstream_changes};
use kubefoundry_composition::BUILTIN;
use kubefoundry_provider::Provider;
use serde_json::Value;

use crate::observation::UpstreamObject;

/// Whether a live object differs from the desired one. An object in another API version has other fields, and counts as
/// equal.
pub(super) fn differs(desired: &Value, live: &UpstreamObject) -> bool {
    let live = live.object.value();
    live["apiVersion"] == desired["apiVersion"] && !drift(&BUILTIN, desired, &live, None).is_empty()
}

/// Returns the paths of the desired fields that have another value in a live object.
pub(super) fn drifted_paths(desired: &Value, live: &Value) -> Vec<String> {
    drift(&BUILTIN, desired, live, None).into_iter().map(|field| field.path).collect()
}

/// Returns the reason why a change takes effect only in a new object: the field, and the provider's reaction to it.
/// None when the provider carries out the whole change in place.
pub(super) fn recreation_reason(provider: &dyn Provider, before: &Value, after: &Value) -> Option<String> {
    let changes = upstream_changes(provider, before, after);
    // A blue-green rollout starts a second cluster from the whole object, so fields that would otherwise be ignored
    // take effect with it.
    let is_blue_green = changes.iter().any(|change| change.class == ChangeClass::BlueGreen);
    let needs_recreation = |class: ChangeClass| match class {
        ChangeClass::Refused | ChangeClass::Recreate => true,
        ChangeClass::NoEffect => !is_blue_green,
        _ => false,
    };
    let change = changes.into_iter().find(|change| needs_recreation(change.class))?;
    Some(format!("{}: {}", change.path, change.class.meaning()))
}

#[cfg(test)]
mod tests {

    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_that_the_provider_ignores_or_refuses_requires_a_new_object() {
        let kaito = BUILTIN.find_provider("kaito").unwrap();
        let workspace = |instance: &str, config: &str, image: &str, label: &str| {
            json!({
                "apiVersion": "kaito.sh/v1beta1", "kind": "Workspace",
                "metadata": {"name": "phi", "labels": {"a": label}},
                "resource": {"instanceType": instance},
                "inference": {"config": config, "template": {"spec": {"containers": [{"name": "a", "image": image}]}}},
            })
        };
        let before = workspace("a", "a", "a", "a");
        let reason = |after: Value| recreation_reason(kaito, &before, &after);
        assert_eq!(reason(before.clone()), None);
        assert_eq!(reason(workspace("a", "b", "a", "b")), None);
        assert!(reason(workspace("b", "a", "a", "a")).unwrap().starts_with("resource.instanceType: "));
        assert!(reason(workspace("a", "a", "b", "a")).unwrap().starts_with("inference.template"));
    }

    /// KubeRay ignores a change of replicas in a running cluster, but a changed pod template starts a second cluster
    /// from the whole object.
    #[test]
    fn a_blue_green_rollout_also_applies_ignored_fields() {
        let kuberay = BUILTIN.find_provider("kuberay").unwrap();
        let service = |replicas: u32, image: &str| {
            json!({
                "apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "m"},
                "spec": {"rayClusterConfig": {"workerGroupSpecs": [{
                    "groupName": "w", "replicas": replicas,
                    "template": {"spec": {"containers": [{"name": "ray-worker", "image": image}]}},
                }]}},
            })
        };
        let before = service(1, "a");
        assert!(recreation_reason(kuberay, &before, &service(2, "a")).is_some());
        assert_eq!(recreation_reason(kuberay, &before, &service(2, "b")), None);
    }
}
