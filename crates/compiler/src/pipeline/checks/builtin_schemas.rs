//! Schemas of what no CRD describes, but a raw patch can change: the kinds of Kubernetes itself that providers generate,
//! and the Serve configuration, a text in a RayService.
//!
//! `kubernetes_kinds.json` has the fields of the kinds and their types in Kubernetes 1.34, without those of their status;
//! `xtask/python/kubernetes_kinds.py` prints it. `serve_config.json` has those of `ServeDeploySchema`
//! (`ray/serve/schema.py` of Ray 2.56.0 and 2.60.0; what they do not have, older releases do not have either). Ray itself
//! ignores unknown ones.

use std::convert::Infallible;
use std::sync::{LazyLock, OnceLock};

use serde_json::{Value, json};

use kubefoundry_crd::{CrdDefinition, CrdSchema, SchemaViolation, upstream};
use kubefoundry_yaml::field_path::FieldPath;

/// The names of the schema of the Serve configuration in messages.
pub(crate) const SERVE_CONFIG: (&str, &str) = ("ServeDeploySchema", "Ray 2.60.0");

/// The field of the definition below that holds the Serve configuration.
const CONFIG: &str = "config";

/// The word in `kubernetes_kinds.json` for the schema of a pod.
const POD_SPEC: &str = "PodSpec";

/// A kind of Kubernetes. It is defined when an object of it is checked for the first time.
struct BuiltinKind {
    api_version: String,
    kind: String,
    fields: Value,
    definition: OnceLock<CrdDefinition>,
}

static KINDS: LazyLock<Vec<BuiltinKind>> = LazyLock::new(|| {
    let file = "kubernetes_kinds.json";
    let versions = kubefoundry_yaml::infallible::parse_builtin(file, include_str!("kubernetes_kinds.json"));
    let Value::Object(versions) = versions else { damaged(file) };
    let kinds_of = |(api_version, kinds): (String, Value)| {
        let Value::Object(kinds) = kinds else { damaged(file) };
        kinds.into_iter().map(move |(kind, fields)| BuiltinKind {
            api_version: api_version.clone(),
            kind,
            fields,
            definition: OnceLock::new(),
        })
    };
    versions.into_iter().flat_map(kinds_of).collect()
});

static SERVE_DEFINITION: LazyLock<CrdDefinition> = LazyLock::new(|| {
    let schema = kubefoundry_yaml::infallible::parse_builtin("serve_config.json", include_str!("serve_config.json"));
    define("ray.io/v1", "RayService", &json!({CONFIG: schema}))
});

/// Defines a kind with these fields beside `metadata`.
fn define(api_version: &str, kind: &str, fields: &Value) -> CrdDefinition {
    let mut properties =
        json!({"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}});
    for (field, schema) in fields.as_object().unwrap_or_else(|| damaged(kind)) {
        properties[field] = with_pods(schema);
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": properties}});
    let crd = json!({"spec": {
        "group": group, "names": {"kind": kind}, "versions": [{"name": version, "served": true, "schema": schema}],
    }});
    CrdDefinition::with_references(crd, "Kubernetes 1.34", upstream::shared_schemas()).unwrap_or_else(|_| damaged(kind))
}

/// Replaces [`POD_SPEC`] in a schema, at any depth.
fn with_pods(schema: &Value) -> Value {
    if let Some(keywords) = schema.as_object() {
        let Ok(replaced) = upstream::map_subschemas(keywords, |inner| Ok::<_, Infallible>(with_pods(inner)));
        return Value::Object(replaced);
    }
    let pod = upstream::pod_spec().filter(|_| schema == POD_SPEC);
    let pod = pod.and_then(|(known, part)| known.schema.schema_of(&FieldPath::parse(part)).cloned());
    pod.unwrap_or_else(|| damaged(POD_SPEC))
}

/// Returns the schema of the only version of a definition of this file.
fn schema_of(api_version: &str, kind: &str, definition: &'static CrdDefinition) -> &'static CrdSchema {
    let version = api_version.rsplit('/').next().and_then(|version| definition.version(version));
    version.and_then(|version| version.schema().ok()).unwrap_or_else(|| damaged(kind))
}

/// Stops the program, because objects without a schema would count as checked. Tests read both files.
#[expect(clippy::panic, reason = "the files are a part of the program; no text of a user gets here")]
fn damaged(kind: &str) -> ! {
    panic!("the built-in schema of {kind} is damaged")
}

/// Checks a Serve configuration. Violations have paths in it.
pub(crate) fn check_serve_config(config: &Value) -> Vec<SchemaViolation> {
    let schema = schema_of("ray.io/v1", SERVE_CONFIG.0, &SERVE_DEFINITION);
    let violations = schema.check_part(CONFIG, config, &FieldPath::root());
    violations.unwrap_or_else(|| damaged(SERVE_CONFIG.0))
}

/// Returns the schema of a kind of Kubernetes itself.
pub(crate) fn schema(api_version: &str, kind: &str) -> Option<&'static CrdSchema> {
    let found = KINDS.iter().find(|found| found.kind == kind && found.api_version == api_version)?;
    let definition = found.definition.get_or_init(|| define(api_version, kind, &found.fields));
    Some(schema_of(api_version, kind, definition))
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
        for known in KINDS.iter() {
            let empty =
                json!({"apiVersion": known.api_version, "kind": known.kind, "metadata": {"name": "m"}, "spec": 1});
            let violations = schema(&known.api_version, &known.kind).unwrap().check(&empty);
            assert_eq!(violations.len(), 1, "{}: {violations:?}", known.kind);
        }
        assert!(schema("apps/v1", "Service").is_none());
        assert!(schema("v1", "Deployment").is_none());
    }

    #[test]
    fn pods_of_a_kind_are_checked() {
        let found = |pod: Value| {
            let template = json!({"metadata": {"labels": {"app": "m"}}, "spec": pod});
            let spec = json!({"replicas": 1, "selector": {"matchLabels": {"app": "m"}}, "template": template});
            let object =
                json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "m"}, "spec": spec});
            let violations = schema("apps/v1", "Deployment").unwrap().check(&object);
            violations.iter().map(|violation| violation.path.to_string()).collect::<Vec<_>>()
        };
        let container = |field: &str| json!({"containers": [{"name": "m", "image": "m:1", (field): {}}]});
        assert!(found(container("resources")).is_empty());
        assert_eq!(found(container("resource")), ["spec.template.spec.containers[0].resource"]);
    }
}
