//! The components of a Dynamo graph, independent of the CRD version in which they are written.

use kubefoundry_deployment::ir::Probes;
use kubefoundry_kubernetes::pod::{PodMetadata, PodSpec, ResourceClaim, VolumeMount};
use kubefoundry_kubernetes::wire::EnvVar;
use serde::Serialize;
use serde_json::{Map, Value};

/// The component's name unless an override says another, from which the operator derives the Service's: `<graph>-frontend`.
pub(super) const FRONTEND: &str = "Frontend";

/// A whole graph, which `v1alpha1` and `v1beta1` both write.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Graph {
    /// Dynamo's name for the engine.
    pub(super) backend_framework: &'static str,
    /// The frontend, then the workers.
    pub(super) components: Vec<Component>,
}

/// A component of a graph: pods that are all alike.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Component {
    /// The name, unique in the graph.
    pub(super) name: String,
    pub(super) kind: ComponentKind,
    pub(super) replicas: u32,
    /// The number of nodes that each replica spans.
    pub(super) nodes: u32,
    pub(super) image: String,
    /// `runtimeVersionOverride`.
    pub(super) runtime_version: Option<String>,
    /// The program. Empty leaves it to the operator.
    pub(super) command: Vec<String>,
    pub(super) args: Vec<String>,
    /// The Secret whose keys become environment variables.
    pub(super) env_from_secret: Option<String>,
    pub(super) env: Vec<EnvVar>,
    pub(super) limits: ResourceAmounts,
    pub(super) requests: ResourceAmounts,
    /// Claims of the pod that the container uses.
    pub(super) claims: Vec<ResourceClaim>,
    pub(super) mounts: Vec<VolumeMount>,
    /// The size of `/dev/shm`. `None` leaves it to the operator.
    pub(super) shared_memory: Option<String>,
    /// Probes that replace those of the operator.
    pub(super) probes: Probes,
    /// The security context of the container.
    pub(super) security_context: Option<Value>,
    /// The volume that the operator mounts as the engine's compilation cache.
    pub(super) compilation_cache: Option<CompilationCache>,
    /// Labels and annotations of the pods.
    pub(super) metadata: Option<PodMetadata>,
    /// The pod without its containers.
    pub(super) pod: PodSpec,
    /// Fields of the pod that replace those above, `null` for a removed one.
    pub(super) pod_fields: Map<String, Value>,
    /// Fields of the container that replace those above, `null` for a removed one.
    pub(super) container_fields: Map<String, Value>,
}

/// The task of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ComponentKind {
    /// Serves HTTP and routes requests to workers.
    Frontend,
    /// Reads prompts and generates answers.
    Worker,
    /// Reads prompts.
    Prefill,
    /// Generates answers.
    Decode,
}

/// Amounts of resources, as requests or as limits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ResourceAmounts {
    pub(super) cpu: Option<String>,
    pub(super) memory: Option<String>,
    /// The number of GPUs and their resource name.
    pub(super) gpu: Option<(u32, String)>,
    /// Amounts of other resources by name.
    pub(super) others: Vec<(String, String)>,
}

/// The nodes of a component whose replicas span several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Multinode {
    node_count: u32,
}

impl Multinode {
    /// Returns `None` for a component of one node, which has no such field.
    pub(super) fn new(nodes: u32) -> Option<Self> {
        (nodes > 1).then_some(Self { node_count: nodes })
    }
}

/// A claim that keeps the compilation results of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CompilationCache {
    /// The name of the PersistentVolumeClaim.
    pub(super) claim: String,
    pub(super) mount_path: String,
}
