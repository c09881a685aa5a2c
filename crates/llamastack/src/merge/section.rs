//! Edits of a list: items that go, and items that come behind the others.

use serde_json::Value;

use super::Entry;
use super::expected::is_replaced;
use super::insert::{Edit, Editor, block};
use crate::json_line;
use kubefoundry_yaml::Node;

/// Appends to a list that is not empty, and takes out what one of `entries` replaces. The list is the value of a key.
pub(super) fn append(
    editor: &Editor<'_>,
    (parent, key, list): (&Node<'_>, &str, &Node<'_>),
    entries: &[&Entry],
    new: &[Value],
    edits: &mut Vec<Edit>,
) {
    if editor.is_alias(list) {
        let kept = list.items().iter().filter(|item| !is_replaced(item, entries)).map(Node::to_json);
        editor.set(parent, key, &kept.chain(new.iter().cloned()).collect(), edits);
    } else if editor.is_flow(list) {
        append_in_flow(editor, list, entries, new, edits);
    } else {
        append_lines(editor, list, entries, new, edits);
    }
}

fn append_in_flow(editor: &Editor<'_>, list: &Node<'_>, entries: &[&Entry], new: &[Value], edits: &mut Vec<Edit>) {
    let slice = |item: &Node<'_>| editor.text.get(item.span.start..item.span.end).unwrap_or_default().to_owned();
    let kept: Vec<&Node<'_>> = list.items().iter().filter(|item| !is_replaced(item, entries)).collect();
    let quote = list.items().last().map(slice).and_then(|last| last.chars().next());
    let new = new.iter().map(|value| match (value, quote) {
        // The names of APIs need no quotes, so they are written as the others are.
        (Value::String(name), Some('\'')) => format!("'{name}'"),
        (Value::String(name), quote) if quote != Some('"') => name.clone(),
        _ => json_line(value),
    });
    let all = kept.len() == list.items().len();
    if let Some(last) = kept.last().filter(|_| all) {
        let text: String = new.flat_map(|item| [", ".to_owned(), item]).collect();
        edits.push(Edit { start: last.span.end, end: last.span.end, text, is_lines: false });
    } else {
        let items: Vec<String> = kept.into_iter().map(slice).chain(new).collect();
        let text = format!("[{}]", items.join(", "));
        edits.push(Edit { start: list.span.start, end: list.span.end, text, is_lines: false });
    }
}

fn append_lines(editor: &Editor<'_>, list: &Node<'_>, entries: &[&Entry], new: &[Value], edits: &mut Vec<Edit>) {
    let column = editor.column(list.span.start);
    let mut end = list.span.start;
    for item in list.items() {
        let dash = dash(editor, end, item.span.start, column);
        end = editor.line_after(item).max(editor.next_line(dash + column + 1));
        if is_replaced(item, entries) {
            edits.push(Edit { start: dash, end, text: String::new(), is_lines: false });
        }
    }
    edits.push(editor.lines(end, &block(&Value::from(new.to_vec()), column)));
}

/// The start of the line that an item's dash is in: between the item before it and its own text there may be comments.
fn dash(editor: &Editor<'_>, from: usize, to: usize, column: usize) -> usize {
    let mut found = from - editor.column(from);
    let mut at = found;
    for line in editor.text.get(at..to).unwrap_or_default().split_inclusive('\n') {
        let (indentation, rest) = line.split_at_checked(column).unwrap_or_default();
        if indentation.bytes().all(|byte| byte == b' ') && rest.starts_with('-') {
            found = at;
        }
        at += line.len();
    }
    found
}
