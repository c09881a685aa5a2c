//! The command line: commands, options and their help texts.

mod argocd;
mod config;
mod conversion;
mod deferred;
mod explain;
mod findings;
mod formats;
mod init;
mod lint;
mod llamastack;
mod plan;
mod render;
mod snapshot;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args as ClapArgs, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use kubefoundry::schemas::SCHEMAS;
use kubefoundry_input::InputArgs;
use kubefoundry_input::confinement::{self, ConfinedArgs};

pub(crate) use argocd::ArgoCdCommand;
pub(crate) use config::ConfigArgs;
pub(crate) use conversion::{ImportArgs, MigrateArgs, MigrationFormat};
pub(crate) use deferred::Deferred;
pub(crate) use explain::ExplainArgs;
pub(crate) use findings::FindingArgs;
pub(crate) use formats::{
    ColorChoice, ExplanationFormat, FailOn, LintFormat, ObjectFormat, RenderFailOn, ReportFormat, TableFormat,
    TextFormat,
};
pub(crate) use init::{CiSystem, InitArgs};
pub(crate) use lint::LintArgs;
pub(crate) use llamastack::{LlamaStackCommand, MergeConfigArgs, ValidateProviderArgs};
pub(crate) use plan::{ApplierChoice, PlanArgs, PlanFailOn};
pub(crate) use render::RenderArgs;
pub(crate) use snapshot::{DriftArgs, Now, StatusArgs};

/// Convert ModelDeployments to the manifests of KAITO, Dynamo and KubeRay
#[derive(Debug, Parser)]
#[command(name = "kubefoundry", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// When to color the output
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t, help_heading = "Global options")]
    pub(crate) color: ColorChoice,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The name under which kubectl finds the program as its plugin.
const PLUGIN: &str = "kubectl-kubefoundry";

/// Parses the command line. Usage lines name the program as it was called, which is `kubectl kubefoundry` for the plugin.
pub(crate) fn parse(line: impl Iterator<Item = OsString>) -> Result<Args, clap::Error> {
    let line: Vec<OsString> = line.collect();
    let is_plugin = line.first().and_then(|name| Path::new(name).file_stem()).is_some_and(|name| name == PLUGIN);
    let command = if is_plugin { Args::command().bin_name("kubectl kubefoundry") } else { Args::command() };
    let mut matches = command.try_get_matches_from(line)?;
    Args::from_arg_matches_mut(&mut matches)
}

const EXAMPLES: &str = "\
Examples:
  kubefoundry init
  kubefoundry render llama.yaml | kubectl apply -f -
  kubefoundry lint .
  kubefoundry explain llama.yaml
  kubefoundry plan --git main...HEAD models/
  kubefoundry explain KF0113

Exit status: 0 success; 1 an error in the input (lint, plan: a finding or a change at least as severe as --fail-on; \
drift: drift); 2 wrong usage or options, or a file that cannot be read or written.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a ModelDeployment, options, and files for CI
    #[command(after_help = init::EXAMPLES)]
    Init(Deferred<InitArgs>),
    /// Print the manifests for ModelDeployments
    #[command(after_help = render::EXAMPLES)]
    Render(Deferred<RenderArgs>),
    /// Report problems in the input
    #[command(after_help = lint::EXAMPLES)]
    Lint(Deferred<LintArgs>),
    /// Explain how a provider is selected for each ModelDeployment, or what a diagnostic code or a field means
    #[command(after_help = explain::EXAMPLES)]
    Explain(Deferred<ExplainArgs>),
    /// Show what a change does to running models: what restarts, is recreated, is ignored or is refused
    #[command(after_help = plan::EXAMPLES)]
    Plan(Deferred<PlanArgs>),
    /// Show on which GPUs the models fit, and with how much context
    #[command(after_help = FIT_EXAMPLES)]
    Fit(Deferred<FitArgs>),
    /// List the container images that the output uses
    #[command(after_help = IMAGES_EXAMPLES)]
    Images(Deferred<ImagesArgs>),
    /// Convert KAITO, Dynamo and KubeRay objects to ModelDeployments
    #[command(after_help = conversion::IMPORT_EXAMPLES)]
    Import(Deferred<ImportArgs>),
    /// Move ModelDeployments to another provider or to another API group
    #[command(after_help = conversion::MIGRATE_EXAMPLES)]
    Migrate(Deferred<MigrateArgs>),
    /// Show the status of models, llama-stack servers and actors in a cluster snapshot
    #[command(after_help = snapshot::STATUS_EXAMPLES)]
    Status(Deferred<StatusArgs>),
    /// Compare a cluster snapshot with the rendered objects, and fail if they differ
    #[command(after_help = snapshot::DRIFT_EXAMPLES)]
    Drift(Deferred<DriftArgs>),
    /// Run as a config management plugin of Argo CD
    #[command(subcommand, after_help = argocd::EXAMPLES)]
    Argocd(ArgoCdCommand),
    /// Check external providers of Llama Stack, or merge them into run.yaml
    #[command(subcommand, after_help = llamastack::LLAMASTACK_EXAMPLES)]
    Llamastack(LlamaStackCommand),
    /// Show which kubefoundry.yaml files apply to a path, and where each option comes from
    #[command(after_help = config::EXAMPLES)]
    Config(Deferred<ConfigArgs>),
    /// Print a CRD, or the JSON Schema of an input or a report
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema(Deferred<SchemaArgs>),
    /// Run as a language server, which an editor starts
    #[command(after_help = LSP_EXAMPLES)]
    Lsp(Deferred<LspArgs>),
    /// Run as a KRM function of kustomize or kpt
    #[command(name = "fn", after_help = FN_EXAMPLES)]
    Function,
    /// Print a shell completion script
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(Deferred<CompletionsArgs>),
    /// Print man pages
    #[command(after_help = MAN_EXAMPLES)]
    Man(Deferred<ManArgs>),
    /// Install the operator in a cluster, which a program of its own does
    #[command(hide = true)]
    Controller(Deferred<ControllerArgs>),
    /// Give up the rights of this process, and become another program. Our own program starts itself in this way.
    #[command(name = confinement::COMMAND, hide = true)]
    Confined(Deferred<ConfinedArgs>),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ControllerArgs {
    /// What to do: the command of the operator's program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

const FIT_EXAMPLES: &str = "\
Sizes are bounds: what is not known exactly is given as a range, and `surely` means that the upper bound fits. \
Weights and KV cache are those of each GPU. Describe your own models and GPUs in the options file.

Examples:
  kubefoundry fit models/
  kubefoundry fit llama.yaml --output json |
    jq '.workers[] | [.object.name, .fit]'
  kubefoundry fit models/ --output markdown";

const IMAGES_EXAMPLES: &str = "\
Examples:
  kubefoundry images models/
  kubefoundry images models/ | xargs -r -n 1 docker pull";

const SCHEMA_EXAMPLES: &str = "\
Without NAME, the available schemas are listed.

Examples:
  kubefoundry schema crds | kubectl apply --server-side -f -
  kubefoundry schema kubefoundry > .vscode/kubefoundry.json
  kubefoundry schema diagnostics > diagnostics.schema.json
  kubefoundry schema --upstream ray.io/RayService --release 1.7.0

In an editor with yaml-language-server, name the file in the first line of a document:
  # yaml-language-server: $schema=.vscode/kubefoundry.json";

const FN_EXAMPLES: &str = "\
The function reads a ResourceList from standard input and prints the resulting ResourceList, like kubefoundry-fn. \
Its options are in functionConfig; it takes no flags.

Examples:
  kpt fn eval DIR --exec \"kubefoundry fn\" -- runtimes.dynamo=1.4.0
  kpt fn source DIR | kubefoundry fn | kpt fn sink OUT";

const LSP_EXAMPLES: &str = "\
The server shows findings while you type, describes and completes fields and flags, applies fixes,
leads from a kustomize patch to its base, and shows the rendered manifests. It reads only files in
the folder that the editor has opened. docs/editors.md has the configuration of editors.

Exit status: 0 if the editor shut the server down before it ended; 1 if it did not.

Examples:
  hx models/llama.yaml                # Helix, with kubefoundry lsp in languages.toml
  kubefoundry lsp < session.txt       # replay messages of the protocol";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  kubefoundry completions bash > /etc/bash_completion.d/kubefoundry
  kubefoundry completions zsh > \"${fpath[1]}/_kubefoundry\"
  kubefoundry completions fish > ~/.config/fish/completions/kubefoundry.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  kubefoundry man render > kubefoundry-render.1
  kubefoundry man --out-dir ~/.local/share/man/man1";

#[derive(Debug, Default, ClapArgs)]
#[command(next_help_heading = "Findings")]
pub(crate) struct DiagnosticsArgs {
    /// Format of the findings on standard error
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) diagnostics: ReportFormat,

    #[command(flatten)]
    pub(crate) findings: FindingArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FitArgs {
    /// Output format
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: TableFormat,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ImagesArgs {
    /// Output format
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: TextFormat,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,
}

/// The schema name that prints all CRDs.
pub(crate) const CRDS: &str = "crds";

#[derive(Debug, ClapArgs)]
pub(crate) struct SchemaArgs {
    /// Schema to print
    #[arg(value_name = "NAME", value_parser = schema_names(), hide_possible_values = true)]
    pub(crate) name: Option<String>,
    /// Print an upstream CRD, without descriptions and validation rules; without GROUP/KIND, list the available CRDs
    #[arg(long, value_name = "GROUP/KIND", conflicts_with = "name")]
    #[expect(clippy::option_option, reason = "clap's way to say that a flag may have a value")]
    pub(crate) upstream: Option<Option<String>>,
    /// Release of the upstream project; the nearest older release if this one is not available
    #[arg(long, value_name = "VERSION", requires = "upstream")]
    pub(crate) release: Option<String>,
}

fn schema_names() -> PossibleValuesParser {
    let names = SCHEMAS.iter().map(|schema| PossibleValue::new(schema.name).help(schema.summary));
    PossibleValuesParser::new(std::iter::once(PossibleValue::new(CRDS).help("all CRDs")).chain(names))
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LspArgs {
    /// Use standard input and output, the only transport; editors pass this flag
    #[arg(long)]
    pub(crate) stdio: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// Shell to print the script for
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ManArgs {
    /// Command to print the page of, such as lint or `argocd generate`; the page of kubefoundry itself if omitted
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,

    /// Write all pages to DIR instead of standard output
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "command")]
    pub(crate) out_dir: Option<PathBuf>,

    /// Write the pages of docs/commands instead of man pages
    #[arg(long, hide = true, requires = "out_dir")]
    pub(crate) markdown: bool,
}

/// Whether a command line that clap rejected is meant for `fn`, which reports errors in its own format.
///
/// The command is the first word that is neither a flag nor the value of `--color`, the only flag before a command that
/// takes one.
pub(crate) fn is_for_function(arguments: impl Iterator<Item = OsString>) -> bool {
    let mut is_value = false;
    let mut words = arguments.filter(|argument| {
        let is_flag = argument.to_string_lossy().starts_with('-');
        !std::mem::replace(&mut is_value, argument == "--color") && !is_flag
    });
    words.next().is_some_and(|word| word == "fn")
}

/// Returns the first line of a clap error, without the usage and hints that follow it.
pub(crate) fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs clap's own check for conflicting names and missing values.
    #[test]
    fn arguments_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn recognizes_command_lines_of_the_function() {
        let is_for = |line: &str| is_for_function(line.split(' ').map(OsString::from));
        for line in ["fn x", "fn --strict", "--color never fn x", "--color=never fn x", "--unknown fn x"] {
            assert!(is_for(line), "{line}");
        }
        for line in ["render fn --x", "--color fn render", "", "lint"] {
            assert!(!is_for(line), "{line}");
        }
    }
}
