//! Defaults of a schema, which the API server applies before it validates an object.

use serde_json::{Map, Value};

use super::references::Resolver;

/// Sets the default of every field that is missing, or that is null where null is not allowed
/// (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting`).
pub(super) fn apply(schema: &Value, value: &mut Value, resolver: Resolver<'_>) {
    let schema = resolver.resolve(schema);
    match value {
        Value::Object(fields) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, property) in properties.into_iter().flatten() {
                let is_absent_or_null = fields.get(name).is_none_or(Value::is_null);
                if is_absent_or_null
                    && let Some((default, is_nullable)) = resolver.find_default(property)
                    && !(is_nullable && fields.contains_key(name))
                {
                    fields.insert(name.clone(), default.clone());
                }
            }
            apply_to_fields(schema, properties, fields, resolver);
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for item in items {
                    apply(schema, item, resolver);
                }
            }
        }
        _ => {}
    }
}

/// Applies the defaults inside each field that exists.
fn apply_to_fields(
    schema: &Value,
    properties: Option<&Map<String, Value>>,
    fields: &mut Map<String, Value>,
    resolver: Resolver<'_>,
) {
    let additional = resolver.keyword_schema(schema, "additionalProperties");
    for (name, value) in fields.iter_mut() {
        if let Some(schema) = properties.and_then(|properties| properties.get(name)).or(additional) {
            apply(schema, value, resolver);
        }
    }
}
