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

/// What `kubefoundry lint --output json` prints, and every command with `--diagnostics json`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JsonReport<'a> {
    version: ReportVersion,
    /// With `--crds`: the schemas against which objects were checked.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    crds: &'a [CheckedSchema],
    /// How many parts of the input were not judged; absent if everything was. `--min-severity` does not hide them.
    #[serde(skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    not_judged: usize,
    /// Every finding, by file, line and code.
    diagnostics: Vec<JsonDiagnostic<'a>>,
}

/// A schema of a CRD that objects were checked against.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CheckedSchema {
    /// `group/version`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// A hash of the schema, independent of the file that it was read from.
    pub fingerprint: String,
}

/// A finding. It has no place if it is about flags or the input as a whole.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("dependencies" = {"file": PLACE})))]
#[serde(rename_all = "camelCase")]
pub struct JsonDiagnostic<'a> {
    /// The diagnostic code; its page is `docs/codes/<code>.md`.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^KF[0-9]{4}$")))]
    code: &'static str,
    /// The name of the code, such as `unknown-field`.
    name: &'static str,
    /// The severity; an error prevents all output.
    severity: Severity,
    /// The problem, in one line.
    message: &'a str,
    #[serde(flatten)]
    location: Option<ReportLocation<'a>>,
    /// The object that the finding is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'a ObjectRef>,
    /// Other places that help to understand the finding.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<JsonRelated<'a>>,
    /// How to resolve the finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
    /// A change that `lint --fix` applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<JsonFix<'a>>,
}

/// Another place that helps to understand the finding.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct JsonRelated<'a> {
    /// What the place shows.
    message: &'a str,
    #[serde(flatten)]
    location: ReportLocation<'a>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct JsonFix<'a> {
    /// What the fix does.
    title: &'a str,
    /// The edits; they do not overlap.
    edits: Vec<JsonEdit<'a>>,
}

/// A replacement in the file of the finding.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct JsonEdit<'a> {
    #[serde(flatten)]
    range: Range,
    /// The text that replaces the range.
    replacement: &'a str,
}

/// The fields of a place, of which a finding has all or none.
#[cfg(feature = "schema")]
const PLACE: [&str; 7] = ["file", "document", "path", "line", "column", "endLine", "endColumn"];

/// Findings as they are in every JSON report.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "Vec<JsonDiagnostic<'_>>"))]
#[serde(transparent)]
pub struct JsonFindings(pub Vec<Value>);

/// The version of the report. It changes when a field changes its meaning or is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "u32", extend("const" = Self::NUMBER)))]
pub struct ReportVersion;

impl ReportVersion {
    const NUMBER: u32 = 1;
}

impl Serialize for ReportVersion {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(Self::NUMBER)
    }
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
    to_report(&JsonReport { version: ReportVersion, crds, not_judged, diagnostics })
}

/// Returns the findings as in [`json`], for a report that has them among other values.
pub fn json_findings(diagnostics: &[Diagnostic], sources: &SourceSet) -> JsonFindings {
    let resolver = LocationResolver::new(diagnostics, sources);
    let findings: Vec<JsonDiagnostic<'_>> =
        diagnostics.iter().map(|diagnostic| to_json_diagnostic(diagnostic, &resolver)).collect();
    let mut values: Vec<Value> = findings.iter().map(to_json).collect();
    let not_judged = count_not_judged(diagnostics);
    if has_secret(&to_object_report(&JsonReport {
        version: ReportVersion,
        crds: &[],
        not_judged,
        diagnostics: findings,
    })) {
        values.iter_mut().for_each(mask_object);
    }
    JsonFindings(values)
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
    use serde_json::json;

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
