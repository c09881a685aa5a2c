//! The status of a ModelDeployment (docs/specification.md, MD-7 and MD-8.3). Schemas describe it, but as input it is
//! not read.

use kubefoundry_kubernetes::wire::Condition;
use kubefoundry_kubernetes::{string_enum, wire_object};

wire_object! {
    /// The state of a ModelDeployment, written by controllers.
    pub struct ModelDeploymentStatus {
        /// The phase of the deployment.
        phase: Phase = "phase",
        /// The provider's message.
        message: String = "message",
        /// The provider that runs the model, with the reason for its selection.
        provider: ProviderStatus = "provider",
        /// Replica counts.
        replicas: ReplicaStatus = "replicas",
        /// The label selector of the pods that serve, for the scale subresource.
        selector: String = "selector",
        /// The Service that answers requests.
        endpoint: EndpointStatus = "endpoint",
        /// The conditions, one of each type: `Validated`, `ProviderSelected`, `ProviderCompatible`, `ResourceCreated`,
        /// `Ready`.
        conditions: Vec<Condition> = "conditions" [max_items(256), list_key("type")],
        /// The generation that this status describes.
        observed_generation: i64 = "observedGeneration",
    }
}
string_enum! {
    /// The phase of a deployment.
    pub enum Phase {
        /// Accepted, but nothing has been created yet.
        Pending = "Pending",
        /// The provider is starting the model.
        Deploying = "Deploying",
        /// The model answers requests.
        Running = "Running",
        /// The provider reports an error.
        Failed = "Failed",
        /// The deployment is being deleted.
        Terminating = "Terminating",
    }
}
wire_object! {
    /// The provider that runs a deployment.
    pub struct ProviderStatus {
        /// The name of the provider.
        name: String = "name",
        /// The name of the provider's object.
        resource_name: String = "resourceName",
        /// The kind of the provider's object.
        resource_kind: String = "resourceKind",
        /// The reason for selecting this provider.
        selected_reason: String = "selectedReason",
    }
}
wire_object! {
    /// Replica counts. In disaggregated mode they include the workers of both roles.
    pub struct ReplicaStatus {
        /// The desired number of replicas.
        desired: i32 = "desired",
        /// The number of ready replicas.
        ready: i32 = "ready",
        /// The number of available replicas.
        available: i32 = "available",
    }
}
wire_object! {
    /// The Service that answers requests.
    pub struct EndpointStatus {
        /// The name of the Service.
        service: String = "service",
        /// The port of the Service.
        port: i32 = "port",
    }
}
