//! A structural schema to a JSON Schema that says what the apiserver means by it, and refuses what it would drop.
//!
//! Rules: structural schemas of the Kubernetes documentation ("Extend the Kubernetes API with
//! CustomResourceDefinitions"), and `k8s.io/kube-openapi/pkg/validation` for types, null and formats.

use serde_json::{Map, Value, json};

use super::pattern;

/// Keywords that mean in an OpenAPI schema what they mean in JSON Schema.
const SAME: &[&str] = &[
    "enum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "minItems",
    "minLength",
    "minProperties",
    "multipleOf",
    "required",
    "uniqueItems",
];

/// Formats of strings that are checked; the apiserver ignores those that it does not know.
const FORMATS: &[&str] = &["byte", "date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri"];

/// The JSON Schema of a whole object.
pub(super) fn object(schema: &Value) -> Value {
    let mut strict = structural(schema);
    with_type_meta(&mut strict);
    strict
}

/// A schema that describes a value.
fn structural(schema: &Value) -> Value {
    let mut strict = value_rules(schema);
    let is = |key: &str| schema.get(key).and_then(Value::as_bool).unwrap_or(false);
    if is("x-kubernetes-int-or-string") {
        strict.insert("type".to_owned(), with_null(&["integer", "string"], is("nullable")));
    } else if let Some(kind) = schema.get("type").and_then(Value::as_str) {
        strict.insert("type".to_owned(), with_null(&[kind], is("nullable")));
        if let Some((minimum, maximum)) = schema.get("format").and_then(Value::as_str).and_then(|it| range(kind, it)) {
            let bounds = json!({"minimum": minimum, "maximum": maximum});
            add_to_all_of(&mut strict, bounds);
        }
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let properties: Map<String, Value> =
            properties.iter().map(|(name, property)| (name.clone(), structural(property))).collect();
        strict.insert("properties".to_owned(), Value::Object(properties));
    }
    let additional = match schema.get("additionalProperties") {
        Some(Value::Object(fields)) if !fields.is_empty() => Some(structural(&Value::Object(fields.clone()))),
        Some(Value::Object(_) | Value::Bool(true)) => None,
        _ if is("x-kubernetes-preserve-unknown-fields") => None,
        // Where nothing says what is in an object, the apiserver drops all that is in it.
        _ => Some(Value::Bool(false)),
    };
    if let Some(additional) = additional {
        // Without properties beside it, the library does not name the field that it refuses.
        strict.entry("properties").or_insert_with(|| json!({}));
        strict.insert("additionalProperties".to_owned(), additional);
    }
    if let Some(items) = schema.get("items") {
        strict.insert("items".to_owned(), structural(items));
    }
    let mut strict = Value::Object(strict);
    if is("x-kubernetes-embedded-resource") {
        with_type_meta(&mut strict);
        add_required(&mut strict, &["apiVersion", "kind"]);
    }
    strict
}

/// The part of a schema that only judges: it says nothing about which fields there are.
fn value_rules(schema: &Value) -> Map<String, Value> {
    let mut strict = Map::new();
    for keyword in SAME {
        if let Some(value) = schema.get(keyword) {
            strict.insert((*keyword).to_owned(), value.clone());
        }
    }
    if let Some(pattern) = schema.get("pattern") {
        strict.insert(pattern::KEYWORD.to_owned(), pattern.clone());
    }
    bound(schema, "minimum", "exclusiveMinimum", &mut strict);
    bound(schema, "maximum", "exclusiveMaximum", &mut strict);
    if let Some(format) = schema.get("format").and_then(Value::as_str).filter(|format| FORMATS.contains(format)) {
        strict.insert("format".to_owned(), Value::from(format));
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        // A pattern that takes any text judges less in `allOf` and `anyOf`, and more in the other two.
        let is_judge = |schemas: &&Vec<Value>| keyword != "oneOf" || schemas.iter().all(pattern::is_usable);
        if let Some(schemas) = schema.get(keyword).and_then(Value::as_array).filter(is_judge) {
            strict.insert(keyword.to_owned(), schemas.iter().map(junctor).collect());
        }
    }
    if let Some(schema) = schema.get("not").filter(|schema| pattern::is_usable(schema)) {
        strict.insert("not".to_owned(), junctor(schema));
    }
    strict
}

/// A schema inside of `allOf`, `anyOf`, `oneOf` or `not`: there, fields are only judged, not declared.
fn junctor(schema: &Value) -> Value {
    let mut strict = value_rules(schema);
    // Allowed there for int-or-string only, which is said twice for tools that do not know it.
    if let Some(kind) = schema.get("type") {
        strict.insert("type".to_owned(), kind.clone());
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let properties: Map<String, Value> =
            properties.iter().map(|(name, property)| (name.clone(), junctor(property))).collect();
        strict.insert("properties".to_owned(), Value::Object(properties));
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(schema) = schema.get(keyword).filter(|schema| schema.is_object()) {
            strict.insert(keyword.to_owned(), junctor(schema));
        }
    }
    Value::Object(strict)
}

/// `exclusiveMinimum: true` beside `minimum`, as OpenAPI 3.0 says it.
fn bound(schema: &Value, keyword: &str, exclusive: &str, strict: &mut Map<String, Value>) {
    if let Some(limit) = schema.get(keyword) {
        let is_exclusive = schema.get(exclusive).and_then(Value::as_bool).unwrap_or(false);
        strict.insert(if is_exclusive { exclusive } else { keyword }.to_owned(), limit.clone());
    }
}

/// What a format of numbers can hold.
fn range(kind: &str, format: &str) -> Option<(Value, Value)> {
    match (kind, format) {
        ("integer" | "number", "int32") => Some((i32::MIN.into(), i32::MAX.into())),
        ("integer" | "number", "int64") => Some((i64::MIN.into(), i64::MAX.into())),
        ("number", "float") => Some((f64::from(f32::MIN).into(), f64::from(f32::MAX).into())),
        _ => None,
    }
}

fn with_null(kinds: &[&str], nullable: bool) -> Value {
    let null = nullable.then_some("null");
    let kinds: Vec<Value> = kinds.iter().copied().chain(null).map(Value::from).collect();
    if let [kind] = kinds.as_slice() { kind.clone() } else { Value::Array(kinds) }
}

/// The fields that every object has. What is in `metadata` is looked at elsewhere, field by field.
fn with_type_meta(strict: &mut Value) {
    let Some(fields) = strict.as_object_mut() else { return };
    let properties = fields.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        for field in ["apiVersion", "kind"] {
            properties.entry(field).or_insert_with(|| json!({"type": "string"}));
        }
        properties.insert("metadata".to_owned(), json!({"type": "object"}));
    }
}

fn add_required(strict: &mut Value, names: &[&str]) {
    let Some(fields) = strict.as_object_mut() else { return };
    let required = fields.entry("required").or_insert_with(|| json!([]));
    if let Some(required) = required.as_array_mut() {
        for name in names {
            let name = Value::from(*name);
            if !required.contains(&name) {
                required.push(name);
            }
        }
    }
}

fn add_to_all_of(strict: &mut Map<String, Value>, schema: Value) {
    if let Some(all) = strict.entry("allOf").or_insert_with(|| json!([])).as_array_mut() {
        all.push(schema);
    }
}
