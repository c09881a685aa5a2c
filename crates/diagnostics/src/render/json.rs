//! Findings as JSON, one object each, in a versioned envelope.

use serde::Serialize;

use super::place::{Place, Places, Range};
use crate::source::SourceSet;
use crate::{Diagnostic, ObjectRef, Severity};
use kubefoundry_yaml::edit::TextEdit;

/// The envelope. `version` changes when a field changes its meaning or goes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    version: u32,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    crds: &'a [CheckedSchema],
    diagnostics: Vec<Finding<'a>>,
}

/// A schema of a cluster's CRD that objects were checked against.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckedSchema {
    /// `group/version`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The same for the same schema, whatever file it came in.
    pub fingerprint: String,
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
struct Related<'a> {
    message: &'a str,
    #[serde(flatten)]
    place: Place<'a>,
}

#[derive(Debug, Serialize)]
struct Fix<'a> {
    title: &'a str,
    edits: Vec<Replacement<'a>>,
}

#[derive(Debug, Serialize)]
struct Replacement<'a> {
    #[serde(flatten)]
    range: Range,
    replacement: &'a str,
}

/// All findings as one JSON document: `{"version": 1, "diagnostics": [{code, name, severity, message, file, document,
/// path, line, column, endLine, endColumn, object, related, help, fix}]}`. Lines and columns count from 1.
///
/// With `--crds`, `crds` says which schemas objects were checked against.
pub fn json(diagnostics: &[Diagnostic], sources: &SourceSet, crds: &[CheckedSchema]) -> String {
    let places = Places::new(diagnostics, sources);
    let diagnostics = diagnostics.iter().map(|diagnostic| finding(diagnostic, &places)).collect();
    let mut text = serde_json::to_string_pretty(&Report { version: 1, crds, diagnostics }).unwrap_or_default();
    text.push('\n');
    text
}

fn finding<'a>(diagnostic: &'a Diagnostic, places: &'a Places<'_>) -> Finding<'a> {
    let fix = diagnostic.fix.as_ref().zip(diagnostic.location.as_ref()).map(|(fix, location)| {
        let edit = |edit: &'a TextEdit| Replacement {
            range: places.range(location.source, edit.range),
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
