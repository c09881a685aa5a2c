//! Formats the report as Markdown for a pull request comment: the workers in a table, with the GPUs folded.

use kubefoundry_yaml::{append, append_line};

use super::FitRow;
use super::figures::{COLUMNS, Figures};
use super::product::alternatives;
use crate::markdown::{cell, html};

/// The most rows of a table. GitHub limits a comment to 65,536 characters.
const MAX_ROWS: usize = 100;

/// The most folded lists of GPUs.
const MAX_LISTS: usize = 20;

/// Formats the whole report.
pub(super) fn markdown(rows: &[FitRow<'_>]) -> String {
    let mut out = "### kubefoundry fit\n".to_owned();
    if rows.is_empty() {
        return out;
    }
    let columns: Vec<String> =
        ["DEPLOYMENT"].into_iter().chain(COLUMNS).map(|column| column.to_lowercase().replace("kv", "KV")).collect();
    append!(out, "\n| {} |\n|{}\n", columns.join(" | ").replace("gpus", "GPUs"), "---|".repeat(columns.len()));
    for row in rows.iter().take(MAX_ROWS) {
        let cells = Figures::new(row.worker).cells();
        let cells: Vec<String> = [row.title()].iter().chain(&cells).map(|text| cell(text)).collect();
        append_line!(out, "| {} |", cells.join(" | "));
    }
    write_rest(&mut out, rows.len(), MAX_ROWS);
    let all = alternatives(rows);
    for alternatives in all.iter().take(MAX_LISTS) {
        append!(
            out,
            "\n<details><summary>{}</summary>\n\n| GPUs | surely | tensor parallel | product |\n|---|---|---|---|\n",
            html(&kubefoundry_yaml::text::printable(&alternatives.heading()))
        );
        for group in &alternatives.groups {
            let [fewest, surely, sizes] = group.figures();
            append_line!(out, "| {fewest} | {surely} | {sizes} | {} |", group.products.join(", "));
        }
        out.push_str("\n</details>\n");
    }
    write_rest(&mut out, all.len(), MAX_LISTS);
    out
}

fn write_rest(out: &mut String, count: usize, most: usize) {
    if count > most {
        append_line!(out, "\nand {} more.", count - most);
    }
}
