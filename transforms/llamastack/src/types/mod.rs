//! The subset of Kubernetes' built-in types that rendering emits. Field order is emission order, and absent parts are
//! omitted.

mod cluster_objects;

use serde::Serialize;
use serde_json::Value;

use super::wire;
pub(super) use cluster_objects::{
    AutoscalerSpec, Backend, BackendPort, BackendService, BudgetSpec, ClaimResources, ClaimSpec, ConfigMapBody,
    EmptyBody, HttpPath, HttpPaths, HttpRule, IngressRule, IngressSpec, Metric, MetricTarget, NetworkPolicySpec, Peer,
    PolicyPort, ResourceMetric, RoleBindingBody, RoleRef, ScaleTarget, ServicePort, ServiceSpec, Subject,
};
use kubefoundry_kubernetes::pod::{ClaimSource, ContainerPort, EmptyDir, PodMetadata, StringMap};
use kubefoundry_kubernetes::wire::EnvVar;

/// A selector of objects by labels (meta/v1 LabelSelector).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LabelSelector {
    /// Labels with required values.
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub(super) match_labels: StringMap,
    /// Labels that must exist with any value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) match_expressions: Vec<LabelExists>,
}

/// The requirement that a label exists with any value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct LabelExists {
    /// The key of the label.
    pub(super) key: String,
    /// Always `Exists`.
    pub(super) operator: &'static str,
}

/// apps/v1 DeploymentSpec.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct DeploymentSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replicas: Option<i32>,
    pub(super) selector: LabelSelector,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) strategy: Option<Strategy>,
    pub(super) template: PodTemplate,
}

/// How a Deployment replaces its pods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Strategy {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
}

/// core/v1 PodTemplateSpec.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct PodTemplate {
    pub(super) metadata: PodMetadata,
    pub(super) spec: PodSpec,
}

/// core/v1 PodSpec.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodSpec {
    pub(super) service_account_name: String,
    pub(super) security_context: PodSecurityContext,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) termination_grace_period_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) init_containers: Vec<Container>,
    pub(super) containers: Vec<Container>,
    pub(super) volumes: Vec<Volume>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) affinity: Option<Affinity>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) topology_spread_constraints: Vec<Value>,
}

/// The group that owns the files of volumes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodSecurityContext {
    pub(super) fs_group: i64,
}

/// core/v1 Container.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Container {
    pub(super) name: String,
    pub(super) image: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) image_pull_policy: Option<wire::ImagePullPolicy>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) command: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) args: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) working_dir: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) ports: Vec<ContainerPort>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) env: Vec<EnvVar>,
    #[serde(skip_serializing_if = "Resources::is_empty")]
    pub(super) resources: Resources,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) startup_probe: Option<Probe>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) volume_mounts: Vec<wire::VolumeMount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) termination_message_policy: Option<&'static str>,
}

/// core/v1 ResourceRequirements.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Resources {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) claims: Vec<ResourceClaim>,
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub(super) limits: StringMap,
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub(super) requests: StringMap,
}

impl Resources {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// core/v1 ResourceClaim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ResourceClaim {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request: Option<String>,
}

/// core/v1 Probe over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Probe {
    pub(super) http_get: HttpGet,
    pub(super) initial_delay_seconds: u32,
    pub(super) timeout_seconds: u32,
    pub(super) failure_threshold: u32,
    pub(super) success_threshold: u32,
}

/// core/v1 HTTPGetAction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct HttpGet {
    pub(super) path: &'static str,
    pub(super) port: u16,
}

/// core/v1 Volume: a generated one, or the user's in its original form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Volume {
    Made(GeneratedVolume),
    Given(Value),
}

/// A generated volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeneratedVolume {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) persistent_volume_claim: Option<ClaimSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) config_map: Option<ConfigMapSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) empty_dir: Option<EmptyDir>,
}

/// core/v1 ConfigMapVolumeSource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ConfigMapSource {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) items: Vec<KeyToPath>,
}

/// core/v1 KeyToPath.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct KeyToPath {
    pub(super) key: String,
    pub(super) path: String,
}

impl Volume {
    /// Creates a volume with an empty directory.
    pub(super) fn empty_dir(name: &str, size_limit: Option<&str>) -> Self {
        let empty_dir = EmptyDir { medium: None, size_limit: size_limit.map(str::to_owned) };
        Self::Made(GeneratedVolume { name: name.to_owned(), empty_dir: Some(empty_dir), ..GeneratedVolume::default() })
    }

    /// Creates a volume with a ConfigMap: all of it, or one key under another name.
    pub(super) fn config_map(name: &str, config_map: &str, item: Option<(&str, &str)>) -> Self {
        let items = item.into_iter().map(|(key, path)| KeyToPath { key: key.to_owned(), path: path.to_owned() });
        let source = ConfigMapSource { name: config_map.to_owned(), items: items.collect() };
        Self::Made(GeneratedVolume { name: name.to_owned(), config_map: Some(source), ..GeneratedVolume::default() })
    }

    /// Creates a volume from a PersistentVolumeClaim.
    pub(super) fn claim(name: &str, claim_name: String) -> Self {
        let claim = ClaimSource { claim_name };
        Self::Made(GeneratedVolume {
            name: name.to_owned(),
            persistent_volume_claim: Some(claim),
            ..GeneratedVolume::default()
        })
    }
}

/// Creates a mount. `readOnly` is omitted unless it is true.
pub(super) fn mount(name: &str, path: &str, read_only: bool) -> wire::VolumeMount {
    wire::VolumeMount {
        name: Some(name.to_owned()),
        mount_path: Some(path.to_owned()),
        read_only: read_only.then_some(true),
        ..wire::VolumeMount::default()
    }
}

/// core/v1 Affinity: the scheduler prefers different nodes for the pods of one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Affinity {
    pub(super) pod_anti_affinity: PodAntiAffinity,
}

/// core/v1 PodAntiAffinity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodAntiAffinity {
    pub(super) preferred_during_scheduling_ignored_during_execution: [WeightedTerm; 1],
}

/// core/v1 WeightedPodAffinityTerm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WeightedTerm {
    pub(super) weight: u32,
    pub(super) pod_affinity_term: AffinityTerm,
}

/// core/v1 PodAffinityTerm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AffinityTerm {
    pub(super) label_selector: LabelSelector,
    pub(super) topology_key: &'static str,
}

/// core/v1 TopologySpreadConstraint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SpreadConstraint {
    pub(super) max_skew: u32,
    pub(super) topology_key: &'static str,
    pub(super) when_unsatisfiable: &'static str,
    pub(super) label_selector: LabelSelector,
}
