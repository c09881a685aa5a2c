//! Findings as SARIF 2.1.0, the input of GitHub's code scanning.
//!
//! Sources: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", and "SARIF support for code
//! scanning" in GitHub's documentation.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::checkout::{Checkout, uri};
use super::github::message_with_help;
use super::json::to_report;
use super::location::{LocationResolver, Range};
use super::stable_id::stable_ids;
use crate::source::SourceSet;
use crate::{Code, Diagnostic, Location, Severity};
use kubefoundry_yaml::edit::TextEdit;

/// The `uriBaseId` of the repository checkout.
const ROOT: &str = "%SRCROOT%";

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Value,
    locations: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Value>,
    partial_fingerprints: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressions: Vec<Value>,
}

/// Renders all findings as one SARIF log with one run. File names are relative to the root of `checkout`. Columns count
/// Unicode code points, as in every other report. `suppressed` findings are included and marked as suppressed in the
/// source. The properties of the run have the number of parts of the input that were not judged. `page` returns the
/// Markdown page of a code.
///
/// Fingerprints are hashes of code, file, object, field and message, so they do not change when lines move.
pub fn sarif(
    diagnostics: &[Diagnostic],
    suppressed: &[Diagnostic],
    sources: &SourceSet,
    checkout: &Checkout,
    not_judged: usize,
    page: impl Fn(&Code) -> Option<&'static str>,
) -> String {
    let all: Vec<Diagnostic> = diagnostics.iter().chain(suppressed).cloned().collect();
    let log = ResultBuilder { resolver: LocationResolver::new(&all, sources), checkout };
    let rules: BTreeMap<&str, &Code> = all.iter().map(|diagnostic| (diagnostic.code.id, diagnostic.code)).collect();
    let ids = stable_ids(&all, sources, checkout);
    let rule_index = |code: &Code| rules.range(..code.id).count();
    let results: Vec<SarifResult> = all
        .iter()
        .zip(ids)
        .enumerate()
        .map(|(position, (diagnostic, id))| SarifResult {
            suppressions: if position < diagnostics.len() { Vec::new() } else { vec![json!({"kind": "inSource"})] },
            partial_fingerprints: json!({"kubefoundry/v1": id}),
            ..log.build_result(diagnostic, rule_index(diagnostic.code))
        })
        .collect();
    let driver = json!({
        "name": "kubefoundry",
        "version": env!("CARGO_PKG_VERSION"),
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": rules.values().map(|code| reporting_descriptor(code, page(code))).collect::<Vec<_>>(),
    });
    let run = json!({
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "properties": {"notJudged": not_judged},
        "results": results,
    });
    let report = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    });
    to_report(&report)
}

fn reporting_descriptor(code: &Code, page: Option<&str>) -> Value {
    let mut help = json!({"text": format!("Run `kubefoundry explain {}` for the page with examples.", code.id)});
    if let (Some(page), Some(help)) = (page, help.as_object_mut()) {
        help.insert("markdown".to_owned(), Value::from(strip_relative_links(page)));
    }
    json!({
        "id": code.id,
        "name": code.name,
        "shortDescription": {"text": to_sentence(code.summary)},
        "help": help,
        "defaultConfiguration": {"level": sarif_level(code.severity)},
    })
}

/// Replaces relative links with their text, because the pages that they lead to do not exist where the report is shown.
fn strip_relative_links(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    let mut rest = page;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        let link = after.split_once("](").and_then(|(words, destination)| Some((words, destination.split_once(')')?)));
        match link {
            Some((words, (destination, after_link)))
                if !destination.is_empty()
                    && !words.contains(['[', '\n'])
                    && !destination.contains([' ', '\n', ':']) =>
            {
                out.push_str(words);
                rest = after_link;
            }
            _ => {
                out.push('[');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Turns `a missing field` into `A missing field.`
fn to_sentence(summary: &str) -> String {
    let mut chars = summary.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), chars.as_str()))
}

fn sarif_level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// Builds SARIF results from findings.
struct ResultBuilder<'s> {
    resolver: LocationResolver<'s>,
    checkout: &'s Checkout,
}

impl ResultBuilder<'_> {
    fn build_result(&self, diagnostic: &Diagnostic, rule_index: usize) -> SarifResult {
        let logical = diagnostic.object.as_ref().map(|object| {
            let path = diagnostic.location.as_ref().map(|location| location.path.to_string()).unwrap_or_default();
            let name = format!("{object} {path}");
            json!({"fullyQualifiedName": name.trim_end(), "kind": "member"})
        });
        let mut sarif_location =
            diagnostic.location.as_ref().map_or_else(|| json!({}), |location| self.build_location(location));
        if let (Some(logical), Some(fields)) = (logical, sarif_location.as_object_mut()) {
            fields.insert("logicalLocations".to_owned(), json!([logical]));
        }
        let is_empty = sarif_location.as_object().is_none_or(serde_json::Map::is_empty);
        let related = diagnostic.related.iter().enumerate().map(|(id, related)| {
            let mut sarif_location = self.build_location(&related.location);
            if let Some(fields) = sarif_location.as_object_mut() {
                fields.insert("id".to_owned(), json!(id + 1));
                fields.insert("message".to_owned(), json!({"text": related.message}));
            }
            sarif_location
        });
        SarifResult {
            rule_id: diagnostic.code.id,
            rule_index,
            level: sarif_level(diagnostic.severity),
            message: json!({"text": message_with_help(diagnostic)}),
            locations: if is_empty { Vec::new() } else { vec![sarif_location] },
            related_locations: related.collect(),
            partial_fingerprints: Value::Null,
            fixes: self.build_fix(diagnostic).into_iter().collect(),
            suppressions: Vec::new(),
        }
    }

    fn build_location(&self, location: &Location) -> Value {
        let report_location = self.resolver.resolve(location);
        match self.artifact_location(report_location.file) {
            Some(artifact) => {
                json!({"physicalLocation": {"artifactLocation": artifact, "region": region(report_location.range)}})
            }
            None => json!({}),
        }
    }

    /// Returns the artifact location of a file. Only a relative name is inside the repository.
    fn artifact_location(&self, name: &str) -> Option<Value> {
        let name = self.checkout.relative(name)?;
        let address = uri(&name);
        Some(if name.starts_with('/') { json!({"uri": address}) } else { json!({"uri": address, "uriBaseId": ROOT}) })
    }

    fn build_fix(&self, diagnostic: &Diagnostic) -> Option<Value> {
        let (fix, location) = self.resolver.shown_fix(diagnostic)?;
        let artifact = self.artifact_location(self.resolver.resolve(location).file)?;
        let replacement = |edit: &TextEdit| {
            let deleted = region(self.resolver.range(location.source, edit.range));
            json!({"deletedRegion": deleted, "insertedContent": {"text": edit.replacement}})
        };
        let replacements: Vec<Value> = fix.edits.iter().map(replacement).collect();
        Some(json!({
            "description": {"text": fix.title},
            "artifactChanges": [{"artifactLocation": artifact, "replacements": replacements}],
        }))
    }
}

fn region(range: Range) -> Value {
    let Range { line, column, end_line, end_column } = range;
    json!({"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column})
}

#[cfg(test)]
mod tests {
    use super::strip_relative_links;

    #[test]
    fn strips_only_relative_links() {
        let page = "[KF0112](KF0112.md), [limits](../limits.md); [a](https://e.org/x.md) [b, [c] `[d](` (e.md) [f]()";
        let expected = "KF0112, limits; [a](https://e.org/x.md) [b, [c] `[d](` (e.md) [f]()";
        assert_eq!(strip_relative_links(page), expected);
    }
}
