//! Checks whether a model fits the GPUs of a worker, as far as the deployment says which they are.

use super::model_facts::{EXPERT_PARALLEL_FLAGS, applicable_facts};
use crate::invocation::{Argument, ArgumentValue, Invocation, Parallelism};
use crate::profile::EngineProfile;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::hardware::WHOLE_GPUS;
use kubefoundry_deployment::ir::{Deployment, EngineType, KnownGpu, Worker};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_facts::Model;
use kubefoundry_facts::fit::{
    Assessment, ExpertSpread, Fit, Interval, RankLayout, Settings, WorkerFit, WorkerGpu, WrittenTypes, assess,
};

/// The flags after which weights are not all in the memory of GPUs.
const OFFLOADING_FLAGS: &[&str] = &["cpu-offload-gb", "cpu-offload-params", "offload-group-size", "offload-backend"];

/// The permille of a GPU's memory that an engine uses if no flag says it: the highest default of the known versions.
const DEFAULT_UTILIZATION: u32 = 920;

/// Assesses whether the model of a worker fits a GPU. Returns `None` if that is not known.
pub(crate) fn assess_fit(
    model: &Model,
    gpu: &KnownGpu,
    worker: &Worker,
    deployment: &Deployment,
    profile: &EngineProfile,
    invocation: &Invocation,
) -> Option<Assessment> {
    let is_whole = WHOLE_GPUS.contains(&worker.gpu_type.value.as_str());
    if !is_whole || OFFLOADING_FLAGS.iter().any(|flag| invocation.has(flag)) {
        return None;
    }
    let text = |flag: &str| invocation.get(flag).and_then(text_of);
    let settings = Settings {
        context: asserted_context(deployment.engine.kind, profile, invocation),
        dtype: text("dtype"),
        quantization: text("quantization"),
        kv_cache_dtype: text("kv-cache-dtype"),
        ..rank_layout(deployment.engine.kind, profile, invocation).settings()
    };
    let memory = Interval::between(gpu.min_memory, gpu.max_memory);
    Some(assess(model, &settings, memory, utilization(invocation)))
}

/// Describes a worker for the questions on which GPUs it fits, and with how much context. `is_split_known` tells whether
/// the parallel sizes are those that run.
pub(crate) fn describe_worker(
    gpu: Option<&KnownGpu>,
    worker: &Worker,
    deployment: &Deployment,
    profile: &EngineProfile,
    invocation: &Invocation,
    is_split_known: bool,
) -> WorkerFit {
    let text = |flag: &str| invocation.get(flag).and_then(text_of).map(str::to_owned);
    let id = deployment.model.id.as_deref();
    let is_offloaded = OFFLOADING_FLAGS.iter().any(|flag| invocation.has(flag));
    let resource = worker.gpu_type.value.as_str();
    let is_whole = WHOLE_GPUS.contains(&resource);
    let mut fit = WorkerFit::new(worker.role.as_str(), id, resource, worker.total_gpus(), worker.replicas.value);
    fit.facts.clone_from(&deployment.model.facts);
    fit.facts.take_if(|_| is_offloaded || applicable_facts(deployment, invocation).is_none());
    let gpu = gpu.filter(|_| is_whole);
    fit.gpu = gpu.map(|gpu| {
        let memory = Interval::between(gpu.min_memory, gpu.max_memory);
        Box::new(WorkerGpu { name: gpu.named_by.clone(), memory })
    });
    fit.layout = is_split_known.then(|| rank_layout(deployment.engine.kind, profile, invocation));
    let context = invocation.get(profile.context_length).and_then(|argument| argument.value.as_u32());
    fit.context = context.map(u64::from);
    let types = WrittenTypes {
        dtype: text("dtype"),
        quantization: text("quantization"),
        kv_cache_dtype: text("kv-cache-dtype"),
    };
    fit.types = (types != WrittenTypes::default()).then(|| Box::new(types));
    fit.utilization_permille = utilization(invocation);
    fit
}

/// Reports a model that cannot fit, or one whose fit depends on what is not known.
pub(crate) fn check_fit(
    model: &Model,
    gpu: &KnownGpu,
    worker: &Worker,
    deployment: &Deployment,
    profile: &EngineProfile,
    invocation: &Invocation,
    findings: &mut Findings<'_>,
) {
    let Some(assessment) = assess_fit(model, gpu, worker, deployment, profile, invocation) else { return };
    if matches!(assessment.fit, Fit::Fits | Fit::Unknown) {
        return;
    }
    let Assessment { demand, budget, fit, .. } = assessment;
    let sum = format!("weights {}, KV cache {}, other {}", demand.weights, demand.kv_cache, demand.overhead);
    let path = worker.gpu_count_path();
    let described = describe_worker(Some(gpu), worker, deployment, profile, invocation, true);
    let numbers = described.fewest_gpus().unwrap_or_default();
    let asserts_context = demand.kv_cache != Interval::exactly(0);
    match fit {
        Fit::Cannot => {
            let message = format!(
                "{} needs {} of each GPU ({sum}), but {} can use {budget} of {}",
                model.id,
                demand.total(),
                profile.display_name,
                gpu.named_by
            );
            // What is left for the cache if everything else takes as little as it can.
            let rest = demand.weights.plus(demand.overhead).min;
            let left = budget.max.map(|budget| budget.saturating_sub(rest));
            let tokens = left.zip(described.kv_cache_per_thousand_tokens());
            let tokens = tokens.and_then(|(left, cache)| left.saturating_mul(1000).checked_div(cache.min));
            let context = tokens.filter(|tokens| *tokens > 0 && asserts_context);
            findings
                .report(&codes::MODEL_DOES_NOT_FIT, &path, message)
                .help(fitting_sizes(numbers.0, context, "may fit"));
        }
        Fit::Marginal => {
            let message = format!(
                "{} may not fit: it needs {} of each GPU ({sum}), and {} can use {budget} of {}",
                model.id,
                demand.total(),
                profile.display_name,
                gpu.named_by
            );
            let context = described.assess().and_then(|assessment| assessment.largest_context);
            let context = context.filter(|_| asserts_context);
            findings.report(&codes::MODEL_MAY_NOT_FIT, &path, message).help(fitting_sizes(
                numbers.1,
                context,
                "surely fits",
            ));
        }
        Fit::Fits | Fit::Unknown => {}
    }
}

/// Returns what to write: the number of GPUs of one node with which the model fits, and the context with which it fits
/// those that are written.
fn fitting_sizes(gpus: Option<u32>, context: Option<u64>, how: &str) -> String {
    let path = ModelDeployment::path().spec().engine().context_length();
    match (gpus, context) {
        (Some(gpus), Some(context)) => {
            format!("it {how} with {gpus} of these GPUs, or with {path} of at most {context}")
        }
        (Some(gpus), None) => format!("it {how} with {gpus} of these GPUs, or use larger GPUs or a quantized model"),
        (None, Some(context)) => format!("it {how} with {path} of at most {context}, or use larger GPUs"),
        (None, None) => {
            format!("it {how} with no number of these GPUs that one node has: use larger GPUs or a quantized model")
        }
    }
}

fn text_of(argument: &Argument) -> Option<&str> {
    if let ArgumentValue::Text(text) = &argument.value { Some(text) } else { None }
}

/// Returns the share of the memory that the engine uses, in permille.
fn utilization(invocation: &Invocation) -> u32 {
    let written = ["gpu-memory-utilization", "mem-fraction-static"].into_iter().find_map(|flag| invocation.get(flag));
    let share =
        written.and_then(text_of).and_then(|text| text.parse::<f64>().ok()).filter(|share| (0.0..=1.0).contains(share));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the share is between 0 and 1")]
    share.map_or(DEFAULT_UTILIZATION, |share| (share * 1000.0).ceil() as u32)
}

/// Returns the tokens of which the engine asserts at its start that the cache has place for them. vLLM does so for its
/// longest context (`v1/core/kv_cache_utils.py`, `check_enough_kv_cache_memory`), unless it chooses that by the memory;
/// other engines start with any cache.
fn asserted_context(engine: EngineType, profile: &EngineProfile, invocation: &Invocation) -> Option<u64> {
    match (engine, invocation.get(profile.context_length)) {
        (EngineType::Vllm, None) => None,
        (EngineType::Vllm, Some(argument)) => Some(argument.value.as_u32().map_or(1, u64::from)),
        _ => Some(0),
    }
}

/// Returns how the ranks of a worker share its model.
fn rank_layout(engine: EngineType, profile: &EngineProfile, invocation: &Invocation) -> RankLayout {
    let Parallelism { tensor, pipeline, data } = invocation.parallelism;
    let context = invocation.get("decode-context-parallel-size").and_then(|size| size.value.as_u32()).unwrap_or(1);
    RankLayout {
        tensor,
        pipeline,
        data,
        attention_replicas: attention_replicas(profile, invocation),
        experts: expert_spread(engine, invocation),
        context,
    }
}

/// Returns how many replicas of attention the tensor parallel ranks hold: with DP attention, each data parallel rank has
/// one.
fn attention_replicas(profile: &EngineProfile, invocation: &Invocation) -> u32 {
    let flags = profile.parallelism.as_ref();
    let has_replicas = flags.and_then(|flags| flags.data_inside_tensor).is_some_and(|flag| invocation.has(flag));
    let data = || invocation.get(flags?.data?)?.value.as_u32();
    if has_replicas { data().unwrap_or(1).max(1) } else { 1 }
}

/// Returns over which ranks whole experts are spread. vLLM spreads them over data parallel ranks as well: less is needed
/// than that, never more.
fn expert_spread(engine: EngineType, invocation: &Invocation) -> ExpertSpread {
    let is_on = EXPERT_PARALLEL_FLAGS.iter().any(|flag| invocation.has(flag));
    match engine {
        EngineType::Vllm if is_on || invocation.parallelism.data > 1 => ExpertSpread::OverTensorAndData,
        // With DP attention, experts are spread over all of the tensor parallel GPUs.
        _ if is_on || invocation.has("enable-dp-attention") => ExpertSpread::OverTensor,
        _ => ExpertSpread::InTensor,
    }
}
