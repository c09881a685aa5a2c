//! `RayService` of `ray.io/v1`: the part of it that is written here. Field order is emission order.
//!
//! Source: ray-operator/config/crd/bases/ray.io_rayservices.yaml of ray-project/kuberay.

use serde::Serialize;

use kubefoundry_kubernetes::pod::{PodTemplate, StringMap};

/// `spec` of a RayService.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RayServiceSpec {
    /// The Serve configuration, as YAML in a string (see `serve.rs`).
    pub(super) serve_config_v2: String,
    /// The cluster that it runs on.
    pub(super) ray_cluster_config: RayClusterSpec,
}

/// A Ray cluster: one head, and groups of workers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RayClusterSpec {
    /// The Ray version in the images, when it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ray_version: Option<String>,
    /// Whether Ray adds and removes workers; written when true.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) enable_in_tree_autoscaling: bool,
    /// The autoscaler's own settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) autoscaler_options: Option<AutoscalerOptions>,
    /// The head.
    pub(super) head_group_spec: HeadGroupSpec,
    /// The workers.
    pub(super) worker_group_specs: Vec<WorkerGroupSpec>,
}

/// Settings of the autoscaler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct AutoscalerOptions {
    /// `v1` or `v2`.
    pub(super) version: &'static str,
}

/// The pod that runs Ray's control plane.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HeadGroupSpec {
    /// Options of `ray start`, which KubeRay joins into a shell command line.
    pub(super) ray_start_params: StringMap,
    /// The pod.
    pub(super) template: PodTemplate,
}

/// Pods that are all alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkerGroupSpec {
    /// Its name, unique in the cluster.
    pub(super) group_name: &'static str,
    /// How many pods at first.
    pub(super) replicas: u32,
    /// At least this many.
    pub(super) min_replicas: u32,
    /// At most this many.
    pub(super) max_replicas: u32,
    /// Options of `ray start`. Written even when empty: operators before 1.3 require it.
    pub(super) ray_start_params: StringMap,
    /// The pod.
    pub(super) template: PodTemplate,
}
