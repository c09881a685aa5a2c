//! Text tables with aligned columns.

use kubefoundry_diagnostics::render::TextStyle;

use crate::style::{Paint, paint, printable};

/// A text with its width in characters, not counting color codes.
pub(crate) struct Cell {
    text: String,
    width: usize,
}

impl Cell {
    /// Creates an uncolored cell; control characters are escaped.
    pub(crate) fn new(text: &str) -> Self {
        let text = printable(text).into_owned();
        Self { width: text.chars().count(), text }
    }

    /// Creates a colored cell; control characters are escaped.
    pub(crate) fn painted(text: &str, color: Paint, style: TextStyle) -> Self {
        let plain = Self::new(text);
        Self { width: plain.width, text: paint(&plain.text, color, style) }
    }
}

/// Formats rows with aligned columns, indented by `indent` spaces. The last column is not padded.
pub(crate) fn table(rows: &[Vec<Cell>], indent: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width).max();
    let widths: Vec<usize> = (0..columns).filter_map(width).collect();
    let mut out = String::new();
    for row in rows {
        out.push_str(&" ".repeat(indent));
        for (position, (cell, width)) in row.iter().zip(&widths).enumerate() {
            out.push_str(&cell.text);
            if position + 1 < row.len() {
                out.push_str(&" ".repeat(width - cell.width + 2));
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Color codes take no space on the screen, so they must not count in the column width.
    #[test]
    fn aligns_columns_with_and_without_colors() {
        let rows = |style| {
            vec![vec![Cell::painted("é", Paint::Green, style), Cell::new("x")], vec![Cell::new("abc"), Cell::new("y")]]
        };
        assert_eq!(table(&rows(TextStyle::Plain), 1), " é    x\n abc  y\n");
        assert_eq!(table(&rows(TextStyle::Colored), 1), " \u{1b}[32mé\u{1b}[0m    x\n abc  y\n");
    }
}
