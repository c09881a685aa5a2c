//! Inference engines: how a deployment becomes the flags, or configuration keys, of the engine that runs it.
//!
//! ```text
//! typed fields ─┐
//! engine.args  ─┼─ resolve (flag tables of the runtime) ─ Invocation ─┬─ argv()               containers
//! extraArgs    ─┘                                                     ├─ keyword_arguments()  Python
//!                                                                     └─ engine_config        TensorRT-LLM
//! ```
//! Providers add the flags of their stack with [`Invocation::set_default`]; a flag that the user set wins.

mod config_keys;
mod engine_args;
mod exposed_secrets;
mod flag_value;
pub mod flags;
mod imported_flags;
mod invocation;
mod launcher;
mod llamacpp;
mod lookup;
mod parallelism;
pub mod profile;
mod refused_flags;
mod sglang;
#[cfg(test)]
mod tests;
mod trtllm;
mod typed_fields;
mod user_flags;
mod vllm;

pub use imported_flags::{ImportedFlag, flags_from_argv, flags_from_keywords};
pub use invocation::{Argument, ArgumentValue, Invocation, Parallelism, escape_expansion};
pub use launcher::{Charset, ConfigKeys, Launcher, Parser, RefusedFlag, SeparateValues, ServerFlagRefusal, ValueForm};
pub(crate) use user_flags::looks_like_flag;

use super::ir::{Deployment, EngineType, Worker};
use kubefoundry_diagnostics::Findings;
use profile::EngineProfile;

/// Returns the profile of an engine: the names of its settings.
pub fn profile(engine: EngineType) -> &'static EngineProfile {
    match engine {
        EngineType::Vllm => &vllm::PROFILE,
        EngineType::Sglang => &sglang::PROFILE,
        EngineType::Trtllm => &trtllm::PROFILE,
        EngineType::Llamacpp => &llamacpp::PROFILE,
    }
}

/// Resolves all settings of the engine for one worker: typed fields, `engine.args`, `engine.extraArgs` and parallelism
/// (docs/design/0007 to 0009). A setting that cannot be passed is omitted and reported as an error. The others are
/// returned all the same, so that the provider finds its own errors in the same run.
///
/// The arguments include the model and the served name where the launcher [takes](Launcher::takes_model) them.
pub fn resolve(
    deployment: &Deployment,
    worker: &Worker,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) -> Invocation {
    let profile = profile(deployment.engine.kind);
    let mut invocation = Invocation::new(launcher.separate_values);
    typed_fields::add_typed_fields(deployment, profile, launcher, &mut invocation, findings);
    for argument in &invocation.arguments {
        flag_value::is_acceptable(argument, launcher, findings);
    }
    engine_args::add_engine_args(deployment, profile, launcher, &mut invocation, findings);
    parallelism::resolve_parallelism(worker, profile, launcher, &mut invocation, findings);
    invocation
}
