//! The storage volumes of each component.

use super::component::CompilationCache;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir;
use kubefoundry_deployment::ir::{Deployment, EngineType, Worker};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::pod::{Volume, VolumeMount};
use kubefoundry_kubernetes::wire::EnvVar;
use kubefoundry_provider::pod;

/// The storage of one component.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ComponentStorage {
    pub(super) volumes: Vec<Volume>,
    pub(super) mounts: Vec<VolumeMount>,
    /// The compilation cache that the operator mounts.
    pub(super) compilation_cache: Option<CompilationCache>,
    /// Environment variables that point the engine to its caches. Variables of the user win.
    pub(super) env: Vec<EnvVar>,
}

impl ComponentStorage {
    /// Selects the volumes for which `is_wanted` holds, with their mounts.
    fn select<'d>(deployment: &'d Deployment, is_wanted: impl Fn(&'d ir::Volume) -> bool) -> Self {
        let wanted: Vec<bool> = deployment.model.volumes.iter().map(is_wanted).collect();
        let volumes = pod::storage_volumes(deployment).into_iter().zip(&wanted);
        let mounts = pod::storage_mounts(deployment).into_iter().zip(&wanted);
        Self {
            volumes: volumes.filter_map(|(volume, wanted)| wanted.then_some(volume)).collect(),
            mounts: mounts.filter_map(|(mount, wanted)| wanted.then_some(mount)).collect(),
            ..Self::default()
        }
    }
}

/// Returns the storage of a worker: every volume. The operator mounts the first compilation cache and points vLLM to
/// it. If the operator cannot mount it as requested, it is an ordinary volume, and an environment variable points vLLM
/// to it.
pub(super) fn worker_storage(deployment: &Deployment, worker: &Worker) -> ComponentStorage {
    let volumes = &deployment.model.volumes;
    let cache = pod::compilation_caches(deployment).next();
    let written = pod::written_volumes(deployment);
    let written_mounts = pod::written_mounts(&worker.engine_container);
    // A volume that the operator mounts has another name in the pod, by which a mount of the user would not find it.
    let operator_cache = cache.filter(|cache| {
        operator_can_mount(cache, volumes)
            && !written.iter().any(|volume| volume.name == cache.claim_name.value)
            && !written_mounts.iter().any(|mount| mount.name == cache.name)
    });
    let mut storage = ComponentStorage::select(deployment, |volume| {
        operator_cache.is_none_or(|operator_cache| operator_cache.name != volume.name)
    });
    storage.compilation_cache = operator_cache.map(|cache| CompilationCache {
        claim: cache.claim_name.value.clone(),
        mount_path: cache.mount_path.value.clone(),
    });
    if operator_cache.is_none() && deployment.engine.kind == EngineType::Vllm {
        storage.env.extend(pod::compilation_cache_root(deployment));
    }
    storage.env.extend(pod::model_cache_home(deployment));
    storage.volumes.extend(written);
    storage.mounts.extend(written_mounts);
    storage
}

/// Returns whether the operator can mount a compilation cache as requested. It mounts the cache for writing, as a
/// volume with the name of the claim, which must be a DNS label and not the name of another volume
/// (applyCompilationCache in deploy/operator/internal/dynamo/graph.go).
fn operator_can_mount(cache: &ir::Volume, volumes: &[ir::Volume]) -> bool {
    let claim = cache.claim_name.value.as_str();
    let is_taken =
        |volume: &ir::Volume| volume.name != cache.name && (volume.name == claim || volume.claim_name.value == claim);
    claim != SHARED_MEMORY_VOLUME
        && !cache.read_only.value
        && claim.len() <= 63
        && !claim.contains('.')
        && !volumes.iter().any(is_taken)
}

/// Returns the storage of the frontend: only the volumes and mounts that contain the model's path. The frontend reads the
/// tokenizer from the path that the worker registers, or else from Hugging Face (ai-dynamo/dynamo #3659).
pub(super) fn frontend_storage(deployment: &Deployment) -> ComponentStorage {
    let Some(id) = deployment.model.id.as_deref().filter(|id| id.starts_with('/')) else {
        return ComponentStorage::default();
    };
    let contains = |mount: &str| {
        let rest = id.strip_prefix(mount.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut storage = ComponentStorage::select(deployment, |volume| contains(&volume.mount_path.value));
    let written = pod::written_mounts(&deployment.engine_container).into_iter();
    storage.mounts.extend(written.filter(|mount| contains(&mount.mount_path)));
    let is_mounted = |volume: &Volume| storage.mounts.iter().any(|mount| mount.name == volume.name);
    let all = pod::storage_volumes(deployment).into_iter().chain(pod::written_volumes(deployment));
    storage.volumes = all.filter(is_mounted).collect();
    storage
}

/// The volume that the operator adds for `/dev/shm`. It removes another volume of this name and other mounts there
/// (ApplySharedMemoryVolumeAndMount in `deploy/operator/internal/dynamo`).
const SHARED_MEMORY_VOLUME: &str = "shared-memory";

/// Reports volumes that the operator would remove, and warns about compilation caches without effect: Dynamo configures
/// vLLM's cache only.
pub(super) fn check_volumes(deployment: &Deployment, findings: &mut Findings<'_>) {
    pod::refuse_shared_memory_name(deployment, SHARED_MEMORY_VOLUME, "Dynamo", findings);
    if let Some((index, _)) = pod::find_shared_memory_mount(deployment) {
        let path = ModelDeployment::path().spec().model().storage().volumes().index(index).mount_path();
        let message = format!("{path} is /dev/shm, where Dynamo mounts its own shared memory");
        findings.report(&codes::INVALID_VOLUME, &path, message).help("mount the volume elsewhere, or remove it");
    }
    let engine = deployment.engine.kind;
    pod::ignore_compilation_caches(
        deployment,
        usize::from(engine == EngineType::Vllm),
        &format!("{engine} is not configured to store compilation results there"),
        "use purpose: custom, and set the engine's own variable in spec.env: Dynamo configures only vLLM, and only \
         one volume",
        findings,
    );
}
