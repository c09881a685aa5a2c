//! The result of a run with its input, and the places of objects in that input.

use std::collections::BTreeMap;

use kubefoundry_compiler::{Compilation, Decision};
use kubefoundry_diagnostics::render::{JsonFindings, LineIndex, Position, json_findings};
use kubefoundry_diagnostics::source::{SourceId, SourceSet};
use kubefoundry_diagnostics::{Location, ObjectRef};
use serde::Serialize;
use serde_json::Value;

/// Where texts come from that are built from other texts of the input.
pub trait Origins {
    /// Returns where the name of the object at an offset of a built text was written; `None` for a text that was not
    /// built.
    fn trace_name(&self, sources: &SourceSet, id: SourceId, offset: usize) -> Option<Location>;
}

/// The origins of an input that was not built.
pub struct AsWritten;

impl Origins for AsWritten {
    fn trace_name(&self, _sources: &SourceSet, _id: SourceId, _offset: usize) -> Option<Location> {
        None
    }
}

/// The result of a run, together with its input.
pub struct RunResult<'r, O = Value> {
    /// The input.
    pub sources: &'r SourceSet,
    /// The files that built texts come from.
    pub origins: &'r dyn Origins,
    /// What the input was compiled to.
    pub compilation: &'r Compilation<O>,
}

impl<O> Clone for RunResult<'_, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O> Copy for RunResult<'_, O> {}

impl<'r, O> RunResult<'r, O> {
    /// Returns what converts byte offsets of the input to lines and columns.
    pub fn locator(self) -> SourceLocator<'r> {
        SourceLocator { sources: self.sources, origins: self.origins, lines: BTreeMap::new() }
    }

    /// Converts the findings to JSON, in the form that all JSON reports use.
    pub fn findings_json(self) -> JsonFindings {
        json_findings(&self.compilation.diagnostics, self.sources)
    }

    /// Adds the location of its object to each decision.
    pub fn locate_decisions(self, locator: &mut SourceLocator<'r>) -> impl Iterator<Item = LocatedDecision<'r>> {
        let offsets = self.name_offsets();
        self.compilation.decisions.iter().map(move |decision| {
            let start =
                offsets.get(&(decision.source, decision.document, &decision.object)).copied().unwrap_or_default();
            let (file, position) = locator.locate(decision.source, start);
            LocatedDecision {
                file,
                document: decision.document,
                line: position.line,
                column: position.column,
                decision,
            }
        })
    }

    /// Returns the byte offset of the name of each object with a decision, by text, document index and object.
    pub fn name_offsets(self) -> BTreeMap<(SourceId, usize, &'r ObjectRef), usize> {
        let decisions = &self.compilation.decisions;
        let objects =
            decisions.iter().map(|decision| ((decision.source, decision.document, decision.object.clone()), decision));
        let objects: BTreeMap<_, _> = objects.collect();
        let inputs = self.compilation.inputs.iter().filter_map(|input| {
            let decision = objects.get(&(input.source, input.index, input.header.object()))?;
            Some(((input.source, input.index, &decision.object), input.name_span.start))
        });
        inputs.collect()
    }
}

/// A decision with the location of the name of its object. Lines and columns count from 1.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LocatedDecision<'r> {
    /// The file, as it was given; `-` is standard input.
    pub file: &'r str,
    /// The position of the document in the file, from 0.
    pub document: usize,
    /// The line of its name, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub line: usize,
    /// The column of its name, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub column: usize,
    /// The decision.
    #[serde(flatten)]
    pub decision: &'r Decision,
}

/// Converts byte offsets to lines and columns. The line starts of each text are computed only once.
pub struct SourceLocator<'r> {
    sources: &'r SourceSet,
    origins: &'r dyn Origins,
    lines: BTreeMap<SourceId, LineIndex<'r>>,
}

impl<'r> SourceLocator<'r> {
    /// Returns the name of a text and the position of the byte offset in it that the name of an object has. For an object
    /// that kustomize built, that is the file that names it.
    pub fn locate(&mut self, source: SourceId, offset: usize) -> (&'r str, Position) {
        let traced = self.origins.trace_name(self.sources, source, offset);
        let (source, offset) = traced.map_or((source, offset), |location| (location.source, location.span.start));
        let text = self.sources.get(source);
        let lines = self.lines.entry(source).or_insert_with(|| LineIndex::new(&text.text));
        (&text.name, lines.position(offset))
    }
}
