//! An actor as it is meant: defaults applied, references checked.

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
    /// Where progress is reported to, when options say it.
    pub(super) gateway: Option<String>,
    /// None when it has an error of its own.
    pub(super) transport: Option<Transport>,
    pub(super) mode: Mode,
    pub(super) sidecar: Sidecar,
    /// Seconds for one message.
    pub(super) processing: i32,
    /// Seconds for the pod to stop.
    pub(super) graceful_shutdown: i32,
    /// None when it is not enabled.
    pub(super) scaling: Option<Scaling>,
}

/// Whose workload it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Mode {
    /// Its own.
    Standalone(Workload),
    /// Another's.
    Binding(Binding),
}

/// A workload of its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Workload {
    pub(super) kind: ActorWorkloadKind,
    pub(super) replicas: i32,
    pub(super) python: String,
    /// Metadata of the pods, as written.
    pub(super) metadata: Map<String, Value>,
    /// The pods, as written.
    pub(super) spec: Map<String, Value>,
}

/// A workload of another's, and the adapter.
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
    /// The API group; empty for core.
    pub(super) fn group(&self) -> &str {
        self.api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }
}

/// The sidecar.
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

/// Scaling modifiers; empty texts are absent ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Modifiers {
    pub(super) formula: Option<String>,
    pub(super) target: Option<String>,
    pub(super) activation_target: Option<String>,
    pub(super) metric_type: Option<ActorMetricType>,
    pub(super) restore_to_original_replica_count: bool,
}

impl Actor {
    /// Whether it ends a route: the sidecar then passes nothing on.
    pub(super) fn is_end(&self) -> bool {
        super::END_ACTORS.contains(&self.name.as_str())
    }

    /// The service account that the transport brings along.
    pub(super) fn service_account(&self) -> Option<String> {
        self.transport.as_ref()?.role().map(|_| format!("asya-{}", self.name))
    }

    /// The queue that it takes messages from (docs/specification.md AA-1.8).
    pub(super) fn queue(&self) -> String {
        format!("asya-{}", self.name)
    }
}
