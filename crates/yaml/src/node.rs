//! The tree of a document, whose nodes know their span in the text.

use std::borrow::Cow;

use crate::field_path::{FieldPath, Segment};

/// A byte range in a source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// Returns the part of a source text that the span covers. It is empty if the text does not have the span, as for a
    /// value that was made instead of read.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or("")
    }
}

/// A value and its span. Strings borrow from the text unless they contain escapes or folded lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Node<'t> {
    /// The resolved value.
    pub value: Value<'t>,
    /// The bytes of the value. For a block collection, from its first key or dash to the end of its last entry. An
    /// absent value has an empty span.
    pub span: Span,
}

/// A YAML value, resolved as `sigs.k8s.io/yaml` does (YAML 1.1 booleans and octals).
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'t> {
    /// `~`, `null`, or an absent value.
    Null,
    /// `true`, `yes`, `on` and their opposites, unquoted.
    Bool(bool),
    /// An integer that fits in 64 bits, signed or unsigned.
    Integer(i128),
    /// Any other number. Never NaN or infinite: JSON cannot represent them, so reading refuses them.
    Float(f64),
    /// A string.
    String(Cow<'t, str>),
    /// A sequence.
    Sequence(Vec<Node<'t>>),
    /// A mapping; its keys are unique.
    Mapping(Vec<MappingEntry<'t>>),
}

/// A key of a mapping with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct MappingEntry<'t> {
    /// The key. One that is not a string has the text that `sigs.k8s.io/yaml` converts it to.
    pub key: Cow<'t, str>,
    /// The bytes of the key.
    pub key_span: Span,
    /// The value.
    pub node: Node<'t>,
}

impl<'t> Node<'t> {
    /// A null without a position.
    pub(super) const NULL: Self = Self { value: Value::Null, span: Span { start: 0, end: 0 } };

    /// Returns the entry with this key, or `None` if this is not a mapping or has no such key.
    pub fn entry(&self, key: &str) -> Option<&MappingEntry<'t>> {
        match &self.value {
            Value::Mapping(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// Returns the value of this key, or `None` if this is not a mapping or has no such key.
    pub fn get(&self, key: &str) -> Option<&Node<'t>> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// Returns the string, or `None` for any other type.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the entries of a mapping; empty for any other type.
    pub fn entries(&self) -> &[MappingEntry<'t>] {
        match &self.value {
            Value::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the items of a sequence; empty for any other type.
    pub fn items(&self) -> &[Node<'t>] {
        match &self.value {
            Value::Sequence(items) => items,
            _ => &[],
        }
    }

    /// Returns the node at `path`, if it exists.
    pub fn at(&self, path: &FieldPath) -> Option<&Node<'t>> {
        path.segments().iter().try_fold(self, |node, segment| node.step(segment))
    }

    /// Returns the span to underline for `path`: its key or its value, or the key of the nearest existing ancestor if
    /// the field is absent (a missing `spec.engine.type` is reported at `engine`).
    pub fn locate(&self, path: &FieldPath, part: FieldPart) -> Span {
        let mut node = self;
        let mut span = self.first_span();
        for (position, segment) in path.segments().iter().enumerate() {
            let last = position + 1 == path.segments().len();
            match segment {
                Segment::Key(key) => match node.entry(key) {
                    Some(entry) => {
                        span = if last && part == FieldPart::Value && !entry.node.is_empty_text() {
                            entry.node.span
                        } else {
                            entry.key_span
                        };
                        node = &entry.node;
                    }
                    None => return span,
                },
                Segment::Index(index) => match node.items().get(*index) {
                    Some(item) => {
                        span = item.span;
                        node = item;
                    }
                    None => return span,
                },
            }
        }
        span
    }

    fn step(&self, segment: &Segment) -> Option<&Node<'t>> {
        match segment {
            Segment::Key(key) => self.get(key),
            Segment::Index(index) => self.items().get(*index),
        }
    }

    fn is_empty_text(&self) -> bool {
        self.span.start == self.span.end
    }

    /// Returns the span that represents the whole document in a message: its first key, or else all of it.
    fn first_span(&self) -> Span {
        self.entries().first().map_or(self.span, |entry| entry.key_span)
    }

    /// Returns a copy that borrows nothing from the text.
    pub fn to_owned_node(&self) -> Node<'static> {
        let value = match &self.value {
            Value::Null => Value::Null,
            Value::Bool(value) => Value::Bool(*value),
            Value::Integer(value) => Value::Integer(*value),
            Value::Float(value) => Value::Float(*value),
            Value::String(text) => Value::String(Cow::Owned(text.clone().into_owned())),
            Value::Sequence(items) => Value::Sequence(items.iter().map(Node::to_owned_node).collect()),
            Value::Mapping(entries) => Value::Mapping(entries.iter().map(MappingEntry::to_owned_entry).collect()),
        };
        Node { value, span: self.span }
    }

    /// Converts this value to JSON.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Integer(value) => i64::try_from(*value)
                .map(Json::from)
                .or_else(|_| u64::try_from(*value).map(Json::from))
                .unwrap_or(Json::Null),
            Value::Float(value) => Json::from(*value),
            Value::String(text) => Json::String(text.clone().into_owned()),
            Value::Sequence(items) => Json::Array(items.iter().map(Node::to_json).collect()),
            Value::Mapping(entries) => Json::Object(
                entries.iter().map(|entry| (entry.key.clone().into_owned(), entry.node.to_json())).collect(),
            ),
        }
    }

    /// Returns the type for messages, with an article: `a string`, `an integer`.
    pub fn describe(&self) -> &'static str {
        match &self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a number",
            Value::String(_) => "a string",
            Value::Sequence(_) => "a list",
            Value::Mapping(_) => "a mapping",
        }
    }
}

impl MappingEntry<'_> {
    fn to_owned_entry(&self) -> MappingEntry<'static> {
        MappingEntry {
            key: Cow::Owned(self.key.clone().into_owned()),
            key_span: self.key_span,
            node: self.node.to_owned_node(),
        }
    }
}

/// Converts a value that has no text: all of its spans are empty.
///
/// ```
/// use kubefoundry_yaml::Node;
/// let value = serde_json::json!({"a": [1, 2.5, "x", null]});
/// assert_eq!(Node::from(&value).to_json(), value);
/// ```
impl<'v> From<&'v serde_json::Value> for Node<'v> {
    fn from(value: &'v serde_json::Value) -> Self {
        use serde_json::Value as Json;
        let span = Span::default();
        let value = match value {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => {
                let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
                integer.map_or_else(|| Value::Float(number.as_f64().unwrap_or_default()), Value::Integer)
            }
            Json::String(text) => Value::String(Cow::Borrowed(text)),
            Json::Array(items) => Value::Sequence(items.iter().map(Self::from).collect()),
            Json::Object(fields) => Value::Mapping(
                fields
                    .iter()
                    .map(|(key, value)| MappingEntry {
                        key: Cow::Borrowed(key),
                        key_span: span,
                        node: Self::from(value),
                    })
                    .collect(),
            ),
        };
        Self { value, span }
    }
}

/// The part of a field that a message underlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum FieldPart {
    /// The key, for an unknown or misplaced field.
    Key,
    /// The value, when the value is wrong.
    #[default]
    Value,
}
