//! What an expression evaluates to. Values of the input are borrowed, never copied.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value as Json;

#[derive(Debug, Clone)]
pub(super) enum Value<'v> {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(Text<'v>),
    List(List<'v>),
    Map(Map<'v>),
}

#[derive(Debug, Clone)]
pub(super) enum Text<'v> {
    Borrowed(&'v str),
    Made(Rc<str>),
}

#[derive(Debug, Clone)]
pub(super) enum List<'v> {
    Input(&'v [Json]),
    Made(Rc<[Value<'v>]>),
}

#[derive(Debug, Clone)]
pub(super) enum Map<'v> {
    Input(&'v serde_json::Map<String, Json>),
    Made(Rc<BTreeMap<Key, Value<'v>>>),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Bool(bool),
    Int(i64),
    Text(Rc<str>),
}

impl Text<'_> {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Made(text) => text,
        }
    }
}

impl<'v> List<'v> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Input(elements) => elements.len(),
            Self::Made(elements) => elements.len(),
        }
    }

    pub(super) fn get(&self, position: usize) -> Option<Value<'v>> {
        match self {
            Self::Input(elements) => elements.get(position).map(Value::from),
            Self::Made(elements) => elements.get(position).cloned(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Value<'v>> + '_ {
        (0..self.len()).filter_map(|position| self.get(position))
    }
}

impl<'v> Map<'v> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Input(entries) => entries.len(),
            Self::Made(entries) => entries.len(),
        }
    }

    /// The value of a field.
    pub(super) fn field(&self, name: &str) -> Option<Value<'v>> {
        match self {
            Self::Input(entries) => entries.get(name).map(Value::from),
            Self::Made(entries) => entries.get(&Key::Text(name.into())).cloned(),
        }
    }

    /// The value of a key; a whole double finds an integer.
    pub(super) fn get(&self, key: &Value<'_>) -> Option<Value<'v>> {
        match (self, key) {
            (_, Value::Text(text)) => self.field(text.as_str()),
            (Self::Input(_), _) => None,
            (Self::Made(entries), _) => entries.get(&key.to_key()?).cloned(),
        }
    }

    pub(super) fn keys(&self) -> List<'v> {
        List::Made(match self {
            Self::Input(entries) => entries.keys().map(|key| Value::Text(Text::Borrowed(key))).collect(),
            Self::Made(entries) => entries.keys().map(Value::from).collect(),
        })
    }
}

impl From<&Key> for Value<'_> {
    fn from(key: &Key) -> Self {
        match key {
            Key::Bool(value) => Self::Bool(*value),
            Key::Int(value) => Self::Int(*value),
            Key::Text(text) => Self::Text(Text::Made(Rc::clone(text))),
        }
    }
}

impl<'v> From<&'v Json> for Value<'v> {
    fn from(json: &'v Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => match number.as_i64() {
                Some(value) => Self::Int(value),
                None => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Self::Text(Text::Borrowed(text)),
            Json::Array(elements) => Self::List(List::Input(elements)),
            Json::Object(entries) => Self::Map(Map::Input(entries)),
        }
    }
}

impl Value<'_> {
    /// The name of its type, for messages.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::List(_) => "list",
            Self::Map(_) => "map",
        }
    }

    pub(super) fn to_key(&self) -> Option<Key> {
        match self {
            Self::Bool(value) => Some(Key::Bool(*value)),
            Self::Int(value) => Some(Key::Int(*value)),
            Self::Double(value) => whole(*value).map(Key::Int),
            Self::Text(text) => Some(Key::Text(text.as_str().into())),
            Self::Null | Self::List(_) | Self::Map(_) => None,
        }
    }

    /// The order of two values of one ordered type; None if there is none.
    pub(super) fn order(&self, other: &Value<'_>) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
            (Self::Text(left), Value::Text(right)) => Some(left.as_str().cmp(right.as_str())),
            (Self::Int(left), Value::Int(right)) => Some(left.cmp(right)),
            (Self::Double(left), Value::Double(right)) => left.partial_cmp(right),
            (Self::Int(left), Value::Double(right)) => order_mixed(*left, *right),
            (Self::Double(left), Value::Int(right)) => order_mixed(*right, *left).map(Ordering::reverse),
            _ => None,
        }
    }

    /// Whether the values can be ordered at all; NaN can, though no order holds for it.
    pub(super) fn is_ordered_with(&self, other: &Value<'_>) -> bool {
        let number = |value: &Value<'_>| matches!(value, Value::Int(_) | Value::Double(_));
        number(self) && number(other)
            || matches!((self, other), (Self::Bool(_), Value::Bool(_)) | (Self::Text(_), Value::Text(_)))
    }
}

/// 2^63, the first double above every integer.
const ABOVE_INTEGERS: f64 = 9_223_372_036_854_775_808.0;

/// The integer below or equal in size, if the double is within 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked, the fraction is meant to go")]
pub(super) fn truncate(value: f64) -> Option<i64> {
    (-ABOVE_INTEGERS..ABOVE_INTEGERS).contains(&value).then_some(value as i64)
}

/// The same number as an integer.
#[expect(clippy::float_cmp, reason = "whether there is a fraction is an exact question")]
fn whole(value: f64) -> Option<i64> {
    truncate(value).filter(|_| value.trunc() == value)
}

/// The exact order of an integer and a double; converting either to the other would lose digits.
fn order_mixed(left: i64, right: f64) -> Option<Ordering> {
    let fraction = 0.0.partial_cmp(&right.fract());
    match truncate(right) {
        Some(truncated) => fraction.map(|fraction| left.cmp(&truncated).then(fraction)),
        None if right.is_nan() => None,
        None => Some(if right > 0.0 { Ordering::Less } else { Ordering::Greater }),
    }
}
