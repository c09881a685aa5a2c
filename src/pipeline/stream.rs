//! Phase 2: every text in its turn, a document at a time: read, mapped, let go. What stays is what it leaves behind.
//!
//! Documents go through in chunks. While the documents of one chunk are mapped, by as many threads as there are, the
//! next chunk is read. So memory holds two chunks, and what comes out is in input order whoever made it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem;

use rayon::prelude::*;
use serde_json::Value;

use super::Thoroughness;
use super::document::Document;
use super::form::Form;
use super::found::{self, Found};
use super::inline_patch;
use super::map::{self, Made, Mapped, Setting};
use super::operations::{self, Place};
use super::relevance::Texts;
use super::role::{InputDocument, Role, annotation};
use super::subject::Subject;
use super::suppress::Suppression;
use super::survey::{Survey, comes_late, is_kustomization};
use super::text::{Documents, Trouble};
use crate::composition::TRANSFORMS;
use crate::options::Options;
use crate::trace::accounting;
use crate::trace::accounting::Accounting;
use kubefoundry_diagnostics::source::{Purpose, Source, SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Findings};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::manifest::Identity;
use kubefoundry_model::select;
use kubefoundry_model::select::Steps;
use kubefoundry_transform::Object;
use kubefoundry_yaml as yaml;

/// Bytes of text whose documents make a chunk: enough for threads to be worth it, few enough to stay in a cache.
const CHUNK: usize = 64 * 1024;

/// What documents leave behind, in input order.
#[derive(Debug)]
pub(super) struct Traces<'t, O> {
    pub(super) inputs: Vec<InputDocument>,
    pub(super) deployments: Vec<Trace<O>>,
    pub(super) found: Found,
    /// How many findings the copies among the deployments hold.
    held: usize,
    /// What is wrong with whole texts.
    pub(super) trouble: Trouble,
    /// What objects say to ignore.
    pub(super) suppressions: Vec<Suppression>,
    /// The texts that hold a provider configuration.
    pub(super) configured: BTreeSet<SourceId>,
    /// Steps that selection rules took.
    rule_steps: u64,
    /// Whether something came that had to be known before.
    pub(super) too_late: bool,
    /// Whether something came that needs to see the other objects.
    pub(super) needs_set: bool,
    /// The objects that are seen by those, when they are kept at all.
    pub(super) set: Vec<Kept<'t>>,
}

/// An object that others may need to see.
#[derive(Debug)]
pub(super) struct Kept<'t> {
    /// Its place among the inputs.
    pub(super) input: usize,
    pub(super) object: Object<'t>,
    /// What transforms it: its position in [`TRANSFORMS`], and its place among the deployments.
    pub(super) transformed: Option<(usize, usize)>,
}

/// What an object that is transformed leaves behind.
#[derive(Debug)]
pub(super) struct Trace<O> {
    /// Its place among the inputs.
    pub(super) input: usize,
    /// What it became; none when it could not be read, or as long as it waits for the others.
    pub(super) mapped: Option<Box<Mapped<O>>>,
    /// Of a deployment that may be a copy of another one: what was found in it, said only if it is none.
    pub(super) copy: Option<Box<Found>>,
}

impl<O> Default for Traces<'_, O> {
    fn default() -> Self {
        Self {
            inputs: Vec::new(),
            deployments: Vec::new(),
            found: Found::default(),
            held: 0,
            trouble: Trouble::default(),
            suppressions: Vec::new(),
            configured: BTreeSet::new(),
            rule_steps: 0,
            too_late: false,
            needs_set: false,
            set: Vec::new(),
        }
    }
}

impl<O> Traces<'_, O> {
    fn append(&mut self, mut later: Self) {
        let before = self.inputs.len();
        for kept in &mut later.set {
            kept.input += before;
            kept.transformed.iter_mut().for_each(|(_, trace)| *trace += self.deployments.len());
        }
        self.set.append(&mut later.set);
        for trace in &mut later.deployments {
            trace.input += before;
            if let Some(found) = &mut trace.copy {
                found.limit(found::MOST.saturating_sub(self.held));
                self.held += found.len();
            }
        }
        self.inputs.append(&mut later.inputs);
        self.deployments.append(&mut later.deployments);
        self.found.append(later.found);
        self.trouble.append(later.trouble);
        self.suppressions.append(&mut later.suppressions);
        self.configured.append(&mut later.configured);
        self.rule_steps = self.rule_steps.saturating_add(later.rule_steps);
        self.too_late |= later.too_late;
        self.needs_set |= later.needs_set;
    }
}

impl Traces<'_, Value> {
    /// Adds what an object became that is changed, and is not of a kind that is transformed.
    pub(super) fn changed(&mut self, input: usize, mapped: Mapped<Value>) {
        let trace = Trace { input, mapped: Some(Box::new(mapped)), copy: None };
        let after = self.deployments.partition_point(|trace| trace.input < input);
        self.deployments.insert(after, trace);
    }

    /// The same with every object in another form. What waited for the others is done.
    pub(super) fn into_form<'t, O: Form>(self) -> Traces<'t, O> {
        let into_form = |trace: Trace<Value>| {
            let mapped = trace.mapped.map(|mapped| {
                let Mapped { decision, objects } = *mapped;
                Box::new(Mapped { decision, objects: objects.into_iter().map(Made::into_form).collect() })
            });
            Trace { input: trace.input, mapped, copy: trace.copy }
        };
        Traces {
            inputs: self.inputs,
            deployments: self.deployments.into_iter().map(into_form).collect(),
            found: self.found,
            held: self.held,
            trouble: self.trouble,
            suppressions: self.suppressions,
            configured: self.configured,
            rule_steps: self.rule_steps,
            too_late: self.too_late,
            needs_set: self.needs_set,
            set: Vec::new(),
        }
    }
}

impl<O> Traces<'_, O> {
    /// Leaves out what an earlier run passed on of a ModelDeployment that is in the input itself: `--out-dir` may lie
    /// below the input. Such a copy bears its provider's annotation, and its original does not.
    pub(super) fn leave_out_copies(&mut self) {
        if self.deployments.iter().all(|trace| trace.copy.is_none()) {
            return;
        }
        let inputs = &mut self.inputs;
        let identity = |inputs: &[InputDocument], trace: &Trace<O>| {
            inputs.get(trace.input).map(|input| {
                let Header { api_version, kind, namespace, name } = &input.header;
                Identity::new(api_version, kind, namespace.as_deref(), name)
            })
        };
        let originals = self.deployments.iter().filter(|trace| trace.copy.is_none());
        let originals: BTreeSet<_> = originals.map(|trace| identity(inputs, trace)).collect();
        self.deployments.retain_mut(|trace| {
            let Some(found) = trace.copy.take() else { return true };
            let is_left_out = originals.contains(&identity(inputs, trace));
            if is_left_out {
                inputs.get_mut(trace.input).into_iter().for_each(|input| input.rendered = false);
            } else {
                self.found.append(*found);
            }
            !is_left_out
        });
    }
}

/// Sends every document through.
pub(super) fn run<'t, O: Form>(
    sources: &'t SourceSet,
    setting: &Setting<'_>,
    survey: &mut Survey<'t>,
    texts: Texts,
) -> Traces<'t, O> {
    let kept = mem::take(&mut survey.kept);
    let mut reading = Reading::new(sources, setting.options, kept, texts);
    let mut traces = Traces::default();
    let mut chunk = reading.chunk();
    let accounts = setting.thoroughness != Thoroughness::Needed;
    let mut accounting = accounts.then(|| Accounting::new(setting.options.rule_limits));
    while !chunk.is_empty() {
        // Chunks come one after the other, however many threads there are: what is left is the same each time.
        let deployments = chunk.iter().filter(|document| &*document.header.kind == "ModelDeployment").count();
        let rule_steps = select::allowance(setting.options.rule_limits, traces.rule_steps, deployments);
        if let Some(accounting) = &mut accounting {
            learn(accounting, &mut chunk, setting);
        }
        let look = Look { sources, setting, survey, rule_steps, accounting: accounting.as_ref() };
        let made = if reading.is_done() {
            // Nothing to read meanwhile; and for the one chunk of a small input no thread is started.
            let parallel = !traces.inputs.is_empty();
            let chunk = mem::take(&mut chunk);
            if parallel { look.all(chunk) } else { look.each(chunk) }
        } else {
            let (next, made) = rayon::join(|| reading.chunk(), || look.all(mem::take(&mut chunk)));
            chunk = next;
            made
        };
        traces.append(made);
    }
    traces.found.append(reading.found);
    traces.trouble.append(reading.trouble);
    traces.too_late |= reading.too_late;
    traces
}

/// Tries the fields of deployments that are written as none before.
fn learn(accounting: &mut Accounting, chunk: &mut [Document<'_>], setting: &Setting<'_>) {
    let mut work = Vec::new();
    for document in &mut *chunk {
        let is_deployment = &*document.header.kind == "ModelDeployment" && document.header.dialect().is_some();
        let kind = (is_deployment && document.problems.is_empty()).then(|| accounting::Kind::of(&document.root));
        document.written = kind.map(|(kind, _)| kind);
        work.push(kind);
    }
    let subjects = chunk.iter().zip(work).filter_map(|(document, kind)| {
        let (kind, work) = kind?;
        Some((kind, work, Subject::new(document, setting)))
    });
    accounting.learn(subjects.collect());
}

/// The texts as chunks of documents.
struct Reading<'t> {
    texts: VecDeque<(SourceId, &'t Source, Option<Vec<Document<'t>>>)>,
    current: Option<(SourceId, &'t Source, Documents<'t>)>,
    limits: yaml::Limits,
    found: Found,
    trouble: Trouble,
    too_late: bool,
}

impl<'t> Reading<'t> {
    fn new(
        sources: &'t SourceSet,
        options: &Options,
        mut kept: BTreeMap<SourceId, Vec<Document<'t>>>,
        texts: Texts,
    ) -> Self {
        let wanted = |source: &Source| source.purpose.has_resources() && texts.include(source);
        let texts = sources.iter().filter(|(_, source)| wanted(source));
        let texts = texts.map(|(id, source)| (id, source, kept.remove(&id))).collect();
        Self {
            texts,
            current: None,
            limits: options.limits,
            found: Found::default(),
            trouble: Trouble::default(),
            too_late: false,
        }
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
                self.too_late |= comes_late(source, &document.header);
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

/// What documents are looked at with.
struct Look<'s, 't> {
    sources: &'t SourceSet,
    setting: &'s Setting<'s>,
    survey: &'s Survey<'t>,
    /// Steps that the rules may take for each deployment.
    rule_steps: u64,
    /// Where fields go that reach nothing, when that is looked for.
    accounting: Option<&'s Accounting>,
}

impl<'t> Look<'_, 't> {
    /// Looks at documents on as many threads as there are.
    fn all<O: Form>(&self, documents: Vec<Document<'t>>) -> Traces<'t, O> {
        let some = documents.into_par_iter().fold(Traces::default, |mut traces, document| {
            self.one(document, &mut traces);
            traces
        });
        let mut all = Traces::default();
        some.collect::<Vec<_>>().into_iter().for_each(|traces| all.append(traces));
        all
    }

    /// Looks at documents on this thread.
    fn each<O: Form>(&self, documents: Vec<Document<'t>>) -> Traces<'t, O> {
        let mut traces = Traces::default();
        for document in documents {
            self.one(document, &mut traces);
        }
        traces
    }

    fn one<O: Form>(&self, document: Document<'t>, traces: &mut Traces<'t, O>) {
        let source = self.sources.get(document.source);
        let is_patch = self.survey.is_patch(source);
        let mut findings = Findings::new(document.scope());
        let role = Role::of(&document, source.purpose, is_patch, self.setting.options, &mut findings);
        if source.purpose == Purpose::Input {
            let is_source = matches!(role, Role::Source(_));
            traces.inputs.push(InputDocument::of(&document, is_patch, is_source));
        }
        let before = traces.suppressions.len();
        if matches!(role, Role::Deployment | Role::Source(_) | Role::Config) {
            traces.suppressions.extend(Suppression::of(&document));
        }
        match role {
            Role::Deployment => {
                let mut steps = Steps::new(self.rule_steps);
                let mapped = map::deployment(&document, self.setting, &mut steps, &mut findings).map(Box::new);
                if let (Some(accounting), Some(kind)) = (self.accounting, document.written)
                    && !findings.has_errors()
                {
                    accounting.report(kind, &document.root, &mut findings);
                }
                let copy =
                    annotation(&document.root, "provider").is_some().then(|| Box::new(Found::of(findings.take())));
                traces.rule_steps += steps.spent();
                traces.deployments.push(Trace { input: traces.inputs.len() - 1, mapped, copy });
            }
            Role::Source(_) => {
                document.report_problems(&mut findings);
                traces.needs_set = true;
                traces.deployments.push(Trace { input: traces.inputs.len() - 1, mapped: None, copy: None });
            }
            Role::Patch => map::patch(&document, &mut findings),
            // In the catalog already.
            Role::Config => drop(traces.configured.insert(document.source)),
            Role::None => {}
        }
        let suppressions = traces.suppressions.get_mut(before..).unwrap_or_default();
        traces.found.add_all(findings.into_diagnostics(), suppressions);
        for found in self.in_patches(&document, source) {
            traces.found.add(found);
        }
        let is_seen = || TRANSFORMS.iter().any(|transform| transform.looks_at(&document.header));
        if self.setting.keeps_set && source.purpose == Purpose::Input && !is_patch && !document.is_partial() {
            let transformed = if let Role::Source(position) = role {
                Some((position, traces.deployments.len() - 1))
            } else if is_seen() {
                None
            } else {
                return;
            };
            traces.set.push(Kept { input: traces.inputs.len() - 1, object: document.into_object(), transformed });
        }
    }

    /// What is wrong with patches that are no objects: operations in a file, and those that stand in a kustomization.
    fn in_patches(&self, document: &Document<'_>, source: &Source) -> Vec<Diagnostic> {
        if is_kustomization(source, &document.header) {
            return inline_patch::check(document, source, self.setting.options, self.survey.is_among_ours);
        }
        let Document { source: id, text, index, root, .. } = document;
        match (&root.value, self.survey.target(source)) {
            (yaml::Value::Sequence(_), Some(target)) => {
                operations::check(root, target, Place { source: *id, text, document: *index })
            }
            _ => Vec::new(),
        }
    }
}
