//! Validation of the deployment's own metadata: name, namespace, labels and annotations.

use crate::codes;
use crate::ir::Metadata;
use crate::wire::ModelDeployment;
use kubefoundry_kubernetes::check::{Checker, non_empty};
use kubefoundry_kubernetes::names;
use kubefoundry_kubernetes::wire::{Map, ObjectMeta};
use kubefoundry_yaml::field_path::FieldPath;

/// The labels and annotations that kubefoundry sets and users may not.
pub(super) const RESERVED: &[&str] = &["managed-by", "model-deployment", "selected-reason"];

/// Validates the metadata. Returns `None` without a name.
pub(super) fn validate_metadata(wire: Option<&ObjectMeta>, check: &mut Checker<'_, '_>) -> Option<Metadata> {
    let empty = ObjectMeta::default();
    let wire = wire.unwrap_or(&empty);
    let path = || ModelDeployment::path().metadata();
    let name = validate_name(wire, &path().name(), check);
    let namespace = non_empty(wire.namespace.as_deref());
    if let Some(namespace) = namespace {
        check.check_name(&path().namespace(), namespace, names::dns_1123_label);
    }
    let uid = non_empty(wire.uid.as_deref());
    if let Some(uid) = uid {
        check.check_single_line(&path().uid(), uid);
    }
    let labels = pairs(wire.labels.as_ref());
    check.check_labels(&path().labels(), labels);
    check.check_reserved_keys(&path().labels(), RESERVED, labels);
    let annotations = pairs(wire.annotations.as_ref());
    check.check_annotations(&path().annotations(), annotations);
    // `selected-reason` is allowed: a ModelDeployment that an earlier run passed on has it.
    check.check_reserved_keys(&path().annotations(), &["managed-by", "model-deployment"], annotations);
    Some(Metadata {
        name: name?.to_owned(),
        namespace: namespace.map(str::to_owned),
        uid: uid.map(str::to_owned),
        labels: labels.to_vec(),
        annotations: annotations.to_vec(),
    })
}

fn validate_name<'w>(wire: &'w ObjectMeta, path: &FieldPath, check: &mut Checker<'_, '_>) -> Option<&'w str> {
    if check.is_missing(wire.name.as_deref(), path) {
        let reported = check.findings.report(&codes::REQUIRED_FIELD, path, "metadata.name is required");
        if wire.generate_name.is_some() {
            reported.help("set metadata.name: manifests are rendered before an API server can complete generateName");
        }
        return None;
    }
    let name = wire.name.as_deref()?;
    check.check_name(path, name, names::dns_1123_label);
    Some(name)
}

/// Returns the entries of an optional mapping.
pub(super) fn pairs(map: Option<&Map<String>>) -> &[(String, String)] {
    map.map_or(&[], |map| &map.0)
}
