//! Inference engines: how a deployment becomes the flags, or configuration keys, of the engine that runs it.
//!
//! ```text
//! typed fields ─┐
//! engine.args  ─┼─ resolve (flag tables of the runtime) ─ Invocation ─┬─ argv()               containers
//! extraArgs    ─┘                                                     ├─ keyword_arguments()  Ray engine_kwargs
//!                                                                     └─ engine_config        TensorRT-LLM
//! ```
//! Providers add what their stack needs with [`Invocation::set_default`]; what the user said on the same flag wins.

mod config_keys;
pub mod flags;
mod given;
pub mod grammar;
mod invocation;
mod llamacpp;
mod parallelism;
mod sglang;
#[cfg(test)]
mod tests;
mod trtllm;
mod typed;
mod user;
mod value;
mod vllm;
mod vocabulary;

pub use invocation::{Argument, ArgumentValue, Invocation, Parallelism, escape_expansion};

use super::ir::{Deployment, EngineType, Worker};
use crate::diagnostic::Findings;
use grammar::Grammar;
use vocabulary::Vocabulary;

/// The program that takes the flags, which decides what is legal and in what form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launcher<'v> {
    /// `python3 -m dynamo.<engine>` of a Dynamo runtime version: wrapper flags and engine flags, no server flags.
    DynamoWorker {
        /// The Dynamo runtime version.
        version: &'v str,
    },
    /// `ray.serve.llm` of a Ray version: `engine_kwargs`.
    RayServe {
        /// The Ray version.
        version: &'v str,
    },
    /// `python3 -m vllm.entrypoints.openai.api_server` in the user's image; the version is what its tag says, if it
    /// says one.
    VllmServer {
        /// The image.
        image: &'v str,
    },
    /// KAITO's preset runtime: each setting becomes `--key str(value)`.
    KaitoPreset,
    /// `llama-server` or a runner that passes its flags on: two elements a flag.
    LlamaServer,
}

impl Launcher<'_> {
    /// Whether the model and its served name are among the flags; the other launchers name them elsewhere.
    fn takes_model(self) -> bool {
        matches!(self, Self::DynamoWorker { .. } | Self::VllmServer { .. })
    }

    /// The flags that must be two elements. Dynamo's operator finds these three only so when it injects multi-node
    /// flags for vLLM (deploy/operator internal/dynamo/backend_vllm.go, getFlagValue).
    fn separate(self, engine: EngineType) -> &'static [&'static str] {
        match (self, engine) {
            (Self::DynamoWorker { .. }, EngineType::Vllm) => {
                &["tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size"]
            }
            _ => &[],
        }
    }
}

/// What an engine calls the settings that a deployment has fields for.
pub fn grammar(engine: EngineType) -> &'static Grammar {
    match engine {
        EngineType::Vllm => &vllm::GRAMMAR,
        EngineType::Sglang => &sglang::GRAMMAR,
        EngineType::Trtllm => &trtllm::GRAMMAR,
        EngineType::Llamacpp => &llamacpp::GRAMMAR,
    }
}

/// Resolves everything that sets the engine, for one worker: typed fields, `engine.args`, `engine.extraArgs`,
/// parallelism (DESIGN §4 and §6). What cannot be passed is left out, and an error says why; the rest comes back, so that
/// a provider can look at it in the same run.
///
/// The model and the served name are not among the arguments of [`Launcher::KaitoPreset`], [`Launcher::RayServe`] and
/// [`Launcher::LlamaServer`]: those name them elsewhere.
pub fn resolve(
    deployment: &Deployment,
    worker: &Worker,
    launcher: Launcher<'_>,
    findings: &mut Findings<'_>,
) -> Invocation {
    let engine = deployment.engine.kind;
    let grammar = grammar(engine);
    let vocabulary = Vocabulary::of(engine, launcher);
    let mut invocation = Invocation::new(launcher.separate(engine), matches!(launcher, Launcher::LlamaServer));
    typed::add(deployment, grammar, launcher, &mut invocation, findings);
    for argument in &invocation.arguments {
        value::is_acceptable(argument, &vocabulary, findings);
    }
    user::add(deployment, grammar, &vocabulary, &mut invocation, findings);
    parallelism::resolve(worker, grammar, launcher, &mut invocation, findings);
    invocation
}
