//! What a caller gets of each object: its value, or its text.

use serde_json::Value;

use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_yaml as yaml;

/// What an object is handed out as. The less of it is kept, the less room a large input takes.
pub trait OutputForm: Send {
    /// Takes a finished object.
    fn of(object: Value) -> Self;

    /// Takes a generated object.
    fn generated(manifest: Manifest) -> Self
    where
        Self: Sized,
    {
        Self::of(manifest.into_json())
    }
}

/// The object itself, in emission order.
impl OutputForm for Value {
    fn of(object: Value) -> Self {
        object
    }
}

/// Bytes that few objects pass.
const ROOM: usize = 4 * 1024;

/// Nothing, for those who want to know what is wrong.
impl OutputForm for () {
    fn of(_: Value) -> Self {}
}

/// The object as a YAML document, for those who print it and no more.
///
/// ```
/// use kubefoundry_compiler::pipeline::{OutputForm, YamlText};
/// assert_eq!(YamlText::of(serde_json::json!({"a": [1]})).as_str(), "a:\n- 1\n");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlText(Box<str>);

impl YamlText {
    /// The text; it ends with a line break.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl OutputForm for YamlText {
    fn of(object: Value) -> Self {
        // Room for most objects, so that the text is not moved while it grows; what is kept is just as long as it is.
        let mut text = String::with_capacity(ROOM);
        yaml::to_yaml(&object, &mut text);
        Self(text.as_str().into())
    }

    fn generated(manifest: Manifest) -> Self {
        let mut text = String::with_capacity(ROOM);
        manifest.write_yaml(&mut text);
        Self(text.as_str().into())
    }
}
