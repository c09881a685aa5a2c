//! `InferenceProviderConfig` v1alpha1 (spec/1 §3.9): what a provider can do and when it is selected.
//! `capabilities.engines` comes flat (the specification) or per engine (the live system).

use super::kubernetes::ObjectMeta;
use super::macros::wire_object;
use super::model_deployment::ServingMode;
use super::reader::{Read, Reader};
use crate::path::FieldPath;
use crate::yaml::{Node, Value};

wire_object! {
    /// A provider, as it registers itself.
    pub struct InferenceProviderConfig {
        /// `<group>/v1alpha1`.
        api_version: String = "apiVersion",
        /// `InferenceProviderConfig`.
        kind: String = "kind",
        /// Its name is the provider's name.
        metadata: ObjectMeta = "metadata",
        /// Capabilities and rules.
        spec: InferenceProviderConfigSpec = "spec",
        /// Whether it is ready.
        status: InferenceProviderConfigStatus = "status",
    }
}
wire_object! {
    /// Capabilities and rules.
    pub struct InferenceProviderConfigSpec {
        /// What it can run.
        capabilities: Capabilities = "capabilities",
        /// When it is selected.
        selection_rules: Vec<SelectionRule> = "selectionRules",
        /// Where its documentation is.
        documentation: String = "documentation",
    }
}
wire_object! {
    /// What it can run.
    pub struct Capabilities {
        /// Engines: names, or objects with capabilities of their own.
        engines: Vec<EngineEntry> = "engines",
        /// Serving modes of every engine that does not say its own.
        serving_modes: Vec<ServingMode> = "servingModes",
        /// Whether models run without GPUs.
        cpu_support: bool = "cpuSupport",
        /// Whether models run on GPUs.
        gpu_support: bool = "gpuSupport",
    }
}

wire_object! {
    /// One engine of a provider.
    pub struct EngineCapability {
        /// The engine; it may be one that is unknown here.
        name: String = "name",
        /// Its serving modes.
        serving_modes: Vec<ServingMode> = "servingModes",
        /// Whether it runs without GPUs.
        cpu_support: bool = "cpuSupport",
        /// Whether it runs on GPUs.
        gpu_support: bool = "gpuSupport",
        /// Whether an upstream CRD must be installed.
        requires_crd: bool = "requiresCRD",
        /// Gateway capabilities.
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
        /// Naming pattern of the provider's pools.
        inference_pool_name_pattern: String = "inferencePoolNamePattern",
        /// Namespace of the provider's pools.
        inference_pool_namespace: String = "inferencePoolNamespace",
        /// Whether the provider makes its InferencePool itself.
        manages_inference_pool: bool = "managesInferencePool",
    }
}
wire_object! {
    /// Settings of an endpoint picker.
    pub struct EndpointPicker {
        /// Its configuration, as text.
        config_data: String = "configData",
        /// Its image.
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

wire_object! {
    /// When a provider is selected.
    pub struct SelectionRule {
        /// A CEL expression over the deployment.
        condition: String = "condition",
        /// The higher wins; 0 by default.
        priority: i32 = "priority",
        /// Why, for `explain`; `{engine}` stands for the engine.
        reason: String = "reason",
    }
}
wire_object! {
    /// What the provider's controller reports.
    pub struct InferenceProviderConfigStatus {
        /// Whether it works. `false` takes it out of selection.
        ready: bool = "ready",
        /// Its version.
        version: Node<'static> = "version",
        /// When it was last heard of.
        last_heartbeat: Node<'static> = "lastHeartbeat",
        /// The CRD version it writes.
        upstream_crd_version: Node<'static> = "upstreamCRDVersion",
        /// Fingerprint of that CRD.
        upstream_schema_hash: Node<'static> = "upstreamSchemaHash",
        /// Conditions.
        conditions: Node<'static> = "conditions",
    }
}
