//! Converts typed fields (`contextLength`, `trustRemoteCode`, ...) to arguments.

use kubefoundry_deployment::wire::ModelDeployment;
use serde_json::Value;

use super::Launcher;
use super::invocation::{Argument, ArgumentValue, Invocation};
use super::profile::{BooleanSetting, ConfigValue, EngineProfile};
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_yaml::field_path::FieldPath;

/// Adds the arguments of the typed fields: model, served name, context length and the switches.
pub(super) fn add_typed_fields(
    deployment: &Deployment,
    profile: &'static EngineProfile,
    launcher: &Launcher,
    invocation: &mut Invocation,
    findings: &mut Findings<'_>,
) {
    let model_path = || ModelDeployment::path().spec().model();
    let engine_path = || ModelDeployment::path().spec().engine();
    if launcher.takes_model {
        if let Some(id) = &deployment.model.id {
            push_text(invocation, profile.model, id, &model_path().id());
        }
        if let Some(name) = &deployment.model.served_name {
            // A derived name is corrected by correcting the id.
            let path = if name.is_written() { model_path().served_name() } else { model_path().id() };
            push_text(invocation, profile.served_name, &name.value, &path);
        }
    }
    let engine = &deployment.engine;
    if let Some(length) = engine.context_length {
        if let Some((warning, help)) = profile.context_length_warning {
            findings.report(&codes::CONTEXT_LENGTH_LIMITED, engine_path().context_length(), warning).help(help);
        }
        push(invocation, profile.context_length, ArgumentValue::Number(length.into()), &engine_path().context_length());
    }
    if engine.trust_remote_code.value {
        add_setting(
            profile,
            launcher,
            profile.trust_remote_code,
            &engine_path().trust_remote_code(),
            invocation,
            findings,
        );
    }
    if let Some(enabled) = engine.enable_prefix_caching {
        let setting = if enabled.value { profile.prefix_caching_on } else { profile.prefix_caching_off };
        add_setting(profile, launcher, setting, &engine_path().enable_prefix_caching(), invocation, findings);
    }
    if engine.enforce_eager.value {
        add_setting(profile, launcher, profile.enforce_eager, &engine_path().enforce_eager(), invocation, findings);
    }
}

/// Adds the arguments that turn a setting on, in the form that the engine takes.
fn add_setting(
    profile: &EngineProfile,
    launcher: &Launcher,
    setting: BooleanSetting,
    path: &FieldPath,
    invocation: &mut Invocation,
    findings: &mut Findings<'_>,
) {
    match setting {
        BooleanSetting::Switch(name) => push(invocation, name, ArgumentValue::On, path),
        BooleanSetting::ReplacedSwitch(name, _) if !launcher.is_deprecated(name) => {
            push(invocation, name, ArgumentValue::On, path);
        }
        BooleanSetting::ReplacedSwitch(_, flags) => {
            for (name, value) in flags {
                push_text(invocation, name, value, path);
            }
        }
        BooleanSetting::OffForm(name, off) => push(invocation, name, ArgumentValue::Off(off.to_owned()), path),
        BooleanSetting::ConfigKey(keys, value) => {
            let value = match value {
                ConfigValue::Bool(value) => Value::Bool(value),
                ConfigValue::Null => Value::Null,
            };
            invocation.set_key(keys, value, path.clone());
        }
        BooleanSetting::Default => {}
        BooleanSetting::Ignored(why) => {
            findings.report(
                &codes::FIELD_IGNORED,
                path,
                format!("{path} has no effect on {}: {why}", profile.display_name),
            );
        }
    }
}

fn push_text(invocation: &mut Invocation, name: &str, value: &str, path: &FieldPath) {
    push(invocation, name, ArgumentValue::Text(value.to_owned()), path);
}

fn push(invocation: &mut Invocation, name: &str, value: ArgumentValue, path: &FieldPath) {
    invocation.arguments.push(Argument { name: name.to_owned(), value, path: path.clone() });
}
