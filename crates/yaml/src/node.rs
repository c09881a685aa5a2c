//! The tree that a document is read into: every node with its place in the text.

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

/// A value and where it stands. Strings borrow from the text where YAML lets them.
#[derive(Debug, Clone, PartialEq)]
pub struct Node<'t> {
    /// What it is.
    pub value: Value<'t>,
    /// Where it is. For a block collection, from its first key or dash to the end of its last entry.
    pub span: Span,
}

/// A YAML value after the resolution that `sigs.k8s.io/yaml` does (YAML 1.1 booleans and octals).
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'t> {
    /// `~`, `null`, or nothing at all.
    Null,
    /// `true`, `yes`, `on` and their opposites, unquoted.
    Bool(bool),
    /// Any integer that fits 64 bits, signed or unsigned.
    Integer(i128),
    /// Any other number. Never NaN or infinite: JSON has no such value, so reading refuses them.
    Float(f64),
    /// A string.
    String(Cow<'t, str>),
    /// A sequence.
    Sequence(Vec<Node<'t>>),
    /// A mapping; its keys are unique.
    Mapping(Vec<MappingEntry<'t>>),
}

/// One key of a mapping with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct MappingEntry<'t> {
    /// The key; a key that is not a string is written as JSON would write it.
    pub key: Cow<'t, str>,
    /// Where the key stands.
    pub key_span: Span,
    /// The value.
    pub node: Node<'t>,
}

impl<'t> Node<'t> {
    /// A null that stands nowhere.
    pub(super) const NULL: Self = Self { value: Value::Null, span: Span { start: 0, end: 0 } };

    /// The entry with this key, when this is a mapping that has it.
    pub fn entry(&self, key: &str) -> Option<&MappingEntry<'t>> {
        match &self.value {
            Value::Mapping(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The value under this key, when this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Node<'t>> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// The string, when this is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The entries, when this is a mapping; otherwise none.
    pub fn entries(&self) -> &[MappingEntry<'t>] {
        match &self.value {
            Value::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// The items, when this is a sequence; otherwise none.
    pub fn items(&self) -> &[Node<'t>] {
        match &self.value {
            Value::Sequence(items) => items,
            _ => &[],
        }
    }

    /// The node at `path`, when there is one.
    pub fn at(&self, path: &FieldPath) -> Option<&Node<'t>> {
        path.segments().iter().try_fold(self, |node, segment| node.step(segment))
    }

    /// The place to point at for `path`: the key or the value there, or the nearest ancestor's key when the
    /// field is absent (a missing `spec.engine.type` is shown at `engine`).
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

    /// What stands for "the document" in a message: its first key, or all of it.
    fn first_span(&self) -> Span {
        self.entries().first().map_or(self.span, |entry| entry.key_span)
    }

    /// A copy that borrows nothing.
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

    /// This value as JSON.
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

    /// What kind of value this is, for messages: `a string`, `an integer`.
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

/// A value that is in no text: every place in it is the start of one.
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

/// Whether a message points at a field's key or at its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum FieldPart {
    /// The key: an unknown or misplaced field.
    Key,
    /// The value: what was written there is wrong.
    #[default]
    Value,
}
