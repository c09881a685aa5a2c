//! JSON values to the one YAML text that we write for them.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::scalar::integral;

/// Writes a value as block-style YAML with a line break at the end: two spaces, list dashes at their key's
/// indentation, keys in their order, strings of several lines as literal blocks, and quotes around every string
/// that a YAML 1.1 or 1.2 reader would take for something else. Numbers without a fraction become integers.
///
/// ```
/// let mut out = String::new();
/// kubefoundry::yaml::to_yaml(&serde_json::json!({"args": ["--seed", "0777"], "replicas": 2.0}), &mut out);
/// assert_eq!(out, "args:\n- --seed\n- \"0777\"\nreplicas: 2\n");
/// ```
pub fn to_yaml(value: &Value, out: &mut String) {
    let start = out.len();
    let options = serde_saphyr::ser_options! {
        compact_list_indent: true,
        prefer_block_scalars: true,
        indent_step: 2,
        folded_wrap_chars: usize::MAX,
    };
    if serde_saphyr::to_fmt_writer_with_options(&mut *out, &Canonical(value), options).is_err() {
        // No JSON value is known to get here. JSON is YAML, so nothing would be lost but the style.
        out.truncate(start);
        out.push_str(&value.to_string());
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
}

/// Writes values as a stream of documents, with `---` between them.
///
/// ```
/// let values = [serde_json::json!({"a": 1}), serde_json::json!({"b": []})];
/// assert_eq!(kubefoundry::yaml::to_yaml_stream(&values), "a: 1\n---\nb: []\n");
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

/// A value whose integral floats are written as integers.
struct Canonical<'v>(&'v Value);

impl Serialize for Canonical<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()).and_then(integral) {
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
