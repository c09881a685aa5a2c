//! Caches the results of documents from one run for the next one.
//!
//! The result of a document that is transformed alone depends only on its own text and on the environment of the run:
//! options, configurations, kustomizations and CRDs. If the run reports fields without effect, it also depends on what
//! was learned from deployments of the same pattern. A result is valid until one of these changes. If the document
//! moved within its text, the positions in its findings are adjusted. Steps that look at all objects (the set,
//! collisions, copies) always run.
//!
//! A text is cached by document if it can be split ([`split`]), and as a whole otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::mem;
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::Value;

use super::compile::{Run, compile_with};
use crate::pipeline::documents::document::Document;
use crate::pipeline::documents::document_splitter::{self as split, TextPart};
use crate::pipeline::documents::run_findings::RunFindings;
use crate::pipeline::engine::document_stream::{self as stream, CHUNK_BYTES, Mapper, PatternCosts};
use crate::pipeline::engine::transform_set as set;
use crate::pipeline::field_effects::silent_fields::{Accounting, DeploymentPattern, SilentFields};
use crate::pipeline::read_order::first_texts::{Survey, must_be_read_first};
use crate::pipeline::read_order::read_plan::{ReadPlan, Scan, is_same_text};
use crate::pipeline::read_order::text_map::TextMap;
use crate::pipeline::rendering::environment::Environment;
use crate::pipeline::rendering::output_form::OutputForm;
use crate::pipeline::rendering::output_role::Providers;
use crate::pipeline::rendering::rule_step_allowance::allowance;
use crate::pipeline::results::compilation::Compilation;
use crate::pipeline::results::document_results::{DocumentResults, TextPosition};
use crate::reading::Documents;
use kubefoundry_diagnostics::source::{Purpose, Source, SourceId, SourceSet};
use kubefoundry_model::composition::Composition;
use kubefoundry_transform::Thoroughness;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::fingerprint::sha256;

/// Runs the whole pipeline like [`compile_as`](crate::pipeline::compile_as), and keeps the result of each document for the
/// next run. The results equal those of a fresh run.
///
/// A text that is unchanged in a clone of the [`SourceSet`] of the last run is not even read; of other texts, the
/// documents with the same bytes are not transformed. Options, provider configurations, kustomizations and CRDs decide
/// about all documents of their environment.
///
/// ```
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_compiler::Thoroughness;
/// use kubefoundry_compiler::pipeline::{Cache, YamlText};
/// use kubefoundry_diagnostics::source::SourceSet;
/// let mut sources = SourceSet::default();
/// let ids = ["phi", "llama"].map(|name| sources.add(name, format!("
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {{name: {name}}}
/// spec: {{model: {{id: org/{name}}}, engine: {{type: vllm}}, resources: {{gpu: {{count: 1}}}}}}
/// ")));
/// let mut cache = Cache::<YamlText>::default();
/// cache.compile(&BUILTIN, &sources, Thoroughness::Needed);
/// assert_eq!(cache.mapped_documents(), 2);
/// sources.set_text(ids[1], sources.get(ids[1]).text.replace("count: 1", "count: 2"));
/// assert_eq!(cache.compile(&BUILTIN, &sources, Thoroughness::Needed).decisions[1].gpus[0].count, 2);
/// assert_eq!(cache.mapped_documents(), 1);
/// ```
#[derive(Debug, Clone)]
pub struct Cache<O = Value> {
    /// The results of the last run, by environment.
    environments: BTreeMap<Option<Arc<str>>, ResultCache<O>>,
}

impl<O> Default for Cache<O> {
    fn default() -> Self {
        Self { environments: BTreeMap::new() }
    }
}

impl<O: OutputForm> Cache<O> {
    /// Compiles the sources, which bring their own options, configurations and CRDs.
    pub fn compile(
        &mut self,
        composition: &'static Composition,
        sources: &SourceSet,
        thoroughness: Thoroughness,
    ) -> Compilation<O> {
        let names: BTreeSet<&str> = sources.environments().iter().filter_map(|it| it.label()).collect();
        self.environments.retain(|name, _| name.as_deref().is_none_or(|name| names.contains(name)));
        compile_with(composition, sources, thoroughness, None, |run, name| {
            self.environments.entry(name.cloned()).or_default().results(run)
        })
    }

    /// Returns the number of documents that the last run transformed or classified because no cached result applied.
    pub fn mapped_documents(&self) -> usize {
        self.environments.values().map(|cache| cache.mapped).sum()
    }
}

/// Results of documents, by a key of everything that they depend on.
#[derive(Clone)]
struct ResultCache<O = Value> {
    /// The results of a run whose objects are kept for transformations of a set: they stay values until its end.
    of_set: UnitCache<Value>,
    /// The results of any other run.
    alone: UnitCache<O>,
    scan: Scan,
    /// The texts of the last run. A text that is the same value in the next run is not even searched or split.
    sources: SourceSet,
    /// The number of documents that the last run transformed itself.
    mapped: usize,
}

impl<O> Default for ResultCache<O> {
    fn default() -> Self {
        let (of_set, alone) = (UnitCache::default(), UnitCache::default());
        Self { of_set, alone, scan: Scan::default(), sources: SourceSet::default(), mapped: 0 }
    }
}

/// The results of the documents of one run, in one form.
#[derive(Clone)]
struct UnitCache<O> {
    /// The key of the environment on which all results depend: options, configurations, kustomizations, CRDs.
    environment: String,
    texts: TextMap<Arc<CachedText<O>>>,
}

impl<O> Default for UnitCache<O> {
    fn default() -> Self {
        Self { environment: String::new(), texts: TextMap::default() }
    }
}

impl<O> UnitCache<O> {
    /// Returns the units of texts with the same name, by key. A key contains the name of its text. `before` are the texts
    /// of the last run.
    fn units_of(&self, id: SourceId, source: &Source, before: &SourceSet) -> BTreeMap<&str, &Arc<CachedUnit<O>>> {
        let has_name = |id: SourceId| id.0 < before.len() && before.get(id).name == source.name;
        let texts: Vec<&Arc<CachedText<O>>> = if has_name(id) {
            self.texts.get(id).into_iter().collect()
        } else {
            // A text was added or removed before it.
            self.texts.iter().filter(|(id, _)| has_name(*id)).map(|(_, text)| text).collect()
        };
        texts.into_iter().flat_map(|text| &text.units).map(|placed| (&*placed.key, &placed.unit)).collect()
    }
}

/// The units of a text, in order.
struct CachedText<O> {
    units: Vec<PlacedUnit<O>>,
    /// Whether there is a unit for each part of the text.
    is_complete: bool,
}

/// A unit in its place.
struct PlacedUnit<O> {
    key: Arc<str>,
    position: TextPosition,
    unit: Arc<CachedUnit<O>>,
}

impl<O> Clone for PlacedUnit<O> {
    fn clone(&self) -> Self {
        Self { key: Arc::clone(&self.key), position: self.position, unit: Arc::clone(&self.unit) }
    }
}

/// The results of one document, or of a whole text.
struct CachedUnit<O> {
    /// The position of the unit when it was cached.
    position: TextPosition,
    results: DocumentResults<'static, O>,
    /// The patterns of its objects with their estimated work, and the fields without effect that were known then.
    patterns: Vec<(DeploymentPattern, usize, SilentFields)>,
    /// What was learned from the objects of the unit.
    learned: BTreeMap<DeploymentPattern, SilentFields>,
}

impl<O> fmt::Debug for ResultCache<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = self.alone.texts.iter().count() + self.of_set.texts.iter().count();
        f.debug_struct("ResultCache").field("texts", &texts).finish_non_exhaustive()
    }
}

impl<O: OutputForm> ResultCache<O> {
    /// Returns the results of a run, equal to those of [`Run::results`], with cached results for unchanged documents.
    fn results<'s>(&mut self, run: &Run<'s>) -> DocumentResults<'s, O> {
        let before = mem::replace(&mut self.sources, run.sources.clone());
        let plan = ReadPlan::again(run.sources, &run.groundwork.options, &mut self.scan, &before);
        let results = if plan.keeps_set {
            self.alone = UnitCache::default();
            let results = self.of_set.results(run, &plan, &before, set::transform);
            results.map(|(results, mapped)| (results.into_form(), mapped))
        } else {
            self.of_set = UnitCache::default();
            self.alone.results(run, &plan, &before, |_, _| ())
        };
        let (results, mapped) = results.unwrap_or_else(|| {
            let results = run.results();
            let documents = results.inputs.len();
            (results, documents)
        });
        self.mapped = mapped;
        results
    }
}

impl<O: OutputForm> UnitCache<O> {
    /// Returns the results of a run and the number of documents that it transformed, or `None` if results depend on the
    /// order of objects, so that nothing can be cached. `before` are the texts of the last run. `finish` gets the results
    /// of all documents.
    fn results<'s>(
        &mut self,
        run: &Run<'s>,
        plan: &ReadPlan,
        before: &SourceSet,
        finish: impl FnOnce(&mut DocumentResults<'s, O>, &Environment<'_>),
    ) -> Option<(DocumentResults<'s, O>, usize)> {
        let Run { sources, ref groundwork, thoroughness } = *run;
        let options = &*groundwork.options;
        let environment_key = environment_key(run, plan);
        // Every unit depends on the environment, so a change of it invalidates all of them.
        let known = Some(mem::take(self)).filter(|cache| cache.environment == environment_key).unwrap_or_default();
        let (engine, mut survey) = groundwork.configure(sources, plan, Providers::All);
        let environment = engine.environment(thoroughness);
        let mut read_documents = mem::take(&mut survey.read_documents);
        let reports_silent_fields = thoroughness != Thoroughness::Needed;
        let mut pass = CachePass {
            sources,
            environment: &environment,
            survey: &survey,
            keeps_set: plan.keeps_set,
            known: &known,
            before,
            accounting: reports_silent_fields.then(|| Accounting::new(options.rule_limits)),
            results: DocumentResults::default(),
            texts: TextMap::default(),
            mapped: 0,
        };
        for (id, source) in sources.iter().filter(|(id, _)| plan.includes(*id)) {
            if let Some(documents) = read_documents.remove(&id) {
                pass.process_early_text(id, source, documents);
            } else {
                pass.process_text(id, source);
            }
        }
        let CachePass { mut results, texts, mapped, .. } = pass;
        // All objects of a run share one step budget for rules, so near its end a result depends on earlier objects. In
        // that case nothing is cached.
        let min_steps = allowance(options.rule_limits, u64::MAX, usize::MAX);
        if plan.is_invalidated_by(results.late) || results.max_rule_steps >= min_steps {
            return None;
        }
        *self = Self { environment: environment_key, texts };
        survey.report(&mut results.findings);
        finish(&mut results, &environment);
        results.read_failures.append(survey.read_failures);
        results.configured.append(&mut survey.configured);
        Some((results, mapped))
    }
}

/// A pass over the texts of a run.
struct CachePass<'p, 't, O> {
    sources: &'t SourceSet,
    environment: &'p Environment<'p>,
    survey: &'p Survey<'t>,
    keeps_set: bool,
    known: &'p UnitCache<O>,
    /// The texts of the last run.
    before: &'p SourceSet,
    accounting: Option<Accounting>,
    results: DocumentResults<'t, O>,
    texts: TextMap<Arc<CachedText<O>>>,
    mapped: usize,
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
    fn process_text(&mut self, id: SourceId, source: &'t Source) {
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
        if let Some(parts) = split::split_documents(source, self.environment.options.limits.documents) {
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
    fn process_early_text(&mut self, id: SourceId, source: &Source, documents: Vec<Document<'t>>) {
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
        let (patterns, learned) = stream::learn(accounting, &unit.documents, self.environment);
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
        // steps for a shared budget to stop it, `ResultCache::results` discards the pass.
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
        split::relocate(&mut document, part);
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

/// Returns the key of the environment of a run.
fn environment_key(run: &Run<'_>, plan: &ReadPlan) -> String {
    let mut bytes = format!("{:?} {} {}", run.thoroughness, plan.keeps_set, plan.has_input_kinds).into_bytes();
    for (id, source) in run.sources.iter() {
        if plan.is_first(id)
            || matches!(source.purpose, Purpose::Options | Purpose::Crds | Purpose::ClusterNodes | Purpose::ModelConfig)
        {
            bytes.extend_from_slice(format!("\n{} {}", id.0, unit_key(source, &source.text, false)).as_bytes());
        }
    }
    sha256(&bytes)
}

/// Returns the key of a unit: its bytes and the facts about its text that affect it. The results of a whole text
/// include the problems of the text, so they are never shared with a part of another text.
fn unit_key(source: &Source, unit: &str, is_part: bool) -> Arc<str> {
    let Source { purpose, name, encoding_error, is_rewritten, directory, subject, .. } = source;
    let mut bytes =
        format!("{purpose:?} {name:?} {encoding_error:?} {is_rewritten} {directory:?} {subject:?} {is_part}\n")
            .into_bytes();
    bytes.extend_from_slice(unit.as_bytes());
    sha256(&bytes).into()
}
