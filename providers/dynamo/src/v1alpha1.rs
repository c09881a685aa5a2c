//! The `nvidia.com/v1alpha1` DynamoGraphDeployment: a mapping of `services`, with the pod in Dynamo's own fields and in
//! `extraPodSpec`.

use serde::Serialize;

use super::component::{Component, ComponentKind, Graph, Multinode, ResourceAmounts};
use crate::settings::component::PodFields;
use kubefoundry_deployment::ir::NVIDIA_GPU;
use kubefoundry_kubernetes::pod::{
    Container, ContainerProbe, PodMetadata, PodSpec, ResourceClaim, StringMap, serialize_entries,
};
use kubefoundry_kubernetes::wire::EnvVar;
use kubefoundry_provider::pod::written_probe;

/// The `spec` of a graph.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec {
    backend_framework: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pvcs: Vec<PvcReference>,
    #[serde(serialize_with = "serialize_entries")]
    services: Vec<(String, Service)>,
}

/// A claim that `volumeMounts` refer to. The operator must not create it (`create: false`): the claim is rendered
/// separately, because this field has no access mode.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct PvcReference {
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
    multinode: Option<Multinode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime_version_override: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    env_from_secret: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    envs: Vec<EnvVar>,
    #[serde(skip_serializing_if = "ServiceResources::is_empty")]
    resources: ServiceResources,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared_memory: Option<SharedMemory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    liveness_probe: Option<ContainerProbe>,
    #[serde(skip_serializing_if = "Option::is_none")]
    readiness_probe: Option<ContainerProbe>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    volume_mounts: Vec<ClaimMount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_pod_metadata: Option<PodMetadata>,
    extra_pod_spec: ExtraPodSpec,
}

/// The size of the volume that the operator mounts at `/dev/shm`.
#[derive(Debug, Serialize)]
struct SharedMemory {
    size: String,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct ServiceResources {
    #[serde(skip_serializing_if = "ResourceItem::is_empty")]
    limits: ResourceItem,
    #[serde(skip_serializing_if = "ResourceItem::is_empty")]
    requests: ResourceItem,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    claims: Vec<ResourceClaim>,
}

impl ServiceResources {
    fn is_empty(&self) -> bool {
        self.limits.is_empty() && self.requests.is_empty() && self.claims.is_empty()
    }
}

/// Resource amounts under Dynamo's names. `gpuType` is absent for its default, `nvidia.com/gpu`.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceItem {
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<String>,
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    custom: StringMap,
}

impl ResourceItem {
    fn is_empty(&self) -> bool {
        self.cpu.is_none() && self.gpu.is_none() && self.memory.is_none() && self.custom.is_empty()
    }
}

impl From<ResourceAmounts> for ResourceItem {
    fn from(ResourceAmounts { cpu, memory, gpu, others }: ResourceAmounts) -> Self {
        let (gpu, gpu_type) = gpu.map(|(count, name)| (count.to_string(), name)).unzip();
        Self { cpu, gpu, gpu_type: gpu_type.filter(|name| name != NVIDIA_GPU), memory, custom: StringMap(others) }
    }
}

/// A claim that the operator mounts. Used only for compilation caches.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ClaimMount {
    name: String,
    mount_point: String,
    use_as_compilation_cache: bool,
}

/// A pod without containers, and the container that the operator completes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ExtraPodSpec {
    #[serde(flatten)]
    pod: PodFields<PodSpec>,
    main_container: PodFields<Container>,
}

impl From<Graph> for Spec {
    fn from(graph: Graph) -> Self {
        let mut pvcs = Vec::new();
        for cache in graph.components.iter().filter_map(|component| component.compilation_cache.as_ref()) {
            let claim = PvcReference { name: cache.claim.clone(), create: false };
            if !pvcs.contains(&claim) {
                pvcs.push(claim);
            }
        }
        let services =
            graph.components.into_iter().map(|component| (component.name.clone(), component.into())).collect();
        Self { backend_framework: graph.backend_framework, pvcs, services }
    }
}

impl From<Component> for Service {
    fn from(component: Component) -> Self {
        let (component_type, sub_component_type) = match component.kind {
            ComponentKind::Frontend => ("frontend", None),
            ComponentKind::Worker => ("worker", None),
            ComponentKind::Prefill => ("worker", Some("prefill")),
            ComponentKind::Decode => ("worker", Some("decode")),
        };
        let cache = component.compilation_cache.map(|cache| ClaimMount {
            name: cache.claim,
            mount_point: cache.mount_path,
            use_as_compilation_cache: true,
        });
        let main_container = Container {
            image: Some(component.image),
            command: component.command,
            args: component.args,
            volume_mounts: component.mounts,
            // A service has no field for it.
            startup_probe: written_probe(component.probes.startup.as_ref()),
            security_context: component.security_context,
            ..Container::default()
        };
        Self {
            component_type,
            sub_component_type,
            replicas: component.replicas,
            multinode: Multinode::new(component.nodes),
            runtime_version_override: component.runtime_version,
            env_from_secret: component.env_from_secret,
            envs: component.env,
            resources: ServiceResources {
                limits: component.limits.into(),
                requests: component.requests.into(),
                claims: component.claims,
            },
            shared_memory: component.shared_memory.map(|size| SharedMemory { size }),
            liveness_probe: written_probe(component.probes.liveness.as_ref()),
            readiness_probe: written_probe(component.probes.readiness.as_ref()),
            volume_mounts: cache.into_iter().collect(),
            extra_pod_metadata: component.metadata,
            extra_pod_spec: ExtraPodSpec {
                pod: PodFields::replace(component.pod, &component.pod_fields),
                main_container: PodFields::replace(main_container, &component.container_fields),
            },
        }
    }
}
