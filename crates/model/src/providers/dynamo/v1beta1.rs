//! `nvidia.com/v1beta1` DynamoGraphDeployment: a list of `components`, each with an ordinary pod whose container is
//! `main`.

use serde::Serialize;

use super::component::{Amounts, Component, Graph, Kind};
use kubefoundry_kubernetes::pod::{Container, EnvFromSource, PodSpec, PodTemplate, ResourceRequirements, StringMap};
use kubefoundry_kubernetes::wire::LocalObjectReference;

/// The container that the operator completes.
const MAIN: &str = "main";

/// `spec`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec {
    backend_framework: &'static str,
    components: Vec<Entry>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    name: &'static str,
    r#type: &'static str,
    replicas: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime_version_override: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compilation_cache: Option<Cache>,
    pod_template: PodTemplate,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Cache {
    pvc_name: String,
    mount_path: String,
}

impl From<Graph> for Spec {
    fn from(graph: Graph) -> Self {
        let components = graph.components.into_iter().map(Entry::from).collect();
        Self { backend_framework: graph.backend_framework, components }
    }
}

impl From<Component> for Entry {
    fn from(component: Component) -> Self {
        let secret = component.env_from_secret.map(|name| LocalObjectReference { name: Some(name) });
        let main = Container {
            name: Some(MAIN.to_owned()),
            image: Some(component.image),
            command: component.command,
            args: component.args,
            env_from: secret.into_iter().map(|secret_ref| EnvFromSource { secret_ref }).collect(),
            env: component.env,
            resources: ResourceRequirements {
                limits: resource_list(component.limits),
                requests: resource_list(component.requests),
                ..ResourceRequirements::default()
            },
            volume_mounts: component.mounts,
            ..Container::default()
        };
        Self {
            name: component.name,
            r#type: match component.kind {
                Kind::Frontend => "frontend",
                Kind::Worker => "worker",
                Kind::Prefill => "prefill",
                Kind::Decode => "decode",
            },
            replicas: component.replicas,
            runtime_version_override: component.runtime_version,
            compilation_cache: component
                .compilation_cache
                .map(|cache| Cache { pvc_name: cache.claim, mount_path: cache.mount_path }),
            pod_template: PodTemplate {
                metadata: component.metadata,
                spec: PodSpec {
                    containers: vec![main],
                    volumes: component.volumes,
                    node_selector: component.node_selector,
                    tolerations: component.tolerations,
                    image_pull_secrets: component.image_pull_secrets,
                },
            },
        }
    }
}

fn resource_list(Amounts { cpu, memory, gpu }: Amounts) -> StringMap {
    let gpu = gpu.map(|(count, name)| (name, count.to_string()));
    let cpu = cpu.map(|amount| ("cpu".to_owned(), amount));
    let memory = memory.map(|amount| ("memory".to_owned(), amount));
    StringMap([cpu, gpu, memory].into_iter().flatten().collect())
}
