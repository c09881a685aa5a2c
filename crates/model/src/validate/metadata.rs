//! Validation of the deployment's own metadata: name, namespace, labels and annotations.

use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::Metadata;
use kubefoundry_deployment::wire::{ModelDeployment, RESERVED_KEYS};
use kubefoundry_diagnostics::FieldRef;
use kubefoundry_kubernetes::check::{Checker, non_empty};
use kubefoundry_kubernetes::names;
use kubefoundry_kubernetes::wire::{Map, ObjectMeta};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{closest, shorten};

/// The annotations that kubefoundry and its operator read or write on a ModelDeployment.
pub const READ_ANNOTATIONS: &[&str] =
    &["provider", "selected-reason", "lint-ignore", "reconcile-paused", "dry-run", "dry-run-result"];

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
    check.check_reserved_keys(&path().labels(), RESERVED_KEYS, labels);
    let annotations = pairs(wire.annotations.as_ref());
    check.check_annotations(&path().annotations(), annotations);
    // `selected-reason` is allowed: a ModelDeployment that an earlier run passed on has it.
    check.check_reserved_keys(&path().annotations(), &["managed-by", "model-deployment"], annotations);
    check_read_annotations(annotations, &path().annotations(), check);
    Some(Metadata {
        name: name?.to_owned(),
        namespace: namespace.map(str::to_owned),
        uid: uid.map(str::to_owned),
        labels: labels.to_vec(),
        annotations: annotations.to_vec(),
    })
}

/// Reports annotations with the prefix of the API group that have no effect. Labels with the prefix are rendered, so all
/// of them have one.
fn check_read_annotations(annotations: &[(String, String)], path: &FieldPath, check: &mut Checker<'_, '_>) {
    let api_group = check.effective_api_group();
    let known = || READ_ANNOTATIONS.iter().chain(RESERVED_KEYS).copied();
    for (key, _) in annotations {
        let Some(name) = key.strip_prefix(api_group.label_prefix) else { continue };
        let place = FieldRef::key(&path.key(key.clone()));
        if let Some((_, effect)) = api_group.ignored_annotations.iter().find(|(ignored, _)| *ignored == name) {
            let message =
                format!("{path} has the key {key:?}, which {effect} in {}, and is ignored here", api_group.name);
            check.findings.report(&codes::UNREAD_ANNOTATION, place, message).help("remove it");
            continue;
        }
        if known().any(|known| known == name) {
            continue;
        }
        let meant = closest(name, known());
        // The systems of other groups have annotations of their own, so only a near miss is a mistake there.
        if meant.is_none() && !api_group.has_crds {
            continue;
        }
        let message = format!("{path} has the key {:?}, which nothing reads", shorten(key));
        let reported = check.findings.report(&codes::UNREAD_ANNOTATION, place, message);
        match meant {
            Some(meant) => reported.help(format!("did you mean {:?}?", api_group.label(meant))),
            None => reported.help("remove it, or use a prefix of your own"),
        };
    }
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
