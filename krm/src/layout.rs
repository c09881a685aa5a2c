//! The text of a `ResourceList`: where each item starts and ends, so that what is not changed keeps every byte.

use std::ops::Range;

use kubefoundry::yaml::{Node, Value};

use crate::envelope::Envelope;

/// The bytes of each item of a block-style list: comments above it, its dash, and everything up to the next one's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) range: Range<usize>,
    /// Where the dash stands.
    pub(crate) dash: usize,
}

/// Whether a list can be edited where it stands: a block-style list in a block-style document, or one without items.
pub(crate) fn is_block(envelope: &Envelope<'_>) -> bool {
    let starts_with =
        |node: &Node<'_>, open: &str| envelope.text.get(node.span.start..).is_some_and(|text| text.starts_with(open));
    let list = envelope.root.get("items").filter(|items| !items.items().is_empty());
    !starts_with(&envelope.root, "{") && list.is_none_or(|list| starts_with(list, "-"))
}

/// The column of the dashes, in bytes.
pub(crate) fn dash_column(envelope: &Envelope<'_>) -> usize {
    extents(envelope).first().map_or(0, |first| column(envelope.text, first.dash))
}

/// The extents of a block-style list.
pub(crate) fn extents(envelope: &Envelope<'_>) -> Vec<Extent> {
    let Some(entry) = envelope.root.entry("items") else { return Vec::new() };
    let text = envelope.text;
    let mut extents: Vec<Extent> = Vec::new();
    let mut from = line_after(text, entry.key_span.end);
    for item in entry.node.items() {
        let Some(dash) = next_dash(text, from) else { break };
        let end = content_end(text, item.span.end.max(dash + 1), column(text, dash));
        extents.push(Extent { range: from..end, dash });
        from = end;
    }
    extents
}

/// An item as a document of its own: its dash becomes a blank, so that every other byte keeps its line and column.
pub(crate) fn item_text(text: &str, extent: &Extent) -> String {
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    format!("{} {}", part(extent.range.start..extent.dash), part(extent.dash + 1..extent.range.end))
}

/// The whole list in block style, with the values as they were written.
pub(crate) fn to_block(envelope: &Envelope<'_>) -> String {
    let slice = |node: &Node<'_>| envelope.text.get(node.span.start..node.span.end).unwrap_or_default();
    let mut out = String::new();
    for entry in envelope.root.entries() {
        out.push_str(envelope.text.get(entry.key_span.start..entry.key_span.end).unwrap_or_default());
        out.push(':');
        match &entry.node.value {
            Value::Sequence(items) if entry.key == "items" && !items.is_empty() => {
                out.push('\n');
                for item in items {
                    push_item(&mut out, &envelope.alone(item).0, 0);
                }
            }
            Value::Mapping(_) | Value::Sequence(_) if !slice(&entry.node).starts_with(['{', '[']) => {
                out.push('\n');
                push_indented(&mut out, &envelope.alone(&entry.node).0, 2, 2);
            }
            _ => {
                out.push(' ');
                push_indented(&mut out, slice(&entry.node), 0, 2);
            }
        }
    }
    out
}

/// Adds an item of a list: a dash at `column`, the text behind it.
pub(crate) fn push_item(out: &mut String, item: &str, column: usize) {
    out.push_str(&" ".repeat(column));
    out.push_str("- ");
    push_indented(out, item, 0, column + 2);
}

/// Adds lines with an indentation, and a line break at the end. Empty lines stay empty.
pub(crate) fn push_indented(out: &mut String, text: &str, first: usize, others: usize) {
    for (position, line) in text.lines().enumerate() {
        if !line.is_empty() {
            out.push_str(&" ".repeat(if position == 0 { first } else { others }));
        }
        out.push_str(line);
        out.push('\n');
    }
}

pub(crate) fn column(text: &str, at: usize) -> usize {
    at - line_start(text, at)
}

pub(crate) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
}

/// The start of the next line; `at` itself where a line starts there (a block scalar ends behind its line break).
pub(crate) fn line_after(text: &str, at: usize) -> usize {
    if at > 0 && text.get(..at).is_some_and(|before| before.ends_with('\n')) {
        return at;
    }
    text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |newline| at + newline + 1)
}

/// The next dash that starts a line, past blank lines and comments.
fn next_dash(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    for line in text.get(from..)?.split_inclusive('\n') {
        let content = line.trim_start_matches(' ');
        if content.starts_with('-') {
            return Some(at + line.len() - content.len());
        }
        if !content.trim_start().is_empty() && !content.starts_with('#') {
            return None;
        }
        at += line.len();
    }
    None
}

/// Where an item ends whose last value ends at `end`: with its line, the comments below that are indented deeper than
/// its dash, and blank lines (a block scalar may keep them).
pub(crate) fn content_end(text: &str, end: usize, dash_column: usize) -> usize {
    let mut at = line_after(text, end);
    for line in text.get(at..).unwrap_or_default().split_inclusive('\n') {
        let content = line.trim_start();
        let deeper = line.len() - line.trim_start_matches(' ').len() > dash_column;
        if content.is_empty() || (content.starts_with('#') && deeper) {
            at += line.len();
        } else {
            break;
        }
    }
    at
}
