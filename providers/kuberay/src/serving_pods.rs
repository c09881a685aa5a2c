//! The pods of a RayService, and the labels by which an InferencePool selects those that serve.

use super::checks::RESERVED_POD_LABELS;
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_kubernetes::manifest;
use kubefoundry_kubernetes::pod::{PodMetadata, StringMap};
use kubefoundry_provider::GatewayBackend;
use kubefoundry_provider::pod;

/// The port of Ray Serve on the head and of the Service (`DefaultServingPort` in
/// ray-operator/controllers/ray/utils/constant.go).
pub(super) const SERVE_PORT: u16 = 8000;

/// Returns labels and annotations of the head and the workers.
///
/// KubeRay's own labels name the RayCluster, whose name ends in random characters, and not the RayService (`labelPod` in
/// ray-operator/controllers/ray/common/pod.go). So pods behind a Gateway get a label with the name of the deployment.
/// Pods of other deployments do not, because any change of a pod template makes KubeRay start a second cluster.
pub(super) fn pod_metadata(deployment: &Deployment) -> Option<PodMetadata> {
    let mut metadata = pod::pod_metadata(deployment, &RESERVED_POD_LABELS);
    if deployment.wanted_gateway().is_some() {
        let (key, value) = deployment_label(deployment);
        metadata.get_or_insert_default().labels.push(key, value);
    }
    metadata
}

/// Returns the pods that serve. KubeRay sets `ray.io/serve` to `true` on workers, and on the head while its proxy is
/// healthy (`BuildPod` in ray-operator/controllers/ray/common/pod.go, `updateHeadPodServeLabel` in
/// ray-operator/controllers/ray/rayservice_controller.go). Its own Service selects by the same label.
pub(super) fn gateway_backend(deployment: &Deployment) -> GatewayBackend {
    let (key, value) = deployment_label(deployment);
    let mut labels = StringMap::from_entry(key, value);
    labels.push("ray.io/serve", "true");
    GatewayBackend::Pods { labels, port: SERVE_PORT }
}

fn deployment_label(deployment: &Deployment) -> (String, &str) {
    (deployment.api_group.label(manifest::MODEL_DEPLOYMENT), &deployment.metadata.name)
}
