//! `explain --why-not`: what would make a provider win.

use std::fmt::Write as _;

use kubefoundry_compiler::selection_analysis::{WhyNot, why_not};
use kubefoundry_compiler::trace::DocumentChange;
use kubefoundry_diagnostics::render::TextStyle;

use super::{ReportError, Run, json, located};
use crate::args::ExplanationFormat;
use crate::style::{Paint, paint, printable};

/// The report.
pub(super) fn report(
    run: &Run,
    provider: &str,
    format: ExplanationFormat,
    style: TextStyle,
) -> Result<String, ReportError> {
    let answers = why_not(&run.sources, provider)?;
    let answers = located(run, answers, |answer| (answer.source, answer.document, &answer.object));
    if format == ExplanationFormat::Json {
        return Ok(json("answers", &answers, run));
    }
    let blocks: Vec<String> = answers
        .iter()
        .map(|located| located.title(&located.report.object, style) + &text(&located.report, style))
        .collect();
    Ok(blocks.join("\n"))
}

fn text(answer: &WhyNot, style: TextStyle) -> String {
    let provider = printable(&answer.provider).into_owned();
    let mut out = String::new();
    match (&answer.selected, &answer.reason) {
        (Some(selected), Some(reason)) => {
            let _ = writeln!(out, "  selected  {}: {}", printable(selected), printable(reason));
        }
        _ => out.push_str("  selected  none\n"),
    }
    if answer.selected.as_deref() == Some(&answer.provider) && answer.by_rules.is_none() && answer.by_name.is_none() {
        let _ = writeln!(out, "  {provider}  is selected as it is");
        return out;
    }
    if let Some(assessment) = &answer.assessment {
        let words = match (&assessment.closed_gate, assessment.score) {
            (Some(gate), _) => format!("closed: {gate}"),
            (None, Some(score)) => format!("open, priority {score}"),
            (None, None) if assessment.rules.is_empty() => "open, only chosen by name".to_owned(),
            (None, None) => "open, but no rule of it is true".to_owned(),
        };
        let _ = writeln!(out, "  {provider}  {}", printable(&words));
    }
    let heading = |text: String| paint(&text, Paint::Bold, style);
    match (&answer.by_rules, answer.obstacle) {
        (Some(changes), _) => {
            let _ = writeln!(out, "\n  {}", heading(format!("{provider} is selected by its rules with")));
            list(&mut out, changes);
        }
        (None, Some(obstacle)) => {
            let _ = writeln!(out, "\n  {}", heading(format!("{provider} is not selected by rules, whatever changes:")));
            let _ = writeln!(out, "    {}", obstacle.meaning());
        }
        (None, None) => {}
    }
    if let Some(changes) = &answer.by_name {
        let _ = writeln!(out, "\n  {}", heading(format!("{provider} is chosen by name with")));
        list(&mut out, changes);
    } else {
        let _ = writeln!(out, "\n  chosen by name it refuses this deployment, and every change of it that was tried");
    }
    out
}

fn list(out: &mut String, changes: &[DocumentChange]) {
    for change in changes {
        let _ = match &change.value {
            Some(value) => writeln!(out, "    {}: {}", printable(&change.path), printable(value)),
            None => writeln!(out, "    {} taken out", printable(&change.path)),
        };
    }
}
