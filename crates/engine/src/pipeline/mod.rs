//! The pipeline: texts in, objects and findings out.
//!
//! ```text
//! sources ─ options ─ scan ──► what is read first, what is kept for the set, what is not read at all
//!                      │
//!                      ├─ survey: configurations (the catalog), kustomizations (which files are patches)
//!                      │
//!                      └─ stream, a chunk of documents at a time:
//!                            read ─ header ─ role ─┬─ transformed, alone ──► map (any thread) ─┐
//!                                                  ├─ transformed, in a set ─► kept ─ set ─────┼─ link ─ Compilation
//!                                                  └─ configuration, patch, other ► findings ──┘
//! ```
//! The scan is a look at each text for the kinds that it names; what a document is, its header decides once it is read.
//! When a document turns up that the scan did not see (its kind is written with escapes) and that changes what had to be
//! read first or kept, the run starts again, once, with everything read first and everything kept: slower, never wrong.

mod cache;
mod conformance;
mod context;
mod document;
mod environment;
mod evaluate;
mod findings;
mod form;
mod inline_patch;
mod kustomize;
mod link;
mod map;
mod operations;
mod renderer;
mod results;
mod role;
mod scan;
pub(crate) mod session;
mod set;
mod stream;
mod subject;
mod suppress;
mod survey;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use serde::Serialize;
use serde_json::Value;

pub(crate) use document::report_failure;
pub use form::{Form, YamlText};
pub use kubefoundry_kubernetes::header::Header;
pub(crate) use kustomize::{normalize, patch_files};
pub use renderer::{ListItems, Rendered, Renderer};
pub use role::InputDocument;
pub(crate) use subject::{Attempt, Prepared, Subject, prepared};
pub use text::may_hold_ours;
pub(crate) use text::{Documents, report as report_text};

use crate::codes;
use crate::composition;
use crate::options::Options;
use conformance::CrdSchemas;
pub(crate) use context::options_of;
use context::{catalog_of, crds_of};
use environment::Environment;
use kubefoundry_diagnostics::render::{CheckedSchema, LineIndex};
use kubefoundry_diagnostics::source::{Purpose, SourceId, SourceSet};
use kubefoundry_diagnostics::{Attribute, Diagnostic, Location, ObjectRef, Severity};
use kubefoundry_kubernetes::manifest::Identity;
use kubefoundry_model::select::Selection;
use kubefoundry_transform::Endpoint;
pub use kubefoundry_transform::{Field, Gpus, Thoroughness};
use results::DocumentResults;
use scan::ReadPlan;
use survey::Survey;

/// What a run came to. Nothing in it may be used as output when [`Compilation::has_errors`].
#[derive(Debug)]
pub struct Compilation<O = Value> {
    /// Generated objects, in the order of their ModelDeployments in the input; within one, supporting objects first.
    pub outputs: Vec<Output<O>>,
    /// Every document of the input, in order.
    pub inputs: Vec<InputDocument>,
    /// The texts that hold a provider configuration, whether or not it could be used.
    pub configured: BTreeSet<SourceId>,
    /// What was found, ordered by file, line, code: of a run at most 10,000, and at the end how many more there are.
    pub diagnostics: Vec<Diagnostic>,
    /// Warnings and infos that objects say to ignore, in the same order. Errors stay among the findings.
    pub suppressed: Vec<Diagnostic>,
    /// How many more findings objects say to ignore, past the 10,000 that are kept.
    pub suppressed_left_out: usize,
    /// One for each object that is transformed, in input order.
    pub decisions: Vec<Decision>,
    /// The options that applied.
    pub options: Options,
}

impl<O> Compilation<O> {
    /// Whether an error was found: then there is no output.
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// The schemas of a CRD dump that the main objects were checked against, each once, in order.
    pub fn checked_schemas(&self) -> Vec<CheckedSchema> {
        let checked = self.decisions.iter().filter_map(|decision| {
            let (object, fingerprint) = (decision.objects.last()?, decision.schema_fingerprint.clone()?);
            let (api_version, kind) = (object.api_version.to_string(), object.kind.to_string());
            Some(CheckedSchema { api_version, kind, fingerprint })
        });
        checked.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// How many findings have this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count()
    }
}

/// An object to apply.
#[derive(Debug, Clone, PartialEq)]
pub struct Output<O = Value> {
    /// What tells it from others.
    pub identity: Identity,
    /// The object, in the form that was asked for.
    pub object: O,
    /// Index of its ModelDeployment in [`Compilation::decisions`].
    pub decision: usize,
    /// How it comes to be in the output.
    pub role: OutputRole,
}

/// How an object comes to be in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputRole {
    /// It was generated, and is marked as ours.
    Generated,
    /// It is the ModelDeployment itself, passed on for a provider that this program does not render.
    PassedOn,
    /// It is an object of the input with additions.
    Changed,
    /// It was generated for several objects, and belongs to none of them.
    Shared,
}

impl<O> Output<O> {
    /// Whether it was generated for the object that its decision is about.
    pub fn is_generated(&self) -> bool {
        matches!(self.role, OutputRole::Generated | OutputRole::Shared)
    }
}

/// What was decided for one object of a kind that is transformed, and what it became.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The object, a ModelDeployment for the most part.
    pub object: ObjectRef,
    /// Where it stands.
    #[serde(skip)]
    pub source: SourceId,
    /// Which document of it.
    #[serde(skip)]
    pub document: usize,
    /// Which provider, and why; of a ModelDeployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// The CRD version that is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The schema of the main object in the dump of CRDs, by its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_fingerprint: Option<String>,
    /// The runtime version that flags and images are for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Where the model answers once it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// The objects it became.
    pub objects: Vec<ObjectRef>,
    /// The GPUs that it asks for.
    #[serde(skip)]
    pub gpus: Vec<Gpus>,
    /// Every value of the validated deployment, with its field and where it came from; with
    /// [`Thoroughness::Everything`] only.
    pub fields: Vec<Field>,
}

impl Decision {
    /// What is known before anything is decided.
    pub(crate) fn new(object: ObjectRef, source: SourceId, document: usize) -> Self {
        Self {
            object,
            source,
            document,
            selection: None,
            target: None,
            schema_fingerprint: None,
            runtime: None,
            endpoint: None,
            objects: Vec::new(),
            gpus: Vec::new(),
            fields: Vec::new(),
        }
    }

    /// The provider that was chosen, if this is about a ModelDeployment and there is one.
    pub fn provider(&self) -> Option<&str> {
        self.selection.as_ref()?.provider.as_deref()
    }

    /// Why it was chosen.
    pub fn reason(&self) -> Option<&str> {
        self.selection.as_ref()?.reason.as_deref()
    }
}

/// Which providers can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Providers {
    /// The built-in ones, and those that are configured.
    #[default]
    All,
    /// Those that are configured: what the built-in ones are chosen for, their own configurations say where they are
    /// installed.
    Given,
}

/// Runs the whole pipeline. Total: every mistake of the input is a diagnostic, and nothing panics.
///
/// ```
/// use kubefoundry_engine::{Thoroughness, compile};
/// use kubefoundry_diagnostics::source::SourceSet;
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec:
///   model: {id: microsoft/Phi-4-mini-instruct}
///   engine: {type: vllm}
///   resources: {gpu: {count: 1}}
/// ");
/// let compilation = compile(&sources, Thoroughness::Needed);
/// assert!(!compilation.has_errors());
/// assert_eq!(&*compilation.outputs[0].identity.kind, "DynamoGraphDeployment");
/// assert_eq!(compilation.decisions[0].reason(), Some("default → dynamo (GPU inference default)"));
/// ```
pub fn compile(sources: &SourceSet, thoroughness: Thoroughness) -> Compilation {
    compile_as(sources, thoroughness)
}

/// The same, with each object in the form that the caller needs.
///
/// Of many objects, texts take a tenth of the room that values take.
///
/// ```
/// use kubefoundry_engine::pipeline::{Compilation, YamlText, compile_as};
/// use kubefoundry_diagnostics::source::SourceSet;
/// use kubefoundry_engine::Thoroughness;
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec:
///   model: {id: microsoft/Phi-4-mini-instruct}
///   engine: {type: vllm}
///   resources: {gpu: {count: 1}}
/// ");
/// let compilation: Compilation<YamlText> = compile_as(&sources, Thoroughness::Needed);
/// assert!(compilation.outputs[0].object.as_str().starts_with("apiVersion: nvidia.com/v1alpha1\n"));
/// ```
pub fn compile_as<O: Form>(sources: &SourceSet, thoroughness: Thoroughness) -> Compilation<O> {
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method is not general enough over lifetimes")]
    compile_with(sources, thoroughness, |run| run.results())
}

/// The same, with what the documents left behind given by `results`.
fn compile_with<O>(
    sources: &SourceSet,
    thoroughness: Thoroughness,
    results: impl for<'r> FnOnce(&'r Run<'r>) -> DocumentResults<'r, O>,
) -> Compilation<O> {
    let mut diagnostics = Vec::new();
    let options = options_of(sources, &mut diagnostics);
    if diagnostics.iter().any(|found| found.severity == Severity::Error) {
        // With options that do not say what they should, whatever is found in the input may be wrong.
        sort(&mut diagnostics, sources);
        return Compilation {
            outputs: Vec::new(),
            inputs: Vec::new(),
            configured: BTreeSet::new(),
            diagnostics,
            suppressed: Vec::new(),
            suppressed_left_out: 0,
            decisions: Vec::new(),
            options,
        };
    }
    let crds = crds_of(sources, &options, &mut diagnostics);
    let schemas = crds.as_ref().map(CrdSchemas);
    let run = Run { sources, schemas: schemas.as_ref(), options: &options, thoroughness };
    let mut results = results(&run);
    results.leave_out_copies();
    let DocumentResults { inputs, transformed, mut found, suppressions, configured, mut trouble, .. } = results;
    diagnostics.into_iter().chain(trouble.ours.drain(..)).for_each(|diagnostic| found.add(diagnostic));
    let none = transformed.is_empty();
    let (outputs, decisions) = link::link(transformed, &inputs, sources, &mut found);
    let failed = found.has_errors();
    if none && !options.allow_empty && !failed {
        let message = format!("the input has no {} to render", composition::MODELS.kind().1);
        let mut diagnostic = Diagnostic::new(&codes::NO_MODEL_DEPLOYMENT, message)
            .help("give a file or directory with one, or say allowEmpty: true in the Render options");
        if let Some(takes_what) = inputs.iter().find_map(left_to_its_controller) {
            diagnostic = diagnostic.help(takes_what.to_owned());
        }
        diagnostic.location = only_empty_text(sources, inputs.is_empty() && trouble.foreign.is_empty());
        found.add(diagnostic);
        // What was passed over as none of our business may be the reason.
        trouble.foreign.into_iter().for_each(|foreign| found.add(foreign));
    }
    let every_finding = thoroughness != Thoroughness::Needed;
    let mut suppressed = suppress::suppress(&mut found, suppressions, every_finding);
    sort(&mut suppressed, sources);
    let (diagnostics, left_out) = found.into_parts();
    let mut diagnostics: Vec<Diagnostic> =
        diagnostics.into_iter().filter_map(|diagnostic| options.adjust(diagnostic)).collect();
    sort(&mut diagnostics, sources);
    diagnostics.dedup();
    say_once(&mut diagnostics);
    diagnostics.extend(left_out.report(&options));
    let suppressed_left_out = left_out.suppressed();
    Compilation { outputs, inputs, configured, diagnostics, suppressed, suppressed_left_out, decisions, options }
}

/// What every document is sent through with.
struct Run<'s> {
    sources: &'s SourceSet,
    schemas: Option<&'s CrdSchemas<'s>>,
    options: &'s Options,
    thoroughness: Thoroughness,
}

impl Run<'_> {
    /// Reads the texts as they need to be read. A document that came too late makes it read them once more, all of them
    /// before the first object is transformed; then none can.
    fn results<O: Form>(&self) -> DocumentResults<'_, O> {
        let plan = ReadPlan::new(self.sources, self.options);
        self.results_of(&plan).or_else(|| self.results_of(&ReadPlan::everything(self.sources))).unwrap_or_default()
    }

    /// Sends every document through. None when the plan was wrong. As long as a transformation may need to see the
    /// objects they stay values, and only then take the form that the caller asked for.
    fn results_of<O: Form>(&self, plan: &ReadPlan) -> Option<DocumentResults<'_, O>> {
        let Self { sources, schemas, options, thoroughness } = *self;
        let mut survey = Survey::new(sources, options, plan);
        let (catalog, mut problems) = catalog_of(sources, options, Providers::All, &mut survey);
        survey.diagnostics.append(&mut problems);
        let environment = Environment { catalog: &catalog, schemas, options, thoroughness, chosen: None };
        let kept = mem::take(&mut survey.kept);
        let mut results = if plan.keeps_set {
            let mut results: DocumentResults<'_, Value> = stream::run(sources, &environment, &survey, kept, plan);
            if plan.is_refuted_by(results.late) {
                return None;
            }
            survey.diagnostics.drain(..).for_each(|found| results.found.add(found));
            set::transform(&mut results, &environment);
            results.into_form()
        } else {
            let mut results: DocumentResults<'_, O> = stream::run(sources, &environment, &survey, kept, plan);
            if plan.is_refuted_by(results.late) {
                return None;
            }
            survey.diagnostics.drain(..).for_each(|found| results.found.add(found));
            results
        };
        results.trouble.append(survey.trouble);
        Some(results)
    }
}

/// What would make an object be transformed that is of such a kind and was not.
fn left_to_its_controller(input: &InputDocument) -> Option<&'static str> {
    let header = &input.header;
    let transform = composition::transform_of_kind(header.group(), &header.kind);
    let transform = transform.filter(|transform| transform.needs_set() && !input.rendered && !input.patch)?;
    Some(transform.takes_what())
}

/// The place to point at when there is nothing to render: the one text, when there is nothing in it at all.
fn only_empty_text(sources: &SourceSet, is_empty: bool) -> Option<Location> {
    let mut texts = sources.iter().filter(|(_, source)| source.purpose == Purpose::Input);
    let (source, _) = texts.next().filter(|_| texts.next().is_none())?;
    is_empty.then(|| Location { source, ..Location::default() })
}

/// Keeps the first of the findings that are about the run rather than about one deployment.
fn say_once(diagnostics: &mut Vec<Diagnostic>) {
    let mut said = BTreeSet::new();
    diagnostics.retain(|found| !found.code.has(Attribute::OncePerRun) || said.insert(found.help.clone()));
}

/// Orders findings by file, line, code, then column and text. Those without a place come first.
fn sort(diagnostics: &mut [Diagnostic], sources: &SourceSet) {
    let mut lines: BTreeMap<SourceId, LineIndex<'_>> = BTreeMap::new();
    for location in diagnostics.iter().filter_map(|diagnostic| diagnostic.location.as_ref()) {
        lines.entry(location.source).or_insert_with(|| LineIndex::new(&sources.get(location.source).text));
    }
    diagnostics.sort_by_cached_key(|diagnostic| {
        let place = diagnostic.location.as_ref().map(|location| {
            let line = lines.get(&location.source).map_or(0, |lines| lines.position(location.span.start).line);
            (location.source, line)
        });
        let span = diagnostic.location.as_ref().map(|location| location.span);
        (place, diagnostic.code.id, span, diagnostic.message.clone())
    });
}
