//! Mutations of a text: of its bytes, of its YAML tokens and lines, and of the parsed tree.

use kubefoundry_yaml as yaml;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

#[rustfmt::skip]
const UNUSUAL_TEXTS: &[&str] = &[
    "", "~", "null", "true", "-1", "0", "1.5", "1e400", "99999999999999999999", "''", "\"\"", "[]", "{}", "[[]]", "{a: {}}", "*x", "&x y", "!!str 1",
    "!!int x", "|\n", ">-\n  a\n", "'", "\"", "{", "]", ": ", "- ", "? ", "#", "---", "...", "%YAML 9", "\t", "\r", "\u{0}", "\u{85}", "\u{feff}", "é",
    "<<: *x", "$(A)", "0x7fffffff", "2147483648", "a\u{202e}b", "\n---\n", "\n- ", "\n", "&x", "<<: {a: b}", "\"\\ud800\"", "spec.x > 1 ? true : 2",
];

/// A single mutation. Indexes choose the place; `proptest` shrinks them.
#[derive(Debug, Clone)]
pub(crate) enum Mutation {
    /// Removes bytes.
    Delete(Index, usize),
    /// Inserts a piece of syntax.
    Insert(Index, &'static str),
    /// Repeats bytes three times.
    Repeat(Index, usize),
    /// Removes everything after a place.
    Truncate(Index),
    /// Replaces a byte; the text may no longer be UTF-8.
    Byte(Index, u8),
    /// Swaps two lines.
    SwapLines(Index, Index),
    /// Changes the indentation of a line.
    Indent(Index, usize),
    /// Replaces the value behind the key of a line.
    Scalar(Index, &'static str),
    /// Replaces a token with another token of the text.
    Token(Index, Index),
    /// Swaps two tokens.
    SwapTokens(Index, Index),
    /// Replaces a value with another value of the tree.
    Graft(Index, Index),
    /// Replaces a value with a scalar or an empty collection.
    Value(Index, &'static str),
    /// Replaces a value with null.
    Prune(Index),
    /// Renames a key to another key of the tree.
    Rename(Index, Index),
    /// Writes the documents as JSON.
    Json,
}

/// Generates any mutation.
pub(crate) fn mutation() -> impl Strategy<Value = Mutation> {
    let place = any::<Index>;
    let bytes = prop_oneof![
        (place(), 1..20_usize).prop_map(|(at, length)| Mutation::Delete(at, length)),
        (place(), select(UNUSUAL_TEXTS)).prop_map(|(at, text)| Mutation::Insert(at, text)),
        (place(), 1..200_usize).prop_map(|(at, length)| Mutation::Repeat(at, length)),
        place().prop_map(Mutation::Truncate),
        (place(), any::<u8>()).prop_map(|(at, byte)| Mutation::Byte(at, byte)),
    ];
    let tokens = prop_oneof![
        (place(), place()).prop_map(|(one, other)| Mutation::SwapLines(one, other)),
        (place(), 0..6_usize).prop_map(|(line, spaces)| Mutation::Indent(line, spaces)),
        (place(), select(UNUSUAL_TEXTS)).prop_map(|(line, text)| Mutation::Scalar(line, text)),
        (place(), place()).prop_map(|(at, from)| Mutation::Token(at, from)),
        (place(), place()).prop_map(|(one, other)| Mutation::SwapTokens(one, other)),
    ];
    let trees = prop_oneof![
        3 => (place(), place()).prop_map(|(at, from)| Mutation::Graft(at, from)),
        3 => (place(), select(UNUSUAL_TEXTS)).prop_map(|(at, text)| Mutation::Value(at, text)),
        2 => place().prop_map(Mutation::Prune),
        2 => (place(), place()).prop_map(|(at, from)| Mutation::Rename(at, from)),
        1 => Just(Mutation::Json),
    ];
    prop_oneof![bytes, tokens, trees]
}

impl Mutation {
    /// Returns the mutated bytes.
    pub(crate) fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        if bytes.is_empty() {
            return Vec::new();
        }
        let mut bytes = bytes.to_vec();
        let piece = |at: &Index, length: usize| {
            let start = at.index(bytes.len());
            start..(start + length).min(bytes.len())
        };
        match self {
            Self::Delete(at, length) => drop(bytes.drain(piece(at, *length))),
            Self::Insert(at, text) => drop(bytes.splice(piece(at, 0), text.bytes())),
            Self::Repeat(at, length) => {
                let piece = piece(at, *length);
                let copy = bytes.get(piece.clone()).unwrap_or_default().repeat(3);
                drop(bytes.splice(piece, copy));
            }
            Self::Truncate(at) => bytes.truncate(at.index(bytes.len())),
            Self::Byte(at, byte) => drop(bytes.splice(piece(at, 1), [*byte])),
            _ => {
                let Ok(text) = std::str::from_utf8(&bytes) else { return bytes };
                let changed = match self {
                    Self::SwapLines(..) | Self::Indent(..) | Self::Scalar(..) => self.mutate_lines(text),
                    Self::Token(..) | Self::SwapTokens(..) => self.mutate_tokens(text),
                    _ => self.mutate_tree(text),
                };
                bytes = changed.into_bytes();
            }
        }
        bytes
    }

    fn mutate_lines(&self, text: &str) -> String {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let count = lines.len();
        match self {
            Self::SwapLines(one, other) => lines.swap(one.index(count), other.index(count)),
            Self::Indent(line, spaces) => {
                if let Some(line) = lines.get_mut(line.index(count)) {
                    *line = format!("{}{}", " ".repeat(*spaces), line.trim_start());
                }
            }
            Self::Scalar(line, scalar) => {
                if let Some(line) = lines.get_mut(line.index(count)) {
                    let value = line.find(": ").map_or(line.len(), |colon| colon + 2);
                    line.replace_range(value.., scalar);
                }
            }
            _ => {}
        }
        lines.join("\n")
    }

    fn mutate_tokens(&self, text: &str) -> String {
        let mut tokens: Vec<&str> =
            text.split_inclusive([' ', '\n', ',', ':', '[', ']', '{', '}', '"', '\'']).collect();
        let count = tokens.len();
        match self {
            Self::Token(at, from) => {
                let token = tokens.get(from.index(count)).copied();
                if let Some((place, token)) = tokens.get_mut(at.index(count)).zip(token) {
                    *place = token;
                }
            }
            Self::SwapTokens(one, other) => tokens.swap(one.index(count), other.index(count)),
            _ => {}
        }
        tokens.concat()
    }

    fn mutate_tree(&self, text: &str) -> String {
        let parsed = yaml::parse(text, &yaml::Limits::default());
        let mut documents: Vec<Value> = parsed.documents.iter().map(|document| document.root.to_json()).collect();
        if parsed.failure.is_some() || documents.is_empty() {
            return text.to_owned();
        }
        let mut pointers = Vec::new();
        for (position, document) in documents.iter().enumerate() {
            collect_pointers(document, position, String::new(), &mut pointers);
        }
        let at = |index: &Index| pointers.get(index.index(pointers.len())).cloned().unwrap_or_default();
        let value_at = |documents: &[Value], (document, pointer): (usize, String)| {
            documents.get(document).and_then(|document| document.pointer(&pointer)).cloned().unwrap_or_default()
        };
        let replace = |documents: &mut [Value], (document, pointer): (usize, String), value: Value| {
            if let Some(place) = documents.get_mut(document).and_then(|document| document.pointer_mut(&pointer)) {
                *place = value;
            }
        };
        match self {
            Self::Graft(to, from) => {
                let value = value_at(&documents, at(from));
                replace(&mut documents, at(to), value);
            }
            Self::Value(to, text) => {
                replace(&mut documents, at(to), serde_json::from_str(text).unwrap_or_else(|_| Value::from(*text)));
            }
            Self::Prune(place) => replace(&mut documents, at(place), Value::Null),
            Self::Rename(place, from) => {
                let ((document, pointer), (_, other)) = (at(place), at(from));
                if let Some((parent, key)) = pointer.rsplit_once('/')
                    && let Some(parent) = documents.get_mut(document).and_then(|document| document.pointer_mut(parent))
                    && let Some(fields) = parent.as_object_mut()
                    && let Some(value) = fields.remove(key)
                {
                    let name = other.rsplit('/').next().unwrap_or_default();
                    fields.insert(name.to_owned(), value);
                }
            }
            Self::Json => {
                let texts: Vec<String> = documents.iter().map(Value::to_string).collect();
                return texts.join("\n---\n");
            }
            _ => {}
        }
        yaml::to_yaml_stream(&documents)
    }
}

/// Collects the JSON pointer of every value, with the position of its document.
fn collect_pointers(value: &Value, document: usize, pointer: String, pointers: &mut Vec<(usize, String)>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_pointers(item, document, format!("{pointer}/{index}"), pointers);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect_pointers(value, document, format!("{pointer}/{key}"), pointers);
            }
        }
        _ => {}
    }
    pointers.push((document, pointer));
}
