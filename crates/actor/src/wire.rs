//! `AsyncActor` of `asya.sh/v1alpha1`: the upstream CRD, and the fields of its ADR-001 (`workloadRef`, `runtime`,
//! `strategy`) that let an actor bind to a workload that somebody else owns.

use kubefoundry_kubernetes::wire::{Condition, EnvVar, IntegerOrString, Map, ObjectMeta, Syntax, Timestamp};
use kubefoundry_kubernetes::{string_enum, wire_object};
use kubefoundry_yaml::Node;

use crate::codes;

/// `apiVersion` of [`AsyncActor`].
pub const API_VERSION: &str = "asya.sh/v1alpha1";

/// `kind` of [`AsyncActor`].
pub const KIND: &str = "AsyncActor";

wire_object! {
    /// An actor: code that takes messages from a queue and answers to the next one. It brings its workload along
    /// (`workload`), or is added to one that is there already (`workloadRef`).
    pub struct AsyncActor {
        /// `asya.sh/v1alpha1`.
        api_version: String = "apiVersion" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// `AsyncActor`.
        kind: String = "kind" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// Name, namespace, labels, annotations.
        metadata: ObjectMeta = "metadata" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// What is wanted.
        spec: AsyncActorSpec = "spec" [required()],
        /// What a controller reported; not an input.
        status: Node<'static> = "status" [shape(AsyncActorStatus::SHAPE)],
    }
}
wire_object! {
    /// What is wanted: exactly one of `workload` and `workloadRef`.
    pub struct AsyncActorSpec {
        /// The transport that carries messages, by its name in the configuration.
        transport: String = "transport" [required()],
        /// The workload to make (standalone mode).
        workload: ActorWorkload = "workload",
        /// The workload to bind to (binding mode).
        workload_ref: ActorWorkloadReference = "workloadRef",
        /// The adapter that calls the workload that is bound to. Required with `workloadRef`, refused otherwise.
        runtime: ActorRuntime = "runtime",
        /// How the adapter runs beside the workload that is bound to. Only with `workloadRef`.
        strategy: ActorStrategy = "strategy" [default("\"inject\"")],
        /// The container that talks to the transport.
        sidecar: ActorSidecar = "sidecar",
        /// Time limits.
        timeout: ActorTimeout = "timeout",
        /// Scaling by queue length with KEDA.
        scaling: ActorScaling = "scaling",
    }
}
wire_object! {
    /// The workload to make.
    pub struct ActorWorkload {
        /// Its kind.
        kind: ActorWorkloadKind = "kind" [default("\"Deployment\"")],
        /// How many replicas; ignored when scaling is enabled.
        replicas: i32 = "replicas" [minimum(0), default("1")],
        /// The pods. Exactly one of their containers is named `asya-runtime`; its command is set here.
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
    /// The pods of a workload (core/v1 PodTemplateSpec), taken over as they are.
    pub struct ActorPodTemplate {
        /// Labels and annotations of the pods.
        metadata: Node<'static> = "metadata",
        /// What runs in the pods.
        spec: Node<'static> = "spec",
    }
}
wire_object! {
    /// A workload that somebody else owns, in the actor's namespace.
    pub struct ActorWorkloadReference {
        /// `group/version` of the workload; the version does not matter.
        api_version: String = "apiVersion" [required()],
        /// Its kind: Deployment, StatefulSet, a Knative Service, a KAITO Workspace with a template, a KServe
        /// InferenceService, a RayService or RayCluster; any kind with `strategy: detached`.
        kind: String = "kind" [required()],
        /// Its name.
        name: String = "name" [required(), syntax(Syntax::DnsSubdomain)],
        /// Its namespace: the actor's, or left out.
        namespace: String = "namespace" [syntax(Syntax::DnsLabel), checked_by(&codes::TARGET_NAMESPACE)],
    }
}
wire_object! {
    /// The adapter: a container whose handler passes messages on to the workload that is bound to.
    pub struct ActorRuntime {
        /// Its image, with Python.
        image: String = "image" [required(), syntax(Syntax::Image)],
        /// The handler, as `module.function`: `adapters.openai.forward`.
        handler: String = "handler" [required()],
        /// Where the workload answers, given to the handler as `ASYA_TARGET_URL`. Required with `strategy: detached`.
        target_url: String = "targetURL",
    }
}
string_enum! {
    /// How the adapter runs beside the workload that is bound to.
    pub enum ActorStrategy {
        /// Two containers are added to the pods of the workload (default).
        Inject = "inject",
        /// The adapter is a Deployment of its own, which calls `runtime.targetURL`; the workload stays as it is.
        Detached = "detached",
    }
}
wire_object! {
    /// The container that talks to the transport.
    pub struct ActorSidecar {
        /// Its image instead of the configured one.
        image: String = "image" [syntax(Syntax::Image)],
        /// When it is pulled.
        image_pull_policy: ImagePullPolicy = "imagePullPolicy" [default("\"IfNotPresent\"")],
        /// What it needs.
        resources: ActorResources = "resources",
        /// Variables beside those that are set here; one of the same name takes the place of a setting.
        env: Vec<EnvVar> = "env" [max_items(256)],
    }
}
string_enum! {
    /// When an image is pulled.
    pub enum ImagePullPolicy {
        /// At every start.
        Always = "Always",
        /// When the node does not have it (default).
        IfNotPresent = "IfNotPresent",
        /// Never.
        Never = "Never",
    }
}
wire_object! {
    /// What a container needs (core/v1 ResourceRequirements).
    pub struct ActorResources {
        /// At most this, by resource.
        limits: Map<IntegerOrString> = "limits" [max_entries(512)],
        /// At least this, by resource.
        requests: Map<IntegerOrString> = "requests" [max_entries(512)],
        /// Claims of the pod that it uses, by name.
        claims: Vec<ActorResourceClaim> = "claims" [max_items(256)],
    }
}
wire_object! {
    /// A claim of the pod that a container uses.
    pub struct ActorResourceClaim {
        /// Its name in the pod.
        name: String = "name" [required()],
    }
}
wire_object! {
    /// Time limits, in seconds.
    pub struct ActorTimeout {
        /// For one message.
        processing: i32 = "processing" [default("300")],
        /// For the pod to stop.
        graceful_shutdown: i32 = "gracefulShutdown" [default("30")],
    }
}
wire_object! {
    /// Scaling by queue length with KEDA.
    pub struct ActorScaling {
        /// Whether a ScaledObject is made.
        enabled: bool = "enabled" [default("false")],
        /// At least so many replicas.
        min_replicas: i32 = "minReplicas" [minimum(0), default("0")],
        /// At most so many replicas.
        max_replicas: i32 = "maxReplicas" [minimum(1), default("50")],
        /// How often the queue is looked at, in seconds.
        polling_interval: i32 = "pollingInterval" [default("10")],
        /// How long the queue is empty before the last replica goes, in seconds.
        cooldown_period: i32 = "cooldownPeriod" [default("60")],
        /// Messages in the queue for each replica.
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
        /// What the formula should come to, as text.
        target: String = "target",
        /// What the formula must exceed for the first replica, as text.
        activation_target: String = "activationTarget",
        /// How the target is compared. KEDA takes `AverageValue` and `Value`.
        metric_type: ActorMetricType = "metricType",
        /// Whether the replicas of before come back when the ScaledObject is deleted.
        restore_to_original_replica_count: bool = "restoreToOriginalReplicaCount",
    }
}
string_enum! {
    /// How a target is compared.
    pub enum ActorMetricType {
        /// For each replica.
        AverageValue = "AverageValue",
        /// In all.
        Value = "Value",
        /// As a share of what is requested; KEDA refuses it here.
        Utilization = "Utilization",
    }
}

wire_object! {
    /// What became of an AsyncActor. Controllers write it.
    pub struct AsyncActorStatus {
        /// Conditions: `TransportReady`, `WorkloadReady`, `ScalingReady`.
        conditions: Vec<Condition> = "conditions" [max_items(256)],
        /// Whether it has a workload of its own, or is bound to another's.
        mode: ActorMode = "mode",
        /// The workload that was made.
        workload_ref: ActorWorkloadStatus = "workloadRef",
        /// The workload that `spec.workloadRef` turned out to mean, such as the StatefulSet of a Workspace.
        resolved_target: ActorWorkloadStatus = "resolvedTarget",
        /// How often somebody else undid the binding.
        conflict_count: i32 = "conflictCount" [minimum(0)],
        /// When that was last.
        last_conflict_time: String = "lastConflictTime" [shape(Timestamp::SHAPE)],
        /// The ScaledObject, when scaling is enabled.
        scaled_object_ref: ActorNamespacedName = "scaledObjectRef",
        /// The generation that this status is about.
        observed_generation: i64 = "observedGeneration",
        /// The state in one word, such as `Running` or `TransportError`.
        status: String = "status",
        /// Ready replicas.
        replicas: i32 = "replicas",
        /// Replicas that are wanted.
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
        /// True and all conditions: `2/3`. Deprecated.
        ready_summary: String = "readySummary",
        /// Present and wanted replicas: `3/10`. Deprecated.
        replicas_summary: String = "replicasSummary",
        /// `KEDA` or `Manual`.
        scaling_mode: String = "scalingMode",
        /// `Ready` or `NotReady`.
        transport_status: String = "transportStatus",
        /// Messages that wait.
        queued_messages: i32 = "queuedMessages",
        /// Messages that are worked on.
        processing_messages: i32 = "processingMessages",
        /// `up`, `down`, or nothing.
        last_scale_direction: String = "lastScaleDirection",
        /// When and which way it scaled last: `5m ago (up)`.
        last_scale_formatted: String = "lastScaleFormatted",
        /// When it scaled last.
        last_scale_time: String = "lastScaleTime" [shape(Timestamp::SHAPE)],
    }
}
string_enum! {
    /// Whether an actor has a workload of its own.
    pub enum ActorMode {
        /// It has one.
        Standalone = "Standalone",
        /// It is bound to another's.
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
