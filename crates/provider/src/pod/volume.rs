//! Storage: claims, their volumes and mounts in pods, and shared memory.

use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir;
use kubefoundry_deployment::ir::{Deployment, EngineContainer, NewClaim, VolumePurpose};
use kubefoundry_deployment::wire::AccessMode;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::pod::{ClaimSource, EmptyDir, SpecBody, StringMap, Volume, VolumeMount, env_value};
use kubefoundry_kubernetes::wire::EnvVar;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;
use serde_json::{Map, Value};

/// Returns `spec.model.storage.volumes` as volumes of a pod.
pub fn storage_volumes(deployment: &Deployment) -> Vec<Volume> {
    let claim = |volume: &ir::Volume| Volume {
        name: volume.name.clone(),
        persistent_volume_claim: Some(ClaimSource { claim_name: volume.claim_name.value.clone() }),
        ..Volume::default()
    };
    deployment.model.volumes.iter().map(claim).collect()
}

/// Returns `spec.model.storage.volumes` as mounts of a container.
pub fn storage_mounts(deployment: &Deployment) -> Vec<VolumeMount> {
    let mount = |volume: &ir::Volume| VolumeMount {
        name: volume.name.clone(),
        mount_path: volume.mount_path.value.clone(),
        read_only: volume.read_only.value,
        ..VolumeMount::default()
    };
    deployment.model.volumes.iter().map(mount).collect()
}

/// Returns `spec.podTemplate.spec.volumes` as volumes of a pod.
pub fn written_volumes(deployment: &Deployment) -> Vec<Volume> {
    let volume = |node: &Node<'_>| {
        let (name, written) = split_name(node);
        Volume { name, written, ..Volume::default() }
    };
    deployment.pod_spec.volumes.iter().map(volume).collect()
}

/// Returns the mounts that the user writes as mounts of a container.
pub fn written_mounts(container: &EngineContainer) -> Vec<VolumeMount> {
    let mount = |node: &Node<'_>| {
        let (name, mut written) = split_name(node);
        let mount_path = text(written.shift_remove("mountPath"));
        VolumeMount { name, mount_path, written, ..VolumeMount::default() }
    };
    container.volume_mounts.iter().map(mount).collect()
}

/// Returns the name and the other fields of an entry, without those that are null.
fn split_name(entry: &Node<'_>) -> (String, Map<String, Value>) {
    let Value::Object(mut fields) = entry.to_json() else { return (String::new(), Map::new()) };
    fields.retain(|_, value| !value.is_null());
    let name = text(fields.shift_remove("name"));
    (name, fields)
}

/// Returns a string. The pipeline reports a value of another type, so its form does not matter.
fn text(value: Option<Value>) -> String {
    match value {
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// Returns the variable `HF_HOME`, which makes the first `modelCache` volume hold the downloads from Hugging Face.
/// Callers must not override a variable of this name that the user set.
pub fn model_cache_home(deployment: &Deployment) -> Option<EnvVar> {
    let (_, cache) = volumes_of_purpose(deployment, VolumePurpose::ModelCache).next()?;
    Some(env_value("HF_HOME", &cache.mount_path.value))
}

/// Returns the variable `VLLM_CACHE_ROOT`, which makes the first `compilationCache` volume hold vLLM's compilation
/// results. Callers must not override a variable of this name that the user set.
pub fn compilation_cache_root(deployment: &Deployment) -> Option<EnvVar> {
    let cache = compilation_caches(deployment).next()?;
    Some(env_value("VLLM_CACHE_ROOT", &cache.mount_path.value))
}

/// Returns the `compilationCache` volumes in input order.
pub fn compilation_caches(deployment: &Deployment) -> impl Iterator<Item = &ir::Volume> {
    volumes_of_purpose(deployment, VolumePurpose::CompilationCache).map(|(_, volume)| volume)
}

/// Warns about all but the first `compilationCache` volume, the only one that vLLM uses.
pub fn ignore_further_compilation_caches(deployment: &Deployment, findings: &mut Findings<'_>) {
    let why = "vLLM stores compilation results only on the first such volume";
    ignore_compilation_caches(deployment, 1, why, "use purpose: custom for this volume", findings);
}

/// Warns about the `compilationCache` volumes that the engine does not use: all but the first `used`.
pub fn ignore_compilation_caches(
    deployment: &Deployment,
    used: usize,
    why: &str,
    help: &'static str,
    findings: &mut Findings<'_>,
) {
    for (index, volume) in volumes_of_purpose(deployment, VolumePurpose::CompilationCache).skip(used) {
        let path = ModelDeployment::path().spec().model().storage().volumes().index(index).purpose();
        let message = format!("volume {} is mounted at {}, but {why}", volume.name, volume.mount_path.value);
        findings.report(&codes::FIELD_IGNORED, &path, message).help(help);
    }
}

/// Reports a volume with the name of upstream's own volume for `/dev/shm`, which upstream would confuse with it.
pub fn refuse_shared_memory_name(deployment: &Deployment, name: &str, upstream: &str, findings: &mut Findings<'_>) {
    let position = deployment.model.volumes.iter().position(|volume| volume.name == name);
    if let Some(index) = position {
        let path = ModelDeployment::path().spec().model().storage().volumes().index(index).name();
        let message = format!("{path} is {name}, the name of {upstream}'s own volume for /dev/shm");
        findings.report(&codes::INVALID_VOLUME, &path, message).help("rename the volume");
    }
    let position = deployment.pod_spec.volumes.iter().position(|volume| written_name(volume) == Some(name));
    if let Some(index) = position {
        let path = ModelDeployment::path().spec().pod_template().spec().volumes();
        let path = FieldPath::from(path).index(index).key("name");
        let message = format!("{path} is {name}, the name of {upstream}'s own volume for /dev/shm");
        findings.report(&codes::POD_VOLUME_NAME, &path, message).help("rename the volume");
    }
}

/// Returns the name of an entry of `podTemplate.spec.volumes`.
fn written_name<'n>(entry: &'n Node<'_>) -> Option<&'n str> {
    entry.get("name")?.as_str()
}

/// Returns the first volume that is mounted at `/dev/shm`, with its index.
pub fn find_shared_memory_mount(deployment: &Deployment) -> Option<(usize, &ir::Volume)> {
    let is_shared_memory = |volume: &ir::Volume| volume.mount_path.value.trim_end_matches('/') == "/dev/shm";
    deployment.model.volumes.iter().enumerate().find(|(_, volume)| is_shared_memory(volume))
}

/// Returns the volumes of a purpose with their indices.
fn volumes_of_purpose(deployment: &Deployment, purpose: VolumePurpose) -> impl Iterator<Item = (usize, &ir::Volume)> {
    let volumes = deployment.model.volumes.iter().enumerate();
    volumes.filter(move |(_, volume)| volume.purpose.value == purpose)
}

/// Returns a memory volume for `/dev/shm` with its mount, or `None` if a storage volume is mounted there. Tensor
/// parallel ranks communicate through it, and the default of Kubernetes, 64 MiB, is too small (docs/design/0010). The
/// name differs from those of the other volumes.
pub fn shared_memory(deployment: &Deployment, size_limit: &str) -> Option<(Volume, VolumeMount)> {
    let volumes = &deployment.model.volumes;
    if find_shared_memory_mount(deployment).is_some() {
        return None;
    }
    let mut name = "dshm".to_owned();
    let is_written = |name: &str| deployment.pod_spec.volumes.iter().any(|volume| written_name(volume) == Some(name));
    while volumes.iter().any(|volume| volume.name == name) || is_written(&name) {
        name.push_str("-0");
    }
    let empty_dir = EmptyDir { medium: Some("Memory"), size_limit: Some(size_limit.to_owned()) };
    let volume = Volume { name: name.clone(), empty_dir: Some(empty_dir), ..Volume::default() };
    Some((volume, VolumeMount { name, mount_path: "/dev/shm".to_owned(), ..VolumeMount::default() }))
}

#[derive(Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct ClaimSpec {
    access_modes: [AccessMode; 1],
    resources: ClaimResources,
    #[serde(skip_serializing_if = "Option::is_none")]
    storage_class_name: Option<String>,
}

#[derive(Debug, serde::Serialize)]
struct ClaimResources {
    requests: StringMap,
}

/// Returns the PersistentVolumeClaims to create, in input order (docs/design/0010).
pub fn claims(deployment: &Deployment) -> Vec<Manifest> {
    let claim = |name: &str, new_claim: &NewClaim| {
        let spec = ClaimSpec {
            access_modes: [new_claim.access_mode.value],
            resources: ClaimResources { requests: StringMap::from_entry("storage", &new_claim.size) },
            storage_class_name: new_claim.storage_class_name.clone(),
        };
        Manifest::new("v1", "PersistentVolumeClaim", name, SpecBody { spec })
    };
    let volumes = deployment.model.volumes.iter();
    volumes.filter_map(|volume| Some(claim(&volume.claim_name.value, volume.new_claim.as_ref()?))).collect()
}
