//! Checks of names and labels that upstream controllers restrict.

use crate::codes;
use crate::ir::Deployment;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};

/// Reports a deployment name that is too long for the names that upstream derives from it. `what_for` ends the message:
/// `a KAITO Workspace`. Returns whether the name fits.
pub(super) fn check_name_length(
    deployment: &Deployment,
    max_length: usize,
    what_for: &str,
    help: impl Into<String>,
    findings: &mut Findings<'_>,
) -> bool {
    // Names are ASCII, so bytes are characters.
    let length = deployment.metadata.name.len();
    if length <= max_length {
        return true;
    }
    let message = format!("metadata.name has {length} characters, expected at most {max_length} for {what_for}");
    findings.report(&codes::NAME_TOO_LONG, ModelDeployment::path().metadata().name(), message).help(help);
    false
}

/// Warns about pod labels that the upstream controller overwrites.
pub(super) fn warn_about_ignored_pod_labels(
    deployment: &Deployment,
    upstream: &str,
    labels: &[&str],
    findings: &mut Findings<'_>,
) {
    for (key, _) in deployment.pod_labels.iter().filter(|(key, _)| labels.contains(&key.as_str())) {
        let path = ModelDeployment::path().spec().pod_template().metadata().labels().key(key.clone());
        let message = format!("{path} has no effect: {upstream} sets this label itself");
        findings.report(&codes::FIELD_IGNORED, FieldRef::key(&path), message).help("remove it");
    }
}
