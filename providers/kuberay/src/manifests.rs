//! The `RayService` of `ray.io/v1`, as far as it is written. Fields are emitted in the order of their declaration.
//!
//! Source: ray-operator/config/crd/bases/ray.io_rayservices.yaml of ray-project/kuberay.

use serde::Serialize;

use kubefoundry_kubernetes::pod::{PodTemplate, StringMap};

/// The `spec` of a RayService.
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
    /// The Ray version in the images, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ray_version: Option<String>,
    /// Whether Ray adds and removes workers. Written only if true.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) enable_in_tree_autoscaling: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) autoscaler_options: Option<AutoscalerOptions>,
    pub(super) head_group_spec: HeadGroupSpec,
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
    pub(super) template: PodTemplate,
}

/// A group of identical worker pods.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkerGroupSpec {
    /// The name, unique in the cluster.
    pub(super) group_name: &'static str,
    /// The initial number of pods.
    pub(super) replicas: u32,
    pub(super) min_replicas: u32,
    pub(super) max_replicas: u32,
    /// Options of `ray start`. Written even when empty: operators before 1.3 require it.
    pub(super) ray_start_params: StringMap,
    pub(super) template: PodTemplate,
}
