//! What every worker of a deployment has in its pods, whatever the provider: storage, environment, resources, metadata.

mod volume;

pub(crate) use volume::{
    claims, compilation_cache_root, compilation_caches, ignore_compilation_caches, ignore_further_compilation_caches,
    model_cache_home, mounted_as_shared_memory, refuse_shared_memory_name, shared_memory, storage_mounts,
    storage_volumes,
};

use kubefoundry_kubernetes::pod::{Container, EnvFromSource, PodMetadata, PodSpec, ResourceRequirements, StringMap};
use kubefoundry_kubernetes::wire::LocalObjectReference;

use crate::ir::{Deployment, Worker};

/// `spec.podTemplate.metadata` without the labels that upstream sets itself; none when it is empty.
pub(crate) fn metadata(deployment: &Deployment, reserved: &[&str]) -> Option<PodMetadata> {
    let labels = deployment.pod_labels.iter().filter(|(key, _)| !reserved.contains(&key.as_str()));
    let metadata = PodMetadata {
        labels: StringMap(labels.cloned().collect()),
        annotations: deployment.pod_annotations.as_slice().into(),
    };
    (metadata != PodMetadata::default()).then_some(metadata)
}

/// Everything of a pod that is the same for every worker of a deployment: storage volumes, node selector,
/// tolerations, pull secrets. Containers are the caller's.
pub(crate) fn spec(deployment: &Deployment) -> PodSpec {
    PodSpec {
        containers: Vec::new(),
        volumes: storage_volumes(deployment),
        node_selector: deployment.node_selector.as_slice().into(),
        tolerations: deployment.tolerations.clone(),
        image_pull_secrets: image_pull_secrets(deployment),
    }
}

/// Everything of a container that is the same for every worker of a deployment: the token's secret, environment,
/// storage mounts. Name, image, command, args, ports and resources are the caller's.
pub(crate) fn container(deployment: &Deployment) -> Container {
    Container {
        env_from: token_env_from(deployment),
        env: deployment.env.clone(),
        volume_mounts: storage_mounts(deployment),
        ..Container::default()
    }
}

/// `envFrom` of the secret in `spec.secrets.huggingFaceToken`: all of its keys (docs/specification.md MD-4.8).
pub(crate) fn token_env_from(deployment: &Deployment) -> Vec<EnvFromSource> {
    let secret = deployment.hugging_face_token.clone();
    secret.into_iter().map(|name| EnvFromSource { secret_ref: LocalObjectReference { name: Some(name) } }).collect()
}

/// `spec.imagePullSecrets`.
pub(crate) fn image_pull_secrets(deployment: &Deployment) -> Vec<LocalObjectReference> {
    deployment.image_pull_secrets.iter().map(|name| LocalObjectReference { name: Some(name.clone()) }).collect()
}

/// What a worker asks for: cpu is a request, memory a request and a limit, GPUs a limit (docs/design/0010); the apiserver
/// makes the request of an extended resource equal to its limit.
pub(crate) fn resource_requirements(worker: &Worker) -> ResourceRequirements {
    let mut resources = ResourceRequirements::default();
    if let Some(cpu) = &worker.cpu {
        resources.requests.push("cpu", cpu);
    }
    if let Some(memory) = &worker.memory {
        resources.limits.push("memory", memory);
        resources.requests.push("memory", memory);
    }
    if worker.gpu_count.value > 0 {
        resources.limits.push(&worker.gpu_type.value, worker.gpu_count.value.to_string());
    }
    resources
}

/// Whether every worker has GPUs.
pub(crate) fn has_gpus(deployment: &Deployment) -> bool {
    deployment.workload.workers().into_iter().all(|worker| worker.gpu_count.value > 0)
}
