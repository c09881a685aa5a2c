//! Inference engines: how a deployment becomes the flags, or configuration keys, of the engine that runs it.
//!
//! ```text
//! typed fields ─┐
//! engine.args  ─┼─ resolve (flag tables of the runtime) ─ Invocation ─┬─ argv()               containers
//! extraArgs    ─┘                                                     ├─ keyword_arguments()  Python
//!                                                                     └─ engine_config        TensorRT-LLM
//! ```
//! Providers add the flags of their stack with [`Invocation::set_default`]; a flag that the user set wins.

mod arguments;
mod checks;
pub mod flags;
mod imported;
mod invocation;
mod launcher;
mod parallelism;
pub mod profile;
mod typed_fields;

pub use arguments::user_flags::looks_like_flag;
pub use checks::shared_settings::check_shared_settings;
pub use imported::command::{CommandLine, CommandWord, script_item};
pub use imported::flags::{ImportedFlag, flags_from_argv, flags_from_keywords};
pub use imported::script::{UnreadableScript, expand_variables};
pub use invocation::{Argument, ArgumentValue, Invocation, Parallelism, escape_expansion};
pub use launcher::{Charset, ConfigKeys, Launcher, Parser, RefusedFlag, SeparateValues, ServerFlagRefusal, ValueForm};

use kubefoundry_deployment::hardware::find_gpu;
use kubefoundry_deployment::ir::{Deployment, EngineType, Role, RoleEngine, Worker};
use kubefoundry_diagnostics::Findings;
use kubefoundry_facts::fit::WorkerFit;
use kubefoundry_yaml::field_path::FieldPath;
pub use profile::EngineProfile;

/// Returns the profile of an engine: the names of its settings.
pub fn profile(engine: EngineType) -> &'static EngineProfile {
    match engine {
        EngineType::Vllm => &profile::vllm::PROFILE,
        EngineType::Sglang => &profile::sglang::PROFILE,
        EngineType::Trtllm => &profile::trtllm::PROFILE,
        EngineType::Llamacpp => &profile::llamacpp::PROFILE,
    }
}

/// Resolves all settings of the engine for one worker: typed fields, `engine.args`, `engine.extraArgs` and parallelism
/// (docs/design/0007 to 0009), and checks them against what is known of the model, the GPU and the engine's version. A
/// setting that cannot be passed is omitted and reported as an error. The others are returned all the same, so that the
/// provider finds its own errors in the same run.
///
/// The arguments include the model and the served name where the launcher [takes](Launcher::takes_model) them.
pub fn resolve(
    deployment: &Deployment,
    worker: &Worker,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) -> Invocation {
    let (invocation, are_sizes_valid) = resolve_settings(deployment, worker, launcher, findings);
    check_settings(deployment, worker, launcher, (&invocation, are_sizes_valid), findings);
    invocation
}

/// Resolves the flags of a program that runs beside the engine, such as a frontend. `arguments` are the flags by name,
/// and `path` is the field that holds them. A flag that cannot be passed is omitted and reported as an error.
pub fn resolve_program(
    arguments: &[(String, String)],
    path: &FieldPath,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) -> Invocation {
    let mut invocation = Invocation::new(launcher.separate_values);
    arguments::engine_args::add_program_args(arguments, path, launcher, &mut invocation, findings);
    invocation
}

/// Describes the workers of a deployment for the questions on which GPUs they fit, and with how much context. Workers
/// without GPUs are left out, and so are all workers of an engine that does not split models.
pub fn describe_workers(deployment: &Deployment, launcher: &Launcher, findings: &mut Findings<'_>) -> Vec<WorkerFit> {
    let profile = profile(deployment.engine.kind);
    if profile.parallelism.is_none() {
        return Vec::new();
    }
    let workers = deployment.workload.workers().into_iter().filter(|worker| worker.gpu_count.value > 0);
    let describe = |worker: &Worker| {
        let (invocation, are_sizes_valid) = resolve_settings(deployment, worker, launcher, findings);
        let gpu = find_gpu(deployment, worker, launcher.instance_type.as_deref());
        let is_split_known = are_sizes_valid && launcher.splits_model;
        checks::model_fit::describe_worker(gpu.as_deref(), worker, deployment, profile, &invocation, is_split_known)
    };
    // Decisions of all deployments are kept, so none keeps more memory than it needs.
    let mut described: Vec<WorkerFit> = workers.map(describe).collect();
    described.shrink_to_fit();
    described
}

/// Resolves all settings of the engine for one worker. Also returns whether no parallel size has an error.
fn resolve_settings(
    deployment: &Deployment,
    worker: &Worker,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) -> (Invocation, bool) {
    let profile = profile(deployment.engine.kind);
    let mut invocation = Invocation::new(launcher.separate_values);
    typed_fields::add_typed_fields(deployment, profile, launcher, &mut invocation, findings);
    for argument in &invocation.arguments {
        arguments::flag_value::is_acceptable(argument, launcher, findings);
    }
    arguments::engine_args::add_engine_args(deployment, worker, profile, launcher, &mut invocation, findings);
    let model = checks::model_facts::applicable_facts(deployment, &invocation);
    let errors = findings.error_count();
    parallelism::resolve_parallelism(worker, model, profile, launcher, &mut invocation, findings);
    (invocation, findings.error_count() == errors)
}

/// Checks the settings of a worker against what is known of the model, the GPU and the engine's version. What follows
/// from the model alone is the same for both roles, and is reported for the first of them.
fn check_settings(
    deployment: &Deployment,
    worker: &Worker,
    launcher: &Launcher,
    (invocation, are_sizes_valid): (&Invocation, bool),
    findings: &mut Findings<'_>,
) {
    let profile = profile(deployment.engine.kind);
    let model = checks::model_facts::applicable_facts(deployment, invocation);
    let gpu = model.and_then(|_| find_gpu(deployment, worker, launcher.instance_type.as_deref()));
    // Flags of its own can give the second role what the first does not have.
    let is_first = worker.role != Role::Decode || worker.engine != RoleEngine::default();
    if is_first {
        checks::chat_parsers::check_tool_choice(profile, launcher, invocation, findings);
        if are_sizes_valid {
            checks::expert_parallelism::check_experts(model, profile, launcher, invocation, findings);
        }
    }
    let Some(model) = model else { return };
    if is_first {
        checks::model_facts::check_context(model, deployment, profile, invocation, findings);
        checks::engine_support::check_architecture(model, deployment, profile, launcher, invocation, findings);
        if let Some(gpu) = &gpu {
            checks::engine_support::check_capability(model, gpu, profile, launcher, invocation, findings);
        }
        checks::chat_parsers::check_formats(model, launcher, invocation, findings);
        checks::checkpoint::check_quantization(model, profile, launcher, invocation, findings);
        checks::checkpoint::check_dtype(model, profile, launcher, invocation, findings);
        if are_sizes_valid {
            checks::draft_model::check_draft_model(model, profile, launcher, invocation, findings);
        }
    }
    // A program that chooses the GPUs chooses the memory and the parallel sizes as well.
    if !launcher.splits_model {
        return;
    }
    checks::host_memory::check_host_memory(model, deployment.engine.kind, worker, findings);
    let is_split_known = are_sizes_valid && profile.parallelism.is_some() && worker.gpu_count.value > 0;
    if let Some(gpu) = gpu.filter(|_| is_split_known) {
        checks::model_fit::check_fit(model, &gpu, worker, deployment, profile, invocation, findings);
    }
}
