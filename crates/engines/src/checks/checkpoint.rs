//! Checks `--quantization` and `--dtype` against the weights of the model.
//!
//! Only what an exactly known version of an engine refuses is an error.

use super::engine_support;
use crate::invocation::{ArgumentValue, Invocation};
use crate::launcher::Launcher;
use crate::profile::EngineProfile;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::known_models::DESCRIBED_BY_USERS;
use kubefoundry_diagnostics::Findings;
use kubefoundry_facts::{EngineFacts, Model};
use kubefoundry_yaml::field_path::FieldPath;

/// The methods that read one kind of checkpoints, by the name that the checkpoint has for it. Engines run such a checkpoint
/// with any of the methods of its line. Kinds and methods that are not listed are not compared: several of them read
/// checkpoints of another kind.
const METHODS_OF_CHECKPOINTS: &[(&str, &[&str])] = &[
    ("awq", &["awq", "awq_marlin"]),
    ("gptq", &["gptq", "gptq_marlin"]),
    ("fp8", &["fp8"]),
    ("compressed-tensors", &["compressed-tensors"]),
];

/// The architectures of the types of models that some version of an engine refuses to run in `float16`.
const MODEL_TYPES: &[(&str, &str)] = &[
    ("Gemma2ForCausalLM", "gemma2"),
    ("Gemma3ForCausalLM", "gemma3_text"),
    ("Gemma3ForConditionalGeneration", "gemma3"),
    ("Glm4ForCausalLM", "glm4"),
];

/// Reports a quantization method for other checkpoints than that of the model.
///
/// Sources: vLLM `config/model.py` (`_verify_quantization`) and SGLang `configs/model_config.py` (`_verify_quantization`)
/// for a checkpoint of another method; `get_quant_config` in `model_executor/model_loader/weight_utils.py` of vLLM and
/// `model_loader/weight_utils.py` of SGLang for one that is not quantized.
pub(crate) fn check_quantization(
    model: &Model,
    profile: &EngineProfile,
    launcher: &Launcher,
    invocation: &Invocation,
    findings: &mut Findings<'_>,
) {
    let Some((written, path)) = text_of(invocation, "quantization") else { return };
    let Some((kind, _)) = METHODS_OF_CHECKPOINTS.iter().find(|(_, methods)| methods.contains(&written)) else { return };
    let Some(facts) = engine_support::facts_of(profile, launcher) else { return };
    let (message, help) = match model.quantization.as_deref() {
        Some(own) => {
            // vLLM replaces any method that is written for a checkpoint of DeepSeek V4.
            let is_comparable = METHODS_OF_CHECKPOINTS.iter().any(|(known, _)| *known == own)
                && !model.architectures.iter().any(|architecture| architecture.starts_with("DeepseekV4"));
            if own == *kind || !is_comparable || !facts.asserts("quantization") || !facts.has_method(written) {
                return;
            }
            let message = format!(
                "--quantization is {written:?}, but the weights of {} are quantized with {own}, expected {own}",
                model.id
            );
            (message, "remove the flag: the engine reads the method from the checkpoint".to_owned())
        }
        None if is_plain(model) && facts.needs_checkpoint(written) => {
            let message = format!("--quantization is {written:?}, but the weights of {} are not quantized", model.id);
            (message, plain_help(facts))
        }
        None => return,
    };
    let message = format!("{message}: {} {} exits", profile.display_name, facts.version());
    findings.report(&codes::QUANTIZATION_OF_ANOTHER_CHECKPOINT, path, message).help(help);
}

/// Returns whether a model is known not to be quantized. The facts about public models name the method of every quantized
/// one. A user's description may leave it out, and its `config.json` does if another file has it (`quantize_config.json`).
fn is_plain(model: &Model) -> bool {
    model.quantization.is_none() && !DESCRIBED_BY_USERS.contains(&&*model.source)
}

fn plain_help(facts: EngineFacts) -> String {
    let online = facts.has_method("fp8") && !facts.needs_checkpoint("fp8");
    let online = if online { ", or set it to \"fp8\", which quantizes weights while they load" } else { "" };
    format!("remove the flag{online}; or use a version of the model that is quantized with the method")
}

/// Reports `float16` for a type of models that vLLM refuses to run with it.
///
/// Source: vLLM `config/model.py` (`_check_valid_dtype`, called from `_get_and_verify_dtype`).
pub(crate) fn check_dtype(
    model: &Model,
    profile: &EngineProfile,
    launcher: &Launcher,
    invocation: &Invocation,
    findings: &mut Findings<'_>,
) {
    let Some((written @ ("float16" | "half"), path)) = text_of(invocation, "dtype") else { return };
    let types =
        MODEL_TYPES.iter().filter(|(architecture, _)| model.architectures.iter().any(|own| own == architecture));
    let Some(facts) = engine_support::facts_of(profile, launcher) else { return };
    for (_, model_type) in types.filter(|(_, model_type)| facts.refuses_float16(model_type)) {
        let message = format!(
            "{} {} refuses --dtype {written} for {}: models of the type {model_type} are numerically unstable with it, \
             expected bfloat16 or float32",
            profile.display_name,
            facts.version(),
            model.id
        );
        findings
            .report(&codes::FLOAT16_REFUSED, path, message)
            .help("set it to \"bfloat16\", or, for GPUs older than compute capability 8.0, to \"float32\"");
    }
}

fn text_of<'i>(invocation: &'i Invocation, flag: &str) -> Option<(&'i str, &'i FieldPath)> {
    let argument = invocation.get(flag)?;
    if let ArgumentValue::Text(text) = &argument.value { Some((text.as_str(), &argument.path)) } else { None }
}
