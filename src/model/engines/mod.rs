//! Inference engines: how a deployment becomes the flags, or configuration keys, of the engine that runs it.
//!
//! ```text
//! typed fields ─┐
//! engine.args  ─┼─ resolve (flag tables of the runtime) ─ Invocation ─┬─ argv()               containers
//! extraArgs    ─┘                                                     ├─ keyword_arguments()  Ray engine_kwargs
//!                                                                     └─ engine_config        TensorRT-LLM
//! ```
//! Providers add what their stack needs with [`Invocation::set_default`]; what the user said on the same flag wins.

pub mod flags;
mod invocation;

pub use invocation::{Argument, ArgumentValue, Invocation, Parallelism, escape_expansion};

use super::ir::{Deployment, Worker};
use crate::diagnostic::Findings;

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

/// Resolves everything that sets the engine, for one worker: typed fields, `engine.args`, `engine.extraArgs`,
/// parallelism. `None` means that findings say why not.
///
/// The model and the served name are not among the arguments of [`Launcher::KaitoPreset`], [`Launcher::RayServe`] and
/// [`Launcher::LlamaServer`]: those name them elsewhere.
pub fn resolve(
    deployment: &Deployment,
    worker: &Worker,
    launcher: Launcher<'_>,
    findings: &mut Findings<'_>,
) -> Option<Invocation> {
    let _ = (deployment, worker, launcher, findings);
    None
}
