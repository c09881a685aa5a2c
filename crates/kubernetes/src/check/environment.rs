//! Checks of environment variables of containers.
//!
//! Source: `ValidateEnv` and `validateEnvVarValueFrom` in `k8s.io/kubernetes/pkg/apis/core/validation/validation.go`.
//! Kubernetes accepts two variables with one name and uses the last. Here they are an error, because this is never
//! intended.

use super::{Checker, non_empty};
use crate::codes;
use crate::syntax_result::SyntaxResult;
use crate::wire::{
    ConfigMapKeySelector, EnvVar, EnvVarSource, FieldSelector, FileKeySelector, ListPath, PathOf,
    ResourceFieldSelector, ValuePath,
};
use crate::{labels, names, quantity};
use kubefoundry_yaml::Value;
use kubefoundry_yaml::field_path::FieldPath;

/// Says that a variable has a value and a source. The rules of our CRDs say the same.
pub const VALUE_TWICE: &str = "has both value and valueFrom, expected only one of them";

/// Fields of a pod that the downward API offers, besides single labels and annotations.
const POD_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
const EXPECTED_FIELD: &str = "metadata.name, metadata.namespace, metadata.uid, metadata.labels['<key>'], \
                     metadata.annotations['<key>'], spec.nodeName, spec.serviceAccountName, status.hostIP, \
                     status.hostIPs, status.podIP or status.podIPs";
const EXPECTED_RESOURCE: &str = "limits or requests, '.', and cpu, memory, ephemeral-storage or hugepages-<size>";

/// Checks all variables of the list at `path`.
pub fn check_environment(path: &ListPath<PathOf<EnvVar>>, variables: &[EnvVar], check: &mut Checker<'_, '_>) {
    for (index, variable) in variables.iter().enumerate() {
        check_variable(&path.clone().index(index), variable, check);
    }
    let names: Vec<&str> = variables.iter().map(|variable| variable.name.as_deref().unwrap_or_default()).collect();
    check.check_unique(path, "name", &names);
}

fn check_variable(path: &PathOf<EnvVar>, variable: &EnvVar, check: &mut Checker<'_, '_>) {
    let EnvVar { name, value, value_from } = variable;
    let name_path = path.clone().name();
    if check.is_missing(name.as_deref(), &name_path) {
        check.report_missing(&name_path);
    } else if let Some(name) = name {
        check.check_environment_variable(&name_path, name);
    }
    let value = non_empty(value.as_deref());
    if let Some(value) = value {
        check.check_multi_line(&path.clone().value(), value);
    }
    let source_path = path.clone().value_from();
    if value.is_some() && check.is_present(&source_path) {
        let message = format!("{path} {VALUE_TWICE}");
        check.findings.report(&codes::INVALID_ENVIRONMENT, &source_path, message);
    }
    if let Some(source) = value_from {
        check_source(&source_path, source, check);
    }
}

/// Says how many sources a variable has. The rules of our CRDs say the same.
pub fn expected_sources() -> String {
    format!("expected exactly one of {}", EnvVarSource::FIELDS.join(", "))
}

fn check_source(path: &PathOf<EnvVarSource>, source: &EnvVarSource, check: &mut Checker<'_, '_>) {
    let EnvVarSource { field_ref, resource_field_ref, config_map_key_ref, secret_key_ref, file_key_ref } = source;
    // Count in the document rather than in `source`: a source that is misspelled or could not be read has its finding
    // already.
    let node = check.findings.scope().root.at(path);
    let sources = node.map_or(0, |node| node.entries().iter().filter(|entry| entry.node.value != Value::Null).count());
    if sources != 1 {
        let message = format!("{path} has {sources} sources, {}", expected_sources());
        check.findings.report(&codes::INVALID_ENVIRONMENT, path, message);
    }
    if let Some(field) = field_ref {
        check_field_ref(&path.clone().field_ref(), field, check);
    }
    if let Some(resource) = resource_field_ref {
        check_resource_ref(&path.clone().resource_field_ref(), resource, check);
    }
    if let Some(ConfigMapKeySelector { name, key, optional: _ }) = config_map_key_ref {
        let at = path.clone().config_map_key_ref();
        check_key_ref([at.clone().name(), at.key()], name.as_deref(), key.as_deref(), check);
    }
    if let Some(secret) = secret_key_ref {
        let at = path.clone().secret_key_ref();
        check_key_ref([at.clone().name(), at.key()], secret.name.as_deref(), secret.key.as_deref(), check);
    }
    if let Some(file) = file_key_ref {
        check_file_ref(&path.clone().file_key_ref(), file, check);
    }
}

fn check_key_ref(at: [ValuePath; 2], name: Option<&str>, key: Option<&str>, check: &mut Checker<'_, '_>) {
    let [name_path, key_path] = at;
    check.check_required_name(&name_path, name, names::dns_1123_subdomain);
    check_required(&key_path, key, names::config_key, check);
}

fn check_file_ref(path: &PathOf<FileKeySelector>, file: &FileKeySelector, check: &mut Checker<'_, '_>) {
    check.check_required_name(&path.clone().volume_name(), file.volume_name.as_deref(), names::dns_1123_label);
    check_required(&path.clone().path(), file.path.as_deref(), relative_path, check);
    check_required(&path.clone().key(), file.key.as_deref(), names::environment_variable, check);
}

fn relative_path(path: &str) -> SyntaxResult {
    let fits =
        !path.starts_with('/') && path.split('/').all(|part| part != "..") && !path.chars().any(char::is_control);
    if fits { Ok(()) } else { Err("a relative path without \"..\"") }
}

fn check_field_ref(path: &PathOf<FieldSelector>, field: &FieldSelector, check: &mut Checker<'_, '_>) {
    check_required(&path.clone().field_path(), field.field_path.as_deref(), field_path, check);
    if let Some(version) = non_empty(field.api_version.as_deref()) {
        check.check_allowed_value(&codes::INVALID_ENVIRONMENT, &path.clone().api_version(), version, &["v1"]);
    }
}

/// Checks the path of a pod field. `metadata.labels['<key>']` and `metadata.annotations['<key>']` name one label or
/// annotation.
fn field_path(path: &str) -> SyntaxResult {
    let key_in = |map: &str| path.strip_prefix(map)?.strip_prefix("['")?.strip_suffix("']");
    let is_label = key_in("metadata.labels").is_some_and(|key| labels::label_key(key).is_ok());
    let is_annotation = key_in("metadata.annotations").is_some_and(|key| labels::annotation_key(key).is_ok());
    if POD_FIELDS.contains(&path) || is_label || is_annotation { Ok(()) } else { Err(EXPECTED_FIELD) }
}

fn check_resource_ref(
    path: &PathOf<ResourceFieldSelector>,
    resource: &ResourceFieldSelector,
    check: &mut Checker<'_, '_>,
) {
    check_required(&path.clone().resource(), resource.resource.as_deref(), container_resource, check);
    if let Some(container) = non_empty(resource.container_name.as_deref()) {
        check.check_name(&path.clone().container_name(), container, names::dns_1123_label);
    }
    if let Some(divisor) = &resource.divisor {
        check.check_syntax(
            &codes::INVALID_QUANTITY,
            &path.clone().divisor(),
            &divisor.0,
            quantity::quantity(&divisor.0),
        );
    }
}

fn container_resource(resource: &str) -> SyntaxResult {
    let name = resource.strip_prefix("limits.").or_else(|| resource.strip_prefix("requests."));
    let is_known =
        |name: &str| matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    if name.is_some_and(is_known) { Ok(()) } else { Err(EXPECTED_RESOURCE) }
}

/// Reports a required text that is missing or invalid.
fn check_required(
    path: &FieldPath,
    value: Option<&str>,
    syntax: fn(&str) -> SyntaxResult,
    check: &mut Checker<'_, '_>,
) {
    if check.is_missing(value, path) {
        check.report_missing(path);
    } else if let Some(value) = value {
        check.check_syntax(&codes::INVALID_ENVIRONMENT, path, value, syntax(value));
    }
}
