//! The index: a table of all deployments, grouped by namespace.

use kubefoundry_compiler::Decision;

use super::entry::Entry;
use super::filter::Filters;
use super::findings::format_severities;
use super::gpus::format_gpus;
use crate::style::count;
use kubefoundry_reports::page::Text;
use kubefoundry_yaml::{append, append_line};

/// The columns; those of the style sheet have the same order.
const COLUMNS: [&str; 6] = ["Name", "Provider", "Reason", "GPUs", "Objects", "Findings"];

/// Writes the table, one deployment on each row. Narrow screens show it as a list, so explicit roles keep it a table for
/// screen readers.
pub(super) fn write_index(out: &mut String, entries: &[Entry<'_>], filters: &Filters) {
    out.push_str("<section aria-labelledby=\"index\">\n<h2 id=\"index\">Deployments</h2>\n");
    if entries.is_empty() {
        out.push_str("<p>The input has no ModelDeployment that could be read.</p>\n</section>\n");
        return;
    }
    filters.write_controls(out);
    out.push_str(
        "<table class=\"index\" role=\"table\" aria-label=\"Deployments\">\n<thead role=\"rowgroup\"><tr role=\"row\">",
    );
    for column in COLUMNS {
        append!(out, "<th role=\"columnheader\" scope=\"col\">{column}</th>");
    }
    out.push_str("</tr></thead>\n");
    let mut number = 0;
    for group in entries.chunk_by(|one, other| one.object.namespace == other.object.namespace) {
        let namespace = group.first().map(Entry::namespace).unwrap_or_default();
        append_line!(
            out,
            "<tbody role=\"rowgroup\" class=\"group{}\">\n<tr role=\"row\" class=\"namespace\"><th role=\"rowheader\" \
             scope=\"rowgroup\" colspan=\"{columns}\"><span>{}</span> <span class=\"quiet\">{}</span></th></tr>\n\
             <tr role=\"row\" class=\"no-match\"><td role=\"cell\" colspan=\"{columns}\">No deployment of this \
             namespace matches.</td></tr>",
            filters.group_class(namespace),
            Text(namespace),
            count(group.len(), "deployment"),
            columns = COLUMNS.len(),
        );
        for entry in group {
            write_row(out, number, entry, filters);
            number += 1;
        }
        out.push_str("</tbody>\n");
    }
    out.push_str("</table>\n<p class=\"nothing\">No deployment matches.</p>\n</section>\n");
}

fn write_row(out: &mut String, number: usize, entry: &Entry<'_>, filters: &Filters) {
    append!(
        out,
        "<tr role=\"row\" class=\"{}\"><th role=\"rowheader\" scope=\"row\"><a href=\"#d{number}\">{}</a></th>",
        filters.classes(entry),
        Text(entry.name())
    );
    let decision = entry.decided.map(|(decision, _)| decision);
    let reason = match decision {
        None => Some("errors prevent a selection"),
        Some(decision) => decision.reason(),
    };
    let escape = |text: &str| Text(text).to_string();
    write_cell(out, "Provider", entry.provider().map(escape));
    write_cell(out, "Reason", reason.map(escape));
    let gpus = decision.and_then(format_gpus).unwrap_or_else(|| "unknown".to_owned());
    write_cell(out, "GPUs", Some(escape(&gpus)));
    write_cell(out, "Objects", decision.and_then(format_kinds).as_deref().map(escape));
    write_cell(out, "Findings", format_severities(&entry.findings));
    out.push_str("</tr>\n");
}

/// Writes a cell. `html` must already be escaped.
fn write_cell(out: &mut String, column: &str, html: Option<String>) {
    let html = html.unwrap_or_else(|| "<i>none</i>".to_owned());
    append!(out, "<td role=\"cell\" data-label=\"{column}\"><span>{html}</span></td>");
}

/// Counts the objects by kind: `PersistentVolumeClaim × 2, DynamoGraphDeployment`. `None` if there are none.
fn format_kinds(decision: &Decision) -> Option<String> {
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
    (!words.is_empty()).then(|| words.join(", "))
}
