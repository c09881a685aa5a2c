//! `kubefoundry explain`: which provider, why, and with which values; or what a diagnostic code or a field means.

mod code;
mod dot;
mod field;
mod graph;
mod html;
mod label;
mod mermaid;
mod references;
mod rules;
mod text;
mod trace;
mod why_not;

use std::collections::BTreeMap;

use kubefoundry_compiler::selection_analysis::UnknownProvider;
use kubefoundry_compiler::{Decision, Thoroughness};
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_diagnostics::render::TextStyle;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_model::select::{CandidateAssessment, Selection};
use serde::Serialize;
use serde_json::{Map, Value};

pub(crate) use code::CodeError;
pub(crate) use field::FieldError;

use super::places::Places;
use super::{CommandError, Run};
use crate::args::{ExplainArgs, ExplanationFormat, FailOn, ReportFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::style::{Paint, paint, printable};

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReportError {
    #[error("--trace, --rules and --why-not have no picture; expected --output text or json")]
    NoPicture,
    #[error("no ModelDeployment, and no object that one becomes, has a field {field}{hint}")]
    NoField { field: String, hint: String },
    #[error(transparent)]
    Provider(#[from] UnknownProvider),
}

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
    let fields = field::fields(&args.input.paths)?;
    if !fields.is_empty() {
        console::print([field::text(&fields, args.output)?])?;
        return Ok(ExitStatus::Success);
    }
    let codes = code::codes(&args.input.paths)?;
    if !codes.is_empty() {
        console::print([code::pages(&codes, args.output)?])?;
        return Ok(ExitStatus::Success);
    }
    let other = args.trace || args.rules || args.why_not.is_some();
    if other && !matches!(args.output, ExplanationFormat::Text | ExplanationFormat::Json) {
        return Err(ReportError::NoPicture.into());
    }
    // Rules can be looked at without a model.
    let options = Map::from_iter(args.rules.then(|| ("allowEmpty".to_owned(), Value::Bool(true))));
    let run: Run = Run::new(&args.input, options, Thoroughness::Everything)?;
    if other {
        let style = console.stdout_style();
        let report = match &args.why_not {
            Some(provider) => why_not::report(&run, provider, args.output, style)?,
            None if args.rules => rules::report(&run, args, style),
            None => trace::report(&run, args, style)?,
        };
        console::print([&report])?;
        if args.output != ExplanationFormat::Json {
            run.note_findings(args.diagnostics.diagnostics, console);
        }
        return Ok(run.status(FailOn::Error));
    }
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
    let names = names(run);
    let decisions = run.compilation.decisions.iter().map(|decision| {
        let start = names.get(&(decision.source, decision.document, &decision.object)).copied().unwrap_or_default();
        let (file, position) = places.at(decision.source, start);
        Placed { file, document: decision.document, line: position.line, column: position.column, decision }
    });
    decisions.collect()
}

/// Where the name of every object of the input stands.
fn names(run: &Run) -> BTreeMap<(SourceId, usize, &ObjectRef), usize> {
    let decisions = &run.compilation.decisions;
    let objects =
        decisions.iter().map(|decision| ((decision.source, decision.document, decision.object.clone()), decision));
    let objects: BTreeMap<_, _> = objects.collect();
    let inputs = run.compilation.inputs.iter().filter_map(|input| {
        let decision = objects.get(&(input.source, input.index, input.header.object()))?;
        Some(((input.source, input.index, &decision.object), input.name_span.start))
    });
    inputs.collect()
}

/// A report about one object of the input, with the object's place; line and column are those of its name.
#[derive(Serialize)]
struct Located<'r, T> {
    file: &'r str,
    document: usize,
    line: usize,
    column: usize,
    #[serde(flatten)]
    report: T,
}

/// Reports with their places; those about objects that nothing was decided for, such as copies, are left out.
fn located<T>(run: &Run, reports: Vec<T>, of: impl Fn(&T) -> (SourceId, usize, &ObjectRef)) -> Vec<Located<'_, T>> {
    let (names, mut places) = (names(run), Places::new(&run.sources));
    let located = reports.into_iter().filter_map(|report| {
        let (source, document, object) = of(&report);
        let start = names.get(&(source, document, object)).copied()?;
        let (file, position) = places.at(source, start);
        Some(Located { file, document, line: position.line, column: position.column, report })
    });
    located.collect()
}

impl<T> Located<'_, T> {
    /// The line above a report for people: the object and its place.
    fn title(&self, object: &ObjectRef, style: TextStyle) -> String {
        let place = format!("{}:{}:{}", printable(self.file), self.line, self.column);
        let object = paint(&printable(&object.to_string()), Paint::Bold, style);
        format!("{object}  {}\n", paint(&place, Paint::Dim, style))
    }
}

/// A report as JSON, with the findings.
fn json(name: &str, report: impl Serialize, run: &Run) -> String {
    let report = serde_json::to_value(report).unwrap_or_default();
    let fields = [("version", Value::from(1)), (name, report), ("diagnostics", findings(run))];
    let object: Map<String, Value> = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let mut text = serde_json::to_string_pretty(&object).unwrap_or_default();
    text.push('\n');
    text
}

/// The findings as every other command prints them as JSON.
fn findings(run: &Run) -> Value {
    let text = run.report(ReportFormat::Json, TextStyle::Plain);
    let mut report: Value = serde_json::from_str(&text).unwrap_or_default();
    report.get_mut("diagnostics").map(Value::take).unwrap_or_default()
}

/// What was found about a candidate, in words.
fn verdict(candidate: &CandidateAssessment, selection: &Selection) -> String {
    match (&candidate.closed_gate, candidate.score) {
        (Some(gate), _) => format!("closed: {gate}"),
        (None, Some(score)) => format!("open, priority {score}"),
        (None, None) if selection.explicit => "open".to_owned(),
        (None, None) if candidate.rules.is_empty() => "open, only chosen by name".to_owned(),
        (None, None) => "open, but no rule of it is true".to_owned(),
    }
}
