//! Replacements of bytes.

use std::collections::BTreeMap;

use crate::Span;

/// A replacement of a range of bytes in a text.
///
/// ```
/// use kubefoundry_yaml::edit::TextEdit;
/// let quoted = TextEdit::replace(3, 5, "\"on\"");
/// assert_eq!((quoted.range.start, quoted.range.end, quoted.replacement.as_str()), (3, 5, "\"on\""));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// The bytes to replace. An empty range inserts at its position.
    pub range: Span,
    /// The new text.
    pub replacement: String,
}

impl TextEdit {
    /// Creates an edit that replaces the bytes `start..end`.
    pub fn replace(start: usize, end: usize, replacement: impl Into<String>) -> Self {
        Self { range: Span { start, end }, replacement: replacement.into() }
    }
}

/// Applies edits that do not overlap. Edits at one position are applied in the given order. An edit that overlaps an
/// earlier one, or whose range is not in the text, is skipped.
///
/// ```
/// use kubefoundry_yaml::edit::{TextEdit, apply_edits};
/// let edits = [TextEdit::replace(4, 5, "9"), TextEdit::replace(0, 0, "# counted\n")];
/// assert_eq!(apply_edits("a: 1\nb: 2\n", &[]), "a: 1\nb: 2\n");
/// assert_eq!(apply_edits("ab: 1\n", &edits), "# counted\nab: 9\n");
/// ```
pub fn apply_edits<'e>(text: &str, edits: impl IntoIterator<Item = &'e TextEdit>) -> String {
    let mut edits: Vec<&TextEdit> = edits.into_iter().collect();
    edits.sort_by_key(|edit| edit.range);
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for TextEdit { range, replacement } in edits {
        let fits = range.start >= copied && text.get(range.start..range.end).is_some();
        if let Some(between) = text.get(copied..range.start).filter(|_| fits) {
            out.push_str(between);
            out.push_str(replacement);
            copied = range.end;
        }
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

/// Applies groups of edits, each group completely or not at all. A group that touches bytes of an earlier group, or
/// that inserts at the same position, is skipped. Returns the text and the number of applied groups.
///
/// ```
/// use kubefoundry_yaml::edit::{TextEdit, apply_groups};
/// let (first, second) = ([TextEdit::replace(3, 5, "\"on\"")], [TextEdit::replace(3, 5, "true")]);
/// let groups = [first.as_slice(), second.as_slice()];
/// assert_eq!(apply_groups("a: on # why\n", groups), ("a: \"on\" # why\n".to_owned(), 1));
/// ```
pub fn apply_groups<'e>(text: &str, groups: impl IntoIterator<Item = &'e [TextEdit]>) -> (String, usize) {
    let mut chosen: BTreeMap<usize, &TextEdit> = BTreeMap::new();
    let mut applied = 0;
    for group in groups {
        let fits = |edit: &TextEdit| text.get(edit.range.start..edit.range.end).is_some() && !touches(edit, &chosen);
        if group.iter().all(fits) {
            chosen.extend(group.iter().map(|edit| (edit.range.start, edit)));
            applied += 1;
        }
    }
    (apply_edits(text, chosen.into_values()), applied)
}

/// Whether an edit overlaps one of `others` or inserts at the same position. The others do not overlap each other, so
/// only the last one that starts before the edit's end can reach into it.
fn touches(edit: &TextEdit, others: &BTreeMap<usize, &TextEdit>) -> bool {
    let Span { start, end } = edit.range;
    let before = others.range(..end.max(start + 1)).next_back();
    before.is_some_and(|(at, other)| *at == start || other.range.end > start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(edits: &[(usize, usize, &str)]) -> Vec<TextEdit> {
        edits.iter().map(|(start, end, replacement)| TextEdit::replace(*start, *end, *replacement)).collect()
    }

    fn applied(text: &str, groups: &[Vec<TextEdit>]) -> (String, usize) {
        apply_groups(text, groups.iter().map(Vec::as_slice))
    }

    #[test]
    fn applies_edits_in_text_order() {
        let groups = [group(&[(6, 7, "Z")]), group(&[(0, 1, "xx"), (4, 4, "!")])];
        assert_eq!(applied("abcdefgh", &groups), ("xxbcd!efZh".to_owned(), 2));
    }

    #[test]
    fn skips_an_overlapping_group_as_a_whole() {
        let groups = [group(&[(2, 4, "-")]), group(&[(0, 1, "X"), (3, 5, "Y")]), group(&[(2, 4, "-")])];
        assert_eq!(applied("abcdef", &groups), ("ab-ef".to_owned(), 1));
        assert_eq!(applied("ab", &[group(&[(1, 1, "x")]), group(&[(1, 1, "x")])]), ("axb".to_owned(), 1));
    }

    #[test]
    fn skips_a_range_outside_the_text_or_inside_a_character() {
        let groups = [group(&[(1, 2, "x")]), group(&[(5, 9, "x")])];
        assert_eq!(applied("é", &groups), ("é".to_owned(), 0));
        assert_eq!(apply_edits("é", groups.iter().flatten()), "é");
    }
}
