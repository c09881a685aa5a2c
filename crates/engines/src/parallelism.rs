//! Parallelism: checks the sizes that the user sets against the GPUs of a worker, and derives the tensor parallel size.

use super::Launcher;
use super::invocation::{Argument, ArgumentValue, Invocation, Parallelism};
use super::profile::{EngineProfile, ParallelismFlags};
use crate::checks::model_facts::{EXPERT_PARALLEL_FLAGS, TensorParallelism, check_tensor_parallelism};
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::Worker;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_facts::Model;
use kubefoundry_yaml::field_path::FieldPath;

/// Checks TP × PP × DP against the worker's GPUs, and derives TP if the user does not set it (docs/design/0008).
pub(super) fn resolve_parallelism(
    worker: &Worker,
    model: Option<&Model>,
    profile: &'static EngineProfile,
    launcher: &Launcher,
    invocation: &mut Invocation,
    findings: &mut Findings<'_>,
) {
    let gpus = worker.total_gpus();
    let Some(flags) = profile.parallelism.as_ref().filter(|_| gpus > 0 && launcher.splits_model) else {
        return;
    };
    let Some(sizes) = UserSizes::read(flags, invocation, findings) else { return };
    // With DP attention the data parallel ranks run on the tensor parallel GPUs and need none of their own.
    let data = if sizes.data_inside_tensor { 1 } else { sizes.data.unwrap_or(1) };
    let pipeline = sizes.pipeline.unwrap_or(1);
    let outer = u64::from(pipeline) * u64::from(data);
    let path = first_size_path(flags, invocation).unwrap_or_else(|| worker.gpu_count_path());
    let tensor = if let Some(tensor) = sizes.tensor {
        tensor
    } else {
        let derived = u64::from(gpus).checked_div(outer).unwrap_or(0);
        if derived > 0 && u64::from(gpus) % outer != 0 {
            findings
                .report(
                    &codes::UNEVEN_PARALLELISM,
                    &path,
                    format!("{gpus} GPUs are not divisible by pipeline parallel {pipeline} x data parallel {data}"),
                )
                .help(format!("choose sizes whose product divides {gpus}"));
            return;
        }
        u32::try_from(derived.max(1)).unwrap_or(1)
    };
    if let Some(model) = model {
        let flag = invocation.get(flags.tensor).map(|argument| argument.path.clone());
        let attention_groups = if sizes.data_inside_tensor { sizes.data.unwrap_or(1) } else { 1 };
        let spreads_experts = EXPERT_PARALLEL_FLAGS.iter().any(|flag| invocation.has(flag));
        let tensor = TensorParallelism { size: tensor, attention_groups, spreads_experts, flag };
        if !check_tensor_parallelism(model, worker, &tensor, profile, findings) {
            return;
        }
    }
    let ranks = u64::from(tensor).saturating_mul(outer);
    if ranks > u64::from(gpus) {
        findings
            .report(
                &codes::PARALLELISM_EXCEEDS_GPUS,
                &path,
                format!(
                    "tensor parallel {tensor} x pipeline parallel {pipeline} x data parallel {data} needs {ranks} \
                     GPUs, but the {} worker has {gpus}",
                    worker.role.as_str()
                ),
            )
            .help(help_for_more_gpus(worker, ranks));
        return;
    }
    if ranks < u64::from(gpus) {
        findings
            .report(
                &codes::IDLE_GPUS,
                &path,
                format!(
                    "{} of the {gpus} GPUs of the {} worker stay idle: tensor parallel {tensor} x pipeline parallel \
                     {pipeline} x data parallel {data} uses {ranks}",
                    u64::from(gpus) - ranks,
                    worker.role.as_str()
                ),
            )
            .help(help_for_fewer_gpus(worker, ranks));
    }
    if sizes.tensor.is_none() && tensor > 1 {
        // The derived flag goes before the user's flags, with the other arguments that come from fields.
        let position = invocation
            .arguments
            .iter()
            .position(|argument| is_user_flag(&argument.path, worker))
            .unwrap_or(invocation.arguments.len());
        invocation.arguments.insert(
            position,
            Argument {
                name: flags.tensor.to_owned(),
                value: ArgumentValue::Number(tensor.into()),
                path: worker.gpu_count_path(),
            },
        );
    }
    invocation.parallelism = Parallelism { tensor, pipeline, data };
}

fn help_for_more_gpus(worker: &Worker, ranks: u64) -> String {
    let (count, nodes) = (worker.gpu_count_path(), worker.nodes_path());
    let per_node = ranks.div_ceil(u64::from(worker.nodes.value));
    if worker.nodes.value > 1 {
        format!("lower the sizes, or set {count} to {per_node} or {nodes} to a larger number")
    } else {
        format!(
            "lower the sizes, or set {count} to {ranks} if one node has that many GPUs, or set {nodes} to the number \
             of nodes that a worker spans"
        )
    }
}

fn help_for_fewer_gpus(worker: &Worker, ranks: u64) -> String {
    let nodes = u64::from(worker.nodes.value);
    if ranks.is_multiple_of(nodes) {
        format!("raise the sizes, or set {} to {}", worker.gpu_count_path(), ranks / nodes)
    } else {
        format!("raise the sizes, or lower {} or {}", worker.gpu_count_path(), worker.nodes_path())
    }
}

fn is_user_flag(path: &FieldPath, worker: &Worker) -> bool {
    let engine = ModelDeployment::path().spec().engine();
    let is_common = path.starts_with(&engine.clone().args()) || path.starts_with(&engine.extra_args());
    is_common || worker.role_path().is_some_and(|role| path.starts_with(&FieldPath::from(role.engine())))
}

/// The parallel sizes that the user sets.
struct UserSizes {
    tensor: Option<u32>,
    pipeline: Option<u32>,
    data: Option<u32>,
    data_inside_tensor: bool,
}

impl UserSizes {
    /// Reads the sizes. Returns `None` after reporting one that is not a positive integer.
    fn read(flags: &ParallelismFlags, invocation: &Invocation, findings: &mut Findings<'_>) -> Option<Self> {
        let mut size = |name: &str| {
            let Some(argument) = invocation.get(name) else { return Some(None) };
            let size = argument.value.as_u32().filter(|size| *size > 0);
            if size.is_none() {
                findings.report(
                    &codes::INVALID_ARGUMENT_VALUE,
                    &argument.path,
                    format!("--{name} is not a parallel size, expected an integer of at least 1"),
                );
            }
            size.map(Some)
        };
        let (tensor, pipeline) = (size(flags.tensor), size(flags.pipeline));
        let data = flags.data.map_or(Some(None), size);
        let data_inside_tensor = flags
            .data_inside_tensor
            .and_then(|name| invocation.get(name))
            .is_some_and(|argument| argument.value == ArgumentValue::On);
        Some(Self { tensor: tensor?, pipeline: pipeline?, data: data?, data_inside_tensor })
    }
}

/// Returns the path of the first flag that sets a size.
fn first_size_path(flags: &ParallelismFlags, invocation: &Invocation) -> Option<FieldPath> {
    [Some(flags.tensor), Some(flags.pipeline), flags.data]
        .into_iter()
        .flatten()
        .find_map(|name| invocation.get(name))
        .map(|argument| argument.path.clone())
}
