//! Checks expert parallelism against the experts of the model.

use super::engine_support;
use crate::invocation::{ArgumentValue, Invocation};
use crate::launcher::Launcher;
use crate::profile::EngineProfile;
use kubefoundry_deployment::codes;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_facts::Model;

/// Architectures without experts. Of others it is not known from the absence of experts in the facts.
const DENSE_ARCHITECTURES: &[&str] = &[
    "Gemma2ForCausalLM",
    "Gemma3ForCausalLM",
    "Gemma3ForConditionalGeneration",
    "LlamaForCausalLM",
    "MistralForCausalLM",
    "Phi3ForCausalLM",
    "Qwen2ForCausalLM",
    "Qwen3ForCausalLM",
];

/// Reports expert parallelism that an exactly known version of an engine refuses.
///
/// Sources: vLLM `config/model.py` (`_verify_with_expert_parallelism`) for models without experts, and
/// `config/parallel.py` for the balancer; SGLang `model_executor` (`tp_size % moe_ep_size` for weights that are quantized
/// in blocks).
pub(crate) fn check_experts(
    model: Option<&Model>,
    profile: &EngineProfile,
    launcher: &Launcher,
    invocation: &Invocation,
    findings: &mut Findings<'_>,
) {
    let switch = |flag: &str| invocation.get(flag).filter(|argument| argument.value == ArgumentValue::On);
    let (expert_parallel, balancer) = (switch("enable-expert-parallel"), switch("enable-eplb"));
    let size = ["ep-size", "expert-parallel-size"].into_iter().find_map(|flag| invocation.get(flag));
    if expert_parallel.is_none() && balancer.is_none() && size.is_none() {
        return;
    }
    let Some(facts) = engine_support::facts_of(profile, launcher) else { return };
    let (engine, version) = (profile.display_name, facts.version());
    if let (Some(argument), None) = (balancer, expert_parallel)
        && facts.asserts("eplb")
    {
        let message = format!("--enable-eplb needs --enable-expert-parallel: {engine} {version} exits");
        findings
            .report(&codes::EXPERT_PARALLELISM_REFUSED, FieldRef::key(&argument.path), message)
            .help("add enable-expert-parallel: \"true\" to spec.engine.args, or remove --enable-eplb");
    }
    let Some(model) = model else { return };
    if let Some(argument) = expert_parallel
        && is_dense(model)
        && facts.asserts("experts")
    {
        let message = format!(
            "--enable-expert-parallel needs a model with experts, and {} has none: {engine} {version} exits",
            model.id
        );
        findings
            .report(&codes::EXPERT_PARALLELISM_REFUSED, FieldRef::key(&argument.path), message)
            .help("remove the flag");
    }
    let tensor = invocation.parallelism.tensor;
    if let Some(argument) = size
        && let Some(size) = argument.value.as_u32().filter(|size| *size > 0)
        && !tensor.is_multiple_of(size)
        && model.quantization_block.is_some()
        && model.experts.is_some()
        // Such a backend chooses the size itself.
        && !invocation.has("moe-a2a-backend")
        && facts.asserts("expert-parallel")
    {
        let message = format!(
            "--{} is {size}, expected a divisor of the tensor parallel size {tensor}: {engine} {version} exits",
            argument.name
        );
        findings
            .report(&codes::EXPERT_PARALLELISM_REFUSED, &argument.path, message)
            .help(format!("set it to {tensor}, or to 1"));
    }
}

fn is_dense(model: &Model) -> bool {
    let has_experts = model.experts.is_some() || model.moe_intermediate.is_some() || model.experts_per_token.is_some();
    !has_experts
        && !model.architectures.is_empty()
        && model.architectures.iter().all(|architecture| DENSE_ARCHITECTURES.contains(&&**architecture))
}
