//! What can be said on the command line.

mod formats;
mod live;
mod llamastack;
mod moving;
mod plan;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Args as ClapArgs, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use kubefoundry::schemas::SCHEMAS;

pub(crate) use formats::{ColorChoice, ExplanationFormat, FailOn, LintFormat, ObjectFormat, ReportFormat, TextFormat};
pub(crate) use live::{DriftArgs, Now, StatusArgs};
pub(crate) use llamastack::{LlamaStackCommand, MergeConfigArgs, ValidateProviderArgs};
pub(crate) use moving::{ImportArgs, MigrateArgs, MigrationFormat};
pub(crate) use plan::{ApplierChoice, PlanArgs, PlanFailOn, PlanFormat};

/// Turns a ModelDeployment into the manifests of the serving stack that runs it: KAITO, Dynamo, KubeRay.
#[derive(Debug, Parser)]
#[command(name = "kubefoundry", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// When to colour text
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    pub(crate) color: ColorChoice,

    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  kubefoundry render llama.yaml | kubectl apply -f -
  kubefoundry lint .
  kubefoundry explain llama.yaml
  kubefoundry plan --git main...HEAD models/
  kubefoundry explain KF0102

Exit status: 0 fine, 1 an error was found (lint: a finding, plan: a change of at least --fail-on), 2 wrong usage or
options, or a file that cannot be read or written.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the objects that ModelDeployments become
    #[command(after_help = RENDER_EXAMPLES)]
    Render(RenderArgs),
    /// Report everything that is wrong with the input
    #[command(after_help = LINT_EXAMPLES)]
    Lint(LintArgs),
    /// Say which provider runs each ModelDeployment, why, and with which values; or what a code or a field means
    #[command(after_help = EXPLAIN_EXAMPLES, mut_arg("paths", path_or_code))]
    Explain(ExplainArgs),
    /// Say what a change does to what runs: what restarts, is made anew, is ignored or refused
    #[command(after_help = plan::EXAMPLES, mut_arg("paths", plan::old_and_new))]
    Plan(PlanArgs),
    /// List the container images that the output uses
    #[command(after_help = IMAGES_EXAMPLES)]
    Images(ImagesArgs),
    /// Turn objects of KAITO, Dynamo and KubeRay into the ModelDeployments that become them
    #[command(after_help = moving::IMPORT_EXAMPLES)]
    Import(ImportArgs),
    /// Move ModelDeployments to another provider, or to another API group
    #[command(after_help = moving::MIGRATE_EXAMPLES)]
    Migrate(MigrateArgs),
    /// Say how what is in a cluster runs, from a dump of it
    #[command(after_help = live::STATUS_EXAMPLES)]
    Status(StatusArgs),
    /// Say how what is in a cluster differs from what is rendered; fails when it does
    #[command(after_help = live::DRIFT_EXAMPLES, mut_arg("paths", live::spec_and_live))]
    Drift(DriftArgs),
    /// Answer Argo CD as a config management plugin
    #[command(subcommand, after_help = ARGOCD_EXAMPLES)]
    Argocd(ArgoCdCommand),
    /// Work on external providers of llama-stack: merge them into run.yaml, check their packages
    #[command(subcommand, after_help = llamastack::LLAMASTACK_EXAMPLES)]
    Llamastack(LlamaStackCommand),
    /// Print a schema: for editors, for clusters (CRDs), for readers of reports
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema(SchemaArgs),
    /// Run as a KRM function: what kustomize and kpt start
    #[command(name = "fn", after_help = FN_EXAMPLES)]
    Function,
    /// Print the completion script of a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
    /// Print the manual as man pages
    #[command(after_help = MAN_EXAMPLES)]
    Man(ManArgs),
}

const RENDER_EXAMPLES: &str = "\
Generated objects go to standard output, or to files with --out-dir; findings go to standard error.
When there is an error, nothing is printed or written, and the exit status is 1.

Options also come from kubefoundry.yaml in the one directory given as PATH, and from --config.
Flags win over --config, and that wins over kubefoundry.yaml.

Examples:
  kubefoundry render models/ | kubectl apply -f -
  kubefoundry render models/ --out-dir manifests
  kubefoundry render llama.yaml --crd-version dynamo=nvidia.com/v1beta1 --runtime dynamo=1.4.0
  kubectl get crd -o yaml | kubefoundry render models/ --crds -
  helm template app | kubefoundry render --all -";

const LINT_EXAMPLES: &str = "\
Examples:
  kubefoundry lint .
  kubefoundry lint models/ --output concise --fail-on warning
  kubefoundry lint . --fix
  kubefoundry lint . --output sarif > kubefoundry.sarif
  git diff --name-only --diff-filter=d main -- '*.yaml' | xargs -r kubefoundry lint";

const EXPLAIN_EXAMPLES: &str = "\
A code, or its name, prints the page of that diagnostic. It is never read as a path:
write ./syntax for a file or directory that is called like one.
A field, such as spec.engine.type or asyncactor.spec.scaling, prints its description,
unless there is a file or directory of that name.

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
  kubefoundry explain models/ --output json | jq '.decisions[] | [.object.name, .selection.reason]'";

/// `explain` takes what the other commands take, and codes.
fn path_or_code(paths: Arg) -> Arg {
    const HELP: &str =
        "Files and directories to read (`-`, or nothing, is standard input), or diagnostic codes, or fields";
    let long =
        paths.get_long_help().map(|long| long.to_string().replacen("Files", "Diagnostic codes, fields, or files", 1));
    paths.value_name("PATH|CODE|FIELD").help(HELP).long_help(long.unwrap_or_default())
}

const IMAGES_EXAMPLES: &str = "\
Examples:
  kubefoundry images models/
  kubefoundry images models/ | xargs -r -n 1 docker pull";

const ARGOCD_EXAMPLES: &str = "\
Every command works on the current directory, the application's, and takes its parameters from the environment that Argo
CD sets: ARGOCD_APP_PARAMETERS, PARAM_*, ARGOCD_ENV_*.

Examples:
  kubefoundry argocd generate
  ARGOCD_ENV_RUNTIMES=dynamo=1.4.0 kubefoundry argocd generate";

const SCHEMA_EXAMPLES: &str = "\
Without NAME the schemas are listed.

Examples:
  kubefoundry schema crds | kubectl apply --server-side -f -
  kubefoundry schema kubefoundry > .vscode/kubefoundry.json
  kubefoundry schema diagnostics > diagnostics.schema.json
  kubefoundry schema --upstream ray.io/RayService --release 1.7.0

In an editor with yaml-language-server, name the file in the first line of a document:
  # yaml-language-server: $schema=.vscode/kubefoundry.json";

const FN_EXAMPLES: &str = "\
Reads a ResourceList from standard input and prints one, as kubefoundry-fn does.
It takes no options: they are in the functionConfig.

Examples:
  kpt fn eval DIR --exec \"kubefoundry fn\" -- runtimes.dynamo=1.4.0
  kpt fn source DIR | kubefoundry fn | kpt fn sink OUT";

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
pub(crate) struct InputArgs {
    /// Files and directories to read; `-`, or no PATH at all, is standard input
    ///
    /// In a directory every .yaml, .yml and .json file is read, except what is hidden or ignored by git.
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// File with options (kind Render)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// File or directory with InferenceProviderConfigs; may be repeated
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) providers: Vec<PathBuf>,

    /// File or directory with the CRDs of the cluster; may be repeated, `-` is standard input
    ///
    /// Every object is checked against them, and written for a version that they serve. Give what upstream publishes,
    /// or what `kubectl get crd -o yaml` prints.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) crds: Vec<PathBuf>,

    /// CRD version to write for a provider, such as dynamo=nvidia.com/v1beta1, or auto; may be repeated
    #[arg(long, value_name = "PROVIDER=APIVERSION", value_parser = assignment)]
    pub(crate) crd_version: Vec<Assignment>,

    /// The former name of `--crd-version`: refused, with the new name.
    #[arg(long, hide = true, value_name = "PROVIDER=APIVERSION", value_parser = renamed_to_crd_version)]
    pub(crate) target: Option<String>,

    /// Runtime version that images and flags are for, such as dynamo=1.4.0; may be repeated
    #[arg(long, value_name = "PROVIDER=VERSION", value_parser = assignment)]
    pub(crate) runtime: Vec<Assignment>,

    /// Turn warnings into errors
    #[arg(long)]
    pub(crate) strict: bool,
}

/// A provider and what is said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// The provider's name.
    pub(crate) provider: String,
    /// The version.
    pub(crate) version: String,
}

fn renamed_to_crd_version(_: &str) -> Result<String, String> {
    Err("--target has been renamed to --crd-version".to_owned())
}

fn assignment(text: &str) -> Result<Assignment, String> {
    match text.split_once('=') {
        Some((provider, version)) if !provider.is_empty() && !version.is_empty() => {
            Ok(Assignment { provider: provider.to_owned(), version: version.to_owned() })
        }
        _ => Err("expected PROVIDER=VERSION, such as dynamo=1.4.0".to_owned()),
    }
}

#[derive(Debug, Default, ClapArgs)]
pub(crate) struct DiagnosticsArgs {
    /// How findings are printed to standard error
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) diagnostics: ReportFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RenderArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,

    /// How objects are written
    ///
    /// As JSON, one object is written as it is, and any other number of objects as the items of a v1 List.
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: ObjectFormat,

    /// Write each object to DIR/NAMESPACE/KIND_NAME.yaml instead of standard output
    ///
    /// Only files that were generated from the same ModelDeployment are overwritten. Nothing is removed.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out_dir: Option<PathBuf>,

    /// Print the other objects of the input, too, in its order; generated ones take their ModelDeployment's place
    #[arg(long, conflicts_with = "out_dir")]
    pub(crate) all: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LintArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// How findings are printed
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: LintFormat,

    /// Make the changes that findings offer, and report what is left
    ///
    /// Only what is right in every case is changed: misspelt fields, values that need quotes. Everything else in the
    /// file stays as it is, comments and layout too. Standard input is printed as it should be, and the report goes to
    /// standard error.
    #[arg(long)]
    pub(crate) fix: bool,

    /// Print what --fix would change, and change nothing; fails when there is something to change
    #[arg(long, conflicts_with_all = ["fix", "output"])]
    pub(crate) diff: bool,

    /// The least severe finding that fails the run
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t)]
    pub(crate) fail_on: FailOn,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,

    /// How the explanation is printed; JSON and HTML contain the findings, JSON prints the page of a code, too
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: ExplanationFormat,

    /// Say where every field of the input goes, and where every field of the output comes from
    ///
    /// Each field gets other values, the deployment is rendered again, and the outputs are compared. As text or JSON.
    #[arg(long, conflicts_with_all = ["rules", "why_not"])]
    pub(crate) trace: bool,

    /// With --trace: the one field to tell of, of the input or of the output, such as spec.engine.contextLength
    #[arg(long, value_name = "FIELD", requires = "trace", conflicts_with_all = ["rules", "why_not"])]
    pub(crate) field: Option<String>,

    /// Say which selection rules never decide, and which providers are never selected
    ///
    /// Of the built-in providers and the InferenceProviderConfigs of the input; each with a ModelDeployment that shows
    /// it. As text or JSON.
    #[arg(long, conflicts_with = "why_not")]
    pub(crate) rules: bool,

    /// With --rules: leave out the built-in providers
    #[arg(long, requires = "rules", conflicts_with_all = ["trace", "why_not"])]
    pub(crate) no_builtins: bool,

    /// Say what would have to change for PROVIDER to be selected, or what no change gets past. As text or JSON
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) why_not: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ImagesArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,

    /// How the list is printed
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: TextFormat,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum ArgoCdCommand {
    /// Print the manifests of the application, or nothing and fail
    Generate,
    /// Print the files that make the application one of ours; nothing when it is not
    Discover,
    /// Print the parameters that there are, as Argo CD's UI reads them
    Params,
}

/// The name that stands for all CRDs.
pub(crate) const CRDS: &str = "crds";

#[derive(Debug, ClapArgs)]
pub(crate) struct SchemaArgs {
    /// The schema to print
    #[arg(value_name = "NAME", value_parser = schema_names(), hide_possible_values = true)]
    pub(crate) name: Option<String>,
    /// Print the CRD of an upstream kind, without descriptions and rules; without GROUP/KIND, list those there are
    #[arg(long, value_name = "GROUP/KIND", conflicts_with = "name")]
    #[expect(clippy::option_option, reason = "clap's way to say that a flag may have a value")]
    pub(crate) upstream: Option<Option<String>>,
    /// The release of the upstream project; the nearest older one that there is is taken
    #[arg(long, value_name = "VERSION", requires = "upstream")]
    pub(crate) release: Option<String>,
}

fn schema_names() -> PossibleValuesParser {
    let names = SCHEMAS.iter().map(|schema| PossibleValue::new(schema.name).help(schema.summary));
    PossibleValuesParser::new(std::iter::once(PossibleValue::new(CRDS).help("all CRDs")).chain(names))
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// The shell to complete in
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ManArgs {
    /// The command whose page to print; without one, the page of kubefoundry itself
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,

    /// Write all pages to DIR instead of standard output
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "command")]
    pub(crate) out_dir: Option<PathBuf>,
}

/// Whether arguments that cannot be read are those of `fn`: its name is the first that is neither a flag nor a flag's
/// value.
pub(crate) fn is_for_function(arguments: impl Iterator<Item = OsString>) -> bool {
    let mut is_value = false;
    let mut words = arguments.filter(|argument| {
        let is_flag = argument.to_string_lossy().starts_with('-');
        !std::mem::replace(&mut is_value, argument == "--color") && !is_flag
    });
    words.next().is_some_and(|word| word == "fn")
}

/// What clap says of an error, without what it shows below.
pub(crate) fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// clap's own consistency check: conflicting names and missing values are found here and not by a user.
    #[test]
    fn arguments_are_consistent() {
        use clap::CommandFactory as _;
        Args::command().debug_assert();
    }

    #[test]
    fn the_function_is_told_by_its_name() {
        let is_for = |line: &str| is_for_function(line.split(' ').map(OsString::from));
        for line in ["fn x", "fn --strict", "--color never fn x", "--color=never fn x", "--colour fn x"] {
            assert!(is_for(line), "{line}");
        }
        for line in ["render fn --x", "--color fn render", "", "lint"] {
            assert!(!is_for(line), "{line}");
        }
    }

    #[test]
    fn an_assignment_has_two_sides() {
        assert_eq!(assignment("a=b=c").unwrap(), Assignment { provider: "a".into(), version: "b=c".into() });
        for text in ["", "a", "a=", "=b"] {
            assert!(assignment(text).is_err(), "{text:?}");
        }
    }
}
