//! A `ResourceList` in block style: where each item starts and ends, and how a list in brackets is brought into that
//! style.

use std::ops::Range;

use kubefoundry_yaml::edit::{BlockItem, block_items};
use kubefoundry_yaml::{Node, Value};

use crate::envelope::Envelope;

/// Whether items can be edited where they stand: a block-style list in a block-style document, or one without items.
pub(crate) fn is_block(envelope: &Envelope<'_>) -> bool {
    let starts_with =
        |node: &Node<'_>, open: &str| envelope.text.get(node.span.start..).is_some_and(|text| text.starts_with(open));
    let list = envelope.root().get("items").filter(|items| !items.items().is_empty());
    !starts_with(envelope.root(), "{") && list.is_none_or(|list| starts_with(list, "-"))
}

/// The items of a list in block style, with the comments above them.
pub(crate) fn items(envelope: &Envelope<'_>) -> Vec<BlockItem> {
    let Some(entry) = envelope.root().entry("items").filter(|_| is_block(envelope)) else { return Vec::new() };
    let key_end = entry.key_span.end;
    let line = envelope.text.get(key_end..).and_then(|rest| rest.find('\n')).map_or(key_end, |end| key_end + end + 1);
    block_items(envelope.text, &entry.node, line.min(entry.node.span.start))
}

/// An item as a document of its own: its dash becomes a blank, so that every other byte keeps its line and column.
pub(crate) fn item_text(text: &str, item: &BlockItem) -> String {
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    format!("{} {}", part(item.range.start..item.dash), part(item.dash + 1..item.range.end))
}

/// The whole list in block style, with the values as they were written.
pub(crate) fn to_block(envelope: &Envelope<'_>) -> String {
    let slice = |node: &Node<'_>| envelope.text.get(node.span.start..node.span.end).unwrap_or_default();
    let mut out = String::new();
    for entry in envelope.root().entries() {
        out.push_str(envelope.text.get(entry.key_span.start..entry.key_span.end).unwrap_or_default());
        out.push(':');
        match &entry.node.value {
            Value::Sequence(items) if entry.key == "items" && !items.is_empty() => {
                out.push('\n');
                for item in items {
                    out.push_str("- ");
                    push_indented(&mut out, &envelope.alone(item).0, 0);
                }
            }
            Value::Mapping(_) | Value::Sequence(_) if !slice(&entry.node).starts_with(['{', '[']) => {
                out.push('\n');
                push_indented(&mut out, &envelope.alone(&entry.node).0, 2);
            }
            _ => {
                out.push(' ');
                push_indented(&mut out, slice(&entry.node), 0);
            }
        }
    }
    out
}

/// Adds lines, all but the first of them indented by two more columns, and a line break at the end.
fn push_indented(out: &mut String, text: &str, first: usize) {
    for (position, line) in text.lines().enumerate() {
        if !line.is_empty() {
            out.push_str(&" ".repeat(if position == 0 { first } else { 2 }));
        }
        out.push_str(line);
        out.push('\n');
    }
}
