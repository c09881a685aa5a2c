//! The settings of a preset: `inference_config.yaml` in a ConfigMap.
//!
//! KAITO's runtime appends each entry of `vllm` as two elements, `--key` and Python's `str(value)`
//! (presets/workspace/inference/vllm/inference_api.py), and its webhook reads them as a map of strings
//! (api/v1beta1/inference_config_validation.go). It does not watch the data, so the name ends in a hash of it: a
//! changed content is a new ConfigMap, and the Workspace that refers to it restarts its pods.

use kubefoundry_deployment::wire::ModelDeployment;
use serde_json::{Map, Value};

use super::manifests::ConfigMap;
use super::overrides::{self, Overrides};
use kubefoundry_deployment::codes;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_engines::{Argument, ArgumentValue, Invocation, looks_like_flag};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::pod::StringMap;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::fingerprint::fnv1a_64;
use kubefoundry_yaml::text::shorten;

/// The help for every setting that a preset cannot carry.
pub(super) const USE_AN_IMAGE: &str = "set spec.image: vLLM then runs from that image in a pod template, without the limits of a \
                                  preset";

/// The key of the engine's settings.
const ENGINE: &str = "vllm";

/// Engine settings by flag name, in output order.
pub(super) type PresetSettings = Map<String, Value>;

/// Converts the arguments to settings that KAITO can pass on. Returns `None` after reporting those that it cannot.
pub(super) fn convert_settings(invocation: &Invocation, findings: &mut Findings<'_>) -> Option<PresetSettings> {
    let mut settings = PresetSettings::new();
    let mut is_complete = true;
    for argument in &invocation.arguments {
        match convert_setting(argument, findings) {
            Some(value) => {
                settings.insert(argument.name.clone(), value);
            }
            None => is_complete = false,
        }
    }
    is_complete.then_some(settings)
}

/// Converts one argument, or reports why KAITO cannot pass it on.
fn convert_setting(argument: &Argument, findings: &mut Findings<'_>) -> Option<Value> {
    let Argument { name, value, path } = argument;
    if is_reserved(name) {
        let message = format!("KAITO sets --{name} itself in a preset");
        // An image would not help: a pod template reserves the address too.
        let help = if name.starts_with("kaito-") || matches!(name.as_str(), "host" | "port" | "uds") {
            "remove the flag"
        } else {
            USE_AN_IMAGE
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
        findings.report(&codes::UNSAFE_VALUE, path, message).help(USE_AN_IMAGE);
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

/// Returns whether KAITO reserves a flag: it sets the flag, or its Service needs the address on which the server
/// listens.
fn is_reserved(name: &str) -> bool {
    matches!(name, "config" | "headless" | "host" | "model" | "port" | "served-model-name" | "uds")
        || name.starts_with("kaito-")
}

/// Reports a switch or a list, which a setting with one value cannot express.
fn report_switch(argument: &Argument, findings: &mut Findings<'_>) {
    let Argument { name, value, path } = argument;
    let flag = if let ArgumentValue::Off(off) = value { off } else { name };
    let reason = if matches!(value, ArgumentValue::List(_)) { "has several values" } else { "takes no value" };
    let rule = "a KAITO preset accepts only settings with one value";
    if path.starts_with(&ModelDeployment::path().spec().engine().args()) {
        let message = format!("--{flag} {reason}, but {rule}");
        findings.report(&codes::FLAG_NOT_ACCEPTED, FieldRef::key(path), message).help(USE_AN_IMAGE);
    } else {
        let message = format!("{path} becomes --{flag}, which {reason}, but {rule}");
        findings.report(&codes::FIELD_NOT_SUPPORTED, path, message).help(USE_AN_IMAGE);
    }
}

/// Returns the keys beside the engine's settings, after reporting the engine's key. KAITO's runtime reads
/// `max_probe_steps`, and ignores keys that it does not know.
pub(super) fn other_keys(overrides: &Overrides, findings: &mut Findings<'_>) -> Map<String, Value> {
    let keys = overrides.inference_config.iter().flat_map(|keys| &keys.0);
    let mut others: Map<String, Value> = keys.map(|(key, value)| (key.clone(), value.to_json())).collect();
    if others.shift_remove(ENGINE).is_some() {
        let path = overrides::path().inference_config().key(ENGINE);
        let message = format!("{path} cannot be rendered: the settings of the engine are in spec.engine");
        findings
            .report(&codes::FIELD_NOT_SUPPORTED, FieldRef::key(&path), message)
            .help(format!("write them into {}", ModelDeployment::path().spec().engine().args()));
    }
    others
}

/// Builds the ConfigMap `<name>-inference-<hash>` of the engine's settings and of other keys. Returns `None` if there are
/// neither.
pub(super) fn build_config_map(
    deployment: &str,
    settings: PresetSettings,
    others: Map<String, Value>,
) -> Option<Manifest> {
    let mut text = String::new();
    let engine = (!settings.is_empty()).then(|| (ENGINE.to_owned(), Value::Object(settings)));
    let content: Map<String, Value> = engine.into_iter().chain(others).collect();
    if content.is_empty() {
        return None;
    }
    yaml::to_yaml(&Value::Object(content), &mut text);
    let name = format!("{deployment}-inference-{:016x}", fnv1a_64(text.as_bytes()));
    let data = StringMap::from_entry("inference_config.yaml", text);
    Some(Manifest::new("v1", "ConfigMap", name, ConfigMap { data }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_values_as_text_that_python_would_change() {
        let settings = PresetSettings::from_iter([
            ("max-model-len".to_owned(), Value::from(8192)),
            ("revision".to_owned(), Value::from("0123")),
            ("kv-transfer-config".to_owned(), Value::from(r#"{"kv_role":"kv_both"}"#)),
        ]);
        let manifest = build_config_map("phi", settings, Map::new()).unwrap();
        let text = manifest.body.fields()["data"]["inference_config.yaml"].as_str().unwrap().to_owned();
        assert!(
            text.starts_with("vllm:\n  max-model-len: 8192\n  revision: \"0123\"\n  kv-transfer-config: "),
            "{text}"
        );
        assert!(manifest.metadata.name.starts_with("phi-inference-"));
        assert_eq!(manifest.metadata.name.len(), "phi-inference-".len() + 16);
    }
}
