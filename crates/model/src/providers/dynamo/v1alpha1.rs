//! `nvidia.com/v1alpha1` DynamoGraphDeployment: `services` by name, the pod in fields of Dynamo's own with
//! `extraPodSpec` for the rest.

use serde::Serialize;

use super::component::{Amounts, Component, Graph, Kind};
use crate::ir::NVIDIA_GPU;
use kubefoundry_kubernetes::pod::{Container, PodMetadata, StringMap, Volume, serialize_entries};
use kubefoundry_kubernetes::wire::{EnvVar, LocalObjectReference, Toleration};

/// `spec`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec {
    backend_framework: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pvcs: Vec<Claim>,
    #[serde(serialize_with = "serialize_entries")]
    services: Vec<(&'static str, Service)>,
}

/// A claim that `volumeMounts` name. It exists: we make it ourselves, with access modes that Dynamo cannot say.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Claim {
    name: String,
    create: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Service {
    component_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub_component_type: Option<&'static str>,
    replicas: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime_version_override: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    env_from_secret: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    envs: Vec<EnvVar>,
    #[serde(skip_serializing_if = "Resources::is_empty")]
    resources: Resources,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    volume_mounts: Vec<ClaimMount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_pod_metadata: Option<PodMetadata>,
    extra_pod_spec: ExtraPodSpec,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Resources {
    #[serde(skip_serializing_if = "Item::is_empty")]
    limits: Item,
    #[serde(skip_serializing_if = "Item::is_empty")]
    requests: Item,
}

impl Resources {
    fn is_empty(&self) -> bool {
        self.limits.is_empty() && self.requests.is_empty()
    }
}

/// Dynamo's names for amounts; `gpuType` is absent for its default, `nvidia.com/gpu`.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<String>,
}

impl Item {
    fn is_empty(&self) -> bool {
        self.cpu.is_none() && self.gpu.is_none() && self.memory.is_none()
    }
}

impl From<Amounts> for Item {
    fn from(Amounts { cpu, memory, gpu }: Amounts) -> Self {
        let (gpu, gpu_type) = gpu.map(|(count, name)| (count.to_string(), name)).unzip();
        Self { cpu, gpu, gpu_type: gpu_type.filter(|name| name != NVIDIA_GPU), memory }
    }
}

/// A claim as a volume of the component: only compilation caches, which the operator knows by it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ClaimMount {
    name: String,
    mount_point: String,
    use_as_compilation_cache: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ExtraPodSpec {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    volumes: Vec<Volume>,
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    node_selector: StringMap,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tolerations: Vec<Toleration>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    image_pull_secrets: Vec<LocalObjectReference>,
    main_container: Container,
}

impl From<Graph> for Spec {
    fn from(graph: Graph) -> Self {
        let mut pvcs = Vec::new();
        for cache in graph.components.iter().filter_map(|component| component.compilation_cache.as_ref()) {
            let claim = Claim { name: cache.claim.clone(), create: false };
            if !pvcs.contains(&claim) {
                pvcs.push(claim);
            }
        }
        let services = graph.components.into_iter().map(|component| (component.name, component.into())).collect();
        Self { backend_framework: graph.backend_framework, pvcs, services }
    }
}

impl From<Component> for Service {
    fn from(component: Component) -> Self {
        let (component_type, sub_component_type) = match component.kind {
            Kind::Frontend => ("frontend", None),
            Kind::Worker => ("worker", None),
            Kind::Prefill => ("worker", Some("prefill")),
            Kind::Decode => ("worker", Some("decode")),
        };
        let cache = component.compilation_cache.map(|cache| ClaimMount {
            name: cache.claim,
            mount_point: cache.mount_path,
            use_as_compilation_cache: true,
        });
        Self {
            component_type,
            sub_component_type,
            replicas: component.replicas,
            runtime_version_override: component.runtime_version,
            env_from_secret: component.env_from_secret,
            envs: component.env,
            resources: Resources { limits: component.limits.into(), requests: component.requests.into() },
            volume_mounts: cache.into_iter().collect(),
            extra_pod_metadata: component.metadata,
            extra_pod_spec: ExtraPodSpec {
                volumes: component.volumes,
                node_selector: component.node_selector,
                tolerations: component.tolerations,
                image_pull_secrets: component.image_pull_secrets,
                main_container: Container {
                    image: Some(component.image),
                    command: component.command,
                    args: component.args,
                    volume_mounts: component.mounts,
                    ..Container::default()
                },
            },
        }
    }
}
