//! Formats the report as text.

use kubefoundry_diagnostics::render::TextStyle;
use kubefoundry_facts::fit::WorkerFit;

use super::FitRow;
use super::figures::{COLUMNS, Figures};
use super::product::{Alternatives, alternatives};
use crate::style::{Paint, paint, printable};
use crate::table::{Cell, table};
use kubefoundry_reports::fit::verdict;
use kubefoundry_yaml::{append, append_line};

/// The column of the verdict among the figures.
const FIT: usize = 2;

/// Formats a table of all workers, notes about what is not known, and the GPUs on which each worker fits.
pub(super) fn text(rows: &[FitRow<'_>], style: TextStyle) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut lines: Vec<Vec<Cell>> = vec![["DEPLOYMENT"].into_iter().chain(COLUMNS).map(Cell::new).collect()];
    lines.extend(rows.iter().map(|row| worker_row(row, style)));
    let mut out = table(&lines, 0);
    for row in rows {
        if let Some(note) = note(row.worker) {
            append_line!(out, "note: {}: {}", printable(&row.title()), printable(&note));
        }
    }
    for alternatives in alternatives(rows) {
        write_alternatives(&mut out, &alternatives, style);
    }
    out
}

fn worker_row(row: &FitRow<'_>, style: TextStyle) -> Vec<Cell> {
    let color = match verdict(row.worker.assess()) {
        "fits" => Paint::Green,
        "cannot" => Paint::Red,
        _ => Paint::Dim,
    };
    let cells = Figures::new(row.worker).cells();
    let cell = |(position, text): (usize, &String)| {
        if position == FIT { Cell::painted(text, color, style) } else { Cell::new(text) }
    };
    let figures = cells.iter().enumerate().map(cell);
    [Cell::new(&row.title())].into_iter().chain(figures).collect()
}

/// Returns what the reader can add so that more is known.
pub(super) fn note(worker: &WorkerFit) -> Option<String> {
    if worker.facts.is_none() {
        return Some(match &worker.model {
            Some(model) => format!("nothing is known about {model:?}; describe it in the option models"),
            None => "its model has no id, so nothing is known about it".to_owned(),
        });
    }
    if worker.gpu.is_none() {
        return Some("its GPU is not known; select nodes by nvidia.com/gpu.product, or set the option gpus".to_owned());
    }
    worker.layout.is_none().then(|| "how the model is split is not known".to_owned())
}

fn write_alternatives(out: &mut String, alternatives: &Alternatives<'_>, style: TextStyle) {
    append!(out, "\n{}\n", paint(&printable(&alternatives.heading()), Paint::Bold, style));
    let mut lines: Vec<Vec<Cell>> =
        vec![["GPUS", "SURELY", "TENSOR PARALLEL", "PRODUCT"].into_iter().map(Cell::new).collect()];
    for group in &alternatives.groups {
        let mut figures = group.figures();
        for products in wrap(&group.products) {
            lines.push(figures.iter().map(|text| Cell::new(text)).chain([Cell::new(&products)]).collect());
            figures = Default::default();
        }
    }
    out.push_str(&table(&lines, 2));
}

/// The width of the column of GPUs in characters.
const PRODUCT_WIDTH: usize = 80;

/// Joins names by commas, in lines that are not wider than the column.
fn wrap(names: &[&str]) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (position, name) in names.iter().enumerate() {
        let separator = if position + 1 < names.len() { "," } else { "" };
        let Some(line) = lines.last_mut() else { continue };
        if line.is_empty() {
            line.push_str(name);
        } else if line.len() + name.len() + 2 <= PRODUCT_WIDTH {
            line.push(' ');
            line.push_str(name);
        } else {
            lines.push((*name).to_owned());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(separator);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_wrapped_between_them() {
        assert_eq!(wrap(&["a", "b"]), ["a, b"]);
        let long = "x".repeat(50);
        assert_eq!(wrap(&[&long, &long, "b"]), [format!("{long},"), format!("{long}, b")]);
    }
}
