//! The parts of the page: the index, findings, and a deployment.

use std::fmt::Write as _;

use kubefoundry_compiler::Decision;
use kubefoundry_diagnostics::{Diagnostic, Severity};
use kubefoundry_kubernetes::manifest::owner_name;
use kubefoundry_model::ir::FieldOrigin;

use super::gpus::format_gpus;
use super::{Text, flow, memory};
use crate::commands::explain::graph::Diagram;
use crate::commands::explain::{LocatedDecision, SourceLocator};
use crate::style::count;

/// Opens a table. Narrow screens show it as a list, so explicit roles keep it a table for screen readers.
fn open_table(out: &mut String, class: &str, label: &str, columns: &[&str]) {
    let label = Text(label);
    let _ = writeln!(
        out,
        "<table class=\"{class}\" role=\"table\" aria-label=\"{label}\">\n<thead role=\"rowgroup\"><tr role=\"row\">"
    );
    for column in columns {
        let _ = write!(out, "<th role=\"columnheader\" scope=\"col\">{column}</th>");
    }
    out.push_str("</tr></thead>\n<tbody role=\"rowgroup\">\n");
}

/// Writes a cell. `html` must already be escaped.
fn write_cell(out: &mut String, column: &str, html: &str) {
    let _ = write!(out, "<td role=\"cell\" data-label=\"{column}\"><span>{html}</span></td>");
}

const TABLE_END: &str = "</tbody>\n</table>\n";

fn display_name(decision: &Decision) -> String {
    let object = &decision.object;
    if object.name.is_empty() { "(no name)".to_owned() } else { owner_name(object.namespace.as_deref(), &object.name) }
}

/// Writes the table of all deployments, one on each row.
pub(super) fn write_index(out: &mut String, decisions: &[LocatedDecision<'_>], findings: &[Vec<&Diagnostic>]) {
    out.push_str("<section aria-labelledby=\"index\">\n<h2 id=\"index\">Deployments</h2>\n");
    if decisions.is_empty() {
        out.push_str("<p>The input has no ModelDeployment that could be read.</p>\n</section>\n");
        return;
    }
    open_table(out, "index", "Deployments", &["Name", "Provider", "Reason", "GPUs", "Objects", "Findings"]);
    for (index, located) in decisions.iter().enumerate() {
        let decision = located.decision;
        let _ = write!(
            out,
            "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\" data-label=\"Name\"><a href=\"#d{index}\">{}</a></th>",
            Text(&display_name(decision))
        );
        write_cell(out, "Provider", &Text(decision.provider().unwrap_or("none")).to_string());
        write_cell(out, "Reason", &Text(decision.reason().unwrap_or("–")).to_string());
        write_cell(out, "GPUs", &Text(format_gpus(decision).as_deref().unwrap_or("–")).to_string());
        write_cell(out, "Objects", &Text(&format_kinds(decision)).to_string());
        let findings = findings.get(index).map(Vec::as_slice).unwrap_or_default();
        write_cell(out, "Findings", &format_severities(findings));
        out.push_str("</tr>\n");
    }
    out.push_str(TABLE_END);
    out.push_str("</section>\n");
}

/// Counts the objects by kind: `PersistentVolumeClaim × 2, DynamoGraphDeployment`.
fn format_kinds(decision: &Decision) -> String {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for object in &decision.objects {
        match kinds.iter_mut().find(|(kind, _)| *kind == &*object.kind) {
            Some((_, number)) => *number += 1,
            None => kinds.push((&object.kind, 1)),
        }
    }
    let words = kinds.iter().map(|(kind, number)| match number {
        1 => (*kind).to_owned(),
        _ => format!("{kind} × {number}"),
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// Formats the number of findings of each severity as badges: `1 error`, `2 warnings`.
fn format_severities(findings: &[&Diagnostic]) -> String {
    let mut parts = Vec::new();
    for severity in [Severity::Error, Severity::Warning, Severity::Info] {
        let number = findings.iter().filter(|finding| finding.severity == severity).count();
        if number > 0 {
            let noun = severity.to_string();
            let words = if severity == Severity::Info { format!("{number} info") } else { count(number, &noun) };
            parts.push(format!("<span class=\"badge {noun}\">{words}</span>"));
        }
    }
    if parts.is_empty() { "none".to_owned() } else { parts.join(" ") }
}

/// Writes a list of findings with severity, message, location and help.
pub(super) fn write_findings(out: &mut String, findings: &[&Diagnostic], locator: &mut SourceLocator<'_>) {
    out.push_str("<ul class=\"findings\">\n");
    for finding in findings {
        let (severity, code) = (finding.severity, finding.code);
        let _ = write!(
            out,
            "<li class=\"{severity}\"><p><span class=\"badge {severity}\">{severity}</span> <code>{}</code> {}</p>",
            code.id,
            Text(&finding.message)
        );
        if let Some(at) = &finding.location {
            let (file, position) = locator.locate(at.source, at.span.start);
            let place = format!("{file}:{}:{}", position.line, position.column);
            let _ = write!(out, "<p class=\"place\"><code>{}</code>", Text(&place));
            let path = at.path.to_string();
            if !path.is_empty() {
                let _ = write!(out, " <code>{}</code>", Text(&path));
            }
            out.push_str("</p>");
        }
        if let Some(help) = &finding.help {
            let _ = write!(out, "<p class=\"help\">Help: {}</p>", Text(help));
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n");
}

/// Writes the section of one deployment: the diagram, the findings and the values of its fields.
pub(super) fn write_deployment(
    out: &mut String,
    index: usize,
    located: &LocatedDecision<'_>,
    diagram: &Diagram,
    findings: &[&Diagnostic],
    locator: &mut SourceLocator<'_>,
) {
    let decision = located.decision;
    let name = display_name(decision);
    let _ = writeln!(
        out,
        "<section class=\"deployment\" aria-labelledby=\"d{index}\">\n<h2 id=\"d{index}\">{}</h2>",
        Text(&name)
    );
    match (decision.provider(), decision.reason()) {
        (Some(provider), Some(reason)) => {
            let _ = writeln!(out, "<p class=\"lead\"><strong>{}</strong>: {}</p>", Text(provider), Text(reason));
        }
        (Some(provider), None) => {
            let _ = writeln!(out, "<p class=\"lead\"><strong>{}</strong></p>", Text(provider));
        }
        (None, _) if decision.selection.is_none() => {}
        (None, _) => out.push_str("<p class=\"lead\"><strong>No provider was selected.</strong></p>\n"),
    }
    flow::write_flow(out, index, diagram);
    memory::write_memory(out, decision);
    if !findings.is_empty() {
        out.push_str("<h3>Findings</h3>\n");
        write_findings(out, findings, locator);
    }
    let _ =
        writeln!(out, "<details>\n<summary>Values <span class=\"quiet\">({})</span></summary>", decision.fields.len());
    open_table(out, "values", &format!("Values of {name}"), &["Field", "Value", "Origin"]);
    for field in &decision.fields {
        let origin = match field.origin {
            FieldOrigin::Written => "written",
            FieldOrigin::Defaulted => "defaulted",
            FieldOrigin::Derived => "derived",
        };
        let _ = write!(
            out,
            "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\" data-label=\"Field\"><code>{}</code></th>",
            Text(&field.path)
        );
        write_cell(out, "Value", &format!("<code>{}</code>", Text(&field.value)));
        write_cell(out, "Origin", origin);
        out.push_str("</tr>\n");
    }
    out.push_str(TABLE_END);
    out.push_str("</details>\n</section>\n");
}
