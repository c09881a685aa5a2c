//! The wire type of `AsyncActor` in `asya.sh/v1alpha1`: the fields of the upstream CRD, and those of its ADR-001
//! (`workloadRef`,
//! `runtime`, `strategy`) for binding to an existing workload.

use kubefoundry_kubernetes::wire::{Condition, EnvVar, IntegerOrString, Map, ObjectMeta, Syntax, Timestamp};
use kubefoundry_kubernetes::{string_enum, wire_object};
use kubefoundry_yaml::Node;

use crate::codes;

/// API group of [`AsyncActor`].
pub const GROUP: &str = "asya.sh";

/// `apiVersion` of [`AsyncActor`].
pub const API_VERSION: &str = "asya.sh/v1alpha1";

/// `kind` of [`AsyncActor`].
pub const KIND: &str = "AsyncActor";

/// Says that an actor has both `workload` and `workloadRef`, or neither. The CRD says the same.
pub const ONE_WORKLOAD: &str = "Exactly one of 'workload' or 'workloadRef' must be set";

wire_object! {
    /// An actor: code that receives messages from a queue and sends its results to the next one. Give it a workload of
    /// its own with `workload`, or add it to an existing one with `workloadRef`.
    pub struct AsyncActor {
        /// `asya.sh/v1alpha1`.
        api_version: String = "apiVersion" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// `AsyncActor`.
        kind: String = "kind" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// Name, namespace, labels and annotations.
        metadata: ObjectMeta = "metadata" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// The desired state.
        spec: AsyncActorSpec = "spec" [required()],
        /// The state that a controller reported. It is not an input.
        status: Node<'static> = "status" [shape(AsyncActorStatus::SHAPE)],
    }
}
wire_object! {
    /// The desired state. Set exactly one of `workload` and `workloadRef`.
    pub struct AsyncActorSpec {
        /// The name of a configured transport, which carries the messages.
        transport: String = "transport" [required()],
        /// The workload to create (standalone mode).
        workload: ActorWorkload = "workload",
        /// The workload to bind to (binding mode).
        workload_ref: ActorWorkloadReference = "workloadRef",
        /// The adapter that calls the referenced workload. Required with `workloadRef`, and an error without it.
        runtime: ActorRuntime = "runtime",
        /// How the adapter runs next to the referenced workload. Only valid with `workloadRef`.
        strategy: ActorStrategy = "strategy" [default("\"inject\"")],
        /// The container that connects to the transport.
        sidecar: ActorSidecar = "sidecar",
        /// Time limits.
        timeout: ActorTimeout = "timeout",
        /// Scaling by queue length with KEDA.
        scaling: ActorScaling = "scaling",
    }
}
wire_object! {
    /// The workload to create.
    pub struct ActorWorkload {
        /// The kind of the workload.
        kind: ActorWorkloadKind = "kind" [default("\"Deployment\"")],
        /// The number of replicas. It has no effect if scaling is enabled.
        replicas: i32 = "replicas" [minimum(0), default("1")],
        /// The pod template. Name exactly one container `asya-runtime` and do not set its command.
        template: ActorPodTemplate = "template" [required()],
        /// The Python interpreter in the image of `asya-runtime`.
        python_executable: String = "pythonExecutable" [default("\"python3\"")],
    }
}
string_enum! {
    /// The kind of a workload.
    pub enum ActorWorkloadKind {
        /// A Deployment (default).
        Deployment = "Deployment",
        /// A StatefulSet.
        StatefulSet = "StatefulSet",
    }
}
wire_object! {
    /// The pod template of a workload (core/v1 PodTemplateSpec). It is copied unchanged.
    pub struct ActorPodTemplate {
        /// Labels and annotations of the pods.
        metadata: Node<'static> = "metadata",
        /// The specification of the pods (core/v1 PodSpec).
        spec: Node<'static> = "spec",
    }
}
wire_object! {
    /// An existing workload in the actor's namespace.
    pub struct ActorWorkloadReference {
        /// `group/version` of the workload. Any version of the group refers to the same object.
        api_version: String = "apiVersion" [required()],
        /// The kind: Deployment, StatefulSet, a Knative Service, a KAITO Workspace with a template, a KServe
        /// InferenceService, a RayService or a RayCluster. With `strategy: detached` any kind is valid.
        kind: String = "kind" [required()],
        /// The name of the workload.
        name: String = "name" [required(), syntax(Syntax::DnsSubdomain)],
        /// The namespace. Omit it, or repeat the actor's.
        namespace: String = "namespace" [syntax(Syntax::DnsLabel), checked_by(&codes::TARGET_NAMESPACE)],
    }
}
wire_object! {
    /// The adapter: a container whose handler forwards messages to the referenced workload.
    pub struct ActorRuntime {
        /// The image. It must contain Python.
        image: String = "image" [required(), syntax(Syntax::Image)],
        /// The handler, as `module.function`: `adapters.openai.forward`.
        handler: String = "handler" [required()],
        /// The address of the workload, which the handler gets as `ASYA_TARGET_URL`. Required with `strategy:
        /// detached`.
        target_url: String = "targetURL",
    }
}
string_enum! {
    /// How the adapter runs next to the referenced workload.
    pub enum ActorStrategy {
        /// Add two containers to the pods of the workload (default).
        Inject = "inject",
        /// Run the adapter in a separate Deployment that calls `runtime.targetURL`. The workload is not changed.
        Detached = "detached",
    }
}
wire_object! {
    /// The container that connects to the transport.
    pub struct ActorSidecar {
        /// An image that replaces the configured one.
        image: String = "image" [syntax(Syntax::Image)],
        /// When to pull the image.
        image_pull_policy: ImagePullPolicy = "imagePullPolicy" [default("\"IfNotPresent\"")],
        /// Resources of the container.
        resources: ActorResources = "resources",
        /// Additional environment variables. One with the name of a generated variable replaces it.
        env: Vec<EnvVar> = "env" [max_items(256)],
    }
}
string_enum! {
    /// When to pull an image.
    pub enum ImagePullPolicy {
        /// Pull at every start.
        Always = "Always",
        /// Pull if the node does not have the image (default).
        IfNotPresent = "IfNotPresent",
        /// Never pull. The node must have the image.
        Never = "Never",
    }
}
wire_object! {
    /// Resources of a container (core/v1 ResourceRequirements).
    pub struct ActorResources {
        /// Upper bounds by resource.
        limits: Map<IntegerOrString> = "limits" [max_entries(512)],
        /// Reserved amounts by resource.
        requests: Map<IntegerOrString> = "requests" [max_entries(512)],
        /// Resource claims of the pod that the container uses.
        claims: Vec<ActorResourceClaim> = "claims" [max_items(256)],
    }
}
wire_object! {
    /// A resource claim of the pod that a container uses.
    pub struct ActorResourceClaim {
        /// The claim's name in the pod.
        name: String = "name" [required()],
    }
}
wire_object! {
    /// Time limits, in seconds.
    pub struct ActorTimeout {
        /// The time limit for one message.
        processing: i32 = "processing" [default("300")],
        /// The grace period for stopping the pod.
        graceful_shutdown: i32 = "gracefulShutdown" [default("30")],
    }
}
wire_object! {
    /// Scaling by queue length with KEDA.
    pub struct ActorScaling {
        /// Whether to create a ScaledObject.
        enabled: bool = "enabled" [default("false")],
        /// The minimum number of replicas.
        min_replicas: i32 = "minReplicas" [minimum(0), default("0")],
        /// The maximum number of replicas.
        max_replicas: i32 = "maxReplicas" [minimum(1), default("50")],
        /// The interval for reading the queue length, in seconds.
        polling_interval: i32 = "pollingInterval" [default("10")],
        /// How long the queue must be empty before the last replica is removed, in seconds.
        cooldown_period: i32 = "cooldownPeriod" [default("60")],
        /// The number of queued messages per replica.
        queue_length: i32 = "queueLength" [minimum(1), default("5")],
        /// KEDA's scaling modifiers.
        advanced: ActorScalingModifiers = "advanced",
    }
}
wire_object! {
    /// KEDA's scaling modifiers.
    pub struct ActorScalingModifiers {
        /// A formula over the trigger, which is named `queueLength`: `queueLength / 2`. Needs a `target`.
        formula: String = "formula",
        /// The target value of the formula, as text.
        target: String = "target",
        /// The value that the formula must exceed to start the first replica, as text.
        activation_target: String = "activationTarget",
        /// How to compare the target. KEDA accepts `AverageValue` and `Value`.
        metric_type: ActorMetricType = "metricType",
        /// Whether to restore the original number of replicas when the ScaledObject is deleted.
        restore_to_original_replica_count: bool = "restoreToOriginalReplicaCount",
    }
}
string_enum! {
    /// How to compare a target.
    pub enum ActorMetricType {
        /// Per replica.
        AverageValue = "AverageValue",
        /// In total.
        Value = "Value",
        /// Relative to the requested resources. KEDA rejects it here.
        Utilization = "Utilization",
    }
}

wire_object! {
    /// The observed state of an AsyncActor. The operator writes it for the actors that are handed to it.
    pub struct AsyncActorStatus {
        /// Conditions: `Applied`, `Bound`, `TransportReady`, `WorkloadReady`, `ScalingReady`.
        conditions: Vec<Condition> = "conditions" [max_items(256)],
        /// Whether the actor has its own workload or is bound to an existing one.
        mode: ActorMode = "mode",
        /// The created workload.
        workload_ref: ActorWorkloadStatus = "workloadRef",
        /// The workload to which `spec.workloadRef` resolved, such as the StatefulSet of a Workspace.
        resolved_target: ActorWorkloadStatus = "resolvedTarget",
        /// How often another client reverted the binding since the specification changed.
        conflict_count: i32 = "conflictCount" [minimum(0)],
        /// The time of the last reversion.
        last_conflict_time: String = "lastConflictTime" [shape(Timestamp::SHAPE)],
        /// The ScaledObject, if scaling is enabled.
        scaled_object_ref: ActorNamespacedName = "scaledObjectRef",
        /// The generation of the object that this status describes.
        observed_generation: i64 = "observedGeneration",
        /// The state in one word, such as `Running` or `TransportError`.
        status: String = "status",
        /// Ready replicas.
        replicas: i32 = "replicas",
        /// Desired replicas.
        desired_replicas: i32 = "desiredReplicas",
        /// Ready replicas of the workload.
        ready_replicas: i32 = "readyReplicas",
        /// All replicas of the workload.
        total_replicas: i32 = "totalReplicas",
        /// Replicas that are not ready yet.
        pending_replicas: i32 = "pendingReplicas",
        /// Pods that fail.
        failing_pods: i32 = "failingPods",
        /// Ready and all pods: `3/5`.
        ready_replicas_summary: String = "readyReplicasSummary",
        /// `KEDA` or `Manual`.
        scaling_mode: String = "scalingMode",
        /// `Ready` or `NotReady`.
        transport_status: String = "transportStatus",
        /// `up`, `down` or empty.
        last_scale_direction: String = "lastScaleDirection",
        /// The time of the last scaling.
        last_scale_time: String = "lastScaleTime" [shape(Timestamp::SHAPE)],
    }
}
string_enum! {
    /// Whether an actor has its own workload.
    pub enum ActorMode {
        /// The actor has its own workload.
        Standalone = "Standalone",
        /// The actor is bound to an existing workload.
        Binding = "Binding",
    }
}
wire_object! {
    /// A workload in a cluster.
    pub struct ActorWorkloadStatus {
        /// `group/version`.
        api_version: String = "apiVersion" [required()],
        /// The kind.
        kind: String = "kind" [required()],
        /// The name.
        name: String = "name" [required()],
        /// The namespace.
        namespace: String = "namespace" [required()],
    }
}
wire_object! {
    /// An object by name and namespace.
    pub struct ActorNamespacedName {
        /// The name.
        name: String = "name" [required()],
        /// The namespace.
        namespace: String = "namespace" [required()],
    }
}
