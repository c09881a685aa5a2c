//! `kubefoundry explain`: which provider, why, and with which values; or what a diagnostic code means.

mod code;
mod dot;
mod graph;
mod html;
mod label;
mod mermaid;
mod references;
mod text;

use std::collections::BTreeMap;

use kubefoundry::diagnostic::render::Style;
use kubefoundry::model::select::{Assessment, Selection};
use kubefoundry::{Decision, Thoroughness};
use serde::Serialize;
use serde_json::{Map, Value};

pub(crate) use code::CodeError;

use super::places::Places;
use super::{CommandError, Run};
use crate::args::{ExplainArgs, ExplanationFormat, FailOn, ReportFormat};
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
    let codes = code::codes(&args.input.paths)?;
    if !codes.is_empty() {
        console::print([code::pages(&codes, args.output)?])?;
        return Ok(ExitStatus::Success);
    }
    let run: Run = Run::new(&args.input, Map::new(), Thoroughness::Everything)?;
    let mut places = Places::new(&run.sources);
    let decisions = placed(&run, &mut places);
    let output = match args.output {
        ExplanationFormat::Text => text::text(&decisions, console.stdout_style()),
        ExplanationFormat::Mermaid => mermaid::mermaid(&graph::diagrams(&decisions, &run.compilation)),
        ExplanationFormat::Dot => dot::dot(&graph::diagrams(&decisions, &run.compilation)),
        ExplanationFormat::Html => {
            let diagrams = graph::diagrams(&decisions, &run.compilation);
            html::html(&decisions, &diagrams, &run, &mut places)
        }
        ExplanationFormat::Json => {
            let report = Report { version: 1, decisions, diagnostics: findings(&run) };
            let mut text = serde_json::to_string_pretty(&report).unwrap_or_default();
            text.push('\n');
            text
        }
    };
    console::print([&output])?;
    if args.output != ExplanationFormat::Json {
        run.note_findings(args.diagnostics.diagnostics, console);
    }
    if args.output == ExplanationFormat::Mermaid
        && let Some(advice) = mermaid::too_large(&output)
    {
        console::note(&advice);
    }
    Ok(run.status(FailOn::Error))
}

/// Every decision with its place.
fn placed<'r>(run: &'r Run, places: &mut Places<'r>) -> Vec<Placed<'r>> {
    let compilation = &run.compilation;
    let inputs = compilation.inputs.iter().map(|input| ((input.source, input.index, input.header.object()), input));
    let inputs: BTreeMap<_, _> = inputs.collect();
    let decisions = compilation.decisions.iter().map(|decision| {
        let key = (decision.source, decision.document, decision.object.clone());
        let start = inputs.get(&key).map_or(0, |input| input.name_span.start);
        let (file, position) = places.at(decision.source, start);
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

/// What was found about a candidate, in words.
fn verdict(candidate: &Assessment, selection: &Selection) -> String {
    match (&candidate.closed_gate, candidate.score) {
        (Some(gate), _) => format!("closed: {gate}"),
        (None, Some(score)) => format!("open, priority {score}"),
        (None, None) if selection.explicit => "open".to_owned(),
        (None, None) if candidate.rules.is_empty() => "open, only chosen by name".to_owned(),
        (None, None) => "open, but no rule of it is true".to_owned(),
    }
}
