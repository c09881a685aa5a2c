//! Arguments of `kubefoundry llamastack`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueHint};

pub(super) const LLAMASTACK_EXAMPLES: &str = "\
Examples:
  kubefoundry llamastack validate-provider my-provider/ --platform linux/amd64
  kubefoundry llamastack merge-config --metadata-dir metadata --base run.yaml \\
    --output merged.yaml --extra-providers-output extra-providers.yaml \\
    --log merge-log.txt";

const MERGE_CONFIG_EXAMPLES: &str = "\
The init container merge-config runs this command; the default paths are those in its pod. Either all files are \
written or none. A warning on standard error names each base provider that is replaced.

Exit status: 0 merged; 1 any error, including wrong usage.

Examples:
  kubefoundry llamastack merge-config
  kubefoundry llamastack merge-config --metadata-dir metadata --base run.yaml \\
    --output merged.yaml --extra-providers-output extra-providers.yaml \\
    --log merge-log.txt";

const VALIDATE_PROVIDER_EXAMPLES: &str = "\
A directory has the layout of /lls-provider in the image: lls-provider-spec.yaml, and packages/ with wheels. For a \
file, only the metadata is checked. For several directories, conflicts between their wheels are reported, too.

Examples:
  kubefoundry llamastack validate-provider my-provider/
  kubefoundry llamastack validate-provider lls-provider-spec.yaml
  kubefoundry llamastack validate-provider vllm/ guard/ --platform linux/arm64";

#[derive(Debug, Subcommand)]
pub(crate) enum LlamaStackCommand {
    /// Merge installed external providers into the server's run.yaml
    #[command(visible_alias = "merge-run-yaml", after_help = MERGE_CONFIG_EXAMPLES)]
    MergeConfig(MergeConfigArgs),
    /// Check provider packages: metadata, wheels, platform and conflicts
    #[command(after_help = VALIDATE_PROVIDER_EXAMPLES)]
    ValidateProvider(ValidateProviderArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MergeConfigArgs {
    /// Directory with one subdirectory for each installed provider (lls-provider-spec.yaml, crd-config.yaml)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = "/opt/llama-stack/external-providers/metadata")]
    pub(crate) metadata_dir: PathBuf,

    /// Base run.yaml, or a directory with run.yaml or config.yaml
    ///
    /// If run.yaml does not exist, config.yaml in the same directory is used.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath, default_value = "/opt/llama-stack/base-config/run.yaml")]
    pub(crate) base: PathBuf,

    /// File to write the merged run.yaml to
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "/opt/llama-stack/config/run.yaml")]
    pub(crate) output: PathBuf,

    /// File to write the external providers to
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "/opt/llama-stack/config/extra-providers.yaml")]
    pub(crate) extra_providers_output: PathBuf,

    /// File to write the log of added, replaced and kept providers to
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "/opt/llama-stack/config/merge-log.txt")]
    pub(crate) log: PathBuf,

    /// Read no base and write no run.yaml, for Llama Stack versions that read external providers themselves
    #[arg(long, conflicts_with_all = ["base", "output"])]
    pub(crate) extra_providers_only: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ValidateProviderArgs {
    /// Provider directories or metadata files
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Platform that wheels with native code must support, such as linux/amd64
    #[arg(long, value_name = "PLATFORM")]
    pub(crate) platform: Option<String>,
}
