//! Environment variables of the engine's containers.
//!
//! Rules: `ValidateEnv` and `validateEnvVarValueFrom` in `k8s.io/kubernetes/pkg/apis/core/validation/validation.go`.
//! Two variables of one name, of which a container takes the last, are an error here: it is never meant.

use super::{Checked, Checker, text};
use crate::codes;
use crate::wire::{
    ConfigMapKeySelector, EnvVar, EnvVarSource, FieldSelector, FileKeySelector, ListPath, PathOf,
    ResourceFieldSelector, ValuePath,
};
use crate::{labels, names, quantity};
use kubefoundry_yaml::Value;
use kubefoundry_yaml::field_path::FieldPath;

/// Fields of a pod that a variable may show, besides single labels and annotations.
const FIELDS: &[&str] = &[
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
const FIELD: &str = "metadata.name, metadata.namespace, metadata.uid, metadata.labels['<key>'], \
                     metadata.annotations['<key>'], spec.nodeName, spec.serviceAccountName, status.hostIP, \
                     status.hostIPs, status.podIP or status.podIPs";
const RESOURCE: &str = "limits or requests, '.', and cpu, memory, ephemeral-storage or hugepages-<size>";

/// Checks all variables of the list at `path`.
pub fn environment(path: &ListPath<PathOf<EnvVar>>, variables: &[EnvVar], check: &mut Checker<'_, '_>) {
    for (index, variable) in variables.iter().enumerate() {
        variable_at(&path.clone().index(index), variable, check);
    }
    let names: Vec<&str> = variables.iter().map(|variable| variable.name.as_deref().unwrap_or_default()).collect();
    check.unique(path, "name", &names);
}

fn variable_at(path: &PathOf<EnvVar>, variable: &EnvVar, check: &mut Checker<'_, '_>) {
    let EnvVar { name, value, value_from } = variable;
    let name_path = path.clone().name();
    if check.missing(name.as_deref(), &name_path) {
        check.required(&name_path);
    } else if let Some(name) = name {
        check.environment_variable(&name_path, name);
    }
    let value = text(value.as_deref());
    if let Some(value) = value {
        check.lines(&path.clone().value(), value);
    }
    let source_path = path.clone().value_from();
    if value.is_some() && check.given(&source_path) {
        let message = format!("{path} has both value and valueFrom, expected one of them");
        check.findings.report(&codes::INVALID_ENVIRONMENT, &source_path, message);
    }
    if let Some(source) = value_from {
        source_at(&source_path, source, check);
    }
}

fn source_at(path: &PathOf<EnvVarSource>, source: &EnvVarSource, check: &mut Checker<'_, '_>) {
    let EnvVarSource { field_ref, resource_field_ref, config_map_key_ref, secret_key_ref, file_key_ref } = source;
    // Counted in the document, so that a source that is misspelt or could not be read draws no second finding.
    let node = check.findings.scope().root.at(path);
    let sources = node.map_or(0, |node| node.entries().iter().filter(|entry| entry.node.value != Value::Null).count());
    if sources != 1 {
        let message =
            format!("{path} has {sources} sources, expected exactly one of {}", EnvVarSource::FIELDS.join(", "));
        check.findings.report(&codes::INVALID_ENVIRONMENT, path, message);
    }
    if let Some(field) = field_ref {
        field_reference(&path.clone().field_ref(), field, check);
    }
    if let Some(resource) = resource_field_ref {
        resource_reference(&path.clone().resource_field_ref(), resource, check);
    }
    if let Some(ConfigMapKeySelector { name, key, optional: _ }) = config_map_key_ref {
        let at = path.clone().config_map_key_ref();
        key_reference([at.clone().name(), at.key()], name.as_deref(), key.as_deref(), check);
    }
    if let Some(secret) = secret_key_ref {
        let at = path.clone().secret_key_ref();
        key_reference([at.clone().name(), at.key()], secret.name.as_deref(), secret.key.as_deref(), check);
    }
    if let Some(file) = file_key_ref {
        file_reference(&path.clone().file_key_ref(), file, check);
    }
}

fn key_reference(at: [ValuePath; 2], name: Option<&str>, key: Option<&str>, check: &mut Checker<'_, '_>) {
    let [name_path, key_path] = at;
    check.required_name(&name_path, name, names::dns_1123_subdomain);
    required(&key_path, key, names::config_key, check);
}

fn file_reference(path: &PathOf<FileKeySelector>, file: &FileKeySelector, check: &mut Checker<'_, '_>) {
    check.required_name(&path.clone().volume_name(), file.volume_name.as_deref(), names::dns_1123_label);
    required(&path.clone().path(), file.path.as_deref(), relative_path, check);
    required(&path.clone().key(), file.key.as_deref(), names::environment_variable, check);
}

fn relative_path(path: &str) -> Checked {
    let fits =
        !path.starts_with('/') && path.split('/').all(|part| part != "..") && !path.chars().any(char::is_control);
    if fits { Ok(()) } else { Err("a relative path without \"..\"") }
}

fn field_reference(path: &PathOf<FieldSelector>, field: &FieldSelector, check: &mut Checker<'_, '_>) {
    required(&path.clone().field_path(), field.field_path.as_deref(), field_path, check);
    if let Some(version) = text(field.api_version.as_deref()) {
        check.word(&codes::INVALID_ENVIRONMENT, &path.clone().api_version(), version, &["v1"]);
    }
}

/// `metadata.labels['<key>']` and `metadata.annotations['<key>']` name one label or annotation.
fn field_path(path: &str) -> Checked {
    let key_in = |map: &str| path.strip_prefix(map)?.strip_prefix("['")?.strip_suffix("']");
    let label = key_in("metadata.labels").is_some_and(|key| labels::label_key(key).is_ok());
    let annotation = key_in("metadata.annotations").is_some_and(|key| labels::annotation_key(key).is_ok());
    if FIELDS.contains(&path) || label || annotation { Ok(()) } else { Err(FIELD) }
}

fn resource_reference(
    path: &PathOf<ResourceFieldSelector>,
    resource: &ResourceFieldSelector,
    check: &mut Checker<'_, '_>,
) {
    required(&path.clone().resource(), resource.resource.as_deref(), container_resource, check);
    if let Some(container) = text(resource.container_name.as_deref()) {
        check.name(&path.clone().container_name(), container, names::dns_1123_label);
    }
    if let Some(divisor) = &resource.divisor {
        check.expect(&codes::INVALID_QUANTITY, &path.clone().divisor(), &divisor.0, quantity::quantity(&divisor.0));
    }
}

fn container_resource(resource: &str) -> Checked {
    let name = resource.strip_prefix("limits.").or_else(|| resource.strip_prefix("requests."));
    let known = |name: &str| matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    if name.is_some_and(known) { Ok(()) } else { Err(RESOURCE) }
}

/// Reports a text that is missing, or is not what it must be.
fn required(path: &FieldPath, value: Option<&str>, syntax: fn(&str) -> Checked, check: &mut Checker<'_, '_>) {
    if check.missing(value, path) {
        check.required(path);
    } else if let Some(value) = value {
        check.expect(&codes::INVALID_ENVIRONMENT, path, value, syntax(value));
    }
}
