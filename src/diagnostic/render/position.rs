//! Byte offsets to lines and columns.

use std::collections::BTreeMap;

use crate::diagnostic::Diagnostic;
use crate::source::{SourceId, SourceSet};

/// A place in a text as editors count: both from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in Unicode scalar values.
    pub column: usize,
}

/// The line starts of a text, so that many offsets can be looked up.
///
/// ```
/// use kubefoundry::diagnostic::render::LineIndex;
/// let text = "a: é1\nb: 2\n";
/// let index = LineIndex::new(text);
/// let at = index.position(text.find('1').unwrap());
/// assert_eq!((at.line, at.column), (1, 5));
/// assert_eq!(index.lines(2, 9), "b: 2\n");
/// ```
#[derive(Debug)]
pub struct LineIndex<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> LineIndex<'t> {
    /// Reads the line starts of `text`.
    pub fn new(text: &'t str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(offset, _)| offset + 1);
        Self { text, starts: std::iter::once(0).chain(breaks).collect() }
    }

    /// The position of a byte offset; past the end it is the end.
    pub fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.start(line);
        let column = self.text.get(start..offset).map_or(1, |before| before.chars().count() + 1);
        Position { line, column }
    }

    /// The byte offset at which a line starts; past the last line it is the end.
    pub fn start(&self, line: usize) -> usize {
        self.starts.get(line.saturating_sub(1)).copied().unwrap_or(self.text.len())
    }

    /// The lines from `first` to `last`, both included.
    pub fn lines(&self, first: usize, last: usize) -> &'t str {
        self.text.get(self.start(first)..self.start(last + 1)).unwrap_or_default()
    }
}

/// The line index of every source that findings are in: each is made once, however many findings there are.
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
    }
    indexes
}
