//! Arguments of `lint`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueHint};
use kubefoundry_input::InputArgs;

use super::{FailOn, FindingArgs, LintFormat};

pub(super) const EXAMPLES: &str = "\
Examples:
  kubefoundry lint .
  kubefoundry lint models/ --output concise --fail-on warning
  kubefoundry lint . --quiet --ignore unpinned-runtime
  kubefoundry lint . --write-baseline known.json
  kubefoundry lint . --baseline known.json
  kubefoundry lint . --fix
  kubefoundry lint models/ --watch
  kubefoundry lint --git origin/main...HEAD .
  kubefoundry lint . --output sarif > kubefoundry.sarif
  git diff --name-only --diff-filter=d main -- '*.yaml' |
    xargs -r kubefoundry lint";

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

    /// Judge a change of PATH: A..B, A...B (from their merge base), or A (with the working tree)
    ///
    /// The new side is checked. What judges it is that of the old one: the options of every kubefoundry.yaml, the files of
    /// --config and --baseline if they are in the repository, and lint-ignore annotations. Files that the change touches
    /// are checked whatever options leave out.
    #[arg(long, value_name = "REVISIONS", allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["fix", "diff", "watch", "write_baseline"])]
    pub(crate) git: Option<String>,

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
