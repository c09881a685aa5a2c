//! Explains diagnostic codes: prints their pages, which are built into the program.

use std::path::{Path, PathBuf};

use kubefoundry::registry;
use kubefoundry_diagnostics::render::to_report;
use kubefoundry_diagnostics::{Code, Severity};
use kubefoundry_yaml::text::closest;
use serde::Serialize;

use crate::args::ExplanationFormat;

/// Errors in arguments that look like diagnostic codes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CodeError {
    #[error("{given} is not a diagnostic code; {hint}")]
    Unknown { given: String, hint: String },
    #[error("{given} is neither a file, a directory nor a diagnostic code; {hint}")]
    NoPath { given: String, hint: String },
    #[error("diagnostic codes can only be printed with --output text or json")]
    UnsupportedFormat,
    #[error("{code} is a diagnostic code, but {path} is not; explain them in separate commands")]
    Mixed { code: &'static str, path: String },
}

/// The JSON report. `version` increases when a field is removed or changes its meaning.
#[derive(Serialize)]
struct CodeReport {
    version: u32,
    codes: Vec<CodeEntry>,
}

#[derive(Serialize)]
struct CodeEntry {
    id: &'static str,
    name: &'static str,
    severity: Severity,
    summary: &'static str,
    /// The documentation of the code, in Markdown.
    page: &'static str,
}

/// Parses the arguments as codes. Returns an empty list if none is a code, and an error if only some are.
///
/// A known code is never read as a path, so that the result does not depend on the files in the directory.
pub(super) fn parse_codes(arguments: &[PathBuf]) -> Result<Vec<&'static Code>, CodeError> {
    let mut codes = Vec::new();
    let mut other = None;
    for argument in arguments {
        match find_code(argument)? {
            Some(code) => codes.push(code),
            None => other = other.or(Some(argument)),
        }
    }
    match (codes.first(), other) {
        (Some(code), Some(path)) => Err(CodeError::Mixed { code: code.id, path: path.display().to_string() }),
        _ => Ok(codes),
    }
}

/// Finds a code by its ID or name, ignoring case. Returns `None` for a path.
fn find_code(argument: &Path) -> Result<Option<&'static Code>, CodeError> {
    let Some(given) = argument.to_str() else { return Ok(None) };
    let known = registry::code(&given.to_ascii_uppercase()).or_else(|| registry::code(&given.to_ascii_lowercase()));
    if known.is_some() || !looks_like_a_code(given) || argument.exists() {
        return Ok(known);
    }
    let given = given.to_owned();
    if let Some(digits) = digits(&given) {
        let hint = id_hint(digits);
        return Err(CodeError::Unknown { given, hint });
    }
    let meant = closest(&given, registry::codes().map(|code| code.name)).and_then(registry::code);
    let hint = meant.map_or("expected a path, a code such as KF0113, or its name".to_owned(), did_you_mean);
    Err(CodeError::NoPath { given, hint })
}

/// Suggests the code with the same number but missing or extra zeros, or else the range of codes with the same
/// hundreds.
fn id_hint(digits: &str) -> String {
    let number = digits.trim_start_matches('0');
    if let Some(code) = registry::code(&format!("KF{number:0>4}")) {
        return did_you_mean(code);
    }
    let prefix = format!("KF{}", digits.get(..2).unwrap_or(digits));
    let similar = || registry::codes().map(|code| code.id).filter(|id| id.starts_with(&prefix));
    match (similar().min(), similar().max()) {
        (Some(first), Some(last)) => format!("expected one of {first} to {last}"),
        _ => "expected a code such as KF0113".to_owned(),
    }
}

fn did_you_mean(code: &Code) -> String {
    format!("did you mean {} ({})?", code.id, code.name)
}

/// Whether an argument has only the characters of a code or of its name. Paths with `/` or `.yaml`, and `-`, do not.
fn looks_like_a_code(given: &str) -> bool {
    given.bytes().any(|byte| byte.is_ascii_alphanumeric())
        && given.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Returns the digits after `KF`, if the argument has the form of a code.
fn digits(given: &str) -> Option<&str> {
    let (letters, digits) = given.split_at_checked(2)?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (letters.eq_ignore_ascii_case("KF") && is_number).then_some(digits)
}

/// Formats the pages of the codes: as Markdown, or in a JSON report.
#[expect(clippy::expect_used, reason = "the pages are built in, and a test ensures that every code has one")]
pub(super) fn pages(codes: &[&'static Code], format: ExplanationFormat) -> Result<String, CodeError> {
    let page = |code| registry::page(code).expect("every code has a page");
    match format {
        ExplanationFormat::Text => Ok(codes.iter().map(|code| page(code)).collect::<Vec<_>>().join("\n")),
        ExplanationFormat::Json => {
            let codes = codes.iter().map(|&code| {
                let Code { id, name, severity, summary, .. } = *code;
                CodeEntry { id, name, severity, summary, page: page(code) }
            });
            let report = CodeReport { version: 1, codes: codes.collect() };
            Ok(to_report(&report))
        }
        ExplanationFormat::Mermaid | ExplanationFormat::Html => Err(CodeError::UnsupportedFormat),
    }
}
