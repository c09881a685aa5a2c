//! Validation of serving mode, replicas, GPUs, memory and CPU (docs/specification.md, MD-2).

use super::engine::validate_role_engine;
use super::pod::{self, validate_environment};
use super::{messages, resources};
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{
    ContainerResources, EngineContainer, EngineType, FieldOrigin, GPU_RESOURCES, Leaf, NVIDIA_GPU, Role, RoleEngine,
    ServingMode, Worker, Workload, WrittenResources, is_known_gpu,
};
use kubefoundry_deployment::wire;
use kubefoundry_diagnostics::FieldRef;
use kubefoundry_engines::profile;
use kubefoundry_kubernetes::check::{Checker, non_empty};
use kubefoundry_kubernetes::labels;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::closest;

/// The written fields of the workers of one role.
#[derive(Default)]
struct WrittenWorker<'w> {
    replicas: Option<i32>,
    gpu: Option<&'w wire::Gpu>,
    memory: Option<&'w str>,
    cpu: Option<&'w str>,
    nodes: Option<i32>,
    /// The number of GPUs if none is written.
    assumed_gpus: u32,
    /// The fields that only roles have.
    role: Option<&'w wire::RoleScaling>,
}

/// Validates the serving mode and the workers of each role. With `has_gpu`, an aggregated worker without a GPU count has
/// one GPU: the provider chooses it. Returns `None` if a required field is missing or could not
/// be read.
pub(super) fn validate_workload(
    spec: &wire::ModelDeploymentSpec,
    has_gpu: bool,
    common: &WrittenResources,
    check: &mut Checker<'_, '_>,
) -> Option<(FieldOrigin, Workload)> {
    let engine = spec.engine.as_ref().and_then(|engine| engine.engine_type);
    let scaling = spec.scaling.as_ref();
    let written_mode = spec.serving.as_ref().and_then(|serving| serving.mode);
    let mode_unread =
        written_mode.is_none() && !check.is_absent(&wire::ModelDeployment::path().spec().serving().mode());
    let mode = Leaf::or_default(written_mode, ServingMode::Aggregated);

    let assumed_gpus = assumed_gpus(spec, mode.value, check);
    let aggregated =
        validate_worker(Role::Aggregated, &written_aggregated(spec, assumed_gpus.max(u32::from(has_gpu))), check);
    let prefill =
        validate_worker(Role::Prefill, &written_role(scaling.and_then(|scaling| scaling.prefill.as_ref())), check);
    let decode =
        validate_worker(Role::Decode, &written_role(scaling.and_then(|scaling| scaling.decode.as_ref())), check);
    if mode_unread {
        return None;
    }
    let mut complete = |worker: Option<Worker>| Some(complete_resources(worker?, common, check));
    let (aggregated, prefill, decode) = match mode.value {
        ServingMode::Aggregated => (complete(aggregated), None, None),
        ServingMode::Disaggregated => (None, complete(prefill), complete(decode)),
    };
    let scaling_path = wire::ModelDeployment::path().spec().scaling();
    let workload = match mode.value {
        ServingMode::Aggregated => {
            warn_about_ignored_scaling(
                &[scaling_path.clone().prefill().into(), scaling_path.decode().into()],
                mode.value,
                check,
            );
            require_gpu(engine, Role::Aggregated, aggregated.as_ref(), check);
            Workload::Aggregated(aggregated?)
        }
        ServingMode::Disaggregated => {
            // The CRD of a group with the scale subresource writes the default.
            let is_default =
                check.effective_api_group().scales && scaling.and_then(|scaling| scaling.replicas) == Some(1);
            if !is_default {
                warn_about_ignored_scaling(&[scaling_path.replicas().into()], mode.value, check);
            }
            refuse_resources(check);
            require_roles([prefill.as_ref(), decode.as_ref()], check);
            require_gpu(engine, Role::Prefill, prefill.as_ref(), check);
            require_gpu(engine, Role::Decode, decode.as_ref(), check);
            let (prefill, decode) = (prefill?, decode?);
            require_one_gpu_vendor(&prefill, &decode, check);
            Workload::Disaggregated { prefill, decode }
        }
    };
    Some((mode.origin, workload))
}

/// Returns the number of GPUs of a deployment without resources, as airunway's defaulting webhook sets it.
fn assumed_gpus(spec: &wire::ModelDeploymentSpec, mode: ServingMode, check: &Checker<'_, '_>) -> u32 {
    let engine = spec.engine.as_ref().and_then(|engine| engine.engine_type);
    let image = [spec.image.as_ref(), spec.engine.as_ref().and_then(|engine| engine.image.as_ref())];
    let assumes_one = check.effective_api_group().assumes_gpu
        && check.is_absent(&wire::ModelDeployment::path().spec().resources())
        && mode == ServingMode::Aggregated
        && engine.is_some_and(|engine| profile(engine).requires_gpu)
        && image.into_iter().flatten().all(String::is_empty);
    u32::from(assumes_one)
}

fn written_aggregated(spec: &wire::ModelDeploymentSpec, assumed_gpus: u32) -> WrittenWorker<'_> {
    let resources = spec.resources.as_ref();
    WrittenWorker {
        assumed_gpus,
        replicas: spec.scaling.as_ref().and_then(|scaling| scaling.replicas),
        gpu: resources.and_then(|resources| resources.gpu.as_ref()),
        memory: resources.and_then(|resources| resources.memory.as_deref()),
        cpu: resources.and_then(|resources| resources.cpu.as_deref()),
        nodes: resources.and_then(|resources| resources.nodes),
        role: None,
    }
}

fn written_role(scaling: Option<&wire::RoleScaling>) -> WrittenWorker<'_> {
    scaling.map_or_else(WrittenWorker::default, |scaling| WrittenWorker {
        replicas: scaling.replicas,
        gpu: scaling.gpu.as_ref(),
        memory: scaling.memory.as_deref(),
        cpu: None,
        nodes: scaling.nodes,
        assumed_gpus: 0,
        role: Some(scaling),
    })
}

/// Validates the fields of one role and applies their defaults. Returns `None` if a count is invalid.
fn validate_worker(role: Role, written: &WrittenWorker<'_>, check: &mut Checker<'_, '_>) -> Option<Worker> {
    let mut worker = Worker {
        role,
        replicas: Leaf::defaulted(1),
        gpu_count: Leaf::defaulted(0),
        gpu_type: Leaf::defaulted(NVIDIA_GPU.to_owned()),
        nodes: Leaf::defaulted(1),
        memory: non_empty(written.memory).map(str::to_owned),
        cpu: non_empty(written.cpu).map(str::to_owned),
        written: WrittenResources::default(),
        container: ContainerResources::default(),
        gpu_limit: None,
        engine: RoleEngine::default(),
        env: Vec::new(),
        written_container: EngineContainer::default(),
        engine_container: EngineContainer::default(),
    };
    if let (Some(role), Some(path)) = (written.role, worker.role_path()) {
        worker.engine = validate_role_engine(role.engine.as_ref(), &path.clone().engine(), check);
        let env = role.env.as_deref().unwrap_or_default();
        validate_environment(&path.env(), env, check);
        worker.env = env.to_vec();
        worker.written_container =
            pod::engine_container(role.probes.as_ref(), role.volume_mounts.as_deref(), role.security_context.as_ref());
        worker.written = resources::validate_role(role.resources.as_ref(), &worker, check);
    }
    let nodes = read_count(written.nodes, &worker.nodes_path(), 1, check);
    let ceilings = check.effective_api_group().ceilings.as_ref();
    let replicas = read_count(written.replicas, &worker.replicas_path(), 1, check);
    let gpu_count =
        read_count(written.gpu.and_then(|gpu| gpu.count), &worker.gpu_path().count(), written.assumed_gpus, check);
    if let Some(gpu_type) = written.gpu.and_then(|gpu| non_empty(gpu.gpu_type.as_deref())) {
        worker.gpu_type = Leaf::written(gpu_type.to_owned());
    }
    warn_about_gpus(&worker, gpu_count.as_ref(), check);
    if let Some(memory) = &worker.memory {
        check.check_maximum_quantity(&worker.memory_path(), memory, ceilings.map(|ceilings| ceilings.memory));
    }
    if let Some(cpu) = &worker.cpu {
        check.check_maximum_quantity(&worker.cpu_path(), cpu, ceilings.map(|ceilings| ceilings.cpu));
    }
    if let Some(replicas) = &replicas {
        check.check_maximum(&worker.replicas_path(), replicas.value, ceilings.map(|ceilings| ceilings.replicas));
    }
    if let Some(count) = &gpu_count {
        check.check_maximum(&worker.gpu_path().count(), count.value, ceilings.map(|ceilings| ceilings.gpus));
    }
    Some(Worker { replicas: replicas?, gpu_count: gpu_count?, nodes: nodes?, ..worker })
}

/// Merges the resources of a worker, and takes the number of GPUs from the limits if no other field has it.
fn complete_resources(mut worker: Worker, common: &WrittenResources, check: &mut Checker<'_, '_>) -> Worker {
    worker.container = resources::merge(&worker, common, check);
    if !worker.gpu_type.is_written() && !worker.gpu_count.is_written() {
        let limits = worker.container.limits.iter().map(|limit| limit.resource.as_str());
        if let Some(resource) = limits.clone().find(|resource| is_known_gpu(resource)) {
            worker.gpu_type = Leaf::derived(resource.to_owned());
        }
    }
    if let Some((count, limit)) = resources::take_gpus(&mut worker, check) {
        worker.gpu_count = Leaf::derived(count);
        worker.gpu_limit = Some(limit);
    }
    resources::check_container(&worker, check);
    worker
}

/// The most GPUs of a node that is sold: NVIDIA's DGX-2 and HGX-2, and AWS' Trainium instances. Others have 8.
const MAX_NODE_GPUS: u32 = 16;

/// Warns about a GPU resource that looks like a misspelled one, and about more GPUs than a node has.
fn warn_about_gpus(worker: &Worker, count: Option<&Leaf<u32>>, check: &mut Checker<'_, '_>) {
    let gpu_type = worker.gpu_type.value.as_str();
    if worker.gpu_type.is_written()
        && !is_known_gpu(gpu_type)
        && let Some(meant) = closest(gpu_type, GPU_RESOURCES.iter().copied())
    {
        let path = worker.gpu_path().gpu_type();
        let message =
            format!("{path} is {gpu_type:?}, which no common device plugin offers, so the pod may never start");
        check.findings.report(&codes::SUSPECT_GPU_TYPE, &path, message).help(format!("did you mean {meant:?}?"));
    }
    let fraction = gpu_type.starts_with("nvidia.com/mig-") || gpu_type == "nvidia.com/gpu.shared";
    if let Some(count) = count.filter(|count| count.value > MAX_NODE_GPUS && !fraction) {
        let path = worker.gpu_path().count();
        let message = format!(
            "{path} is {}, but no known node has more than {MAX_NODE_GPUS} GPUs, and a pod runs on one node",
            count.value
        );
        let nodes = worker.nodes_path();
        check
            .findings
            .report(&codes::OVERSIZED_POD, &path, message)
            .help(format!("lower the count, and set {nodes} to the number of nodes that a worker spans"));
    }
}

/// Returns a count or its default. Returns `None` if the count was not read, because it is too small or no number.
fn read_count(written: Option<i32>, path: &FieldPath, default: u32, check: &Checker<'_, '_>) -> Option<Leaf<u32>> {
    match written {
        Some(written) => u32::try_from(written).ok().map(Leaf::written),
        None => check.is_absent(path).then_some(Leaf::defaulted(default)),
    }
}

/// Reports an aggregated worker, or a role with the written count 0, without the GPUs that its engine needs. A role
/// without a count is reported elsewhere.
fn require_gpu(engine: Option<EngineType>, role: Role, worker: Option<&Worker>, check: &mut Checker<'_, '_>) {
    let Some(profile) = engine.map(profile).filter(|profile| profile.requires_gpu) else { return };
    let message = messages::requires_gpu(&format!("{} engine", profile.display_name));
    let Some(worker) = worker.filter(|worker| !worker.has_gpus()) else { return };
    if role == Role::Aggregated {
        check.findings.report(&codes::ENGINE_REQUIRES_GPU, worker.gpu_path().count(), message);
    } else if worker.gpu_count.is_written() {
        let help = format!("set spec.scaling.{}.gpu.count to at least 1", role.as_str());
        check.findings.report(&codes::ENGINE_REQUIRES_GPU, worker.gpu_path().count(), message).help(help);
    }
}

/// Warns about scaling fields that the serving mode does not use.
fn warn_about_ignored_scaling(paths: &[FieldPath], mode: ServingMode, check: &mut Checker<'_, '_>) {
    for path in paths {
        if check.is_present(path) {
            let help = match mode {
                ServingMode::Aggregated => "remove it, or set spec.serving.mode: disaggregated",
                ServingMode::Disaggregated => {
                    "remove it, and set spec.scaling.prefill.replicas and spec.scaling.decode.replicas"
                }
            };
            check
                .findings
                .report(&codes::SCALING_IGNORED, FieldRef::key(path), format!("{path} is ignored in {mode} mode"))
                .help(help);
        }
    }
}

fn refuse_resources(check: &mut Checker<'_, '_>) {
    let gpu = FieldPath::from(wire::ModelDeployment::path().spec().resources().gpu());
    if check.is_present(&gpu) {
        check.findings.report(&codes::RESOURCES_AND_ROLES, FieldRef::key(&gpu), messages::RESOURCES_AND_ROLES);
    }
    let resources = wire::ModelDeployment::path().spec().resources();
    let fields =
        [("memory", resources.clone().memory()), ("cpu", resources.clone().cpu()), ("nodes", resources.nodes())];
    for (field, path) in fields {
        if check.is_present(&path) && !check.is_empty_text(&path) {
            let message = messages::resource_of_aggregated(field);
            check.findings.report(&codes::RESOURCES_IN_DISAGGREGATED, FieldRef::key(&path), message);
        }
    }
}

/// Reports missing fields of the roles. `workers` are prefill and decode, whose resources can state the same.
fn require_roles(workers: [Option<&Worker>; 2], check: &mut Checker<'_, '_>) {
    let scaling = wire::ModelDeployment::path().spec().scaling();
    let roles = [("prefill", scaling.clone().prefill()), ("decode", scaling.clone().decode())];
    let mut incomplete = false;
    for ((role, path), worker) in roles.into_iter().zip(workers) {
        if check.is_absent(&path) {
            incomplete = true;
            continue;
        }
        // Dynamo and Ray start a worker without a memory request, so only the count is indispensable.
        let memory = check.effective_api_group().expects_role_memory.then_some(("memory", &codes::ROLE_WITHOUT_MEMORY));
        for (field, code) in [("gpu.count", &codes::ROLE_FIELD_REQUIRED)].into_iter().chain(memory) {
            let path = path.join(field);
            let is_in_resources = worker.is_some_and(|worker| match field {
                "memory" => worker.memory_limit().is_some(),
                _ => worker.has_gpus(),
            });
            if check.is_absent_or_empty(&path) && !is_in_resources {
                check.findings.report(code, &path, messages::role_requires(role, field));
            }
        }
    }
    if incomplete {
        check.findings.report(&codes::ROLES_REQUIRED, &scaling, messages::ROLES_REQUIRED);
    }
}

/// Reports roles with GPUs of different vendors, between which the KV cache cannot be transferred.
fn require_one_gpu_vendor(prefill: &Worker, decode: &Worker, check: &mut Checker<'_, '_>) {
    let vendor = |worker: &Worker| worker.gpu_type.value.split('/').next().unwrap_or_default().to_owned();
    let (prefill_vendor, decode_vendor) = (vendor(prefill), vendor(decode));
    // An invalid type is reported elsewhere.
    let is_known = |worker: &Worker| labels::extended_resource(&worker.gpu_type.value).is_ok();
    if prefill_vendor != decode_vendor && is_known(prefill) && is_known(decode) {
        let (place, other) = if decode.gpu_type.is_written() { (decode, prefill) } else { (prefill, decode) };
        let message = format!(
            "prefill runs on GPUs of {prefill_vendor} and decode on GPUs of {decode_vendor}, expected one vendor for both"
        );
        let (path, other) = (place.gpu_path().gpu_type(), other.gpu_path().gpu_type());
        check.findings.report(&codes::GPU_VENDOR_MISMATCH, &path, message).related(&other, "the other GPU type");
    }
}
