//! Canonical YAML: the one text that is written for a value.
//!
//! The layout is written here, directly into one buffer. serde-saphyr decides the form of every string that
//! [`plain_scalar`](super::plain_scalar) does not clearly recognize as plain. This shortcut makes writing several times
//! faster; a property test checks that the output equals that of serde-saphyr alone.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Number, Value};

use super::infallible::to_json;
use super::plain_scalar::{is_decimal, is_plain_key, is_plain_literal, is_plain_value, is_reserved_word};
use super::scalar::to_integer;
use super::writer::{self, push_spaces};

/// Writes a value as block-style YAML with a line break at the end: indentation of two spaces, list dashes at their
/// key's indentation, keys in their order, multi-line strings as literal blocks, and quotes around every string that a
/// YAML 1.1 or 1.2 reader would resolve to another type. Numbers without a fraction become integers.
///
/// ```
/// let mut out = String::new();
/// kubefoundry_yaml::to_yaml(&serde_json::json!({"args": ["--seed", "0777"], "replicas": 2.0}), &mut out);
/// assert_eq!(out, "args:\n- --seed\n- \"0777\"\nreplicas: 2\n");
/// ```
pub fn to_yaml<T: Serialize + ?Sized>(value: &T, out: &mut String) {
    let start = out.len();
    if writer::write_document(value, out).is_err() {
        out.truncate(start);
        write_by_library(&to_json(value), out);
    }
}

/// Writes values as a stream of documents, with `---` between them.
///
/// ```
/// let values = [serde_json::json!({"a": 1}), serde_json::json!({"b": []})];
/// assert_eq!(kubefoundry_yaml::to_yaml_stream(&values), "a: 1\n---\nb: []\n");
/// ```
pub fn to_yaml_stream<'v>(values: impl IntoIterator<Item = &'v Value>) -> String {
    let mut out = String::new();
    for (position, value) in values.into_iter().enumerate() {
        if position > 0 {
            out.push_str("---\n");
        }
        to_yaml(value, &mut out);
    }
    out
}

/// Writes a value with serde-saphyr alone: the same text, several times slower.
fn write_by_library(value: &Value, out: &mut String) {
    let start = out.len();
    let options = serde_saphyr::ser_options! {
        compact_list_indent: true,
        prefer_block_scalars: true,
        indent_step: 2,
        folded_wrap_chars: usize::MAX,
    };
    if serde_saphyr::to_fmt_writer_with_options(&mut *out, &Canonical(value), options).is_err() {
        // No JSON value is known to fail. JSON is valid YAML, so only the style would differ.
        out.truncate(start);
        out.push_str(&value.to_string());
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
}

/// The token that precedes a leaf.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum LeafPosition {
    /// `key:`
    Value,
    /// `-`
    Item,
}

/// Writes a string, or returns `None` if only the library can.
pub(super) fn write_string(text: &str, position: LeafPosition, indent: usize, out: &mut String) -> Option<()> {
    if is_plain_value(text) {
        out.push_str(text);
    } else if is_decimal(text) || is_reserved_word(text) {
        out.extend(["\"", text, "\""]);
    } else if is_plain_literal(text) {
        out.push('|');
        // The library indents empty lines, too.
        for line in text.lines() {
            out.push('\n');
            push_spaces(indent + 2, out);
            out.push_str(line);
        }
    } else {
        return write_leaf(&Value::from(text), position, indent, out);
    }
    out.push('\n');
    Some(())
}

/// Writes a key and its colon, or returns `None` if only the library can.
pub(super) fn write_key(key: &str, out: &mut String) -> Option<()> {
    if is_plain_key(key) {
        out.push_str(key);
        out.push(':');
        return Some(());
    }
    let asked = library_text(&Value::Object(std::iter::once((key.to_owned(), Value::Bool(true))).collect()));
    let key = asked.strip_suffix(" true\n").filter(|key| key.ends_with(':') && !key.contains('\n'))?;
    out.push_str(key);
    Some(())
}

/// Writes a leaf as the library does in that position, and indents its further lines.
pub(super) fn write_leaf(leaf: &Value, position: LeafPosition, indent: usize, out: &mut String) -> Option<()> {
    let (asked, before) = match position {
        LeafPosition::Value => {
            (library_text(&Value::Object(std::iter::once(("k".to_owned(), leaf.clone())).collect())), "k: ")
        }
        LeafPosition::Item => (library_text(&Value::Array(vec![leaf.clone()])), "- "),
    };
    let written = asked.strip_prefix(before)?;
    for (number, line) in written.split_inclusive('\n').enumerate() {
        if number > 0 && line != "\n" {
            push_spaces(indent, out);
        }
        out.push_str(line);
    }
    Some(())
}

fn library_text(value: &Value) -> String {
    let mut text = String::new();
    write_by_library(value, &mut text);
    text
}

/// A value whose integral floats are written as integers.
struct Canonical<'v>(&'v Value);

impl Serialize for Canonical<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Number(number) => match as_integer(number) {
                Some(integer) => match i64::try_from(integer) {
                    Ok(integer) => serializer.serialize_i64(integer),
                    Err(_) => serializer.serialize_u64(u64::try_from(integer).unwrap_or(u64::MAX)),
                },
                None => number.serialize(serializer),
            },
            Value::Array(items) => {
                let mut sequence = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    sequence.serialize_element(&Canonical(item))?;
                }
                sequence.end()
            }
            Value::Object(entries) => {
                let mut mapping = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    mapping.serialize_entry(key, &Canonical(value))?;
                }
                mapping.end()
            }
            scalar => scalar.serialize(serializer),
        }
    }
}

/// Returns the integer that a float equals, if any. Integers of JSON are not converted.
fn as_integer(number: &Number) -> Option<i128> {
    number.as_f64().filter(|_| number.is_f64()).and_then(to_integer)
}
