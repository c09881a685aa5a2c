//! `kubefoundry drift`: how what is in a cluster differs from what is rendered.

use std::fmt::Write as _;

use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::drift::{DriftReport, FieldDrift, FieldManager, ObjectDrift, Outcome};
use kubefoundry_diagnostics::render::TextStyle;
use kubefoundry_yaml as yaml;
use serde_json::Value;
use similar::TextDiff;

use super::{CommandError, Run, findings};
use crate::args::{DriftArgs, FailOn, TextFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::input;
use crate::style::{self, Paint, paint, printable};
use crate::table::{Cell, table};

pub(super) fn run(args: &DriftArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let mut run: Run = Run::of(input::read_with_live(&args.input)?, Thoroughness::Needed)?;
    // What could not be read may be what differs.
    let mut report = if run.is_partial {
        DriftReport::default()
    } else {
        DriftReport::from_compilation(&run.compilation, &run.sources)
    };
    run.compilation.diagnostics.append(&mut report.diagnostics);
    let is_judged = !run.has_failed();
    match args.output {
        TextFormat::Json => {
            let found = findings(&run.compilation.diagnostics, &run.sources);
            console::print([format!("{:#}\n", report.to_json(found))])?;
        }
        TextFormat::Text => {
            run.note_findings(args.diagnostics.diagnostics, console);
            if is_judged {
                let style = console.stdout_style();
                console::print([if args.diff { diff(&report, style) } else { text(&report, style) }])?;
            }
        }
    }
    Ok(match is_judged {
        true if report.has_drifted() => ExitStatus::Findings,
        true => ExitStatus::Success,
        false => run.status(FailOn::Error),
    })
}

/// A block for each object that has drifted, and a line that counts them.
fn text(report: &DriftReport, style: TextStyle) -> String {
    let mut out = String::new();
    for object in report.objects.iter().filter(|object| object.result != Outcome::Same) {
        out.push_str(&title(object, style));
        fields(&object.fields.iter().collect::<Vec<_>>(), style, &mut out);
        out.push('\n');
    }
    out.push_str(&summary(report));
    out
}

/// `RayService ml/llama differs in 2 fields`.
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

fn fields(fields: &[&FieldDrift], style: TextStyle, out: &mut String) {
    for field in fields {
        let within = field.within.as_ref().map(|within| format!(", in it {within}")).unwrap_or_default();
        let _ = writeln!(out, "  {}", printable(&format!("{}{within}", field.path)));
        let value = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
        let (expected, found) = (field.difference.expected.as_ref(), field.difference.found.as_ref());
        // As wide as the word above it; what stands behind the value need not be aligned.
        let mut last = vec![Cell::new("found   "), Cell::new(&value(found))];
        if !field.managers.is_empty() {
            let writers: Vec<String> = field.managers.iter().map(writer).collect();
            last.push(Cell::painted(&format!("by {}", writers.join(" and ")), Paint::Dim, style));
        }
        out.push_str(&table(&[vec![Cell::new("expected"), Cell::new(&value(expected))]], 4));
        out.push_str(&table(&[last], 4));
    }
}

/// `kubectl-edit (Update, 2026-01-30T10:00:00Z)`.
fn writer(writer: &FieldManager) -> String {
    let through = if writer.subresource.is_empty() { String::new() } else { format!(" of {}", writer.subresource) };
    let when = if writer.time.is_empty() { String::new() } else { format!(", {}", writer.time) };
    format!("{} ({}{through}{when})", writer.manager, writer.operation)
}

/// `1 of 3 objects has drifted`.
fn summary(report: &DriftReport) -> String {
    let all = report.objects.len();
    match report.objects.iter().filter(|object| object.result != Outcome::Same).count() {
        0 => format!("no drift in {}\n", style::count(all, "object")),
        drifted => format!("drift in {drifted} of {}\n", style::count(all, "object")),
    }
}

/// What applying the rendered objects would change, of the fields that are rendered.
fn diff(report: &DriftReport, style: TextStyle) -> String {
    let mut out = String::new();
    for object in report.objects.iter().filter(|object| object.result != Outcome::Same) {
        let name = printable(&object.object.to_string()).into_owned();
        let (live, rendered) = (format!("live/{name}"), format!("rendered/{name}"));
        match (&object.expected, &object.found, object.result) {
            (Some(expected), Some(found), _) => {
                let (from, to) = (yaml_of(found), yaml_of(expected));
                out.push_str(&TextDiff::from_lines(&from, &to).unified_diff().header(&live, &rendered).to_string());
            }
            (Some(expected), None, Outcome::Missing) => {
                let to = yaml_of(expected);
                out.push_str(&TextDiff::from_lines("", &to).unified_diff().header("/dev/null", &rendered).to_string());
            }
            _ => {}
        }
        // What a diff of the rendered fields does not show.
        let hidden: Vec<_> = object.fields.iter().filter(|field| !field.is_shown).collect();
        if !hidden.is_empty() || !matches!(object.result, Outcome::Differs | Outcome::Missing) {
            out.push_str(&title(object, style));
            fields(&hidden, style, &mut out);
        }
    }
    out
}

fn yaml_of(object: &Value) -> String {
    let mut text = String::new();
    yaml::to_yaml(object, &mut text);
    text
}
