//! Every text in its turn, a document at a time: read, transformed, let go. What stays is what it leaves behind.
//!
//! Documents go through in chunks. While the documents of one chunk are transformed, by as many threads as there are, the
//! next chunk is read. So memory holds two chunks, and what comes out is in input order whichever thread made it.

use std::collections::{BTreeMap, VecDeque};
use std::mem;

use rayon::prelude::*;

use super::accounting::{self, Accounting};
use super::document::Document;
use super::environment::Environment;
use super::findings::RunFindings;
use super::form::OutputForm;
use super::inline_patch;
use super::map::{self, TransformOutcome};
use super::operations::{self, PatchSource};
use super::prepared::InputDeployment;
use super::results::{DocumentResults, ObjectResult, SetObject};
use super::role::{InputDocument, Role};
use super::rule_steps::allowance;
use super::scan::ReadPlan;
use super::suppress::Suppression;
use super::survey::{Survey, comes_late, is_kustomization};
use crate::composition::{self, TRANSFORMS};
use crate::reading::{Documents, ReadFailures};
use kubefoundry_diagnostics::source::{Purpose, Source, SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Findings};
use kubefoundry_transform::{AnyTransform, StepBudget, Thoroughness};
use kubefoundry_yaml as yaml;

/// Bytes of text whose documents make a chunk: enough for threads to be worth it, few enough to stay in a cache.
pub(super) const CHUNK: usize = 64 * 1024;

/// Sends every document through. `kept` are the documents of the texts that were read before.
pub(super) fn run<'t, O: OutputForm>(
    sources: &'t SourceSet,
    environment: &Environment<'_>,
    survey: &Survey<'t>,
    kept: BTreeMap<SourceId, Vec<Document<'t>>>,
    plan: &ReadPlan,
) -> DocumentResults<'t, O> {
    let limits = environment.options.limits;
    let rule_limits = environment.options.rule_limits;
    let mut reading = ChunkReader::new(sources, limits, kept, plan);
    let mut results = DocumentResults::default();
    let mut chunk = reading.chunk();
    let accounts = environment.thoroughness != Thoroughness::Needed;
    let mut accounting = accounts.then(|| Accounting::new(rule_limits));
    while !chunk.is_empty() {
        // Chunks come one after the other, however many threads there are: what is left is the same each time.
        let alone = chunk.iter().filter(|document| runs_alone(document).is_some()).count();
        let rule_steps = allowance(rule_limits, results.rule_steps, alone);
        let written =
            accounting.as_mut().map(|accounting| learn(accounting, &chunk, environment).0).unwrap_or_default();
        let accounting = accounting.as_ref();
        let mapper = Mapper { sources, environment, survey, rule_steps, accounting, keeps_set: plan.keeps_set };
        let made = if reading.is_done() {
            // Nothing to read meanwhile; and for the one chunk of a small input no thread is started.
            let parallel = !results.inputs.is_empty();
            let chunk = mem::take(&mut chunk);
            if parallel { mapper.map_in_parallel(chunk, &written) } else { mapper.map_in_turn(chunk, &written) }
        } else {
            let (next, made) = {
                let chunk = mem::take(&mut chunk);
                rayon::join(|| reading.chunk(), || mapper.map_in_parallel(chunk, &written))
            };
            chunk = next;
            made
        };
        results.append(made);
    }
    results.found.append(reading.found);
    results.trouble.append(reading.trouble);
    results.late.configuration |= reading.is_late;
    results
}

/// The transformation of a document, when that needs no other document.
fn runs_alone(document: &Document<'_>) -> Option<&'static dyn AnyTransform> {
    let header = &document.header;
    composition::transform_of_kind(header.group(), &header.kind).filter(|transform| !transform.needs_set())
}

/// How the objects among some documents are written that are whole and transformed alone, and how much work it takes to
/// try their fields: one for each document.
pub(super) type PatternCosts = Vec<Option<(accounting::DeploymentPattern, usize)>>;

/// Tries the fields of objects that are written as none before. Returns also the kinds that were new.
pub(super) fn learn(
    accounting: &mut Accounting,
    documents: &[Document<'_>],
    environment: &Environment<'_>,
) -> (PatternCosts, Vec<accounting::DeploymentPattern>) {
    let written = |document: &Document<'_>| {
        let is_whole = runs_alone(document).is_some() && document.problems.is_empty();
        is_whole.then(|| accounting::DeploymentPattern::of(&document.root))
    };
    let written: PatternCosts = documents.iter().map(written).collect();
    let subjects = documents.iter().zip(&written).filter_map(|(document, written)| {
        let (kind, work) = (*written)?;
        Some((kind, work, InputDeployment::new(document, environment)?))
    });
    let learned = accounting.learn(subjects.collect());
    (written, learned)
}

/// The texts as chunks of documents.
struct ChunkReader<'t> {
    texts: VecDeque<(SourceId, &'t Source, Option<Vec<Document<'t>>>)>,
    current: Option<(SourceId, &'t Source, Documents<'t>)>,
    limits: yaml::Limits,
    found: RunFindings,
    trouble: ReadFailures,
    /// Whether a document came that had to be read before the others.
    is_late: bool,
}

impl<'t> ChunkReader<'t> {
    fn new(
        sources: &'t SourceSet,
        limits: yaml::Limits,
        mut kept: BTreeMap<SourceId, Vec<Document<'t>>>,
        plan: &ReadPlan,
    ) -> Self {
        let texts = sources.iter().filter(|(id, _)| plan.includes(*id));
        let texts = texts.map(|(id, source)| (id, source, kept.remove(&id))).collect();
        let (found, trouble) = (RunFindings::default(), ReadFailures::default());
        Self { texts, current: None, limits, found, trouble, is_late: false }
    }

    fn is_done(&self) -> bool {
        self.texts.is_empty() && self.current.is_none()
    }

    /// The next documents; none at the end.
    fn chunk(&mut self) -> Vec<Document<'t>> {
        let mut chunk = Vec::new();
        let mut bytes = 0;
        while bytes < CHUNK {
            let Some((id, source, documents)) = &mut self.current else {
                match self.texts.pop_front() {
                    Some((_, source, Some(kept))) => {
                        bytes += source.text.len();
                        chunk.extend(kept);
                    }
                    Some((id, source, None)) => {
                        self.current = Some((id, source, Documents::new(source, &self.limits)));
                    }
                    None => break,
                }
                continue;
            };
            let (id, source) = (*id, *source);
            if let Some(document) = documents.next() {
                bytes += document.span.end - document.span.start;
                let document = Document::new(id, source, document);
                self.is_late |= comes_late(source, &document.header);
                let mut diagnostics = Vec::new();
                document.flatten(&mut chunk, &mut diagnostics);
                for found in diagnostics {
                    self.found.add(found);
                }
            } else if let Some((.., documents)) = self.current.take() {
                self.trouble.add(id, source, &documents.into_failures());
            }
        }
        chunk
    }
}

/// Sends documents through, each on its own.
pub(super) struct Mapper<'s, 't> {
    pub(super) sources: &'t SourceSet,
    pub(super) environment: &'s Environment<'s>,
    pub(super) survey: &'s Survey<'t>,
    /// Steps that the rules may take for each object.
    pub(super) rule_steps: u64,
    /// Where fields go that reach nothing, when that is looked for.
    pub(super) accounting: Option<&'s Accounting>,
    /// Whether objects are kept that transformations may need to see.
    pub(super) keeps_set: bool,
}

impl<'t> Mapper<'_, 't> {
    /// Sends documents through on as many threads as there are. `written` is that of the documents, or empty without
    /// accounting.
    pub(super) fn map_in_parallel<O: OutputForm>(
        &self,
        documents: Vec<Document<'t>>,
        written: &[Option<(accounting::DeploymentPattern, usize)>],
    ) -> DocumentResults<'t, O> {
        let documents = documents.into_par_iter().enumerate();
        let parts = documents.fold(DocumentResults::default, |mut results, (position, document)| {
            self.map(document, kind_at(written, position), &mut results);
            results
        });
        let mut all = DocumentResults::default();
        parts.collect::<Vec<_>>().into_iter().for_each(|results| all.append(results));
        all
    }

    /// The same on this thread.
    pub(super) fn map_in_turn<O: OutputForm>(
        &self,
        documents: Vec<Document<'t>>,
        written: &[Option<(accounting::DeploymentPattern, usize)>],
    ) -> DocumentResults<'t, O> {
        let mut results = DocumentResults::default();
        for (position, document) in documents.into_iter().enumerate() {
            self.map(document, kind_at(written, position), &mut results);
        }
        results
    }

    fn map<O: OutputForm>(
        &self,
        document: Document<'t>,
        written: Option<accounting::DeploymentPattern>,
        results: &mut DocumentResults<'t, O>,
    ) {
        let source = self.sources.get(document.source);
        let options = self.environment.options;
        let is_patch = self.survey.is_patch(source);
        let mut findings = Findings::new(document.scope());
        let role = Role::of(&document, source.purpose, is_patch, options, &mut findings);
        if source.purpose == Purpose::Input {
            results.inputs.push(InputDocument::of(&document, is_patch, &options.settings));
        }
        let before = results.suppressions.len();
        if matches!(role, Role::Transformed(_) | Role::Configuration) {
            results.suppressions.extend(Suppression::of(&document));
        }
        match role {
            Role::Transformed(transform) if transform.needs_set() => {
                document.report_problems(&mut findings);
                results.late.needs_set = true;
                results.add_transformed(None, None);
            }
            Role::Transformed(transform) => {
                let mut steps = StepBudget::new(self.rule_steps);
                let outcome = map::transform(transform, &document, self.environment, &mut steps, findings);
                let TransformOutcome { mapped, findings: found, .. } = outcome;
                findings = found;
                if let (Some(accounting), Some(kind)) = (self.accounting, written)
                    && !findings.has_errors()
                {
                    accounting.report(kind, &document.root, &mut findings);
                }
                let is_copy = transform.is_passed_on(&document.root);
                let copy = is_copy.then(|| Box::new(RunFindings::new(findings.take())));
                results.rule_steps += steps.spent_on_decision();
                results.most_rule_steps = results.most_rule_steps.max(steps.spent());
                results.add_transformed(mapped.map(Box::new), copy);
            }
            Role::Patch(transform) => {
                document.report_problems(&mut findings);
                transform.check_patch(&document.header.kind, &document.root, &mut findings);
            }
            // What it says was read before.
            Role::Configuration => drop(results.configured.insert(document.source)),
            Role::Other => {}
        }
        let suppressions = results.suppressions.get_mut(before..).unwrap_or_default();
        results.found.add_all(findings.into_diagnostics(), suppressions);
        for found in self.check_patches(&document, source) {
            results.found.add(found);
        }
        if source.purpose == Purpose::Input && !is_patch && !document.is_partial() {
            self.keep(document, role, results);
        }
    }

    /// Keeps an object that transformations may need to see, or notes that one of them does.
    fn keep<O>(&self, document: Document<'t>, role: Role, results: &mut DocumentResults<'t, O>) {
        let transform = role.transform().filter(|transform| transform.needs_set());
        let is_seen =
            transform.is_some() || TRANSFORMS.iter().any(|transform| transform.needs_object(&document.header));
        if !is_seen {
            return;
        }
        if !self.keeps_set {
            results.late.needs_set |= is_changed(&document);
            return;
        }
        let transformed = transform.map(|transform| (transform, results.transformed.len() - 1));
        results.set.push(SetObject { input: results.inputs.len() - 1, object: document.object, transformed });
    }

    /// What is wrong with patches that are no objects: operations in a file, and those that stand in a kustomization.
    fn check_patches(&self, document: &Document<'_>, source: &Source) -> Vec<Diagnostic> {
        if is_kustomization(source, &document.header) {
            return inline_patch::check(document, source, self.environment.options, self.survey.is_among_ours);
        }
        match (&document.root.value, self.survey.target(source)) {
            (yaml::Value::Sequence(_), Some(target)) => {
                let place = PatchSource { source: document.source, text: document.text, document: document.index() };
                operations::check(&document.root, target, place)
            }
            _ => Vec::new(),
        }
    }
}

impl<O> DocumentResults<'_, O> {
    /// Adds what the last of the inputs became.
    fn add_transformed(&mut self, mapped: Option<Box<map::TransformedObject<O>>>, copy: Option<Box<RunFindings>>) {
        self.late.transformed = true;
        self.transformed.push(ObjectResult { input: self.inputs.len() - 1, mapped, copy });
    }
}

fn kind_at(
    written: &[Option<(accounting::DeploymentPattern, usize)>],
    position: usize,
) -> Option<accounting::DeploymentPattern> {
    written.get(position).copied().flatten().map(|(kind, _)| kind)
}

/// Whether an earlier run changed an object of the input.
fn is_changed(document: &Document<'_>) -> bool {
    let annotations = document.root.get("metadata").and_then(|metadata| metadata.get("annotations"));
    annotations.is_some_and(|it| composition::change_annotations().any(|key| it.get(key).is_some()))
}
