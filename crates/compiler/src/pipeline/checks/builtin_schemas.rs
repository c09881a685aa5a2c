//! Schemas of what no CRD describes, but a raw patch can change: the kinds of Kubernetes itself that providers generate,
//! and the Serve configuration, a text in a RayService.
//!
//! `core_kinds.json` has the fields of the kinds and their types (`staging/src/k8s.io/api/core/v1/types.go` of Kubernetes
//! 1.34), without those of their status. `serve_config.json` has those of `ServeDeploySchema` (`ray/serve/schema.py` of
//! Ray 2.56.0 and 2.60.0; what they do not have, older releases do not have either). Ray itself ignores unknown ones.

use std::sync::LazyLock;

use serde_json::{Value, json};

use kubefoundry_crd::{CrdDefinition, CrdSchema, SchemaViolation};
use kubefoundry_yaml::field_path::FieldPath;

/// The names of the schema of the Serve configuration in messages.
pub(crate) const SERVE_CONFIG: (&str, &str) = ("ServeDeploySchema", "Ray 2.60.0");

/// The field of the definition below that holds the Serve configuration.
const CONFIG: &str = "config";

/// The definitions of the kinds, with their names.
static CORE_KINDS: LazyLock<Vec<(String, CrdDefinition)>> = LazyLock::new(|| {
    let kinds = kubefoundry_yaml::infallible::parse_builtin("core_kinds.json", include_str!("core_kinds.json"));
    let define = |(kind, fields): (&String, &Value)| (kind.clone(), define(kind, fields));
    kinds.as_object().into_iter().flatten().map(define).collect()
});

static SERVE_DEFINITION: LazyLock<CrdDefinition> = LazyLock::new(|| {
    let schema = kubefoundry_yaml::infallible::parse_builtin("serve_config.json", include_str!("serve_config.json"));
    define("RayService", &json!({CONFIG: schema}))
});

/// Defines a kind with these fields beside `metadata`.
fn define(kind: &str, fields: &Value) -> CrdDefinition {
    let mut properties =
        json!({"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}});
    for (field, schema) in fields.as_object().unwrap_or_else(|| damaged(kind)) {
        properties[field] = schema.clone();
    }
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": properties}});
    let crd = json!({"spec": {
        "group": "core", "names": {"kind": kind}, "versions": [{"name": "v1", "served": true, "schema": schema}],
    }});
    CrdDefinition::from_value(crd, "Kubernetes 1.34").unwrap_or_else(|_| damaged(kind))
}

/// Returns the schema of a definition of this file.
fn schema_of(kind: &str, definition: &'static CrdDefinition) -> &'static CrdSchema {
    let schema = definition.version("v1").and_then(|version| version.schema().ok());
    schema.unwrap_or_else(|| damaged(kind))
}

/// Stops the program, because objects without a schema would count as checked. Tests read both files.
#[expect(clippy::panic, reason = "the files are a part of the program; no text of a user gets here")]
fn damaged(kind: &str) -> ! {
    panic!("the built-in schema of {kind} is damaged")
}

/// Checks a Serve configuration. Violations have paths in it.
pub(crate) fn check_serve_config(config: &Value) -> Vec<SchemaViolation> {
    let violations = schema_of(SERVE_CONFIG.0, &SERVE_DEFINITION).check_part(CONFIG, config, &FieldPath::root());
    violations.unwrap_or_else(|| damaged(SERVE_CONFIG.0))
}

/// Returns the schema of a kind of Kubernetes itself.
pub(crate) fn schema(api_version: &str, kind: &str) -> Option<&'static CrdSchema> {
    let (_, definition) = CORE_KINDS.iter().find(|(name, _)| name == kind && api_version == "v1")?;
    Some(schema_of(kind, definition))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_and_wrong_types_are_found() {
        let found = |spec: Value| {
            let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "m"}, "spec": spec});
            let violations = schema("v1", "Service").unwrap().check(&service);
            violations.iter().map(|violation| violation.path.to_string()).collect::<Vec<_>>()
        };
        assert!(found(json!({"type": "ClusterIP", "ports": [{"port": 80, "targetPort": "http"}]})).is_empty());
        assert_eq!(found(json!({"typ": "ClusterIP"})), ["spec.typ"]);
        assert_eq!(found(json!({"ports": [{"port": "80"}]})), ["spec.ports[0].port"]);
    }

    #[test]
    fn unknown_fields_of_a_serve_configuration_are_found() {
        let found = |config: Value| {
            check_serve_config(&config).iter().map(|violation| violation.path.to_string()).collect::<Vec<_>>()
        };
        let application = |field: &str| json!({"applications": [{"name": "m", "args": {"any": 1}, (field): {}}]});
        assert!(found(application("runtime_env")).is_empty());
        assert_eq!(found(application("runtime_envs")), ["applications[0].runtime_envs"]);
        assert_eq!(found(json!({"http_options": {"port": "80"}})), ["http_options.port"]);
    }

    #[test]
    fn every_kind_has_a_schema() {
        for kind in ["ConfigMap", "PersistentVolumeClaim", "Service"] {
            assert!(schema("v1", kind).is_some(), "{kind}");
        }
        assert!(schema("apps/v1", "Service").is_none());
    }
}
