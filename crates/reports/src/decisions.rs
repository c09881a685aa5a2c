//! The JSON report of `explain`.

use kubefoundry_diagnostics::render::{JsonFindings, ReportVersion, to_report};
use serde::Serialize;

use crate::fit::Worker;
use crate::run::{LocatedDecision, RunResult};

/// What `kubefoundry explain --output json` prints.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainReport<'r> {
    version: ReportVersion,
    /// One entry for each ModelDeployment, in input order.
    decisions: Vec<ExplainedDecision<'r>>,
    /// Every finding, by file, line and code.
    diagnostics: JsonFindings,
}

/// The decision for one object of the input, and the objects that it became.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ExplainedDecision<'r> {
    #[serde(flatten)]
    located: LocatedDecision<'r>,
    /// The workers that run on GPUs, with what is known about their memory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    workers: Vec<Worker<'r>>,
}

impl<'r> From<LocatedDecision<'r>> for ExplainedDecision<'r> {
    fn from(located: LocatedDecision<'r>) -> Self {
        let workers = located.decision.workers.iter().map(Worker::from).collect();
        Self { located, workers }
    }
}

/// Formats the decisions of a run with [`Thoroughness::Everything`](kubefoundry_compiler::Thoroughness::Everything).
pub fn json<O>(run: RunResult<'_, O>) -> String {
    let mut locator = run.locator();
    let decisions = run.locate_decisions(&mut locator).map(ExplainedDecision::from).collect();
    to_report(&ExplainReport { version: ReportVersion, decisions, diagnostics: run.findings_json() })
}
