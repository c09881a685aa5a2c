//! What a Dynamo graph is made of, before it is written in one of the CRD's versions.

use kubefoundry_kubernetes::pod::{PodMetadata, StringMap, Volume, VolumeMount};
use kubefoundry_kubernetes::wire::{EnvVar, LocalObjectReference, Toleration};

/// A whole graph: what both writers write.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Graph {
    /// The engine, as Dynamo calls it.
    pub(super) backend_framework: &'static str,
    /// The frontend, then the workers.
    pub(super) components: Vec<Component>,
}

/// One kind of pod of a graph.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Component {
    /// Its name, unique in the graph.
    pub(super) name: &'static str,
    /// What it does.
    pub(super) kind: Kind,
    /// How many.
    pub(super) replicas: u32,
    /// The image.
    pub(super) image: String,
    /// `runtimeVersionOverride`.
    pub(super) runtime_version: Option<String>,
    /// The program; empty leaves it to the operator.
    pub(super) command: Vec<String>,
    /// Its arguments.
    pub(super) args: Vec<String>,
    /// The secret whose keys become environment variables.
    pub(super) env_from_secret: Option<String>,
    /// Environment variables.
    pub(super) env: Vec<EnvVar>,
    /// At most this.
    pub(super) limits: Amounts,
    /// At least this.
    pub(super) requests: Amounts,
    /// Volumes of the pod.
    pub(super) volumes: Vec<Volume>,
    /// Where they are mounted.
    pub(super) mounts: Vec<VolumeMount>,
    /// The volume that the operator mounts as the engine's compilation cache.
    pub(super) compilation_cache: Option<CompilationCache>,
    /// Labels and annotations of the pods.
    pub(super) metadata: Option<PodMetadata>,
    /// Labels that the node must have.
    pub(super) node_selector: StringMap,
    /// Taints that are tolerated.
    pub(super) tolerations: Vec<Toleration>,
    /// Secrets to pull the image with.
    pub(super) image_pull_secrets: Vec<LocalObjectReference>,
}

/// What a component does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Serves HTTP and routes.
    Frontend,
    /// Reads prompts and writes answers.
    Worker,
    /// Reads prompts.
    Prefill,
    /// Writes answers.
    Decode,
}

/// Amounts of resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Amounts {
    /// CPU.
    pub(super) cpu: Option<String>,
    /// Memory.
    pub(super) memory: Option<String>,
    /// GPUs: how many, and the resource name.
    pub(super) gpu: Option<(u32, String)>,
}

/// A claim that keeps what the engine compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CompilationCache {
    /// The claim.
    pub(super) claim: String,
    /// Where it is mounted.
    pub(super) mount_path: String,
}
