//! Checks of `metadata`, which the API server validates as ObjectMeta, independently of the CRD.

use serde_json::Value;

use super::SchemaViolation;
use crate::codes;
use kubefoundry_kubernetes::syntax_result::SyntaxResult;
use kubefoundry_kubernetes::{labels, names};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{closest, shorten};

/// The fields of meta/v1 ObjectMeta.
const FIELDS: &[&str] = &[
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];
/// The fields of meta/v1 OwnerReference. The first four are required.
const OWNER_FIELDS: &[&str] = &["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];

/// Checks the metadata of a whole object.
pub(super) fn check(object: &Value, out: &mut Vec<SchemaViolation>) {
    let path = FieldPath::parse("metadata");
    match object.get("metadata") {
        Some(metadata) => check_fields(metadata, &path, true, out),
        None => out.push(SchemaViolation::unexpected(path, "is missing", "a mapping with a name")),
    }
}

/// Checks the fields of metadata. `requires_name` is true for a whole object; embedded objects may have no name.
pub(super) fn check_fields(metadata: &Value, path: &FieldPath, requires_name: bool, out: &mut Vec<SchemaViolation>) {
    let Some(fields) = metadata.as_object() else { return };
    for (name, value) in fields {
        let path = path.key(name.clone());
        match name.as_str() {
            "labels" => check_string_map(value, &path, labels::label_key, labels::label_value, out),
            "annotations" => check_string_map(value, &path, labels::annotation_key, |_| Ok(()), out),
            "ownerReferences" => check_owners(value, &path, out),
            "name" => check_text(value, &path, names::dns_1123_subdomain, out),
            "namespace" => check_text(value, &path, names::dns_1123_label, out),
            "generateName" | "resourceVersion" | "selfLink" | "uid" | "creationTimestamp" | "deletionTimestamp" => {
                check_text(value, &path, |_| Ok(()), out);
            }
            known if FIELDS.contains(&known) => {}
            _ => report_unknown_field(name, FIELDS, path, out),
        }
    }
    if requires_name && !fields.contains_key("name") && !fields.contains_key("generateName") {
        out.push(SchemaViolation::missing(path.key("name")));
    }
}

fn report_unknown_field(name: &str, known: &[&'static str], path: FieldPath, out: &mut Vec<SchemaViolation>) {
    let help = closest(name, known.iter().copied()).map(|suggestion| format!("did you mean {suggestion:?}?"));
    out.push(SchemaViolation {
        code: &codes::FIELD_NOT_IN_SCHEMA,
        path,
        message: String::new(),
        help,
        value: None,
        is_wrong_type: false,
    });
}

/// Checks a value that must be a string or null.
fn check_text(value: &Value, path: &FieldPath, check: impl Fn(&str) -> SyntaxResult, out: &mut Vec<SchemaViolation>) {
    let expected = match value {
        Value::String(text) => check(text).err(),
        Value::Null => None,
        _ => Some("a string"),
    };
    if let Some(expected) = expected {
        out.push(SchemaViolation::unexpected(path.clone(), &format!("is {}", shorten(&value.to_string())), expected));
    }
}

/// Checks labels or annotations: each key and each value.
fn check_string_map(
    value: &Value,
    path: &FieldPath,
    check_key: impl Fn(&str) -> SyntaxResult,
    check_value: impl Fn(&str) -> SyntaxResult,
    out: &mut Vec<SchemaViolation>,
) {
    let Some(entries) = value.as_object() else {
        if !value.is_null() {
            out.push(SchemaViolation::unexpected(path.clone(), "is not a mapping", "a mapping of strings"));
        }
        return;
    };
    for (name, value) in entries {
        let path = path.key(name.clone());
        if let Err(expected) = check_key(name) {
            out.push(SchemaViolation::unexpected(path.clone(), "is not a valid key", expected));
        }
        check_text(value, &path, &check_value, out);
    }
}

/// Checks owner references: required and unknown fields.
fn check_owners(value: &Value, path: &FieldPath, out: &mut Vec<SchemaViolation>) {
    for (position, owner) in value.as_array().into_iter().flatten().enumerate() {
        let path = path.index(position);
        for name in OWNER_FIELDS.iter().take(4) {
            if owner.get(name).and_then(Value::as_str).is_none_or(str::is_empty) {
                out.push(SchemaViolation::missing(path.key(*name)));
            }
        }
        for name in owner.as_object().into_iter().flatten().map(|(name, _)| name) {
            if !OWNER_FIELDS.contains(&name.as_str()) {
                report_unknown_field(name, OWNER_FIELDS, path.key(name.clone()), out);
            }
        }
    }
}
