//! Caches the results of documents from one run for the next one.
//!
//! The result of a document that is transformed alone depends only on its own text and on the environment of the run:
//! options, configurations, kustomizations and CRDs. If the run reports fields without effect, it also depends on what
//! was learned from deployments of the same pattern. A result is valid until one of these changes. If the document
//! moved within its text, the positions in its findings are adjusted. Steps that look at all objects (the set,
//! collisions, copies) always run.
//!
//! A text is cached by document if it can be split (see [`document_splitter`](crate::pipeline::documents::document_splitter)), and as a whole otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::mem;
use std::sync::Arc;

use serde_json::Value;

use super::cache_pass::CachePass;
use super::cached_units::{UnitCache, unit_key};
use super::compile::{Run, compile_with};
use super::transform_set;
use crate::pipeline::field_effects::silent_fields::Accounting;
use crate::pipeline::read_order::read_plan::{ReadPlan, Scan};
use crate::pipeline::read_order::text_map::TextMap;
use crate::pipeline::rendering::environment::Environment;
use crate::pipeline::rendering::output_form::OutputForm;
use crate::pipeline::rendering::output_role::Providers;
use crate::pipeline::rendering::rule_step_allowance::allowance;
use crate::pipeline::results::compilation::Compilation;
use crate::pipeline::results::document_results::DocumentResults;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_model::composition::Composition;
use kubefoundry_transform::Thoroughness;
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
            let results = self.of_set.results(run, &plan, &before, transform_set::transform);
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
