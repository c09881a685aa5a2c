//! The section of one deployment: the diagram, the findings and the values of its fields.

use kubefoundry_compiler::Compilation;
use kubefoundry_diagnostics::Severity;
use kubefoundry_kubernetes::manifest::owner_name;
use kubefoundry_reports::page::{self, Text};
use kubefoundry_reports::run::SourceLocator;
use kubefoundry_yaml::append_line;

use super::entry::Entry;
use super::findings::write_findings;

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
    append_line!(
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
        page::write_facts(out, decision);
        page::write_flow(out, diagram, &compilation.outputs);
        page::write_memory(out, decision);
        if !has_errors {
            write_findings_of(out, entry, locator);
        }
        page::write_values(out, &name, decision);
    }
    out.push_str("<p class=\"back\"><a href=\"#index\">All deployments</a></p>\n</section>\n");
}

/// Writes the result in one sentence.
fn write_lead(out: &mut String, entry: &Entry<'_>) {
    let Some((decision, _)) = entry.decided else {
        append_line!(
            out,
            "<p class=\"lead\"><strong>No provider was selected</strong>, because <code>{}</code> has errors.</p>",
            Text(&entry.place)
        );
        return;
    };
    page::write_result(out, decision);
}

fn write_findings_of(out: &mut String, entry: &Entry<'_>, locator: &mut SourceLocator<'_>) {
    if !entry.findings.is_empty() {
        out.push_str("<h3>Findings</h3>\n");
        write_findings(out, &entry.findings, locator);
    }
}
