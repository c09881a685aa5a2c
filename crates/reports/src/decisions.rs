//! The JSON report of `explain`.

use kubefoundry_diagnostics::render::to_report;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::fit;
use crate::run::{LocatedDecision, RunResult};

/// The JSON report. `version` increases when a field is removed or changes its meaning.
#[derive(Serialize)]
struct ExplainReport<'r> {
    version: u32,
    decisions: Vec<ExplainedDecision<'r>>,
    diagnostics: Value,
}

/// A decision with what is known about the memory of its workers.
#[derive(Serialize)]
struct ExplainedDecision<'r> {
    #[serde(flatten)]
    located: LocatedDecision<'r>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    workers: Vec<Map<String, Value>>,
}

impl<'r> From<LocatedDecision<'r>> for ExplainedDecision<'r> {
    fn from(located: LocatedDecision<'r>) -> Self {
        let workers = located.decision.workers.iter().map(fit::worker).collect();
        Self { located, workers }
    }
}

/// Formats the decisions of a run with [`Thoroughness::Everything`](kubefoundry_compiler::Thoroughness::Everything).
pub fn json<O>(run: RunResult<'_, O>) -> String {
    let mut locator = run.locator();
    let decisions = run.locate_decisions(&mut locator).map(ExplainedDecision::from).collect();
    to_report(&ExplainReport { version: 1, decisions, diagnostics: run.findings_json() })
}
