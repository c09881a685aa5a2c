//! `InferenceProviderConfig` v1alpha1 (docs/specification.md, MD-8): the capabilities and selection rules of a
//! provider. `capabilities.engines` is a list of names (the specification) or of objects with their own capabilities
//! (airunway).

use kubefoundry_kubernetes::wire::{Condition, Describe, HasPath, ObjectMeta, Read, Reader, Shape, Timestamp};
use kubefoundry_kubernetes::wire_object;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Node, Value};

use super::model_deployment::ServingMode;
use crate::codes;

wire_object! {
    /// The capabilities and selection rules of a provider. Cluster-scoped. A configuration with the name of a built-in
    /// provider replaces the built-in one.
    pub struct InferenceProviderConfig {
        /// `<group>/v1alpha1`.
        api_version: String = "apiVersion" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// `InferenceProviderConfig`.
        kind: String = "kind" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// The metadata. The name is the provider's name.
        metadata: ObjectMeta = "metadata" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// The provider's capabilities and selection rules.
        spec: InferenceProviderConfigSpec = "spec",
        /// The state that the provider's controller reports.
        status: InferenceProviderConfigStatus = "status",
    }
}
wire_object! {
    /// The provider's capabilities and selection rules.
    pub struct InferenceProviderConfigSpec {
        /// The engines and serving modes that the provider supports.
        capabilities: Capabilities = "capabilities",
        /// Rules for selecting the provider. The provider with the true rule of highest priority wins. A provider
        /// without a true rule is used only if a deployment names it.
        selection_rules: Vec<SelectionRule> = "selectionRules" [max_items(256), checked_by(&codes::LIMIT_EXCEEDED)],
        /// A link to the provider's documentation.
        documentation: String = "documentation",
    }
}
wire_object! {
    /// The engines and serving modes that the provider supports.
    pub struct Capabilities {
        /// The supported engines: names (`vllm`), or objects with their own capabilities. kubefoundry does not need to
        /// know the engines.
        engines: Vec<EngineEntry> = "engines" [max_items(256)],
        /// The serving modes of engines that do not list their own.
        serving_modes: Vec<ServingMode> = "servingModes" [max_items(256)],
        /// Whether models run without GPUs. For engines that do not set it themselves.
        cpu_support: bool = "cpuSupport",
        /// Whether models run on GPUs. For engines that do not set it themselves.
        gpu_support: bool = "gpuSupport",
    }
}

wire_object! {
    /// An engine of a provider.
    pub struct EngineCapability {
        /// The engine's name. kubefoundry does not need to know the engine.
        name: String = "name" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// The serving modes of the engine.
        serving_modes: Vec<ServingMode> = "servingModes" [max_items(256)],
        /// The formats of the engine's API, such as `openai-chat`, `openai-responses` and `anthropic-messages`.
        api_formats: Vec<String> = "apiFormats" [max_items(256)],
        /// Whether the engine runs without GPUs.
        cpu_support: bool = "cpuSupport",
        /// Whether the engine runs on GPUs.
        gpu_support: bool = "gpuSupport",
        /// Whether the engine needs an upstream CRD.
        requires_crd: bool = "requiresCRD",
        /// The engine's settings for models behind a Gateway.
        gateway: EngineGateway = "gateway",
    }
}
wire_object! {
    /// Gateway capabilities of an engine.
    pub struct EngineGateway {
        /// Settings of the endpoint picker.
        endpoint_picker: EndpointPicker = "endpointPicker",
        /// Whether routing ignores the served name.
        ignores_served_name: bool = "ignoresServedName",
        /// The naming pattern of the provider's InferencePools, with `{name}` and `{namespace}`.
        inference_pool_name_pattern: String = "inferencePoolNamePattern",
        /// The namespace of the provider's InferencePools, with `{name}` and `{namespace}`.
        inference_pool_namespace: String = "inferencePoolNamespace",
        /// Whether the provider creates its InferencePool itself.
        manages_inference_pool: bool = "managesInferencePool",
    }
}
wire_object! {
    /// Settings of an endpoint picker.
    pub struct EndpointPicker {
        /// The EndpointPickerConfig, as YAML text.
        config_data: String = "configData",
        /// The container image of the endpoint picker.
        image: String = "image",
    }
}

/// An item of `capabilities.engines`.
#[derive(Debug, Clone, PartialEq)]
pub enum EngineEntry {
    /// A name, as in the specification.
    Name(String),
    /// A name with its own capabilities, as in airunway.
    Capability(EngineCapability),
}

impl Read for EngineEntry {
    const EXPECTED: &'static str = "an engine name or a mapping";

    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match node.value {
            Value::Mapping(_) => EngineCapability::read(node, path, reader).map(Self::Capability),
            _ => String::read(node, path, reader).map(Self::Name),
        }
    }
}

impl HasPath for EngineEntry {
    type Path = <EngineCapability as HasPath>::Path;
}

impl Describe for EngineEntry {
    const SHAPE: Shape = Shape::OneOf(&[Shape::String, EngineCapability::SHAPE]);
}

wire_object! {
    /// A rule for selecting a provider.
    pub struct SelectionRule {
        /// A CEL expression that is true if the rule applies to a ModelDeployment, such as
        /// `spec.engine.type == 'vllm' && spec.resources.gpu.count > 0`. Its variables are `spec` with defaults, and
        /// `metadata`.
        condition: String = "condition" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// The priority, 0 by default. The true rule with the highest priority wins.
        priority: i32 = "priority" [minimum(0), default("0")],
        /// The reason for the selection, shown to users. `{engine}` is replaced by the engine's name.
        reason: String = "reason",
    }
}
wire_object! {
    /// The state that the provider's controller reports.
    pub struct InferenceProviderConfigStatus {
        /// Whether the provider works. `false` excludes it from selection.
        ready: bool = "ready",
        /// The version of the provider's controller.
        version: Node<'static> = "version" [shape(Shape::String)],
        /// The time of the controller's last report, as RFC 3339.
        last_heartbeat: Node<'static> = "lastHeartbeat" [shape(Timestamp::SHAPE)],
        /// The CRD version that it writes, such as `kaito.sh/v1beta1`.
        upstream_crd_version: Node<'static> = "upstreamCRDVersion" [shape(Shape::String)],
        /// The fingerprint of that CRD's schema.
        upstream_schema_hash: Node<'static> = "upstreamSchemaHash" [shape(Shape::String)],
        /// The conditions, one of each type.
        conditions: Node<'static> = "conditions" [shape(Vec::<Condition>::SHAPE), max_items(256), list_key("type")],
    }
}
