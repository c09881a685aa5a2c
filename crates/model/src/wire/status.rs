//! What controllers report (docs/specification.md, MD-7 and MD-8.3). Schemas describe it; as an input it is not looked
//! at.

use kubefoundry_kubernetes::wire::Condition;
use kubefoundry_kubernetes::{string_enum, wire_object};

wire_object! {
    /// What became of a ModelDeployment. Controllers write it.
    pub struct ModelDeploymentStatus {
        /// Where the deployment is in its life.
        phase: Phase = "phase",
        /// What the provider says about it.
        message: String = "message",
        /// The provider that runs it, and why.
        provider: ProviderStatus = "provider",
        /// How many replicas there are.
        replicas: ReplicaStatus = "replicas",
        /// Where the model answers.
        endpoint: EndpointStatus = "endpoint",
        /// Conditions, one of each type: `Validated`, `ProviderSelected`, `ProviderCompatible`, `ResourceCreated`, `Ready`.
        conditions: Vec<Condition> = "conditions" [max_items(256), list_key("type")],
        /// The generation that this status is about.
        observed_generation: i64 = "observedGeneration",
    }
}
string_enum! {
    /// Where a deployment is in its life.
    pub enum Phase {
        /// Accepted, and nothing made of it yet.
        Pending = "Pending",
        /// The provider is starting it.
        Deploying = "Deploying",
        /// The model answers.
        Running = "Running",
        /// The provider reports an error.
        Failed = "Failed",
        /// It is being deleted.
        Terminating = "Terminating",
    }
}
wire_object! {
    /// The provider that runs a deployment.
    pub struct ProviderStatus {
        /// Its name.
        name: String = "name",
        /// Name of the provider's object.
        resource_name: String = "resourceName",
        /// Kind of the provider's object.
        resource_kind: String = "resourceKind",
        /// Why this provider was selected.
        selected_reason: String = "selectedReason",
    }
}
wire_object! {
    /// Replicas; in disaggregated mode the workers of both roles.
    pub struct ReplicaStatus {
        /// How many are wanted.
        desired: i32 = "desired",
        /// How many are ready.
        ready: i32 = "ready",
        /// How many are available.
        available: i32 = "available",
    }
}
wire_object! {
    /// Where a model answers.
    pub struct EndpointStatus {
        /// The Service's name.
        service: String = "service",
        /// The Service's port.
        port: i32 = "port",
    }
}
