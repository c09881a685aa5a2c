//! Making the changes that findings offer.

use std::collections::BTreeMap;

use super::{Edit, Fix};
use kubefoundry_yaml::Span;

/// The text after the fixes, and how many were made. All edits of a fix are made, or none: one that touches bytes which
/// a fix before it replaced is left out, and is offered again, if it is still needed, by a run over the new text.
/// Everything outside the edits stays as it is: comments, quotes, line ends.
///
/// ```
/// use kubefoundry_diagnostics::{Edit, Fix, fix};
/// use kubefoundry_yaml::Span;
/// let quote = Fix { title: "quote".into(), edits: vec![Edit { span: Span { start: 3, end: 5 }, replacement: "\"on\"".into() }] };
/// assert_eq!(fix::apply("a: on # why\n", [&quote]), ("a: \"on\" # why\n".to_owned(), 1));
/// ```
pub fn apply<'f>(text: &str, fixes: impl IntoIterator<Item = &'f Fix>) -> (String, usize) {
    let mut chosen: BTreeMap<usize, &Edit> = BTreeMap::new();
    let mut made = 0;
    for fix in fixes {
        let fits = |edit: &Edit| text.get(edit.span.start..edit.span.end).is_some() && !touches(edit, &chosen);
        if fix.edits.iter().all(fits) {
            chosen.extend(fix.edits.iter().map(|edit| (edit.span.start, edit)));
            made += 1;
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for edit in chosen.values() {
        out.push_str(text.get(end..edit.span.start).unwrap_or_default());
        out.push_str(&edit.replacement);
        end = edit.span.end;
    }
    out.push_str(text.get(end..).unwrap_or_default());
    (out, made)
}

/// Whether an edit is about bytes that one of the others is about, or inserts where one inserts. The others do not
/// overlap, so only the last that starts before its end can reach into it.
fn touches(edit: &Edit, others: &BTreeMap<usize, &Edit>) -> bool {
    let Span { start, end } = edit.span;
    let before = others.range(..end.max(start + 1)).next_back();
    before.is_some_and(|(at, other)| *at == start || other.span.end > start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fix(edits: &[(usize, usize, &str)]) -> Fix {
        let edit = |(start, end, replacement): &(usize, usize, &str)| Edit {
            span: Span { start: *start, end: *end },
            replacement: (*replacement).to_owned(),
        };
        Fix { title: String::new(), edits: edits.iter().map(edit).collect() }
    }

    /// Findings are sorted by place, fixes need not be.
    #[test]
    fn edits_are_made_in_the_order_of_the_text() {
        let fixes = [fix(&[(6, 7, "Z")]), fix(&[(0, 1, "xx"), (4, 4, "!")])];
        assert_eq!(apply("abcdefgh", &fixes), ("xxbcd!efZh".to_owned(), 2));
    }

    /// Half a fix is none, and two that say the same are made once.
    #[test]
    fn what_overlaps_is_left_out_whole() {
        let fixes = [fix(&[(2, 4, "-")]), fix(&[(0, 1, "X"), (3, 5, "Y")]), fix(&[(2, 4, "-")])];
        assert_eq!(apply("abcdef", &fixes), ("ab-ef".to_owned(), 1));
        assert_eq!(apply("ab", &[fix(&[(1, 1, "x")]), fix(&[(1, 1, "x")])]), ("axb".to_owned(), 1));
    }

    /// Bytes that are not there, or half a character, are nobody's: nothing is changed, and nothing panics.
    #[test]
    fn what_does_not_fit_the_text_is_left_out() {
        assert_eq!(apply("é", &[fix(&[(1, 2, "x")]), fix(&[(5, 9, "x")])]), ("é".to_owned(), 0));
    }
}
