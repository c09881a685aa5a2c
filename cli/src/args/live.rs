//! Arguments of the commands that look at what is in a cluster: `status` and `drift`.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Args as ClapArgs, ValueHint};
use kubefoundry_compiler::cluster_snapshot::time::Time;

use super::{DiagnosticsArgs, InputArgs, TextFormat};

pub(super) const STATUS_EXAMPLES: &str = "\
Examples:
  kubectl get modeldeployments,dgd,workspaces,inferencesets,rayservices -A -o yaml | kubefoundry status
  kubefoundry status dump.yaml --output json | jq '.statuses[] | [.deployment.name, .phase]'
  kubectl get dgd -A -o yaml --show-managed-fields | kubefoundry status - --now now";

pub(super) const DRIFT_EXAMPLES: &str = "\
LIVE is a dump of what is in the cluster: a file or a directory, or `-`.
Only rendered fields are compared. With managed fields in the dump, drift says who wrote a field.

Exit status: 0 no drift, 1 drift, or an error in SPEC or LIVE, 2 wrong usage, or a file that cannot be read.

Examples:
  kubectl get dgd.v1alpha1.nvidia.com,pvc -A -o yaml --show-managed-fields | kubefoundry drift models/ -
  kubefoundry drift models/ dump.yaml --diff
  kubefoundry drift models/ dump.yaml --crds crds/ --output json";

/// `drift` takes what the other commands take, and what it is compared with.
pub(super) fn spec_and_live(paths: Arg) -> Arg {
    const HELP: &str = "What to render, and what is in the cluster: files or directories; one of them may be `-`";
    const LONG: &str = "\
What to render, and what is in the cluster: files or directories; one of them may be `-`, standard input

In a directory every .yaml, .yml and .json file is read, except what is hidden or ignored by git.";
    let two = paths.value_names(["SPEC", "LIVE"]).num_args(2).action(ArgAction::Set).required(true);
    two.help(HELP).long_help(LONG)
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StatusArgs {
    /// Files and directories with what kubectl get -o yaml prints; `-`, or no FILE at all, is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,

    /// How the table is printed; JSON has conditions and parts, too
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: TextFormat,

    /// The time to judge staleness by, as RFC 3339, or `now`; without it nothing is called stale
    ///
    /// Of a dump made earlier, give the time of the dump. Only `now` reads the clock of this machine.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) now: Option<Now>,

    /// With --now: seconds without news after which a status that should change is stale
    #[arg(long, value_name = "SECONDS", requires = "now", default_value_t = kubefoundry_compiler::status::DEFAULT_STALE_AFTER_SECONDS)]
    pub(crate) stale_after: u64,
}

/// What time it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Now {
    /// What the machine's clock says.
    Clock,
    /// This.
    At(Time),
}

fn time(text: &str) -> Result<Now, String> {
    let given = || Time::parse(text).map(Now::At);
    let now = if text == "now" { Some(Now::Clock) } else { given() };
    now.ok_or_else(|| "expected `now`, or a time as RFC 3339, such as 2026-01-30T10:00:00Z".to_owned())
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DriftArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,

    /// How the report is printed
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: TextFormat,

    /// Print unified diffs from what is in the cluster to what is rendered, of the rendered fields
    #[arg(long, conflicts_with = "output")]
    pub(crate) diff: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn now_is_said_or_read() {
        assert_eq!(time("now"), Ok(Now::Clock));
        assert_eq!(time("1970-01-01T00:01:00Z"), Ok(Now::At(Time(60))));
        assert!(time("yesterday").is_err());
    }
}
