//! Checks for what the parser accepts but go-yaml refuses or reads differently: tabs, anchor names, line breaks of YAML
//! 1.1.

use super::Span;

/// U+0085, U+2028 and U+2029 break lines in YAML 1.1 only.
const SEPARATORS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// Whether a text contains anything that [`find_refused_in_gap`] or [`find_refused_in_scalar`] could refuse.
pub(super) fn is_suspicious(text: &str) -> bool {
    text.contains('\t') || (!text.is_ascii() && text.contains(SEPARATORS))
}

/// The context of a gap between two tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct GapContext {
    /// The gap is inside `[]` or `{}`, where tabs are allowed.
    pub(super) in_flow: bool,
    /// The gap starts at the beginning of a line.
    pub(super) at_line_start: bool,
    /// Start of the collection that holds the plain scalar before the gap, if there is one. Tabs that are indented
    /// deeper may continue that scalar.
    pub(super) plain_scalar_start: Option<usize>,
}

/// Returns the first character in the gap that a YAML 1.1 reader refuses, with a message.
pub(super) fn find_refused_in_gap(text: &str, gap: Span, before: GapContext) -> Option<(Span, &'static str)> {
    let content = text.get(gap.start..gap.end)?;
    let (mut line_start, mut indicator, mut comment, mut property) = (before.at_line_start, false, false, false);
    if before.in_flow && !content.contains(SEPARATORS) {
        return None;
    }
    let mut plain = before.plain_scalar_start.filter(|_| content.contains('\t')).map(|start| column(text, start) + 1);
    let mut column = 0;
    for (at, found) in content.char_indices() {
        let span = Span { start: gap.start + at, end: gap.start + at + found.len_utf8() };
        if SEPARATORS.contains(&found) {
            return Some((
                span,
                "a line separator character, which YAML readers disagree on; expected an ordinary line break",
            ));
        }
        if matches!(found, '\n' | '\r') {
            (line_start, indicator, comment, property, column) = (true, false, false, false, 0);
            continue;
        }
        column += 1;
        match found {
            _ if comment => {}
            ' ' => property = false,
            '\t' => {
                let trailing = line_start && plain.is_some_and(|from| column > from);
                if !before.in_flow && (line_start || indicator) && !trailing {
                    return Some((span, "a tab as indentation; expected spaces"));
                }
                property = false;
            }
            '#' => (comment, plain) = (true, None),
            _ if property => {}
            '&' | '!' => (property, indicator, line_start) = (true, false, false),
            '-' | '?' => (indicator, line_start, plain) = (true, false, None),
            // The colon of an explicit key.
            ':' => (indicator, line_start, plain) = (line_start, false, None),
            _ => (indicator, line_start) = (false, false),
        }
    }
    None
}

/// Returns the first separator in a scalar that a YAML 1.1 reader would fold or treat as a line end, with a message.
pub(super) fn find_refused_in_scalar(text: &str, span: Span, quoted: bool) -> Option<(Span, &'static str)> {
    let content = text.get(span.start..span.end)?;
    let (at, found) = content.char_indices().find(|(at, found)| {
        let blank = |near: Option<char>| near.is_some_and(char::is_whitespace);
        let after = at + found.len_utf8();
        let apart = || {
            !blank(content.get(..*at).and_then(|rest| rest.chars().next_back()))
                && !blank(content.get(after..).and_then(|rest| rest.chars().next()))
        };
        SEPARATORS.contains(found) && !(quoted && *found != '\u{85}' && apart())
    })?;
    let span = Span { start: span.start + at, end: span.start + at + found.len_utf8() };
    Some((span, "a line separator character, which YAML readers disagree on; expected an escape in double quotes"))
}

/// Whether YAML 1.1 readers accept this name of an anchor.
pub(super) fn is_anchor_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Returns the column of `at` in bytes, looking back at most 1024 bytes, so that a very long line is not scanned for
/// every gap.
fn column(text: &str, at: usize) -> usize {
    const MAX_LOOKBACK_BYTES: usize = 1024;
    let before = text.as_bytes().get(at.saturating_sub(MAX_LOOKBACK_BYTES)..at).unwrap_or_default();
    before.iter().rev().take_while(|byte| !matches!(byte, b'\n' | b'\r')).count()
}
