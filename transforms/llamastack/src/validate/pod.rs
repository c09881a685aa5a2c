//! Validation of the user's additions to the pod, which must not conflict with those of rendering.

use std::collections::BTreeSet;

use super::expect;
use crate::options::Options;
use crate::server::Server;
use crate::{codes, pod, wire};
use kubefoundry_kubernetes::check::{Checker, non_empty};
use kubefoundry_kubernetes::names;
use kubefoundry_kubernetes::syntax_result::SyntaxResult;
use kubefoundry_kubernetes::wire::{Reader, report_unknown_field, report_wrong_type};
use kubefoundry_transform::codes as shared;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;
use kubefoundry_yaml::{Node, Value};

/// The validated `podOverrides`.
#[derive(Debug, Default)]
pub(super) struct Overrides {
    pub(super) service_account: Option<String>,
    pub(super) grace_period: Option<i64>,
    pub(super) volumes: Vec<serde_json::Value>,
    pub(super) volume_mounts: Vec<wire::VolumeMount>,
}

/// Validates `podOverrides`.
pub(super) fn validate_overrides(
    wire: Option<&wire::PodOverrides>,
    path: &FieldPath,
    check: &mut Checker<'_, '_>,
) -> Overrides {
    let Some(wire) = wire else { return Overrides::default() };
    let service_account = non_empty(wire.service_account_name.as_deref());
    let grace_period = wire.termination_grace_period_seconds;
    let volumes = wire.volumes.as_deref().unwrap_or_default();
    let mounts = wire.volume_mounts.clone().unwrap_or_default();
    check_volumes(volumes, &path.join("volumes"), check);
    check_mounts(&mounts, &path.join("volumeMounts"), check);
    Overrides {
        service_account: service_account.map(str::to_owned),
        grace_period,
        volumes: volumes.iter().map(Node::to_json).collect(),
        volume_mounts: mounts,
    }
}

/// Checks that every volume has a unique name and exactly one source.
fn check_volumes(volumes: &[Node<'static>], path: &FieldPath, check: &mut Checker<'_, '_>) {
    for (index, volume) in volumes.iter().enumerate() {
        let path = path.index(index);
        if !matches!(volume.value, Value::Mapping(_)) {
            let message = format!("{path} is {}, expected a mapping", volume.describe());
            check.findings.report(&shared::WRONG_TYPE, &path, message);
            continue;
        }
        check.check_required_name(&path.join("name"), volume.get("name").and_then(Node::as_str), names::dns_1123_label);
        check_string(volume, "name", &path, check);
        report_unknown_fields(volume, &path, &VOLUME, check);
        let sources: Vec<&str> =
            volume.entries().iter().map(|entry| &*entry.key).filter(|key| *key != "name").collect();
        if sources.len() > 1 {
            let message = format!("{path} has {} sources ({}), expected one", sources.len(), sources.join(", "));
            check.findings.report(&shared::INVALID_VOLUME, &path, message);
        }
    }
    let names: Vec<&str> =
        volumes.iter().map(|volume| volume.get("name").and_then(Node::as_str).unwrap_or_default()).collect();
    check.check_unique(path, "name", &names);
}

/// Checks the paths of mounts, and that no two mounts have the same path.
fn check_mounts(mounts: &[wire::VolumeMount], path: &FieldPath, check: &mut Checker<'_, '_>) {
    for (index, mount) in mounts.iter().enumerate() {
        let path = path.index(index);
        if let Some(mount_path) = non_empty(mount.mount_path.as_deref()) {
            check.check_syntax(
                &shared::INVALID_VOLUME,
                &path.join("mountPath"),
                mount_path,
                check_mount_path(mount_path),
            );
        }
        for (field, sub_path) in [("subPath", &mount.sub_path), ("subPathExpr", &mount.sub_path_expr)] {
            let sub_path = non_empty(sub_path.as_deref()).unwrap_or_default();
            let fits = !sub_path.starts_with('/') && sub_path.split('/').all(|part| part != "..");
            let checked = expect(fits, "a path in the volume, without \"..\"");
            check.check_syntax(&shared::INVALID_VOLUME, &path.join(field), sub_path, checked);
        }
        if non_empty(mount.sub_path.as_deref()).is_some() && non_empty(mount.sub_path_expr.as_deref()).is_some() {
            let message = format!("{path} has both subPath and subPathExpr, expected only one of them");
            check.findings.report(&shared::INVALID_VOLUME, &path, message);
        }
    }
    let paths: Vec<&str> = mounts.iter().map(|mount| mount.mount_path.as_deref().unwrap_or_default()).collect();
    check.check_unique(path, "mountPath", &paths);
}

/// Checks the path of a mount: absolute, not the root, without `:` and control characters.
pub(super) fn check_mount_path(path: &str) -> SyntaxResult {
    let fits = path.starts_with('/') && !path.contains(':') && !path.chars().any(char::is_control);
    expect(fits && !split_path(path).is_empty(), "an absolute path below / without ':'")
}

/// Validates topology spread constraints, as far as the scheduler uses their fields.
pub(super) fn validate_spread_constraints(
    wire: Option<&[Node<'static>]>,
    check: &mut Checker<'_, '_>,
) -> Vec<serde_json::Value> {
    let path = FieldPath::from(wire::LlamaStackDistribution::path().spec().server().topology_spread_constraints());
    let constraints = wire.unwrap_or_default();
    for (index, constraint) in constraints.iter().enumerate() {
        let path = path.index(index);
        if !matches!(constraint.value, Value::Mapping(_)) {
            let message = format!("{path} is {}, expected a mapping", constraint.describe());
            check.findings.report(&shared::WRONG_TYPE, &path, message);
            continue;
        }
        for field in ["maxSkew", "topologyKey", "whenUnsatisfiable"] {
            if constraint.get(field).is_none_or(|node| node.value == Value::Null) {
                check.report_missing(&path.join(field));
            }
        }
        check_string(constraint, "topologyKey", &path, check);
        check_string(constraint, "whenUnsatisfiable", &path, check);
        report_unknown_fields(constraint, &path, &CONSTRAINT, check);
        if let Some(skew) =
            constraint.get("maxSkew").filter(|skew| !matches!(skew.value, Value::Integer(1..) | Value::Null))
        {
            let path = path.join("maxSkew");
            let message = format!("{path} is {}, expected at least 1", skew.to_json());
            check.findings.report(&shared::OUT_OF_RANGE, &path, message);
        }
        if let Some(word) = constraint.get("whenUnsatisfiable").and_then(Node::as_str) {
            let known = &["DoNotSchedule", "ScheduleAnyway"];
            check.check_allowed_value(&shared::INVALID_VALUE, &path.join("whenUnsatisfiable"), word, known);
        }
    }
    constraints.iter().map(Node::to_json).collect()
}

/// Reports volumes, mounts and names that conflict with those that rendering adds, and mounts of volumes that do not
/// exist.
pub(super) fn report_conflicts(server: &Server, options: &Options<'_>, check: &mut Checker<'_, '_>) {
    let (added_volumes, other_mount_paths) = pod::added_volumes_and_mounts(server, options);
    let path = FieldPath::from(wire::LlamaStackDistribution::path().spec().server().pod_overrides());
    let mut volume_names: BTreeSet<&str> = added_volumes.iter().copied().collect();
    for (index, volume) in server.volumes.iter().enumerate() {
        let name = volume["name"].as_str().unwrap_or_default();
        if !volume_names.insert(name) && added_volumes.contains(&name) {
            let path = path.join("volumes").index(index).join("name");
            let message = format!("{path} is {name:?}, the name of a volume that kubefoundry adds");
            check.findings.report(&codes::VOLUME_CLASH, &path, message).help("rename the volume and its mounts");
        }
    }
    for (index, mount) in server.volume_mounts.iter().enumerate() {
        let path = path.join("volumeMounts").index(index);
        let name = mount.name.as_deref().unwrap_or_default();
        if !name.is_empty() && !volume_names.contains(name) {
            let path = path.join("name");
            let message = format!("{path} is {:?}, expected a volume of the pod", shorten(name));
            check
                .findings
                .report(&shared::INVALID_VOLUME, &path, message)
                .help("add it to spec.server.podOverrides.volumes");
        }
        let mount_path = mount.mount_path.as_deref().unwrap_or_default();
        let path = path.join("mountPath");
        // Other volumes may be mounted below the server's own volume, because it is writable.
        if split_path(mount_path) == split_path(&server.mount_path) {
            report_used_path(mount_path, &path, &[&server.mount_path], check);
        } else {
            report_used_path(mount_path, &path, &other_mount_paths, check);
        }
    }
    report_used_path(
        &server.mount_path,
        &wire::LlamaStackDistribution::path().spec().server().storage().mount_path(),
        &other_mount_paths,
        check,
    );
    let init_names = pod::init_container_names(server, options);
    if init_names.contains(&server.container.name) {
        let path = FieldPath::from(wire::LlamaStackDistribution::path().spec().server().container_spec().name());
        let message = format!("{path} is {:?}, which is the name of an init container", server.container.name);
        check.findings.report(&shared::DUPLICATE_ENTRY, &path, message);
    }
}

/// Reports a mount at or below a path that rendering uses.
fn report_used_path(path: &str, at: &FieldPath, added: &[&str], check: &mut Checker<'_, '_>) {
    let names = split_path(path);
    if let Some(added) = added.iter().find(|added| names.starts_with(&split_path(added))) {
        let place =
            if names.len() > split_path(added).len() { format!("which is inside {added}, ") } else { String::new() };
        let message = format!("{at} is {:?}, {place}where kubefoundry mounts its own volume", shorten(path));
        check.findings.report(&codes::VOLUME_CLASH, at, message).help("mount the volume elsewhere");
    }
}

/// Splits a path into its names. Repeated slashes count as one.
fn split_path(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !matches!(*part, "" | ".")).collect()
}

/// Reports a field that is not a string, such as the name `y`, which YAML reads as a boolean.
fn check_string(node: &Node<'_>, field: &'static str, path: &FieldPath, check: &mut Checker<'_, '_>) {
    let other = node.get(field).filter(|value| !matches!(value.value, Value::String(_) | Value::Null));
    if let Some(other) = other {
        report_wrong_type(other, &path.join(field), "a string", &mut Reader::strict(check.findings));
    }
}

/// Reports unknown fields of an object that is copied unchanged. The cluster would reject or drop them.
fn report_unknown_fields(node: &Node<'_>, path: &FieldPath, known: &[&'static str], check: &mut Checker<'_, '_>) {
    for entry in node.entries().iter().filter(|entry| !known.contains(&&*entry.key)) {
        report_unknown_field(node, &entry.key, path, known, &mut Reader::strict(check.findings));
    }
}

/// The fields of a TopologySpreadConstraint (core/v1).
const CONSTRAINT: [&str; 8] = [
    "maxSkew",
    "topologyKey",
    "whenUnsatisfiable",
    "labelSelector",
    "minDomains",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "matchLabelKeys",
];

/// The fields of a Volume (core/v1): its name, and every source.
const VOLUME: [&str; 31] = [
    "name",
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "hostPath",
    "image",
    "nfs",
    "persistentVolumeClaim",
    "projected",
    "secret",
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "glusterfs",
    "iscsi",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
];
