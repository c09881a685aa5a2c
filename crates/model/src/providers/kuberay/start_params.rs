//! Options of `ray start`. KubeRay joins them, unquoted, into the command line of a shell (`generateRayStartCommand` and
//! `convertParamMap` in ray-operator/controllers/ray/common/pod.go): what a user says here may not be shell syntax.

use serde_json::{Map, Value};

use super::codes::{INVALID_RAY_START_PARAMETER, UNKNOWN_RAY_START_PARAMETER};
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{closest, shorten};

/// What `ray start` of Ray 2.56.0 takes (`ray/scripts/scripts.py`), sorted.
const KNOWN: &[&str] = &[
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

/// What KubeRay gives `ray start` itself.
const OPERATORS: &[&str] = &["address", "block", "head"];

/// The entries that may be passed on, values in the form that is safe in a shell; the others are reported. `ray` is the
/// version whose options are known.
pub(super) fn checked(
    given: &[(String, String)],
    base: &FieldPath,
    ray: &str,
    findings: &mut Findings<'_>,
) -> Vec<(String, String)> {
    let mut passed = Vec::with_capacity(given.len());
    for (key, value) in given {
        let path = base.key(key.clone());
        if !is_option(key, &path, ray, findings) {
            continue;
        }
        if let Some(word) = shell_word(value) {
            passed.push((key.clone(), word));
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
    passed
}

/// Whether this is an option that a user may set; one that is not known is passed on with a warning.
fn is_option(key: &str, path: &FieldPath, ray: &str, findings: &mut Findings<'_>) -> bool {
    let well_formed = key.starts_with(|c: char| c.is_ascii_lowercase())
        && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if !well_formed {
        let message = format!("{:?} is not an option of ray start, expected a name such as num-cpus", shorten(key));
        findings
            .report(&INVALID_RAY_START_PARAMETER, FieldRef::key(path), message)
            .help("write options in kebab-case, without leading dashes");
        return false;
    }
    if OPERATORS.contains(&key) {
        let message = format!("KubeRay sets --{key} of ray start itself");
        findings.report(&INVALID_RAY_START_PARAMETER, FieldRef::key(path), message).help("remove it");
        return false;
    }
    if !KNOWN.contains(&key) {
        let message = format!("ray start of Ray {ray} has no option --{key}, so the head may not start");
        let reported = findings.report(&UNKNOWN_RAY_START_PARAMETER, FieldRef::key(path), message);
        match closest(key, KNOWN.iter().copied()) {
            Some(option) => reported.help(format!("did you mean {option}?")),
            None => reported.help("remove it, unless ray start --help in the image lists it"),
        };
    }
    true
}

/// A value as it may stand in a shell: plain text as it is, a JSON object (`resources`, `system-config`) written again
/// and put in single quotes. `None` for anything that a shell, or the kubelet's `$(NAME)`, would read its own way.
fn shell_word(value: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/:@=,+-".contains(&byte);
    if !value.is_empty() && value.bytes().all(plain) {
        return Some(value.to_owned());
    }
    quoted_object(&object(value)?)
}

/// The JSON object that a value is, in one of the ways in which KubeRay's samples quote it: `'{"a": 1}'`,
/// `"{\"a\": 1}"`, or bare.
fn object(value: &str) -> Option<Map<String, Value>> {
    let unquoted = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or(value);
    match serde_json::from_str(unquoted).ok()? {
        Value::Object(fields) => Some(fields),
        Value::String(text) => serde_json::from_str(&text).ok(),
        _ => None,
    }
}

/// A JSON object in single quotes: for the shell, and for KubeRay and Ray's autoscaler, which strip them
/// (`getResourcesMap` in pod.go; `_get_custom_resources` in ray/autoscaler/_private/kuberay/autoscaling_config.py, which
/// also drops backslashes).
fn quoted_object(fields: &Map<String, Value>) -> Option<String> {
    let text = serde_json::to_string(fields).ok()?;
    let safe = !text.contains(['\'', '$', '\\']);
    safe.then(|| format!("'{text}'"))
}

/// Custom resources of a node, as `--resources` takes them.
pub(super) fn resources(amounts: &[(String, u64)]) -> Option<String> {
    quoted_object(&amounts.iter().map(|(name, amount)| (name.clone(), Value::from(*amount))).collect())
}

#[cfg(test)]
mod tests {
    use super::{KNOWN, resources, shell_word};

    #[test]
    fn known_options_are_sorted() {
        assert!(KNOWN.is_sorted());
    }

    #[test]
    fn plain_values_are_passed_as_they_are() {
        for value in ["0", "0.0.0.0", "/tmp/ray", "a=b,c=d", "True"] {
            assert_eq!(shell_word(value).as_deref(), Some(value));
        }
    }

    #[test]
    fn objects_are_written_again_in_single_quotes() {
        for value in [r#"'{"a": 1}'"#, r#""{\"a\": 1}""#, r#"{"a":1}"#] {
            assert_eq!(shell_word(value).as_deref(), Some(r#"'{"a":1}'"#), "{value}");
        }
        assert_eq!(resources(&[("prefill".to_owned(), 4)]).as_deref(), Some(r#"'{"prefill":4}'"#));
    }

    #[test]
    fn shell_syntax_is_refused() {
        for value in ["", "a b", "0;id", "$(id)", "`id`", "a|b", r#"{"a": "it's"}"#, r#"{"a": "$(HOME)"}"#, "'a'"] {
            assert_eq!(shell_word(value), None, "{value}");
        }
    }
}
