//! Which component gets which storage volume, and how.

use super::component::CompilationCache;
use crate::codes;
use crate::ir;
use crate::ir::{Deployment, EngineType};
use crate::providers::pod;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::pod::{Volume, VolumeMount};
use kubefoundry_kubernetes::wire::EnvVar;

/// The storage of one component.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Storage {
    /// Volumes of the pod.
    pub(super) volumes: Vec<Volume>,
    /// Where they are mounted.
    pub(super) mounts: Vec<VolumeMount>,
    /// The compilation cache that the operator mounts.
    pub(super) compilation_cache: Option<CompilationCache>,
    /// Variables that tell the engine of them, unless the user set those.
    pub(super) env: Vec<EnvVar>,
}

impl Storage {
    fn of<'d>(deployment: &'d Deployment, wanted: impl Fn(&'d ir::Volume) -> bool) -> Self {
        let wanted: Vec<bool> = deployment.model.volumes.iter().map(wanted).collect();
        let volumes = pod::storage_volumes(deployment).into_iter().zip(&wanted);
        let mounts = pod::storage_mounts(deployment).into_iter().zip(&wanted);
        Self {
            volumes: volumes.filter_map(|(volume, wanted)| wanted.then_some(volume)).collect(),
            mounts: mounts.filter_map(|(mount, wanted)| wanted.then_some(mount)).collect(),
            ..Self::default()
        }
    }
}

/// The storage of a worker: every volume. One compilation cache is given to the operator, which points vLLM at it; where
/// its field cannot say what is wanted, the volume is an ordinary one and vLLM is told here.
pub(super) fn of_worker(deployment: &Deployment) -> Storage {
    let volumes = &deployment.model.volumes;
    let cache = pod::compilation_caches(deployment).next();
    let native = cache.filter(|cache| operator_can_mount(cache, volumes));
    let mut storage = Storage::of(deployment, |volume| native.is_none_or(|native| native.name != volume.name));
    storage.compilation_cache = native.map(|cache| CompilationCache {
        claim: cache.claim_name.value.clone(),
        mount_path: cache.mount_path.value.clone(),
    });
    if native.is_none() && deployment.engine.kind == EngineType::Vllm {
        storage.env.extend(pod::compilation_cache_root(deployment));
    }
    storage.env.extend(pod::model_cache_home(deployment));
    storage
}

/// The operator mounts a compilation cache for writing, as a volume with the claim's own name: that must be a label, and
/// no other volume's name (applyCompilationCache in deploy/operator/internal/dynamo/graph.go).
fn operator_can_mount(cache: &ir::Volume, volumes: &[ir::Volume]) -> bool {
    let claim = cache.claim_name.value.as_str();
    let taken =
        |volume: &ir::Volume| volume.name != cache.name && (volume.name == claim || volume.claim_name.value == claim);
    claim != SHARED_MEMORY
        && !cache.read_only.value
        && claim.len() <= 63
        && !claim.contains('.')
        && !volumes.iter().any(taken)
}

/// The storage of the frontend: the volume that a model's path lies on, and nothing else. The frontend reads the
/// tokenizer from the path that the worker registered, else from Hugging Face (ai-dynamo/dynamo #3659).
pub(super) fn of_frontend(deployment: &Deployment) -> Storage {
    let Some(id) = deployment.model.id.as_deref().filter(|id| id.starts_with('/')) else {
        return Storage::default();
    };
    Storage::of(deployment, |volume| {
        let rest = id.strip_prefix(volume.mount_path.value.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// The volume that the operator adds for `/dev/shm`: one of that name, and a mount there, it removes
/// (ApplySharedMemoryVolumeAndMount in `deploy/operator/internal/dynamo`).
const SHARED_MEMORY: &str = "shared-memory";

/// Refuses what the operator would remove, and warns of compilation caches that nothing is pointed at: Dynamo knows
/// vLLM's variable only.
pub(super) fn check(deployment: &Deployment, findings: &mut Findings<'_>) {
    pod::refuse_shared_memory_name(deployment, SHARED_MEMORY, "Dynamo", findings);
    if let Some((index, _)) = pod::mounted_as_shared_memory(deployment) {
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
