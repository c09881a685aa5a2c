//! The head: Ray's control plane and dashboard, and the way in. It runs no replicas (`num-cpus: "0"`), so it has no GPU,
//! no storage, and is not bound to the nodes of the workers: on those it would keep a GPU node alive while the model is
//! scaled to zero. It tolerates what they tolerate: every node of a cluster may be tainted.

use super::checks;
use super::image::Runtime;
use super::overrides::Settings;
use super::target::HeadGroupSpec;
use crate::ir::Deployment;
use crate::providers::pod;
use kubefoundry_kubernetes::pod::{Container, ContainerPort, PodSpec, PodTemplate, ResourceRequirements, StringMap};

/// The port that Serve answers on, of the head and of the Service (`DefaultServingPort` in
/// ray-operator/controllers/ray/utils/constant.go).
pub(super) const SERVE_PORT: u16 = 8000;

/// Ports by the names that KubeRay makes the head's Services from.
const PORTS: [(&str, u16); 4] = [("gcs", 6379), ("dashboard", 8265), ("client", 10001), ("serve", SERVE_PORT)];

/// The head of a deployment. The image, the token and the environment are the workers': the head imports the engine to
/// build the application.
pub(super) fn spec(deployment: &Deployment, runtime: &Runtime<'_>, settings: &Settings) -> HeadGroupSpec {
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
    let spec = PodSpec {
        containers: vec![container],
        tolerations: deployment.tolerations.clone(),
        image_pull_secrets: pod::image_pull_secrets(deployment),
        ..PodSpec::default()
    };
    HeadGroupSpec {
        ray_start_params: StringMap(settings.head_params.clone()),
        template: PodTemplate { metadata: pod::metadata(deployment, &checks::LABELS), spec },
    }
}
