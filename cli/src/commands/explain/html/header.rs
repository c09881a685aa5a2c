//! The header of the page: what was read, and the sums of all deployments.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kubefoundry_diagnostics::Severity;
use kubefoundry_input::checked_out_commit;

use super::entry::Entry;
use super::gpus::GpuSum;
use crate::style::count;
use kubefoundry_reports::page::Text;
use kubefoundry_yaml::{append, append_line};

/// The number of paths that the header lists.
const MAX_PATHS: usize = 8;

/// The number of digits of a commit that identify it for readers.
const COMMIT_DIGITS: usize = 12;

/// Formats the title: `200 model deployments, 13 with errors`.
pub(super) fn format_title(entries: &[Entry<'_>]) -> String {
    let is_model = |entry: &Entry<'_>| &*entry.object.kind == kubefoundry_deployment::wire::KIND;
    let noun = if entries.iter().all(is_model) { "model deployment" } else { "deployment" };
    let broken = entries.iter().filter(|entry| entry.has(Severity::Error)).count();
    let broken = if broken > 0 { format!(", {broken} with errors") } else { String::new() };
    format!("{}{broken}", count(entries.len(), noun))
}

/// Writes what was read: the paths as they were given, and the commit that is checked out there.
pub(super) fn write_source(out: &mut String, paths: &[PathBuf]) {
    let first = paths.first().filter(|path| path.as_path() != Path::new("-"));
    let named: Vec<String> = paths.iter().take(MAX_PATHS).map(|path| path.display().to_string()).collect();
    let named = named.iter().map(|path| format!("<code>{}</code>", Text(path))).collect::<Vec<_>>().join(", ");
    match (first, paths.len().saturating_sub(MAX_PATHS)) {
        (None, _) => out.push_str("<p>Input: standard input"),
        (Some(_), 0) => append!(out, "<p>Input: {named}"),
        (Some(_), more) => append!(out, "<p>Input: {named} and {}", count(more, "other path")),
    }
    if let Some(commit) = first.and_then(|path| checked_out_commit(path)) {
        let short = commit.get(..COMMIT_DIGITS).unwrap_or(&commit);
        append!(out, "; the checked-out commit is <code>{}</code>", Text(short));
    }
    out.push_str("</p>\n");
}

/// Writes the numbers of deployments and GPUs of each provider.
pub(super) fn write_totals(out: &mut String, entries: &[Entry<'_>]) {
    if entries.len() < 2 {
        return;
    }
    let mut totals: BTreeMap<Option<&str>, (usize, GpuSum<'_>)> = BTreeMap::new();
    let mut all = GpuSum::default();
    for entry in entries {
        let (number, gpus) = totals.entry(entry.provider()).or_default();
        *number += 1;
        gpus.add(entry.decided.map(|(decision, _)| decision));
        all.add(entry.decided.map(|(decision, _)| decision));
    }
    // Most inputs use one resource, which the title of the column then names.
    let unit = all.only_resource().map(|resource| format!(" ({})", Text(resource))).unwrap_or_default();
    append_line!(
        out,
        "<table class=\"totals\" aria-label=\"Totals\"><thead><tr><th scope=\"col\">Provider</th>\
         <th scope=\"col\">Deployments</th><th scope=\"col\">GPUs{unit}</th></tr></thead><tbody>"
    );
    let mut write_row = |name: &str, number: usize, gpus: &GpuSum<'_>| {
        let gpus = gpus.format(all.only_resource().is_none());
        append_line!(out, "<tr><th scope=\"row\">{}</th><td>{number}</td><td>{}</td></tr>", Text(name), Text(&gpus));
    };
    // Deployments without a provider come last.
    let (without, with): (Vec<_>, Vec<_>) = totals.iter().partition(|(provider, _)| provider.is_none());
    for (provider, (number, gpus)) in with.into_iter().chain(without) {
        write_row(provider.unwrap_or("none"), *number, gpus);
    }
    write_row("total", entries.len(), &all);
    out.push_str("</tbody></table>\n");
}
