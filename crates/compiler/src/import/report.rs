//! Reports the differences between imported objects and their rendering.

use serde_json::Value;

use super::Residue;
use super::compare::{FieldDifference, differences};
use super::input::ParsedObject;
use crate::codes::import as codes;
use kubefoundry_diagnostics::Findings;
use kubefoundry_model::draft::{Draft, string_at};
use kubefoundry_yaml::field_path::FieldPath;

/// Compares an imported object and its parts with the rendered objects, and reports the differences.
pub(super) fn report_residue(
    object: &ParsedObject<'_>,
    parts: &[&ParsedObject<'_>],
    rendered: &[Value],
    draft: &Draft,
    findings: &mut Findings<'_>,
) -> Vec<Residue> {
    let mut unmatched: Vec<&Value> = rendered.iter().collect();
    let mut residue = Vec::new();
    for imported in std::iter::once(object).chain(parts.iter().copied()) {
        let kind = string_at(&imported.value, "/kind");
        let has_kind = |other: &&Value| string_at(other, "/kind") == kind;
        let has_kind_and_name = |other: &&Value| {
            has_kind(other) && string_at(other, "/metadata/name") == string_at(&imported.value, "/metadata/name")
        };
        // A rendering may name an object differently; then the only hint is the kind.
        let position = unmatched.iter().position(has_kind_and_name).or_else(|| unmatched.iter().position(has_kind));
        let differences = if let Some(position) = position {
            differences(&imported.value, unmatched.remove(position), &draft.renames)
        } else {
            let (path, value) = (FieldPath::root(), Some(imported.value.clone()));
            vec![FieldDifference { path, original: value, rendered: None }]
        };
        for difference in differences {
            report_difference(imported, &difference, findings);
            let FieldDifference { path, original, rendered } = difference;
            let object = imported.reference();
            residue.push(Residue { object, path: path.to_string(), given: original, rendered });
        }
    }
    for other in unmatched {
        let difference = FieldDifference { path: FieldPath::root(), original: None, rendered: Some(other.clone()) };
        report_difference(object, &difference, findings);
        let rendered = difference.rendered;
        residue.push(Residue { object: object.reference(), path: String::new(), given: None, rendered });
    }
    residue
}

/// Reports one difference at the field of the imported object.
fn report_difference(object: &ParsedObject<'_>, difference: &FieldDifference, findings: &mut Findings<'_>) {
    let FieldDifference { path, original, rendered } = difference;
    let at = object.document_path(path);
    let show = |value: &Value| kubefoundry_yaml::text::shorten(&value.to_string());
    // `findings` locates everything in the source of the main object, but a part may come from another source.
    let add_finding = |findings: &mut Findings<'_>, code, message: String, help: &'static str| {
        let mut part_findings = Findings::new(object.scope());
        part_findings.report(code, &at, message).help(help);
        part_findings.into_diagnostics().into_iter().for_each(|finding| findings.add(finding));
    };
    let kind_and_name = |value: &Value| {
        format!(
            "{} {}",
            string_at(value, "/kind").unwrap_or("object"),
            string_at(value, "/metadata/name").unwrap_or_default()
        )
    };
    match (original, rendered) {
        (Some(original), Some(rendered)) => {
            let message = format!("{path} is {}, but the import renders {}", show(original), show(rendered));
            add_finding(findings, &codes::IMPORT_CHANGES, message, CHANGE);
        }
        (Some(original), None) if path.segments().is_empty() => {
            let message = format!("the import does not render {}", kind_and_name(original));
            add_finding(findings, &codes::NOT_IMPORTED, message, KEEP);
        }
        (Some(original), None) => {
            let message = format!("{path} is {}, which cannot be expressed in the ModelDeployment", show(original));
            add_finding(findings, &codes::NOT_IMPORTED, message, KEEP);
        }
        (None, Some(rendered)) if path.segments().is_empty() => {
            let message = format!("the import also renders {}", kind_and_name(rendered));
            add_finding(findings, &codes::IMPORT_ADDS, message, ADD);
        }
        (None, rendered) => {
            let rendered = rendered.as_ref().map(show).unwrap_or_default();
            add_finding(findings, &codes::IMPORT_ADDS, format!("the import also renders {path}: {rendered}"), ADD);
        }
    }
}

pub(super) const KEEP: &str = "if you need it, patch the rendered object, for example with kustomize";
const CHANGE: &str = "check that the rendered value is acceptable, or patch the rendered object";
const ADD: &str = "check that it does no harm, or patch the rendered object";
