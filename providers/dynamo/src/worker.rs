//! The worker components: one aggregated worker, or prefill and decode.

use super::backend::Backend;
use super::component::{Component, ComponentKind, ResourceAmounts};
use super::flags;
use super::image::DynamoRuntime;
use super::settings::DynamoSettings;
use super::{runtimes, storage};
use kubefoundry_deployment::ir::{Amount, Deployment, EngineType, Role, Worker};
use kubefoundry_diagnostics::Findings;
use kubefoundry_engines::{self as engines, Invocation};
use kubefoundry_kubernetes::pod::{PodSpec, env_field, set_default_env};
use kubefoundry_kubernetes::wire::EnvVar;
use kubefoundry_provider::pod;

/// Builds the component of a role, and returns it with the settings of its engine. Returns `None` after reporting why
/// it cannot run.
pub(super) fn build_component(
    deployment: &Deployment,
    worker: &Worker,
    backend: &Backend,
    runtime: &DynamoRuntime,
    settings: &DynamoSettings,
    findings: &mut Findings<'_>,
) -> Option<(Component, Invocation)> {
    let launcher = runtimes::launcher(backend.kind, runtime.release, runtime.is_exact);
    let mut invocation = engines::resolve(deployment, worker, &launcher, findings);
    let own = settings.workers.of(worker.role).cloned().unwrap_or_default();
    let stack = flags::WorkerStack {
        omitted: &own.omitted_flags,
        engine: backend.engine,
        role: worker.role,
        release: runtime.release,
        kv_routing: settings.routes_by_kv().then_some(&settings.router_mode_path),
    };
    let omitted = flags::add_stack_flags(&mut invocation, stack, deployment, findings)?;
    settings.workers.check_omitted_flags(worker.role, &omitted, findings);

    let storage = storage::worker_storage(deployment, worker);
    let (limits, requests) = limits_and_requests(worker);
    let component = Component {
        name: component_name(worker.role, deployment, backend, settings),
        kind: own.kind.unwrap_or(match worker.role {
            Role::Aggregated => ComponentKind::Worker,
            Role::Prefill => ComponentKind::Prefill,
            Role::Decode => ComponentKind::Decode,
        }),
        replicas: worker.replicas.value,
        nodes: worker.nodes.value,
        image: runtime.image.clone(),
        runtime_version: settings.runtime_version.clone(),
        command: backend.command(),
        args: invocation.argv(),
        env_from_secret: deployment.hugging_face_token.clone(),
        env: environment(deployment, worker, storage.env),
        limits,
        requests,
        claims: pod::container_claims(&worker.container.claims),
        mounts: storage.mounts,
        shared_memory: deployment.shared_memory.clone(),
        probes: worker.engine_container.probes.clone(),
        security_context: pod::engine_security_context(worker),
        compilation_cache: storage.compilation_cache,
        metadata: own.merge_metadata(pod::pod_metadata(deployment, super::RESERVED_POD_LABELS)),
        pod: PodSpec { volumes: storage.volumes, ..pod::base_pod_spec(deployment) },
        pod_fields: own.pod,
        container_fields: own.container,
    };
    Some((component, invocation))
}

/// Returns the name of the component of each role.
pub(super) fn component_names(
    deployment: &Deployment,
    backend: &Backend,
    settings: &DynamoSettings,
) -> Vec<(Role, String)> {
    let roles = deployment.workload.workers().into_iter().map(|worker| worker.role);
    roles.map(|role| (role, component_name(role, deployment, backend, settings))).collect()
}

fn component_name(role: Role, deployment: &Deployment, backend: &Backend, settings: &DynamoSettings) -> String {
    let written = settings.workers.of(role).and_then(|own| own.name.clone());
    written.unwrap_or_else(|| {
        let roles: Vec<Role> = deployment.workload.workers().into_iter().map(|worker| worker.role).collect();
        backend.component_name(&deployment.metadata.name, &roles, role).to_owned()
    })
}

/// Returns `spec.env` and the variables that the stack needs. Variables of the user win.
fn environment(deployment: &Deployment, worker: &Worker, storage: Vec<EnvVar>) -> Vec<EnvVar> {
    let mut env = pod::worker_env(deployment, worker);
    for variable in storage {
        set_default_env(&mut env, variable);
    }
    // With the default, `localhost`, other pods could not fetch KV blocks (vllm/envs.py).
    if deployment.engine.kind == EngineType::Vllm && worker.role != Role::Aggregated {
        set_default_env(&mut env, env_field("VLLM_NIXL_SIDE_CHANNEL_HOST", "status.podIP"));
    }
    env
}

/// Returns the limits and the requests: cpu is a request, memory a request and a limit, GPUs are a limit
/// (docs/design/0010), and what the fields for requests and limits say.
fn limits_and_requests(worker: &Worker) -> (ResourceAmounts, ResourceAmounts) {
    let gpus = worker.gpu_count.value;
    let gpu = (gpus > 0).then(|| (gpus, worker.gpu_type.value.clone()));
    let limits = ResourceAmounts { gpu, ..named_amounts(&worker.container.limits) };
    (limits, named_amounts(&worker.container.requests))
}

/// Sorts amounts into Dynamo's fields.
fn named_amounts(amounts: &[Amount]) -> ResourceAmounts {
    let mut named = ResourceAmounts::default();
    for Amount { resource, quantity, .. } in amounts {
        match resource.as_str() {
            "cpu" => named.cpu = Some(quantity.clone()),
            "memory" => named.memory = Some(quantity.clone()),
            _ => named.others.push((resource.clone(), quantity.clone())),
        }
    }
    named
}
