//! Checks the model that proposes tokens for speculative decoding against the one that it serves.

use serde_json::Value;

use super::engine_support;
use crate::invocation::{Argument, ArgumentValue, Invocation};
use crate::launcher::Launcher;
use crate::profile::EngineProfile;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::known_models::find_public_model;
use kubefoundry_diagnostics::Findings;
use kubefoundry_facts::Model;

/// A draft model as the flags describe it.
struct Draft<'i> {
    argument: &'i Argument,
    model: Option<&'i str>,
    tensor_parallel: Option<u64>,
}

/// Reports a draft model with another vocabulary, and a parallel size that the engine refuses for it.
///
/// Only independent models are compared: heads such as EAGLE and MTP use the vocabulary of the model itself.
/// Sources: vLLM `config/speculative.py` (`verify_equal_vocab_size_if_draft_model`, `_verify_and_get_draft_tp`). SGLang
/// asserts nothing: the numbers that the draft proposes mean other tokens.
pub(crate) fn check_draft_model(
    model: &Model,
    profile: &EngineProfile,
    launcher: &Launcher,
    invocation: &Invocation,
    findings: &mut Findings<'_>,
) {
    let Some(draft) = vllm_draft(invocation).or_else(|| sglang_draft(invocation)) else { return };
    let Draft { argument, model: draft_id, tensor_parallel } = draft;
    let facts = engine_support::facts_of(profile, launcher);
    let tensor = u64::from(invocation.parallelism.tensor);
    if let (Some(size), Some(facts)) = (tensor_parallel, facts)
        && size != 1
        && size != tensor
        && facts.asserts("draft-tensor-parallel")
    {
        let expected =
            if tensor == 1 { "1".to_owned() } else { format!("1 or {tensor}, the size of the model itself") };
        let message = format!(
            "draft_tensor_parallel_size is {size}, expected {expected}: {} {} exits",
            profile.display_name,
            facts.version()
        );
        findings
            .report(&codes::DRAFT_MODEL_REFUSED, &argument.path, message)
            .help("remove draft_tensor_parallel_size: the draft model is then split like the model itself");
    }
    let Some((draft_id, draft_vocabulary)) = draft_id.and_then(|id| Some((id, find_public_model(id)?.vocab?))) else {
        return;
    };
    let Some(vocabulary) = model.vocab.filter(|vocabulary| *vocabulary != draft_vocabulary) else { return };
    let message = format!(
        "the draft model {draft_id} has a vocabulary of {draft_vocabulary} tokens, but {} has one of {vocabulary}",
        model.id
    );
    let help = "use a draft model of the same family, with the same vocabulary";
    match facts.filter(|facts| facts.asserts("draft-vocabulary")) {
        Some(facts) => {
            let message = format!("{message}: {} {} exits", profile.display_name, facts.version());
            findings.report(&codes::DRAFT_MODEL_REFUSED, &argument.path, message).help(help);
        }
        None => {
            findings.report(&codes::FOREIGN_DRAFT_MODEL, &argument.path, message).help(help);
        }
    }
}

/// Returns the independent draft model of vLLM's `--speculative-config`.
fn vllm_draft(invocation: &Invocation) -> Option<Draft<'_>> {
    let argument = invocation.get("speculative-config")?;
    let ArgumentValue::Json(Value::Object(config)) = &argument.value else { return None };
    let method = config.get("method").and_then(Value::as_str);
    let translates = config.get("use_heterogeneous_vocab").is_some_and(|value| value != &Value::Bool(false));
    // Without a method, vLLM takes a model for a draft model unless its name or its class is that of another kind. The
    // models of which facts are known are no such kinds.
    let model = config.get("model").and_then(Value::as_str).filter(|id| !is_head(id) && !translates);
    let is_independent = method.is_none_or(|method| method == "draft_model");
    let tensor_parallel = config.get("draft_tensor_parallel_size").and_then(Value::as_u64);
    Some(Draft { argument, model: model.filter(|_| is_independent), tensor_parallel })
}

/// Returns the independent draft model of SGLang's flags.
fn sglang_draft(invocation: &Invocation) -> Option<Draft<'_>> {
    let text = |argument: &Argument| match &argument.value {
        ArgumentValue::Text(text) => Some(text.to_ascii_uppercase()),
        _ => None,
    };
    invocation.get("speculative-algorithm").and_then(text).filter(|algorithm| algorithm == "STANDALONE")?;
    let argument = invocation.get("speculative-draft-model-path")?;
    let ArgumentValue::Text(model) = &argument.value else { return None };
    Some(Draft { argument, model: Some(model), tensor_parallel: None })
}

/// Returns whether vLLM takes a model for a head by its name (`config/speculative.py`, `__post_init__`).
fn is_head(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    ["eagle-", "eagle3", "dflash", "dspark", "mtp", "medusa", "speculator"].iter().any(|part| id.contains(part))
}
