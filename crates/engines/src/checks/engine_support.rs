//! Checks what the version of an engine has for a model and a GPU: the model's architecture, and quantization methods and
//! number formats for the GPU's generation.
//!
//! Only versions that are exactly known, and whose packages were read, are checked.

use std::sync::Arc;

use crate::invocation::{ArgumentValue, Invocation};
use crate::launcher::Launcher;
use crate::profile::EngineProfile;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::fact_cache::FactCache;
use kubefoundry_deployment::ir::{Deployment, KnownGpu};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_facts::{EngineFacts, Model, engine_facts};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::one_of;

/// The methods of checkpoints that engines read under the same name. Others stand for several methods.
const CHECKPOINT_METHODS: &[&str] = &["awq", "compressed-tensors", "fp8", "gptq", "mxfp4"];

/// The flags with which users choose another implementation of the architecture.
const IMPLEMENTATION_FLAGS: &[&str] = &["model-impl", "tokenizer-mode", "io-processor-plugin"];

/// A version of an engine, and the answers about its architectures that were found.
struct EngineVersion {
    facts: EngineFacts,
    serves: FactCache<String, bool>,
}

/// Returns the engine's version that a launcher runs, if that is exactly known and its package was read.
fn version_of(profile: &EngineProfile, launcher: &Launcher) -> Option<Arc<EngineVersion>> {
    static VERSIONS: FactCache<(&'static str, &'static str), Option<Arc<EngineVersion>>> = FactCache::new();
    let parser = launcher.parsers.iter().find(|parser| parser.table.program() == profile.table)?;
    let (engine, version) = (profile.table, parser.table.version());
    let find = || Some(Arc::new(EngineVersion { facts: engine_facts(engine, version)?, serves: FactCache::new() }));
    VERSIONS.get_or_find(&(engine, version), find).filter(|_| launcher.is_exact)
}

/// Returns the facts about the engine's version that a launcher runs, if that is exactly known.
pub(crate) fn facts_of(profile: &EngineProfile, launcher: &Launcher) -> Option<EngineFacts> {
    Some(version_of(profile, launcher)?.facts)
}

/// Warns about an architecture that the version of the engine does not implement. It then tries the implementation of
/// Transformers, which serves some of them, with less speed.
pub(crate) fn check_architecture(
    model: &Model,
    deployment: &Deployment,
    profile: &EngineProfile,
    launcher: &Launcher,
    invocation: &Invocation,
    findings: &mut Findings<'_>,
) {
    let is_chosen = IMPLEMENTATION_FLAGS.iter().any(|flag| invocation.has(flag));
    if !launcher.is_exact || model.architectures.is_empty() || deployment.engine.trust_remote_code.value || is_chosen {
        return;
    }
    let Some(version) = version_of(profile, launcher) else { return };
    let facts = version.facts;
    let serves = |architecture: &str| version.serves.get_or_find(architecture, || facts.serves(architecture));
    let names: Vec<&str> = model.architectures.iter().map(AsRef::as_ref).collect();
    if names.iter().any(|architecture| serves(architecture)) {
        return;
    }
    let dropped = names.iter().find_map(|name| facts.last_version_with(name));
    let dropped = dropped.map_or_else(String::new, |version| format!("; {version} was the last version that did"));
    let (engine, version) = (profile.display_name, facts.version());
    let message = format!("{engine} {version} does not implement {} of {}{dropped}", one_of(&names), model.id);
    findings.report(&codes::ARCHITECTURE_NOT_SERVED, ModelDeployment::path().spec().model().id(), message).help(
        "use a version that does, or, if the engine can run it with Transformers, ignore this finding for the deployment",
    );
}

/// Reports a quantization method, or 16-bit numbers with 8 bits of exponent, that need a newer generation of GPUs.
///
/// Sources: vLLM `model_executor/model_loader/weight_utils.py` (`get_quant_config` and its callers) and
/// `platforms/cuda.py` (`check_if_supports_dtype`); SGLang checks methods in `model_loader/loader.py`.
pub(crate) fn check_capability(
    model: &Model,
    gpu: &KnownGpu,
    profile: &EngineProfile,
    launcher: &Launcher,
    invocation: &Invocation,
    findings: &mut Findings<'_>,
) {
    let (Some(facts), Some(capability)) = (facts_of(profile, launcher), gpu.capability) else { return };
    let mut report = |what: &str, least: (u8, u8), path: &FieldPath| {
        let message = format!(
            "{what} needs GPUs of compute capability {}.{} in {} {}, but that of {} is {}.{}",
            least.0,
            least.1,
            profile.display_name,
            facts.version(),
            gpu.named_by,
            capability.0,
            capability.1
        );
        findings
            .report(&codes::GPU_TOO_OLD, path, message)
            .help("select newer GPUs, or use a model or number format that these GPUs have");
    };
    let text = |flag: &str| {
        let argument = invocation.get(flag)?;
        if let ArgumentValue::Text(text) = &argument.value { Some((text.as_str(), &argument.path)) } else { None }
    };
    let id = FieldPath::from(ModelDeployment::path().spec().model().id());
    let checkpoint = model.quantization.as_deref().filter(|method| CHECKPOINT_METHODS.contains(method));
    let method = text("quantization").or_else(|| Some((checkpoint?, &id)));
    if let Some((method, path)) = method
        && let Some(least) = facts.min_capability(method).filter(|least| capability < *least)
    {
        report(&format!("quantization {method}"), least, path);
    }
    if let Some(("bfloat16", path)) = text("dtype")
        && capability < (8, 0)
        && facts.engine() == "vllm"
    {
        report("dtype bfloat16", (8, 0), path);
    }
}
