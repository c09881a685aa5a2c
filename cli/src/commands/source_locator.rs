//! Lines and columns of byte offsets in the input.

use std::collections::BTreeMap;

use kubefoundry_diagnostics::render::{LineIndex, Position};
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::source::SourceSet;

/// Converts byte offsets to lines and columns. The line starts of each text are computed only once.
pub(super) struct SourceLocator<'r> {
    sources: &'r SourceSet,
    lines: BTreeMap<SourceId, LineIndex<'r>>,
}

impl<'r> SourceLocator<'r> {
    pub(super) fn new(sources: &'r SourceSet) -> Self {
        Self { sources, lines: BTreeMap::new() }
    }

    /// Returns the name of a text and the position of a byte offset in it.
    pub(super) fn locate(&mut self, source: SourceId, offset: usize) -> (&'r str, Position) {
        let text = self.sources.get(source);
        let lines = self.lines.entry(source).or_insert_with(|| LineIndex::new(&text.text));
        (&text.name, lines.position(offset))
    }
}
