//! Validation of the further volumes of workers and of their mounts: what Kubernetes' own structure, against which the
//! pipeline checks them, cannot say.

use std::collections::BTreeMap;

use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{EngineContainer, Volume, Workload};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::FieldRef;
use kubefoundry_kubernetes::check::{Checker, report_token};
use kubefoundry_kubernetes::names;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{closest, one_of, shorten};
use kubefoundry_yaml::{Node, Value};

/// The sources that a volume may have.
const SOURCES: &[&str] = &["configMap", "emptyDir", "hostPath", "persistentVolumeClaim", "secret"];

/// Where every provider mounts shared memory, in some or all of its workers.
const SHARED_MEMORY: &str = "/dev/shm";

/// A list of mounts, of all workers or of a role.
pub(super) struct MountList<'m> {
    path: FieldPath,
    mounts: &'m [Node<'static>],
}

/// Returns the list of mounts of all workers, and those of the roles.
pub(super) fn mount_lists<'m>(common: &'m EngineContainer, workload: &'m Workload) -> Vec<MountList<'m>> {
    let path = ModelDeployment::path().spec().volume_mounts().into();
    let mut lists = vec![MountList { path, mounts: &common.volume_mounts }];
    lists.extend(workload.workers().into_iter().filter_map(|worker| {
        Some(MountList {
            path: worker.role_path()?.volume_mounts().into(),
            mounts: &worker.written_container.volume_mounts,
        })
    }));
    lists
}

/// Checks the volumes and the mounts of workers. `storage` are the volumes for model data, in the same pods.
pub(super) fn check_volumes(
    volumes: &[Node<'_>],
    mounts: &[MountList<'_>],
    storage: &[Volume],
    check: &mut Checker<'_, '_>,
) {
    let errors = check.findings.error_count();
    for (index, volume) in volumes.iter().enumerate() {
        check_source(volume, &volume_path(index), check);
    }
    let names = check_names(volumes, storage, check);
    if !has_unread_volumes(volumes, storage, check) {
        for list in mounts {
            report_unknown_volumes(list, &names, volumes.is_empty(), check);
        }
    }
    for list in mounts {
        check_mount_paths(list, storage, check);
    }
    if check.findings.error_count() > errors {
        // With a name corrected, other volumes are mounted.
        return;
    }
    for (name, place) in &names {
        let Place::Written(index) = *place else { continue };
        let mut all = mounts.iter().flat_map(|list| list.mounts);
        if !all.any(|mount| written_name(mount) == Some(name)) {
            let path = volume_path(index).key("name");
            let message = format!("{path} is {:?}, which no entry of spec.volumeMounts mounts", shorten(name));
            check
                .findings
                .report(&codes::UNUSED_VOLUME, &path, message)
                .help("mount the volume in spec.volumeMounts, or remove it");
        }
    }
}

/// Where a volume is declared.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// The index in `spec.model.storage.volumes`.
    Storage(usize),
    /// The index in `spec.podTemplate.spec.volumes`.
    Written(usize),
}

impl Place {
    fn name_path(self) -> FieldPath {
        match self {
            Self::Storage(index) => {
                ModelDeployment::path().spec().model().storage().volumes().index(index).name().into()
            }
            Self::Written(index) => volume_path(index).key("name"),
        }
    }
}

fn volume_path(index: usize) -> FieldPath {
    FieldPath::from(ModelDeployment::path().spec().pod_template().spec().volumes()).index(index)
}

/// Reports a volume that has not exactly one of the sources that a worker may use. A value of the wrong type is left to
/// the check of the structure.
fn check_source(volume: &Node<'_>, path: &FieldPath, check: &mut Checker<'_, '_>) {
    if !matches!(volume.value, Value::Mapping(_)) {
        return;
    }
    let written = volume.entries().iter().filter(|entry| entry.key != "name" && entry.node.value != Value::Null);
    let (sources, others): (Vec<_>, Vec<_>) = written.partition(|entry| SOURCES.contains(&entry.key.as_ref()));
    for entry in &others {
        let key = path.key(entry.key.clone().into_owned());
        let message = format!("{key} is not a source that workers support, expected {}", one_of(SOURCES));
        let reported = check.findings.report(&codes::POD_VOLUME_SOURCE, FieldRef::key(&key), message);
        if let Some(meant) = closest(&entry.key, SOURCES.iter().copied()) {
            reported.help(format!("did you mean {meant}?"));
        }
    }
    if let Some(name) = volume.get("secret").and_then(|secret| secret.get("secretName")).and_then(Node::as_str) {
        let path = path.join("secret.secretName");
        report_token(check.findings, &path, name, names::dns_1123_subdomain(name).is_ok());
    }
    match sources.as_slice() {
        [] if others.is_empty() => {
            let message = format!("{path} has no source, expected {}", one_of(SOURCES));
            check.findings.report(&codes::POD_VOLUME_SOURCE, path, message);
        }
        [first, second, ..] => {
            let [first, second] = [first, second].map(|entry| path.key(entry.key.clone().into_owned()));
            let message = format!("{second} is a second source of the volume, expected exactly one");
            check
                .findings
                .report(&codes::POD_VOLUME_SOURCE, FieldRef::key(&second), message)
                .related(&first, "the other source")
                .help("declare a volume for each source");
        }
        _ => {}
    }
}

/// Checks the names of the volumes. Returns the place of each name in the pod.
fn check_names<'v>(
    volumes: &'v [Node<'_>],
    storage: &'v [Volume],
    check: &mut Checker<'_, '_>,
) -> BTreeMap<&'v str, Place> {
    let stored = storage.iter().enumerate().map(|(index, volume)| (volume.name.as_str(), Place::Storage(index)));
    let mut places: BTreeMap<&str, Place> = stored.collect();
    for (index, volume) in volumes.iter().enumerate() {
        let Some(name) = written_name(volume) else { continue };
        let path = volume_path(index).key("name");
        check.check_syntax(&codes::POD_VOLUME_NAME, &path, name, names::dns_1123_label(name));
        if let Some(first) = places.get(name) {
            let message = format!("{path} is {:?}, the name of another volume in the same pod", shorten(name));
            check
                .findings
                .report(&codes::POD_VOLUME_NAME, &path, message)
                .related(&first.name_path(), "the other volume")
                .help("rename the volume, and its mounts in spec.volumeMounts");
        } else {
            places.insert(name, Place::Written(index));
        }
    }
    places
}

/// Returns whether a list of volumes could not be read, which is reported already.
fn has_unread_volumes(volumes: &[Node<'_>], storage: &[Volume], check: &Checker<'_, '_>) -> bool {
    let spec = || ModelDeployment::path().spec();
    volumes.is_empty() && has_entries(&spec().pod_template().spec().volumes(), check)
        || storage.is_empty() && has_entries(&spec().model().storage().volumes(), check)
}

/// Returns whether the document has entries at the path of a list, or something that is not a list.
pub(super) fn has_entries(list: &FieldPath, check: &Checker<'_, '_>) -> bool {
    match check.findings.scope().root.at(list).map(|node| &node.value) {
        None | Some(Value::Null) => false,
        Some(Value::Sequence(items)) => !items.is_empty(),
        Some(_) => true,
    }
}

/// Reports mounts of volumes that do not exist.
fn report_unknown_volumes(
    list: &MountList<'_>,
    names: &BTreeMap<&str, Place>,
    has_no_volumes: bool,
    check: &mut Checker<'_, '_>,
) {
    for (index, mount) in list.mounts.iter().enumerate() {
        let Some(name) = written_name(mount).filter(|name| !names.contains_key(name)) else { continue };
        let path = list.path.index(index).key("name");
        let message = format!("{path} is {:?}, but the workers have no such volume", shorten(name));
        let reported = check.findings.report(&codes::UNKNOWN_VOLUME, &path, message);
        match closest(name, names.keys().copied()) {
            Some(meant) => reported.help(format!("did you mean {meant:?}?")),
            None if has_no_volumes => reported.help("declare the volume in spec.podTemplate.spec.volumes"),
            None => reported.help("declare the volume in spec.podTemplate.spec.volumes, or correct the name"),
        };
    }
}

/// Reports mounts at a path where something else is mounted.
fn check_mount_paths(list: &MountList<'_>, storage: &[Volume], check: &mut Checker<'_, '_>) {
    let stored = storage.iter().enumerate().map(|(index, volume)| {
        let path = ModelDeployment::path().spec().model().storage().volumes().index(index).mount_path();
        (volume.mount_path.value.trim_end_matches('/'), FieldPath::from(path))
    });
    let mut taken: BTreeMap<&str, FieldPath> = stored.collect();
    for (index, mount) in list.mounts.iter().enumerate() {
        let Some(at) = mount.get("mountPath").and_then(Node::as_str) else { continue };
        let path = list.path.index(index).key("mountPath");
        let at = at.trim_end_matches('/');
        if at == SHARED_MEMORY {
            let size = ModelDeployment::path().spec().resources().shared_memory();
            let message = format!("{path} is {SHARED_MEMORY}, where providers mount the shared memory of workers");
            check
                .findings
                .report(&codes::MOUNT_PATH_IN_USE, &path, message)
                .help(format!("remove the mount, and set {size} to the size that you need"));
        } else if let Some(first) = taken.get(at) {
            let message = format!("{path} is {:?}, where another volume is mounted", shorten(at));
            check.findings.report(&codes::MOUNT_PATH_IN_USE, &path, message).related(first, "the other mount");
        } else {
            taken.insert(at, path);
        }
    }
}

/// Returns the name of a volume, or the volume that a mount names, unless it is absent or has the wrong type.
fn written_name<'n>(entry: &'n Node<'_>) -> Option<&'n str> {
    entry.get("name")?.as_str().filter(|name| !name.is_empty())
}
