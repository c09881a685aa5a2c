//! `kubefoundry drift`: compares live objects with the rendered ones.

use kubefoundry_analysis::drift::{DriftReport, FieldDrift, FieldManager, ObjectDrift, Outcome};
use kubefoundry_compiler::Thoroughness;
use kubefoundry_diagnostics::render::{TextStyle, json_findings, to_report};
use kubefoundry_input as input;
use kubefoundry_reports::diff::unified_diff;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::append_line;
use serde_json::{Map, Value};

use crate::args::{DriftArgs, FailOn, TextFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::progress::Progress;
use crate::run::{CommandError, Run};
use crate::style::{self, Paint, paint, printable};
use crate::table::{Cell, table};

pub(super) fn run(args: &DriftArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let findings = &args.diagnostics.findings;
    let progress = Progress::start("reading the input", findings.quiet);
    let input = input::read_with_snapshot(&args.input, findings.add_severities(Map::new()))?;
    drop(progress);
    let mut run: Run = Run::from_input(input, findings, Thoroughness::Needed)?;
    // A file that could not be read may contain the drifted object, so a comparison of the rest would mislead.
    let mut report = if run.is_partial {
        DriftReport::default()
    } else {
        DriftReport::from_compilation(&run.compilation, &run.sources)
    };
    findings.retain(&mut report.diagnostics, FailOn::Error);
    run.compilation.diagnostics.append(&mut report.diagnostics);
    let is_compared = !run.has_failed();
    match args.output {
        TextFormat::Json => {
            let findings = json_findings(&run.compilation.diagnostics, &run.sources);
            console::print_as_is([to_report(&report.to_json(findings))])?;
        }
        TextFormat::Text => {
            run.note_findings(args.diagnostics.diagnostics, console);
            if is_compared {
                let style = console.stdout_style();
                console::print([if args.diff { format_diffs(&report, style) } else { format_text(&report, style) }])?;
            }
        }
    }
    Ok(match is_compared {
        true if report.has_drifted() => ExitStatus::Findings,
        true => ExitStatus::Success,
        // A script tells drift from a comparison that was not made.
        false => ExitStatus::Failure,
    })
}

/// Formats a block for each drifted object, and a summary line.
fn format_text(report: &DriftReport, style: TextStyle) -> String {
    let mut out = String::new();
    for object in report.objects.iter().filter(|object| object.result != Outcome::Same) {
        out.push_str(&title(object, style));
        write_fields(&object.fields.iter().collect::<Vec<_>>(), style, &mut out);
        out.push('\n');
    }
    out.push_str(&summary(report));
    out
}

/// Formats the heading of an object: `RayService ml/llama differs in 2 fields`.
fn title(object: &ObjectDrift, style: TextStyle) -> String {
    let verdict = match object.result {
        Outcome::Differs => format!("{} in {}", object.result.meaning(), style::count(object.fields.len(), "field")),
        outcome => outcome.meaning().to_owned(),
    };
    let name = paint(&printable(&object.object.to_string()), Paint::Bold, style);
    let why = match object.message.as_str() {
        "" => String::new(),
        why => format!(": {}", printable(why)),
    };
    format!("{name} {}{why}\n", paint(&verdict, Paint::Red, style))
}

fn write_fields(fields: &[&FieldDrift], style: TextStyle, out: &mut String) {
    for field in fields {
        let within = field.within.as_ref().map(|within| format!(", in it {within}")).unwrap_or_default();
        append_line!(out, "  {}", printable(&format!("{}{within}", field.path)));
        let value = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
        let (expected, found) = (field.difference.expected.as_ref(), field.difference.found.as_ref());
        // Padded to the width of "expected". This row is a table of its own, so that the writers need not be aligned.
        let mut found_row = vec![Cell::new("found   "), Cell::new(&value(found))];
        if !field.managers.is_empty() {
            let writers: Vec<String> = field.managers.iter().map(format_writer).collect();
            found_row.push(Cell::painted(&format!("by {}", writers.join(" and ")), Paint::Dim, style));
        }
        out.push_str(&table(&[vec![Cell::new("expected"), Cell::new(&value(expected))]], 4));
        out.push_str(&table(&[found_row], 4));
    }
}

/// Formats the last writer of a field: `kubectl-edit (Update, 2026-01-30T10:00:00Z)`.
fn format_writer(writer: &FieldManager) -> String {
    let subresource = if writer.subresource.is_empty() { String::new() } else { format!(" of {}", writer.subresource) };
    let when = if writer.time.is_empty() { String::new() } else { format!(", {}", writer.time) };
    format!("{} ({}{subresource}{when})", writer.manager, writer.operation)
}

/// Formats the last line of the report: `drift in 1 of 3 objects`.
fn summary(report: &DriftReport) -> String {
    let all = report.objects.len();
    match report.objects.iter().filter(|object| object.result != Outcome::Same).count() {
        0 => format!("no drift in {}\n", style::count(all, "object")),
        drifted => format!("drift in {drifted} of {}\n", style::count(all, "object")),
    }
}

/// Formats unified diffs of the rendered fields: what applying the rendered objects would change.
fn format_diffs(report: &DriftReport, style: TextStyle) -> String {
    let mut out = String::new();
    for object in report.objects.iter().filter(|object| object.result != Outcome::Same) {
        let name = printable(&object.object.to_string()).into_owned();
        let (live, rendered) = (format!("live/{name}"), format!("rendered/{name}"));
        match (&object.expected, &object.found, object.result) {
            (Some(expected), Some(found), _) => {
                let (from, to) = (to_yaml_text(found), to_yaml_text(expected));
                out.push_str(&unified_diff(&from, &to, &live, &rendered));
            }
            (Some(expected), None, Outcome::Missing) => {
                let to = to_yaml_text(expected);
                out.push_str(&unified_diff("", &to, "/dev/null", &rendered));
            }
            _ => {}
        }
        // Some drift is invisible in a diff of rendered fields, for example inside a text; list it below the diff.
        let hidden: Vec<_> = object.fields.iter().filter(|field| !field.is_shown).collect();
        if !hidden.is_empty() || !matches!(object.result, Outcome::Differs | Outcome::Missing) {
            out.push_str(&title(object, style));
            write_fields(&hidden, style, &mut out);
        }
    }
    out
}

fn to_yaml_text(object: &Value) -> String {
    let mut text = String::new();
    yaml::to_yaml(object, &mut text);
    text
}
