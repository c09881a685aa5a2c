//! What no patch may change: what identifies an object, what marks its owner, and what others write.

use std::collections::BTreeSet;

use serde_json::Value;

use kubefoundry_deployment::codes;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::manifest::is_bookkeeping;
use kubefoundry_transform::PatchedObject;
use kubefoundry_yaml::field_path::FieldPath;

/// Reports each protected field that patches changed. Returns whether there is one.
pub(super) fn report_changes(object: &PatchedObject, after: &Value, findings: &mut Findings<'_>) -> bool {
    let changed = changed_fields(&object.before, after);
    let text = |pointer: &str| object.before.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let name = format!("{} {}", text("/kind"), text("/metadata/name"));
    for (path, reason) in &changed {
        let message = format!("{path} of {name} cannot be patched: {reason}");
        let place = object.patch_of(path, None).unwrap_or_else(|| object.patches.clone());
        findings.report(&codes::PATCH_OF_IDENTITY, &place, message).help("remove it from the patch");
    }
    !changed.is_empty()
}

/// Returns the protected fields that differ between two states of an object, each with the reason.
fn changed_fields(before: &Value, after: &Value) -> Vec<(FieldPath, &'static str)> {
    let mut changed = Vec::new();
    let root = FieldPath::root();
    compare(before, after, &root, &mut changed, &|key| match key {
        "apiVersion" | "kind" => Some("it identifies the object"),
        "status" => Some("the controller of the kind writes it"),
        "data" | "binaryData" if before.get("kind").and_then(Value::as_str) == Some("ConfigMap") => {
            Some("the name of the ConfigMap is a hash of its data")
        }
        _ => None,
    });
    let empty = Value::Null;
    let field = |object: &Value, pointer: &str| object.pointer(pointer).cloned().unwrap_or_else(|| empty.clone());
    let metadata = FieldPath::parse("metadata");
    compare(&field(before, "/metadata"), &field(after, "/metadata"), &metadata, &mut changed, &|key| match key {
        "labels" | "annotations" => None,
        "name" | "namespace" => Some("it identifies the object"),
        "ownerReferences" | "uid" => Some("it says who owns the object"),
        _ => Some("only labels and annotations of metadata are patched"),
    });
    for (key, pointer) in [("labels", "/metadata/labels"), ("annotations", "/metadata/annotations")] {
        let (before, after) = (field(before, pointer), field(after, pointer));
        compare(&before, &after, &metadata.key(key), &mut changed, &|key| {
            let is_mark = API_GROUPS.iter().any(|api_group| key.starts_with(api_group.label_prefix));
            let is_mark = is_mark.then_some("kubefoundry marks its objects with it");
            is_mark.or_else(|| is_bookkeeping(key).then_some("kustomize and kpt store their own state in it"))
        });
    }
    changed
}

/// Adds the fields of two mappings that differ and that `protection` protects.
fn compare(
    before: &Value,
    after: &Value,
    path: &FieldPath,
    changed: &mut Vec<(FieldPath, &'static str)>,
    protection: &dyn Fn(&str) -> Option<&'static str>,
) {
    let keys = [before, after].into_iter().filter_map(Value::as_object).flat_map(serde_json::Map::keys);
    let keys: BTreeSet<&String> = keys.collect();
    for key in keys {
        if let Some(reason) = protection(key).filter(|_| before.get(key) != after.get(key)) {
            changed.push((path.key(key.clone()), reason));
        }
    }
}
