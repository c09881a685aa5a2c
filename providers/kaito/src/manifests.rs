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
    pub(super) count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instance_type: Option<String>,
    pub(super) label_selector: LabelSelector,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) preferred_nodes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) partition: Option<Partition>,
}

/// The part of the GPUs of a node that a replica runs on.
#[derive(Debug, Serialize)]
pub(super) struct Partition {
    pub(super) mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) count: Option<u32>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node_count_limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) auto_upgrade: Option<AutoUpgrade>,
    pub(super) label_selector: LabelSelector,
    pub(super) template: InferenceSetTemplate,
}

/// When and how KAITO replaces the replicas after an upgrade of its base image.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AutoUpgrade {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) strategy: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) maintenance_window: Option<MaintenanceWindow>,
}

/// The times at which an upgrade may begin.
#[derive(Debug, Serialize)]
pub(super) struct MaintenanceWindow {
    pub(super) schedule: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) duration: Option<String>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instance_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) partition: Option<Partition>,
}

/// The fields of a ConfigMap besides its metadata.
#[derive(Debug, Serialize)]
pub(super) struct ConfigMap {
    pub(super) data: StringMap,
}
