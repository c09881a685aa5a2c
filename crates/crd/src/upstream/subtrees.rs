//! The schemas that skeletons share, and the resolution of references to them.

use std::sync::OnceLock;

use crate::ReferenceResolver;
use serde_json::{Map, Value};

/// Maximum nesting of schemas. The deepest upstream CRD nests 34 collections, but references in a damaged file could
/// form a cycle.
const MAX_DEPTH: usize = 100;

/// The entries of `subtrees.txt`.
#[derive(Debug)]
pub(super) struct Subtrees<'t> {
    /// Sorted by key.
    entries: Vec<SharedSchema<'t>>,
}

/// A schema with the key by which references name it.
#[derive(Debug)]
struct SharedSchema<'t> {
    key: &'t str,
    json: &'t str,
    /// The parsed text. The inner `None` means that it is not JSON.
    schema: OnceLock<Option<Value>>,
}

impl<'t> Subtrees<'t> {
    /// Reads lines of the form `<key> <JSON>`. Lines that start with `#` are comments.
    pub(super) fn new(text: &'t str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain(std::iter::once(text.len()));
        let mut start = 0;
        let mut entries = Vec::new();
        for end in ends {
            let line = text.get(start..end).unwrap_or_default();
            start = end + 1;
            if let Some((key, json)) = line.split_once(' ').filter(|_| !line.starts_with('#')) {
                entries.push(SharedSchema { key, json, schema: OnceLock::new() });
            }
        }
        entries.sort_by_key(|entry| entry.key);
        Self { entries }
    }

    /// Expands a schema: replaces it if it is a reference, and every reference inside it.
    ///
    /// # Errors
    /// The key of an entry that is missing, is not JSON, or nests too deeply.
    pub(super) fn expand(&self, schema: &Value) -> Result<Value, String> {
        self.expand_at(schema, 0)
    }

    fn expand_at(&self, schema: &Value, depth: usize) -> Result<Value, String> {
        match schema {
            Value::String(key) if depth < MAX_DEPTH => match self.get(key) {
                Some(found) => self.expand_at(found, depth + 1),
                None => Err(key.clone()),
            },
            Value::String(key) => Err(key.clone()),
            Value::Object(keywords) => {
                let expanded = map_subschemas(keywords, |subschema| self.expand_at(subschema, depth + 1))?;
                Ok(Value::Object(expanded))
            }
            other => Ok(other.clone()),
        }
    }

    fn find_entry(&self, key: &str) -> Option<&SharedSchema<'t>> {
        let position = self.entries.binary_search_by_key(&key, |line| line.key).ok()?;
        self.entries.get(position)
    }

    fn get(&self, key: &str) -> Option<&Value> {
        let line = self.find_entry(key)?;
        line.schema.get_or_init(|| serde_json::from_str(line.json).ok()).as_ref()
    }
}

impl ReferenceResolver for Subtrees<'_> {
    /// Stops the program at a damaged entry, because values without a schema would count as checked. A test reads every
    /// entry.
    #[expect(clippy::panic, reason = "references and entries are parts of the program; no text of a user gets here")]
    fn resolve(&self, reference: &str) -> Option<&Value> {
        let found = self.get(reference);
        Some(found.unwrap_or_else(|| panic!("the built-in subtrees.txt is damaged: {reference}")))
    }

    /// Searches the text of the entry, which is cheaper than parsing it.
    fn may_have_default(&self, reference: &str) -> bool {
        self.find_entry(reference).is_none_or(|line| line.json.contains("\"default\":"))
    }

    /// The skeletons have no validation rules.
    fn may_have_rules(&self, _reference: &str) -> bool {
        false
    }
}

/// Applies a function to each schema directly inside a schema, and keeps every other keyword.
///
/// Subschemas are under `properties`, `items`, `additionalProperties`, `not`, `allOf`, `anyOf` and `oneOf`. A boolean
/// `additionalProperties` is not a schema.
///
/// # Errors
/// The first error of the function.
///
/// ```
/// use kubefoundry_crd::upstream::map_subschemas;
/// use serde_json::json;
/// let schema = json!({"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]});
/// let replaced = map_subschemas(schema.as_object().unwrap(), |_| Ok::<_, ()>(json!("reference"))).unwrap();
/// assert_eq!(json!(replaced), json!({"type": "object", "properties": {"type": "reference"}, "required": ["type"]}));
/// ```
pub fn map_subschemas<E>(
    schema: &Map<String, Value>,
    mut change: impl FnMut(&Value) -> Result<Value, E>,
) -> Result<Map<String, Value>, E> {
    let mut changed = Map::new();
    for (keyword, value) in schema {
        let value = match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                let properties = properties.iter().map(|(name, schema)| Ok((name.clone(), change(schema)?)));
                Value::Object(properties.collect::<Result<_, E>>()?)
            }
            ("items" | "not", schema) => change(schema)?,
            ("additionalProperties", schema) if !schema.is_boolean() => change(schema)?,
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                Value::Array(schemas.iter().map(&mut change).collect::<Result<_, E>>()?)
            }
            (_, other) => other.clone(),
        };
        changed.insert(keyword.clone(), value);
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str = "# a comment\nb {\"type\":\"array\",\"items\":\"a\"}\na {\"type\":\"string\",\"enum\":[\"b\"]}\n\
                        c {\"properties\":{\"c\":\"c\"}}\nd no JSON\n";

    #[test]
    fn expands_references_at_every_position_of_a_schema() {
        let schema = json!({
            "properties": {"items": "b", "b": {"type": "string", "default": "a"}},
            "additionalProperties": "a",
            "anyOf": ["a", {"not": "a"}],
        });
        let text = json!({"type": "string", "enum": ["b"]});
        let expected = json!({
            "properties": {"items": {"type": "array", "items": text}, "b": {"type": "string", "default": "a"}},
            "additionalProperties": text,
            "anyOf": [text, {"not": text}],
        });
        assert_eq!(Subtrees::new(TEXT).expand(&schema), Ok(expected));
        let open = json!({"additionalProperties": true});
        assert_eq!(Subtrees::new(TEXT).expand(&open), Ok(open));
    }

    #[test]
    fn a_damaged_text_is_an_error() {
        let subtrees = Subtrees::new(TEXT);
        for key in ["c", "d", "e"] {
            assert_eq!(subtrees.expand(&json!({"items": key})), Err(key.to_owned()));
        }
    }
}
