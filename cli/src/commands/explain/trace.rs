//! `explain --trace`: reports where input fields go and where output fields come from.

use kubefoundry_analysis::trace::{self, Fate, FieldTrace, MAX_FIELDS, OutputTrace, ReachedField, Trace};
use kubefoundry_composition::BUILTIN;
use kubefoundry_deployment::ir::FieldOrigin;
use kubefoundry_diagnostics::render::{ReportVersion, TextStyle, to_report};
use kubefoundry_reports::analyses::{Located, TraceReport};
use kubefoundry_yaml::text::closest;
use kubefoundry_yaml::{append, append_line};

use super::{ReportError, locate_reports, title};
use crate::args::{ExplainArgs, ExplanationFormat};
use crate::run::Run;
use crate::style::{Paint, paint, printable};
use crate::table::{Cell, table};

/// Formats the traces of all fields, or of the field that `--field` names.
pub(super) fn report(run: &Run, args: &ExplainArgs, style: TextStyle) -> Result<String, ReportError> {
    let traces = trace::trace(&BUILTIN, &run.sources);
    let mut traces = locate_reports(run, traces, |trace| (trace.source, trace.document, &trace.object));
    if let Some(field) = &args.field {
        retain_field(&mut traces, field)?;
    }
    if args.output == ExplanationFormat::Json {
        let (traces, diagnostics) = (&traces, run.result().findings_json());
        return Ok(to_report(&TraceReport { version: ReportVersion, traces, diagnostics }));
    }
    let blocks: Vec<String> = traces
        .iter()
        .map(|located| {
            let trace = &located.report;
            let title = title(located, &trace.object, style);
            let body = if args.field.is_some() { format_details(trace, style) } else { format_overview(trace, style) };
            title + &body
        })
        .collect();
    Ok(blocks.join("\n"))
}

/// Keeps only a field and the fields below it.
fn retain_field(traces: &mut Vec<Located<'_, Trace>>, field: &str) -> Result<(), ReportError> {
    let known: Vec<String> = traces.iter().flat_map(|located| field_paths(&located.report)).collect();
    let is_selected = |path: &str| {
        path.strip_prefix(field)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']) || rest.starts_with(" > "))
    };
    if !known.iter().any(|path| is_selected(path)) {
        let hint = closest(field, known.iter().map(String::as_str));
        let hint = hint.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
        return Err(ReportError::NoField { field: field.to_owned(), hint });
    }
    for located in &mut *traces {
        let trace = &mut located.report;
        trace.fields.retain(|field| is_selected(&field.path));
        trace.outputs.retain(|output| is_selected(&full_path(&output.path, output.inside.as_deref())));
    }
    traces.retain(|located| !field_paths(&located.report).is_empty());
    Ok(())
}

fn field_paths(trace: &Trace) -> Vec<String> {
    let fields = trace.fields.iter().map(|field| field.path.clone());
    fields.chain(trace.outputs.iter().map(|output| full_path(&output.path, output.inside.as_deref()))).collect()
}

/// Formats the path of a field, or of a field inside a text such as an embedded configuration file: `outer > inner`.
fn full_path(path: &str, inside: Option<&str>) -> String {
    match inside {
        Some(inside) => format!("{path} > {inside}"),
        None => path.to_owned(),
    }
}

/// Formats one line for each field of the input and of the output.
fn format_overview(trace: &Trace, style: TextStyle) -> String {
    let mut out = String::new();
    if let (Some(provider), Some(reason)) = (&trace.provider, &trace.reason) {
        out.push_str(&table(
            &[vec![Cell::new("provider"), Cell::new(provider)], vec![Cell::new("reason"), Cell::new(reason)]],
            2,
        ));
    }
    if trace.fields.is_empty() {
        out.push_str("  this deployment cannot be rendered, so it has no trace; see the findings\n");
        return out;
    }
    let heading = |out: &mut String, name: &str| {
        append!(out, "\n  {}\n", paint(name, Paint::Bold, style));
    };
    heading(&mut out, "fields");
    let rows: Vec<Vec<Cell>> = trace.fields.iter().map(|field| field_row(field, style)).collect();
    out.push_str(&table(&rows, 4));
    if trace.untried > 0 {
        append_line!(out, "    {} more fields were not tried (at most {MAX_FIELDS} are)", trace.untried);
    }
    // Output fields are grouped by object: each object has a heading and a table of its own.
    let mut last = String::new();
    let mut rows = Vec::new();
    heading(&mut out, "output");
    for output in &trace.outputs {
        let object = output.object.to_string();
        if object != last {
            out.push_str(&table(&rows, 6));
            rows.clear();
            append_line!(out, "    {}", printable(&object));
            last = object;
        }
        rows.push(output_row(output, style));
    }
    out.push_str(&table(&rows, 6));
    out
}

fn field_row(field: &FieldTrace, style: TextStyle) -> Vec<Cell> {
    let color = match field.fate {
        Fate::Rendered | Fate::Selects => Paint::Green,
        Fate::Nothing => Paint::Red,
        _ => Paint::Dim,
    };
    let mut row = vec![
        Cell::new(&field.path),
        Cell::painted(origin_name(field.origin), Paint::Dim, style),
        Cell::painted(field.fate.as_str(), color, style),
    ];
    row.extend(Some(format_reached(field)).filter(|text| !text.is_empty()).map(|text| Cell::new(&text)));
    row
}

/// Formats the first output field that an input field reaches, and the number of others.
fn format_reached(field: &FieldTrace) -> String {
    if field.fate == Fate::Selects {
        return format!("→ {}", field.selects.join(", "));
    }
    let first = field.reaches.iter().find(|reached| !reached.added).or_else(|| field.reaches.first());
    let more = match field.reaches.len() {
        0 | 1 => String::new(),
        number => format!(" and {} more", number - 1),
    };
    match first {
        Some(reached) if reached.added => format!("→ adds {}{more}", reached_path(reached)),
        Some(reached) => format!("→ {}{more}", reached_path(reached)),
        None => field.codes.join(", "),
    }
}

fn reached_path(reached: &ReachedField) -> String {
    let kind = &reached.object.kind;
    match full_path(&reached.path, reached.inside.as_deref()) {
        whole if whole.is_empty() => format!("{kind} {}", reached.object.name),
        path => format!("{kind} {path}"),
    }
}

fn output_row(output: &OutputTrace, style: TextStyle) -> Vec<Cell> {
    let from = if output.from.is_empty() {
        Cell::painted("always", Paint::Dim, style)
    } else {
        Cell::new(&format!("← {}", output.from.join(", ")))
    };
    vec![Cell::new(&full_path(&output.path, output.inside.as_deref())), from]
}

/// Formats everything that is known about the selected fields.
fn format_details(trace: &Trace, style: TextStyle) -> String {
    let mut out = String::new();
    for field in &trace.fields {
        let name = paint(&printable(&field.path), Paint::Bold, style);
        let value = printable(&field.value);
        append!(out, "\n  {name} = {value} ({}): {}\n", origin_name(field.origin), field.fate.meaning());
        let mut rows = Vec::new();
        for tried in &field.tried {
            let value = tried.value.as_deref().map_or("removed".to_owned(), |value| format!("= {value}"));
            rows.push(vec![Cell::new("tried"), Cell::new(&format!("{} {value}", tried.path))]);
        }
        for rule in &field.read_by {
            rows.push(vec![Cell::new("read by"), Cell::new(&format!("rule {} of {}", rule.rule, rule.provider))]);
        }
        for reached in &field.reaches {
            let label = if reached.added { "adds" } else { "reaches" };
            let object = reached.object.to_string();
            let path = full_path(&reached.path, reached.inside.as_deref());
            let value = reached.value.as_ref().map(|value| format!(" = {value}")).unwrap_or_default();
            rows.push(vec![Cell::new(label), Cell::new(&object), Cell::new(&format!("{path}{value}"))]);
        }
        if !field.selects.is_empty() {
            rows.push(vec![Cell::new("selects"), Cell::new(&field.selects.join(", "))]);
        }
        if !field.codes.is_empty() {
            rows.push(vec![Cell::new("findings"), Cell::new(&field.codes.join(", "))]);
        }
        for row in rows {
            out.push_str(&table(&[row], 4));
        }
    }
    for output in &trace.outputs {
        let name = paint(&printable(&full_path(&output.path, output.inside.as_deref())), Paint::Bold, style);
        let (value, object) = (printable(&output.value), output.object.to_string());
        append!(out, "\n  {name} = {value}  {}\n", paint(&printable(&object), Paint::Dim, style));
        if output.from.is_empty() {
            out.push_str("    does not depend on the input: the provider always writes it\n");
        }
        for from in &output.from {
            append_line!(out, "    comes from  {}", printable(from));
        }
    }
    out
}

fn origin_name(origin: FieldOrigin) -> &'static str {
    match origin {
        FieldOrigin::Written => "written",
        FieldOrigin::Defaulted => "defaulted",
        FieldOrigin::Derived => "derived",
    }
}
