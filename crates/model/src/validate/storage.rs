//! Validation of the volumes for model data (docs/design/0003), with the fields and defaults of airunway's
//! `model.storage`.

use super::messages;
use kubefoundry_deployment::wire::ModelDeployment;
use std::collections::BTreeMap;

use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{AccessMode, Leaf, NewClaim, Volume, VolumePurpose, Workload};
use kubefoundry_deployment::wire::{Storage, StorageVolume};
use kubefoundry_diagnostics::{Code, FieldRef};
use kubefoundry_kubernetes::check::{Checker, non_empty};
use kubefoundry_kubernetes::syntax_result::SyntaxResult;
use kubefoundry_kubernetes::wire::{ListPath, PathOf};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;

/// The limit for one deployment, as in airunway's CRD.
const MAX_VOLUMES: usize = 8;

/// Validates the volumes of a deployment. The names of new claims start with `deployment`, its name.
pub(super) fn validate_volumes(
    storage: Option<&Storage>,
    deployment: &str,
    check: &mut Checker<'_, '_>,
) -> Vec<Volume> {
    let path = ModelDeployment::path().spec().model().storage().volumes();
    let wire = storage.and_then(|storage| storage.volumes.as_deref()).unwrap_or_default();
    if wire.len() > MAX_VOLUMES {
        let message = format!("{path} has {} entries, expected at most {MAX_VOLUMES}", wire.len());
        check.findings.report(&codes::INVALID_VOLUME, &path, message);
    }
    let volumes: Vec<Volume> = wire
        .iter()
        .enumerate()
        .map(|(index, entry)| validate_volume(entry, &path.clone().index(index), deployment, check))
        .collect();
    let names: Vec<&str> = volumes.iter().map(|volume| volume.name.as_str()).collect();
    let mounts: Vec<&str> = volumes.iter().map(|volume| volume.mount_path.value.trim_end_matches('/')).collect();
    // Two volumes may share an existing claim, but not create the same new one.
    let new_claims: Vec<&str> = volumes
        .iter()
        .map(|volume| if volume.new_claim.is_some() { volume.claim_name.value.as_str() } else { "" })
        .collect();
    let has_unique_names = check.check_unique(&path, "name", &names);
    check.check_unique(&path, "mountPath", &mounts);
    // Derived claim names repeat where volume names do, which is reported already.
    if has_unique_names {
        check.check_unique(&path, "claimName", &new_claims);
    }
    if check.effective_api_group().restricts_storage {
        apply_airunway_restrictions(&volumes, deployment, &path, check);
    }
    volumes
}

/// Warns about new claims for one node that several pods mount: pods on other nodes cannot start.
pub(super) fn warn_about_single_node_claims(volumes: &[Volume], workload: &Workload, check: &mut Checker<'_, '_>) {
    let pods: u64 = workload.workers().into_iter().map(|worker| u64::from(worker.replicas.value)).sum();
    for (index, volume) in volumes.iter().enumerate().filter(|_| pods > 1) {
        let Some(claim) = &volume.new_claim else { continue };
        let mode = claim.access_mode.value;
        if matches!(mode, AccessMode::ReadWriteOnce | AccessMode::ReadWriteOncePod) {
            let path = ModelDeployment::path().spec().model().storage().volumes().index(index).access_mode();
            let where_to = if mode == AccessMode::ReadWriteOnce { "one node" } else { "one pod" };
            let message =
                format!("{path} is {}, which is for {where_to}, but {pods} pods mount the volume", mode.as_str());
            check
                .findings
                .report(&codes::SINGLE_NODE_CLAIM, &path, message)
                .help("set it to ReadWriteMany, with a StorageClass that supports it");
        }
    }
}

/// Paths at or below which airunway allows no mounts.
const SYSTEM_PATHS: &[&str] = &["/dev", "/proc", "/sys", "/etc", "/var/run"];

/// Reports volumes that airunway's webhook refuses, and other API groups allow
/// (`modeldeployment_storage_validation.go`).
fn apply_airunway_restrictions(
    volumes: &[Volume],
    deployment: &str,
    list: &ListPath<PathOf<StorageVolume>>,
    check: &mut Checker<'_, '_>,
) {
    let group = check.effective_api_group().name;
    let mut refuse = |path: &FieldPath, found: &str, expected: &str| {
        let message = format!("{path} {found}, expected {expected}, as the webhook of {group} requires");
        check.findings.report(&codes::INVALID_VOLUME, path, message);
    };
    let mut existing_claims: BTreeMap<&str, usize> = BTreeMap::new();
    let mut caches: BTreeMap<VolumePurpose, usize> = BTreeMap::new();
    for (index, volume) in volumes.iter().enumerate() {
        let path = list.clone().index(index);
        let derived_name = format!("{deployment}-{}", volume.name);
        if volume.new_claim.is_some() && volume.read_only.value {
            refuse(&path.clone().read_only(), "is true", "a new claim to be writable");
        }
        if volume.new_claim.is_some() && volume.claim_name.value != derived_name {
            let found = format!("is {:?} for a new claim", shorten(&volume.claim_name.value));
            refuse(
                &path.clone().claim_name(),
                &found,
                "none (a new claim is named after the deployment and the volume)",
            );
        }
        let mount_path = volume.mount_path.value.as_str();
        if let Some(system) = SYSTEM_PATHS.iter().find(|system| contains_path(system, mount_path)) {
            refuse(
                &path.clone().mount_path(),
                &format!("is {:?}", shorten(mount_path)),
                &format!("a path outside {system}"),
            );
        }
        if volume.new_claim.is_none()
            && !volume.claim_name.value.is_empty()
            && *existing_claims.entry(&volume.claim_name.value).or_insert(index) != index
        {
            let found = format!("is already the claim of another volume ({:?})", shorten(&volume.claim_name.value));
            refuse(&path.clone().claim_name(), &found, "a claim of its own");
        }
        if volume.purpose.value != VolumePurpose::Custom
            && *caches.entry(volume.purpose.value).or_insert(index) != index
        {
            let found = format!("is already the purpose of another volume ({})", volume.purpose.value.as_str());
            refuse(&path.clone().purpose(), &found, "one volume for each cache");
        }
    }
}

/// Returns whether `path` is the directory `mount` or lies in it.
pub(super) fn contains_path(mount: &str, path: &str) -> bool {
    let mount = mount.trim_end_matches('/');
    path.strip_prefix(mount).is_some_and(|rest| !mount.is_empty() && (rest.is_empty() || rest.starts_with('/')))
}

fn validate_volume(
    wire: &StorageVolume,
    path: &PathOf<StorageVolume>,
    deployment: &str,
    check: &mut Checker<'_, '_>,
) -> Volume {
    let name = wire.name.clone().unwrap_or_default();
    let purpose_unread = wire.purpose.is_none() && !check.is_absent(&path.clone().purpose());
    let purpose = Leaf::or_default(wire.purpose, VolumePurpose::Custom);
    let mount_path = validate_mount_path(wire, path, (!purpose_unread).then_some(purpose.value), check);
    let new_claim = validate_new_claim(wire, path, check);
    let claim_name = validate_claim_name(wire, path, format!("{deployment}-{name}"), check);
    Volume { name, purpose, mount_path, claim_name, new_claim, read_only: Leaf::or_default(wire.read_only, false) }
}

/// Validates the mount path. `purpose` decides the default; `None` for one that could not be read.
fn validate_mount_path(
    wire: &StorageVolume,
    path: &PathOf<StorageVolume>,
    purpose: Option<VolumePurpose>,
    check: &mut Checker<'_, '_>,
) -> Leaf<String> {
    let path = path.clone().mount_path();
    if let Some(mount_path) = non_empty(wire.mount_path.as_deref()) {
        check.check_syntax(&codes::INVALID_VOLUME, &path, mount_path, check_mount_path(mount_path));
        return Leaf::written(mount_path.to_owned());
    }
    let default = match purpose {
        Some(VolumePurpose::ModelCache) => "/model-cache",
        Some(VolumePurpose::CompilationCache) => "/compilation-cache",
        Some(VolumePurpose::Custom) => {
            if check.is_missing(wire.mount_path.as_deref(), &path) {
                let message = format!("{path} {}", messages::MOUNT_PATH_REQUIRED);
                check.findings.report(&codes::REQUIRED_FIELD, &path, message);
            }
            ""
        }
        None => "",
    };
    Leaf::defaulted(default.to_owned())
}

fn check_mount_path(path: &str) -> SyntaxResult {
    if !path.starts_with('/') || path.trim_end_matches('/').is_empty() {
        Err(messages::MOUNT_BELOW_ROOT)
    } else if path.split('/').any(|part| part == "..") {
        Err(messages::PATH_UPWARDS)
    } else if path.contains([':', '$']) || path.chars().any(char::is_control) {
        // Environment variables for caches contain the path, and the kubelet expands `$(NAME)` in them.
        Err(messages::MOUNT_CHARACTERS)
    } else {
        Ok(())
    }
}

fn validate_claim_name(
    wire: &StorageVolume,
    path: &PathOf<StorageVolume>,
    default: String,
    check: &mut Checker<'_, '_>,
) -> Leaf<String> {
    let path_to_name = path.clone().claim_name();
    if let Some(claim) = non_empty(wire.claim_name.as_deref()) {
        return Leaf::written(claim.to_owned());
    }
    if check.is_absent(&path.clone().size()) && check.is_missing(wire.claim_name.as_deref(), &path_to_name) {
        check
            .findings
            .report(&codes::REQUIRED_FIELD, &path_to_name, format!("{path_to_name} {}", messages::CLAIM_NAME_REQUIRED))
            .help("set it to an existing PersistentVolumeClaim, or set size for a new one");
    }
    Leaf::derived(default)
}

fn validate_new_claim(
    wire: &StorageVolume,
    path: &PathOf<StorageVolume>,
    check: &mut Checker<'_, '_>,
) -> Option<NewClaim> {
    let class = wire.storage_class_name.as_deref();
    if check.is_absent(&path.clone().size()) {
        refuse_without_size(&codes::INVALID_VOLUME, &path.clone().storage_class_name(), check);
        refuse_without_size(&codes::INVALID_VOLUME, &path.clone().access_mode(), check);
        return None;
    }
    let size = wire.size.as_ref()?;
    Some(NewClaim {
        size: size.0.clone(),
        storage_class_name: class.map(str::to_owned),
        access_mode: Leaf::or_default(wire.access_mode, AccessMode::ReadWriteMany),
    })
}

/// Reports a field of a new claim that is given without a size.
fn refuse_without_size(code: &'static Code, path: &FieldPath, check: &mut Checker<'_, '_>) {
    if check.is_present(path) {
        let message = format!("{path} {}", messages::ONLY_FOR_NEW_CLAIM);
        check.findings.report(code, FieldRef::key(path), message);
    }
}
