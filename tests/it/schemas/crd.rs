//! A model of how a cluster validates an object: the schema, the defaults and the rules of its CRD.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jsonschema::Validator;
use kubefoundry_kubernetes::api_group::API_GROUPS;
use serde_json::Value;

use super::{documents, schema_file};

/// A CRD.
pub(crate) struct Crd {
    /// `spec.versions[0].schema.openAPIV3Schema`.
    pub(crate) schema: Value,
    validator: Validator,
    rules: kube_cel::CompiledSchema,
}

/// A refusal by a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Refusal {
    /// The field, such as `spec.env[0]`.
    pub(crate) path: String,
    pub(crate) message: String,
    /// The CEL rule; `None` if the schema refuses.
    pub(crate) rule: Option<String>,
}

impl Refusal {
    /// Returns whether the message of a finding matches this refusal. An API server puts the path before the message.
    pub(crate) fn matches_finding(&self, message: &str) -> bool {
        let rest = message.strip_prefix(&self.path).unwrap_or_default();
        // The rules of a CRD cannot tell a token from a name.
        let is_about_token = [" is a token, ", " looks like a token, "].iter().any(|joint| rest.starts_with(joint));
        message == self.message
            || is_about_token && self.message.starts_with("is \"")
            || [" ", ".", ""].iter().any(|joint| rest.strip_prefix(joint) == Some(self.message.as_str()))
    }
}

/// Returns the CRDs, by group and kind.
pub(crate) static CRDS: LazyLock<BTreeMap<(&str, &str), Crd>> = LazyLock::new(|| {
    let kinds = [("ModelDeployment", "modeldeployments"), ("InferenceProviderConfig", "inferenceproviderconfigs")];
    let mut crds = BTreeMap::new();
    for api_group in API_GROUPS.iter().filter(|api_group| api_group.has_crds) {
        for (kind, plural) in kinds {
            crds.insert((api_group.name, kind), Crd::from_file(&format!("{}_{plural}.yaml", api_group.name)));
        }
    }
    crds
});

/// Returns the schema that the patch for the CRD of the llama-stack operator adds at a path with this end.
pub(crate) fn patched(end: &str) -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/llamastack/external-providers.yaml");
    let operations = documents(&std::fs::read_to_string(path).unwrap()).remove(0);
    let adds = |operation: &&Value| operation["path"].as_str().is_some_and(|path| path.ends_with(end));
    operations.as_array().unwrap().iter().find(adds).unwrap()["value"].clone()
}

impl Crd {
    /// Reads a CRD from a generated file.
    pub(crate) fn from_file(name: &str) -> Self {
        let definition = documents(&schema_file(name)).remove(0);
        Self::from_schema(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone())
    }

    /// Returns a CRD with this schema.
    pub(crate) fn from_schema(schema: Value) -> Self {
        let validator = jsonschema::draft7::new(&schema).unwrap();
        Self { rules: kube_cel::compile_schema(&schema), schema, validator }
    }

    /// Returns whether a cluster refuses a value for which this is the schema.
    pub(crate) fn refuses_part(&self, part: &Value) -> bool {
        let mut found = Vec::new();
        unknown_fields(&self.schema, part, "", &mut found);
        repeated_keys(&self.schema, part, "", &mut found);
        !found.is_empty()
            || !self.validator.is_valid(part)
            || kube_cel::Validator::new().validate_compiled(&self.rules, part, None).is_err()
    }

    /// Returns the object with the defaults of the schema.
    pub(crate) fn defaulted(&self, object: &Value) -> Value {
        kube_cel::apply_defaults(&self.schema, object)
    }

    /// Returns the refusals of an object: unknown fields, the schema, and, if the schema accepts it, the rules.
    pub(crate) fn refusals(&self, object: &Value) -> Vec<Refusal> {
        let object = self.defaulted(object);
        let mut found = Vec::new();
        unknown_fields(&self.schema, &object, "", &mut found);
        repeated_keys(&self.schema, &object, "", &mut found);
        if object["metadata"]["name"].as_str().is_none_or(str::is_empty) {
            found.push(Refusal { path: "metadata.name".to_owned(), message: "is required".to_owned(), rule: None });
        }
        for error in self.validator.iter_errors(&object) {
            let path = error.instance_path().to_string();
            found.push(Refusal { path, message: error.to_string(), rule: None });
        }
        if found.is_empty()
            && let Err(errors) = kube_cel::Validator::new().validate_compiled(&self.rules, &object, None)
        {
            let refusal = |error: kube_cel::ValidationError| {
                assert_eq!(error.kind, kube_cel::ErrorKind::ValidationFailure, "{error}: {}", error.rule);
                Refusal { path: error.field_path, message: error.message, rule: Some(error.rule) }
            };
            found.extend(errors.into_vec().into_iter().map(refusal));
        }
        found
    }
}

/// Collects items of map-type lists that repeat a key.
fn repeated_keys(schema: &Value, value: &Value, path: &str, found: &mut Vec<Refusal>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let schema = schema["properties"].get(key).unwrap_or(&schema["additionalProperties"]);
                repeated_keys(schema, value, &format!("{path}.{key}"), found);
            }
        }
        Value::Array(items) => {
            let keys = schema["x-kubernetes-list-map-keys"].as_array().map_or(&[][..], Vec::as_slice);
            let of = |item: &Value| keys.iter().map(|key| item[key.as_str().unwrap()].clone()).collect::<Vec<_>>();
            for (index, item) in items.iter().enumerate() {
                let path = format!("{path}[{index}]");
                repeated_keys(&schema["items"], item, &path, found);
                if !keys.is_empty() && items[..index].iter().any(|earlier| of(earlier) == of(item)) {
                    found.push(Refusal { path, message: "duplicate entry".to_owned(), rule: None });
                }
            }
        }
        _ => {}
    }
}

/// Collects fields that an API server would prune and `kubectl` would refuse.
fn unknown_fields(schema: &Value, value: &Value, path: &str, found: &mut Vec<Refusal>) {
    if schema["x-kubernetes-preserve-unknown-fields"] == true || path == ".metadata" {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = format!("{path}.{key}");
                if let Some(schema) = schema["properties"].get(key).or(schema.get("additionalProperties")) {
                    unknown_fields(schema, value, &path, found);
                } else {
                    found.push(Refusal { path, message: "unknown field".to_owned(), rule: None });
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                unknown_fields(&schema["items"], item, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}
