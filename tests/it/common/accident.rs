//! Accidents that can happen to a text: to its bytes, to its YAML tokens, to the tree that it stands for.

use kubefoundry_yaml as yaml;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

#[rustfmt::skip]
const ODD: &[&str] = &[
    "", "~", "null", "true", "-1", "0", "1.5", "1e400", "99999999999999999999", "''", "\"\"", "[]", "{}", "[[]]", "{a: {}}", "*x", "&x y", "!!str 1",
    "!!int x", "|\n", ">-\n  a\n", "'", "\"", "{", "]", ": ", "- ", "? ", "#", "---", "...", "%YAML 9", "\t", "\r", "\u{0}", "\u{85}", "\u{feff}", "é",
    "<<: *x", "$(A)", "0x7fffffff", "2147483648", "a\u{202e}b", "\n---\n", "\n- ", "\n", "&x", "<<: {a: b}", "\"\\ud800\"", "spec.x > 1 ? true : 2",
];

/// An accident.
#[derive(Debug, Clone)]
pub(crate) enum Accident {
    /// Bytes go.
    Delete(Index, usize),
    /// A piece of syntax comes.
    Insert(Index, &'static str),
    /// Bytes are tripled.
    Repeat(Index, usize),
    /// The rest goes.
    Truncate(Index),
    /// A byte becomes another one; the text may stop being UTF-8.
    Byte(Index, u8),
    /// Two lines change places.
    SwapLines(Index, Index),
    /// A line is indented otherwise.
    Indent(Index, usize),
    /// A line gets another value.
    Scalar(Index, &'static str),
    /// A token becomes another one of the text.
    Token(Index, Index),
    /// Two tokens change places.
    SwapTokens(Index, Index),
    /// A value of the tree becomes another one of the tree.
    Graft(Index, Index),
    /// A value of the tree becomes a plain one.
    Value(Index, &'static str),
    /// A value of the tree goes.
    Prune(Index),
    /// A key of the tree gets another name.
    Rename(Index, Index),
    /// The documents are written as JSON.
    Json,
}

/// Any accident.
pub(crate) fn accident() -> impl Strategy<Value = Accident> {
    let place = any::<Index>;
    let of_bytes = prop_oneof![
        (place(), 1..20_usize).prop_map(|(at, length)| Accident::Delete(at, length)),
        (place(), select(ODD)).prop_map(|(at, text)| Accident::Insert(at, text)),
        (place(), 1..200_usize).prop_map(|(at, length)| Accident::Repeat(at, length)),
        place().prop_map(Accident::Truncate),
        (place(), any::<u8>()).prop_map(|(at, byte)| Accident::Byte(at, byte)),
    ];
    let of_tokens = prop_oneof![
        (place(), place()).prop_map(|(one, other)| Accident::SwapLines(one, other)),
        (place(), 0..6_usize).prop_map(|(line, spaces)| Accident::Indent(line, spaces)),
        (place(), select(ODD)).prop_map(|(line, text)| Accident::Scalar(line, text)),
        (place(), place()).prop_map(|(at, from)| Accident::Token(at, from)),
        (place(), place()).prop_map(|(one, other)| Accident::SwapTokens(one, other)),
    ];
    let of_trees = prop_oneof![
        3 => (place(), place()).prop_map(|(at, from)| Accident::Graft(at, from)),
        3 => (place(), select(ODD)).prop_map(|(at, text)| Accident::Value(at, text)),
        2 => place().prop_map(Accident::Prune),
        2 => (place(), place()).prop_map(|(at, from)| Accident::Rename(at, from)),
        1 => Just(Accident::Json),
    ];
    prop_oneof![of_bytes, of_tokens, of_trees]
}

impl Accident {
    /// The bytes after the accident.
    pub(crate) fn happen(&self, bytes: &[u8]) -> Vec<u8> {
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
                    Self::SwapLines(..) | Self::Indent(..) | Self::Scalar(..) => self.to_lines(text),
                    Self::Token(..) | Self::SwapTokens(..) => self.to_tokens(text),
                    _ => self.to_tree(text),
                };
                bytes = changed.into_bytes();
            }
        }
        bytes
    }

    fn to_lines(&self, text: &str) -> String {
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

    fn to_tokens(&self, text: &str) -> String {
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

    fn to_tree(&self, text: &str) -> String {
        let parsed = yaml::parse(text, &yaml::Limits::default());
        let mut documents: Vec<Value> = parsed.documents.iter().map(|document| document.root.to_json()).collect();
        if parsed.failure.is_some() || documents.is_empty() {
            return text.to_owned();
        }
        let mut pointers = Vec::new();
        for (position, document) in documents.iter().enumerate() {
            collect(document, position, String::new(), &mut pointers);
        }
        let at = |index: &Index| pointers.get(index.index(pointers.len())).cloned().unwrap_or_default();
        let found = |documents: &[Value], (document, pointer): (usize, String)| {
            documents.get(document).and_then(|document| document.pointer(&pointer)).cloned().unwrap_or_default()
        };
        let put = |documents: &mut [Value], (document, pointer): (usize, String), value: Value| {
            if let Some(place) = documents.get_mut(document).and_then(|document| document.pointer_mut(&pointer)) {
                *place = value;
            }
        };
        match self {
            Self::Graft(to, from) => {
                let value = found(&documents, at(from));
                put(&mut documents, at(to), value);
            }
            Self::Value(to, text) => {
                put(&mut documents, at(to), serde_json::from_str(text).unwrap_or_else(|_| Value::from(*text)));
            }
            Self::Prune(place) => put(&mut documents, at(place), Value::Null),
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

/// The pointer of every value.
fn collect(value: &Value, document: usize, pointer: String, pointers: &mut Vec<(usize, String)>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, document, format!("{pointer}/{index}"), pointers);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect(value, document, format!("{pointer}/{key}"), pointers);
            }
        }
        _ => {}
    }
    pointers.push((document, pointer));
}
