//! Formats decisions as text: one block for each ModelDeployment, with aligned columns.

use kubefoundry_compiler::Decision;
use kubefoundry_deployment::ir::FieldOrigin;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_diagnostics::render::TextStyle;
use kubefoundry_facts::fit::WorkerFit;
use kubefoundry_model::select::{CandidateAssessment, RuleValue, Selection};

use crate::commands::fit;
use crate::style::{Paint, paint, printable};
use crate::table::{Cell, table};
use kubefoundry_reports::graph::verdict;
use kubefoundry_reports::run::LocatedDecision;
use kubefoundry_yaml::append;

/// Formats one block for each decision, one at a time, separated by empty lines.
pub(super) fn text_parts<'r>(
    decisions: impl Iterator<Item = LocatedDecision<'r>>,
    style: TextStyle,
) -> impl Iterator<Item = String> {
    decisions.enumerate().map(move |(position, located)| {
        let separator = if position == 0 { "" } else { "\n" };
        format!("{separator}{}", format_decision(&located, style))
    })
}

fn format_decision(located: &LocatedDecision<'_>, style: TextStyle) -> String {
    let decision = located.decision;
    let title = paint(&printable(&decision.object.to_string()), Paint::Bold, style);
    let place = format!("{}:{}:{}", printable(located.file), located.line, located.column);
    let environment = decision.environment.as_deref().map(|name| format!(" ({})", printable(name))).unwrap_or_default();
    let mut out = format!("{title}{environment}  {}\n", paint(&place, Paint::Dim, style));
    out.push_str(&table(&summary(decision, style), 2));
    if let Some(selection) = &decision.selection {
        write_candidates(&mut out, selection, style);
    }
    if !decision.objects.is_empty() {
        write_heading(&mut out, "objects", style);
        out.push_str(&table(&decision.objects.iter().map(object_row).collect::<Vec<_>>(), 4));
    }
    for worker in &decision.workers {
        write_memory(&mut out, worker, decision.workers.len() > 1, style);
    }
    if decision.fields.is_empty() {
        return out;
    }
    write_heading(&mut out, "fields", style);
    let fields = decision.fields.iter().map(|field| {
        let origin = match field.origin {
            FieldOrigin::Written => "written",
            FieldOrigin::Defaulted => "defaulted",
            FieldOrigin::Derived => "derived",
        };
        vec![Cell::new(&field.path), Cell::painted(origin, Paint::Dim, style), Cell::new(&field.value)]
    });
    out.push_str(&table(&fields.collect::<Vec<_>>(), 4));
    out
}

fn write_candidates(out: &mut String, selection: &Selection, style: TextStyle) {
    write_heading(out, "candidates", style);
    let verdicts: Vec<_> = selection.candidates.iter().map(|it| verdict_row(it, selection, style)).collect();
    for (candidate, verdict) in selection.candidates.iter().zip(table(&verdicts, 4).lines()) {
        out.push_str(verdict);
        out.push('\n');
        out.push_str(&table(&candidate.rules.iter().map(|rule| rule_row(rule, style)).collect::<Vec<_>>(), 6));
    }
}

/// Writes the sum of what a worker needs of each GPU, if it is known.
fn write_memory(out: &mut String, worker: &WorkerFit, has_roles: bool, style: TextStyle) {
    let (Some(parts), Some(assessment)) = (fit::format_parts(worker), worker.assess()) else { return };
    let role = if has_roles { format!(" ({})", worker.role) } else { String::new() };
    write_heading(out, &format!("memory of each GPU{role}"), style);
    let mut rows: Vec<Vec<Cell>> =
        parts.iter().map(|(part, bytes)| vec![Cell::new(part), Cell::new(&bytes.to_string())]).collect();
    let gpu = worker.gpu.as_ref().map(|gpu| gpu.name.as_str()).unwrap_or_default();
    rows.insert(0, vec![Cell::new("GPU"), Cell::new(gpu)]);
    rows.push(vec![Cell::new("fit"), Cell::new(assessment.fit.as_str())]);
    out.push_str(&table(&rows, 4));
}

fn write_heading(out: &mut String, name: &str, style: TextStyle) {
    append!(out, "\n  {}\n", paint(name, Paint::Bold, style));
}

fn summary(decision: &Decision, style: TextStyle) -> Vec<Vec<Cell>> {
    let endpoint = decision.endpoint.as_ref().map(|endpoint| format!("{}:{}", endpoint.service, endpoint.port));
    let provider = decision.provider();
    let provider = Cell::painted(provider.unwrap_or("none"), provider.map_or(Paint::Red, |_| Paint::Green), style);
    // An input of another kind has no selection, and so no row for the provider.
    let provider = decision.selection.as_ref().map(|_| vec![Cell::new("provider"), provider]);
    let optional = |name: &str, value: Option<&str>| value.map(|value| vec![Cell::new(name), Cell::new(value)]);
    let facts = decision.facts.iter().map(|fact| vec![Cell::new(fact.name), Cell::new(&fact.value)]);
    [
        provider,
        optional("reason", decision.reason()),
        optional("CRD version", decision.crd_version.as_deref()),
        optional("schema", decision.schema_fingerprint.as_deref()),
        optional("runtime", decision.runtime.as_deref()),
        optional("endpoint", endpoint.as_deref()),
    ]
    .into_iter()
    .flatten()
    .chain(facts)
    .collect()
}

fn verdict_row(candidate: &CandidateAssessment, selection: &Selection, style: TextStyle) -> Vec<Cell> {
    let verdict = verdict(candidate, selection);
    let name = Cell::new(&candidate.provider);
    if selection.provider.as_deref() == Some(&candidate.provider) {
        return vec![name, Cell::painted(&format!("selected ({verdict})"), Paint::Green, style)];
    }
    let color = if candidate.closed_gate.is_some() { Paint::Red } else { Paint::Dim };
    vec![name, Cell::painted(&verdict, color, style)]
}

fn rule_row(rule: &RuleValue, style: TextStyle) -> Vec<Cell> {
    let value = match rule.value {
        Some(true) => Cell::painted("true", Paint::Green, style),
        Some(false) => Cell::painted("false", Paint::Dim, style),
        None => Cell::painted("failed", Paint::Red, style),
    };
    vec![value, Cell::new(&format!("priority {}", rule.priority)), Cell::new(&rule.condition)]
}

fn object_row(object: &ObjectRef) -> Vec<Cell> {
    let namespace = object.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    vec![Cell::new(&object.api_version), Cell::new(&object.kind), Cell::new(&format!("{namespace}{}", object.name))]
}
