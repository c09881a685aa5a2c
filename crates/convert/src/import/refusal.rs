//! Why an object is not imported.

use super::input::ParsedObject;
use super::multi_role;
use kubefoundry_compiler::codes::import as codes;
use kubefoundry_diagnostics::{Diagnostic, Findings, ObjectRef};

/// Comes between an object and the reason in the message of an error.
pub(super) const CANNOT_BE_IMPORTED: &str = " cannot be imported: ";

/// The reason why a draft does not become a deployment.
pub(super) enum Refusal {
    /// The deployment would have these errors.
    Invalid(Vec<Diagnostic>),
    /// The end of the sentence `<object> cannot be imported: `.
    Reason(String),
}

impl Refusal {
    /// Reports why an object cannot be imported.
    pub(super) fn report(&self, object: &ParsedObject<'_>, reference: &ObjectRef, findings: &mut Findings<'_>) {
        match self {
            Self::Invalid(errors) => report_refusal(object, reference, errors, findings),
            Self::Reason(why) => report_not_importable(object, reference, why, findings),
        }
    }
}

/// Reports why no ModelDeployment can express an object.
pub(super) fn report_not_importable(
    object: &ParsedObject<'_>,
    reference: &ObjectRef,
    why: &str,
    findings: &mut Findings<'_>,
) {
    let message = format!("{} {}{CANNOT_BE_IMPORTED}{why}", reference.kind, reference.name);
    let finding = findings.report(&codes::NOT_IMPORTABLE, &object.base, message);
    if reference.kind.as_ref() == multi_role::KIND {
        finding.help("`kubefoundry import --to dynamo` imports its model for Dynamo");
    }
}

/// Reports why the imported deployment cannot be rendered.
pub(super) fn report_refusal(
    object: &ParsedObject<'_>,
    reference: &ObjectRef,
    errors: &[Diagnostic],
    findings: &mut Findings<'_>,
) {
    let reasons: Vec<String> = errors.iter().map(|error| format!("{} ({})", error.message, error.code.id)).collect();
    let ObjectRef { kind, name, .. } = reference;
    let message =
        format!("{kind} {name}{CANNOT_BE_IMPORTED}its ModelDeployment would be refused: {}", reasons.join("; "));
    // The helps of the errors name fields of the ModelDeployment, which the reader does not have.
    findings
        .report(&codes::NOT_IMPORTABLE, &object.base, message)
        .help("correct this in the object, or write the ModelDeployment yourself");
}
