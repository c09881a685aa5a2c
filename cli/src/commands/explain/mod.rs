//! `kubefoundry explain`: which provider is selected, why, and with which values; or what a code or a field means.

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

use kubefoundry_compiler::pipeline::OutputForm;
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

use super::source_locator::SourceLocator;
use super::{CommandError, Run};
use crate::args::{ExplainArgs, ExplanationFormat, FailOn, ReportFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::style::{Paint, paint, printable};

/// Reasons why `--trace`, `--rules` or `--why-not` prints no report.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReportError {
    #[error("--trace, --rules and --why-not support only --output text and json")]
    UnsupportedFormat,
    #[error("neither a ModelDeployment nor a rendered object has a field {field}{hint}")]
    NoField { field: String, hint: String },
    #[error(transparent)]
    Provider(#[from] UnknownProvider),
}

/// The JSON report. `version` increases when a field is removed or changes its meaning.
#[derive(Serialize)]
struct ExplainReport<'r> {
    version: u32,
    decisions: Vec<LocatedDecision<'r>>,
    diagnostics: Value,
}

/// A decision with the location of its ModelDeployment. Line and column are those of its name, counted from 1.
#[derive(Serialize)]
struct LocatedDecision<'r> {
    file: &'r str,
    document: usize,
    line: usize,
    column: usize,
    #[serde(flatten)]
    decision: &'r Decision,
}

pub(super) fn run(args: &ExplainArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let fields = field::parse_fields(&args.input.paths)?;
    if !fields.is_empty() {
        console::print([field::format_fields(&fields, args.output)?])?;
        return Ok(ExitStatus::Success);
    }
    let codes = code::parse_codes(&args.input.paths)?;
    if !codes.is_empty() {
        console::print([code::pages(&codes, args.output)?])?;
        return Ok(ExitStatus::Success);
    }
    let is_analysis = args.trace || args.rules || args.why_not.is_some();
    if is_analysis && !matches!(args.output, ExplanationFormat::Text | ExplanationFormat::Json) {
        return Err(ReportError::UnsupportedFormat.into());
    }
    // Selection rules can be analyzed without a model.
    let options = Map::from_iter(args.rules.then(|| ("allowEmpty".to_owned(), Value::Bool(true))));
    if !is_analysis && matches!(args.output, ExplanationFormat::Text | ExplanationFormat::Json) {
        return print_decisions(&Run::new(&args.input, options, Thoroughness::Everything)?, args, console);
    }
    let run: Run = Run::new(&args.input, options, Thoroughness::Everything)?;
    if is_analysis {
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
    let mut locator = SourceLocator::new(&run.sources);
    let decisions: Vec<_> = locate_decisions(&run, &mut locator).collect();
    let diagrams = graph::build_diagrams(&decisions, &run.compilation);
    let output = match args.output {
        ExplanationFormat::Mermaid => mermaid::mermaid(&diagrams),
        ExplanationFormat::Dot => dot::dot(&diagrams),
        _ => html::html(&decisions, &diagrams, &run, &mut locator),
    };
    console::print([&output])?;
    run.note_findings(args.diagnostics.diagnostics, console);
    if args.output == ExplanationFormat::Mermaid
        && let Some(note) = mermaid::size_note(&output)
    {
        console::note(&note);
    }
    Ok(run.status(FailOn::Error))
}

/// Prints the decisions as text or JSON. Neither shows the objects, so the run keeps none, and the text of one decision
/// is printed before the next one is formatted.
fn print_decisions(run: &Run<()>, args: &ExplainArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let mut locator = SourceLocator::new(&run.sources);
    let decisions = locate_decisions(run, &mut locator);
    if args.output == ExplanationFormat::Text {
        console::print(text::text_parts(decisions, console.stdout_style()))?;
        run.note_findings(args.diagnostics.diagnostics, console);
    } else {
        let report = ExplainReport { version: 1, decisions: decisions.collect(), diagnostics: findings_json(run) };
        console::print([serde_json::to_string_pretty(&report).unwrap_or_default(), "\n".to_owned()])?;
    }
    Ok(run.status(FailOn::Error))
}

/// Adds the location of its ModelDeployment to each decision.
fn locate_decisions<'r, O: OutputForm>(
    run: &'r Run<O>,
    locator: &mut SourceLocator<'r>,
) -> impl Iterator<Item = LocatedDecision<'r>> {
    let offsets = name_offsets(run);
    run.compilation.decisions.iter().map(move |decision| {
        let start = offsets.get(&(decision.source, decision.document, &decision.object)).copied().unwrap_or_default();
        let (file, position) = locator.locate(decision.source, start);
        LocatedDecision { file, document: decision.document, line: position.line, column: position.column, decision }
    })
}

/// Returns the byte offset of the name of each ModelDeployment, by text, document index and object.
fn name_offsets<O: OutputForm>(run: &Run<O>) -> BTreeMap<(SourceId, usize, &ObjectRef), usize> {
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

/// A report about one object of the input, with the location of the name of the object.
#[derive(Serialize)]
struct LocatedReport<'r, T> {
    file: &'r str,
    document: usize,
    line: usize,
    column: usize,
    #[serde(flatten)]
    report: T,
}

/// Adds locations to reports. Reports about objects without a decision, such as duplicates, are dropped.
fn locate_reports<T>(
    run: &Run,
    reports: Vec<T>,
    subject: impl Fn(&T) -> (SourceId, usize, &ObjectRef),
) -> Vec<LocatedReport<'_, T>> {
    let (offsets, mut locator) = (name_offsets(run), SourceLocator::new(&run.sources));
    let located = reports.into_iter().filter_map(|report| {
        let (source, document, object) = subject(&report);
        let start = offsets.get(&(source, document, object)).copied()?;
        let (file, position) = locator.locate(source, start);
        Some(LocatedReport { file, document, line: position.line, column: position.column, report })
    });
    located.collect()
}

impl<T> LocatedReport<'_, T> {
    /// Formats the first line of a text report: the object and its location.
    fn title(&self, object: &ObjectRef, style: TextStyle) -> String {
        let place = format!("{}:{}:{}", printable(self.file), self.line, self.column);
        let object = paint(&printable(&object.to_string()), Paint::Bold, style);
        format!("{object}  {}\n", paint(&place, Paint::Dim, style))
    }
}

/// Formats a report as JSON, together with the findings.
fn to_json(name: &str, report: impl Serialize, run: &Run) -> String {
    let report = serde_json::to_value(report).unwrap_or_default();
    let fields = [("version", Value::from(1)), (name, report), ("diagnostics", findings_json(run))];
    let object: Map<String, Value> = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let mut text = serde_json::to_string_pretty(&object).unwrap_or_default();
    text.push('\n');
    text
}

/// Converts the findings to JSON, in the same form as in the reports of other commands.
fn findings_json<O: OutputForm>(run: &Run<O>) -> Value {
    let text = run.report(ReportFormat::Json, TextStyle::Plain);
    let mut report: Value = serde_json::from_str(&text).unwrap_or_default();
    report.get_mut("diagnostics").map(Value::take).unwrap_or_default()
}

/// Describes whether a candidate is eligible, and its priority.
fn verdict(candidate: &CandidateAssessment, selection: &Selection) -> String {
    match (&candidate.closed_gate, candidate.score) {
        (Some(gate), _) => format!("not eligible: {gate}"),
        (None, Some(score)) => format!("eligible, priority {score}"),
        (None, None) if selection.explicit => "eligible".to_owned(),
        (None, None) if candidate.rules.is_empty() => "eligible, but only if selected by name".to_owned(),
        (None, None) => "eligible, but none of its rules is true".to_owned(),
    }
}
