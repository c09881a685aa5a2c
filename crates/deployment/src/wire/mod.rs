//! ModelDeployments and InferenceProviderConfigs as users write them. Every field is optional and has no default
//! applied.

mod inference_provider_config;
mod model_deployment;
mod patch;
mod shared_overrides;
mod status;

pub use inference_provider_config::{
    Capabilities, EndpointPicker, EngineCapability, EngineEntry, EngineGateway, InferenceProviderConfig,
    InferenceProviderConfigSpec, InferenceProviderConfigStatus, SelectionRule,
};
pub use model_deployment::{
    AccessMode, ContainerClaim, Engine, EngineType, Frontend, FrontendResources, Gateway, Gpu, MAX_ARGUMENTS,
    MAX_EXTRA_ARGUMENTS, Model, ModelDeployment, ModelDeploymentSpec, ModelSource, PodResourceClaim, PodTemplate,
    PodTemplateMetadata, PodTemplateSpec, Probes, Provider, Resources, RoleEngine, RoleResources, RoleScaling, Scaling,
    Secrets, Serving, ServingMode, Storage, StorageVolume, VolumePurpose,
};
pub use patch::{Patch, PatchTarget};
pub use shared_overrides::{MainObjectMetadata, OBJECT_FIELDS, SharedOverrides};
pub use status::{EndpointStatus, ModelDeploymentStatus, Phase, ProviderStatus, ReplicaStatus};

/// The labels and annotations, without their prefix, that kubefoundry sets and users may not.
pub const RESERVED_KEYS: &[&str] = &["managed-by", "model-deployment", "model-source", "selected-reason"];

/// The kind of ModelDeployments.
pub const KIND: &str = "ModelDeployment";

/// The kind of provider configurations.
pub const CONFIGURATION_KIND: &str = "InferenceProviderConfig";
