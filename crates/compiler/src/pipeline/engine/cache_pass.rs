//! A pass over the texts of a run that takes the results of unchanged documents from a cache.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use rayon::prelude::*;

use super::cached_units::{CachedText, CachedUnit, PlacedUnit, UnitCache, unit_key};
use super::document_stream::{self, CHUNK_BYTES, Mapper, PatternCosts};
use crate::pipeline::documents::document::Document;
use crate::pipeline::documents::document_splitter::{self, TextPart};
use crate::pipeline::documents::run_findings::RunFindings;
use crate::pipeline::field_effects::silent_fields::{Accounting, DeploymentPattern, SilentFields};
use crate::pipeline::read_order::first_texts::{Survey, must_be_read_first};
use crate::pipeline::read_order::read_plan::is_same_text;
use crate::pipeline::read_order::text_map::TextMap;
use crate::pipeline::rendering::environment::Environment;
use crate::pipeline::rendering::output_form::OutputForm;
use crate::pipeline::rendering::rule_step_allowance::allowance;
use crate::pipeline::results::document_results::{DocumentResults, TextPosition};
use crate::reading::Documents;
use kubefoundry_diagnostics::source::{Source, SourceId, SourceSet};
use kubefoundry_model::composition::Composition;
use kubefoundry_yaml as yaml;

/// A pass over the texts of a run.
pub(super) struct CachePass<'p, 't, O> {
    pub(super) sources: &'t SourceSet,
    pub(super) environment: &'p Environment<'p>,
    pub(super) survey: &'p Survey<'t>,
    pub(super) keeps_set: bool,
    pub(super) known: &'p UnitCache<O>,
    /// The texts of the last run.
    pub(super) before: &'p SourceSet,
    pub(super) accounting: Option<Accounting>,
    pub(super) results: DocumentResults<'t, O>,
    pub(super) texts: TextMap<Arc<CachedText<O>>>,
    pub(super) mapped: usize,
}

/// A unit of a text during a pass.
enum UnitState<'t, O> {
    Cached(PlacedUnit<O>),
    Read(Box<ReadUnit<'t, O>>),
}

/// A parsed unit that must be transformed.
struct ReadUnit<'t, O> {
    key: Arc<str>,
    position: TextPosition,
    documents: Vec<Document<'t>>,
    patterns: PatternCosts,
    learned: BTreeMap<DeploymentPattern, SilentFields>,
    /// First the findings of the parser, then the complete results.
    results: DocumentResults<'t, O>,
}

impl<'t, O: OutputForm> CachePass<'_, 't, O> {
    /// Processes a text by document, or as a whole if one of its documents cannot be parsed.
    pub(super) fn process_text(&mut self, id: SourceId, source: &'t Source) {
        if is_same_text(self.before, id, source)
            && let Some(text) = self.known.texts.get(id)
            && text.is_complete
            && text.units.iter().all(|placed| self.is_valid(&placed.unit))
        {
            text.units.iter().for_each(|placed| self.append(placed));
            self.texts.insert(id, Arc::clone(text));
            return;
        }
        let states = self.units_of(id, source);
        let text = self.finish(states);
        self.texts.insert(id, Arc::new(text));
    }

    /// Returns the units of a text, in order.
    fn units_of(&mut self, id: SourceId, source: &'t Source) -> Vec<UnitState<'t, O>> {
        let known = self.known.units_of(id, source, self.before);
        if let Some(parts) = document_splitter::split_documents(source, self.environment.options.limits.documents) {
            // If a part turns out to be unparsable, what was learned from the parts before it must be forgotten.
            let accounting = self.accounting.clone();
            if let Some(states) = self.read_units(id, source, &parts, &known) {
                return states;
            }
            self.accounting = accounting;
        }
        let whole = TextPart { bytes: 0..source.text.len(), document: 0 };
        let position = TextPosition { source: id, offset: 0, document: 0 };
        let key = unit_key(source, &source.text, false);
        if let Some(unit) = known.get(&*key).filter(|unit| self.is_valid(unit)) {
            return vec![UnitState::Cached(PlacedUnit { key, position, unit: Arc::clone(unit) })];
        }
        let mut documents =
            Documents::new(self.environment.options.composition, source, &self.environment.options.limits);
        let (mut unit, _) =
            parse_unit(self.environment.options.composition, key, position, source, documents.by_ref(), &whole);
        unit.results.read_failures.add(self.environment.options.composition, id, source, &documents.into_failures());
        self.learn(&mut unit);
        vec![UnitState::Read(Box::new(unit))]
    }

    /// Processes the documents of a text that the survey has read. They are not cached: such a text affects all
    /// objects, so a change of it invalidates every result anyway.
    pub(super) fn process_early_text(&mut self, id: SourceId, source: &Source, documents: Vec<Document<'t>>) {
        let position = TextPosition { source: id, offset: 0, document: 0 };
        let key = unit_key(source, &source.text, false);
        let (patterns, learned, results) = (Vec::new(), BTreeMap::new(), DocumentResults::default());
        let mut unit = ReadUnit { key, position, documents, patterns, learned, results };
        self.learn(&mut unit);
        self.mapped += unit.documents.len();
        let results = self.mapper().map_sequentially(unit.documents, &unit.patterns);
        self.results.append(results);
    }

    /// Returns the units of a text, in order, or `None` if one of its parts cannot be parsed alone.
    fn read_units(
        &mut self,
        id: SourceId,
        source: &'t Source,
        parts: &[TextPart],
        known: &BTreeMap<&str, &Arc<CachedUnit<O>>>,
    ) -> Option<Vec<UnitState<'t, O>>> {
        let limits = &self.environment.options.limits;
        let mut states = Vec::with_capacity(parts.len());
        for part in parts {
            let text = source.text.get(part.bytes.clone())?;
            let position = TextPosition { source: id, offset: part.bytes.start, document: part.document };
            let key = unit_key(source, text, true);
            if let Some(unit) = known.get(&*key).filter(|unit| self.is_valid(unit)) {
                states.push(UnitState::Cached(PlacedUnit { key, position, unit: Arc::clone(unit) }));
                continue;
            }
            let mut documents = yaml::documents(text, limits);
            let (mut unit, is_complete) =
                parse_unit(self.environment.options.composition, key, position, source, documents.by_ref(), part);
            if !is_complete || !documents.into_failures().is_empty() {
                return None;
            }
            self.learn(&mut unit);
            states.push(UnitState::Read(Box::new(unit)));
        }
        Some(states)
    }

    /// Whether the cached results of a unit are those of this run. Replays what was learned from its objects.
    fn is_valid(&mut self, unit: &CachedUnit<O>) -> bool {
        let Some(accounting) = &mut self.accounting else { return true };
        unit.patterns.iter().all(|(pattern, work, silent)| {
            accounting.adopt(*pattern, *work, unit.learned.get(pattern))
                && accounting.silent_fields(*pattern) == *silent
        })
    }

    /// Learns the effects of fields from those objects of a unit whose pattern is new.
    fn learn(&mut self, unit: &mut ReadUnit<'_, O>) {
        let Some(accounting) = &mut self.accounting else { return };
        let (patterns, learned) = document_stream::learn(accounting, &unit.documents, self.environment);
        unit.learned = learned.into_iter().map(|pattern| (pattern, accounting.silent_fields(pattern))).collect();
        unit.patterns = patterns;
    }

    /// Transforms the units that are not cached, appends all results in order, and returns the units to cache.
    fn finish(&mut self, states: Vec<UnitState<'t, O>>) -> CachedText<O> {
        let mut text = CachedText { units: Vec::with_capacity(states.len()), is_complete: true };
        for state in self.transform(states) {
            let placed = match state {
                UnitState::Cached(placed) => placed,
                // Objects of the set depend on other documents, so their results are not cached.
                UnitState::Read(unit) if !unit.results.set.is_empty() => {
                    self.results.append(unit.results);
                    text.is_complete = false;
                    continue;
                }
                UnitState::Read(unit) => {
                    let ReadUnit { key, position, patterns, learned, results, .. } = *unit;
                    let silent_fields = |pattern| {
                        self.accounting.as_ref().map(|accounting| accounting.silent_fields(pattern)).unwrap_or_default()
                    };
                    let patterns = patterns
                        .into_iter()
                        .flatten()
                        .map(|(pattern, work)| (pattern, work, silent_fields(pattern)))
                        .collect();
                    let unit = CachedUnit { position, results: results.without_set(), patterns, learned };
                    PlacedUnit { key, position, unit: Arc::new(unit) }
                }
            };
            self.append(&placed);
            text.units.push(placed);
        }
        text
    }

    /// Appends a copy of the results of a unit.
    fn append(&mut self, PlacedUnit { position, unit, .. }: &PlacedUnit<O>) {
        self.results.append_copy(&unit.results, unit.position, *position);
    }

    /// Transforms the parsed units, on several threads if there is enough work.
    fn transform(&mut self, states: Vec<UnitState<'t, O>>) -> Vec<UnitState<'t, O>> {
        let (mut document_count, mut total_bytes) = (0, 0);
        for state in &states {
            if let UnitState::Read(unit) = state {
                document_count += unit.documents.len();
                total_bytes += count_bytes(&unit.documents);
            }
        }
        self.mapped += document_count;
        let mapper = self.mapper();
        let map = |state| {
            let UnitState::Read(mut unit) = state else { return state };
            let documents = mem::take(&mut unit.documents);
            let mut results = if count_bytes(&documents) > CHUNK_BYTES {
                mapper.map_in_parallel(documents, &unit.patterns)
            } else {
                mapper.map_sequentially(documents, &unit.patterns)
            };
            results.append(mem::take(&mut unit.results));
            unit.results = results;
            UnitState::Read(unit)
        };
        if total_bytes > CHUNK_BYTES {
            states.into_par_iter().map(map).collect()
        } else {
            states.into_iter().map(map).collect()
        }
    }

    fn mapper(&self) -> Mapper<'_, 't> {
        let Self { sources, environment, survey, keeps_set, accounting, .. } = self;
        // The budget of a run with a single object: the largest that any object can have. If an object takes enough
        // steps for a shared budget to stop it, the cache discards the pass.
        let rule_steps = allowance(environment.options.rule_limits, 0, 1);
        let (sources, keeps_set, accounting) = (*sources, *keeps_set, accounting.as_ref());
        Mapper { sources, environment, survey, rule_steps, accounting, keeps_set }
    }
}

/// Parses a unit. Also returns whether all of its documents are within the limits.
fn parse_unit<'t, O>(
    composition: &Composition,
    key: Arc<str>,
    position: TextPosition,
    source: &'t Source,
    documents: impl Iterator<Item = yaml::Document<'t>>,
    part: &TextPart,
) -> (ReadUnit<'t, O>, bool) {
    let mut parsed = Vec::new();
    let mut is_complete = true;
    let mut results = DocumentResults::default();
    for mut document in documents {
        document_splitter::relocate(&mut document, part);
        is_complete &= !document.problems.iter().any(|problem| problem.kind.is_limit());
        let document = Document::new(position.source, source, document);
        results.late.configuration |= must_be_read_first(composition, source, &document.header);
        let mut diagnostics = Vec::new();
        document.flatten(composition, &mut parsed, &mut diagnostics);
        results.findings.append(RunFindings::new(diagnostics));
    }
    let (patterns, learned) = (Vec::new(), BTreeMap::new());
    let unit = ReadUnit { key, position, documents: parsed, patterns, learned, results };
    (unit, is_complete)
}

fn count_bytes(documents: &[Document<'_>]) -> usize {
    documents.iter().map(|document| document.span.end - document.span.start).sum()
}
