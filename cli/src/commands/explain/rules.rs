//! `explain --rules`: reports problems of selection rules.

use kubefoundry_analysis::selection_analysis::{Analysis, Flaw, FlawKind, Providers, RuleName, analyze};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::render::{ReportVersion, TextStyle, to_report};
use kubefoundry_reports::analyses::RuleReport;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::append_line;

use crate::args::{ExplainArgs, ExplanationFormat};
use crate::run::Run;
use crate::style::{Paint, count, paint, printable};
use crate::table::{Cell, table};

/// Formats the analysis. It is empty if the configurations have errors, which the findings report.
pub(super) fn report(run: &Run, args: &ExplainArgs, style: TextStyle) -> String {
    let providers = if args.no_builtins { Providers::Configured } else { Providers::All };
    let analysis = analyze(&BUILTIN, &run.sources, providers).ok();
    if args.output == ExplanationFormat::Json {
        let (analysis, diagnostics) = (analysis.as_ref(), run.result().findings_json());
        return to_report(&RuleReport { version: ReportVersion, analysis, diagnostics });
    }
    analysis.map(|analysis| format_analysis(&analysis, style)).unwrap_or_default()
}

fn format_analysis(analysis: &Analysis, style: TextStyle) -> String {
    let mut out = String::new();
    let rows = analysis.providers.iter().map(|it| {
        let cells =
            [it.provider.clone(), count(it.rules, "rule"), format!("can run {}", it.open), format!("wins {}", it.wins)];
        cells.iter().map(|cell| Cell::new(cell)).collect()
    });
    out.push_str(&table(&rows.collect::<Vec<_>>(), 0));
    let judged = count(analysis.judged, "deployment");
    if analysis.complete {
        append_line!(out, "{judged} tried, which cover all cases that these rules distinguish");
    } else {
        append_line!(out, "{judged} tried, but these rules distinguish more cases; other results are possible");
    }
    for field in &analysis.unvaried {
        append_line!(out, "rules read {}, but not all of its relevant values were tried", printable(field));
    }
    for flaw in &analysis.flaws {
        out.push('\n');
        out.push_str(&format_flaw(flaw, style));
    }
    if analysis.flaws.is_empty() {
        out.push_str("no problems found\n");
    }
    out
}

fn format_flaw(flaw: &Flaw, style: TextStyle) -> String {
    let kind = flaw.kind.as_str().replace('-', " ");
    let kind = paint(&kind, if flaw.kind == FlawKind::NamedOnly { Paint::Dim } else { Paint::Red }, style);
    let provider = printable(&flaw.provider);
    let mut out = match &flaw.rule {
        Some(rule) => {
            format!("{kind}: rule {} of {provider} {}\n  {}\n", rule.rule, printable(&flaw.message), format_rule(rule))
        }
        None => format!("{kind}: {provider} {}\n", printable(&flaw.message)),
    };
    for other in &flaw.others {
        append_line!(out, "  {} {}", printable(&other.provider), format_rule(other));
    }
    if let Some(witness) = &flaw.witness {
        let selects = match (&witness.selects, &witness.reason) {
            (Some(provider), Some(reason)) => format!("{} is selected: {}", printable(provider), printable(reason)),
            _ => "no provider is selected".to_owned(),
        };
        append_line!(out, "  example: {selects} for");
        let mut text = String::new();
        yaml::to_yaml(&witness.document, &mut text);
        for line in text.lines() {
            append_line!(out, "    {}", printable(line));
        }
    }
    out
}

fn format_rule(rule: &RuleName) -> String {
    format!("rule {} (priority {}): {}", rule.rule, rule.priority, printable(&rule.condition))
}
