//! What differs, and what the provider makes of it.

use kubefoundry_compiler::drift::drift;
use kubefoundry_compiler::plan::{ChangeClass, upstream_changes};
use kubefoundry_model::provider::Provider;
use serde_json::Value;

use crate::watch::Owned;

/// Whether a live object is not what is wanted. Those of another version have other fields, and are not compared.
pub(super) fn differs(desired: &Value, live: &Owned) -> bool {
    let live = live.object.value();
    live["apiVersion"] == desired["apiVersion"] && !drift(desired, &live, None).is_empty()
}

/// The fields that a live object has another way.
pub(super) fn drifted(desired: &Value, live: &Value) -> Vec<String> {
    drift(desired, live, None).into_iter().map(|field| field.path).collect()
}

/// Why what runs would not follow a change: the field, and what becomes of it.
pub(super) fn replaces(provider: &dyn Provider, before: &Value, after: &Value) -> Option<String> {
    let changes = upstream_changes(provider, before, after);
    // A second cluster is made from all of the object, also from what would be ignored without it.
    let starts_another = changes.iter().any(|change| change.class == ChangeClass::BlueGreen);
    let is_fixed = |class: ChangeClass| match class {
        ChangeClass::Refused | ChangeClass::Recreate => true,
        ChangeClass::NoEffect => !starts_another,
        _ => false,
    };
    let change = changes.into_iter().find(|change| is_fixed(change.class))?;
    Some(format!("{}: {}", change.path, change.class.meaning()))
}

#[cfg(test)]
mod tests {
    use kubefoundry_model::providers;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_provider_ignores_or_refuses_is_made_anew() {
        let kaito = providers::find("kaito").unwrap();
        let workspace = |instance: &str, config: &str, image: &str, label: &str| {
            json!({
                "apiVersion": "kaito.sh/v1beta1", "kind": "Workspace",
                "metadata": {"name": "phi", "labels": {"a": label}},
                "resource": {"instanceType": instance},
                "inference": {"config": config, "template": {"spec": {"containers": [{"name": "a", "image": image}]}}},
            })
        };
        let before = workspace("a", "a", "a", "a");
        let why = |after: Value| replaces(kaito, &before, &after);
        assert_eq!(why(before.clone()), None);
        assert_eq!(why(workspace("a", "b", "a", "b")), None);
        assert!(why(workspace("b", "a", "a", "a")).unwrap().starts_with("resource.instanceType: "));
        assert!(why(workspace("a", "a", "b", "a")).unwrap().starts_with("inference.template"));
    }

    /// KubeRay ignores other replicas of a cluster that runs, and makes a second one from the whole of another pod
    /// template.
    #[test]
    fn a_second_cluster_takes_everything_along() {
        let kuberay = providers::find("kuberay").unwrap();
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
        assert!(replaces(kuberay, &before, &service(2, "a")).is_some());
        assert_eq!(replaces(kuberay, &before, &service(2, "b")), None);
    }
}
