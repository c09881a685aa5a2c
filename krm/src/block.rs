//! A `ResourceList` in block style: finds the text range of each item, and converts a flow-style list to block style.

use kubefoundry_yaml::edit::{BlockItem, block_items};
use kubefoundry_yaml::{Node, Span, Value};

use crate::envelope::Envelope;

/// Whether items can be edited in place: the document and its list of items have block style, or the list is empty.
pub(crate) fn is_block(envelope: &Envelope<'_>) -> bool {
    let starts_with =
        |node: &Node<'_>, open: &str| envelope.text.get(node.span.start..).is_some_and(|text| text.starts_with(open));
    let list = envelope.root().get("items").filter(|items| !items.items().is_empty());
    !starts_with(envelope.root(), "{") && list.is_none_or(|list| starts_with(list, "-"))
}

/// Returns the items of a list in block style, each with the comments above it.
pub(crate) fn find_items(envelope: &Envelope<'_>) -> Vec<BlockItem> {
    let Some(entry) = envelope.root().entry("items").filter(|_| is_block(envelope)) else { return Vec::new() };
    let key_end = entry.key_span.end;
    let line = envelope.text.get(key_end..).and_then(|rest| rest.find('\n')).map_or(key_end, |end| key_end + end + 1);
    block_items(envelope.text, &entry.node, line.min(entry.node.span.start))
}

/// Converts an item to a document: its dash becomes a space, so that all other text keeps its line and column.
pub(crate) fn item_text(text: &str, item: &BlockItem) -> String {
    let (before, after) =
        (Span { start: item.range.start, end: item.dash }, Span { start: item.dash + 1, end: item.range.end });
    format!("{} {}", before.of(text), after.of(text))
}

/// Converts the whole list to block style and keeps the text of the values.
pub(crate) fn to_block_style(envelope: &Envelope<'_>) -> String {
    let slice = |node: &Node<'_>| node.span.of(envelope.text);
    let mut out = String::new();
    for entry in envelope.root().entries() {
        out.push_str(entry.key_span.of(envelope.text));
        out.push(':');
        match &entry.node.value {
            Value::Sequence(items) if entry.key == "items" && !items.is_empty() => {
                out.push('\n');
                for item in items {
                    out.push_str("- ");
                    push_indented(&mut out, &envelope.extract_text(item).0, 0);
                }
            }
            Value::Mapping(_) | Value::Sequence(_) if !slice(&entry.node).starts_with(['{', '[']) => {
                out.push('\n');
                push_indented(&mut out, &envelope.extract_text(&entry.node).0, 2);
            }
            _ => {
                out.push(' ');
                push_indented(&mut out, slice(&entry.node), 0);
            }
        }
    }
    out
}

/// Appends lines: the first indented by `first_indent` spaces, the others by two. The last line gets a line break.
fn push_indented(out: &mut String, text: &str, first_indent: usize) {
    for (position, line) in text.lines().enumerate() {
        if !line.is_empty() {
            out.push_str(&" ".repeat(if position == 0 { first_indent } else { 2 }));
        }
        out.push_str(line);
        out.push('\n');
    }
}
