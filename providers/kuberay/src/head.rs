//! The head pod: Ray's control plane, dashboard and entry point. It runs no replicas (`num-cpus: "0"`), so it has no
//! GPU and no storage. It does not have the workers' node selector, because it would keep a GPU node alive while the
//! model is scaled to zero. It has their tolerations, because every node of a cluster may be tainted.

use super::image::RayRuntime;
use super::manifests::HeadGroupSpec;
use super::overrides::KubeRaySettings;
use super::serving_pods::{self, SERVE_PORT};
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_kubernetes::pod::{Container, ContainerPort, PodSpec, PodTemplate, ResourceRequirements, StringMap};
use kubefoundry_provider::pod;

/// The ports, with the names that KubeRay uses for the head's Services.
const PORTS: [(&str, u16); 4] = [("gcs", 6379), ("dashboard", 8265), ("client", 10001), ("serve", SERVE_PORT)];

/// Builds the head of a deployment. It has the image, token and environment of the workers, because it imports the
/// engine to build the application.
pub(super) fn build_head(deployment: &Deployment, runtime: &RayRuntime, settings: &KubeRaySettings) -> HeadGroupSpec {
    let mut resources = ResourceRequirements::default();
    resources.limits.push("memory", &settings.head_memory);
    resources.requests.push("cpu", &settings.head_cpu);
    resources.requests.push("memory", &settings.head_memory);
    let ports = PORTS.map(|(name, port)| ContainerPort { container_port: port, name: Some(name.to_owned()) });
    let container = Container {
        name: Some("ray-head".to_owned()),
        image: Some(runtime.image.clone()),
        ports: ports.into(),
        env_from: pod::token_env_from(deployment),
        env: deployment.env.clone(),
        resources,
        ..Container::default()
    };
    let spec = PodSpec { containers: vec![container], ..pod::auxiliary_pod_spec(deployment) };
    HeadGroupSpec {
        ray_start_params: StringMap(settings.head_params.clone()),
        template: PodTemplate { metadata: serving_pods::pod_metadata(deployment), spec },
    }
}
