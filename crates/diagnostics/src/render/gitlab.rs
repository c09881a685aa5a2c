//! Findings as a GitLab Code Quality report: a JSON list, each finding with a fingerprint.
//!
//! Source: "Code Quality report format" in GitLab's documentation.

use serde::Serialize;

use super::checkout::Checkout;
use super::json::to_report;
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

/// Renders all findings as one JSON list. File names are relative to the root of `checkout`. GitLab requires a path for
/// every finding, so one without a file is at line 1 of `.`.
pub fn gitlab(diagnostics: &[Diagnostic], sources: &SourceSet, checkout: &Checkout) -> String {
    let resolver = LocationResolver::new(diagnostics, sources);
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
            location: issue_location(diagnostic, &resolver, checkout),
        })
        .collect();
    to_report(&issues)
}

fn issue_location(diagnostic: &Diagnostic, resolver: &LocationResolver<'_>, checkout: &Checkout) -> IssueLocation {
    let report_location = diagnostic.location.as_ref().map(|location| resolver.resolve(location));
    let known = report_location
        .and_then(|report_location| Some((checkout.relative(report_location.file)?, report_location.range)));
    let start = Range { line: 1, column: 1, end_line: 1, end_column: 1 };
    let (path, range) = known.unwrap_or_else(|| (".".to_owned(), start));
    let begin = IssuePosition { line: range.line, column: range.column };
    let end = IssuePosition { line: range.end_line, column: range.end_column };
    IssueLocation { path, positions: IssuePositions { begin, end } }
}
