//! Explains fields: prints their descriptions.

use std::path::PathBuf;

use kubefoundry_reference::{FieldEntry, UnknownField, find_field, is_path, suggest_field};

use crate::args::ExplanationFormat;

/// Errors in arguments that look like fields.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FieldError {
    #[error(transparent)]
    Unknown(#[from] UnknownField),
    #[error("{field} is a field, but {path} is not; explain them in separate commands")]
    Mixed { field: String, path: String },
    #[error("{given} is neither a file, a directory nor a field; did you mean {suggestion}?")]
    Misspelt { given: String, suggestion: String },
    #[error("fields can only be printed with --output text")]
    UnsupportedFormat,
}

/// Parses the arguments as fields. Returns an empty list if none is a field, and an error if only some are.
///
/// An existing file or directory is always read as a path.
pub(super) fn parse_fields(arguments: &[PathBuf]) -> Result<Vec<FieldEntry>, FieldError> {
    let name =
        |argument: &PathBuf| argument.to_str().filter(|text| is_path(text) && !argument.exists()).map(str::to_owned);
    let names: Vec<Option<String>> = arguments.iter().map(name).collect();
    let Some(field) = names.iter().flatten().next() else { return Ok(Vec::new()) };
    if let Some((path, _)) = arguments.iter().zip(&names).find(|(_, name)| name.is_none()) {
        return Err(FieldError::Mixed { field: field.clone(), path: path.display().to_string() });
    }
    Ok(names.iter().flatten().map(|name| find_field(name)).collect::<Result<_, _>>()?)
}

/// Refuses an argument that is not a path, and like a field. Without this, the error would be about a file.
pub(super) fn refuse_misspelt_fields(arguments: &[PathBuf]) -> Result<(), FieldError> {
    let missing = arguments.iter().filter(|argument| !argument.exists()).filter_map(|argument| argument.to_str());
    for given in missing {
        if let Some(suggestion) = suggest_field(given) {
            return Err(FieldError::Misspelt { given: given.to_owned(), suggestion });
        }
    }
    Ok(())
}

/// Formats the descriptions of fields.
pub(super) fn format_fields(fields: &[FieldEntry], format: ExplanationFormat) -> Result<String, FieldError> {
    match format {
        ExplanationFormat::Text => Ok(fields.iter().map(FieldEntry::to_text).collect::<Vec<_>>().join("\n")),
        ExplanationFormat::Json | ExplanationFormat::Mermaid | ExplanationFormat::Html => {
            Err(FieldError::UnsupportedFormat)
        }
    }
}
