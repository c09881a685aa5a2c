//! Reduces a CRD to its interface: without descriptions, CEL rules and conversion.

use kubefoundry_crd::upstream::map_subschemas;
use serde_json::{Map, Value};

/// Schema keywords that decide what an API server accepts and how it stores it.
const INTERFACE_KEYWORDS: &[&str] = &[
    "additionalProperties",
    "allOf",
    "anyOf",
    "default",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "type",
    "uniqueItems",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
];
/// Schema keywords that a skeleton omits, because they hold the texts and rules of upstream.
const OMITTED_KEYWORDS: &[&str] = &["description", "example", "externalDocs", "title", RULES];
const RULES: &str = "x-kubernetes-validations";

/// The kept and the omitted fields of `spec`, of a version, and of a printer column.
const SPEC: (&[&str], &[&str]) = (&["group", "names", "scope", "preserveUnknownFields", "versions"], &["conversion"]);
const VERSION: (&[&str], &[&str]) = (
    &[
        "name",
        "served",
        "storage",
        "deprecated",
        "subresources",
        "additionalPrinterColumns",
        "selectableFields",
        "schema",
    ],
    &["deprecationWarning"],
);
const COLUMN: (&[&str], &[&str]) = (&["name", "type", "format", "jsonPath", "priority"], &["description"]);

/// API servers require this annotation on CRDs of Kubernetes' own API groups.
const APPROVAL: &str = "api-approved.kubernetes.io";

/// The part of a CRD that its skeleton keeps.
#[derive(Debug, PartialEq)]
pub(crate) struct ReducedCrd {
    pub(crate) group: String,
    pub(crate) kind: String,
    /// `metadata.name`, and the approval annotation if there is one.
    pub(crate) metadata: Map<String, Value>,
    /// `spec`, in which `schema` of a version is the schema itself.
    pub(crate) spec: Map<String, Value>,
    /// The number of CEL rules of the upstream CRD.
    pub(crate) rules: usize,
}

impl ReducedCrd {
    /// Reduces an upstream CRD.
    ///
    /// # Errors
    /// If it has an unknown field or keyword: a maintainer must decide whether skeletons keep it.
    pub(super) fn from_dump(crd: &Value) -> Result<Self, String> {
        let mut rules = 0;
        let mut reduced = Self::reduce(crd, &mut rules)?;
        reduced.rules = rules;
        Ok(reduced)
    }

    /// Reads the CRD to which a skeleton was expanded.
    pub(super) fn from_skeleton(crd: &Value, rules: usize) -> Result<Self, String> {
        Ok(Self { rules, ..Self::reduce(crd, &mut 0)? })
    }

    fn reduce(crd: &Value, rules: &mut usize) -> Result<Self, String> {
        let mut spec = kept_fields(crd.get("spec"), SPEC, "spec")?;
        let versions = spec.get("versions").and_then(Value::as_array).ok_or("no spec.versions")?;
        let versions = versions.iter().map(|version| reduce_version(version, rules));
        let versions: Vec<Value> = versions.collect::<Result<_, String>>()?;
        spec.insert("versions".to_owned(), Value::Array(versions));
        let mut metadata = Map::new();
        let name = crd.pointer("/metadata/name").ok_or("no metadata.name")?;
        metadata.insert("name".to_owned(), name.clone());
        if let Some(approval) = crd.pointer("/metadata/annotations").and_then(|all| all.get(APPROVAL)) {
            metadata.insert("annotations".to_owned(), serde_json::json!({ APPROVAL: approval }));
        }
        let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let group = text("/spec/group").ok_or("no spec.group")?;
        let kind = text("/spec/names/kind").ok_or("no spec.names.kind")?;
        Ok(Self { group, kind, metadata, spec, rules: 0 })
    }
}

fn reduce_version(version: &Value, rules: &mut usize) -> Result<Value, String> {
    let mut reduced = kept_fields(Some(version), VERSION, "a version")?;
    let schema = version.pointer("/schema/openAPIV3Schema").ok_or("a version without schema.openAPIV3Schema")?;
    reduced.insert("schema".to_owned(), reduce_schema(schema, rules)?);
    if let Some(columns) = reduced.get("additionalPrinterColumns").and_then(Value::as_array) {
        let columns =
            columns.iter().map(|column| kept_fields(Some(column), COLUMN, "a printer column").map(Value::Object));
        let columns = Value::Array(columns.collect::<Result<_, String>>()?);
        reduced.insert("additionalPrinterColumns".to_owned(), columns);
    }
    Ok(Value::Object(reduced))
}

fn reduce_schema(schema: &Value, rules: &mut usize) -> Result<Value, String> {
    let mut kept = kept_fields(Some(schema), (INTERFACE_KEYWORDS, OMITTED_KEYWORDS), "a schema")?;
    *rules += schema.get(RULES).and_then(Value::as_array).map_or(0, Vec::len);
    kept.values_mut().for_each(sort_keys);
    map_subschemas(&kept, |subschema| reduce_schema(subschema, rules)).map(Value::Object)
}

/// Returns the kept fields of a mapping, sorted by name.
fn kept_fields(
    value: Option<&Value>,
    (kept, left_out): (&[&str], &[&str]),
    what: &str,
) -> Result<Map<String, Value>, String> {
    let all = value.and_then(Value::as_object).ok_or_else(|| format!("{what} is not a mapping"))?;
    let mut fields: Vec<(&String, &Value)> = Vec::new();
    for (name, value) in all {
        match name.as_str() {
            name if left_out.contains(&name) => {}
            known if kept.contains(&known) => fields.push((name, value)),
            _ => return Err(format!("{what} has {name}, which xtask/src/upstream/reduced_crd.rs does not know")),
        }
    }
    fields.sort_by_key(|(name, _)| *name);
    Ok(fields.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn sort_keys(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.sort_keys();
            fields.values_mut().for_each(sort_keys);
        }
        Value::Array(items) => items.iter_mut().for_each(sort_keys),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn crd(schema: &Value) -> Value {
        json!({
            "metadata": {"name": "things.example.com", "annotations": {"other": "x", APPROVAL: "here"}},
            "spec": {
                "group": "example.com", "names": {"kind": "Thing"}, "scope": "Namespaced",
                "conversion": {"strategy": "Webhook"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "deprecationWarning": "prose",
                    "additionalPrinterColumns": [{"name": "Age", "type": "date", "description": "prose"}],
                    "schema": {"openAPIV3Schema": schema},
                }],
            },
            "status": {},
        })
    }

    #[test]
    fn prose_and_rules_are_left_out_and_counted() {
        let schema = json!({
            "type": "object", "description": "prose", "title": "prose", "example": {}, "externalDocs": {},
            "x-kubernetes-validations": [{"rule": "true"}, {"rule": "true"}],
            "properties": {
                // These are names of fields here.
                "title": {"type": "string", "description": "prose", "default": {"description": 1, "a": 2}},
                "description": {"items": {"x-kubernetes-validations": [{"rule": "true"}]}},
            },
        });
        let reduced = ReducedCrd::from_dump(&crd(&schema)).unwrap();
        assert_eq!(reduced.rules, 3);
        assert_eq!(json!(reduced.metadata), json!({"name": "things.example.com", "annotations": {APPROVAL: "here"}}));
        assert_eq!(
            json!(reduced.spec["versions"]),
            json!([{
                "name": "v1", "served": true, "storage": true,
                "additionalPrinterColumns": [{"name": "Age", "type": "date"}],
                "schema": {
                    "type": "object",
                    "properties": {
                        "title": {"type": "string", "default": {"description": 1, "a": 2}},
                        "description": {"items": {}},
                    },
                },
            }])
        );
        assert!(reduced.spec.get("conversion").is_none());
    }

    #[test]
    fn an_unknown_keyword_is_an_error() {
        let error = ReducedCrd::from_dump(&crd(&json!({"properties": {"a": {"x-kubernetes-new": true}}}))).unwrap_err();
        assert!(error.starts_with("a schema has x-kubernetes-new"), "{error}");
    }
}
