//! Reports the differences between imported objects and their rendering.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Residue;
use super::compare::{FieldDifference, differences};
use super::input::ParsedObject;
use kubefoundry_compiler::codes::import as codes;
use kubefoundry_diagnostics::Findings;
use kubefoundry_model::gateway;
use kubefoundry_provider::draft::{Equivalents, string_at};
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// A part of a ModelDeployment that an import leaves out because the ModelDeployment would be refused.
pub(super) struct Omission {
    /// The part.
    pub(super) path: FieldPath,
    /// The error that it would cause.
    pub(super) reason: String,
}

impl Omission {
    /// Returns whether the part is the flag that an argument sets.
    fn is_argument(&self, argument: &str) -> bool {
        let Some(Segment::Key(flag)) = self.path.segments().last() else { return false };
        let Some(argument) = argument.strip_prefix("--") else { return false };
        let name = argument.split(['=', ' ']).next().unwrap_or(argument);
        name.replace('_', "-") == flag.replace('_', "-")
    }
}

/// Compares an imported object and its parts with the rendered objects, and reports the differences.
pub(super) struct ResidueReport<'r> {
    pub(super) equivalents: &'r Equivalents,
    pub(super) omissions: &'r [Omission],
    /// The positions of the omissions that are the reason of a reported difference.
    pub(super) explained: BTreeSet<usize>,
}

impl ResidueReport<'_> {
    /// Returns the omissions that no reported difference has as its reason.
    pub(super) fn unexplained(&self) -> impl Iterator<Item = &Omission> {
        self.omissions.iter().enumerate().filter(|(index, _)| !self.explained.contains(index)).map(|(_, it)| it)
    }

    /// Reports and returns the differences.
    pub(super) fn run(
        &mut self,
        object: &ParsedObject<'_>,
        parts: &[&ParsedObject<'_>],
        rendered: &[Value],
        findings: &mut Findings<'_>,
    ) -> Vec<Residue> {
        let mut residue = Vec::new();
        let all: Vec<&ParsedObject<'_>> = std::iter::once(object).chain(parts.iter().copied()).collect();
        let (matched, unmatched) = match_objects(all.iter().map(|imported| &imported.value), rendered);
        for (imported, matched) in all.into_iter().zip(matched) {
            let differences = if let Some(rendered) = matched {
                differences(object.composition, &imported.value, rendered, self.equivalents)
            } else {
                let (path, value) = (FieldPath::root(), Some(imported.value.clone()));
                vec![FieldDifference { path, original: value, rendered: None }]
            };
            for difference in differences {
                let reason = self.explain(&difference);
                report_difference(imported, &difference, reason, findings);
                let FieldDifference { path, original, rendered } = difference;
                let object = imported.reference();
                residue.push(Residue { object, path: path.to_string(), given: original, rendered });
            }
        }
        for other in unmatched {
            // A Service for an object that has none changes nothing about the object.
            if string_at(other, "/kind") == Some("Service") {
                let message = format!("rendering the import adds Service {}", name_of(other));
                findings.report(&codes::IMPORT_ADDS_OBJECT, &object.base, message).help(USE_SERVICE);
                continue;
            }
            let difference = FieldDifference { path: FieldPath::root(), original: None, rendered: Some(other.clone()) };
            report_difference(object, &difference, None, findings);
            let rendered = difference.rendered;
            residue.push(Residue { object: object.reference(), path: String::new(), given: None, rendered });
        }
        residue
    }

    /// Returns the reason of a difference: the omission of the flag that an argument of the object sets.
    fn explain(&mut self, difference: &FieldDifference) -> Option<&str> {
        let argument = difference.original.as_ref().filter(|_| difference.rendered.is_none())?.as_str()?;
        let position = self.omissions.iter().position(|omission| omission.is_argument(argument))?;
        self.explained.insert(position);
        self.omissions.get(position).map(|omission| omission.reason.as_str())
    }
}

/// Returns the rendered object for each imported one, and the rendered ones that are for none.
pub(super) fn match_objects<'v, 'r>(
    imported: impl Iterator<Item = &'v Value>,
    rendered: &'r [Value],
) -> (Vec<Option<&'r Value>>, Vec<&'r Value>) {
    let mut unmatched: Vec<&Value> = rendered.iter().collect();
    let mut matched = Vec::new();
    for object in imported {
        let has_kind = |other: &&Value| string_at(other, "/kind") == string_at(object, "/kind");
        let has_kind_and_name = |other: &&Value| {
            has_kind(other) && string_at(other, "/metadata/name") == string_at(object, "/metadata/name")
        };
        // A rendering may name an object differently; then the only hint is the kind.
        let position = unmatched.iter().position(has_kind_and_name).or_else(|| unmatched.iter().position(has_kind));
        matched.push(position.map(|position| unmatched.remove(position)));
    }
    (matched, unmatched)
}

/// Reports one difference at the field of the imported object.
fn report_difference(
    object: &ParsedObject<'_>,
    difference: &FieldDifference,
    reason: Option<&str>,
    findings: &mut Findings<'_>,
) {
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
            let message = format!("{path} is {}, but rendering the import gives {}", show(original), show(rendered));
            add_finding(findings, &codes::IMPORT_CHANGES, message, CHANGE);
        }
        (Some(original), None) if path.segments().is_empty() => {
            let message = format!("the import does not render {}", kind_and_name(original));
            let kind = string_at(original, "/kind");
            let is_route = gateway::KINDS.iter().any(|known| Some(known.kind) == kind);
            add_finding(findings, &codes::NOT_IMPORTED, message, if is_route { KEEP_ROUTE } else { KEEP });
        }
        (Some(original), None) => {
            let message = match reason {
                Some(reason) => format!("{path} is {}, which is not imported: {reason}", show(original)),
                None => format!("{path} is {}, which cannot be expressed in the ModelDeployment", show(original)),
            };
            add_finding(findings, &codes::NOT_IMPORTED, message, KEEP);
        }
        (None, Some(rendered)) if path.segments().is_empty() => {
            let message = format!("rendering the import adds {}", kind_and_name(rendered));
            add_finding(findings, &codes::IMPORT_ADDS, message, ADD);
        }
        (None, rendered) => {
            let rendered = rendered.as_ref().map(show).unwrap_or_default();
            add_finding(findings, &codes::IMPORT_ADDS, format!("rendering the import adds {path}: {rendered}"), ADD);
        }
    }
}

fn name_of(object: &Value) -> &str {
    string_at(object, "/metadata/name").unwrap_or_default()
}

const USE_SERVICE: &str = "clients can use it beside the Services that they use now";
pub(super) const KEEP: &str = "if you need it, patch the rendered object, for example with kustomize";
/// A route is not part of the provider's object, so it can stay as it is.
const KEEP_ROUTE: &str = "keep it beside the rendered objects, or replace it by spec.gateway";
const CHANGE: &str = "check that the rendered value is acceptable, or patch the rendered object";
const ADD: &str = "check that it does no harm, or patch the rendered object";
