//! Names and labels that upstream has a say in.

use crate::codes;
use crate::ir::Deployment;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};

/// Reports a name that is too long for what is made from it (`a KAITO Workspace`). Returns whether it fits.
pub(super) fn name_fits(
    deployment: &Deployment,
    most: usize,
    what_for: &str,
    help: impl Into<String>,
    findings: &mut Findings<'_>,
) -> bool {
    // Names are ASCII.
    let length = deployment.metadata.name.len();
    if length <= most {
        return true;
    }
    let message = format!("metadata.name has {length} characters, expected at most {most} for {what_for}");
    findings.report(&codes::NAME_TOO_LONG, ModelDeployment::path().metadata().name(), message).help(help);
    false
}

/// Warns about pod labels that upstream sets whatever a template says.
pub(super) fn ignore_pod_labels(deployment: &Deployment, upstream: &str, labels: &[&str], findings: &mut Findings<'_>) {
    for (key, _) in deployment.pod_labels.iter().filter(|(key, _)| labels.contains(&key.as_str())) {
        let path = ModelDeployment::path().spec().pod_template().metadata().labels().key(key.clone());
        let message = format!("{path} has no effect: {upstream} sets this label itself");
        findings.report(&codes::FIELD_IGNORED, FieldRef::key(&path), message).help("remove it");
    }
}
