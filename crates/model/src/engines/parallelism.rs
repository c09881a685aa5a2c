//! How a model is split over the GPUs of a worker: what the user said, checked, and the rest derived.

use super::Launcher;
use super::invocation::{Argument, ArgumentValue, Invocation, Parallelism};
use super::profile::{EngineProfile, ParallelismFlags};
use crate::codes;
use crate::ir::Worker;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_yaml::field_path::FieldPath;

/// Checks TP × PP × DP against the worker's GPUs, and derives TP where nothing sets it (docs/design/0008).
pub(super) fn resolve(
    worker: &Worker,
    profile: &'static EngineProfile,
    launcher: &Launcher,
    invocation: &mut Invocation,
    findings: &mut Findings<'_>,
) {
    let gpus = worker.gpu_count.value;
    let Some(flags) = profile.parallelism.as_ref().filter(|_| gpus > 0 && launcher.splits_model) else {
        return;
    };
    let Some(sizes) = Said::of(flags, invocation, findings) else { return };
    let data = if sizes.data_inside_tensor { 1 } else { sizes.data.unwrap_or(1) };
    let pipeline = sizes.pipeline.unwrap_or(1);
    let outer = u64::from(pipeline) * u64::from(data);
    let at = said_at(flags, invocation).unwrap_or_else(|| worker.gpu_path().count().into());
    let tensor = if let Some(tensor) = sizes.tensor {
        tensor
    } else {
        let derived = u64::from(gpus).checked_div(outer).unwrap_or(0);
        if derived > 0 && u64::from(gpus) % outer != 0 {
            findings
                .report(
                    &codes::UNEVEN_PARALLELISM,
                    &at,
                    format!("{gpus} GPUs are not divisible by pipeline parallel {pipeline} x data parallel {data}"),
                )
                .help(format!("choose sizes whose product divides {gpus}"));
            return;
        }
        u32::try_from(derived.max(1)).unwrap_or(1)
    };
    let ranks = u64::from(tensor).saturating_mul(outer);
    if ranks > u64::from(gpus) {
        findings
            .report(
                &codes::PARALLELISM_EXCEEDS_GPUS,
                &at,
                format!(
                    "tensor parallel {tensor} x pipeline parallel {pipeline} x data parallel {data} needs {ranks} \
                     GPUs, but the {} worker has {gpus}",
                    worker.role.as_str()
                ),
            )
            .help(format!(
                "lower the sizes, or set {} to {ranks} if one node has that many GPUs: a worker is one pod",
                worker.gpu_path().count()
            ));
        return;
    }
    if ranks < u64::from(gpus) {
        findings
            .report(
                &codes::IDLE_GPUS,
                &at,
                format!(
                    "{} of the {gpus} GPUs of the {} worker stay idle: tensor parallel {tensor} x pipeline parallel \
                     {pipeline} x data parallel {data} uses {ranks}",
                    u64::from(gpus) - ranks,
                    worker.role.as_str()
                ),
            )
            .help(format!("raise the sizes, or set {} to {ranks}", worker.gpu_path().count()));
    }
    if sizes.tensor.is_none() && tensor > 1 {
        // Before the user's own flags, beside the other settings that come from fields.
        let at = invocation
            .arguments
            .iter()
            .position(|argument| is_user_flag(&argument.path))
            .unwrap_or(invocation.arguments.len());
        invocation.arguments.insert(
            at,
            Argument {
                name: flags.tensor.to_owned(),
                value: ArgumentValue::Number(tensor.into()),
                path: worker.gpu_path().count().into(),
            },
        );
    }
    invocation.parallelism = Parallelism { tensor, pipeline, data };
}

fn is_user_flag(path: &FieldPath) -> bool {
    path.starts_with(&ModelDeployment::path().spec().engine().args())
        || path.starts_with(&ModelDeployment::path().spec().engine().extra_args())
}

/// The sizes that the user said.
struct Said {
    tensor: Option<u32>,
    pipeline: Option<u32>,
    data: Option<u32>,
    data_inside_tensor: bool,
}

impl Said {
    /// `None` when a size is no positive number; a finding says so.
    fn of(flags: &ParallelismFlags, invocation: &Invocation, findings: &mut Findings<'_>) -> Option<Self> {
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

/// Where the user said a size: the first flag that does.
fn said_at(flags: &ParallelismFlags, invocation: &Invocation) -> Option<FieldPath> {
    [Some(flags.tensor), Some(flags.pipeline), flags.data]
        .into_iter()
        .flatten()
        .find_map(|name| invocation.get(name))
        .map(|argument| argument.path.clone())
}
