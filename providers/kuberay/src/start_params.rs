//! Options of `ray start`. KubeRay joins them without quotes into a shell command (`generateRayStartCommand` and
//! `convertParamMap` in ray-operator/controllers/ray/common/pod.go), so values must not contain shell
//! syntax.

use serde_json::{Map, Value};

use super::codes::{INVALID_RAY_START_PARAMETER, UNKNOWN_RAY_START_PARAMETER};
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{closest, shorten};

/// The options of `ray start` in Ray 2.56.0 (`ray/scripts/scripts.py`), sorted.
const KNOWN_OPTIONS: &[&str] = &[
    "autoscaling-config",
    "cgroup-path",
    "dashboard-agent-grpc-port",
    "dashboard-agent-listen-port",
    "dashboard-host",
    "dashboard-port",
    "disable-usage-stats",
    "enable-object-reconstruction",
    "enable-resource-isolation",
    "include-dashboard",
    "include-log-monitor",
    "labels",
    "labels-file",
    "log-color",
    "log-style",
    "max-worker-port",
    "memory",
    "metrics-export-port",
    "min-worker-port",
    "no-monitor",
    "no-redirect-output",
    "node-ip-address",
    "node-manager-port",
    "node-name",
    "num-cpus",
    "num-gpus",
    "object-manager-port",
    "object-spilling-directory",
    "object-store-memory",
    "plasma-directory",
    "port",
    "proxy-server-url",
    "ray-client-server-port",
    "ray-debugger-external",
    "redis-password",
    "redis-shard-ports",
    "redis-username",
    "resources",
    "runtime-env-agent-port",
    "system-config",
    "system-reserved-cpu",
    "system-reserved-memory",
    "temp-dir",
    "tracing-startup-hook",
    "verbose",
    "worker-port-list",
];

/// The options that KubeRay sets.
const RESERVED_OPTIONS: &[&str] = &["address", "block", "head"];

/// Returns the valid options, with values in a form that is safe in a shell, and reports the others. `ray` is the
/// version whose options are known.
pub(super) fn check_params(
    params: &[(String, String)],
    base: &FieldPath,
    ray: &str,
    findings: &mut Findings<'_>,
) -> Vec<(String, String)> {
    let mut valid = Vec::with_capacity(params.len());
    for (key, value) in params {
        let path = base.key(key.clone());
        if !check_option(key, &path, ray, findings) {
            continue;
        }
        if let Some(word) = shell_word(value) {
            valid.push((key.clone(), word));
        } else if value.is_empty() {
            let message = format!("{path} is empty, expected a value");
            findings.report(&INVALID_RAY_START_PARAMETER, &path, message).help("remove the option, or give it a value");
        } else {
            let message = format!("{path} is {:?}, which KubeRay would pass to a shell", shorten(value));
            findings
                .report(&INVALID_RAY_START_PARAMETER, &path, message)
                .help("use only letters, digits and . _ / : @ = , + - or a JSON object without ' and $");
        }
    }
    valid
}

/// Checks the name of an option and returns whether users may set it. An unknown option is accepted with a warning.
fn check_option(key: &str, path: &FieldPath, ray: &str, findings: &mut Findings<'_>) -> bool {
    let is_well_formed = key.starts_with(|c: char| c.is_ascii_lowercase())
        && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if !is_well_formed {
        let message = format!("{:?} is not an option of ray start, expected a name such as num-cpus", shorten(key));
        findings
            .report(&INVALID_RAY_START_PARAMETER, FieldRef::key(path), message)
            .help("write options in kebab-case, without leading dashes");
        return false;
    }
    if RESERVED_OPTIONS.contains(&key) {
        let message = format!("KubeRay sets --{key} of ray start itself");
        findings.report(&INVALID_RAY_START_PARAMETER, FieldRef::key(path), message).help("remove it");
        return false;
    }
    if !KNOWN_OPTIONS.contains(&key) {
        let message = format!("ray start of Ray {ray} has no option --{key}, so the head may not start");
        let reported = findings.report(&UNKNOWN_RAY_START_PARAMETER, FieldRef::key(path), message);
        match closest(key, KNOWN_OPTIONS.iter().copied()) {
            Some(option) => reported.help(format!("did you mean {option}?")),
            None => reported.help("remove it, unless ray start --help in the image lists it"),
        };
    }
    true
}

/// Converts a value to a safe word of a shell command: plain text stays, and a JSON object (`resources`,
/// `system-config`) is serialized in single quotes. Returns `None` for text that a shell, or the kubelet's `$(NAME)`
/// expansion, would interpret.
fn shell_word(value: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/:@=,+-".contains(&byte);
    if !value.is_empty() && value.bytes().all(is_plain) {
        return Some(value.to_owned());
    }
    quote_object(&parse_object(value)?)
}

/// Parses a JSON object in one of the forms of KubeRay's samples: `'{"a": 1}'`,
/// `"{\"a\": 1}"`, or bare.
fn parse_object(value: &str) -> Option<Map<String, Value>> {
    let unquoted = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or(value);
    match serde_json::from_str(unquoted).ok()? {
        Value::Object(fields) => Some(fields),
        Value::String(text) => serde_json::from_str(&text).ok(),
        _ => None,
    }
}

/// Serializes a JSON object in single quotes, for the shell and for KubeRay and Ray's autoscaler, which strip them
/// (`getResourcesMap` in pod.go; `_get_custom_resources` in ray/autoscaler/_private/kuberay/autoscaling_config.py,
/// which also drops backslashes).
fn quote_object(fields: &Map<String, Value>) -> Option<String> {
    let text = kubefoundry_yaml::infallible::to_json_text(fields);
    let is_safe = !text.contains(['\'', '$', '\\']);
    is_safe.then(|| format!("'{text}'"))
}

/// Returns the value of `--resources` for custom resources of a node.
pub(super) fn resources_option(amounts: &[(String, u64)]) -> Option<String> {
    quote_object(&amounts.iter().map(|(name, amount)| (name.clone(), Value::from(*amount))).collect())
}

#[cfg(test)]
mod tests {
    use super::{KNOWN_OPTIONS, resources_option, shell_word};

    #[test]
    fn known_options_are_sorted() {
        assert!(KNOWN_OPTIONS.is_sorted());
    }

    #[test]
    fn passes_plain_values_unchanged() {
        for value in ["0", "0.0.0.0", "/tmp/ray", "a=b,c=d", "True"] {
            assert_eq!(shell_word(value).as_deref(), Some(value));
        }
    }

    #[test]
    fn serializes_objects_in_single_quotes() {
        for value in [r#"'{"a": 1}'"#, r#""{\"a\": 1}""#, r#"{"a":1}"#] {
            assert_eq!(shell_word(value).as_deref(), Some(r#"'{"a":1}'"#), "{value}");
        }
        assert_eq!(resources_option(&[("prefill".to_owned(), 4)]).as_deref(), Some(r#"'{"prefill":4}'"#));
    }

    #[test]
    fn refuses_shell_syntax() {
        for value in ["", "a b", "0;id", "$(id)", "`id`", "a|b", r#"{"a": "it's"}"#, r#"{"a": "$(HOME)"}"#, "'a'"] {
            assert_eq!(shell_word(value), None, "{value}");
        }
    }
}
