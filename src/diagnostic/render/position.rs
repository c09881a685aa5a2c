//! Byte offsets to lines and columns.

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
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let column = self.text.get(start..offset).map_or(1, |before| before.chars().count() + 1);
        Position { line, column }
    }
}
