//! Arguments of `plan`.

use std::path::PathBuf;

use clap::{Arg, Args as ClapArgs, ValueEnum, ValueHint};
use kubefoundry_input::{Assignment, InputArgs, parse_assignment};

use super::{DiagnosticsArgs, TableFormat};

pub(super) const EXAMPLES: &str = "\
OLD and NEW are files, directories or `-`. With --git, two revisions of PATH are compared. With --new-* flags and \
one PATH, the same input is compared under two sets of options.

Exit status: 0 a plan; 1 a change at least as severe as --fail-on; 2 no plan: an error in OLD or NEW, wrong usage, \
or a file that cannot be read.

Examples:
  kubefoundry plan live/ models/
  kubefoundry plan --git main...HEAD models/
  kubefoundry plan --git main...HEAD --output markdown --fail-on recreate
  kubefoundry plan models/ --runtime dynamo=1.4.0 --new-runtime dynamo=1.6.1
  kubectl get modeldeployments -A -o yaml | kubefoundry plan - models/ --diff";

/// Lets `plan` take an old and a new input, or one input to compare under two revisions or sets of options.
fn accept_old_and_new(paths: Arg) -> Arg {
    paths
        .value_names(["OLD|PATH", "NEW"])
        .num_args(0..)
        .help("Old and new input; or PATH alone, with --git or --new-* options")
        .long_help(
            "Old and new input: files, directories, or `-` for standard input. With --git, any number of files and \
             directories; the working directory if omitted. With options for NEW (--new-*), one PATH is enough.",
        )
}

#[derive(Debug, ClapArgs)]
#[command(mut_arg("paths", accept_old_and_new))]
pub(crate) struct PlanArgs {
    /// Compare PATH in two revisions: A..B, A...B (from their merge base), or A (with the working tree)
    #[arg(long, value_name = "REVISIONS", allow_hyphen_values = true)]
    pub(crate) git: Option<String>,

    /// Options file for NEW, instead of --config
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) new_config: Option<PathBuf>,

    /// File or directory with InferenceProviderConfigs for NEW, instead of --providers; can be repeated
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) new_providers: Vec<PathBuf>,

    /// File or directory with the CRDs of the cluster for NEW, instead of --crds; can be repeated
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) new_crds: Vec<PathBuf>,

    /// CRD version to write for a provider in NEW, instead of --crd-version; can be repeated
    #[arg(long, value_name = "PROVIDER=APIVERSION", value_parser = parse_assignment)]
    pub(crate) new_crd_version: Vec<Assignment>,

    /// The former name of `--new-crd-version`; rejected with the new name.
    #[arg(long, hide = true, value_name = "PROVIDER=APIVERSION", value_parser = reject_new_target_flag)]
    pub(crate) new_target: Option<String>,

    /// Runtime version of a provider in NEW, instead of --runtime; can be repeated
    #[arg(long, value_name = "PROVIDER=VERSION", value_parser = parse_assignment)]
    pub(crate) new_runtime: Vec<Assignment>,

    /// What applies the objects to the cluster
    #[arg(long, value_enum, value_name = "APPLIER", default_value_t)]
    pub(crate) applier: ApplierChoice,

    /// Output format
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: TableFormat,

    /// Add diffs of the objects
    #[arg(long)]
    pub(crate) diff: bool,

    /// Fail if there is a change of at least this severity
    #[arg(long, value_enum, value_name = "CLASS", default_value_t)]
    pub(crate) fail_on: PlanFailOn,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,
}

/// What applies objects to a cluster, which decides how a change of identity is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ApplierChoice {
    /// kubectl, Argo CD, Flux: objects are patched, and upstream controllers react
    #[default]
    Apply,
    /// The kubefoundry operator: a change of identity deletes and recreates the object
    Operator,
}

/// The lowest severity at which a change fails the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum PlanFailOn {
    /// It is unknown what a change does, or worse
    Unknown,
    /// An object is recreated, or a change is refused
    Recreate,
    /// A change is refused
    Refused,
    /// No change
    #[default]
    Never,
}

fn reject_new_target_flag(_: &str) -> Result<String, String> {
    Err("--new-target has been renamed to --new-crd-version".to_owned())
}
