//! Conversion of the input fields that a rule reads into values of the `cel` crate.

use std::sync::Arc;

use cel::Value;
use cel::objects::{Key, Map};
use serde_json::Value as Json;

use super::types::InferredType;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// Why a path cannot be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathError {
    /// The object has no such key.
    Key,
    /// The list has no such index.
    Index,
    /// The value is neither an object nor a list, or of the other kind.
    Kind,
}

/// Returns the value at a path, or the number of the step that fails, counted from 0.
pub(super) fn find<'j>(input: &'j Json, path: &FieldPath) -> Result<&'j Json, (usize, PathError)> {
    path.segments().iter().enumerate().try_fold(input, |at, (step, segment)| {
        let (value, error) = match (at, segment) {
            (Json::Object(fields), Segment::Key(key)) => (fields.get(key.as_ref()), PathError::Key),
            (Json::Array(elements), Segment::Index(index)) => (elements.get(*index), PathError::Index),
            _ => (None, PathError::Kind),
        };
        value.ok_or((step, error))
    })
}

/// Returns the result of `has()` for a path, or the number of the step before the last that fails.
pub(super) fn has(input: &Json, path: &FieldPath) -> Result<bool, (usize, PathError)> {
    let last = path.segments().len().saturating_sub(1);
    match find(input, path) {
        Ok(_) => Ok(true),
        Err((step, PathError::Key)) if step == last => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// Converts a JSON value. An integer becomes an int, or a double if `ty` is double or the integer does not fit into an
/// `i64`; never a uint.
///
/// The recursion is safe because [`Size::from_json`](super::size::Size::from_json) has checked the depth.
pub(super) fn convert(json: &Json, ty: &InferredType) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(value) if *ty != InferredType::Double => Value::Int(value),
            _ => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(elements) => {
            let element = if let InferredType::List(element) = ty { element } else { &InferredType::Dyn };
            Value::List(elements.iter().map(|json| convert(json, element)).collect::<Vec<_>>().into())
        }
        Json::Object(entries) => {
            let type_of = |key: &str| match ty {
                InferredType::Map(_, value) => (**value).clone(),
                InferredType::Object(fields) => {
                    fields.iter().find(|field| field.name == key).map_or(InferredType::Dyn, |field| field.ty.into())
                }
                _ => InferredType::Dyn,
            };
            let entries = entries.iter().map(|(key, json)| (Key::from(key.as_str()), convert(json, &type_of(key))));
            Value::Map(Map { map: Arc::new(entries.collect()) })
        }
    }
}
