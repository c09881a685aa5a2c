//! Inference engines: how a deployment becomes the flags, or configuration keys, of the engine that runs it.
//!
//! ```text
//! typed fields ─┐
//! engine.args  ─┼─ resolve (flag tables of the runtime) ─ Invocation ─┬─ argv()               containers
//! extraArgs    ─┘                                                     ├─ keyword_arguments()  Python
//!                                                                     └─ engine_config        TensorRT-LLM
//! ```
//! Providers add what their stack needs with [`Invocation::set_default`]; what the user said on the same flag wins.

mod config_keys;
mod exposed;
pub mod flags;
mod given;
mod import;
mod invocation;
mod launcher;
mod llamacpp;
mod lookup;
mod parallelism;
pub mod profile;
mod refused;
mod sglang;
#[cfg(test)]
mod tests;
mod trtllm;
mod typed;
mod user;
mod value;
mod vllm;

pub(crate) use given::looks_like_flag;
pub use import::{ImportedFlag, flags_from_argv, flags_from_keywords};
pub use invocation::{Argument, ArgumentValue, Invocation, Parallelism, escape_expansion};
pub use launcher::{Charset, Keys, Launcher, Parser, Refused, Separate, ServerFlagRefusal, ValueForm};

use super::ir::{Deployment, EngineType, Worker};
use kubefoundry_diagnostics::Findings;
use profile::EngineProfile;

/// What an engine calls the settings that a deployment has fields for.
pub fn profile(engine: EngineType) -> &'static EngineProfile {
    match engine {
        EngineType::Vllm => &vllm::PROFILE,
        EngineType::Sglang => &sglang::PROFILE,
        EngineType::Trtllm => &trtllm::PROFILE,
        EngineType::Llamacpp => &llamacpp::PROFILE,
    }
}

/// Resolves everything that sets the engine, for one worker: typed fields, `engine.args`, `engine.extraArgs`,
/// parallelism (docs/design/0007 to 0009). What cannot be passed is left out, and an error says why; the rest comes
/// back, so that a provider can look at it in the same run.
///
/// The model and the served name are among the arguments where the launcher [takes](Launcher::takes_model) them.
pub fn resolve(
    deployment: &Deployment,
    worker: &Worker,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) -> Invocation {
    let profile = profile(deployment.engine.kind);
    let mut invocation = Invocation::new(launcher.separate);
    typed::add(deployment, profile, launcher, &mut invocation, findings);
    for argument in &invocation.arguments {
        value::is_acceptable(argument, launcher, findings);
    }
    user::add(deployment, profile, launcher, &mut invocation, findings);
    parallelism::resolve(worker, profile, launcher, &mut invocation, findings);
    invocation
}
