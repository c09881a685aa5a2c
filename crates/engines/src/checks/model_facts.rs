//! Checks settings against facts about the model: sizes that split its heads, and the length of its context.
//!
//! Only what an engine itself asserts when it starts is an error. A model without facts is not checked.

use std::borrow::Cow;

use crate::invocation::Invocation;
use crate::profile::EngineProfile;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, EngineType, Role, Worker};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_facts::{DividedBlock, Model};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::one_of;

/// The flags that replace parts of a model's configuration. With one of them, its facts may not apply.
const CONFIGURATION_FLAGS: &[&str] =
    &["hf-overrides", "hf-config-path", "json-model-override-args", "rope-scaling", "rope-theta", "load-format"];

/// The flags with which engines spread whole experts over GPUs.
pub(crate) const EXPERT_PARALLEL_FLAGS: &[&str] = &["enable-expert-parallel", "ep-size", "expert-parallel-size"];

/// The variables with which an engine accepts a context beyond the model's.
const LONG_CONTEXT_VARIABLES: &[&str] = &["VLLM_ALLOW_LONG_MAX_MODEL_LEN", "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"];

/// Returns the facts about the model that a deployment runs, if they are known and no flag replaces them.
pub(crate) fn applicable_facts<'d>(deployment: &'d Deployment, invocation: &Invocation) -> Option<&'d Model> {
    let facts = deployment.model.facts.as_deref()?;
    (!CONFIGURATION_FLAGS.iter().any(|flag| invocation.has(flag))).then_some(facts)
}

/// The tensor parallel size of a worker, and how it came about.
pub(crate) struct TensorParallelism {
    pub(crate) size: u32,
    /// How many GPUs the ranks of the size share with those of data parallelism: with DP attention, attention is split
    /// into fewer parts.
    pub(crate) attention_groups: u32,
    /// Whether whole experts are spread over the GPUs instead of parts of each.
    pub(crate) spreads_experts: bool,
    /// The flag that set the size; `None` if it was derived from the GPUs.
    pub(crate) flag: Option<FieldPath>,
}

/// Checks that a tensor parallel size suits the heads of the model. Returns whether it does, or is not known not to.
///
/// Sources: vLLM `config/model.py` (`verify_with_parallel_config`) and the attention classes of vLLM, SGLang and
/// TensorRT-LLM, which divide heads among ranks and assert that nothing is left; for blocks see
/// [`Model::divided_block`].
pub(crate) fn check_tensor_parallelism(
    model: &Model,
    worker: &Worker,
    tensor: &TensorParallelism,
    profile: &'static EngineProfile,
    findings: &mut Findings<'_>,
) -> bool {
    let TensorParallelism { size, attention_groups, spreads_experts, ref flag } = *tensor;
    let parts = size.checked_div(attention_groups).unwrap_or(size).max(1);
    let suits_heads = model.accepts_tensor_parallel(parts) != Some(false);
    let divided_block = model.divided_block(size, spreads_experts);
    if suits_heads && divided_block.is_none() {
        return true;
    }
    let gpus = worker.total_gpus();
    let mut sizes = model.tensor_parallel_sizes(gpus);
    sizes.retain(|size| model.divided_block(*size, spreads_experts).is_none());
    let expected: Vec<String> = sizes.iter().map(u32::to_string).collect();
    let heads = model.heads.unwrap_or_default();
    let kv_heads = model.kv_heads.filter(|kv| *kv != heads && !model.has_mla());
    let kv_heads = kv_heads.map_or_else(String::new, |kv| format!(" and {kv} key and value heads"));
    let (parts, why) = match divided_block {
        Some(DividedBlock { of_experts, columns, block, .. }) if suits_heads => {
            let layers = if of_experts { "experts have" } else { "layers have" };
            (size, format!("its {layers} {columns} columns in blocks of {block}, which are quantized together"))
        }
        _ => (parts, format!("it has {heads} attention heads{kv_heads}")),
    };
    let message = format!(
        "{} cannot split {} into {parts} parts, expected {}: {why}",
        profile.display_name,
        model.id,
        one_of(&expected)
    );
    let path = flag.clone().unwrap_or_else(|| worker.gpu_count_path());
    findings.report(&codes::MODEL_CANNOT_BE_SPLIT, &path, message).help(sizes_help(&sizes, worker, profile));
    false
}

/// Returns the lines to write instead of a size that the model does not take: the largest size that does, and as many
/// copies as use the remaining GPUs.
fn sizes_help(sizes: &[u32], worker: &Worker, profile: &EngineProfile) -> String {
    let gpus = worker.total_gpus();
    let largest = sizes.last().copied().unwrap_or(1);
    // The arguments are those of both roles, which may have different numbers of GPUs.
    let flags = profile.parallelism.as_ref().filter(|_| worker.role == Role::Aggregated);
    let data = flags.and_then(|flags| Some((flags.tensor, flags.data?)));
    let count = worker.gpu_count_path();
    let replicas = worker.replicas_path();
    let copies = sizes.iter().rev().find(|size| gpus.is_multiple_of(**size)).map(|size| (*size, gpus / *size));
    match (data, copies) {
        (Some((tensor, data)), Some((size, copies))) if copies > 1 => {
            let args = ModelDeployment::path().spec().engine().args();
            format!(
                "set {args}.{tensor} to \"{size}\" and {args}.{data} to \"{copies}\", or {count} to {largest} with more \
                 {replicas}"
            )
        }
        _ => format!("set {count} to {largest} with more {replicas}"),
    }
}

/// Checks that the context is not longer than the model's positions.
///
/// Sources: vLLM `config/model.py` (`_get_and_verify_max_len`) and SGLang `configs/model_config.py`: both refuse a longer
/// context unless a variable allows it.
pub(crate) fn check_context(
    model: &Model,
    deployment: &Deployment,
    profile: &'static EngineProfile,
    invocation: &Invocation,
    findings: &mut Findings<'_>,
) {
    let refuses = matches!(deployment.engine.kind, EngineType::Vllm | EngineType::Sglang);
    let Some(argument) = invocation.get(profile.context_length).filter(|_| refuses) else { return };
    let (Some(context), Some(positions)) = (argument.value.as_u32(), model.max_position) else { return };
    // Scaled positions may reach beyond those that the configuration names.
    if u64::from(context) <= positions || model.has_rope_scaling || allows_long_context(deployment) {
        return;
    }
    let message = format!(
        "a context of {context} tokens is beyond the {positions} positions of {}, and {} refuses it",
        model.id, profile.display_name
    );
    let scaling: Cow<'_, str> = match deployment.engine.kind {
        EngineType::Vllm => "--hf-overrides".into(),
        _ => "--json-model-override-args".into(),
    };
    findings
        .report(&codes::CONTEXT_BEYOND_MODEL, &argument.path, message)
        .help(format!("set it to at most {positions}, or configure rope scaling with {scaling}"));
}

fn allows_long_context(deployment: &Deployment) -> bool {
    deployment
        .env
        .iter()
        .any(|variable| variable.name.as_deref().is_some_and(|name| LONG_CONTEXT_VARIABLES.contains(&name)))
}
