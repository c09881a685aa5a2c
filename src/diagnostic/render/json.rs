//! Findings as JSON, one object each, in a versioned envelope.

use serde::Serialize;

use super::position::LineIndex;
use crate::diagnostic::{Diagnostic, Location, ObjectRef, Severity};
use crate::source::SourceSet;
use crate::yaml::Span;

/// The envelope. `version` changes when a field changes its meaning or goes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    version: u32,
    diagnostics: Vec<Finding<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding<'a> {
    code: &'static str,
    name: &'static str,
    severity: Severity,
    message: &'a str,
    #[serde(flatten)]
    place: Option<Place<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'a ObjectRef>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<Related<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<Fix<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Place<'a> {
    file: &'a str,
    document: usize,
    path: String,
    #[serde(flatten)]
    range: Range,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Range {
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

#[derive(Debug, Serialize)]
struct Related<'a> {
    message: &'a str,
    #[serde(flatten)]
    place: Place<'a>,
}

#[derive(Debug, Serialize)]
struct Fix<'a> {
    title: &'a str,
    edits: Vec<Edit<'a>>,
}

#[derive(Debug, Serialize)]
struct Edit<'a> {
    #[serde(flatten)]
    range: Range,
    replacement: &'a str,
}

/// All findings as one JSON document: `{"version": 1, "diagnostics": [{code, name, severity, message, file, document,
/// path, line, column, endLine, endColumn, object, related, help, fix}]}`. Lines and columns count from 1.
pub fn json(diagnostics: &[Diagnostic], sources: &SourceSet) -> String {
    let diagnostics = diagnostics.iter().map(|diagnostic| finding(diagnostic, sources)).collect();
    let mut text = serde_json::to_string_pretty(&Report { version: 1, diagnostics }).unwrap_or_default();
    text.push('\n');
    text
}

fn finding<'a>(diagnostic: &'a Diagnostic, sources: &'a SourceSet) -> Finding<'a> {
    let place = diagnostic.location.as_ref().map(|location| place(location, sources));
    let fix = diagnostic.fix.as_ref().zip(diagnostic.location.as_ref()).map(|(fix, location)| {
        let index = LineIndex::new(&sources.get(location.source).text);
        let edits =
            fix.edits.iter().map(|edit| Edit { range: range(&index, edit.span), replacement: &edit.replacement });
        Fix { title: &fix.title, edits: edits.collect() }
    });
    Finding {
        code: diagnostic.code.id,
        name: diagnostic.code.name,
        severity: diagnostic.severity,
        message: &diagnostic.message,
        place,
        object: diagnostic.object.as_ref(),
        related: diagnostic
            .related
            .iter()
            .map(|related| Related { message: &related.message, place: self::place(&related.location, sources) })
            .collect(),
        help: diagnostic.help.as_deref(),
        fix,
    }
}

fn place<'a>(location: &Location, sources: &'a SourceSet) -> Place<'a> {
    let source = sources.get(location.source);
    Place {
        file: &source.name,
        document: location.document,
        path: location.path.to_string(),
        range: range(&LineIndex::new(&source.text), location.span),
    }
}

fn range(index: &LineIndex<'_>, span: Span) -> Range {
    let (start, end) = (index.position(span.start), index.position(span.end));
    Range { line: start.line, column: start.column, end_line: end.line, end_column: end.column }
}
