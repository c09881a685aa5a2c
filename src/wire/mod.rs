//! The objects that users write, one file per kind: as close to the YAML as possible, nothing resolved.

mod describe;
mod inference_provider_config;
mod kubernetes;
mod macros;
mod model_deployment;
mod reader;
mod render;
mod status;

pub use crate::text::closest;
pub(crate) use crate::text::shorten;
pub use describe::{Describe, Facets, FieldShape, ObjectShape, Shape, Syntax, WordsShape};
pub use inference_provider_config::{
    Capabilities, EndpointPicker, EngineCapability, EngineEntry, EngineGateway, InferenceProviderConfig,
    InferenceProviderConfigSpec, InferenceProviderConfigStatus, SelectionRule,
};
pub use kubernetes::{
    ConfigMapKeySelector, EnvVar, EnvVarSource, FieldSelector, FileKeySelector, LocalObjectReference, ObjectMeta,
    ResourceFieldSelector, SecretKeySelector, Toleration,
};
pub(crate) use macros::{wire_object, words};
pub use model_deployment::{
    AccessMode, Engine, EngineType, Gateway, Gpu, Model, ModelDeployment, ModelDeploymentSpec, ModelSource,
    PodTemplate, PodTemplateMetadata, Provider, Resources, RoleScaling, Scaling, Secrets, Serving, ServingMode,
    Storage, StorageVolume, VolumePurpose,
};
pub use reader::{IntegerOrString, Map, Read, Reader, Word};
pub(crate) use reader::{read_word, unknown_field, wrong_type};
pub use render::{
    API_VERSION as RENDER_API_VERSION, KaitoSettings, Limits, OutputMode, Render, RuleLevel, RuleSeverity,
};
pub use status::{
    Condition, ConditionStatus, EndpointStatus, ModelDeploymentStatus, Phase, ProviderStatus, ReplicaStatus, Timestamp,
};
