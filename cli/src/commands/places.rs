//! Where things stand in the input.

use std::collections::BTreeMap;

use kubefoundry_diagnostics::render::{LineIndex, Position};
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::source::SourceSet;

/// Lines and columns in the input; the line starts of a text are looked for once.
pub(super) struct Places<'r> {
    sources: &'r SourceSet,
    lines: BTreeMap<SourceId, LineIndex<'r>>,
}

impl<'r> Places<'r> {
    pub(super) fn new(sources: &'r SourceSet) -> Self {
        Self { sources, lines: BTreeMap::new() }
    }

    /// The name of a text, and the position of an offset in it.
    pub(super) fn at(&mut self, source: SourceId, offset: usize) -> (&'r str, Position) {
        let text = self.sources.get(source);
        let lines = self.lines.entry(source).or_insert_with(|| LineIndex::new(&text.text));
        (&text.name, lines.position(offset))
    }
}
