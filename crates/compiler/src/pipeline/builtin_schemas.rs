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
pub(super) const SERVE_CONFIG: (&str, &str) = ("ServeDeploySchema", "Ray 2.60.0");

/// The field of the definition below that holds the Serve configuration.
const CONFIG: &str = "config";

/// The definitions of the kinds, with their names.
static CORE_KINDS: LazyLock<Vec<(String, CrdDefinition)>> = LazyLock::new(|| {
    let kinds: Value = serde_json::from_str(include_str!("core_kinds.json")).unwrap_or_default();
    let define = |(kind, fields): (&String, &Value)| Some((kind.clone(), define(kind, fields)?));
    kinds.as_object().into_iter().flatten().filter_map(define).collect()
});

static SERVE_DEFINITION: LazyLock<Option<CrdDefinition>> = LazyLock::new(|| {
    let schema: Value = serde_json::from_str(include_str!("serve_config.json")).ok()?;
    define("RayService", &json!({CONFIG: schema}))
});

/// Defines a kind with these fields beside `metadata`.
fn define(kind: &str, fields: &Value) -> Option<CrdDefinition> {
    let mut properties =
        json!({"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}});
    properties.as_object_mut()?.extend(fields.as_object()?.clone());
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": properties}});
    let crd = json!({"spec": {
        "group": "core", "names": {"kind": kind}, "versions": [{"name": "v1", "served": true, "schema": schema}],
    }});
    CrdDefinition::from_value(crd, "Kubernetes 1.34").ok()
}

/// Checks a Serve configuration. Violations have paths in it.
pub(super) fn check_serve_config(config: &Value) -> Vec<SchemaViolation> {
    let schema = SERVE_DEFINITION.as_ref().and_then(|definition| definition.version("v1")?.schema().ok());
    schema.and_then(|schema| schema.check_part(CONFIG, config, &FieldPath::root())).unwrap_or_default()
}

/// Returns the schema of a kind of Kubernetes itself.
pub(super) fn schema(api_version: &str, kind: &str) -> Option<&'static CrdSchema> {
    let (_, definition) = CORE_KINDS.iter().find(|(name, _)| name == kind && api_version == "v1")?;
    definition.version("v1")?.schema().ok()
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
