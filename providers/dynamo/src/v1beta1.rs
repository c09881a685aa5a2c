//! The `nvidia.com/v1beta1` DynamoGraphDeployment: a list of `components`, each with an ordinary pod template whose
//! container is `main`.

use serde::Serialize;

use super::component::{Component, ComponentKind, Graph, Multinode, ResourceAmounts};
use crate::settings::component::PodFields;
use kubefoundry_kubernetes::pod::{Container, EnvFromSource, PodMetadata, PodSpec, ResourceRequirements, StringMap};
use kubefoundry_kubernetes::wire::LocalObjectReference;
use kubefoundry_provider::pod::written_probe;

/// The name of the container that the operator completes.
const MAIN_CONTAINER: &str = "main";

/// The `spec` of a graph.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec {
    backend_framework: &'static str,
    components: Vec<ComponentEntry>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ComponentEntry {
    name: String,
    r#type: &'static str,
    replicas: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    multinode: Option<Multinode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime_version_override: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared_memory_size: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compilation_cache: Option<CompilationCacheEntry>,
    pod_template: PodTemplateEntry,
}

#[derive(Debug, Serialize)]
struct PodTemplateEntry {
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<PodMetadata>,
    spec: PodSpecEntry,
}

/// A pod with the container that the operator completes.
#[derive(Debug, Serialize)]
struct PodSpecEntry {
    containers: [PodFields<Container>; 1],
    #[serde(flatten)]
    pod: PodFields<PodSpec>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CompilationCacheEntry {
    pvc_name: String,
    mount_path: String,
}

impl From<Graph> for Spec {
    fn from(graph: Graph) -> Self {
        let components = graph.components.into_iter().map(ComponentEntry::from).collect();
        Self { backend_framework: graph.backend_framework, components }
    }
}

impl From<Component> for ComponentEntry {
    fn from(component: Component) -> Self {
        let secret = component.env_from_secret.map(|name| LocalObjectReference { name: Some(name) });
        let main = Container {
            name: Some(MAIN_CONTAINER.to_owned()),
            image: Some(component.image),
            command: component.command,
            args: component.args,
            env_from: secret.into_iter().map(|secret_ref| EnvFromSource { secret_ref }).collect(),
            env: component.env,
            resources: ResourceRequirements {
                limits: to_resource_list(component.limits),
                requests: to_resource_list(component.requests),
                claims: component.claims,
            },
            volume_mounts: component.mounts,
            startup_probe: written_probe(component.probes.startup.as_ref()),
            liveness_probe: written_probe(component.probes.liveness.as_ref()),
            readiness_probe: written_probe(component.probes.readiness.as_ref()),
            security_context: component.security_context,
            ..Container::default()
        };
        Self {
            name: component.name,
            r#type: match component.kind {
                ComponentKind::Frontend => "frontend",
                ComponentKind::Worker => "worker",
                ComponentKind::Prefill => "prefill",
                ComponentKind::Decode => "decode",
            },
            replicas: component.replicas,
            multinode: Multinode::new(component.nodes),
            runtime_version_override: component.runtime_version,
            shared_memory_size: component.shared_memory,
            compilation_cache: component
                .compilation_cache
                .map(|cache| CompilationCacheEntry { pvc_name: cache.claim, mount_path: cache.mount_path }),
            pod_template: PodTemplateEntry {
                metadata: component.metadata,
                spec: PodSpecEntry {
                    containers: [PodFields::replace(main, &component.container_fields)],
                    pod: PodFields::replace(component.pod, &component.pod_fields),
                },
            },
        }
    }
}

fn to_resource_list(ResourceAmounts { cpu, memory, gpu, others }: ResourceAmounts) -> StringMap {
    let gpu = gpu.map(|(count, name)| (name, count.to_string()));
    let cpu = cpu.map(|amount| ("cpu".to_owned(), amount));
    let memory = memory.map(|amount| ("memory".to_owned(), amount));
    StringMap([cpu, gpu, memory].into_iter().flatten().chain(others).collect())
}
