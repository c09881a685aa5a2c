//! Caches the results of documents from one run for the next one.
//!
//! The result of a document that is transformed alone depends only on its own text and on the environment of the run:
//! options, configurations, kustomizations and CRDs. If fields are accounted for, it also depends on what was learned
//! from deployments of the same form. A result is valid until one of these changes. If the document moved within its
//! text, the places in its findings are moved. Steps that look at all objects (the set, collisions, copies) always run.
//!
//! A text is cached by document if it can be split ([`split`]), and as a whole otherwise.

use std::collections::BTreeMap;
use std::fmt;
use std::mem;
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::Value;

use super::accounting::{Accounting, DeploymentPattern, SilentFields};
use super::context::configure;
use super::document::Document;
use super::environment::Environment;
use super::findings::RunFindings;
use super::results::{DocumentResults, TextPosition};
use super::rule_steps::allowance;
use super::run::Run;
use super::scan::ReadPlan;
use super::set;
use super::split::{self, TextPart};
use super::stream::{self, CHUNK_BYTES, Mapper, PatternCosts};
use super::survey::{Survey, comes_late};
use crate::composition;
use crate::reading::Documents;
use kubefoundry_diagnostics::source::{Purpose, Source, SourceId, SourceSet};
use kubefoundry_transform::Thoroughness;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::fingerprint::sha256;

/// Results of documents, by a key of everything that they depend on.
#[derive(Clone, Default)]
pub(crate) struct ResultCache {
    /// The key of the environment on which all results depend: options, configurations, kustomizations, CRDs.
    environment: String,
    units: BTreeMap<String, Arc<CachedUnit>>,
    /// The number of documents that the last run transformed.
    mapped: usize,
}

/// The results of one document, or of a whole text.
struct CachedUnit {
    /// The position of the unit when it was cached.
    place: TextPosition,
    results: DocumentResults<'static, Value>,
    /// The forms of its objects, and what was known about fields of these forms at that time.
    written: Vec<(DeploymentPattern, usize, SilentFields)>,
    /// What was learned from the objects of the unit.
    learned: BTreeMap<DeploymentPattern, SilentFields>,
}

impl fmt::Debug for ResultCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultCache").field("units", &self.units.len()).finish_non_exhaustive()
    }
}

impl ResultCache {
    /// Returns the number of documents that the last run transformed instead of taking them from the cache.
    pub(crate) fn mapped(&self) -> usize {
        self.mapped
    }

    /// Returns the results of a run, equal to those of [`Run::results`], with cached results for unchanged documents.
    pub(super) fn results<'r>(&mut self, run: &'r Run<'_>) -> DocumentResults<'r, Value> {
        let Run { sources, schemas, skeletons, options, thoroughness } = *run;
        let plan = ReadPlan::new(sources, options);
        let environment_key = environment_key(run, &plan);
        let known = mem::take(&mut self.units);
        let known = if self.environment == environment_key { known } else { BTreeMap::new() };
        self.environment = environment_key;
        let mut survey = Survey::new(sources, options, &plan);
        let mut configuration = composition::configuration(options.rule_limits);
        let mut problems = configure(&mut configuration, sources, options, &mut survey);
        survey.diagnostics.append(&mut problems);
        let environment =
            Environment { configuration: &configuration, schemas, skeletons, options, thoroughness, chosen: None };
        let mut read_documents = mem::take(&mut survey.read_documents);
        let accounts = thoroughness != Thoroughness::Needed;
        let mut pass = CachePass {
            sources,
            environment: &environment,
            survey: &survey,
            keeps_set: plan.keeps_set,
            known: &known,
            accounting: accounts.then(|| Accounting::new(options.rule_limits)),
            all: DocumentResults::default(),
            units: BTreeMap::new(),
            mapped: 0,
        };
        for (id, source) in sources.iter().filter(|(id, _)| plan.includes(*id)) {
            if let Some(documents) = read_documents.remove(&id) {
                pass.read_before(id, source, documents);
            } else {
                pass.text(id, source);
            }
        }
        let CachePass { mut all, units, mapped, .. } = pass;
        (self.units, self.mapped) = (units, mapped);
        // All objects of a run share one step budget for rules, so near its end a result depends on earlier objects. In
        // that case nothing is cached.
        let least_steps = allowance(options.rule_limits, u64::MAX, usize::MAX);
        if plan.is_invalidated_by(all.late) || all.max_rule_steps >= least_steps {
            self.units.clear();
            let results = run.results();
            self.mapped = results.inputs.len();
            return results;
        }
        survey.diagnostics.drain(..).for_each(|found| all.found.add(found));
        if plan.keeps_set {
            set::transform(&mut all, &environment);
        }
        all.read_failures.append(survey.read_failures);
        all.configured.append(&mut survey.configured);
        all
    }
}

/// A pass over the texts of a run.
struct CachePass<'p, 't> {
    sources: &'t SourceSet,
    environment: &'p Environment<'p>,
    survey: &'p Survey<'t>,
    keeps_set: bool,
    known: &'p BTreeMap<String, Arc<CachedUnit>>,
    accounting: Option<Accounting>,
    all: DocumentResults<'t, Value>,
    units: BTreeMap<String, Arc<CachedUnit>>,
    mapped: usize,
}

/// A unit of a text during a pass.
enum UnitState<'t> {
    Cached(String, Arc<CachedUnit>, TextPosition),
    Read(Box<ReadUnit<'t>>),
}

/// A parsed unit that must be transformed.
struct ReadUnit<'t> {
    key: String,
    place: TextPosition,
    documents: Vec<Document<'t>>,
    written: PatternCosts,
    learned: BTreeMap<DeploymentPattern, SilentFields>,
    /// The findings of the parser, later the complete results.
    results: DocumentResults<'t, Value>,
}

impl<'t> CachePass<'_, 't> {
    /// Processes a text by document, or as a whole if one of its documents cannot be parsed.
    fn text(&mut self, id: SourceId, source: &'t Source) {
        if let Some(parts) = split::split_documents(source, self.environment.options.limits.documents) {
            let accounting = self.accounting.clone();
            if let Some(states) = self.read_units(id, source, &parts) {
                self.finish(states);
                return;
            }
            self.accounting = accounting;
        }
        let whole = TextPart { bytes: 0..source.text.len(), document: 0 };
        let key = unit_key(source, &source.text, false);
        let place = TextPosition { source: id, offset: 0, document: 0 };
        let state = self.cached(&key, place).unwrap_or_else(|| {
            let mut documents = Documents::new(source, &self.environment.options.limits);
            let (mut unit, _) = read(key, place, source, documents.by_ref(), &whole);
            unit.results.read_failures.add(id, source, &documents.into_failures());
            self.learn(&mut unit);
            UnitState::Read(Box::new(unit))
        });
        self.finish(vec![state]);
    }

    /// Processes the documents of a text that was read before the others. They are not cached: such a text affects all
    /// objects, so a change of it changes every key anyway.
    fn read_before(&mut self, id: SourceId, source: &Source, documents: Vec<Document<'t>>) {
        let place = TextPosition { source: id, offset: 0, document: 0 };
        let (written, learned, results) = (Vec::new(), BTreeMap::new(), DocumentResults::default());
        let mut unit =
            ReadUnit { key: unit_key(source, &source.text, false), place, documents, written, learned, results };
        self.learn(&mut unit);
        self.mapped += unit.documents.len();
        let results = self.mapper().map_in_turn(unit.documents, &unit.written);
        self.all.append(results);
    }

    /// Returns the units of a text, in order, or `None` if one of its parts cannot be parsed alone.
    fn read_units(&mut self, id: SourceId, source: &'t Source, parts: &[TextPart]) -> Option<Vec<UnitState<'t>>> {
        let limits = &self.environment.options.limits;
        let mut states = Vec::with_capacity(parts.len());
        for part in parts {
            let text = source.text.get(part.bytes.clone())?;
            let key = unit_key(source, text, true);
            let place = TextPosition { source: id, offset: part.bytes.start, document: part.document };
            if let Some(state) = self.cached(&key, place) {
                states.push(state);
                continue;
            }
            let mut documents = yaml::documents(text, limits);
            let (mut unit, is_whole) = read(key, place, source, documents.by_ref(), part);
            if !is_whole || !documents.into_failures().is_empty() {
                return None;
            }
            self.learn(&mut unit);
            states.push(UnitState::Read(Box::new(unit)));
        }
        Some(states)
    }

    /// Returns the cached results of a unit, if they are still valid.
    fn cached(&mut self, key: &str, place: TextPosition) -> Option<UnitState<'t>> {
        let unit = self.known.get(key)?;
        if let Some(accounting) = &mut self.accounting {
            for (kind, work, silent) in &unit.written {
                if !accounting.adopt(*kind, *work, unit.learned.get(kind)) || accounting.known(*kind) != *silent {
                    return None;
                }
            }
        }
        Some(UnitState::Cached(key.to_owned(), Arc::clone(unit), place))
    }

    /// Learns the effects of fields from those objects of a unit whose form is new.
    fn learn(&mut self, unit: &mut ReadUnit<'_>) {
        let Some(accounting) = &mut self.accounting else { return };
        let (written, learned) = stream::learn(accounting, &unit.documents, self.environment);
        unit.learned = learned.into_iter().map(|kind| (kind, accounting.known(kind))).collect();
        unit.written = written;
    }

    /// Transforms the units that are not cached, and appends all results in order.
    fn finish(&mut self, states: Vec<UnitState<'t>>) {
        for state in self.transform(states) {
            match state {
                UnitState::Cached(key, unit, place) => {
                    self.all.append(unit.results.relocated(unit.place, place));
                    self.units.insert(key, unit);
                }
                UnitState::Read(unit) if !unit.results.set.is_empty() => self.all.append(unit.results),
                UnitState::Read(unit) => {
                    let ReadUnit { key, place, written, learned, results, .. } = *unit;
                    let results = results.into_form();
                    self.all.append(results.relocated(place, place));
                    let known = |kind| self.accounting.as_ref().map(|it| it.known(kind)).unwrap_or_default();
                    let written = written.into_iter().flatten().map(|(kind, work)| (kind, work, known(kind))).collect();
                    self.units.insert(key, Arc::new(CachedUnit { place, results, written, learned }));
                }
            }
        }
    }

    /// Transforms the parsed units, on several threads if there is enough work.
    fn transform(&mut self, states: Vec<UnitState<'t>>) -> Vec<UnitState<'t>> {
        let (mut number, mut total) = (0, 0);
        for state in &states {
            if let UnitState::Read(unit) = state {
                number += unit.documents.len();
                total += bytes(&unit.documents);
            }
        }
        self.mapped += number;
        let mapper = self.mapper();
        let map = |state| {
            let UnitState::Read(mut unit) = state else { return state };
            let documents = mem::take(&mut unit.documents);
            let mut results = if bytes(&documents) > CHUNK_BYTES {
                mapper.map_in_parallel(documents, &unit.written)
            } else {
                mapper.map_in_turn(documents, &unit.written)
            };
            results.append(mem::take(&mut unit.results));
            unit.results = results;
            UnitState::Read(unit)
        };
        if total > CHUNK_BYTES {
            states.into_par_iter().map(map).collect()
        } else {
            states.into_iter().map(map).collect()
        }
    }

    fn mapper(&self) -> Mapper<'_, 't> {
        let Self { sources, environment, survey, keeps_set, accounting, .. } = self;
        // The pass is abandoned if an object takes more steps than any object of a run may.
        let rule_steps = allowance(environment.options.rule_limits, 0, 1);
        let (sources, keeps_set, accounting) = (*sources, *keeps_set, accounting.as_ref());
        Mapper { sources, environment, survey, rule_steps, accounting, keeps_set }
    }
}

/// Parses a unit. Also returns whether all of its documents are within the limits.
fn read<'t>(
    key: String,
    place: TextPosition,
    source: &'t Source,
    documents: impl Iterator<Item = yaml::Document<'t>>,
    part: &TextPart,
) -> (ReadUnit<'t>, bool) {
    let mut read = Vec::new();
    let mut is_whole = true;
    let mut results = DocumentResults::default();
    for mut document in documents {
        split::relocate(&mut document, part);
        is_whole &= !document.problems.iter().any(|problem| problem.kind.is_limit());
        let document = Document::new(place.source, source, document);
        results.late.configuration |= comes_late(source, &document.header);
        let mut diagnostics = Vec::new();
        document.flatten(&mut read, &mut diagnostics);
        results.found.append(RunFindings::new(diagnostics));
    }
    let unit = ReadUnit { key, place, documents: read, written: Vec::new(), learned: BTreeMap::new(), results };
    (unit, is_whole)
}

fn bytes(documents: &[Document<'_>]) -> usize {
    documents.iter().map(|document| document.span.end - document.span.start).sum()
}

/// Returns the key of the environment of a run.
fn environment_key(run: &Run<'_>, plan: &ReadPlan) -> String {
    let mut bytes = format!("{:?} {} {}", run.thoroughness, plan.keeps_set, plan.has_input_kinds).into_bytes();
    for (id, source) in run.sources.iter() {
        if plan.is_first(id) || matches!(source.purpose, Purpose::Options | Purpose::Crds) {
            bytes.extend_from_slice(format!("\n{} {}", id.0, unit_key(source, &source.text, false)).as_bytes());
        }
    }
    sha256(&bytes)
}

/// Returns the key of a unit: its bytes and the facts about its text that affect it. The results of a whole text
/// include the problems of the text, so they are never shared with a part of another text.
fn unit_key(source: &Source, unit: &str, is_part: bool) -> String {
    let Source { purpose, name, encoding_error: not_text, is_rewritten, directory, .. } = source;
    let mut bytes = format!("{purpose:?} {name:?} {not_text:?} {is_rewritten} {directory:?} {is_part}\n").into_bytes();
    bytes.extend_from_slice(unit.as_bytes());
    sha256(&bytes)
}
