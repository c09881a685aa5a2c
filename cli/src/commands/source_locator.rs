//! Lines and columns of byte offsets in the input.

use std::collections::BTreeMap;

use kubefoundry_diagnostics::render::{LineIndex, Position};
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::source::SourceSet;

use crate::input::Origins;

/// Converts byte offsets to lines and columns. The line starts of each text are computed only once.
pub(super) struct SourceLocator<'r> {
    sources: &'r SourceSet,
    origins: &'r Origins,
    lines: BTreeMap<SourceId, LineIndex<'r>>,
}

impl<'r> SourceLocator<'r> {
    pub(super) fn new(sources: &'r SourceSet, origins: &'r Origins) -> Self {
        Self { sources, origins, lines: BTreeMap::new() }
    }

    /// Returns the name of a text and the position of the byte offset in it that the name of an object has. For an object
    /// that kustomize built, that is the file that names it.
    pub(super) fn locate(&mut self, source: SourceId, offset: usize) -> (&'r str, Position) {
        let traced = self.origins.trace_name(self.sources, source, offset);
        let (source, offset) = traced.map_or((source, offset), |location| (location.source, location.span.start));
        let text = self.sources.get(source);
        let lines = self.lines.entry(source).or_insert_with(|| LineIndex::new(&text.text));
        (&text.name, lines.position(offset))
    }
}
