//! Findings as a GitLab Code Quality report: a JSON list, each finding with a fingerprint.
//!
//! Source of the form: GitLab documentation, "Code Quality report format".

use serde::Serialize;

use super::checkout::Checkout;
use super::location::{LocationResolver, Range};
use super::stable_id::stable_ids;
use crate::source::SourceSet;
use crate::{Diagnostic, Severity};

#[derive(Debug, Serialize)]
struct Issue {
    description: String,
    check_name: &'static str,
    fingerprint: String,
    severity: &'static str,
    location: IssueLocation,
}

#[derive(Debug, Serialize)]
struct IssueLocation {
    path: String,
    positions: IssuePositions,
}

#[derive(Debug, Serialize)]
struct IssuePositions {
    begin: IssuePosition,
    end: IssuePosition,
}

#[derive(Debug, Serialize)]
struct IssuePosition {
    line: usize,
    column: usize,
}

/// All findings as one JSON list. File names count from the root of `checkout`. GitLab wants a path for every
/// finding: one without a file is at line 1 of `.`.
pub fn gitlab(diagnostics: &[Diagnostic], sources: &SourceSet, checkout: &Checkout) -> String {
    let places = LocationResolver::new(diagnostics, sources);
    let ids = stable_ids(diagnostics, sources, checkout);
    let issues: Vec<Issue> = diagnostics
        .iter()
        .zip(ids)
        .map(|(diagnostic, fingerprint)| Issue {
            description: format!("{}: {}", diagnostic.code.id, diagnostic.message),
            check_name: diagnostic.code.name,
            fingerprint,
            severity: match diagnostic.severity {
                Severity::Error => "major",
                Severity::Warning => "minor",
                Severity::Info => "info",
            },
            location: issue_location(diagnostic, &places, checkout),
        })
        .collect();
    let mut text = serde_json::to_string_pretty(&issues).unwrap_or_default();
    text.push('\n');
    text
}

fn issue_location(diagnostic: &Diagnostic, places: &LocationResolver<'_>, checkout: &Checkout) -> IssueLocation {
    let place = diagnostic.location.as_ref().map(|location| places.resolve(location));
    let known = place.and_then(|place| Some((checkout.relative(place.file)?, place.range)));
    let start = Range { line: 1, column: 1, end_line: 1, end_column: 1 };
    let (path, range) = known.unwrap_or_else(|| (".".to_owned(), start));
    let begin = IssuePosition { line: range.line, column: range.column };
    let end = IssuePosition { line: range.end_line, column: range.end_column };
    IssueLocation { path, positions: IssuePositions { begin, end } }
}
