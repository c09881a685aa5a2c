//! `explain --rules`: what is wrong with selection rules.

use std::fmt::Write as _;

use kubefoundry_compiler::selection_analysis::{Analysis, Flaw, FlawKind, Providers, RuleName, analyze};
use kubefoundry_diagnostics::render::TextStyle;
use kubefoundry_yaml as yaml;

use super::{Run, json};
use crate::args::{ExplainArgs, ExplanationFormat};
use crate::style::{Paint, count, paint, printable};
use crate::table::{Cell, table};

/// The report. With configurations that cannot be used there is nothing to analyze, and the findings say why.
pub(super) fn report(run: &Run, args: &ExplainArgs, style: TextStyle) -> String {
    let providers = if args.no_builtins { Providers::Given } else { Providers::All };
    let analysis = analyze(&run.sources, providers).ok();
    if args.output == ExplanationFormat::Json {
        return json("analysis", &analysis, run);
    }
    analysis.map(|analysis| text(&analysis, style)).unwrap_or_default()
}

fn text(analysis: &Analysis, style: TextStyle) -> String {
    let mut out = String::new();
    let rows = analysis.providers.iter().map(|it| {
        let cells =
            [it.provider.clone(), count(it.rules, "rule"), format!("can run {}", it.open), format!("wins {}", it.wins)];
        cells.iter().map(|cell| Cell::new(cell)).collect()
    });
    out.push_str(&table(&rows.collect::<Vec<_>>(), 0));
    let judged = count(analysis.judged, "deployment");
    let _ = if analysis.complete {
        writeln!(out, "{judged} tried: all that these rules can tell apart")
    } else {
        writeln!(out, "{judged} tried, of more that these rules can tell apart: what is never seen may still be")
    };
    for field in &analysis.unvaried {
        let _ = writeln!(out, "rules read {}, of which not every value is tried that may matter", printable(field));
    }
    for flaw in &analysis.flaws {
        out.push('\n');
        out.push_str(&flaw_text(flaw, style));
    }
    if analysis.flaws.is_empty() {
        out.push_str("nothing is wrong with them\n");
    }
    out
}

fn flaw_text(flaw: &Flaw, style: TextStyle) -> String {
    let kind = flaw.kind.as_str().replace('-', " ");
    let kind = paint(&kind, if flaw.kind == FlawKind::NamedOnly { Paint::Dim } else { Paint::Red }, style);
    let provider = printable(&flaw.provider);
    let mut out = match &flaw.rule {
        Some(rule) => {
            format!("{kind}: rule {} of {provider} {}\n  {}\n", rule.rule, printable(&flaw.message), rule_text(rule))
        }
        None => format!("{kind}: {provider} {}\n", printable(&flaw.message)),
    };
    for other in &flaw.others {
        let _ = writeln!(out, "  {} {}", printable(&other.provider), rule_text(other));
    }
    if let Some(witness) = &flaw.witness {
        let selects = match (&witness.selects, &witness.reason) {
            (Some(provider), Some(reason)) => format!("{} is selected: {}", printable(provider), printable(reason)),
            _ => "no provider is selected".to_owned(),
        };
        let _ = writeln!(out, "  for this one {selects}");
        let mut text = String::new();
        yaml::to_yaml(&witness.document, &mut text);
        for line in text.lines() {
            let _ = writeln!(out, "    {}", printable(line));
        }
    }
    out
}

fn rule_text(rule: &RuleName) -> String {
    format!("rule {} (priority {}): {}", rule.rule, rule.priority, printable(&rule.condition))
}
