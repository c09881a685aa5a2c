//! Reports the differences between imported objects and their rendering.

use serde_json::Value;

use super::Residue;
use super::compare::{FieldDifference, differences};
use super::input::ParsedObject;
use crate::codes::import as codes;
use kubefoundry_diagnostics::Findings;
use kubefoundry_model::draft::{Draft, string_at};
use kubefoundry_yaml::field_path::FieldPath;

/// Compares imported with rendered objects, one by one, and reports the differences.
pub(super) fn report_residue(
    object: &ParsedObject<'_>,
    parts: &[&ParsedObject<'_>],
    rendered: &[Value],
    draft: &Draft,
    findings: &mut Findings<'_>,
) -> Vec<Residue> {
    let mut left: Vec<&Value> = rendered.iter().collect();
    let mut residue = Vec::new();
    let given = std::iter::once(object).chain(parts.iter().copied());
    for given in given {
        let kind = string_at(&given.value, "/kind");
        let same = |other: &&Value| string_at(other, "/kind") == kind;
        let exact = |other: &&Value| {
            same(other) && string_at(other, "/metadata/name") == string_at(&given.value, "/metadata/name")
        };
        let position = left.iter().position(exact).or_else(|| left.iter().position(same));
        let found = if let Some(position) = position {
            differences(&given.value, left.remove(position), &draft.renames)
        } else {
            let (path, value) = (FieldPath::root(), Some(given.value.clone()));
            vec![FieldDifference { path, given: value, rendered: None }]
        };
        for difference in found {
            report(given, &difference, findings);
            let FieldDifference { path, given: was, rendered } = difference;
            residue.push(Residue { object: given.reference(), path: path.to_string(), given: was, rendered });
        }
    }
    for other in left {
        let difference = FieldDifference { path: FieldPath::root(), given: None, rendered: Some(other.clone()) };
        report(object, &difference, findings);
        let rendered = difference.rendered;
        residue.push(Residue { object: object.reference(), path: String::new(), given: None, rendered });
    }
    residue
}

fn report(object: &ParsedObject<'_>, difference: &FieldDifference, findings: &mut Findings<'_>) {
    let FieldDifference { path, given, rendered } = difference;
    let at = object.place(path);
    let show = |value: &Value| kubefoundry_yaml::text::shorten(&value.to_string());
    // The scope covers one source, so a place in another one is left out.
    let findings_of = |findings: &mut Findings<'_>, code, message: String, help: &'static str| {
        let scope = object.scope();
        let mut own = Findings::new(scope);
        own.report(code, &at, message).help(help);
        own.into_diagnostics().into_iter().for_each(|found| findings.add(found));
    };
    let kind = |value: &Value| {
        format!(
            "{} {}",
            string_at(value, "/kind").unwrap_or("object"),
            string_at(value, "/metadata/name").unwrap_or_default()
        )
    };
    match (given, rendered) {
        (Some(given), Some(rendered)) => {
            let message = format!("{path} is {}, but the import renders {}", show(given), show(rendered));
            findings_of(findings, &codes::IMPORT_CHANGES, message, CHANGE);
        }
        (Some(given), None) if path.segments().is_empty() => {
            let message = format!("the import does not render {}", kind(given));
            findings_of(findings, &codes::NOT_IMPORTED, message, KEEP);
        }
        (Some(given), None) => {
            let message = format!("{path} is {}, which cannot be expressed in the ModelDeployment", show(given));
            findings_of(findings, &codes::NOT_IMPORTED, message, KEEP);
        }
        (None, Some(rendered)) if path.segments().is_empty() => {
            let message = format!("the import also renders {}", kind(rendered));
            findings_of(findings, &codes::IMPORT_ADDS, message, ADD);
        }
        (None, rendered) => {
            let rendered = rendered.as_ref().map(show).unwrap_or_default();
            findings_of(findings, &codes::IMPORT_ADDS, format!("the import also renders {path}: {rendered}"), ADD);
        }
    }
}

pub(super) const KEEP: &str = "if you need it, patch the rendered object, for example with kustomize";
const CHANGE: &str = "check that the rendered value is acceptable, or patch the rendered object";
const ADD: &str = "check that it does no harm, or patch the rendered object";
