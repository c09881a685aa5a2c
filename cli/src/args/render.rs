//! Arguments of `render`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueHint};
use kubefoundry_input::InputArgs;

use super::{DiagnosticsArgs, ObjectFormat, RenderFailOn};

pub(super) const EXAMPLES: &str = "\
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
