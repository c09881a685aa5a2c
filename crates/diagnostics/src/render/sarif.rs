//! Findings as SARIF 2.1.0, which code scanning reads.
//!
//! Source of the form: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", and GitHub's "SARIF
//! support for code scanning".

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::checkout::{Checkout, uri};
use super::github::message_with_help;
use super::location::{LocationResolver, Range};
use super::stable_id::stable_ids;
use crate::source::SourceSet;
use crate::{Code, Diagnostic, Location, Severity};
use kubefoundry_yaml::edit::TextEdit;

/// What file names are relative to: the place where the repository is checked out.
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

/// All findings as one SARIF log with one run. File names count from the root of `checkout`. Columns count Unicode code
/// points, as in every other report. `suppressed` findings are in the log, and marked as suppressed in the source.
/// `page` has the page of a code, as Markdown.
///
/// Fingerprints are made of code, file, object, field and message, and hold while lines move.
pub fn sarif(
    diagnostics: &[Diagnostic],
    suppressed: &[Diagnostic],
    sources: &SourceSet,
    checkout: &Checkout,
    page: impl Fn(&Code) -> Option<&'static str>,
) -> String {
    let all: Vec<Diagnostic> = diagnostics.iter().chain(suppressed).cloned().collect();
    let log = ResultBuilder { places: LocationResolver::new(&all, sources), checkout };
    let rules: BTreeMap<&str, &Code> = all.iter().map(|found| (found.code.id, found.code)).collect();
    let index_of = |code: &Code| rules.keys().position(|id| *id == code.id).unwrap_or_default();
    let ids = stable_ids(&all, sources, checkout);
    let results: Vec<SarifResult> = all
        .iter()
        .zip(ids)
        .enumerate()
        .map(|(position, (found, id))| SarifResult {
            suppressions: if position < diagnostics.len() { Vec::new() } else { vec![json!({"kind": "inSource"})] },
            partial_fingerprints: json!({"kubefoundry/v1": id}),
            ..log.build_result(found, index_of(found.code))
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
        "results": results,
    });
    let report = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    });
    let mut text = serde_json::to_string_pretty(&report).unwrap_or_default();
    text.push('\n');
    text
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

/// A page with the words of its links in place of those that lead to its neighbours, which are not where it is shown.
fn strip_relative_links(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    let mut rest = page;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        let link = after.split_once("](").and_then(|(words, target)| Some((words, target.split_once(')')?)));
        match link {
            Some((words, (target, behind)))
                if !target.is_empty() && !words.contains(['[', '\n']) && !target.contains([' ', '\n', ':']) =>
            {
                out.push_str(words);
                rest = behind;
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

/// `a missing field` as a sentence.
fn to_sentence(summary: &str) -> String {
    let mut chars = summary.chars();
    chars.next().map(|first| format!("{}{}.", first.to_uppercase(), chars.as_str())).unwrap_or_default()
}

fn sarif_level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// What turns findings into results.
struct ResultBuilder<'s> {
    places: LocationResolver<'s>,
    checkout: &'s Checkout,
}

impl ResultBuilder<'_> {
    fn build_result(&self, found: &Diagnostic, rule_index: usize) -> SarifResult {
        let logical = found.object.as_ref().map(|object| {
            let path = found.location.as_ref().map(|location| location.path.to_string()).unwrap_or_default();
            let name = format!("{object} {path}");
            json!({"fullyQualifiedName": name.trim_end(), "kind": "member"})
        });
        let mut place = found.location.as_ref().map_or_else(|| json!({}), |location| self.build_location(location));
        if let (Some(logical), Some(place)) = (logical, place.as_object_mut()) {
            place.insert("logicalLocations".to_owned(), json!([logical]));
        }
        let empty = place.as_object().is_none_or(serde_json::Map::is_empty);
        let related = found.related.iter().enumerate().map(|(id, related)| {
            let mut place = self.build_location(&related.location);
            if let Some(place) = place.as_object_mut() {
                place.insert("id".to_owned(), json!(id + 1));
                place.insert("message".to_owned(), json!({"text": related.message}));
            }
            place
        });
        SarifResult {
            rule_id: found.code.id,
            rule_index,
            level: sarif_level(found.severity),
            message: json!({"text": message_with_help(found)}),
            locations: if empty { Vec::new() } else { vec![place] },
            related_locations: related.collect(),
            partial_fingerprints: Value::Null,
            fixes: self.build_fix(found).into_iter().collect(),
            suppressions: Vec::new(),
        }
    }

    fn build_location(&self, location: &Location) -> Value {
        let place = self.places.resolve(location);
        match self.artifact_location(place.file) {
            Some(artifact) => {
                json!({"physicalLocation": {"artifactLocation": artifact, "region": region(place.range)}})
            }
            None => json!({}),
        }
    }

    /// A file; only a relative name is one of the repository.
    fn artifact_location(&self, name: &str) -> Option<Value> {
        let name = self.checkout.relative(name)?;
        let address = uri(&name);
        Some(if name.starts_with('/') { json!({"uri": address}) } else { json!({"uri": address, "uriBaseId": ROOT}) })
    }

    fn build_fix(&self, found: &Diagnostic) -> Option<Value> {
        let (fix, location) = (found.fix.as_ref()?, found.location.as_ref()?);
        let artifact = self.artifact_location(self.places.resolve(location).file)?;
        let replacement = |edit: &TextEdit| {
            let deleted = region(self.places.range(location.source, edit.range));
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
        let page = "[KF0101](KF0101.md), [limits](../limits.md); [a](https://e.org/x.md) [b, [c] `[d](` (e.md) [f]()";
        let expected = "KF0101, limits; [a](https://e.org/x.md) [b, [c] `[d](` (e.md) [f]()";
        assert_eq!(strip_relative_links(page), expected);
    }
}
