//! Findings as JSON, one object per finding, in a versioned envelope.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::location::{LocationResolver, Range, ReportLocation};
use crate::source::SourceSet;
use crate::{Diagnostic, ObjectRef, Severity, count_not_judged};
use kubefoundry_yaml::edit::TextEdit;
use kubefoundry_yaml::infallible::{to_json, to_pretty_json};
use kubefoundry_yaml::secret::{has_secret, mask_object};
use kubefoundry_yaml::text::{break_json_commands, printable_json};

/// The envelope. `version` changes when a field changes its meaning or is removed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonReport<'a> {
    version: u32,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    crds: &'a [CheckedSchema],
    #[serde(skip_serializing_if = "is_zero")]
    not_judged: usize,
    diagnostics: Vec<JsonDiagnostic<'a>>,
}

/// A CRD schema of a cluster that objects were checked against.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckedSchema {
    /// `group/version`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// A hash of the schema's content, independent of its file.
    pub fingerprint: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonDiagnostic<'a> {
    code: &'static str,
    name: &'static str,
    severity: Severity,
    message: &'a str,
    #[serde(flatten)]
    location: Option<ReportLocation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'a ObjectRef>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<JsonRelated<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<JsonFix<'a>>,
}

#[derive(Debug, Serialize)]
struct JsonRelated<'a> {
    message: &'a str,
    #[serde(flatten)]
    location: ReportLocation<'a>,
}

#[derive(Debug, Serialize)]
struct JsonFix<'a> {
    title: &'a str,
    edits: Vec<JsonEdit<'a>>,
}

#[derive(Debug, Serialize)]
struct JsonEdit<'a> {
    #[serde(flatten)]
    range: Range,
    replacement: &'a str,
}

/// Renders all findings as one JSON document: `{"version": 1, "diagnostics": [{code, name, severity, message, file,
/// document, path, line, column, endLine, endColumn, object, related, help, fix}]}`. Lines and columns count from 1.
///
/// With `--crds`, `crds` lists the schemas that objects were checked against. `notJudged` counts the findings that say that a
/// part of the input was not judged.
pub fn json(diagnostics: &[Diagnostic], sources: &SourceSet, crds: &[CheckedSchema]) -> String {
    json_of_reported(diagnostics, sources, crds, count_not_judged(diagnostics))
}

/// Like [`json`], for the findings of a run that are reported. `not_judged` counts those that are not, too.
pub fn json_of_reported(
    diagnostics: &[Diagnostic],
    sources: &SourceSet,
    crds: &[CheckedSchema],
    not_judged: usize,
) -> String {
    let resolver = LocationResolver::new(diagnostics, sources);
    let diagnostics = diagnostics.iter().map(|diagnostic| to_json_diagnostic(diagnostic, &resolver)).collect();
    to_report(&JsonReport { version: 1, crds, not_judged, diagnostics })
}

/// Returns the findings as in [`json`], for a report that has them among other values.
pub fn json_findings(diagnostics: &[Diagnostic], sources: &SourceSet) -> Vec<Value> {
    let resolver = LocationResolver::new(diagnostics, sources);
    let findings: Vec<JsonDiagnostic<'_>> =
        diagnostics.iter().map(|diagnostic| to_json_diagnostic(diagnostic, &resolver)).collect();
    let mut values: Vec<Value> = findings.iter().map(to_json).collect();
    let not_judged = count_not_judged(diagnostics);
    if has_secret(&to_object_report(&JsonReport { version: 1, crds: &[], not_judged, diagnostics: findings })) {
        values.iter_mut().for_each(mask_object);
    }
    values
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Returns a report as indented JSON, in which no text can reach a terminal or a CI runner as anything else than text.
/// Its secrets are masked.
pub fn to_report(report: &impl Serialize) -> String {
    let text = to_object_report(report);
    if !has_secret(&text) {
        return text;
    }
    // Masks are put into the values, because one in the text could cross their borders.
    let mut value = to_json(report);
    mask_object(&mut value);
    to_object_report(&value)
}

/// Like [`to_report`], for a report with objects that are used as they are written: their secrets stay.
pub fn to_object_report(report: &impl Serialize) -> String {
    let mut text = printable_json(to_pretty_json(report));
    text.push('\n');
    match break_json_commands(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(broken) => broken,
    }
}

fn to_json_diagnostic<'a>(diagnostic: &'a Diagnostic, resolver: &'a LocationResolver<'_>) -> JsonDiagnostic<'a> {
    let fix = resolver.shown_fix(diagnostic).map(|(fix, location)| {
        let edit = |edit: &'a TextEdit| JsonEdit {
            range: resolver.range(location.source, edit.range),
            replacement: &edit.replacement,
        };
        JsonFix { title: &fix.title, edits: fix.edits.iter().map(edit).collect() }
    });
    let related = diagnostic.related.iter();
    JsonDiagnostic {
        code: diagnostic.code.id,
        name: diagnostic.code.name,
        severity: diagnostic.severity,
        message: &diagnostic.message,
        location: diagnostic.location.as_ref().map(|location| resolver.resolve(location)),
        object: diagnostic.object.as_ref(),
        related: related
            .map(|related| JsonRelated { message: &related.message, location: resolver.resolve(&related.location) })
            .collect(),
        help: diagnostic.help.as_deref(),
        fix,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Only values are masked: what stands next to a name in the text may be a key, or part of another value.
    #[test]
    fn masked_reports_have_the_same_structure() {
        let report = |argument: &str, password: Value| {
            json!({
                "message": "it does not accept the flag --api-key",
                "file": "m.yaml",
                "api-key:": 10000,
                "say \"--hf-token\"": {"--hf-token": argument},
                "args": ["--api-key", argument],
                "password": password,
            })
        };
        let written = to_report(&report("abcdef", 20_241_131.into()));
        let expected = report("****", "****".into());
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), expected, "{written}");
    }
}
