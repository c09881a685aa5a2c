//! Decides whether two scalars have the same meaning: quantities by amount, an integer-or-string by its text.

use serde_json::Value;

use kubefoundry_kubernetes::quantity::billionths;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// Mappings whose values are quantities.
const QUANTITY_MAPS: [&str; 4] = ["limits", "requests", "custom", "capacity"];
/// Fields that are quantities.
const QUANTITY_FIELDS: [&str; 4] = ["sharedMemorySize", "sizeLimit", "divisor", "size"];
/// Fields that are an integer or a string.
const INTEGER_OR_STRING_FIELDS: [&str; 5] = ["targetPort", "port", "maxSurge", "maxUnavailable", "minAvailable"];

/// Maps from strings to strings that users choose. Their keys may equal the names above, but their values are plain
/// text.
const STRING_MAPS: [&str; 7] =
    ["annotations", "data", "labels", "matchLabels", "nodeSelector", "rayStartParams", "selector"];

/// Returns whether two scalars are equal. Numbers compare by value, text byte by byte.
pub(super) fn is_equal(expected: &Value, live: &Value) -> bool {
    let is_whole = |number: &serde_json::Number| number.is_i64() || number.is_u64();
    match (expected, live) {
        (Value::Number(one), Value::Number(other)) if is_whole(one) != is_whole(other) => {
            one.as_f64() == other.as_f64()
        }
        _ => expected == live,
    }
}

/// Returns whether two scalars have the same meaning in a field.
pub(super) fn is_same(expected: &Value, live: &Value, path: &FieldPath, schema: Option<&Value>) -> bool {
    if is_equal(expected, live) {
        return true;
    }
    if key_from_end(path, 1).is_some_and(|map| STRING_MAPS.contains(&map)) {
        return false;
    }
    let is_integer_or_string =
        schema.is_some_and(|schema| schema.get("x-kubernetes-int-or-string").and_then(Value::as_bool) == Some(true));
    let texts = text(expected).zip(text(live));
    if is_quantity(path) || is_integer_or_string {
        return texts.is_some_and(|(one, other)| {
            one == other || billionths(&one).zip(billionths(&other)).is_some_and(|(one, other)| one == other)
        });
    }
    is_one_of(path, &INTEGER_OR_STRING_FIELDS) && texts.is_some_and(|(one, other)| one == other)
}

/// Returns the text of a string or number; `None` for other values.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the key at a position counted from the end of a path; `None` for a list index.
fn key_from_end(path: &FieldPath, from_end: usize) -> Option<&str> {
    match path.segments().iter().rev().nth(from_end)? {
        Segment::Key(key) => Some(key),
        Segment::Index(_) => None,
    }
}

fn is_one_of(path: &FieldPath, names: &[&str]) -> bool {
    key_from_end(path, 0).is_some_and(|key| names.contains(&key))
}

fn is_quantity(path: &FieldPath) -> bool {
    is_one_of(path, &QUANTITY_FIELDS) || key_from_end(path, 1).is_some_and(|map| QUANTITY_MAPS.contains(&map))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn same(path: &'static str, one: impl Into<Value>, other: impl Into<Value>) -> bool {
        is_same(&one.into(), &other.into(), &FieldPath::parse(path), None)
    }

    #[test]
    fn compares_quantities_by_amount_only_in_quantity_fields() {
        for path in ["spec.resources.limits.memory", "resources.requests.cpu", "spec.volumes.emptyDir.sizeLimit"] {
            assert!(same(path, json!("1"), json!("1000m")) && same(path, json!("1"), json!(1)), "{path}");
            assert!(!same(path, json!("1"), json!("2")) && !same(path, json!("1"), json!(null)), "{path}");
        }
        // Text that is not a quantity compares as text.
        assert!(same("resources.limits.x", json!("lots"), json!("lots")));
        assert!(!same("resources.limits.x", json!("lots"), json!("more")));
        for path in ["spec.env.value", "metadata.labels.size", "spec.nodeSelector.size", "data.limits", "spec.replicas"]
        {
            assert!(!same(path, json!("1"), json!("1000m")) && !same(path, json!("1"), json!(1)), "{path}");
        }
    }

    #[test]
    fn compares_an_integer_or_string_by_its_text() {
        assert!(same("spec.ports.targetPort", json!(80), json!("80")));
        assert!(!same("spec.ports.targetPort", json!("http"), json!(80)));
        let schema = json!({"x-kubernetes-int-or-string": true});
        assert!(is_same(&json!("2"), &json!(2), &FieldPath::parse("a"), Some(&schema)));
    }

    #[test]
    fn compares_numbers_by_value() {
        assert!(same("a", json!(1), json!(1.0)));
        assert!(!same("a", json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992_i64)));
        assert!(!same("a", json!(true), json!("true")));
    }
}
