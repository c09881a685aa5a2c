//! Findings as JSON, one object each, in a versioned envelope.

use std::collections::BTreeMap;

use serde::Serialize;

use super::position::{LineIndex, Position, line_indexes};
use crate::diagnostic::{Diagnostic, Location, ObjectRef, Severity};
use crate::source::{SourceId, SourceSet};
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
    let places = Places { sources, indexes: line_indexes(diagnostics, sources) };
    let diagnostics = diagnostics.iter().map(|diagnostic| finding(diagnostic, &places)).collect();
    let mut text = serde_json::to_string_pretty(&Report { version: 1, diagnostics }).unwrap_or_default();
    text.push('\n');
    text
}

/// What turns locations into files, lines and columns.
struct Places<'s> {
    sources: &'s SourceSet,
    indexes: BTreeMap<SourceId, LineIndex<'s>>,
}

impl Places<'_> {
    fn place(&self, location: &Location) -> Place<'_> {
        Place {
            file: &self.sources.get(location.source).name,
            document: location.document,
            path: location.path.to_string(),
            range: self.range(location.source, location.span),
        }
    }

    fn range(&self, source: SourceId, span: Span) -> Range {
        let position = |offset| {
            let start = Position { line: 1, column: 1 };
            self.indexes.get(&source).map_or(start, |index| index.position(offset))
        };
        let (start, end) = (position(span.start), position(span.end));
        Range { line: start.line, column: start.column, end_line: end.line, end_column: end.column }
    }
}

fn finding<'a>(diagnostic: &'a Diagnostic, places: &'a Places<'_>) -> Finding<'a> {
    let fix = diagnostic.fix.as_ref().zip(diagnostic.location.as_ref()).map(|(fix, location)| {
        let edit = |edit: &'a crate::diagnostic::Edit| Edit {
            range: places.range(location.source, edit.span),
            replacement: &edit.replacement,
        };
        Fix { title: &fix.title, edits: fix.edits.iter().map(edit).collect() }
    });
    let related = diagnostic.related.iter();
    Finding {
        code: diagnostic.code.id,
        name: diagnostic.code.name,
        severity: diagnostic.severity,
        message: &diagnostic.message,
        place: diagnostic.location.as_ref().map(|location| places.place(location)),
        object: diagnostic.object.as_ref(),
        related: related
            .map(|related| Related { message: &related.message, place: places.place(&related.location) })
            .collect(),
        help: diagnostic.help.as_deref(),
        fix,
    }
}
