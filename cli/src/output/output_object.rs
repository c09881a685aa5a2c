//! Objects as the contents of files.

use std::borrow::Cow;

use kubefoundry_compiler::pipeline::YamlText;
use kubefoundry_reports::manifests::json_document;
use kubefoundry_yaml as yaml;
use serde_json::Value;

use crate::args::ObjectFormat;

/// An object of the output, in the form of the compilation.
pub(crate) trait OutputObject {
    /// Formats it as the content of a file.
    fn file_text(&self, format: ObjectFormat) -> Cow<'_, str>;

    /// Returns it as a value.
    fn value(&self) -> Cow<'_, Value>;
}

impl OutputObject for Value {
    fn file_text(&self, format: ObjectFormat) -> Cow<'_, str> {
        object_text(self, format).into()
    }

    fn value(&self) -> Cow<'_, Value> {
        Cow::Borrowed(self)
    }
}

impl OutputObject for YamlText {
    fn file_text(&self, format: ObjectFormat) -> Cow<'_, str> {
        match format {
            ObjectFormat::Yaml => self.as_str().into(),
            ObjectFormat::Json => object_text(&self.value(), format).into(),
        }
    }

    fn value(&self) -> Cow<'_, Value> {
        Cow::Owned(self.to_value())
    }
}

/// Formats one object as the content of a file.
pub(super) fn object_text(object: &Value, format: ObjectFormat) -> String {
    match format {
        ObjectFormat::Yaml => {
            let mut out = String::new();
            yaml::to_yaml(object, &mut out);
            out
        }
        ObjectFormat::Json => json_document(vec![object.clone()]),
    }
}
