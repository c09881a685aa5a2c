//! Checks of names and labels that upstream controllers restrict.

use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};

/// The help for a provider that needs the id of a model that is in the image.
pub const MODEL_ID_HELP: &str = "set spec.model.id to the absolute path of the model in the image, or \
                                        spec.provider.name: kaito, which starts the image as it is";

/// Reports a deployment name that is too long for the names that upstream derives from it. `what_for` ends the message:
/// `a KAITO Workspace`. Returns whether the name fits.
pub fn check_name_length(
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

/// Reports a deployment name that starts with a digit. Upstream names Services after it, and names of Services are
/// DNS-1035 labels in Kubernetes before 1.36 (KEP-5311). Returns whether the name can be used.
pub fn check_name_start(deployment: &Deployment, upstream: &str, findings: &mut Findings<'_>) -> bool {
    let name = &deployment.metadata.name;
    if name.starts_with(|c: char| c.is_ascii_lowercase()) {
        return true;
    }
    findings
        .report(
            &codes::INVALID_NAME,
            ModelDeployment::path().metadata().name(),
            format!("metadata.name is {name:?}, expected a name that starts with a letter"),
        )
        .help(format!("rename it: {upstream} names Services after it, and their names start with a letter"));
    false
}

/// Reports the id of a GGUF file where no engine of the provider reads one. Returns whether the model can be served.
pub fn refuse_gguf(deployment: &Deployment, upstream: &str, findings: &mut Findings<'_>) -> bool {
    let is_gguf = deployment.model.id.as_ref().is_some_and(|id| id.to_ascii_lowercase().ends_with(".gguf"));
    if is_gguf {
        findings
            .report(
                &codes::FIELD_NOT_SUPPORTED,
                ModelDeployment::path().spec().model().id(),
                format!("spec.model.id names a GGUF file, which {upstream} does not serve"),
            )
            .help("use the id of the model's original weights, or the engine llamacpp on kaito");
    }
    !is_gguf
}

/// Warns about pod labels that the upstream controller overwrites.
pub fn warn_about_ignored_pod_labels(
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

/// Reports `spec.frontend`, for a provider whose workers serve HTTP themselves.
pub fn refuse_frontend(deployment: &Deployment, provider: &str, findings: &mut Findings<'_>) {
    for path in deployment.frontend.written_fields() {
        let message = format!("{path} cannot be rendered: {provider} has no frontend whose settings could be chosen");
        findings
            .report(&codes::FIELD_NOT_SUPPORTED, &path, message)
            .help("remove it, or set spec.provider.name to dynamo");
    }
}
