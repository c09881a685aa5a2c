//! Encodes schemas as lines that refer to one another, so that equal subtrees are stored once.

use std::collections::BTreeMap;

use kubefoundry_crd::upstream::map_subschemas;
use kubefoundry_yaml::fingerprint::sha256;
use serde_json::Value;

/// A schema with at most this many bytes of JSON is written in place, because a reference would not be shorter.
const MAX_INLINE: usize = 40;
/// The number of digits of the SHA-256 in a key. The task fails if two schemas share a key.
const KEY_DIGITS: usize = 8;

/// Collects the encoded lines by key.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    lines: BTreeMap<String, String>,
}

impl Encoder {
    /// Encodes a schema and returns a reference to it, or the schema itself if it is small.
    ///
    /// # Errors
    /// If two schemas have the same key.
    pub(super) fn encode(&mut self, schema: &Value) -> Result<Value, String> {
        let encoded = match schema {
            Value::Object(keywords) => Value::Object(map_subschemas(keywords, |subschema| self.encode(subschema))?),
            other => return Err(format!("{other} is not a schema")),
        };
        let json = encoded.to_string();
        if json.len() <= MAX_INLINE {
            return Ok(encoded);
        }
        let mut key = sha256(json.as_bytes());
        key.truncate(KEY_DIGITS);
        match self.lines.insert(key.clone(), json.clone()) {
            Some(other) if other != json => Err(format!("two schemas have the key {key}: more digits are needed")),
            _ => Ok(Value::from(key)),
        }
    }

    /// Returns the text of `subtrees.txt`.
    pub(super) fn text(&self) -> String {
        let lines = self.lines.iter().map(|(key, json)| format!("{key} {json}\n"));
        "# Written by `cargo xtask upstream`; do not edit.\n".to_owned() + &lines.collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_subtrees_are_one_line() {
        let pod = json!({"type": "object", "properties": {"name": {"type": "string"}, "nodes": {"type": "integer"}}});
        let mut encoder = Encoder::default();
        let one = encoder.encode(&json!({"type": "object", "properties": {"head": pod, "worker": pod}})).unwrap();
        let two = encoder
            .encode(&json!({"type": "array", "items": {"type": "object", "properties": {"head": pod, "worker": pod}}}))
            .unwrap();
        assert!(one.is_string(), "{one}");
        assert_eq!(two, json!({"items": one, "type": "array"}));
        assert_eq!(encoder.lines.len(), 2, "{}", encoder.text());
    }

    #[test]
    fn a_small_schema_stands_where_it_is_used() {
        let mut encoder = Encoder::default();
        let small = json!({"type": "integer", "format": "int32"});
        assert_eq!(encoder.encode(&small), Ok(small));
        assert!(encoder.lines.is_empty());
    }
}
