//! `InferenceProviderConfig` v1alpha1 (docs/specification.md, MD-8): what a provider can do and when it is selected.
//! `capabilities.engines` comes flat (the specification) or per engine (airunway).

use kubefoundry_kubernetes::wire::{Condition, Describe, HasPath, ObjectMeta, Read, Reader, Shape, Timestamp};
use kubefoundry_kubernetes::wire_object;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Node, Value};

use super::model_deployment::ServingMode;
use crate::codes;

wire_object! {
    /// A provider as it registers itself: what it can run, and when it is selected. Cluster-scoped; one of a built-in
    /// provider's name takes its place.
    pub struct InferenceProviderConfig {
        /// `<group>/v1alpha1`.
        api_version: String = "apiVersion" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// `InferenceProviderConfig`.
        kind: String = "kind" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// Its name is the provider's name.
        metadata: ObjectMeta = "metadata" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// Capabilities and rules.
        spec: InferenceProviderConfigSpec = "spec",
        /// What the provider's controller reports.
        status: InferenceProviderConfigStatus = "status",
    }
}
wire_object! {
    /// Capabilities and rules.
    pub struct InferenceProviderConfigSpec {
        /// What it can run.
        capabilities: Capabilities = "capabilities",
        /// When it is selected. The provider with the highest priority among its true rules wins; one without a true rule is
        /// never selected by itself.
        selection_rules: Vec<SelectionRule> = "selectionRules" [max_items(256), checked_by(&codes::LIMIT_EXCEEDED)],
        /// Link to its documentation.
        documentation: String = "documentation",
    }
}
wire_object! {
    /// What it can run.
    pub struct Capabilities {
        /// The engines it runs: names (`vllm`), or objects with capabilities of their own. They may be engines that are
        /// unknown here.
        engines: Vec<EngineEntry> = "engines" [max_items(256)],
        /// Serving modes of the engines that do not state their own.
        serving_modes: Vec<ServingMode> = "servingModes" [max_items(256)],
        /// Whether models run without GPUs; for the engines that do not state it themselves.
        cpu_support: bool = "cpuSupport",
        /// Whether models run on GPUs; for the engines that do not state it themselves.
        gpu_support: bool = "gpuSupport",
    }
}

wire_object! {
    /// One engine of a provider.
    pub struct EngineCapability {
        /// The engine's name; it may be one that is unknown here.
        name: String = "name" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// Its serving modes.
        serving_modes: Vec<ServingMode> = "servingModes" [max_items(256)],
        /// Whether it runs without GPUs.
        cpu_support: bool = "cpuSupport",
        /// Whether it runs on GPUs.
        gpu_support: bool = "gpuSupport",
        /// Whether an upstream CRD must be installed for it.
        requires_crd: bool = "requiresCRD",
        /// What it does when models are served through a Gateway.
        gateway: EngineGateway = "gateway",
    }
}
wire_object! {
    /// Gateway capabilities of an engine.
    pub struct EngineGateway {
        /// Settings of the endpoint picker.
        endpoint_picker: EndpointPicker = "endpointPicker",
        /// Whether routing does not honour the served name.
        ignores_served_name: bool = "ignoresServedName",
        /// Naming pattern of the provider's InferencePools, with `{name}` and `{namespace}`.
        inference_pool_name_pattern: String = "inferencePoolNamePattern",
        /// Namespace of the provider's InferencePools, with `{name}` and `{namespace}`.
        inference_pool_namespace: String = "inferencePoolNamespace",
        /// Whether the provider makes its InferencePool itself.
        manages_inference_pool: bool = "managesInferencePool",
    }
}
wire_object! {
    /// Settings of an endpoint picker.
    pub struct EndpointPicker {
        /// Its EndpointPickerConfig, as YAML text.
        config_data: String = "configData",
        /// Its container image.
        image: String = "image",
    }
}

/// One item of `capabilities.engines`.
#[derive(Debug, Clone, PartialEq)]
pub enum EngineEntry {
    /// A bare name (the specification).
    Name(String),
    /// A name with capabilities of its own (the live system).
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
    /// When a provider is selected.
    pub struct SelectionRule {
        /// A CEL expression over the ModelDeployment that says when this rule holds, such as
        /// `spec.engine.type == 'vllm' && spec.resources.gpu.count > 0`. It sees `spec` with defaults, and `metadata`.
        condition: String = "condition" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// The rule with the higher priority wins; 0 by default.
        priority: i32 = "priority" [minimum(0), checked_by(&codes::OUT_OF_RANGE), default("0")],
        /// Why this provider is selected, for people; `{engine}` stands for the engine.
        reason: String = "reason",
    }
}
wire_object! {
    /// What the provider's controller reports.
    pub struct InferenceProviderConfigStatus {
        /// Whether it works. `false` takes it out of selection.
        ready: bool = "ready",
        /// Version of the provider's controller.
        version: Node<'static> = "version" [shape(Shape::String)],
        /// When it was last heard of, as RFC 3339.
        last_heartbeat: Node<'static> = "lastHeartbeat" [shape(Timestamp::SHAPE)],
        /// The CRD version it writes, such as `kaito.sh/v1beta1`.
        upstream_crd_version: Node<'static> = "upstreamCRDVersion" [shape(Shape::String)],
        /// Fingerprint of that CRD's schema.
        upstream_schema_hash: Node<'static> = "upstreamSchemaHash" [shape(Shape::String)],
        /// Its conditions, one of each type.
        conditions: Node<'static> = "conditions" [shape(Vec::<Condition>::SHAPE), max_items(256), list_key("type")],
    }
}
