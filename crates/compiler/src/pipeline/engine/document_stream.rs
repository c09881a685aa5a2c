//! Streams documents through the pipeline: each is read, transformed and dropped. Only its results stay.
//!
//! Documents are processed in chunks. A thread that has nothing to do reads the next chunk, which only one thread does at
//! a time because a text can be read only from its start, and transforms it. So the memory of a document is freed by the
//! thread that allocated it, which is several times cheaper than if another one frees it. Memory holds one chunk of
//! documents per thread, whatever the size of the input.
//!
//! If chunks depend on earlier ones, they are transformed one after another, each by all threads: `lint` and `explain`
//! learn from the objects of each chunk, and selection rules of the input share a budget. While all threads transform one
//! chunk, one of them reads the next.
//!
//! In both cases results are appended in input order, whichever thread produced them.

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use crate::options::Options;
use crate::pipeline::documents::document::Document;
use crate::pipeline::documents::document_role::{InputDocument, Role};
use crate::pipeline::documents::run_findings::RunFindings;
use crate::pipeline::documents::suppressions::Suppression;
use crate::pipeline::field_effects::silent_fields::{Accounting, DeploymentPattern};
use crate::pipeline::patch_files::kustomization_patches;
use crate::pipeline::patch_files::patch_operations::{self, PatchSource};
use crate::pipeline::read_order::first_texts::{Survey, is_kustomization, must_be_read_first};
use crate::pipeline::read_order::read_plan::ReadPlan;
use crate::pipeline::rendering::attempt::InputDeployment;
use crate::pipeline::rendering::environment::Environment;
use crate::pipeline::rendering::output_form::OutputForm;
use crate::pipeline::rendering::rule_step_allowance::allowance;
use crate::pipeline::rendering::transform_object::{self, TransformOutcome, TransformedObject};
use crate::pipeline::results::document_results::{DocumentResults, ObjectResult, SetObject};
use crate::reading::{Documents, ReadFailures};
use kubefoundry_diagnostics::source::{Purpose, Source, SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Findings};
use kubefoundry_model::composition::Composition;
use kubefoundry_transform::{AnyTransform, StepBudget, Thoroughness};
use kubefoundry_yaml as yaml;

/// Bytes of text per chunk: enough to be worth distributing, few enough to stay in a CPU cache. An input of at most this
/// size starts no thread.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// Processes every document. `read_documents` are those of the texts that the survey has already read.
pub(crate) fn run<'t, O: OutputForm>(
    sources: &'t SourceSet,
    environment: &Environment<'_>,
    survey: &Survey<'t>,
    read_documents: BTreeMap<SourceId, Vec<Document<'t>>>,
    plan: &ReadPlan,
) -> DocumentResults<'t, O> {
    let rule_limits = environment.options.rule_limits;
    let mut reader = ChunkReader::new(sources, environment.options, read_documents, plan);
    let mut results = DocumentResults::default();
    let mut chunk = reader.next_chunk();
    let reports_silent_fields = environment.thoroughness != Thoroughness::Needed;
    let mut accounting = reports_silent_fields.then(|| Accounting::new(rule_limits));
    let is_independent = accounting.is_none() && !environment.configuration.spends_steps();
    if is_independent && !reader.is_done() {
        let mapper = Mapper {
            sources,
            environment,
            survey,
            rule_steps: allowance(rule_limits, 0, 1),
            accounting: None,
            keeps_set: plan.keeps_set,
        };
        results = mapper.map_chunks(mem::take(&mut chunk), &mut reader);
    }
    while !chunk.is_empty() {
        // The budget depends only on the chunks before this one, which come in a fixed order, so it does not depend on
        // the number of threads.
        let independent =
            chunk.iter().filter(|document| runs_alone(environment.options.composition, document).is_some()).count();
        let rule_steps = allowance(rule_limits, results.rule_steps, independent);
        // All patterns of the chunk are learned before it is mapped, so the threads share `accounting` without a lock.
        let patterns =
            accounting.as_mut().map(|accounting| learn(accounting, &chunk, environment).0).unwrap_or_default();
        let accounting = accounting.as_ref();
        let mapper = Mapper { sources, environment, survey, rule_steps, accounting, keeps_set: plan.keeps_set };
        let mapped = if reader.is_done() {
            // Nothing is left to read. A small input is a single chunk, for which no thread is started.
            let is_parallel = !results.inputs.is_empty();
            let chunk = mem::take(&mut chunk);
            if is_parallel {
                mapper.map_in_parallel(chunk, &patterns)
            } else {
                mapper.map_sequentially(chunk, &patterns)
            }
        } else {
            let (next, mapped) = {
                let chunk = mem::take(&mut chunk);
                rayon::join(|| reader.next_chunk(), || mapper.map_in_parallel(chunk, &patterns))
            };
            chunk = next;
            mapped
        };
        results.append(mapped);
    }
    results.findings.append(reader.findings);
    results.read_failures.append(reader.read_failures);
    results.late.configuration |= reader.is_late;
    results
}

/// Returns the transformation of a document that needs no other document.
fn runs_alone(composition: &Composition, document: &Document<'_>) -> Option<&'static dyn AnyTransform> {
    let header = &document.header;
    composition.transform_of_kind(header.group(), &header.kind).filter(|transform| !transform.needs_set())
}

/// For each document, the pattern of a complete object that is transformed alone, and the estimated cost of trying its
/// fields.
pub(crate) type PatternCosts = Vec<Option<(DeploymentPattern, usize)>>;

/// Tries the fields of objects with a new pattern. Returns the patterns of all documents, and the new ones among them.
pub(crate) fn learn(
    accounting: &mut Accounting,
    documents: &[Document<'_>],
    environment: &Environment<'_>,
) -> (PatternCosts, Vec<DeploymentPattern>) {
    let measure = |document: &Document<'_>| {
        let is_complete =
            runs_alone(environment.options.composition, document).is_some() && document.problems.is_empty();
        is_complete.then(|| DeploymentPattern::measure(&document.root))
    };
    let patterns: PatternCosts = documents.iter().map(measure).collect();
    let subjects = documents.iter().zip(&patterns).filter_map(|(document, pattern)| {
        let (pattern, work) = (*pattern)?;
        Some((pattern, work, InputDeployment::new(document, environment)?))
    });
    let learned = accounting.learn(subjects.collect());
    (patterns, learned)
}

/// Reads texts as chunks of documents.
struct ChunkReader<'t> {
    texts: VecDeque<(SourceId, &'t Source, Option<Vec<Document<'t>>>)>,
    current: Option<(SourceId, &'t Source, Documents<'t>)>,
    composition: &'static Composition,
    limits: yaml::Limits,
    findings: RunFindings,
    read_failures: ReadFailures,
    /// Whether a document turned up that should have been read before the others.
    is_late: bool,
}

impl<'t> ChunkReader<'t> {
    fn new(
        sources: &'t SourceSet,
        options: &Options,
        mut read_documents: BTreeMap<SourceId, Vec<Document<'t>>>,
        plan: &ReadPlan,
    ) -> Self {
        let texts = sources.iter().filter(|(id, _)| plan.includes(*id));
        let texts = texts.map(|(id, source)| (id, source, read_documents.remove(&id))).collect();
        let (findings, read_failures) = (RunFindings::default(), ReadFailures::default());
        let Options { composition, limits, .. } = *options;
        Self { texts, current: None, composition, limits, findings, read_failures, is_late: false }
    }

    fn is_done(&self) -> bool {
        self.texts.is_empty() && self.current.is_none()
    }

    /// Reads the next chunk; empty at the end.
    fn next_chunk(&mut self) -> Vec<Document<'t>> {
        let mut chunk = Vec::new();
        let mut bytes = 0;
        // A text may hold nothing but empty lists.
        while bytes < CHUNK_BYTES || chunk.is_empty() {
            let Some((id, source, documents)) = &mut self.current else {
                match self.texts.pop_front() {
                    Some((_, source, Some(read_documents))) => {
                        bytes += source.text.len();
                        chunk.extend(read_documents);
                    }
                    Some((id, source, None)) => {
                        self.current = Some((id, source, Documents::new(self.composition, source, &self.limits)));
                    }
                    None => break,
                }
                continue;
            };
            let (id, source) = (*id, *source);
            if let Some(document) = documents.next() {
                bytes += document.span.end - document.span.start;
                let document = Document::new(id, source, document);
                self.is_late |= must_be_read_first(self.composition, source, &document.header);
                let mut diagnostics = Vec::new();
                document.flatten(self.composition, &mut chunk, &mut diagnostics);
                for finding in diagnostics {
                    self.findings.add(finding);
                }
            } else if let Some((.., documents)) = self.current.take() {
                self.read_failures.add(self.composition, id, source, &documents.into_failures());
            }
        }
        chunk
    }
}

/// Transforms documents, each on its own.
pub(crate) struct Mapper<'s, 't> {
    pub(crate) sources: &'t SourceSet,
    pub(crate) environment: &'s Environment<'s>,
    pub(crate) survey: &'s Survey<'t>,
    /// The step budget of the selection rules for each object.
    pub(crate) rule_steps: u64,
    /// The known fields without effect, if they are to be reported.
    pub(crate) accounting: Option<&'s Accounting>,
    /// Whether to keep objects that other transformations may need to see.
    pub(crate) keeps_set: bool,
}

impl<'t> Mapper<'_, 't> {
    /// Transforms documents on all threads. `patterns` are those of the documents, or empty without accounting.
    pub(crate) fn map_in_parallel<O: OutputForm>(
        &self,
        documents: Vec<Document<'t>>,
        patterns: &[Option<(DeploymentPattern, usize)>],
    ) -> DocumentResults<'t, O> {
        let documents = documents.into_par_iter().enumerate();
        // Rayon collects the parts of an indexed iterator in its order, so the results come in input order.
        let parts = documents.fold(DocumentResults::default, |mut results, (position, document)| {
            self.map(document, pattern_at(patterns, position), &mut results);
            results
        });
        let mut all = DocumentResults::default();
        parts.collect::<Vec<_>>().into_iter().for_each(|results| all.append(results));
        all
    }

    /// Transforms the chunks of a reader. Each is read and transformed by one thread.
    fn map_chunks<O: OutputForm>(
        &self,
        first: Vec<Document<'t>>,
        reader: &mut ChunkReader<'t>,
    ) -> DocumentResults<'t, O> {
        let chunks = std::iter::once(first)
            .chain(std::iter::from_fn(|| Some(reader.next_chunk()).filter(|chunk| !chunk.is_empty())));
        let ordered = Mutex::new(OrderedResults::default());
        chunks.enumerate().par_bridge().for_each(|(position, chunk)| {
            let results = self.map_sequentially(chunk, &[]);
            ordered.lock().unwrap_or_else(PoisonError::into_inner).add(position, results);
        });
        ordered.into_inner().unwrap_or_else(PoisonError::into_inner).results
    }

    /// Transforms documents on this thread.
    pub(crate) fn map_sequentially<O: OutputForm>(
        &self,
        documents: Vec<Document<'t>>,
        patterns: &[Option<(DeploymentPattern, usize)>],
    ) -> DocumentResults<'t, O> {
        let mut results = DocumentResults::default();
        for (position, document) in documents.into_iter().enumerate() {
            self.map(document, pattern_at(patterns, position), &mut results);
        }
        results
    }

    /// Handles one document by its role, and appends the outcome to `results`.
    fn map<O: OutputForm>(
        &self,
        document: Document<'t>,
        pattern: Option<DeploymentPattern>,
        results: &mut DocumentResults<'t, O>,
    ) {
        let source = self.sources.get(document.source);
        let options = self.environment.options;
        let is_patch = self.survey.is_patch(source);
        let mut findings = Findings::new(document.scope());
        let role = Role::classify(&document, source.purpose, is_patch, options, &mut findings);
        if source.purpose == Purpose::Input {
            results.inputs.push(Arc::new(InputDocument::new(&document, is_patch, options)));
        }
        let has_suppression = matches!(role, Role::Transformed(_) | Role::Configuration);
        let mut suppression =
            has_suppression.then(|| Suppression::from_document(options.composition, &document)).flatten();
        match role {
            Role::Transformed(transform) if transform.needs_set() => {
                document.report_problems(&mut findings);
                results.late.needs_set = true;
                // An empty result keeps its place in the order until the set is complete and it can be transformed.
                results.add_transformed(None, None);
            }
            Role::Transformed(transform) => {
                let mut steps = StepBudget::new(self.rule_steps);
                let outcome = transform_object::transform(transform, &document, self.environment, &mut steps, findings);
                let TransformOutcome { mapped, findings: outcome_findings, .. } = outcome;
                findings = outcome_findings;
                if let (Some(accounting), Some(pattern)) = (self.accounting, pattern)
                    && !findings.has_errors()
                {
                    accounting.report(pattern, &document.root, &mut findings);
                }
                let is_copy = transform.is_passed_on(&document.root);
                let copy_findings = is_copy.then(|| Box::new(RunFindings::new(findings.take())));
                results.rule_steps += steps.spent_on_decision();
                results.max_rule_steps = results.max_rule_steps.max(steps.spent());
                results.add_transformed(mapped.map(Arc::new), copy_findings);
            }
            Role::Patch(transform) => {
                document.report_problems(&mut findings);
                transform.check_patch(&document.header.kind, &document.root, &mut findings);
            }
            // The survey has already read it.
            Role::Configuration => drop(results.configured.insert(document.source)),
            Role::Other => {}
        }
        results.findings.add_all(findings.into_diagnostics(), suppression.as_mut_slice());
        results.suppressions.extend(suppression);
        for finding in self.check_patches(&document, source) {
            results.findings.add(finding);
        }
        if source.purpose == Purpose::Input && !is_patch && !document.is_partial() {
            self.keep(document, role, results);
        }
    }

    /// Keeps an object that transformations may need to see. If nothing is kept, records that an object would have been
    /// needed.
    fn keep<O>(&self, document: Document<'t>, role: Role, results: &mut DocumentResults<'t, O>) {
        let transform = role.transform().filter(|transform| transform.needs_set());
        let is_needed = transform.is_some()
            || self
                .environment
                .options
                .composition
                .transforms()
                .iter()
                .any(|transform| transform.needs_object(&document.header));
        if !is_needed {
            return;
        }
        if !self.keeps_set {
            results.late.needs_set |= is_changed(self.environment.options.composition, &document);
            return;
        }
        let transformed = transform.map(|transform| (transform, results.transformed.len() - 1));
        results.set.push(SetObject { input: results.inputs.len() - 1, object: document.object, transformed });
    }

    /// Checks patches that are not objects of their own: operations in a file, and patches inside a kustomization.
    fn check_patches(&self, document: &Document<'_>, source: &Source) -> Vec<Diagnostic> {
        if is_kustomization(source, &document.header) {
            return kustomization_patches::check(
                document,
                source,
                self.environment.options,
                self.survey.has_input_kinds,
            );
        }
        match (&document.root.value, self.survey.patch_target(source)) {
            (yaml::Value::Sequence(_), Some(target)) => {
                let patch = PatchSource { source: document.source, text: document.text, document: document.index() };
                patch_operations::check(&document.root, target, patch)
            }
            _ => Vec::new(),
        }
    }
}

/// Appends the results of chunks in input order, as soon as all chunks before them are there.
struct OrderedResults<'t, O> {
    /// The results of the chunks before `next`.
    results: DocumentResults<'t, O>,
    next: usize,
    waiting: BTreeMap<usize, DocumentResults<'t, O>>,
}

impl<O> Default for OrderedResults<'_, O> {
    fn default() -> Self {
        Self { results: DocumentResults::default(), next: 0, waiting: BTreeMap::new() }
    }
}

impl<'t, O> OrderedResults<'t, O> {
    fn add(&mut self, position: usize, results: DocumentResults<'t, O>) {
        self.waiting.insert(position, results);
        while let Some(results) = self.waiting.remove(&self.next) {
            self.results.append(results);
            self.next += 1;
        }
    }
}

impl<O> DocumentResults<'_, O> {
    /// Adds the result of the last input.
    fn add_transformed(&mut self, mapped: Option<Arc<TransformedObject<O>>>, copy_findings: Option<Box<RunFindings>>) {
        self.late.transformed = true;
        self.transformed.push(ObjectResult { input: self.inputs.len() - 1, mapped, copy_findings });
    }
}

fn pattern_at(patterns: &[Option<(DeploymentPattern, usize)>], position: usize) -> Option<DeploymentPattern> {
    patterns.get(position).copied().flatten().map(|(pattern, _)| pattern)
}

/// Returns whether an earlier run changed this input object.
fn is_changed(composition: &Composition, document: &Document<'_>) -> bool {
    let annotations = document.root.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let is_present = |key: &str| annotations.is_some_and(|annotations| annotations.get(key).is_some());
    composition.change_annotations().any(is_present)
}
