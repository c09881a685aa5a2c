//! A deployment after validation: defaults are applied, choices are made, and each value knows its origin.

mod engine_container;
mod frontend;
mod gateway;
mod known_gpu;
mod leaves;
mod resources;

use std::sync::Arc;

pub use engine_container::{EngineContainer, Probes};
pub use frontend::{Frontend, ResourceAmount};
pub use gateway::Gateway;
pub use known_gpu::{KnownGpu, NodeGpu};
pub use leaves::LeafEntry;
pub use resources::{Amount, ContainerResources, WrittenResources, amount_of};

pub use crate::wire::{AccessMode, ContainerClaim, EngineType, ModelSource, ServingMode, VolumePurpose};
use crate::wire::{Gpu, ModelDeployment, PodResourceClaim, RoleScaling};
use kubefoundry_kubernetes::api_group::ApiGroup;
pub use kubefoundry_kubernetes::wire::{EnvVar, Toleration};
use kubefoundry_kubernetes::wire::{PathOf, ValuePath};
pub use kubefoundry_transform::FieldOrigin;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

/// A value with its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf<T> {
    /// The value after defaulting.
    pub value: T,
    /// Whether the value was written, defaulted or derived.
    pub origin: FieldOrigin,
}

impl<T> Leaf<T> {
    /// Creates a value that the user wrote.
    pub fn written(value: T) -> Self {
        Self { value, origin: FieldOrigin::Written }
    }

    /// Creates a value that is a constant default.
    pub fn defaulted(value: T) -> Self {
        Self { value, origin: FieldOrigin::Defaulted }
    }

    /// Creates a value that follows from other values.
    pub fn derived(value: T) -> Self {
        Self { value, origin: FieldOrigin::Derived }
    }

    /// Creates a leaf of the written value, or of the default if there is none.
    pub fn or_default(written: Option<T>, default: T) -> Self {
        written.map_or_else(|| Self::defaulted(default), Self::written)
    }

    /// Returns whether the user wrote the value.
    pub fn is_written(&self) -> bool {
        self.origin == FieldOrigin::Written
    }
}

/// A validated deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct Deployment {
    /// The group it was written in, with its habits.
    pub api_group: &'static ApiGroup,
    /// Name, namespace, uid, labels and annotations.
    pub metadata: Metadata,
    /// The model and its volumes.
    pub model: Model,
    /// The requested provider, if any, and its overrides.
    pub provider: ProviderRequest,
    /// The engine and its settings.
    pub engine: Engine,
    /// The origin of the serving mode. [`Workload::mode`] is the mode itself.
    pub mode_origin: FieldOrigin,
    /// The workers of each role.
    pub workload: Workload,
    /// The container image that replaces the provider's default, and the field that sets it.
    pub image: Option<(String, FieldPath)>,
    /// Environment variables of the engine's containers.
    pub env: Vec<EnvVar>,
    /// Additional labels of the pods.
    pub pod_labels: Vec<(String, String)>,
    /// Additional annotations of the pods.
    pub pod_annotations: Vec<(String, String)>,
    /// What the user says about the resources of the workers of every role. [`Worker::container`] has the result.
    pub resources: WrittenResources,
    /// The size of `/dev/shm` in the workers. `None` leaves it to the provider.
    pub shared_memory: Option<String>,
    /// What the user says about the engine's container of every role. [`Worker::engine_container`] has the result.
    pub engine_container: EngineContainer,
    /// How the pods are scheduled and ended, and as whom they run.
    pub pod_spec: PodSettings,
    /// The name of the Secret whose keys become environment variables.
    pub hugging_face_token: Option<String>,
    /// The names of the Secrets for pulling images.
    pub image_pull_secrets: Vec<String>,
    /// The labels that a node must have.
    pub node_selector: Vec<(String, String)>,
    /// What the options and the cluster say about the GPU of the nodes.
    pub node_gpu: NodeGpu,
    /// The node taints that the pods tolerate.
    pub tolerations: Vec<Toleration>,
    /// What the user says about the frontend.
    pub frontend: Frontend,
    /// The Gateway through which clients reach the model. `None` without `spec.gateway`.
    pub gateway: Option<Gateway>,
}

/// Fields of a core/v1 PodSpec. Those that are free-form have the structure of Kubernetes, which the pipeline checks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PodSettings {
    /// Rules about nodes and other pods, for workers.
    pub affinity: Option<Node<'static>>,
    /// How workers are spread over zones and nodes.
    pub topology_spread_constraints: Vec<Node<'static>>,
    /// The PriorityClass of all pods.
    pub priority_class_name: Option<String>,
    /// The scheduler of all pods.
    pub scheduler_name: Option<String>,
    /// The ServiceAccount of all pods.
    pub service_account_name: Option<String>,
    /// The RuntimeClass of workers.
    pub runtime_class_name: Option<String>,
    /// The seconds that a worker has to end.
    pub termination_grace_period_seconds: Option<u32>,
    /// The claims for devices of a worker's pod.
    pub resource_claims: Vec<PodResourceClaim>,
    /// Users, groups and kernel settings of workers.
    pub security_context: Option<Node<'static>>,
    /// Whether workers share the IPC namespace of their node. `None` means that they do not.
    pub host_ipc: Option<bool>,
    /// Volumes of workers besides those for model data.
    pub volumes: Vec<Node<'static>>,
}

/// The metadata of a deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// The name: a DNS-1123 label.
    pub name: String,
    /// The namespace. It is never defaulted.
    pub namespace: Option<String>,
    /// The UID in a cluster. Owner references need it.
    pub uid: Option<String>,
    /// The labels in input order.
    pub labels: Vec<(String, String)>,
    /// The annotations in input order.
    pub annotations: Vec<(String, String)>,
}

/// The model of a deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The id. Only a custom model can lack one.
    pub id: Option<String>,
    /// The name in the API: written, or derived from the id. `None` for a custom model.
    pub served_name: Option<Leaf<String>>,
    /// HuggingFace, or the image.
    pub source: Leaf<ModelSource>,
    /// The volumes for weights and caches.
    pub volumes: Vec<Volume>,
    /// What is known about the model; `None` if nothing is.
    pub facts: Option<Arc<kubefoundry_facts::Model>>,
}

/// A volume to mount into the engine's containers.
#[derive(Debug, Clone, PartialEq)]
pub struct Volume {
    /// A DNS label, unique in the deployment.
    pub name: String,
    /// The purpose, which decides the default mount path and the cache variables.
    pub purpose: Leaf<VolumePurpose>,
    /// The absolute path at which it is mounted.
    pub mount_path: Leaf<String>,
    /// The name of the existing or new PersistentVolumeClaim.
    pub claim_name: Leaf<String>,
    /// The claim to render. `None` for an existing claim.
    pub new_claim: Option<NewClaim>,
    /// Whether it is mounted read-only.
    pub read_only: Leaf<bool>,
}

/// A PersistentVolumeClaim to render.
#[derive(Debug, Clone, PartialEq)]
pub struct NewClaim {
    /// The requested size, a Kubernetes quantity.
    pub size: String,
    /// The StorageClass. `None` for the cluster's default, empty for a claim without a class.
    pub storage_class_name: Option<String>,
    /// The access mode.
    pub access_mode: Leaf<AccessMode>,
}

/// The provider that a deployment asks for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProviderRequest {
    /// The provider's name. `None` leaves the choice to selection.
    pub name: Option<String>,
    /// The provider's own settings, which the provider reads at [`ProviderRequest::overrides_path`].
    pub overrides: Option<Node<'static>>,
}

impl ProviderRequest {
    /// Returns the path of the overrides.
    pub fn overrides_path() -> FieldPath {
        ModelDeployment::path().spec().provider().overrides().into()
    }
}

/// The engine and its settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Engine {
    /// The type of engine.
    pub kind: EngineType,
    /// The origin of `kind`: written, or derived from the capabilities of the providers.
    pub kind_origin: FieldOrigin,
    /// The longest context in tokens. `None` leaves it to the engine.
    pub context_length: Option<u32>,
    /// Whether code from the model's repository may run.
    pub trust_remote_code: Leaf<bool>,
    /// Whether prefixes are cached. `None` leaves it to the engine.
    pub enable_prefix_caching: Option<Leaf<bool>>,
    /// Whether CUDA graphs are off.
    pub enforce_eager: Leaf<bool>,
    /// The flags of `engine.args`, in input order.
    pub args: Vec<(String, String)>,
    /// The elements of `engine.extraArgs`.
    pub extra_args: Vec<String>,
}

/// The workers of a deployment.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "only one workload of a run exists at a time")]
pub enum Workload {
    /// One kind of worker reads prompts and generates answers.
    Aggregated(Worker),
    /// Separate workers for prefill and decode.
    Disaggregated {
        /// The workers that read prompts.
        prefill: Worker,
        /// The workers that generate answers.
        decode: Worker,
    },
}

/// The role of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Reads prompts and generates answers.
    Aggregated,
    /// Reads prompts.
    Prefill,
    /// Generates answers.
    Decode,
}

impl Role {
    /// Returns `aggregated`, `prefill` or `decode`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Aggregated => "aggregated",
            Self::Prefill => "prefill",
            Self::Decode => "decode",
        }
    }
}

/// The workers of one role: their number, and the resources of each.
#[derive(Debug, Clone, PartialEq)]
pub struct Worker {
    /// The role that the workers play.
    pub role: Role,
    /// The number of replicas; 0 is allowed.
    pub replicas: Leaf<u32>,
    /// The GPUs of each replica; 0 means CPU only.
    pub gpu_count: Leaf<u32>,
    /// The extended resource of the GPUs, such as `nvidia.com/gpu`.
    pub gpu_type: Leaf<String>,
    /// The number of nodes that each replica spans, with `gpu_count` GPUs on each.
    pub nodes: Leaf<u32>,
    /// The memory request and limit of each replica, as the field for both says.
    pub memory: Option<String>,
    /// The CPU request of each replica, as the field for it says.
    pub cpu: Option<String>,
    /// What the user says about the resources of this role only.
    pub written: WrittenResources,
    /// The resources of the engine's container, after merging all fields.
    pub container: ContainerResources,
    /// The limit that counts the GPUs, if no other field does.
    pub gpu_limit: Option<FieldPath>,
    /// Engine flags of this role.
    pub engine: RoleEngine,
    /// Environment variables of this role.
    pub env: Vec<EnvVar>,
    /// What the user says about the engine's container of this role only.
    pub written_container: EngineContainer,
    /// Probes, mounts and security of the engine's container, after merging those of the role over those of all.
    pub engine_container: EngineContainer,
}

/// Engine flags of one role.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoleEngine {
    /// Flags by name, in input order. `None` removes a flag of `engine.args`.
    pub args: Vec<(String, Option<String>)>,
    /// Elements that follow those of `engine.extraArgs`.
    pub extra_args: Vec<String>,
}

/// The default GPU resource name.
pub const NVIDIA_GPU: &str = "nvidia.com/gpu";

/// The GPU resources of the common device plugins.
pub const GPU_RESOURCES: &[&str] =
    &["amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe", "habana.ai/gaudi", NVIDIA_GPU, "nvidia.com/gpu.shared"];

/// Returns whether a resource is the GPUs of a common device plugin.
pub fn is_known_gpu(resource: &str) -> bool {
    GPU_RESOURCES.contains(&resource) || resource.starts_with("nvidia.com/mig-")
}

impl Worker {
    /// Returns the path of the GPU fields of this role.
    pub fn gpu_path(&self) -> PathOf<Gpu> {
        let spec = ModelDeployment::path().spec();
        match self.role {
            Role::Aggregated => spec.resources().gpu(),
            Role::Prefill => spec.scaling().prefill().gpu(),
            Role::Decode => spec.scaling().decode().gpu(),
        }
    }

    /// Returns the path of the memory field of this role.
    pub fn memory_path(&self) -> ValuePath {
        let spec = ModelDeployment::path().spec();
        match self.role {
            Role::Aggregated => spec.resources().memory(),
            Role::Prefill => spec.scaling().prefill().memory(),
            Role::Decode => spec.scaling().decode().memory(),
        }
    }

    /// Returns whether each replica has GPUs: a number of an extended resource, or claims, of which only their driver
    /// knows the devices.
    pub fn has_gpus(&self) -> bool {
        self.gpu_count.value > 0 || !self.container.claims.is_empty()
    }

    /// Returns the path of the field that counts the GPUs.
    pub fn gpu_count_path(&self) -> FieldPath {
        self.gpu_limit.clone().unwrap_or_else(|| self.gpu_path().count().into())
    }

    /// Returns the number of GPUs of each replica on all its nodes.
    pub fn total_gpus(&self) -> u32 {
        self.gpu_count.value.saturating_mul(self.nodes.value)
    }

    /// Returns the path of the number of nodes.
    pub fn nodes_path(&self) -> ValuePath {
        let spec = ModelDeployment::path().spec();
        match self.role {
            Role::Aggregated => spec.resources().nodes(),
            Role::Prefill => spec.scaling().prefill().nodes(),
            Role::Decode => spec.scaling().decode().nodes(),
        }
    }

    /// Returns the memory limit of each replica's pods.
    pub fn memory_limit(&self) -> Option<&Amount> {
        amount_of(&self.container.limits, "memory")
    }

    /// Returns the path of the fields of a role. `None` for aggregated workers.
    pub fn role_path(&self) -> Option<PathOf<RoleScaling>> {
        let scaling = ModelDeployment::path().spec().scaling();
        match self.role {
            Role::Aggregated => None,
            Role::Prefill => Some(scaling.prefill()),
            Role::Decode => Some(scaling.decode()),
        }
    }

    /// Returns the path of the CPU field, which only aggregated workers have.
    pub fn cpu_path(&self) -> ValuePath {
        ModelDeployment::path().spec().resources().cpu()
    }

    /// Returns the path of the replica count of this role.
    pub fn replicas_path(&self) -> ValuePath {
        let scaling = ModelDeployment::path().spec().scaling();
        match self.role {
            Role::Aggregated => scaling.replicas(),
            Role::Prefill => scaling.prefill().replicas(),
            Role::Decode => scaling.decode().replicas(),
        }
    }
}

impl Workload {
    /// Returns the serving mode.
    pub fn mode(&self) -> ServingMode {
        match self {
            Self::Aggregated(_) => ServingMode::Aggregated,
            Self::Disaggregated { .. } => ServingMode::Disaggregated,
        }
    }

    /// Returns the aggregated worker, or prefill and then decode.
    pub fn workers(&self) -> Vec<&Worker> {
        match self {
            Self::Aggregated(worker) => vec![worker],
            Self::Disaggregated { prefill, decode } => vec![prefill, decode],
        }
    }

    /// Returns the same workers as [`Self::workers`], to change them.
    pub fn workers_mut(&mut self) -> Vec<&mut Worker> {
        match self {
            Self::Aggregated(worker) => vec![worker],
            Self::Disaggregated { prefill, decode } => vec![prefill, decode],
        }
    }

    /// Returns whether any worker has GPUs. This is the meaning of "GPU" in selection (docs/design/0006).
    pub fn uses_gpu(&self) -> bool {
        self.workers().into_iter().any(Worker::has_gpus)
    }
}
