//! When two scalars are one value: amounts by what they amount to, an integer-or-string by its text.

use serde_json::Value;

use crate::model::validate::quantity::billionths;
use crate::path::{FieldPath, Segment};

/// Fields whose entries are amounts.
const AMOUNTS: [&str; 4] = ["limits", "requests", "custom", "capacity"];
/// Fields that are amounts themselves.
const AMOUNT: [&str; 4] = ["sharedMemorySize", "sizeLimit", "divisor", "size"];
/// Fields that are an integer or a string.
const INTEGER_OR_STRING: [&str; 5] = ["targetPort", "port", "maxSurge", "maxUnavailable", "minAvailable"];

/// Whether two scalars mean the same in a field.
pub(super) fn is_same(expected: &Value, found: &Value, path: &FieldPath, schema: Option<&Value>) -> bool {
    if expected == found {
        return true;
    }
    if let (Value::Number(one), Value::Number(other)) = (expected, found) {
        return one.as_f64() == other.as_f64();
    }
    let is_loose =
        schema.is_some_and(|schema| schema.get("x-kubernetes-int-or-string").and_then(Value::as_bool) == Some(true));
    let texts = text(expected).zip(text(found));
    if is_amount(path) || is_loose {
        return texts.is_some_and(|(one, other)| {
            one == other || billionths(&one).zip(billionths(&other)).is_some_and(|(one, other)| one == other)
        });
    }
    is_one_of(path, &INTEGER_OR_STRING) && texts.is_some_and(|(one, other)| one == other)
}

/// A scalar as it would be written; nothing for what is no amount in any case.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn key(path: &FieldPath, from_end: usize) -> Option<&str> {
    match path.segments().iter().rev().nth(from_end)? {
        Segment::Key(key) => Some(key),
        Segment::Index(_) => None,
    }
}

fn is_one_of(path: &FieldPath, names: &[&str]) -> bool {
    key(path, 0).is_some_and(|key| names.contains(&key))
}

fn is_amount(path: &FieldPath) -> bool {
    // A label or an annotation may be called like a field.
    let is_text = path.starts_with(&FieldPath::parse("metadata")) || key(path, 1).is_some_and(|key| key == "data");
    !is_text && (is_one_of(path, &AMOUNT) || key(path, 1).is_some_and(|key| AMOUNTS.contains(&key)))
}
