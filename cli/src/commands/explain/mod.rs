//! `kubefoundry explain`: which provider is selected, why, and with which values; or what a code or a field means.

mod code;
mod field;
mod html;
mod label;
mod mermaid;
mod rules;
mod text;
mod trace;
mod why_not;

use kubefoundry_analysis::selection_analysis::UnknownProvider;
use kubefoundry_compiler::Thoroughness;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_diagnostics::render::TextStyle;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_reports::analyses::Located;
use kubefoundry_reports::{decisions, graph};
use serde_json::{Map, Value};

use crate::args::{ExplainArgs, ExplanationFormat, FailOn};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::run::{CommandError, Run};
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

pub(super) fn run(args: &ExplainArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let fields = field::parse_fields(&args.input.paths)?;
    if !fields.is_empty() {
        console::print_as_is([field::format_fields(&fields, args.output)?])?;
        return Ok(ExitStatus::Success);
    }
    field::refuse_misspelt_fields(&args.input.paths)?;
    let codes = code::parse_codes(&args.input.paths)?;
    if !codes.is_empty() {
        console::print_as_is([code::pages(&codes, args.output)?])?;
        return Ok(ExitStatus::Success);
    }
    let is_analysis = args.trace || args.rules || args.why_not.is_some();
    if is_analysis && !matches!(args.output, ExplanationFormat::Text | ExplanationFormat::Json) {
        return Err(ReportError::UnsupportedFormat.into());
    }
    // Selection rules can be analyzed without a model.
    let options = Map::from_iter(args.rules.then(|| ("allowEmpty".to_owned(), Value::Bool(true))));
    if !is_analysis && matches!(args.output, ExplanationFormat::Text | ExplanationFormat::Json) {
        return print_decisions(
            &Run::new(&args.input, &args.diagnostics.findings, options, Thoroughness::Everything)?,
            args,
            console,
        );
    }
    let run: Run = Run::new(&args.input, &args.diagnostics.findings, options, Thoroughness::Everything)?;
    if is_analysis {
        let style = console.stdout_style();
        let report = match &args.why_not {
            Some(provider) => why_not::report(&run, provider, args.output, style)?,
            None if args.rules => rules::report(&run, args, style),
            None => trace::report(&run, args, style)?,
        };
        console::print_report([&report], args.output == ExplanationFormat::Json)?;
        if args.output != ExplanationFormat::Json {
            run.note_findings(args.diagnostics.diagnostics, console);
        }
        return Ok(run.status(FailOn::Error));
    }
    let mut locator = run.result().locator();
    let mut decisions: Vec<_> = run.result().locate_decisions(&mut locator).collect();
    if let Some(note) = graph::omission_note(decisions.len()) {
        if !run.is_quiet {
            console::note(&note);
        }
        decisions.truncate(graph::MAX_DEPLOYMENTS);
    }
    let diagrams = graph::build_diagrams(&decisions, &run.compilation);
    let output = match args.output {
        ExplanationFormat::Mermaid => mermaid::mermaid(&diagrams),
        _ => html::html(&decisions, &diagrams, &run, &args.input.paths, &mut locator),
    };
    console::print_report([&output], args.output == ExplanationFormat::Html)?;
    run.note_findings(args.diagnostics.diagnostics, console);
    if args.output == ExplanationFormat::Mermaid
        && !run.is_quiet
        && let Some(note) = mermaid::size_note(&output)
    {
        console::note(&note);
    }
    Ok(run.status(FailOn::Error))
}

/// Prints the decisions as text or JSON. Neither shows the objects, so the run keeps none, and the text of one decision
/// is printed before the next one is formatted.
fn print_decisions(run: &Run<()>, args: &ExplainArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    if args.output == ExplanationFormat::Text {
        let mut locator = run.result().locator();
        let decisions = run.result().locate_decisions(&mut locator);
        console::print(text::text_parts(decisions, console.stdout_style()))?;
        run.note_findings(args.diagnostics.diagnostics, console);
    } else {
        console::print_as_is([decisions::json(run.result())])?;
    }
    Ok(run.status(FailOn::Error))
}

/// Adds locations to reports. Reports about objects without a decision, such as duplicates, are dropped.
fn locate_reports<T>(
    run: &Run,
    reports: Vec<T>,
    subject: impl Fn(&T) -> (SourceId, usize, &ObjectRef),
) -> Vec<Located<'_, T>> {
    let (offsets, mut locator) = (run.result().name_offsets(), run.result().locator());
    let located = reports.into_iter().filter_map(|report| {
        let (source, document, object) = subject(&report);
        let start = offsets.get(&(source, document, object)).copied()?;
        let (file, position) = locator.locate(source, start);
        Some(Located { file, document, line: position.line, column: position.column, report })
    });
    located.collect()
}

/// Formats the first line of a text report: the object and its location.
fn title<T>(located: &Located<'_, T>, object: &ObjectRef, style: TextStyle) -> String {
    let place = format!("{}:{}:{}", printable(located.file), located.line, located.column);
    let object = paint(&printable(&object.to_string()), Paint::Bold, style);
    format!("{object}  {}\n", paint(&place, Paint::Dim, style))
}
