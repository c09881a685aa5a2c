//! Fields in place of paths: what their declarations say.

use std::path::PathBuf;

use kubefoundry_compiler::field_reference::{FieldEntry, UnknownField, find_field, is_path};

use crate::args::ExplanationFormat;

/// Why a field is not explained.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FieldError {
    #[error(transparent)]
    Unknown(#[from] UnknownField),
    #[error("{field} is a field, and {path} is not; explain one or the other")]
    Mixed { field: String, path: String },
    #[error("a field has a description and no report; expected --output text")]
    NoReport,
}

/// The fields that the arguments name: all of them or none. What exists as a file or directory is one.
pub(super) fn fields(arguments: &[PathBuf]) -> Result<Vec<FieldEntry>, FieldError> {
    let name =
        |argument: &PathBuf| argument.to_str().filter(|text| is_path(text) && !argument.exists()).map(str::to_owned);
    let names: Vec<Option<String>> = arguments.iter().map(name).collect();
    let Some(field) = names.iter().flatten().next() else { return Ok(Vec::new()) };
    if let Some(at) = names.iter().position(Option::is_none) {
        let path = arguments.get(at).map(|path| path.display().to_string()).unwrap_or_default();
        return Err(FieldError::Mixed { field: field.clone(), path });
    }
    Ok(names.iter().flatten().map(|name| find_field(name)).collect::<Result<_, _>>()?)
}

/// The descriptions.
pub(super) fn text(fields: &[FieldEntry], format: ExplanationFormat) -> Result<String, FieldError> {
    match format {
        ExplanationFormat::Text => Ok(fields.iter().map(FieldEntry::to_text).collect::<Vec<_>>().join("\n")),
        ExplanationFormat::Json | ExplanationFormat::Mermaid | ExplanationFormat::Dot | ExplanationFormat::Html => {
            Err(FieldError::NoReport)
        }
    }
}
