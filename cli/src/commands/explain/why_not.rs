//! `explain --why-not`: reports which changes would make a provider selected.

use kubefoundry_analysis::selection_analysis::{WhyNot, why_not};
use kubefoundry_analysis::trace::DocumentChange;
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::render::{ReportVersion, TextStyle, to_report};
use kubefoundry_reports::analyses::WhyNotReport;
use kubefoundry_yaml::append_line;

use super::{ReportError, locate_reports, title};
use crate::args::ExplanationFormat;
use crate::run::Run;
use crate::style::{Paint, paint, printable};

/// Formats the answer for each ModelDeployment.
pub(super) fn report(
    run: &Run,
    provider: &str,
    format: ExplanationFormat,
    style: TextStyle,
) -> Result<String, ReportError> {
    let answers = why_not(&BUILTIN, &run.sources, provider)?;
    let answers = locate_reports(run, answers, |answer| (answer.source, answer.document, &answer.object));
    if format == ExplanationFormat::Json {
        let (answers, diagnostics) = (&answers, run.result().findings_json());
        return Ok(to_report(&WhyNotReport { version: ReportVersion, answers, diagnostics }));
    }
    let blocks: Vec<String> = answers
        .iter()
        .map(|located| title(located, &located.report.object, style) + &format_answer(&located.report, style))
        .collect();
    Ok(blocks.join("\n"))
}

fn format_answer(answer: &WhyNot, style: TextStyle) -> String {
    let provider = printable(&answer.provider).into_owned();
    let mut out = String::new();
    match (&answer.selected, &answer.reason) {
        (Some(selected), Some(reason)) => {
            append_line!(out, "  selected  {}: {}", printable(selected), printable(reason));
        }
        _ => out.push_str("  selected  none\n"),
    }
    if answer.selected.as_deref() == Some(&answer.provider) && answer.by_rules.is_none() && answer.by_name.is_none() {
        append_line!(out, "  {provider}  is already selected");
        return out;
    }
    if let Some(assessment) = &answer.assessment {
        let verdict = match (&assessment.closed_gate, assessment.score) {
            (Some(gate), _) => format!("not eligible: {gate}"),
            (None, Some(score)) => format!("eligible, priority {score}"),
            (None, None) if assessment.rules.is_empty() => "eligible, but only if selected by name".to_owned(),
            (None, None) => "eligible, but none of its rules is true".to_owned(),
        };
        append_line!(out, "  {provider}  {}", printable(&verdict));
    }
    let heading = |text: String| paint(&text, Paint::Bold, style);
    match (&answer.by_rules, answer.obstacle) {
        (Some(changes), _) => {
            append_line!(out, "\n  {}", heading(format!("selection rules select {provider} with")));
            write_changes(&mut out, changes);
        }
        (None, Some(obstacle)) => {
            append_line!(out, "\n  {}", heading(format!("no change makes selection rules select {provider}:")));
            append_line!(out, "    {}", obstacle.meaning());
        }
        (None, None) => {}
    }
    if let Some(changes) = &answer.by_name {
        append_line!(out, "\n  {}", heading(format!("{provider} is selected by name with")));
        write_changes(&mut out, changes);
    } else {
        append_line!(
            out,
            "\n  {provider} cannot be selected by name either: it refuses this deployment and every change that was tried"
        );
    }
    for remark in &answer.remarks {
        append_line!(out, "\n  note: {remark}");
    }
    out
}

fn write_changes(out: &mut String, changes: &[DocumentChange]) {
    for change in changes {
        if let Some(value) = &change.value {
            append_line!(out, "    {}: {}", printable(&change.path), printable(value));
        } else {
            append_line!(out, "    remove {}", printable(&change.path));
        }
    }
}
