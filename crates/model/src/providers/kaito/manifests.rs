//! The written objects: Workspace and InferenceSet of `kaito.sh/v1beta1` (kaito-project/kaito config/crd/bases), and
//! the ConfigMap of a preset. Fields are emitted in the order of their declaration.

use serde::Serialize;

use kubefoundry_kubernetes::pod::{PodTemplate, StringMap};

/// The CRD version that is written.
pub(super) const API_VERSION: &str = "kaito.sh/v1beta1";

/// The fields of a Workspace besides its metadata. It has no `spec`.
#[derive(Debug, Serialize)]
pub(super) struct Workspace {
    pub(super) resource: Resource,
    pub(super) inference: Inference,
}

/// The nodes of a Workspace.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resource {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instance_type: Option<String>,
    pub(super) label_selector: LabelSelector,
}

/// The labels of the nodes to run on.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LabelSelector {
    pub(super) match_labels: StringMap,
}

/// The inference section: a preset with its configuration, or a pod template.
#[derive(Debug, Default, Serialize)]
pub(super) struct Inference {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) preset: Option<Preset>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) config: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) template: Option<PodTemplate>,
}

/// A model that KAITO runs with its own image and command.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Preset {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) preset_options: Option<PresetOptions>,
}

/// The access to a preset's weights.
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

/// The template of the Workspace that an InferenceSet creates for each replica.
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

/// The fields of a ConfigMap besides its metadata.
#[derive(Debug, Serialize)]
pub(super) struct ConfigMap {
    pub(super) data: StringMap,
}
