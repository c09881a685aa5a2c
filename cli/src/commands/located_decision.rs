//! Decisions with the place of their object in the input.

use std::collections::BTreeMap;

use kubefoundry_compiler::Decision;
use kubefoundry_compiler::pipeline::OutputForm;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_diagnostics::source::SourceId;
use serde::Serialize;

use super::Run;
use super::source_locator::SourceLocator;

/// A decision with the location of its ModelDeployment. Line and column are those of its name, counted from 1.
#[derive(Serialize)]
pub(super) struct LocatedDecision<'r> {
    pub(super) file: &'r str,
    pub(super) document: usize,
    pub(super) line: usize,
    pub(super) column: usize,
    #[serde(flatten)]
    pub(super) decision: &'r Decision,
}

/// Adds the location of its ModelDeployment to each decision.
pub(super) fn locate_decisions<'r, O: OutputForm>(
    run: &'r Run<O>,
    locator: &mut SourceLocator<'r>,
) -> impl Iterator<Item = LocatedDecision<'r>> {
    let offsets = name_offsets(run);
    run.compilation.decisions.iter().map(move |decision| {
        let start = offsets.get(&(decision.source, decision.document, &decision.object)).copied().unwrap_or_default();
        let (file, position) = locator.locate(decision.source, start);
        LocatedDecision { file, document: decision.document, line: position.line, column: position.column, decision }
    })
}

/// Returns the byte offset of the name of each ModelDeployment, by text, document index and object.
pub(super) fn name_offsets<O: OutputForm>(run: &Run<O>) -> BTreeMap<(SourceId, usize, &ObjectRef), usize> {
    let decisions = &run.compilation.decisions;
    let objects =
        decisions.iter().map(|decision| ((decision.source, decision.document, decision.object.clone()), decision));
    let objects: BTreeMap<_, _> = objects.collect();
    let inputs = run.compilation.inputs.iter().filter_map(|input| {
        let decision = objects.get(&(input.source, input.index, input.header.object()))?;
        Some(((input.source, input.index, &decision.object), input.name_span.start))
    });
    inputs.collect()
}
