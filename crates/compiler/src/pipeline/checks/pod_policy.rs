//! Judges the pods of finished objects by the policy of the options. This is the only place that does, so that no field, no
//! patch and no binding bypasses it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::codes;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::pod_security::{Permission, PodPolicy, Violation, has_restricted_fields, violations};
use kubefoundry_kubernetes::wire::metadata;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

/// A violation in an object, with the object's name for messages.
struct Found {
    object: String,
    violation: Violation,
}

/// Checks generated objects, and changes of existing ones: a change is judged by what it adds. A change is the new object,
/// and a function that returns the old one.
pub(crate) fn check_pods<'m>(
    generated: impl Iterator<Item = &'m Manifest>,
    changes: impl Iterator<Item = (&'m Value, impl FnOnce() -> Value)>,
    policy: &PodPolicy,
    findings: &mut Findings<'_>,
) {
    if policy.privileged {
        return;
    }
    let mut found = Vec::new();
    for manifest in generated.filter(|manifest| has_restricted_fields(manifest)) {
        let object = format!("{} {}", manifest.kind, manifest.metadata.name);
        let violations = violations(&manifest.clone().into_json(), policy);
        found.extend(violations.into_iter().map(|violation| Found { object: object.clone(), violation }));
    }
    for (new, old) in changes {
        let all = violations(new, policy);
        if all.is_empty() {
            continue;
        }
        let text = |pointer: &str| new.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let object = format!("{} {}", text("/kind"), text("/metadata/name"));
        let before = violations(&old(), policy);
        let is_new =
            |violation: &Violation| !before.iter().any(|old| is_same(old, violation) && old.path == violation.path);
        let added = all.into_iter().filter(is_new);
        found.extend(added.map(|violation| Found { object: object.clone(), violation }));
    }
    if !found.is_empty() {
        report(&found, policy, findings);
    }
}

/// Returns whether two violations have the same reason.
fn is_same(one: &Violation, other: &Violation) -> bool {
    one.rule == other.rule && one.value == other.value
}

/// Reports each reason once: at the fields of the input that have it, or else at the name of the input object.
fn report(found: &[Found], policy: &PodPolicy, findings: &mut Findings<'_>) {
    // The input has restricted fields under the names that they have in pods.
    let spec = findings.scope().root.get("spec").map(Node::to_json).unwrap_or_default();
    let written = violations(&json!({"spec": spec}), policy);
    for (position, Found { object, violation }) in found.iter().enumerate() {
        if found.iter().take(position).any(|earlier| is_same(&earlier.violation, violation)) {
            continue;
        }
        let Violation { path, value, allowed, permission, .. } = violation;
        let places: Vec<FieldPath> =
            written.iter().filter(|written| is_same(written, violation)).map(|written| written.path.clone()).collect();
        let option = options_for(&BTreeSet::from([permission.clone()])).join(", ");
        let help = format!("remove it, or allow it by {option} in the options");
        for place in &places {
            let message = format!("{place} is {value}, but the policy for pods allows {allowed}");
            findings.report(&codes::POD_SECURITY_VIOLATED, place, message).help(help.clone());
        }
        if places.is_empty() {
            let message = format!("{path} of {object} is {value}, but the policy for pods allows {allowed}");
            let place = FieldRef::from(metadata().name());
            findings.report(&codes::POD_SECURITY_VIOLATED, place, message).help(help);
        }
    }
}

/// Returns the options that the pods of objects need besides those of a policy.
pub fn needed_options(objects: &[Value], policy: &PodPolicy) -> Vec<String> {
    let found = objects.iter().flat_map(|object| violations(object, policy));
    options_for(&found.map(|violation| violation.permission).collect())
}

/// Returns the options that give permissions, as they are written in a document.
fn options_for(permissions: &BTreeSet<Permission>) -> Vec<String> {
    if permissions.contains(&Permission::Privileged) {
        return vec!["policy.podSecurity: privileged".to_owned()];
    }
    let list = |key: &str, entry: fn(&Permission) -> Option<&str>| {
        let entries: Vec<String> = permissions.iter().filter_map(entry).map(plain_or_quoted).collect();
        (!entries.is_empty()).then(|| format!("policy.{key}: [{}]", entries.join(", ")))
    };
    let capabilities = list("allowCapabilities", |permission| match permission {
        Permission::Capability(name) => Some(name),
        _ => None,
    });
    let host_paths = list("allowHostPaths", |permission| match permission {
        Permission::HostPath(directory) => Some(directory),
        _ => None,
    });
    let host_ipc = permissions.contains(&Permission::HostIpc).then(|| "policy.allowHostIPC: true".to_owned());
    [capabilities, host_paths, host_ipc].into_iter().flatten().collect()
}

/// Returns a text as an entry of a YAML list in one line.
fn plain_or_quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-');
    if !text.is_empty() && text.bytes().all(is_plain) { text.to_owned() } else { Value::from(text).to_string() }
}
