//! The forms in which a caller can get objects: as values, as YAML text, or not at all.

use std::sync::Arc;

use serde_json::Value;

use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_yaml as yaml;

/// A form of output objects. A compact form reduces the memory for a large input.
pub trait OutputForm: Clone + Send + Sync {
    /// Converts a finished object.
    fn from_value(object: Value) -> Self;

    /// Converts a generated object.
    fn from_manifest(manifest: Manifest) -> Self
    where
        Self: Sized,
    {
        Self::from_value(manifest.into_json())
    }
}

/// The object itself, in emission order.
impl OutputForm for Value {
    fn from_value(object: Value) -> Self {
        object
    }
}

/// The initial capacity for the text of an object, in bytes. Few objects are longer.
const INITIAL_TEXT_BYTES: usize = 4 * 1024;

/// No objects, for callers that need findings only.
impl OutputForm for () {
    fn from_value(_: Value) -> Self {}
}

/// The object as a YAML document, for callers that only print it.
///
/// ```
/// use kubefoundry_compiler::pipeline::{OutputForm, YamlText};
/// assert_eq!(YamlText::from_value(serde_json::json!({"a": [1]})).as_str(), "a:\n- 1\n");
/// ```
///
/// A copy shares the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlText(Arc<str>);

impl YamlText {
    /// Returns the text, which ends with a line break.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the object that was written.
    ///
    /// The limits of the input do not apply: an object can be larger and deeper than the document that it comes from, and
    /// must not become another one.
    pub fn to_value(&self) -> Value {
        // The limit of a document of the input can be raised to 1,000.
        const MAX_DEPTH: usize = 2_000;
        let limits = yaml::Limits {
            documents: 1,
            document_bytes: usize::MAX,
            nodes: usize::MAX,
            depth: MAX_DEPTH,
            alias_nodes: usize::MAX,
        };
        let read = yaml::documents(self.as_str(), &limits).next();
        // What cannot be read would be shown as it is.
        read.map_or_else(|| Value::from(self.as_str()), |document| document.root.to_json())
    }
}

impl OutputForm for YamlText {
    fn from_value(object: Value) -> Self {
        // The initial capacity avoids reallocation for most objects; the shared text then has its exact length.
        let mut text = String::with_capacity(INITIAL_TEXT_BYTES);
        yaml::to_yaml(&object, &mut text);
        Self(text.as_str().into())
    }

    fn from_manifest(manifest: Manifest) -> Self {
        let mut text = String::with_capacity(INITIAL_TEXT_BYTES);
        manifest.write_yaml(&mut text);
        Self(text.as_str().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_is_deeper_than_a_document_may_be_is_read_back() {
        let deep = (0..300).fold(Value::from("end"), |inner, _| serde_json::json!({"a": [inner]}));
        assert_eq!(YamlText::from_value(deep.clone()).to_value(), deep);
    }
}
