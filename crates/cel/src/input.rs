//! The fields of the input that a rule reads, as values of the `cel` crate.

use std::sync::Arc;

use cel::Value;
use cel::objects::{Key, Map};
use serde_json::Value as Json;

use super::types::Inferred;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// Why a path leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    /// Nothing has this key.
    Key,
    /// The list is shorter.
    Index,
    /// There are no fields or elements in this kind of value.
    Kind,
}

/// What a path leads to, or the step that fails.
pub(super) fn find<'j>(input: &'j Json, path: &FieldPath) -> Result<&'j Json, (usize, Gap)> {
    path.segments().iter().enumerate().try_fold(input, |at, (step, segment)| {
        let (found, gap) = match (at, segment) {
            (Json::Object(fields), Segment::Key(key)) => (fields.get(key.as_ref()), Gap::Key),
            (Json::Array(elements), Segment::Index(index)) => (elements.get(*index), Gap::Index),
            _ => (None, Gap::Kind),
        };
        found.ok_or((step, gap))
    })
}

/// What `has()` says about a path, or the step on the way that fails.
pub(super) fn has(input: &Json, path: &FieldPath) -> Result<bool, (usize, Gap)> {
    let last = path.segments().len().saturating_sub(1);
    match find(input, path) {
        Ok(_) => Ok(true),
        Err((step, Gap::Key)) if step == last => Ok(false),
        Err(gap) => Err(gap),
    }
}

/// Converts a value. Integers are ints, whether or not they are negative, and doubles where a double is declared.
///
/// It works by recursion; [`Size::of`](super::size::Size::of) has bounded the depth.
pub(super) fn convert(json: &Json, ty: &Inferred) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(value) if *ty != Inferred::Double => Value::Int(value),
            _ => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(elements) => {
            let element = if let Inferred::List(element) = ty { element } else { &Inferred::Dyn };
            Value::List(elements.iter().map(|json| convert(json, element)).collect::<Vec<_>>().into())
        }
        Json::Object(entries) => {
            let of = |key: &str| match ty {
                Inferred::Map(_, value) => (**value).clone(),
                Inferred::Object(fields) => {
                    fields.iter().find(|field| field.name == key).map_or(Inferred::Dyn, |field| field.ty.into())
                }
                _ => Inferred::Dyn,
            };
            let entries = entries.iter().map(|(key, json)| (Key::from(key.as_str()), convert(json, &of(key))));
            Value::Map(Map { map: Arc::new(entries.collect()) })
        }
    }
}
