//! Arguments of `kubefoundry llamastack`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueHint};

pub(super) const LLAMASTACK_EXAMPLES: &str = "\
Examples:
  kubefoundry llamastack validate-provider my-provider/ --platform linux/amd64
  kubefoundry llamastack merge-config --metadata-dir metadata --base run.yaml --output merged.yaml \\
    --extra-providers-output extra-providers.yaml --log merge-log.txt";

const MERGE_CONFIG_EXAMPLES: &str = "\
This is what the init container merge-config runs; the paths default to those in its pod. Every file is written, or none.
Base providers that are replaced are warned about on standard error.

Exit status: 0 merged, 1 anything else, wrong usage too.

Examples:
  kubefoundry llamastack merge-config
  kubefoundry llamastack merge-config --metadata-dir metadata --base run.yaml --output merged.yaml \\
    --extra-providers-output extra-providers.yaml --log merge-log.txt";

const VALIDATE_PROVIDER_EXAMPLES: &str = "\
A directory is what /lls-provider is in the image: lls-provider-spec.yaml, and packages/ with wheels. Of a file only the
metadata is checked. With several directories, their wheels must not exclude each other.

Examples:
  kubefoundry llamastack validate-provider my-provider/
  kubefoundry llamastack validate-provider lls-provider-spec.yaml
  kubefoundry llamastack validate-provider vllm/ guard/ --platform linux/arm64";

#[derive(Debug, Subcommand)]
pub(crate) enum LlamaStackCommand {
    /// Merge installed external providers into the server's run.yaml
    #[command(visible_alias = "merge-run-yaml", after_help = MERGE_CONFIG_EXAMPLES)]
    MergeConfig(MergeConfigArgs),
    /// Check provider packages: metadata, wheels, platform, conflicts between them
    #[command(after_help = VALIDATE_PROVIDER_EXAMPLES)]
    ValidateProvider(ValidateProviderArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MergeConfigArgs {
    /// Directory with a directory for each installed provider: lls-provider-spec.yaml and crd-config.yaml
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = "/opt/llama-stack/external-providers/metadata")]
    pub(crate) metadata_dir: PathBuf,

    /// run.yaml to merge into, or a directory with run.yaml or config.yaml
    ///
    /// A run.yaml that is not there may be called config.yaml.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath, default_value = "/opt/llama-stack/base-config/run.yaml")]
    pub(crate) base: PathBuf,

    /// Merged run.yaml
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "/opt/llama-stack/config/run.yaml")]
    pub(crate) output: PathBuf,

    /// External providers alone
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "/opt/llama-stack/config/extra-providers.yaml")]
    pub(crate) extra_providers_output: PathBuf,

    /// What was added, replaced and left
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "/opt/llama-stack/config/merge-log.txt")]
    pub(crate) log: PathBuf,

    /// Read no base and write no run.yaml, for a llama-stack that reads external providers itself
    #[arg(long, conflicts_with_all = ["base", "output"])]
    pub(crate) extra_providers_only: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ValidateProviderArgs {
    /// Directories of providers, or metadata files
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Platform that wheels with machine code have to be for, such as linux/amd64
    #[arg(long, value_name = "PLATFORM")]
    pub(crate) platform: Option<String>,
}
