//! Codes in place of paths: their pages, which are part of the program.

use std::path::{Path, PathBuf};

use kubefoundry::registry;
use kubefoundry_diagnostics::{Code, Severity};
use kubefoundry_yaml::text::closest;
use serde::Serialize;

use crate::args::ExplanationFormat;

/// What was given is neither input nor a code.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CodeError {
    #[error("{given} is no diagnostic code; {hint}")]
    Unknown { given: String, hint: String },
    #[error("{given}: no such file or directory, and no diagnostic code; {hint}")]
    NoPath { given: String, hint: String },
    #[error("a diagnostic code has a page and no picture; expected --output text or json")]
    NoPicture,
    #[error("{code} is a diagnostic code, and {path} is not; explain one or the other")]
    Mixed { code: &'static str, path: String },
}

/// The JSON report. `version` changes when a field changes its meaning or goes.
#[derive(Serialize)]
struct Report {
    version: u32,
    codes: Vec<Explained>,
}

#[derive(Serialize)]
struct Explained {
    id: &'static str,
    name: &'static str,
    severity: Severity,
    summary: &'static str,
    /// Markdown.
    page: &'static str,
}

/// The codes that the arguments name: all of them or none. A code is one wherever the command is run, whatever lies in
/// the directory.
pub(super) fn codes(arguments: &[PathBuf]) -> Result<Vec<&'static Code>, CodeError> {
    let mut codes = Vec::new();
    let mut other = None;
    for argument in arguments {
        match code(argument)? {
            Some(code) => codes.push(code),
            None => other = other.or(Some(argument)),
        }
    }
    match (codes.first(), other) {
        (Some(code), Some(path)) => Err(CodeError::Mixed { code: code.id, path: path.display().to_string() }),
        _ => Ok(codes),
    }
}

/// The code that an argument names, in any case; `None` when it is a path.
fn code(argument: &Path) -> Result<Option<&'static Code>, CodeError> {
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
    let hint = meant.map_or("expected a path, a code such as KF0102, or its name".to_owned(), did_you_mean);
    Err(CodeError::NoPath { given, hint })
}

/// A zero too few or too many, or one of the same hundred.
fn id_hint(digits: &str) -> String {
    let number = digits.trim_start_matches('0');
    if let Some(code) = registry::code(&format!("KF{number:0>4}")) {
        return did_you_mean(code);
    }
    let hundred = format!("KF{}", digits.get(..2).unwrap_or(digits));
    let of_hundred = || registry::codes().map(|code| code.id).filter(|id| id.starts_with(&hundred));
    match (of_hundred().min(), of_hundred().max()) {
        (Some(first), Some(last)) => format!("expected one of {first} to {last}"),
        _ => "expected one such as KF0102".to_owned(),
    }
}

fn did_you_mean(code: &Code) -> String {
    format!("did you mean {} ({})?", code.id, code.name)
}

/// Whether it has the letters of a code or its name: no `/`, no `.yaml`, and not `-`.
fn looks_like_a_code(given: &str) -> bool {
    given.bytes().any(|byte| byte.is_ascii_alphanumeric())
        && given.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// What follows the `KF` of something that has the form of a code.
fn digits(given: &str) -> Option<&str> {
    let (letters, digits) = given.split_at_checked(2)?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (letters.eq_ignore_ascii_case("KF") && is_number).then_some(digits)
}

/// The pages, as they are or in a report.
pub(super) fn pages(codes: &[&'static Code], format: ExplanationFormat) -> Result<String, CodeError> {
    let page = |code| registry::page(code).unwrap_or_default();
    match format {
        ExplanationFormat::Text => Ok(codes.iter().map(|code| page(code)).collect::<Vec<_>>().join("\n")),
        ExplanationFormat::Json => {
            let codes = codes.iter().map(|&code| {
                let Code { id, name, severity, summary, .. } = *code;
                Explained { id, name, severity, summary, page: page(code) }
            });
            let report = Report { version: 1, codes: codes.collect() };
            Ok(serde_json::to_string_pretty(&report).unwrap_or_default() + "\n")
        }
        ExplanationFormat::Mermaid | ExplanationFormat::Dot | ExplanationFormat::Html => Err(CodeError::NoPicture),
    }
}
