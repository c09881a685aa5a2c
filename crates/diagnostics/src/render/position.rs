//! Conversion of byte offsets to lines and columns.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::Diagnostic;
use crate::source::{SourceId, SourceSet};
use kubefoundry_yaml::Span;
use kubefoundry_yaml::secret::{mask_lines_in_place, replace_in_place};

/// A position in a text as editors count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in Unicode scalar values.
    pub column: usize,
}

/// An index of the lines of a text, for many lookups. It takes 1.6 % of the text's size, however many lines there are.
///
/// ```
/// use kubefoundry_diagnostics::render::LineIndex;
/// let text = "a: é1\nb: 2\n";
/// let index = LineIndex::new(text);
/// let at = index.position(text.find('1').unwrap());
/// assert_eq!((at.line, at.column), (1, 5));
/// assert_eq!(index.lines(2, 9), "b: 2\n");
/// ```
#[derive(Debug)]
pub struct LineIndex<'t> {
    text: &'t str,
    blocks: Vec<Block>,
    /// The parts that findings declare to be secrets.
    secrets: Vec<Span>,
}

/// Counts of the text before a block of [`BLOCK_BYTES`] bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    breaks: usize,
    /// Characters since the last line break. A line can span many blocks.
    characters: usize,
}

/// Bytes per block, which is the most that a lookup scans.
const BLOCK_BYTES: usize = 1024;

impl<'t> LineIndex<'t> {
    /// Indexes the lines of `text`.
    pub fn new(text: &'t str) -> Self {
        let mut next = Block::default();
        let blocks = text.as_bytes().chunks(BLOCK_BYTES).map(|bytes| {
            let block = next;
            next = block.after(bytes);
            block
        });
        Self { text, blocks: blocks.collect(), secrets: Vec::new() }
    }

    /// Returns the position of a byte offset. An offset past the end has the position of the end.
    pub fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let block = (offset / BLOCK_BYTES).min(self.blocks.len().saturating_sub(1));
        let before = self.text.as_bytes().get(block * BLOCK_BYTES..offset).unwrap_or_default();
        let Block { breaks, characters } = self.blocks.get(block).copied().unwrap_or_default().after(before);
        Position { line: breaks + 1, column: characters + 1 }
    }

    /// Returns the byte offset at which a line, counted from 1, starts. A line past the last one starts at the end.
    pub fn line_start(&self, line: usize) -> usize {
        let Some(wanted) = line.checked_sub(2) else { return 0 };
        // The last block that starts before the line break with the number `wanted`, counted from 0.
        let block = self.blocks.partition_point(|block| block.breaks <= wanted).saturating_sub(1);
        let skipped = wanted - self.blocks.get(block).map_or(0, |block| block.breaks);
        let rest = self.text.as_bytes().get(block * BLOCK_BYTES..).unwrap_or_default();
        let line_break = rest.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(skipped);
        line_break.map_or(self.text.len(), |(at, _)| block * BLOCK_BYTES + at + 1)
    }

    /// Returns a range of whole lines without secrets, each replaced by as many bytes.
    pub(super) fn mask_lines(&self, lines: Range<usize>) -> Cow<'t, str> {
        let masked = mask_lines_in_place(self.text, lines.clone());
        let declared = self.secrets.iter().filter(|span| span.start < lines.end && span.end > lines.start);
        let declared =
            declared.map(|span| span.start.max(lines.start) - lines.start..span.end.min(lines.end) - lines.start);
        let declared: Vec<_> = declared.collect();
        if declared.is_empty() { masked } else { Cow::Owned(replace_in_place(&masked, &declared).into_owned()) }
    }

    /// Whether a range has a part that reports must not show.
    pub(super) fn has_secret(&self, range: Span) -> bool {
        let lines =
            self.line_start(self.position(range.start).line)..self.line_start(self.position(range.end).line + 1);
        let text = self.text.get(lines.clone()).unwrap_or_default();
        let masked = self.mask_lines(lines.clone());
        let inside = range.start - lines.start..range.end - lines.start;
        text.get(inside.clone()) != masked.get(inside)
    }

    /// Returns the lines from `first` to `last`, inclusive.
    pub fn lines(&self, first: usize, last: usize) -> &'t str {
        self.text.get(self.line_start(first)..self.line_start(last + 1)).unwrap_or_default()
    }
}

impl Block {
    /// Returns the counts after these bytes.
    fn after(self, bytes: &[u8]) -> Self {
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => {
                let line = bytes.get(at + 1..).unwrap_or_default();
                Self { breaks: self.breaks + count_line_breaks(bytes), characters: count_characters(line) }
            }
            None => Self { breaks: self.breaks, characters: self.characters + count_characters(bytes) },
        }
    }
}

/// Counts the characters that start in these bytes. A block may end inside a character.
fn count_characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte & 0xC0) != 0x80).count()
}

#[expect(clippy::naive_bytecount, reason = "the compiler vectorizes it; a crate for it is not worth having")]
fn count_line_breaks(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// Indexes every source with findings, once per source.
pub(super) fn line_indexes<'s>(
    diagnostics: &[Diagnostic],
    sources: &'s SourceSet,
) -> BTreeMap<SourceId, LineIndex<'s>> {
    let mut indexes = BTreeMap::new();
    for diagnostic in diagnostics {
        let related = diagnostic.related.iter().map(|related| &related.location);
        for location in diagnostic.location.iter().chain(related) {
            indexes.entry(location.source).or_insert_with(|| LineIndex::new(&sources.get(location.source).text));
        }
        let own = diagnostic.location.as_ref().and_then(|location| indexes.get_mut(&location.source));
        if let Some(index) = own.filter(|_| !diagnostic.secrets.is_empty()) {
            index.secrets.extend(&diagnostic.secrets);
            index.secrets.sort_unstable_by_key(|span| span.start);
            index.secrets.dedup();
        }
    }
    indexes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares every offset and every line with a character-by-character count, across the borders of blocks.
    #[test]
    fn matches_counting_one_character_at_a_time() {
        for piece in ["a: \u{e9}\n", "\n", "long line without an end ", "\u{1f600}\n\nb\r\n"] {
            let text = piece.repeat(3 * BLOCK_BYTES / piece.len());
            let index = LineIndex::new(&text);
            let (mut line, mut column, mut start) = (1, 1, 0);
            for (offset, c) in text.char_indices() {
                assert_eq!(index.position(offset), Position { line, column }, "{piece:?} {offset}");
                assert_eq!(index.line_start(line), start, "{piece:?} {line}");
                (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
                start = if c == '\n' { offset + 1 } else { start };
            }
            assert_eq!(index.position(usize::MAX), Position { line, column }, "{piece:?}");
            assert_eq!(
                (index.line_start(0), index.line_start(1), index.line_start(line + 1)),
                (0, 0, text.len()),
                "{piece:?}"
            );
        }
        assert_eq!(LineIndex::new("").position(0), Position { line: 1, column: 1 });
    }
}
