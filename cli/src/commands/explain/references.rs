//! What a generated object refers to by name: claims, ConfigMaps and Secrets.

use serde_json::Value;

/// A name in an object that is the name of another one, in the same namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reference {
    pub(super) kind: &'static str,
    pub(super) name: String,
    /// What it is for: `mounts`.
    pub(super) relation: &'static str,
}

const CLAIM: &str = "PersistentVolumeClaim";

/// Everything an object refers to, sorted, each once.
pub(super) fn references(object: &Value) -> Vec<Reference> {
    let mut found = Vec::new();
    walk(object, &mut found);
    if let Some(config) = config_of_preset(object) {
        found.push(Reference { kind: "ConfigMap", name: config.to_owned(), relation: "is configured by" });
    }
    found.sort();
    found.dedup();
    found
}

/// KAITO names the ConfigMap of a preset in a plain string (api/v1beta1/workspace_types.go, `InferenceSpec.Config`).
fn config_of_preset(object: &Value) -> Option<&str> {
    let inference = object.get("inference").or_else(|| object.pointer("/spec/template/inference"))?;
    inference.get("config")?.as_str()
}

fn walk(value: &Value, found: &mut Vec<Reference>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
        Value::Object(fields) => {
            for (key, value) in fields {
                refer(key, value, found);
                walk(value, found);
            }
        }
        _ => {}
    }
}

/// The fields of core/v1 (EnvFromSource, EnvVarSource, Volume, PodSpec) and of the providers' CRDs that hold names.
fn refer(key: &str, value: &Value, found: &mut Vec<Reference>) {
    let mut add = |kind, name: Option<&str>, relation| {
        found.extend(name.map(|name| Reference { kind, name: name.to_owned(), relation }));
    };
    let field = |name: &str| value.get(name).and_then(Value::as_str);
    let items = || value.as_array().into_iter().flatten().map(|item| item.get("name").and_then(Value::as_str));
    match key {
        "secretRef" | "secretKeyRef" => add("Secret", field("name"), "reads environment from"),
        // Dynamo v1alpha1; KAITO's presets.
        "envFromSecret" | "modelAccessSecret" => add("Secret", value.as_str(), "reads environment from"),
        "imagePullSecrets" => items().for_each(|name| add("Secret", name, "pulls images with")),
        "configMapRef" | "configMapKeyRef" => add("ConfigMap", field("name"), "reads environment from"),
        "configMap" => add("ConfigMap", field("name"), "mounts"),
        "secret" => add("Secret", field("secretName"), "mounts"),
        "persistentVolumeClaim" => add(CLAIM, field("claimName"), "mounts"),
        // Dynamo v1alpha1: claims that its volumeMounts name.
        "pvcs" => items().for_each(|name| add(CLAIM, name, "mounts")),
        // Dynamo v1beta1: the claim of compiled kernels.
        "compilationCache" => add(CLAIM, field("pvcName"), "mounts"),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_way_to_name_another_object_is_found_once() {
        let object = json!({
            "kind": "Workspace",
            "inference": {"config": "settings"},
            "spec": {
                "pvcs": [{"name": "compiled"}],
                "compilationCache": {"pvcName": "kernels"},
                "envFromSecret": "token",
                "imagePullSecrets": [{"name": "pull"}],
                "containers": [{
                    "envFrom": [{"secretRef": {"name": "token"}}, {"configMapRef": {"name": "env"}}],
                    "env": [{"valueFrom": {"secretKeyRef": {"name": "key", "key": "k"}}}],
                }],
                "volumes": [
                    {"persistentVolumeClaim": {"claimName": "cache"}},
                    {"configMap": {"name": "files"}},
                    {"secret": {"secretName": "tls"}},
                ],
            },
        });
        let found: Vec<String> =
            references(&object).iter().map(|it| format!("{} {} {}", it.relation, it.kind, it.name)).collect();
        assert_eq!(
            found,
            [
                "reads environment from ConfigMap env",
                "mounts ConfigMap files",
                "is configured by ConfigMap settings",
                "mounts PersistentVolumeClaim cache",
                "mounts PersistentVolumeClaim compiled",
                "mounts PersistentVolumeClaim kernels",
                "reads environment from Secret key",
                "pulls images with Secret pull",
                "mounts Secret tls",
                "reads environment from Secret token",
            ]
        );
    }

    /// A label of that name, or a value of another type, is no reference.
    #[test]
    fn other_shapes_are_left_alone() {
        let object = json!({"secretRef": "x", "configMap": null, "pvcs": {"name": "x"}, "secret": {"name": "x"}});
        assert_eq!(references(&object), []);
    }
}
