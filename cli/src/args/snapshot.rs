//! Arguments of the commands that read a cluster snapshot: `status` and `drift`.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Args as ClapArgs, ValueHint};
use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_input::InputArgs;

use super::{DiagnosticsArgs, TextFormat};

pub(super) const STATUS_EXAMPLES: &str = "\
Examples:
  kubectl get modeldeployments,dgd,workspaces,inferencesets,rayservices -A \\
    -o yaml | kubefoundry status
  kubefoundry status dump.yaml --output json |
    jq '.statuses[] | [.deployment.name, .phase]'
  kubectl get dgd -A -o yaml --show-managed-fields |
    kubefoundry status - --now now";

pub(super) const DRIFT_EXAMPLES: &str = "\
SNAPSHOT contains the objects of the cluster, such as the output of `kubectl get -o yaml`. Only rendered fields are \
compared. If the snapshot has managed fields, drift names the writer of each field.

Exit status: 0 no drift; 1 drift; 2 no comparison: an error in SPEC or SNAPSHOT, wrong usage, or a file that cannot \
be read.

Examples:
  kubectl get dgd.v1alpha1.nvidia.com,pvc -A -o yaml --show-managed-fields |
    kubefoundry drift models/ -
  kubefoundry drift models/ dump.yaml --diff
  kubefoundry drift models/ dump.yaml --crds crds/ --output json";

/// Replaces the paths of the other commands by the two sides of `drift`.
fn require_spec_and_snapshot(paths: Arg) -> Arg {
    const HELP: &str = "Input to render, and the cluster snapshot: files or directories, or `-` for one of them";
    const LONG: &str = "\
Input to render, and the cluster snapshot: files or directories, or `-` (standard input) for one of them

In a directory, every .yaml, .yml and .json file is read, except hidden files and files ignored by git.";
    let two = paths.value_names(["SPEC", "SNAPSHOT"]).num_args(2).action(ArgAction::Set).required(true);
    two.help(HELP).long_help(LONG)
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StatusArgs {
    /// Files and directories with the output of kubectl get -o yaml; standard input if `-` or omitted
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// Output format; JSON adds conditions and parts
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: TextFormat,

    /// Time to judge staleness by: RFC 3339, or `now`; if omitted, no status is stale
    ///
    /// For an earlier snapshot, use the time at which it was taken. `now` uses the clock of this machine.
    #[arg(long, value_name = "TIME", value_parser = parse_now)]
    pub(crate) now: Option<Now>,

    /// With --now: seconds without an update after which a status that should change is stale
    #[arg(long, value_name = "SECONDS", requires = "now", default_value_t = kubefoundry_analysis::status::DEFAULT_STALE_AFTER_SECONDS)]
    pub(crate) stale_after: u64,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,
}

/// The reference time for staleness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Now {
    /// The clock of this machine.
    Clock,
    /// A fixed time, for reproducible reports.
    At(Time),
}

fn parse_now(text: &str) -> Result<Now, String> {
    let now = if text == "now" { Some(Now::Clock) } else { Time::parse(text).map(Now::At) };
    now.ok_or_else(|| "expected `now` or an RFC 3339 time such as 2026-01-30T10:00:00Z".to_owned())
}

#[derive(Debug, ClapArgs)]
#[command(mut_arg("paths", require_spec_and_snapshot))]
pub(crate) struct DriftArgs {
    /// Output format
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: TextFormat,

    /// Print unified diffs from the cluster snapshot to the rendered objects, limited to rendered fields
    #[arg(long, conflicts_with = "output")]
    pub(crate) diff: bool,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn now_is_the_clock_or_a_given_time() {
        assert_eq!(parse_now("now"), Ok(Now::Clock));
        assert_eq!(parse_now("1970-01-01T00:01:00Z"), Ok(Now::At(Time(60))));
        assert!(parse_now("yesterday").is_err());
    }
}
