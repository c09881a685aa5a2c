//! The section of one deployment: the diagram, the findings and the values of its fields.

use std::fmt::Write as _;

use kubefoundry_compiler::{Compilation, Decision};
use kubefoundry_diagnostics::Severity;
use kubefoundry_kubernetes::manifest::owner_name;
use kubefoundry_model::ir::FieldOrigin;

use super::entry::Entry;
use super::findings::write_findings;
use super::{Text, flow, memory};
use crate::commands::explain::SourceLocator;

/// Writes the section. Findings come first if one of them is an error, which the reader must correct before anything
/// else.
pub(super) fn write_deployment(
    out: &mut String,
    index: usize,
    entry: &Entry<'_>,
    classes: &str,
    compilation: &Compilation,
    locator: &mut SourceLocator<'_>,
) {
    let name = if entry.object.name.is_empty() {
        entry.name().to_owned()
    } else {
        owner_name(entry.object.namespace.as_deref(), &entry.object.name)
    };
    let _ = writeln!(
        out,
        "<section class=\"deployment {classes}\" aria-labelledby=\"d{index}\">\n<h2 id=\"d{index}\">{}</h2>",
        Text(&name)
    );
    write_lead(out, entry);
    let has_errors = entry.has(Severity::Error);
    if has_errors {
        write_findings_of(out, entry, locator);
    }
    if let Some((decision, diagram)) = entry.decided {
        write_facts(out, decision);
        flow::write_flow(out, diagram, &compilation.outputs);
        memory::write_memory(out, decision);
        if !has_errors {
            write_findings_of(out, entry, locator);
        }
        write_values(out, &name, decision);
    }
    out.push_str("<p class=\"back\"><a href=\"#index\">All deployments</a></p>\n</section>\n");
}

/// Writes the result in one sentence.
fn write_lead(out: &mut String, entry: &Entry<'_>) {
    let Some((decision, _)) = entry.decided else {
        let _ = writeln!(
            out,
            "<p class=\"lead\"><strong>No provider was selected</strong>, because <code>{}</code> has errors.</p>",
            Text(&entry.place)
        );
        return;
    };
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
}

/// Writes what was derived and no field holds.
fn write_facts(out: &mut String, decision: &Decision) {
    for fact in &decision.facts {
        let _ = writeln!(out, "<p>{}: <strong>{}</strong></p>", Text(fact.name), Text(&fact.value));
    }
}

fn write_findings_of(out: &mut String, entry: &Entry<'_>, locator: &mut SourceLocator<'_>) {
    if !entry.findings.is_empty() {
        out.push_str("<h3>Findings</h3>\n");
        write_findings(out, &entry.findings, locator);
    }
}

/// Writes the values of the fields. With thousands of deployments they are most of the page, so a row has only what it
/// needs.
fn write_values(out: &mut String, name: &str, decision: &Decision) {
    if decision.fields.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<details>\n<summary>Values <span class=\"quiet\">({})</span></summary>\n<table class=\"values\" \
         aria-label=\"Values of {}\"><thead><tr><th scope=\"col\">Field</th><th scope=\"col\">Value</th>\
         <th scope=\"col\">Origin</th></tr></thead><tbody>",
        decision.fields.len(),
        Text(name)
    );
    for field in &decision.fields {
        let origin = match field.origin {
            FieldOrigin::Written => "written",
            FieldOrigin::Defaulted => "defaulted",
            FieldOrigin::Derived => "derived",
        };
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{origin}</td></tr>",
            Text(&field.path),
            Text(&field.value)
        );
    }
    out.push_str("</tbody></table>\n</details>\n");
}
