//! The internal representation of an actor: validated, with defaults applied.

use serde_json::{Map, Value};

use super::options::Transport;
use super::wire::{ActorMetricType, ActorStrategy, ActorWorkloadKind, ImagePullPolicy};
use kubefoundry_kubernetes::pod::ResourceRequirements;
use kubefoundry_kubernetes::wire::EnvVar;

/// A validated actor.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Actor {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    /// The URL of the gateway, if the options set it.
    pub(super) gateway: Option<String>,
    /// `None` if it has an error, which was reported.
    pub(super) transport: Option<Transport>,
    pub(super) mode: Mode,
    pub(super) sidecar: Sidecar,
    /// Time limit for one message, in seconds.
    pub(super) processing: i32,
    /// Grace period for stopping the pod, in seconds.
    pub(super) graceful_shutdown: i32,
    /// `None` if scaling is not enabled.
    pub(super) scaling: Option<Scaling>,
}

/// Whether an actor has its own workload.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Mode {
    /// The actor has its own workload.
    Standalone(Workload),
    /// The actor binds to an existing workload.
    Binding(Binding),
}

/// The workload of a standalone actor.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Workload {
    pub(super) kind: ActorWorkloadKind,
    pub(super) replicas: i32,
    pub(super) python: String,
    /// Metadata of the pods, as in the input.
    pub(super) metadata: Map<String, Value>,
    /// The pod spec, as in the input.
    pub(super) spec: Map<String, Value>,
}

/// The existing workload to which an actor binds, and its adapter.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Binding {
    pub(super) reference: Reference,
    pub(super) strategy: ActorStrategy,
    pub(super) image: String,
    pub(super) handler: String,
    pub(super) target_url: Option<String>,
}

/// A workload by kind and name, in the actor's namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
}

impl Reference {
    /// Returns the API group. It is empty for the core group.
    pub(super) fn group(&self) -> &str {
        self.api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }
}

/// The container that connects to the transport.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sidecar {
    pub(super) image: String,
    pub(super) pull_policy: ImagePullPolicy,
    pub(super) resources: ResourceRequirements,
    pub(super) env: Vec<EnvVar>,
}

/// Scaling by queue length.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scaling {
    pub(super) min_replicas: i32,
    pub(super) max_replicas: i32,
    pub(super) polling_interval: i32,
    pub(super) cooldown_period: i32,
    pub(super) queue_length: i32,
    pub(super) advanced: Option<Modifiers>,
}

/// KEDA's scaling modifiers. Empty texts have been dropped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Modifiers {
    pub(super) formula: Option<String>,
    pub(super) target: Option<String>,
    pub(super) activation_target: Option<String>,
    pub(super) metric_type: Option<ActorMetricType>,
    pub(super) restore_to_original_replica_count: bool,
}

impl Actor {
    /// Returns whether routes end at this actor. Its sidecar then forwards nothing.
    pub(super) fn is_end(&self) -> bool {
        super::END_ACTORS.contains(&self.name.as_str())
    }

    /// Returns the name of the generated service account, if the transport needs one.
    pub(super) fn service_account(&self) -> Option<String> {
        self.transport.as_ref()?.role().map(|_| format!("asya-{}", self.name))
    }

    /// Returns the name of the queue from which the actor receives messages (docs/specification.md AA-1.8).
    pub(super) fn queue(&self) -> String {
        format!("asya-{}", self.name)
    }
}
