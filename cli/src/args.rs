//! The command line: commands, options and their help texts.

mod conversion;
mod deferred;
mod findings;
mod formats;
mod init;
mod llamastack;
mod plan;
mod snapshot;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Args as ClapArgs, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use kubefoundry::schemas::SCHEMAS;

pub(crate) use conversion::{ImportArgs, MigrateArgs, MigrationFormat};
pub(crate) use deferred::Deferred;
pub(crate) use findings::FindingArgs;
pub(crate) use formats::{
    ColorChoice, ExplanationFormat, FailOn, LintFormat, ObjectFormat, RenderFailOn, ReportFormat, TableFormat,
    TextFormat,
};
pub(crate) use init::{CiSystem, InitArgs};
pub(crate) use llamastack::{LlamaStackCommand, MergeConfigArgs, ValidateProviderArgs};
pub(crate) use plan::{ApplierChoice, PlanArgs, PlanFailOn};
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

const EXAMPLES: &str = "\
Examples:
  kubefoundry init
  kubefoundry render llama.yaml | kubectl apply -f -
  kubefoundry lint .
  kubefoundry explain llama.yaml
  kubefoundry plan --git main...HEAD models/
  kubefoundry explain KF0102

Exit status: 0 success; 1 an error in the input (lint, plan: a finding or a change at least as severe as --fail-on; \
drift: drift); 2 wrong usage or options, or a file that cannot be read or written.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a ModelDeployment, options, and files for CI
    #[command(after_help = init::EXAMPLES)]
    Init(Deferred<InitArgs>),
    /// Print the manifests for ModelDeployments
    #[command(after_help = RENDER_EXAMPLES)]
    Render(Deferred<RenderArgs>),
    /// Report problems in the input
    #[command(after_help = LINT_EXAMPLES)]
    Lint(Deferred<LintArgs>),
    /// Explain how a provider is selected for each ModelDeployment, or what a diagnostic code or a field means
    #[command(after_help = EXPLAIN_EXAMPLES)]
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
    #[command(subcommand, after_help = ARGOCD_EXAMPLES)]
    Argocd(ArgoCdCommand),
    /// Check external providers of Llama Stack, or merge them into run.yaml
    #[command(subcommand, after_help = llamastack::LLAMASTACK_EXAMPLES)]
    Llamastack(LlamaStackCommand),
    /// Show which kubefoundry.yaml files apply to a path, and where each option comes from
    #[command(after_help = CONFIG_EXAMPLES)]
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
}

const RENDER_EXAMPLES: &str = "\
Generated objects go to standard output, or to files with --out-dir. Findings go to standard error. If there is an \
error, nothing is printed or written, and the exit status is 1.

Each kubefoundry.yaml in the directory of an input file or above it, up to the root of the repository, supplies options; \
the nearest one wins. --config overrides them, and flags override both.

Examples:
  kubefoundry render models/ | kubectl apply -f -
  kubefoundry render models/ --out-dir manifests --prune
  kubefoundry render models/ --out-dir manifests --prune --check
  kubefoundry render models/ --out-dir manifests --watch
  kubefoundry render llama.yaml --crd-version dynamo=nvidia.com/v1beta1 \\
    --runtime dynamo=1.4.0
  kubectl get crd -o yaml | kubefoundry render models/ --crds -
  helm template app | kubefoundry render --all --allow-empty -";

const LINT_EXAMPLES: &str = "\
Examples:
  kubefoundry lint .
  kubefoundry lint models/ --output concise --fail-on warning
  kubefoundry lint . --quiet --ignore unpinned-runtime
  kubefoundry lint . --write-baseline known.json
  kubefoundry lint . --baseline known.json
  kubefoundry lint . --fix
  kubefoundry lint models/ --watch
  kubefoundry lint . --output sarif > kubefoundry.sarif
  git diff --name-only --diff-filter=d main -- '*.yaml' |
    xargs -r kubefoundry lint";

const EXPLAIN_EXAMPLES: &str = "\
For a diagnostic code or its name, the page of that diagnostic is printed. A name such as syntax is never read as a \
path; write ./syntax to name the file. For a field, such as spec.engine.type or asyncactor.spec.scaling, its \
description is printed, unless a file or directory has that name.

Examples:
  kubefoundry explain llama.yaml
  kubefoundry explain KF0102
  kubefoundry explain unknown-field
  kubefoundry explain spec.engine.type
  kubefoundry explain models/ --output html > models.html
  kubefoundry explain llama.yaml --output dot | dot -Tsvg > llama.svg
  kubefoundry explain llama.yaml --trace --field spec.engine.contextLength
  kubefoundry explain llama.yaml --why-not kaito
  kubefoundry explain providers/ --rules
  kubefoundry explain models/ --output json |
    jq '.decisions[] | [.object.name, .selection.reason]'";

/// Lets `explain` take diagnostic codes and fields in place of paths.
fn accept_codes_and_fields(paths: Arg) -> Arg {
    const HELP: &str = "Files and directories to read (standard input if `-` or omitted), diagnostic codes, or fields";
    let long =
        paths.get_long_help().map(|long| long.to_string().replacen("Files", "Diagnostic codes, fields, or files", 1));
    paths.value_name("PATH|CODE|FIELD").help(HELP).long_help(long.unwrap_or_default())
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

const ARGOCD_EXAMPLES: &str = "\
Argo CD runs these commands in the application's directory. They read their parameters from the environment: \
ARGOCD_APP_PARAMETERS, PARAM_* and ARGOCD_ENV_*.

Examples:
  kubefoundry argocd generate
  ARGOCD_ENV_RUNTIMES=dynamo=1.4.0 kubefoundry argocd generate";

const ARGOCD_GENERATE_EXAMPLES: &str = "\
Examples:
  kubefoundry argocd generate
  ARGOCD_ENV_RUNTIMES=dynamo=1.4.0 kubefoundry argocd generate";

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

#[derive(Debug, Default, Clone, ClapArgs)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    /// Files and directories to read; standard input if `-` or omitted
    ///
    /// In a directory, every .yaml, .yml and .json file is read, except hidden files and files ignored by git.
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, help_heading = None::<&str>)]
    pub(crate) paths: Vec<PathBuf>,

    /// Options file (kind Render)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Ignore every kubefoundry.yaml
    ///
    /// Otherwise, a kubefoundry.yaml in the directory of a file or above it, up to the root of the repository, supplies
    /// options.
    #[arg(long)]
    pub(crate) isolated: bool,

    /// Do not read files and directories that match this pattern of a .gitignore; can be repeated
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,

    #[command(flatten)]
    pub(crate) build: BuildArgs,

    /// File or directory with InferenceProviderConfigs; can be repeated
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) providers: Vec<PathBuf>,

    /// File or directory with the CRDs of the cluster, or `-` for standard input; can be repeated
    ///
    /// Every object is checked against these CRDs and written in a version that they serve. Use the CRDs that the
    /// upstream project publishes, or the output of `kubectl get crd -o yaml`.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) crds: Vec<PathBuf>,

    /// File or directory with the nodes of the cluster, or `-` for standard input; can be repeated
    ///
    /// Use the output of `kubectl get nodes -o yaml`. It tells on which GPUs a deployment runs, and whether a node has
    /// what its pods ask for.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) cluster: Vec<PathBuf>,

    /// Directory with the config.json of models of your own, in the form DIR/ORG/NAME/config.json; can be repeated
    ///
    /// Deployments of the model ORG/NAME are then checked like those of public models. The options can name single files,
    /// too: `models: {ORG/NAME: {config: PATH}}`.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) model_config: Vec<PathBuf>,

    /// CRD version to write for a provider, such as dynamo=nvidia.com/v1beta1 or dynamo=auto; can be repeated
    #[arg(long, value_name = "PROVIDER=APIVERSION", value_parser = parse_assignment)]
    pub(crate) crd_version: Vec<Assignment>,

    /// The former name of `--crd-version`; rejected with the new name.
    #[arg(long, hide = true, value_name = "PROVIDER=APIVERSION", value_parser = reject_target_flag)]
    pub(crate) target: Option<String>,

    /// Runtime version that determines images and flags, such as dynamo=1.4.0; can be repeated
    #[arg(long, value_name = "PROVIDER=VERSION", value_parser = parse_assignment)]
    pub(crate) runtime: Vec<Assignment>,

    /// Treat warnings as errors
    #[arg(long, help_heading = "Findings")]
    pub(crate) strict: bool,
}

// A documentation comment would become the description of every command with these flags.
#[derive(Debug, Clone, Copy, Default, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct BuildArgs {
    /// Read the files of kustomizations instead of building them
    #[arg(long)]
    pub(crate) no_kustomize: bool,

    /// Let kustomizations run programs: plugins and functions
    #[arg(long)]
    pub(crate) enable_exec: bool,

    /// Let kustomizations read from the network
    #[arg(long)]
    pub(crate) allow_remote: bool,

    /// Render Helm charts with helm instead of skipping their templates
    #[arg(long)]
    pub(crate) helm: bool,
}

/// A `PROVIDER=VERSION` argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) provider: String,
    /// A runtime version or a CRD version, as the flag has it.
    pub(crate) version: String,
}

fn reject_target_flag(_: &str) -> Result<String, String> {
    Err("--target has been renamed to --crd-version".to_owned())
}

fn parse_assignment(text: &str) -> Result<Assignment, String> {
    match text.split_once('=') {
        Some((provider, version)) if !provider.is_empty() && !version.is_empty() => {
            Ok(Assignment { provider: provider.to_owned(), version: version.to_owned() })
        }
        _ => Err("expected PROVIDER=VERSION, such as dynamo=1.4.0".to_owned()),
    }
}

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
pub(crate) struct RenderArgs {
    /// Output format
    ///
    /// In JSON, a single object is printed on its own; any other number of objects becomes a v1 List.
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: ObjectFormat,

    #[command(flatten)]
    pub(crate) files: OutDirArgs,

    /// Accept an input without a ModelDeployment, as the option allowEmpty does
    #[arg(long)]
    pub(crate) allow_empty: bool,

    /// Print the whole input, with each ModelDeployment replaced by the objects generated from it
    #[arg(long, conflicts_with = "out_dir")]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Fail if there is a finding of at least this severity
    ///
    /// As after an error, nothing is then printed or written.
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t, help_heading = "Findings")]
    pub(crate) fail_on: RenderFailOn,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,
}

const CONFIG_EXAMPLES: &str = "\
A kubefoundry.yaml applies to the files in its directory and below. The nearest one wins for each key; --config
overrides all of them.

Examples:
  kubefoundry config
  kubefoundry config clusters/prod
  kubefoundry config models/llama.yaml --output json";

#[derive(Debug, ClapArgs)]
pub(crate) struct ConfigArgs {
    /// File or directory; the working directory if omitted
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,

    /// Options file (kind Render)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Ignore every kubefoundry.yaml
    #[arg(long)]
    pub(crate) isolated: bool,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,

    /// Output format
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: TextFormat,
}

// Writing to files instead of standard output. A documentation comment would become the description of the command.
#[derive(Debug, ClapArgs)]
pub(crate) struct OutDirArgs {
    /// Write each object to DIR/NAMESPACE/KIND_NAME.yaml instead of standard output
    ///
    /// An existing file is overwritten only if it was generated from the same ModelDeployment. No file is removed without
    /// --prune. Standard error lists the files that are created, changed or removed.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out_dir: Option<PathBuf>,

    /// With --out-dir: remove the files of objects that are no longer generated
    ///
    /// PATH must contain every ModelDeployment with objects in DIR. Only a file with exactly one generated object is
    /// removed, and never a PersistentVolumeClaim or the queue of an actor.
    #[arg(long, requires = "out_dir")]
    pub(crate) prune: bool,

    /// With --out-dir: write nothing, and print a diff if the files are not what would be written
    ///
    /// Exit status: 0 if they are, 1 if not, 2 if the input has an error or a file cannot be read.
    #[arg(long, requires = "out_dir")]
    pub(crate) check: bool,

    /// Run again whenever a file of the input changes, until interrupted
    ///
    /// Only changed documents are rendered again. With --out-dir, only changed objects are written.
    #[arg(long, conflicts_with = "check")]
    pub(crate) watch: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LintArgs {
    /// Format of the findings
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: LintFormat,

    /// Apply the fixes that findings offer, and report the remaining findings
    ///
    /// Only unambiguous fixes are applied, such as correcting a misspelled field or quoting a value. Comments and
    /// layout are kept. For standard input, the fixed text is printed to standard output and the report to standard
    /// error.
    #[arg(long)]
    pub(crate) fix: bool,

    /// Print the changes that --fix would make without making them; fail if there are any
    #[arg(long, conflicts_with_all = ["fix", "output"])]
    pub(crate) diff: bool,

    /// Run again whenever a file of the input changes, until interrupted
    ///
    /// Only changed documents are checked again.
    #[arg(long, conflicts_with_all = ["fix", "diff", "write_baseline"])]
    pub(crate) watch: bool,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Fail if there is a finding of at least this severity
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t, help_heading = "Findings")]
    pub(crate) fail_on: FailOn,

    /// Do not report the findings that FILE lists
    ///
    /// --write-baseline writes such a file. Findings are compared by file, object, code and field, so that they may
    /// move to other lines.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Findings")]
    pub(crate) baseline: Option<PathBuf>,

    /// Write the findings to FILE, for --baseline
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Findings")]
    #[arg(conflicts_with_all = ["baseline", "fix", "diff"])]
    pub(crate) write_baseline: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) findings: FindingArgs,
}

#[derive(Debug, ClapArgs)]
#[command(mut_arg("paths", accept_codes_and_fields))]
pub(crate) struct ExplainArgs {
    /// Output format; JSON and HTML include the findings
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: ExplanationFormat,

    /// Show where each input field goes and where each output field comes from
    ///
    /// Each field is given other values, the deployment is rendered again, and the outputs are compared. Supports text
    /// and JSON.
    #[arg(long, conflicts_with_all = ["rules", "why_not"])]
    pub(crate) trace: bool,

    /// With --trace: show only this input or output field, such as spec.engine.contextLength
    #[arg(long, value_name = "FIELD", requires = "trace", conflicts_with_all = ["rules", "why_not"])]
    pub(crate) field: Option<String>,

    /// Find selection rules that never decide, and providers that are never selected
    ///
    /// The analysis covers the built-in providers and the InferenceProviderConfigs of the input, and gives an example
    /// ModelDeployment for each problem. Supports text and JSON.
    #[arg(long, conflicts_with = "why_not")]
    pub(crate) rules: bool,

    /// With --rules: exclude the built-in providers
    #[arg(long, requires = "rules", conflicts_with_all = ["trace", "why_not"])]
    pub(crate) no_builtins: bool,

    /// Show which changes would make PROVIDER selected, or what prevents it
    ///
    /// Supports text and JSON.
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) why_not: Option<String>,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,
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

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum ArgoCdCommand {
    /// Print the manifests of the application; on failure, print nothing
    #[command(after_help = ARGOCD_GENERATE_EXAMPLES)]
    Generate,
    /// Print the files that kubefoundry can render, if any
    #[command(after_help = "Examples:\n  kubefoundry argocd discover")]
    Discover,
    /// Print the available parameters for the Argo CD UI
    #[command(after_help = "Examples:\n  kubefoundry argocd params")]
    Params,
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
        use clap::CommandFactory as _;
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

    #[test]
    fn an_assignment_needs_a_provider_and_a_version() {
        assert_eq!(parse_assignment("a=b=c").unwrap(), Assignment { provider: "a".into(), version: "b=c".into() });
        for text in ["", "a", "a=", "=b"] {
            assert!(parse_assignment(text).is_err(), "{text:?}");
        }
    }
}
