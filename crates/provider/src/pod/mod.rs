//! The parts of pods that are common to all providers: storage, environment, resources and metadata.

mod volume;

pub use volume::{
    claims, compilation_cache_root, compilation_caches, find_shared_memory_mount, ignore_compilation_caches,
    ignore_further_compilation_caches, model_cache_home, refuse_shared_memory_name, shared_memory, storage_mounts,
    storage_volumes, written_mounts, written_volumes,
};

use kubefoundry_kubernetes::pod::{
    Container, ContainerProbe, EnvFromSource, PodMetadata, PodResourceClaim, PodSpec, ResourceClaim,
    ResourceRequirements, StringMap,
};
use kubefoundry_kubernetes::wire::{EnvVar, LocalObjectReference};
use kubefoundry_yaml::Node;
use serde_json::Value;

use kubefoundry_deployment::ir::{Amount, ContainerClaim, ContainerResources, Deployment, Probes, Worker};
use kubefoundry_deployment::wire;

/// Returns `spec.podTemplate.metadata` without the labels that upstream sets itself, or `None` if nothing is left.
pub fn pod_metadata(deployment: &Deployment, reserved: &[&str]) -> Option<PodMetadata> {
    let labels = deployment.pod_labels.iter().filter(|(key, _)| !reserved.contains(&key.as_str()));
    let metadata = PodMetadata {
        labels: StringMap(labels.cloned().collect()),
        annotations: deployment.pod_annotations.as_slice().into(),
    };
    (metadata != PodMetadata::default()).then_some(metadata)
}

/// Returns the pod spec that is common to all workers of a deployment: storage volumes, node selector, tolerations, pull
/// secrets and the fields of `podTemplate.spec`. The caller adds the containers.
pub fn base_pod_spec(deployment: &Deployment) -> PodSpec {
    PodSpec {
        containers: Vec::new(),
        volumes: storage_volumes(deployment).into_iter().chain(written_volumes(deployment)).collect(),
        node_selector: deployment.node_selector.as_slice().into(),
        affinity: deployment.pod_spec.affinity.as_ref().map(Node::to_json),
        topology_spread_constraints: deployment
            .pod_spec
            .topology_spread_constraints
            .iter()
            .map(Node::to_json)
            .collect(),
        runtime_class_name: deployment.pod_spec.runtime_class_name.clone(),
        termination_grace_period_seconds: deployment.pod_spec.termination_grace_period_seconds,
        resource_claims: pod_resource_claims(deployment),
        host_ipc: deployment.pod_spec.host_ipc == Some(true),
        security_context: deployment.pod_spec.security_context.as_ref().map(Node::to_json),
        ..auxiliary_pod_spec(deployment)
    }
}

/// Returns the pod spec that is common to all pods of a deployment, also those that run no worker: tolerations, pull
/// secrets, priority, scheduler and service account. They need no GPU node, and would occupy one.
pub fn auxiliary_pod_spec(deployment: &Deployment) -> PodSpec {
    let settings = &deployment.pod_spec;
    PodSpec {
        tolerations: deployment.tolerations.clone(),
        image_pull_secrets: image_pull_secrets(deployment),
        priority_class_name: settings.priority_class_name.clone(),
        scheduler_name: settings.scheduler_name.clone(),
        service_account_name: settings.service_account_name.clone(),
        ..PodSpec::default()
    }
}

/// Returns the container of a worker as far as providers agree: the token's Secret, environment, resources, storage
/// mounts, probes, and the mounts and security of the user. The caller adds name, image, command, args and ports.
pub fn base_container(deployment: &Deployment, worker: &Worker) -> Container {
    let Probes { startup, readiness, liveness } = &worker.engine_container.probes;
    Container {
        startup_probe: written_probe(startup.as_ref()),
        readiness_probe: written_probe(readiness.as_ref()),
        liveness_probe: written_probe(liveness.as_ref()),
        env_from: token_env_from(deployment),
        resources: resource_requirements(worker),
        env: worker_env(deployment, worker),
        volume_mounts: storage_mounts(deployment).into_iter().chain(written_mounts(&worker.engine_container)).collect(),
        security_context: engine_security_context(worker),
        ..Container::default()
    }
}

/// Returns `spec.env` with the variables of the worker's role, which replace variables of the same name.
pub fn worker_env(deployment: &Deployment, worker: &Worker) -> Vec<EnvVar> {
    let mut env = deployment.env.clone();
    for variable in &worker.env {
        match env.iter_mut().find(|existing| existing.name == variable.name) {
            Some(existing) => existing.clone_from(variable),
            None => env.push(variable.clone()),
        }
    }
    env
}

/// Returns the security context of the engine's container.
pub fn engine_security_context(worker: &Worker) -> Option<Value> {
    worker.engine_container.security_context.as_ref().map(Node::to_json)
}

/// Returns a probe as the user wrote it.
pub fn written_probe(probe: Option<&Node<'_>>) -> Option<ContainerProbe> {
    Some(ContainerProbe::Written(probe?.to_json()))
}

/// Returns `envFrom` for the Secret in `spec.secrets.huggingFaceToken`, with all its keys (docs/specification.md
/// MD-4.8).
pub fn token_env_from(deployment: &Deployment) -> Vec<EnvFromSource> {
    let secret = deployment.hugging_face_token.clone();
    secret.into_iter().map(|name| EnvFromSource { secret_ref: LocalObjectReference { name: Some(name) } }).collect()
}

/// Returns `spec.imagePullSecrets`.
pub(crate) fn image_pull_secrets(deployment: &Deployment) -> Vec<LocalObjectReference> {
    deployment.image_pull_secrets.iter().map(|name| LocalObjectReference { name: Some(name.clone()) }).collect()
}

/// Returns the resources of a worker: cpu is a request, memory a request and a limit, GPUs are a limit
/// (docs/design/0010), and what the fields for requests, limits and claims say. The API server sets the request of an
/// extended resource to its limit.
fn resource_requirements(worker: &Worker) -> ResourceRequirements {
    let ContainerResources { requests, limits, claims } = &worker.container;
    let amounts = |amounts: &[Amount]| {
        StringMap(amounts.iter().map(|amount| (amount.resource.clone(), amount.quantity.clone())).collect())
    };
    let mut limits = amounts(limits);
    if worker.gpu_count.value > 0 {
        // Memory comes first, other resources follow the GPUs.
        let position = usize::from(limits.0.first().is_some_and(|(resource, _)| resource == "memory"));
        limits.0.insert(position, (worker.gpu_type.value.clone(), worker.gpu_count.value.to_string()));
    }
    ResourceRequirements { limits, requests: amounts(requests), claims: container_claims(claims) }
}

/// Returns the claims that a container uses.
pub fn container_claims(claims: &[ContainerClaim]) -> Vec<ResourceClaim> {
    let entry = |claim: &ContainerClaim| ResourceClaim {
        name: claim.name.clone().unwrap_or_default(),
        request: claim.request.clone(),
    };
    claims.iter().map(entry).collect()
}

/// Returns the claims for devices of a worker's pod.
fn pod_resource_claims(deployment: &Deployment) -> Vec<PodResourceClaim> {
    let entry = |claim: &wire::PodResourceClaim| PodResourceClaim {
        name: claim.name.clone().unwrap_or_default(),
        resource_claim_name: claim.resource_claim_name.clone(),
        resource_claim_template_name: claim.resource_claim_template_name.clone(),
    };
    deployment.pod_spec.resource_claims.iter().map(entry).collect()
}

/// Returns whether every worker has GPUs.
pub fn has_gpus(deployment: &Deployment) -> bool {
    deployment.workload.workers().into_iter().all(Worker::has_gpus)
}
