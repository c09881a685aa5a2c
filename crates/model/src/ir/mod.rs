//! A deployment after validation: every default applied, every choice made, and for each value where it came from.

mod leaves;

pub use leaves::LeafEntry;

pub use crate::wire::{AccessMode, EngineType, ModelSource, ServingMode, VolumePurpose};
use crate::wire::{Gpu, ModelDeployment};
use kubefoundry_kubernetes::api_group::ApiGroup;
pub use kubefoundry_kubernetes::wire::{EnvVar, Toleration};
use kubefoundry_kubernetes::wire::{PathOf, ValuePath};
pub use kubefoundry_transform::FieldOrigin;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

/// A value and where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub origin: FieldOrigin,
}

impl<T> Leaf<T> {
    /// A value that the user wrote.
    pub fn written(value: T) -> Self {
        Self { value, origin: FieldOrigin::Written }
    }

    /// A default.
    pub fn defaulted(value: T) -> Self {
        Self { value, origin: FieldOrigin::Defaulted }
    }

    /// A value that follows from others.
    pub fn derived(value: T) -> Self {
        Self { value, origin: FieldOrigin::Derived }
    }

    /// What was written, or the default.
    pub fn or_default(written: Option<T>, default: T) -> Self {
        written.map_or_else(|| Self::defaulted(default), Self::written)
    }

    /// Whether the user wrote it.
    pub fn is_written(&self) -> bool {
        self.origin == FieldOrigin::Written
    }
}

/// A validated deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct Deployment {
    /// The group it was written in, with its habits.
    pub api_group: &'static ApiGroup,
    /// What it is called.
    pub metadata: Metadata,
    /// Which model.
    pub model: Model,
    /// Which provider was asked for.
    pub provider: ProviderRequest,
    /// Which engine, and how it is set.
    pub engine: Engine,
    /// Where the serving mode, which the workload shows, came from.
    pub mode_origin: FieldOrigin,
    /// What runs: one kind of worker, or two.
    pub workload: Workload,
    /// A container image instead of the provider's, and the field it was given in.
    pub image: Option<(String, FieldPath)>,
    /// Environment of the engine's containers.
    pub env: Vec<EnvVar>,
    /// Labels of the pods.
    pub pod_labels: Vec<(String, String)>,
    /// Annotations of the pods.
    pub pod_annotations: Vec<(String, String)>,
    /// The secret whose keys become environment variables.
    pub hugging_face_token: Option<String>,
    /// Secrets to pull images with.
    pub image_pull_secrets: Vec<String>,
    /// Labels that nodes must have.
    pub node_selector: Vec<(String, String)>,
    /// Taints that the pods tolerate.
    pub tolerations: Vec<Toleration>,
}

/// Name, namespace, labels, annotations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// The name: a DNS-1123 label.
    pub name: String,
    /// The namespace; absent stays absent.
    pub namespace: Option<String>,
    /// The identity in a cluster, when the input has one.
    pub uid: Option<String>,
    /// Labels.
    pub labels: Vec<(String, String)>,
    /// Annotations.
    pub annotations: Vec<(String, String)>,
}

/// Which model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The id; only a custom model may have none.
    pub id: Option<String>,
    /// The name in the API: written, or derived from the id; none for a custom model.
    pub served_name: Option<Leaf<String>>,
    /// Where it comes from.
    pub source: Leaf<ModelSource>,
    /// Volumes for its weights and caches.
    pub volumes: Vec<Volume>,
}

/// A volume to mount into the engine's containers.
#[derive(Debug, Clone, PartialEq)]
pub struct Volume {
    /// A DNS label, unique among them.
    pub name: String,
    /// What it is for.
    pub purpose: Leaf<VolumePurpose>,
    /// Where it is mounted: an absolute path.
    pub mount_path: Leaf<String>,
    /// The claim it is.
    pub claim_name: Leaf<String>,
    /// The claim to make; none when it exists.
    pub new_claim: Option<NewClaim>,
    /// Mounted for reading only.
    pub read_only: Leaf<bool>,
}

/// A PersistentVolumeClaim to make.
#[derive(Debug, Clone, PartialEq)]
pub struct NewClaim {
    /// Its size: a quantity.
    pub size: String,
    /// Its StorageClass: none given, or empty for none at all.
    pub storage_class_name: Option<String>,
    /// Who may mount it.
    pub access_mode: Leaf<AccessMode>,
}

/// Which provider was asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProviderRequest {
    /// Its name; absent means that it is selected.
    pub name: Option<String>,
    /// Its own settings; the provider reads them, at [`ProviderRequest::overrides_path`].
    pub overrides: Option<Node<'static>>,
}

impl ProviderRequest {
    /// Where overrides stand.
    pub fn overrides_path() -> FieldPath {
        ModelDeployment::path().spec().provider().overrides().into()
    }
}

/// The engine and how it is set.
#[derive(Debug, Clone, PartialEq)]
pub struct Engine {
    /// Which one.
    pub kind: EngineType,
    /// Whether it was written, or follows from what providers can run.
    pub kind_origin: FieldOrigin,
    /// Longest context, in tokens; absent leaves it to the engine.
    pub context_length: Option<u32>,
    /// Whether code in the model's repository may run.
    pub trust_remote_code: Leaf<bool>,
    /// Whether prefixes are cached; absent leaves it to the engine.
    pub enable_prefix_caching: Option<Leaf<bool>>,
    /// Whether CUDA graphs are off.
    pub enforce_eager: Leaf<bool>,
    /// Flags by name, in input order.
    pub args: Vec<(String, String)>,
    /// Flags as on a command line.
    pub extra_args: Vec<String>,
}

/// What runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Workload {
    /// One kind of worker does all.
    Aggregated(Worker),
    /// Prefill and decode are apart.
    Disaggregated {
        /// Reads prompts.
        prefill: Worker,
        /// Writes answers.
        decode: Worker,
    },
}

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// All of it.
    Aggregated,
    /// Reads prompts.
    Prefill,
    /// Writes answers.
    Decode,
}

impl Role {
    /// `prefill`, `decode` or `aggregated`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Aggregated => "aggregated",
            Self::Prefill => "prefill",
            Self::Decode => "decode",
        }
    }
}

/// One kind of worker: how many, and what each needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Worker {
    /// What it does.
    pub role: Role,
    /// How many; 0 is allowed.
    pub replicas: Leaf<u32>,
    /// GPUs of each; 0 means CPU only.
    pub gpu_count: Leaf<u32>,
    /// The GPU's resource name.
    pub gpu_type: Leaf<String>,
    /// Memory of each: request and limit.
    pub memory: Option<String>,
    /// CPU of each: request.
    pub cpu: Option<String>,
}

/// The default GPU resource name.
pub const NVIDIA_GPU: &str = "nvidia.com/gpu";

impl Worker {
    /// Where its GPUs are written.
    pub fn gpu_path(&self) -> PathOf<Gpu> {
        let spec = ModelDeployment::path().spec();
        match self.role {
            Role::Aggregated => spec.resources().gpu(),
            Role::Prefill => spec.scaling().prefill().gpu(),
            Role::Decode => spec.scaling().decode().gpu(),
        }
    }

    /// Where its memory is written.
    pub fn memory_path(&self) -> ValuePath {
        let spec = ModelDeployment::path().spec();
        match self.role {
            Role::Aggregated => spec.resources().memory(),
            Role::Prefill => spec.scaling().prefill().memory(),
            Role::Decode => spec.scaling().decode().memory(),
        }
    }

    /// Where its CPU is written. A worker of a role has none.
    pub fn cpu_path(&self) -> ValuePath {
        ModelDeployment::path().spec().resources().cpu()
    }

    /// Where its replica count is written.
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
    /// The serving mode.
    pub fn mode(&self) -> ServingMode {
        match self {
            Self::Aggregated(_) => ServingMode::Aggregated,
            Self::Disaggregated { .. } => ServingMode::Disaggregated,
        }
    }

    /// Its kinds of worker: one, or prefill then decode.
    pub fn workers(&self) -> Vec<&Worker> {
        match self {
            Self::Aggregated(worker) => vec![worker],
            Self::Disaggregated { prefill, decode } => vec![prefill, decode],
        }
    }

    /// Whether any worker has GPUs (what "GPU" means in rules: docs/design/0006).
    pub fn uses_gpu(&self) -> bool {
        self.workers().iter().any(|worker| worker.gpu_count.value > 0)
    }
}
