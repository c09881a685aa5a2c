//! The command that starts an engine in the user's image, and what it may not say because of KAITO's Service.

use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_engines::{ArgumentValue, Invocation};
use kubefoundry_yaml::field_path::FieldPath;

/// The target port of KAITO's Service and of the rendered one.
pub(super) const PORT: u16 = 5000;

/// The command of an image, with the variable for its downloads.
#[derive(Debug, Default)]
pub(super) struct StartCommand {
    /// The program. Empty leaves it to the image.
    pub(super) command: Vec<String>,
    /// The arguments. Empty leaves them to the image.
    pub(super) args: Vec<String>,
    /// The environment variable that names the directory for downloaded models.
    pub(super) cache_variable: Option<&'static str>,
}

/// The reason why settings have no effect on an image that starts itself.
pub(super) const NO_ID: &str = "without spec.model.id the image runs its own command";
/// The help for such settings.
pub(super) const NO_ID_HELP: &str = "set spec.model.id to the path of the model in the image, or remove this field";

/// The reason why the port is reserved.
pub(super) const TO_PORT: &str = "KAITO's Service sends requests to port 5000";
/// The reason why the address is reserved.
pub(super) const TO_POD: &str = "KAITO's Service sends requests to the pod's address";
/// The addresses that stand for all interfaces.
pub(super) const ANY_ADDRESS: &[&str] = &["0.0.0.0", "::"];

/// Reports a flag that this provider sets, unless the user's value is one of `allowed`. Returns `Some` if the flag may
/// stay.
pub(super) fn check_reserved(
    invocation: &Invocation,
    name: &'static str,
    allowed: &[&str],
    why: &str,
    findings: &mut Findings<'_>,
) -> Option<()> {
    let Some(argument) = invocation.get(name) else { return Some(()) };
    let is_allowed = match &argument.value {
        ArgumentValue::Text(text) => allowed.contains(&text.as_str()),
        ArgumentValue::Number(number) => allowed.contains(&number.to_string().as_str()),
        _ => false,
    };
    if is_allowed {
        return Some(());
    }
    let message = format!("--{name} cannot be set: {why}");
    findings.report(&codes::RESERVED_ARGUMENT, FieldRef::key(&argument.path), message).help("remove the flag");
    None
}

/// Warns that each engine setting of the input has no effect. `why` completes the message; callers use this for images
/// that have their own command or settings.
pub(super) fn warn_about_ignored_engine_settings(
    deployment: &Deployment,
    why: &str,
    help: &'static str,
    findings: &mut Findings<'_>,
) {
    let engine = &deployment.engine;
    let base = FieldPath::from(ModelDeployment::path().spec().engine());
    let typed_fields = [
        (engine.context_length.is_some(), "contextLength"),
        (engine.trust_remote_code.value, "trustRemoteCode"),
        (engine.enable_prefix_caching.is_some_and(|enabled| enabled.is_written()), "enablePrefixCaching"),
        (engine.enforce_eager.value, "enforceEager"),
    ];
    let typed_fields = typed_fields.into_iter().filter(|(is_given, _)| *is_given).map(|(_, field)| base.key(field));
    let args = engine.args.iter().map(|(name, _)| base.key("args").key(name.clone()));
    let extra_args = (0..engine.extra_args.len()).map(|index| base.key("extraArgs").index(index));
    for path in typed_fields.chain(args).chain(extra_args) {
        findings.report(&codes::FIELD_IGNORED, &path, format!("{path} has no effect: {why}")).help(help);
    }
}
