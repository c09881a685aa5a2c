//! The option `policy`: what pods may do beyond the level baseline of Kubernetes' Pod Security Standards.

use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::pod_security::{self, PodPolicy};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;
use kubefoundry_yaml::{Node, Value};

use super::render::{PodSecurity, Policy};
use crate::codes;

/// The option's key.
const KEY: &str = "policy";

/// Applies the fields of a document over the policy so far.
pub(super) fn apply_policy(policy: &mut PodPolicy, written: Policy, findings: &mut Findings<'_>) {
    let Policy { pod_security, allow_capabilities, allow_host_paths, allow_host_ipc } = written;
    if let Some(level) = pod_security {
        policy.privileged = level == PodSecurity::Privileged;
    }
    if let Some(names) = allow_capabilities {
        policy.capabilities = valid_entries(names, "allowCapabilities", pod_security::check_capability, findings);
    }
    if let Some(prefixes) = allow_host_paths {
        policy.host_paths = valid_entries(prefixes, "allowHostPaths", pod_security::check_host_path, findings);
    }
    policy.host_ipc = allow_host_ipc.unwrap_or(policy.host_ipc);
}

/// Returns the entries of a list that are valid, and reports the others.
fn valid_entries(
    entries: Vec<String>,
    field: &'static str,
    check: fn(&str) -> Result<(), &'static str>,
    findings: &mut Findings<'_>,
) -> Vec<String> {
    let list = FieldPath::parse(KEY).key(field);
    let mut valid = Vec::with_capacity(entries.len());
    for (index, entry) in entries.into_iter().enumerate() {
        match check(&entry) {
            Ok(()) => valid.push(entry),
            Err(expected) => {
                let path = list.index(index);
                let message = format!("{path} is {:?}, expected {expected}", shorten(&entry));
                findings.report(&codes::INVALID_OPTION, &path, message);
            }
        }
    }
    valid
}

/// Reports a policy in options that were found beside the input, unless it allows nothing.
pub(super) fn refuse_policy(root: &Node<'_>, findings: &mut Findings<'_>) {
    let Some(policy) = root.get(KEY).filter(|policy| policy.value != Value::Null) else { return };
    let allows = |key: &str, node: &Node<'_>| match key {
        "podSecurity" => node.as_str() != Some(PodSecurity::Baseline.as_str()),
        "allowHostIPC" => node.value != Value::Bool(false),
        _ => !node.items().is_empty(),
    };
    let is_looser = policy.entries().iter().any(|entry| allows(&entry.key, &entry.node));
    if is_looser {
        let path = FieldPath::parse(KEY);
        let message = "policy is set in a file that was found beside the input, whose authors may not loosen it";
        findings
            .report(&codes::POLICY_FROM_INPUT, FieldRef::key(&path), message)
            .help("read the file, and pass it with --config if you allow this; on Argo CD set the plugin's parameters");
    }
}
