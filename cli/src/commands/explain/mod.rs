//! `kubefoundry explain`: which provider, why, and with which values.

mod text;

use std::collections::BTreeMap;

use kubefoundry::diagnostic::render::{LineIndex, Style};
use kubefoundry::source::SourceId;
use kubefoundry::{Decision, Thoroughness};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{CommandError, Run};
use crate::args::{ExplainArgs, FailOn, ReportFormat, TextFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;

/// The JSON report. `version` changes when a field changes its meaning or goes.
#[derive(Serialize)]
struct Report<'r> {
    version: u32,
    decisions: Vec<Placed<'r>>,
    diagnostics: Value,
}

/// A decision with the place of its ModelDeployment; line and column are those of its name, and count from 1.
#[derive(Serialize)]
struct Placed<'r> {
    file: &'r str,
    document: usize,
    line: usize,
    column: usize,
    #[serde(flatten)]
    decision: &'r Decision,
}

pub(super) fn run(args: &ExplainArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let run = Run::new(&args.input, Map::new(), Thoroughness::Everything)?;
    let decisions = placed(&run);
    match args.output {
        TextFormat::Text => {
            console::print(&text::text(&decisions, console.stdout_style()))?;
            run.note_findings(args.diagnostics.diagnostics, console);
        }
        TextFormat::Json => {
            let report = Report { version: 1, decisions, diagnostics: findings(&run) };
            let mut text = serde_json::to_string_pretty(&report).unwrap_or_default();
            text.push('\n');
            console::print(&text)?;
        }
    }
    Ok(run.status(FailOn::Error))
}

/// Every decision with its place.
fn placed(run: &Run) -> Vec<Placed<'_>> {
    let compilation = &run.compilation;
    let inputs = compilation.inputs.iter().map(|input| ((input.source, input.index, input.header.object()), input));
    let inputs: BTreeMap<_, _> = inputs.collect();
    let mut lines: BTreeMap<SourceId, LineIndex<'_>> = BTreeMap::new();
    let mut place = |decision: &Decision| {
        let source = run.sources.get(decision.source);
        let key = (decision.source, decision.document, decision.object.clone());
        let start = inputs.get(&key).map_or(0, |input| input.name_span.start);
        let lines = lines.entry(decision.source).or_insert_with(|| LineIndex::new(&source.text));
        (source.name.as_str(), lines.position(start))
    };
    let decisions = compilation.decisions.iter().map(|decision| {
        let (file, position) = place(decision);
        Placed { file, document: decision.document, line: position.line, column: position.column, decision }
    });
    decisions.collect()
}

/// The findings as every other command prints them as JSON.
fn findings(run: &Run) -> Value {
    let text = run.report(ReportFormat::Json, Style::Plain);
    let mut report: Value = serde_json::from_str(&text).unwrap_or_default();
    report.get_mut("diagnostics").map(Value::take).unwrap_or_default()
}
