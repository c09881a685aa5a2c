//! The settings of a preset: `inference_config.yaml` in a ConfigMap.
//!
//! KAITO's runtime appends each entry of `vllm` as two elements, `--key` and Python's `str(value)`
//! (presets/workspace/inference/vllm/inference_api.py), and its webhook reads them as a map of strings
//! (api/v1beta1/inference_config_validation.go). It does not watch the data, so the name ends in a hash of it: another
//! content is another ConfigMap, and the Workspace that names it rolls.

use crate::wire::ModelDeployment;
use serde_json::{Map, Value};

use super::preset::WAY_OUT;
use super::target::ConfigMap;
use crate::codes;
use crate::engines::{Argument, ArgumentValue, Invocation, looks_like_flag};
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::pod::StringMap;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::fingerprint::fnv1a_64;
use kubefoundry_yaml::text::shorten;

/// Settings by flag name, in order.
pub(super) type Settings = Map<String, Value>;

/// The settings as KAITO can pass them on. `None` means that findings say why not.
pub(super) fn settings(invocation: &Invocation, findings: &mut Findings<'_>) -> Option<Settings> {
    let mut settings = Settings::new();
    let mut complete = true;
    for argument in &invocation.arguments {
        match setting(argument, findings) {
            Some(value) => {
                settings.insert(argument.name.clone(), value);
            }
            None => complete = false,
        }
    }
    complete.then_some(settings)
}

fn setting(argument: &Argument, findings: &mut Findings<'_>) -> Option<Value> {
    let Argument { name, value, path } = argument;
    if is_reserved(name) {
        let message = format!("KAITO sets --{name} itself in a preset");
        // With an image the address is no more the user's than here.
        let help = if name.starts_with("kaito-") || matches!(name.as_str(), "host" | "port" | "uds") {
            "remove the flag"
        } else {
            WAY_OUT
        };
        findings.report(&codes::RESERVED_ARGUMENT, FieldRef::key(path), message).help(help);
        return None;
    }
    let value = match value {
        ArgumentValue::On | ArgumentValue::Off(_) | ArgumentValue::List(_) => {
            report_switch(argument, findings);
            return None;
        }
        ArgumentValue::Number(number) => Value::Number(number.clone()),
        ArgumentValue::Text(text) => Value::from(text.as_str()),
        ArgumentValue::Json(json) => Value::from(json.to_string()),
    };
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if looks_like_flag(&text) {
        let message = format!("--{name} is {:?}, which vLLM reads as a flag in a KAITO preset", shorten(&text));
        findings.report(&codes::UNSAFE_VALUE, path, message).help(WAY_OUT);
        return None;
    }
    if name == "max-model-len" && text.parse::<i64>().is_err() {
        let message = format!("--{name} is {:?}, expected an integer, because KAITO reads it too", shorten(&text));
        findings.report(&codes::INVALID_ARGUMENT_VALUE, path, message).help(
            "write the number of tokens in digits, \
                                                                             such as 8192",
        );
        return None;
    }
    Some(value)
}

/// What KAITO sets itself, or reads its own configuration from; and where the server listens, which its Service has to
/// reach.
fn is_reserved(name: &str) -> bool {
    matches!(name, "config" | "headless" | "host" | "model" | "port" | "served-model-name" | "uds")
        || name.starts_with("kaito-")
}

fn report_switch(argument: &Argument, findings: &mut Findings<'_>) {
    let Argument { name, value, path } = argument;
    let flag = if let ArgumentValue::Off(off) = value { off } else { name };
    let reason = if matches!(value, ArgumentValue::List(_)) { "has several values" } else { "is a switch" };
    let rule = "every setting of a KAITO preset has one value";
    if path.starts_with(&ModelDeployment::path().spec().engine().args()) {
        let message = format!("--{flag} {reason}, but {rule}");
        findings.report(&codes::FLAG_NOT_ACCEPTED, FieldRef::key(path), message).help(WAY_OUT);
    } else {
        let message = format!("{path} becomes --{flag}, which {reason}, but {rule}");
        findings.report(&codes::FIELD_NOT_SUPPORTED, path, message).help(WAY_OUT);
    }
}

/// The ConfigMap `<name>-inference-<hash>`.
pub(super) fn manifest(deployment: &str, settings: Settings) -> Manifest {
    let mut text = String::new();
    yaml::to_yaml(&Value::Object(Map::from_iter([("vllm".to_owned(), Value::Object(settings))])), &mut text);
    let name = format!("{deployment}-inference-{:016x}", fnv1a_64(text.as_bytes()));
    Manifest::new("v1", "ConfigMap", name, ConfigMap { data: StringMap::from_entry("inference_config.yaml", text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_python_would_not_give_back_as_it_is_stays_text() {
        let settings = Settings::from_iter([
            ("max-model-len".to_owned(), Value::from(8192)),
            ("revision".to_owned(), Value::from("0123")),
            ("kv-transfer-config".to_owned(), Value::from(r#"{"kv_role":"kv_both"}"#)),
        ]);
        let manifest = manifest("phi", settings);
        let text = manifest.body.fields()["data"]["inference_config.yaml"].as_str().unwrap().to_owned();
        assert!(
            text.starts_with("vllm:\n  max-model-len: 8192\n  revision: \"0123\"\n  kv-transfer-config: "),
            "{text}"
        );
        assert!(manifest.metadata.name.starts_with("phi-inference-"));
        assert_eq!(manifest.metadata.name.len(), "phi-inference-".len() + 16);
    }
}
