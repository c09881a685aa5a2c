//! The claims, ConfigMaps and Secrets that a generated object refers to by name.

use serde_json::Value;

/// A reference to another object in the same namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reference {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    /// How the object uses the other one: `mounts`.
    pub(crate) relation: &'static str,
}

const CLAIM: &str = "PersistentVolumeClaim";

/// Returns the references of an object, sorted and without duplicates.
pub(crate) fn find_references(object: &Value) -> Vec<Reference> {
    let mut references = Vec::new();
    collect_references(object, &mut references);
    if let Some(config) = preset_config(object) {
        references.push(Reference { kind: "ConfigMap", name: config.to_owned(), relation: "is configured by" });
    }
    references.sort();
    references.dedup();
    references
}

/// KAITO names the ConfigMap of a preset in a plain string (api/v1beta1/workspace_types.go, `InferenceSpec.Config`).
fn preset_config(object: &Value) -> Option<&str> {
    let inference = object.get("inference").or_else(|| object.pointer("/spec/template/inference"))?;
    inference.get("config")?.as_str()
}

fn collect_references(value: &Value, references: &mut Vec<Reference>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, references)),
        Value::Object(fields) => {
            for (key, value) in fields {
                add_field_references(key, value, references);
                collect_references(value, references);
            }
        }
        _ => {}
    }
}

/// Adds the references in one field. The fields are those of core/v1 (EnvFromSource, EnvVarSource, Volume, PodSpec) and
/// of the providers' CRDs.
fn add_field_references(key: &str, value: &Value, references: &mut Vec<Reference>) {
    let mut add = |kind, name: Option<&str>, relation| {
        references.extend(name.map(|name| Reference { kind, name: name.to_owned(), relation }));
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
        // Dynamo v1alpha1: the claims for volumeMounts.
        "pvcs" => items().for_each(|name| add(CLAIM, name, "mounts")),
        // Dynamo v1beta1: the claim for compiled kernels.
        "compilationCache" => add(CLAIM, field("pvcName"), "mounts"),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_each_reference_once() {
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
            find_references(&object).iter().map(|it| format!("{} {} {}", it.relation, it.kind, it.name)).collect();
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

    /// A field with a known name but another type is not a reference.
    #[test]
    fn ignores_fields_of_other_types() {
        let object = json!({"secretRef": "x", "configMap": null, "pvcs": {"name": "x"}, "secret": {"name": "x"}});
        assert_eq!(find_references(&object), []);
    }
}
