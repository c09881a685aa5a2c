//! Arguments of `init`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use kubefoundry_deployment::wire::EngineType;
use kubefoundry_kubernetes::wire::StringEnum as _;

use super::conversion::provider_names;

pub(super) const EXAMPLES: &str = "\
init writes a ModelDeployment to models/NAME.yaml, options to kubefoundry.yaml, and files for CI if you want them. On a
terminal it asks for what no flag gives. It overwrites no file: if one of them exists, it writes nothing. The files have no
findings; if your answers lead to one, it is printed instead.

Examples:
  kubefoundry init
  kubefoundry init --model Qwen/Qwen3-32B --engine vllm --gpus 2 --ci github
  kubefoundry init team-a --model microsoft/Phi-4-mini-instruct --provider kaito --namespace chat";

#[derive(Debug, ClapArgs)]
pub(crate) struct InitArgs {
    /// Directory to create the files in
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
    pub(crate) directory: PathBuf,

    /// Model to serve: a HuggingFace id such as Qwen/Qwen3-8B
    #[arg(long, value_name = "ID")]
    pub(crate) model: Option<String>,

    /// Engine that runs the model; llamacpp for a GGUF model and vllm for any other if omitted
    #[arg(long, value_name = "ENGINE", value_parser = engine_names())]
    pub(crate) engine: Option<String>,

    /// GPUs of one replica; if omitted, as many as a known model needs on GPUs of 80 GB, and none with llamacpp
    #[arg(long, value_name = "COUNT")]
    pub(crate) gpus: Option<u32>,

    /// Provider that runs the model; selected by its rules if omitted
    #[arg(long, value_name = "PROVIDER", value_parser = provider_names())]
    pub(crate) provider: Option<String>,

    /// Name of the ModelDeployment; made from the model's if omitted
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Namespace of the ModelDeployment; none if omitted
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,

    /// CI system to write files for
    #[arg(long, value_enum, value_name = "SYSTEM")]
    pub(crate) ci: Option<CiSystem>,
}

/// A CI system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum CiSystem {
    /// A workflow that checks pull requests, and comments how they affect running models
    Github,
    /// A job that checks merge requests
    Gitlab,
    /// No files for CI
    #[default]
    None,
}

fn engine_names() -> PossibleValuesParser {
    PossibleValuesParser::new(EngineType::VARIANTS.iter().map(|(name, _)| *name))
}
