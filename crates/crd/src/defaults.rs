//! The defaults of a schema: the apiserver fills them in before it validates.

use serde_json::{Map, Value};

/// Fills in what is missing, and what is null where null is not allowed
/// (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting`).
pub(super) fn apply(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, property) in properties.into_iter().flatten() {
                let Some(default) = property.get("default") else { continue };
                let nullable = property.get("nullable").and_then(Value::as_bool).unwrap_or(false);
                if fields.get(name).is_none_or(|value| value.is_null() && !nullable) {
                    fields.insert(name.clone(), default.clone());
                }
            }
            children(schema, properties, fields);
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for item in items {
                    apply(schema, item);
                }
            }
        }
        _ => {}
    }
}

fn children(schema: &Value, properties: Option<&Map<String, Value>>, fields: &mut Map<String, Value>) {
    let additional = schema.get("additionalProperties").filter(|schema| schema.is_object());
    for (name, value) in fields.iter_mut() {
        if let Some(schema) = properties.and_then(|properties| properties.get(name)).or(additional) {
            apply(schema, value);
        }
    }
}
