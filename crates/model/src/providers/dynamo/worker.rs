//! The workers: one kind, or prefill and decode.

use super::backend::Backend;
use super::component::{Amounts, Component, Kind};
use super::flags;
use super::image::Runtime;
use super::overrides::Settings;
use super::{runtimes, storage};
use crate::engines;
use crate::ir::{Deployment, EngineType, Role, Worker};
use crate::providers::pod;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::pod::{PodSpec, env_field, set_default_env};
use kubefoundry_kubernetes::wire::EnvVar;

/// The component of one kind of worker. `None` means that findings say why not.
pub(super) fn component(
    deployment: &Deployment,
    worker: &Worker,
    backend: &Backend,
    runtime: &Runtime<'_>,
    settings: &Settings,
    findings: &mut Findings<'_>,
) -> Option<Component> {
    let launcher = runtimes::launcher(backend.kind, runtime.version);
    let mut invocation = engines::resolve(deployment, worker, &launcher, findings);
    let stack = flags::Stack {
        engine: backend.engine,
        role: worker.role,
        version: runtime.version,
        kv_routing: settings.routes_by_kv(),
    };
    flags::complete(&mut invocation, stack, deployment, findings)?;

    let storage = storage::of_worker(deployment);
    let PodSpec { node_selector, tolerations, image_pull_secrets, .. } = pod::spec(deployment);
    let (limits, requests) = amounts(worker);
    Some(Component {
        name: backend.component(worker.role),
        kind: match worker.role {
            Role::Aggregated => Kind::Worker,
            Role::Prefill => Kind::Prefill,
            Role::Decode => Kind::Decode,
        },
        replicas: worker.replicas.value,
        image: runtime.image.clone(),
        runtime_version: settings.runtime_version.clone(),
        command: backend.command(),
        args: invocation.argv(),
        env_from_secret: deployment.hugging_face_token.clone(),
        env: environment(deployment, worker.role, storage.env),
        limits,
        requests,
        volumes: storage.volumes,
        mounts: storage.mounts,
        compilation_cache: storage.compilation_cache,
        metadata: pod::metadata(deployment, &[]),
        node_selector,
        tolerations,
        image_pull_secrets,
    })
}

/// `spec.env`, and what the stack needs under names that the user left free.
fn environment(deployment: &Deployment, role: Role, storage: Vec<EnvVar>) -> Vec<EnvVar> {
    let mut env = deployment.env.clone();
    for variable in storage {
        set_default_env(&mut env, variable);
    }
    // Its default is `localhost`, where no other pod finds the KV blocks (vllm/envs.py).
    if deployment.engine.kind == EngineType::Vllm && role != Role::Aggregated {
        set_default_env(&mut env, env_field("VLLM_NIXL_SIDE_CHANNEL_HOST", "status.podIP"));
    }
    env
}

/// cpu is a request, memory a request and a limit, GPUs a limit (docs/design/0010).
fn amounts(worker: &Worker) -> (Amounts, Amounts) {
    let gpus = worker.gpu_count.value;
    let limits = Amounts {
        cpu: None,
        memory: worker.memory.clone(),
        gpu: (gpus > 0).then(|| (gpus, worker.gpu_type.value.clone())),
    };
    (limits, Amounts { cpu: worker.cpu.clone(), memory: worker.memory.clone(), gpu: None })
}
