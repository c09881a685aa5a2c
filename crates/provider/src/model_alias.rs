//! Warns of a model id that only one provider understands.

use crate::Provider;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;

/// Warns if the model id is a name that only `owner` knows. The caller has made sure that nothing else resolves it.
pub fn warn_about_alias(deployment: &Deployment, owner: &dyn Provider, findings: &mut Findings<'_>) {
    let Some(name) = deployment.model.id.as_deref() else { return };
    let Some(id) = owner.resolve_model_alias(name) else { return };
    let path = ModelDeployment::path().spec().model().id();
    let message = format!(
        "{path} is {name:?}, a name that only {}'s presets have, expected the Hugging Face id {id:?}",
        owner.display_name()
    );
    findings.report(&codes::MODEL_ALIAS, &path, message).help(format!("set {path} to {id}"));
}
