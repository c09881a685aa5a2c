//! Positions of the parts of a block-style text.

use std::ops::Range;

use crate::{Node, Value};

/// An item of a block-style sequence with the comments that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockItem {
    /// Bytes from the end of the previous item, so comments above the dash are included, to the end of its last line,
    /// including deeper comments and blank lines after it.
    pub range: Range<usize>,
    /// Offset of the dash.
    pub dash: usize,
}

/// Returns the items of the block-style sequence `list`. Together they cover the text from byte `from` to the end of
/// the list. The result ends early if a dash is not where it is expected.
///
/// ```
/// use kubefoundry_yaml::{Limits, edit::block_items, parse};
/// let text = "items:\n# first\n- a\n  # below\n- b\n";
/// let parsed = parse(text, &Limits::default());
/// let items = block_items(text, parsed.documents[0].root.get("items").unwrap(), 7);
/// assert_eq!(&text[items[0].range.clone()], "# first\n- a\n  # below\n");
/// assert_eq!(items[1].dash, 29);
/// ```
pub fn block_items(text: &str, list: &Node<'_>, from: usize) -> Vec<BlockItem> {
    let mut items = Vec::new();
    let mut start = from;
    let mut dash = Some(list.span.start);
    for item in list.items() {
        let Some(at) = dash else { break };
        let end = content_end(text, item.span.end.max(at + 1), column(text, at) + 1);
        items.push(BlockItem { range: start..end, dash: at });
        start = end;
        dash = next_dash(text, end).filter(|next| column(text, *next) == column(text, list.span.start));
    }
    items
}

/// Returns the number of bytes between the start of the line and `at`.
pub(super) fn column(text: &str, at: usize) -> usize {
    at - line_start(text, at)
}

/// Returns the start of the line of `at`. The first line starts after a byte order mark.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(mark.min(at), |newline| newline + 1)
}

/// Returns the start of the next line, or `at` if a line starts there.
pub(super) fn line_after(text: &str, at: usize) -> usize {
    if at > 0 && text.get(..at).is_some_and(|before| before.ends_with('\n')) {
        return at;
    }
    text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |newline| at + newline + 1)
}

/// Returns the first position from `at` on that is neither a space nor a tab.
pub(super) fn skip_blanks(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.len() - rest.trim_start_matches([' ', '\t']).len()
}

/// Whether only spaces precede `at` on its line.
pub(super) fn is_first_on_line(text: &str, at: usize) -> bool {
    text.get(line_start(text, at)..at).is_some_and(|before| before.bytes().all(|byte| byte == b' '))
}

/// Like [`content_end`], but without trailing blank lines, unless `node` ends in a block scalar, whose content they may
/// be.
pub(super) fn part_end(text: &str, node: &Node<'_>, end: usize, indent: usize) -> usize {
    let (shortest, longest) = (line_after(text, end), content_end(text, end, indent));
    if ends_in_block_scalar(text, node) {
        return longest;
    }
    let following = text.get(shortest..longest).unwrap_or_default();
    let blank = following.split_inclusive('\n').rev().take_while(|line| line.trim().is_empty());
    longest - blank.map(str::len).sum::<usize>()
}

/// Returns the end of the line of `end`, plus the blank lines and the comments indented by at least `indent` below it.
pub(super) fn content_end(text: &str, end: usize, indent: usize) -> usize {
    let mut at = line_after(text, end);
    for line in text.get(at..).unwrap_or_default().split_inclusive('\n') {
        let content = line.trim_start();
        let is_inside = line.len() - line.trim_start_matches(' ').len() >= indent;
        if !(content.is_empty() || content.starts_with('#') && is_inside) {
            break;
        }
        at += line.len();
    }
    at
}

/// Returns the next dash that starts a line, after blank lines and comments only.
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

fn ends_in_block_scalar(text: &str, node: &Node<'_>) -> bool {
    let at_end = |child: &&Node<'_>| child.span.end == node.span.end;
    let mut leaf = node;
    while let Some(inner) = match &leaf.value {
        Value::Sequence(items) => items.iter().rev().find(at_end),
        Value::Mapping(entries) => entries.iter().rev().map(|entry| &entry.node).find(at_end),
        _ => None,
    } {
        leaf = inner;
    }
    text.get(leaf.span.start..).is_some_and(|rest| rest.starts_with(['|', '>']))
}
