//! Import of the volumes of workers that are not model data, and of mounts that `model.storage` cannot say.

use serde_json::Value;

use crate::draft::{Draft, items_at, string_at};

/// The sources of volumes that `spec.podTemplate.spec.volumes` has.
const SOURCES: &[&str] = &["configMap", "emptyDir", "hostPath", "persistentVolumeClaim", "secret"];

/// Returns whether `model.storage` can say a claim and its mount.
pub(super) fn is_plain(volume: &Value, mount: Option<&Value>) -> bool {
    let has_only = |value: Option<&Value>, names: &[&str]| {
        let mut fields = value.and_then(Value::as_object).into_iter().flatten();
        fields.all(|(name, value)| names.contains(&name.as_str()) || value.is_null())
    };
    has_only(volume.get("persistentVolumeClaim"), &["claimName"]) && has_only(mount, &["mountPath", "name", "readOnly"])
}

/// Imports the mounts of a container that its storage volumes do not say, with the volumes of the pod except those of other
/// containers, which are not imported.
pub(super) fn import_further_volumes(spec: &Value, container: &Value, draft: &mut Draft) {
    let is_shared_memory =
        |mount: &Value| string_at(mount, "/mountPath").is_some_and(|path| path.trim_end_matches('/') == "/dev/shm");
    let mounts: Vec<&Value> =
        items_at(container, "/volumeMounts").iter().filter(|mount| !is_shared_memory(mount)).collect();
    let is_stored = |name: &str| draft.volumes.iter().any(|volume| string_at(volume, "/name") == Some(name));
    let mut volumes = Vec::new();
    for volume in items_at(spec, "/volumes").iter().filter(|volume| has_supported_source(volume)) {
        let Some(name) = string_at(volume, "/name").filter(|name| !is_stored(name)) else { continue };
        let is_mounted = mounts.iter().any(|mount| string_at(mount, "/name") == Some(name));
        if is_mounted || !is_mounted_anywhere(spec, container, name) {
            volumes.push(without_null(volume));
        }
    }
    let further = mounts.into_iter().filter(|mount| {
        let has_name = |volume: &&Value| string_at(volume, "/name") == string_at(mount, "/name");
        let stored = draft.volumes.iter().find(has_name);
        stored.is_some_and(|stored| mount_path(stored) != string_at(mount, "/mountPath"))
            || volumes.iter().any(|volume| has_name(&volume))
    });
    let further: Vec<Value> = further.map(without_null).collect();
    draft.volume_mounts = further;
    if !volumes.is_empty() {
        draft.pod_spec.insert("volumes".to_owned(), Value::Array(volumes));
    }
}

/// Returns whether a container of a pod mounts a volume. `main` may be outside of the pod (Dynamo's `mainContainer`).
fn is_mounted_anywhere(spec: &Value, main: &Value, name: &str) -> bool {
    let containers = ["/containers", "/initContainers"].into_iter().flat_map(|list| items_at(spec, list));
    let mut mounts = containers.chain([main]).flat_map(|container| items_at(container, "/volumeMounts"));
    mounts.any(|mount| string_at(mount, "/name") == Some(name))
}

/// Returns the path at which a storage volume is mounted.
fn mount_path(stored: &Value) -> Option<&str> {
    string_at(stored, "/mountPath").or_else(|| match string_at(stored, "/purpose")? {
        "modelCache" => Some("/model-cache"),
        "compilationCache" => Some("/compilation-cache"),
        _ => None,
    })
}

/// Returns whether a volume has exactly one source, which `spec.podTemplate.spec.volumes` has too.
fn has_supported_source(volume: &Value) -> bool {
    let fields = volume.as_object().into_iter().flatten();
    let sources: Vec<&str> =
        fields.filter(|(name, value)| *name != "name" && !value.is_null()).map(|(name, _)| name.as_str()).collect();
    matches!(sources.as_slice(), [source] if SOURCES.contains(source))
}

/// Returns an entry without the fields that are null.
fn without_null(entry: &Value) -> Value {
    let fields = entry.as_object().into_iter().flatten();
    fields.filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.clone(), value.clone())).collect()
}
