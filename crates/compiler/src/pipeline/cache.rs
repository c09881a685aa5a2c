//! Caches the results of documents from one run for the next one.
//!
//! The result of a document that is transformed alone depends only on its own text and on the environment of the run:
//! options, configurations, kustomizations and CRDs. If the run reports fields without effect, it also depends on what
//! was learned from deployments of the same pattern. A result is valid until one of these changes. If the document
//! moved within its text, the positions in its findings are adjusted. Steps that look at all objects (the set,
//! collisions, copies) always run.
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
use super::patch_judge;
use super::results::{DocumentResults, TextPosition};
use super::rule_steps::allowance;
use super::run::Run;
use super::scan::ReadPlan;
use super::set;
use super::split::{self, TextPart};
use super::stream::{self, CHUNK_BYTES, Mapper, PatternCosts};
use super::survey::{Survey, must_be_read_first};
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
    /// The number of documents that the last run transformed itself.
    mapped: usize,
}

/// The results of one document, or of a whole text.
struct CachedUnit {
    /// The position of the unit when it was cached.
    position: TextPosition,
    results: DocumentResults<'static, Value>,
    /// The patterns of its objects with their estimated work, and the fields without effect that were known then.
    patterns: Vec<(DeploymentPattern, usize, SilentFields)>,
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
        let Run { sources, schemas, skeletons, options, thoroughness, .. } = *run;
        let plan = ReadPlan::new(sources, options);
        let environment_key = environment_key(run, &plan);
        let cached_units = mem::take(&mut self.units);
        // Every unit depends on the environment, so a change of it invalidates all of them.
        let cached_units = if self.environment == environment_key { cached_units } else { BTreeMap::new() };
        self.environment = environment_key;
        let mut survey = Survey::new(sources, options, &plan);
        let mut configuration = composition::configuration(options.rule_limits);
        let mut problems = configure(&mut configuration, sources, options, &mut survey);
        survey.diagnostics.append(&mut problems);
        let environment = Environment {
            configuration: &configuration,
            schemas,
            skeletons,
            patch_skeletons: skeletons,
            options,
            thoroughness,
            chosen: None,
            kept_choices: None,
            patch_judge: Some(patch_judge::judge),
        };
        let mut read_documents = mem::take(&mut survey.read_documents);
        let reports_silent_fields = thoroughness != Thoroughness::Needed;
        let mut pass = CachePass {
            sources,
            environment: &environment,
            survey: &survey,
            keeps_set: plan.keeps_set,
            cached_units: &cached_units,
            accounting: reports_silent_fields.then(|| Accounting::new(options.rule_limits)),
            results: DocumentResults::default(),
            units: BTreeMap::new(),
            mapped: 0,
        };
        for (id, source) in sources.iter().filter(|(id, _)| plan.includes(*id)) {
            if let Some(documents) = read_documents.remove(&id) {
                pass.process_early_text(id, source, documents);
            } else {
                pass.process_text(id, source);
            }
        }
        let CachePass { mut results, units, mapped, .. } = pass;
        (self.units, self.mapped) = (units, mapped);
        // All objects of a run share one step budget for rules, so near its end a result depends on earlier objects. In
        // that case nothing is cached.
        let min_steps = allowance(options.rule_limits, u64::MAX, usize::MAX);
        if plan.is_invalidated_by(results.late) || results.max_rule_steps >= min_steps {
            self.units.clear();
            let results = run.results();
            self.mapped = results.inputs.len();
            return results;
        }
        survey.diagnostics.drain(..).for_each(|finding| results.findings.add(finding));
        if plan.keeps_set {
            set::transform(&mut results, &environment);
        }
        results.read_failures.append(survey.read_failures);
        results.configured.append(&mut survey.configured);
        results
    }
}

/// A pass over the texts of a run.
struct CachePass<'p, 't> {
    sources: &'t SourceSet,
    environment: &'p Environment<'p>,
    survey: &'p Survey<'t>,
    keeps_set: bool,
    cached_units: &'p BTreeMap<String, Arc<CachedUnit>>,
    accounting: Option<Accounting>,
    results: DocumentResults<'t, Value>,
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
    position: TextPosition,
    documents: Vec<Document<'t>>,
    patterns: PatternCosts,
    learned: BTreeMap<DeploymentPattern, SilentFields>,
    /// First the findings of the parser, then the complete results.
    results: DocumentResults<'t, Value>,
}

impl<'t> CachePass<'_, 't> {
    /// Processes a text by document, or as a whole if one of its documents cannot be parsed.
    fn process_text(&mut self, id: SourceId, source: &'t Source) {
        if let Some(parts) = split::split_documents(source, self.environment.options.limits.documents) {
            // If a part turns out to be unparsable, what was learned from the parts before it must be forgotten.
            let accounting = self.accounting.clone();
            if let Some(states) = self.read_units(id, source, &parts) {
                self.finish(states);
                return;
            }
            self.accounting = accounting;
        }
        let whole = TextPart { bytes: 0..source.text.len(), document: 0 };
        let key = unit_key(source, &source.text, false);
        let position = TextPosition { source: id, offset: 0, document: 0 };
        let state = self.find_cached(&key, position).unwrap_or_else(|| {
            let mut documents = Documents::new(source, &self.environment.options.limits);
            let (mut unit, _) = parse_unit(key, position, source, documents.by_ref(), &whole);
            unit.results.read_failures.add(id, source, &documents.into_failures());
            self.learn(&mut unit);
            UnitState::Read(Box::new(unit))
        });
        self.finish(vec![state]);
    }

    /// Processes the documents of a text that the survey has read. They are not cached: such a text affects all
    /// objects, so a change of it invalidates every result anyway.
    fn process_early_text(&mut self, id: SourceId, source: &Source, documents: Vec<Document<'t>>) {
        let position = TextPosition { source: id, offset: 0, document: 0 };
        let (patterns, learned, results) = (Vec::new(), BTreeMap::new(), DocumentResults::default());
        let mut unit =
            ReadUnit { key: unit_key(source, &source.text, false), position, documents, patterns, learned, results };
        self.learn(&mut unit);
        self.mapped += unit.documents.len();
        let results = self.mapper().map_sequentially(unit.documents, &unit.patterns);
        self.results.append(results);
    }

    /// Returns the units of a text, in order, or `None` if one of its parts cannot be parsed alone.
    fn read_units(&mut self, id: SourceId, source: &'t Source, parts: &[TextPart]) -> Option<Vec<UnitState<'t>>> {
        let limits = &self.environment.options.limits;
        let mut states = Vec::with_capacity(parts.len());
        for part in parts {
            let text = source.text.get(part.bytes.clone())?;
            let key = unit_key(source, text, true);
            let position = TextPosition { source: id, offset: part.bytes.start, document: part.document };
            if let Some(state) = self.find_cached(&key, position) {
                states.push(state);
                continue;
            }
            let mut documents = yaml::documents(text, limits);
            let (mut unit, is_complete) = parse_unit(key, position, source, documents.by_ref(), part);
            if !is_complete || !documents.into_failures().is_empty() {
                return None;
            }
            self.learn(&mut unit);
            states.push(UnitState::Read(Box::new(unit)));
        }
        Some(states)
    }

    /// Returns the cached results of a unit, if they are still valid.
    fn find_cached(&mut self, key: &str, position: TextPosition) -> Option<UnitState<'t>> {
        let unit = self.cached_units.get(key)?;
        if let Some(accounting) = &mut self.accounting {
            for (pattern, work, silent) in &unit.patterns {
                if !accounting.adopt(*pattern, *work, unit.learned.get(pattern))
                    || accounting.silent_fields(*pattern) != *silent
                {
                    return None;
                }
            }
        }
        Some(UnitState::Cached(key.to_owned(), Arc::clone(unit), position))
    }

    /// Learns the effects of fields from those objects of a unit whose pattern is new.
    fn learn(&mut self, unit: &mut ReadUnit<'_>) {
        let Some(accounting) = &mut self.accounting else { return };
        let (patterns, learned) = stream::learn(accounting, &unit.documents, self.environment);
        unit.learned = learned.into_iter().map(|pattern| (pattern, accounting.silent_fields(pattern))).collect();
        unit.patterns = patterns;
    }

    /// Transforms the units that are not cached, and appends all results in order.
    fn finish(&mut self, states: Vec<UnitState<'t>>) {
        for state in self.transform(states) {
            match state {
                UnitState::Cached(key, unit, position) => {
                    self.results.append(unit.results.relocated(unit.position, position));
                    self.units.insert(key, unit);
                }
                // Objects of the set depend on other documents, so their results are not cached.
                UnitState::Read(unit) if !unit.results.set.is_empty() => self.results.append(unit.results),
                UnitState::Read(unit) => {
                    let ReadUnit { key, position, patterns, learned, results, .. } = *unit;
                    let results = results.into_form();
                    self.results.append(results.relocated(position, position));
                    let silent_fields = |pattern| {
                        self.accounting.as_ref().map(|accounting| accounting.silent_fields(pattern)).unwrap_or_default()
                    };
                    let patterns = patterns
                        .into_iter()
                        .flatten()
                        .map(|(pattern, work)| (pattern, work, silent_fields(pattern)))
                        .collect();
                    self.units.insert(key, Arc::new(CachedUnit { position, results, patterns, learned }));
                }
            }
        }
    }

    /// Transforms the parsed units, on several threads if there is enough work.
    fn transform(&mut self, states: Vec<UnitState<'t>>) -> Vec<UnitState<'t>> {
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
fn parse_unit<'t>(
    key: String,
    position: TextPosition,
    source: &'t Source,
    documents: impl Iterator<Item = yaml::Document<'t>>,
    part: &TextPart,
) -> (ReadUnit<'t>, bool) {
    let mut parsed = Vec::new();
    let mut is_complete = true;
    let mut results = DocumentResults::default();
    for mut document in documents {
        split::relocate(&mut document, part);
        is_complete &= !document.problems.iter().any(|problem| problem.kind.is_limit());
        let document = Document::new(position.source, source, document);
        results.late.configuration |= must_be_read_first(source, &document.header);
        let mut diagnostics = Vec::new();
        document.flatten(&mut parsed, &mut diagnostics);
        results.findings.append(RunFindings::new(diagnostics));
    }
    let unit = ReadUnit { key, position, documents: parsed, patterns: Vec::new(), learned: BTreeMap::new(), results };
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
fn unit_key(source: &Source, unit: &str, is_part: bool) -> String {
    let Source { purpose, name, encoding_error, is_rewritten, directory, subject, .. } = source;
    let mut bytes =
        format!("{purpose:?} {name:?} {encoding_error:?} {is_rewritten} {directory:?} {subject:?} {is_part}\n")
            .into_bytes();
    bytes.extend_from_slice(unit.as_bytes());
    sha256(&bytes)
}
