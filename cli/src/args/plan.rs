//! What can be said to `plan`.

use std::path::PathBuf;

use clap::{Arg, Args as ClapArgs, ValueEnum, ValueHint};

use super::{Assignment, DiagnosticsArgs, InputArgs, assignment};

pub(super) const EXAMPLES: &str = "\
OLD and NEW are files, directories or `-`. With --git, PATH is compared in two revisions; with a --new-* flag and one PATH,
the same input is compared under two sets of options.

Examples:
  kubefoundry plan live/ models/
  kubefoundry plan --git main...HEAD models/
  kubefoundry plan --git main...HEAD --output markdown --fail-on recreate
  kubefoundry plan models/ --runtime dynamo=1.4.0 --new-runtime dynamo=1.6.1
  kubectl get modeldeployments -A -o yaml | kubefoundry plan - models/ --diff";

/// `plan` takes two sides, or one that is looked at twice.
pub(super) fn old_and_new(paths: Arg) -> Arg {
    paths
        .value_names(["OLD|PATH", "NEW"])
        .num_args(0..)
        .help("What was and what will be; or PATH alone, with --git or with options for NEW")
        .long_help(
            "What was and what will be: files, directories, or `-` for standard input. With --git any number of files and \
             directories, the working directory when there is none; with options for NEW (--new-*) one of them will do.",
        )
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,

    /// Compare PATH in two revisions: A..B, A...B (from where B left A), or A with the working tree
    #[arg(long, value_name = "REVISIONS", allow_hyphen_values = true)]
    pub(crate) git: Option<String>,

    /// File with options for NEW, in place of --config
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) new_config: Option<PathBuf>,

    /// File or directory with InferenceProviderConfigs for NEW, in place of --providers; may be repeated
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) new_providers: Vec<PathBuf>,

    /// File or directory with the CRDs of the cluster for NEW, in place of --crds; may be repeated
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) new_crds: Vec<PathBuf>,

    /// CRD version to write for a provider in NEW, in place of its --crd-version; may be repeated
    #[arg(long, value_name = "PROVIDER=APIVERSION", value_parser = assignment)]
    pub(crate) new_crd_version: Vec<Assignment>,

    /// The former name of `--new-crd-version`: refused, with the new name.
    #[arg(long, hide = true, value_name = "PROVIDER=APIVERSION", value_parser = renamed_to_new_crd_version)]
    pub(crate) new_target: Option<String>,

    /// Runtime version of a provider in NEW, in place of its --runtime; may be repeated
    #[arg(long, value_name = "PROVIDER=VERSION", value_parser = assignment)]
    pub(crate) new_runtime: Vec<Assignment>,

    /// Who brings the objects into the cluster
    #[arg(long, value_enum, value_name = "WHO", default_value_t)]
    pub(crate) applier: ApplierChoice,

    /// How the plan is printed
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: PlanFormat,

    /// Show how the objects differ, too
    #[arg(long)]
    pub(crate) diff: bool,

    /// The least grave change that fails the run
    #[arg(long, value_enum, value_name = "CLASS", default_value_t)]
    pub(crate) fail_on: PlanFailOn,
}

/// Who brings objects into a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ApplierChoice {
    /// kubectl, Argo CD, Flux: a change is a patch, and upstream reacts
    #[default]
    Apply,
    /// The kubefoundry operator: a change of identity deletes the object and makes it anew
    Operator,
}

/// How plans are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum PlanFormat {
    /// For people
    #[default]
    Text,
    /// One JSON document
    Json,
    /// For a comment on a pull request
    Markdown,
}

/// The least grave change that fails a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum PlanFailOn {
    /// What is made anew, or refused
    Recreate,
    /// What is refused
    Refused,
    /// Nothing
    #[default]
    Never,
}

fn renamed_to_new_crd_version(_: &str) -> Result<String, String> {
    Err("--new-target has been renamed to --new-crd-version".to_owned())
}
