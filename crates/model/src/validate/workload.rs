//! Serving mode, replicas, GPUs, memory and CPU (docs/specification.md, MD-2).

use crate::codes;
use crate::engines::profile;
use crate::ir::{EngineType, FieldOrigin, Leaf, NVIDIA_GPU, Role, ServingMode, Worker, Workload};
use crate::wire;
use kubefoundry_diagnostics::FieldRef;
use kubefoundry_kubernetes::check::{Checker, non_empty};
use kubefoundry_kubernetes::labels;
use kubefoundry_yaml::field_path::FieldPath;

/// What is written of one kind of worker.
#[derive(Default)]
struct Written<'w> {
    replicas: Option<i32>,
    gpu: Option<&'w wire::Gpu>,
    memory: Option<&'w str>,
    cpu: Option<&'w str>,
    /// The GPUs when nothing is written of them.
    assumed_gpus: u32,
}

/// Checks the mode and what it needs. None when a field could not be read or is missing.
pub(super) fn workload(
    spec: &wire::ModelDeploymentSpec,
    check: &mut Checker<'_, '_>,
) -> Option<(FieldOrigin, Workload)> {
    let engine = spec.engine.as_ref().and_then(|engine| engine.engine_type);
    let scaling = spec.scaling.as_ref();
    let written_mode = spec.serving.as_ref().and_then(|serving| serving.mode);
    let mode_unread =
        written_mode.is_none() && !check.is_absent(&wire::ModelDeployment::path().spec().serving().mode());
    let mode = Leaf::or_default(written_mode, ServingMode::Aggregated);

    let all = worker(Role::Aggregated, &aggregated(spec, assumed_gpus(spec, mode.value, check)), check);
    let prefill = worker(Role::Prefill, &role(scaling.and_then(|scaling| scaling.prefill.as_ref())), check);
    let decode = worker(Role::Decode, &role(scaling.and_then(|scaling| scaling.decode.as_ref())), check);
    if mode_unread {
        return None;
    }
    let scaling_path = wire::ModelDeployment::path().spec().scaling();
    let workload = match mode.value {
        ServingMode::Aggregated => {
            ignored(&[scaling_path.clone().prefill().into(), scaling_path.decode().into()], mode.value, check);
            require_gpu(engine, Role::Aggregated, all.as_ref(), check);
            Workload::Aggregated(all?)
        }
        ServingMode::Disaggregated => {
            ignored(&[scaling_path.replicas().into()], mode.value, check);
            refuse_resources(check);
            require_roles(check);
            require_gpu(engine, Role::Prefill, prefill.as_ref(), check);
            require_gpu(engine, Role::Decode, decode.as_ref(), check);
            let (prefill, decode) = (prefill?, decode?);
            one_vendor(&prefill, &decode, check);
            Workload::Disaggregated { prefill, decode }
        }
    };
    Some((mode.origin, workload))
}

/// The GPUs of a deployment that says nothing of resources (the live system's defaulting webhook).
fn assumed_gpus(spec: &wire::ModelDeploymentSpec, mode: ServingMode, check: &Checker<'_, '_>) -> u32 {
    let engine = spec.engine.as_ref().and_then(|engine| engine.engine_type);
    let image = [spec.image.as_ref(), spec.engine.as_ref().and_then(|engine| engine.image.as_ref())];
    let assumed = check.effective_api_group().assumes_gpu
        && check.is_absent(&wire::ModelDeployment::path().spec().resources())
        && mode == ServingMode::Aggregated
        && engine.is_some_and(|engine| profile(engine).requires_gpu)
        && image.into_iter().flatten().all(String::is_empty);
    u32::from(assumed)
}

fn aggregated(spec: &wire::ModelDeploymentSpec, assumed_gpus: u32) -> Written<'_> {
    let resources = spec.resources.as_ref();
    Written {
        assumed_gpus,
        replicas: spec.scaling.as_ref().and_then(|scaling| scaling.replicas),
        gpu: resources.and_then(|resources| resources.gpu.as_ref()),
        memory: resources.and_then(|resources| resources.memory.as_deref()),
        cpu: resources.and_then(|resources| resources.cpu.as_deref()),
    }
}

fn role(scaling: Option<&wire::RoleScaling>) -> Written<'_> {
    scaling.map_or_else(Written::default, |scaling| Written {
        replicas: scaling.replicas,
        gpu: scaling.gpu.as_ref(),
        memory: scaling.memory.as_deref(),
        cpu: None,
        assumed_gpus: 0,
    })
}

/// Checks the values of one kind of worker and applies their defaults. None when a count is not one.
fn worker(role: Role, written: &Written<'_>, check: &mut Checker<'_, '_>) -> Option<Worker> {
    let mut worker = Worker {
        role,
        replicas: Leaf::defaulted(1),
        gpu_count: Leaf::defaulted(0),
        gpu_type: Leaf::defaulted(NVIDIA_GPU.to_owned()),
        memory: non_empty(written.memory).map(str::to_owned),
        cpu: non_empty(written.cpu).map(str::to_owned),
    };
    let ceilings = check.effective_api_group().ceilings.as_ref();
    let replicas = count(written.replicas, &worker.replicas_path(), 1, check);
    let gpu_count =
        count(written.gpu.and_then(|gpu| gpu.count), &worker.gpu_path().count(), written.assumed_gpus, check);
    if let Some(gpu_type) = written.gpu.and_then(|gpu| non_empty(gpu.gpu_type.as_deref())) {
        worker.gpu_type = Leaf::written(gpu_type.to_owned());
    }
    if let Some(memory) = &worker.memory {
        check.check_maximum_quantity(&worker.memory_path(), memory, ceilings.map(|most| most.memory));
    }
    if let Some(cpu) = &worker.cpu {
        check.check_maximum_quantity(&worker.cpu_path(), cpu, ceilings.map(|most| most.cpu));
    }
    if let Some(replicas) = &replicas {
        check.check_maximum(&worker.replicas_path(), replicas.value, ceilings.map(|most| most.replicas));
    }
    if let Some(count) = &gpu_count {
        check.check_maximum(&worker.gpu_path().count(), count.value, ceilings.map(|most| most.gpus));
    }
    Some(Worker { replicas: replicas?, gpu_count: gpu_count?, ..worker })
}

/// A count that may be zero; none when it is negative or could not be read.
fn count(written: Option<i32>, path: &FieldPath, default: u32, check: &mut Checker<'_, '_>) -> Option<Leaf<u32>> {
    let Some(written) = written else {
        return check.is_absent(path).then_some(Leaf::defaulted(default));
    };
    let count = u32::try_from(written).ok();
    if count.is_none() {
        let message = format!("{path} is {written}, expected 0 or more");
        check.findings.report(&codes::OUT_OF_RANGE, path, message);
    }
    count.map(Leaf::written)
}

/// Most engines need a GPU in every kind of worker. A role that does not state its count has a finding of its own.
fn require_gpu(engine: Option<EngineType>, role: Role, worker: Option<&Worker>, check: &mut Checker<'_, '_>) {
    let Some(profile) = engine.map(profile).filter(|profile| profile.requires_gpu) else { return };
    let message = format!("{} engine requires GPU (set resources.gpu.count > 0)", profile.display_name);
    let Some(worker) = worker.filter(|worker| worker.gpu_count.value == 0) else { return };
    if role == Role::Aggregated {
        check.findings.report(&codes::ENGINE_REQUIRES_GPU, worker.gpu_path().count(), message);
    } else if worker.gpu_count.is_written() {
        let help = format!("set scaling.{}.gpu.count > 0", role.as_str());
        check.findings.report(&codes::ENGINE_REQUIRES_GPU, worker.gpu_path().count(), message).help(help);
    }
}

/// Warns of scaling that the mode does not use.
fn ignored(paths: &[FieldPath], mode: ServingMode, check: &mut Checker<'_, '_>) {
    for path in paths {
        if check.is_present(path) {
            let help = match mode {
                ServingMode::Aggregated => "remove it, or set serving.mode: disaggregated",
                ServingMode::Disaggregated => "remove it, and set scaling.prefill.replicas and scaling.decode.replicas",
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
        let message = "Cannot specify both resources.gpu and scaling.prefill/decode";
        check.findings.report(&codes::RESOURCES_AND_ROLES, FieldRef::key(&gpu), message);
    }
    let resources = wire::ModelDeployment::path().spec().resources();
    for (field, path) in [("memory", resources.clone().memory()), ("cpu", resources.cpu())] {
        if check.is_present(&path) && !check.is_empty_text(&path) {
            let message = format!(
                "Cannot specify resources.{field} in disaggregated mode (set scaling.prefill and scaling.decode)"
            );
            check.findings.report(&codes::RESOURCES_IN_DISAGGREGATED, FieldRef::key(&path), message);
        }
    }
}

fn require_roles(check: &mut Checker<'_, '_>) {
    let scaling = wire::ModelDeployment::path().spec().scaling();
    let roles = [("prefill", scaling.clone().prefill()), ("decode", scaling.clone().decode())];
    let mut incomplete = false;
    for (role, path) in roles {
        if check.is_absent(&path) {
            incomplete = true;
            continue;
        }
        let fields: &[&'static str] =
            if check.effective_api_group().requires_role_memory { &["gpu.count", "memory"] } else { &["gpu.count"] };
        for field in fields.iter().copied() {
            let path = path.join(field);
            if check.is_absent_or_empty(&path) {
                let message = format!("Disaggregated mode requires scaling.{role}.{field}");
                check.findings.report(&codes::ROLE_FIELD_REQUIRED, &path, message);
            }
        }
    }
    if incomplete {
        let message = "Disaggregated mode requires scaling.prefill and scaling.decode";
        check.findings.report(&codes::ROLES_REQUIRED, &scaling, message);
    }
}

/// The cache moves from prefill to decode, which GPUs of two vendors cannot do between them.
fn one_vendor(prefill: &Worker, decode: &Worker, check: &mut Checker<'_, '_>) {
    let vendor = |worker: &Worker| worker.gpu_type.value.split('/').next().unwrap_or_default().to_owned();
    let (of_prefill, of_decode) = (vendor(prefill), vendor(decode));
    // A type that is none has a finding of its own.
    let is_known = |worker: &Worker| labels::extended_resource(&worker.gpu_type.value).is_ok();
    if of_prefill != of_decode && is_known(prefill) && is_known(decode) {
        let (at, other) = if decode.gpu_type.is_written() { (decode, prefill) } else { (prefill, decode) };
        let message = format!(
            "prefill runs on GPUs of {of_prefill} and decode on GPUs of {of_decode}, expected one vendor for both"
        );
        let (path, other) = (at.gpu_path().gpu_type(), other.gpu_path().gpu_type());
        check.findings.report(&codes::GPU_VENDOR_MISMATCH, &path, message).related(&other, "the other GPU type");
    }
}
