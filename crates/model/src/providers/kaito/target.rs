//! What is written: `kaito.sh/v1beta1` Workspace and InferenceSet, and the ConfigMap that a preset reads
//! (kaito-project/kaito config/crd/bases). Field order is emission order.

use serde::Serialize;

use kubefoundry_kubernetes::pod::{PodTemplate, StringMap};

/// The CRD version.
pub(super) const API_VERSION: &str = "kaito.sh/v1beta1";

/// Everything of a Workspace after its metadata; it has no `spec`.
#[derive(Debug, Serialize)]
pub(super) struct Workspace {
    pub(super) resource: Resource,
    pub(super) inference: Inference,
}

/// The nodes of a Workspace.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resource {
    pub(super) count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instance_type: Option<String>,
    pub(super) label_selector: LabelSelector,
}

/// Which nodes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LabelSelector {
    pub(super) match_labels: StringMap,
}

/// What runs: a preset with its configuration, or a template.
#[derive(Debug, Default, Serialize)]
pub(super) struct Inference {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) preset: Option<Preset>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) config: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) template: Option<PodTemplate>,
}

/// A model that KAITO knows how to run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Preset {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) preset_options: Option<PresetOptions>,
}

/// How a preset gets its weights.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PresetOptions {
    pub(super) model_access_secret: String,
}

/// The `spec` of an InferenceSet.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InferenceSet {
    pub(super) replicas: u32,
    pub(super) label_selector: LabelSelector,
    pub(super) template: InferenceSetTemplate,
}

/// The Workspace that an InferenceSet makes for each replica.
#[derive(Debug, Serialize)]
pub(super) struct InferenceSetTemplate {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resource: Option<InferenceSetResource>,
    pub(super) inference: Inference,
}

/// The nodes of a replica.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InferenceSetResource {
    pub(super) instance_type: String,
}

/// Everything of a ConfigMap after its metadata.
#[derive(Debug, Serialize)]
pub(super) struct ConfigMap {
    pub(super) data: StringMap,
}
