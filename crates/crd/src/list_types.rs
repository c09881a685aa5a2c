//! Checks of lists with unique items, and of the apiVersion, kind and metadata of embedded objects.

use serde_json::Value;

use super::references::Resolver;
use super::walk_path::WalkPath;
use super::{SchemaViolation, metadata};
use kubefoundry_kubernetes::names;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;

/// Checks every list and every embedded object at and below a value.
pub(super) fn check(
    schema: &Value,
    value: &Value,
    at: &WalkPath<'_>,
    resolver: Resolver<'_>,
    out: &mut Vec<SchemaViolation>,
) {
    let schema = resolver.resolve(schema);
    match value {
        Value::Object(fields) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let additional = resolver.keyword_schema(schema, "additionalProperties");
            for (name, value) in fields {
                if let Some(schema) = properties.and_then(|properties| properties.get(name)).or(additional) {
                    check(schema, value, &at.key(name), resolver, out);
                }
            }
            if schema.get("x-kubernetes-embedded-resource").and_then(Value::as_bool) == Some(true) {
                check_embedded(value, &at.to_field_path(), out);
            }
        }
        Value::Array(items) => {
            check_duplicates(schema, items, at, out);
            if let Some(schema) = schema.get("items") {
                for (position, item) in items.iter().enumerate() {
                    check(schema, item, &at.index(position), resolver, out);
                }
            }
        }
        _ => {}
    }
}

/// Checks that the items of a `set` list are unique, and those of a `map` list by their keys
/// (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype`).
fn check_duplicates(schema: &Value, items: &[Value], at: &WalkPath<'_>, out: &mut Vec<SchemaViolation>) {
    let keys: Vec<&str> = match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => Vec::new(),
        Some("map") => {
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
            keys.into_iter().flatten().filter_map(Value::as_str).collect()
        }
        _ => return,
    };
    let identity = |item: &Value| -> Vec<String> {
        let key_text = |key: &&str| item.get(key).map_or_else(String::new, Value::to_string);
        if keys.is_empty() { vec![item.to_string()] } else { keys.iter().map(key_text).collect() }
    };
    let mut seen = std::collections::BTreeSet::new();
    for (position, item) in items.iter().enumerate() {
        if !seen.insert(identity(item)) {
            let predicate = format!(
                "has the same {} as an item before it",
                if keys.is_empty() { "value".to_owned() } else { keys.join(" and ") }
            );
            let expected = "unique items, because the API server treats the list as a set or map";
            out.push(SchemaViolation::unexpected(at.index(position).to_field_path(), &predicate, expected));
        }
    }
}

/// Checks the apiVersion, kind and metadata of an embedded object
/// (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta`; the presence of apiVersion and kind is part of
/// the structural check).
fn check_embedded(value: &Value, path: &FieldPath, out: &mut Vec<SchemaViolation>) {
    let text = |field: &str| value.get(field).and_then(Value::as_str);
    if let Some(version) = text("apiVersion")
        && (version.is_empty() || version.matches('/').count() > 1)
    {
        let actual = format!("is {:?}", shorten(version));
        out.push(SchemaViolation::unexpected(path.key("apiVersion"), &actual, "a version, or a group and a version"));
    }
    if let Some(kind) = text("kind")
        && let Err(expected) = names::dns_1035_label(&kind.to_lowercase())
    {
        out.push(SchemaViolation::unexpected(path.key("kind"), &format!("is {:?}", shorten(kind)), expected));
    }
    if let Some(metadata) = value.get("metadata") {
        metadata::check_fields(metadata, &path.key("metadata"), false, out);
    }
}
