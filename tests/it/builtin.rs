//! Generated objects of built-in kinds against the types of Kubernetes, which must know every field.

use std::collections::BTreeMap;

use crate::common::{case_folders, compile_case};
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::RoleBinding;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The API groups that every cluster serves.
const BUILT_IN: [&str; 6] = ["", "apps", "autoscaling", "networking.k8s.io", "policy", "rbac.authorization.k8s.io"];

/// The built-in kinds that are generated.
const KINDS: [&str; 11] = [
    "ConfigMap",
    "Deployment",
    "HorizontalPodAutoscaler",
    "Ingress",
    "NetworkPolicy",
    "PersistentVolumeClaim",
    "PodDisruptionBudget",
    "RoleBinding",
    "Service",
    "ServiceAccount",
    "StatefulSet",
];

/// Checks an object against its Kubernetes type. The types ignore unknown fields, so the check reads the object and
/// compares it with what the type writes.
fn check(object: &Value) -> Result<(), String> {
    match object["kind"].as_str().unwrap() {
        "ConfigMap" => round_trip::<ConfigMap>(object),
        "Deployment" => round_trip::<Deployment>(object),
        "HorizontalPodAutoscaler" => round_trip::<HorizontalPodAutoscaler>(object),
        "Ingress" => round_trip::<Ingress>(object),
        "NetworkPolicy" => round_trip::<NetworkPolicy>(object),
        "PodDisruptionBudget" => round_trip::<PodDisruptionBudget>(object),
        "RoleBinding" => round_trip::<RoleBinding>(object),
        "PersistentVolumeClaim" => round_trip::<PersistentVolumeClaim>(object),
        "Service" => round_trip::<Service>(object),
        "ServiceAccount" => round_trip::<ServiceAccount>(object),
        "StatefulSet" => round_trip::<StatefulSet>(object),
        kind => Err(format!("no type to check a {kind} against")),
    }
}

fn round_trip<T: DeserializeOwned + Serialize>(object: &Value) -> Result<(), String> {
    let typed: T = serde_json::from_value(object.clone()).map_err(|error| error.to_string())?;
    let back = serde_json::to_value(typed).unwrap();
    if back == *object { Ok(()) } else { Err(format!("{object} comes back as {back}")) }
}

#[test]
fn generated_built_in_objects_have_only_known_fields() {
    let mut checked: BTreeMap<String, usize> = BTreeMap::new();
    for folder in case_folders() {
        let compilation = compile_case(&folder);
        if compilation.has_errors() {
            continue;
        }
        for output in compilation.outputs.iter().filter(|output| BUILT_IN.contains(&&*output.identity.group)) {
            check(&output.object).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            *checked.entry(output.identity.kind.to_string()).or_default() += 1;
        }
    }
    for kind in KINDS {
        assert!(checked.get(kind).is_some_and(|count| *count > 1), "{kind}: {checked:?}");
    }
}

#[test]
fn the_check_finds_unknown_and_wrong_fields() {
    let metadata = json!({"name": "m"});
    let service =
        |port: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [port]}});
    assert_eq!(check(&service(json!({"port": 80, "targetPort": 5000}))), Ok(()));
    for port in [json!({"port": 80, "targetport": 5000}), json!({"port": "80"}), json!({"targetPort": 1}), json!([80])]
    {
        assert!(check(&service(port.clone())).is_err(), "{port}");
    }
    let map = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
    assert_eq!(check(&map(json!({"a": "b"}))), Ok(()));
    assert!(check(&map(json!({"a": 1}))).is_err());
}
