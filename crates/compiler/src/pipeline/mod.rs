//! The pipeline: compiles texts to objects and findings.
//!
//! ```text
//! sources ─ options ─ scan ──► texts to read first, objects to keep for the set, texts to skip
//!                      │
//!                      ├─ survey: configurations (the catalog), kustomizations (which files are patches)
//!                      │
//!                      └─ stream, a chunk of documents at a time:
//!                            read ─ header ─ role ─┬─ transformed, alone ──► map (any thread) ─┐
//!                                                  ├─ transformed, in a set ─► kept ─ set ─────┼─ link ─ Compilation
//!                                                  └─ configuration, patch, other ► findings ──┘
//! ```
//! The scan only searches each text for the kinds that it names; the header of a parsed document decides what the
//! document is. The scan misses a kind in an unusual spelling. If such a document should have been read or kept
//! earlier, the run starts again, once, with everything read first and kept: slower, but correct.

mod accounting;
mod builtin_schemas;
mod cache;
mod compilation;
mod conformance;
mod context;
mod decision;
mod document;
mod environment;
mod evaluator;
mod findings;
mod form;
mod identity_hash;
mod inline_patch;
mod kept_choices;
mod kustomize;
mod link;
mod map;
mod merge;
mod operations;
mod patch_judge;
pub mod policy;
mod prepared;
pub mod probe;
mod renderer;
mod results;
mod role;
mod rule_steps;
mod run;
mod scan;
mod set;
mod skeletons;
mod split;
mod stream;
mod suppress;
mod survey;
mod text_map;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(crate) use cache::ResultCache;
pub use compilation::{Compilation, CompiledEnvironment, Output};
pub use context::read_options;
pub use decision::{Decision, OutputRole, Providers};
pub use evaluator::Evaluation;
pub(crate) use evaluator::Evaluator;
pub use form::{OutputForm, YamlText};
pub use kept_choices::KeptChoices;
pub use kubefoundry_kubernetes::header::Header;
pub use kubefoundry_transform::{GpuCount, ResolvedField, Thoroughness};
pub use kustomize::{normalize, patch_files};
pub use prepared::{Attempt, InputDeployment, PreparedRun};
pub use probe::Fate;
pub use renderer::{ListItems, RenderedDocument, Renderer};
pub use role::InputDocument;
pub use stream::CHUNK_BYTES;
pub use suppress::{IgnoringObject, NAME as IGNORE_ANNOTATION, ignoring_objects};

use crate::codes;
use conformance::CrdSchemas;
use context::read_crds;
use findings::deduplicate_run_findings;
use kubefoundry_diagnostics::render::LineIndex;
use kubefoundry_diagnostics::source::{Purpose, SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Location, Severity};
use kubefoundry_model::composition::{Composition, MODELS};
use results::DocumentResults;
use run::Run;
use skeletons::Skeletons;

/// Runs the whole pipeline. It never fails: every mistake in the input is a diagnostic.
///
/// ```
/// use kubefoundry_compiler::{Thoroughness, compile};
/// use kubefoundry_composition::BUILTIN;
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
/// let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
/// assert!(!compilation.has_errors());
/// assert_eq!(&*compilation.outputs[0].identity.kind, "DynamoGraphDeployment");
/// assert_eq!(compilation.decisions[0].reason(), Some("default → dynamo (GPU inference default)"));
/// ```
pub fn compile(composition: &'static Composition, sources: &SourceSet, thoroughness: Thoroughness) -> Compilation {
    compile_as(composition, sources, thoroughness)
}

/// Like [`compile`], with each object in the form that the caller needs.
///
/// For many objects, text takes a tenth of the memory of values.
///
/// ```
/// use kubefoundry_compiler::pipeline::{Compilation, YamlText, compile_as};
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_diagnostics::source::SourceSet;
/// use kubefoundry_compiler::Thoroughness;
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
/// let compilation: Compilation<YamlText> = compile_as(&BUILTIN, &sources, Thoroughness::Needed);
/// assert!(compilation.outputs[0].object.as_str().starts_with("apiVersion: nvidia.com/v1alpha1\n"));
/// ```
pub fn compile_as<O: OutputForm>(
    composition: &'static Composition,
    sources: &SourceSet,
    thoroughness: Thoroughness,
) -> Compilation<O> {
    compile_with(composition, sources, thoroughness, None, |run, _| run.results())
}

/// Like [`compile_as`], but deployments that name no provider keep the one that was selected for them before.
///
/// The operator selects the provider of a deployment once, so this is how it compiles deployments that it knows.
///
/// ```
/// use kubefoundry_compiler::pipeline::{Compilation, KeptChoices, compile_keeping};
/// use kubefoundry_compiler::session::PriorChoice;
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_diagnostics::source::SourceSet;
/// use kubefoundry_compiler::{Thoroughness, compile};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let phi = compile(&BUILTIN, &sources, Thoroughness::Needed).decisions[0].object.clone();
/// let chosen = PriorChoice { provider: "kuberay".to_owned(), reason: "cost policy".to_owned() };
/// let kept = KeptChoices::from_iter([(phi, chosen)]);
/// let compilation: Compilation = compile_keeping(&BUILTIN, &sources, Thoroughness::Needed, kept);
/// assert_eq!(compilation.decisions[0].provider(), Some("kuberay"));
/// ```
pub fn compile_keeping<O: OutputForm>(
    composition: &'static Composition,
    sources: &SourceSet,
    thoroughness: Thoroughness,
    kept_choices: KeptChoices,
) -> Compilation<O> {
    let mut compilation = compile_with(composition, sources, thoroughness, Some(&kept_choices), |run, _| run.results());
    compilation.kept_choices = Arc::new(kept_choices);
    compilation
}

/// Like [`compile_as`], but reuses the results that the cache of each environment has for unchanged documents.
pub(crate) fn compile_cached<O: OutputForm>(
    composition: &'static Composition,
    sources: &SourceSet,
    thoroughness: Thoroughness,
    caches: &mut BTreeMap<Option<Arc<str>>, ResultCache<O>>,
) -> Compilation<O> {
    let names = sources.environments().iter().filter_map(|it| it.label());
    let names: BTreeSet<&str> = names.collect();
    caches.retain(|name, _| name.as_deref().is_none_or(|name| names.contains(name)));
    compile_with(composition, sources, thoroughness, None, |run, name| {
        caches.entry(name.cloned()).or_default().results(run)
    })
}

/// Reads the input of a run and passes it to `work`.
///
/// # Errors
/// The errors of options or configurations, which every run reports as well.
pub fn with_prepared_run<T>(
    composition: &'static Composition,
    sources: &SourceSet,
    providers: Providers,
    work: impl FnOnce(&PreparedRun<'_>) -> T,
) -> Result<T, Vec<Diagnostic>> {
    prepared::with_prepared_run(composition, sources, providers, patch_judge::judge, work)
}

/// Runs the pipeline, once for each environment of the input; `document_results` transforms the documents of an
/// environment with a name or takes their results from a cache.
fn compile_with<O: OutputForm>(
    composition: &'static Composition,
    sources: &SourceSet,
    thoroughness: Thoroughness,
    kept_choices: Option<&KeptChoices>,
    mut document_results: impl for<'r> FnMut(&'r Run<'r>, Option<&Arc<str>>) -> DocumentResults<'r, O>,
) -> Compilation<O> {
    if sources.environments().is_empty() {
        return compile_view(composition, sources, thoroughness, kept_choices, EmptyInput::AsOptionsSay, |run| {
            document_results(run, None)
        });
    }
    let mut parts = Vec::new();
    for environment in sources.environments() {
        let view = sources.in_environment(environment);
        let kept_choices = kept_choices.and_then(|kept| kept.of_environment(environment.label()));
        let name = environment.label().map(|_| &environment.name);
        let part = compile_view(composition, &view, thoroughness, kept_choices, EmptyInput::Allowed, |run| {
            document_results(run, name)
        });
        parts.push((environment.clone(), part));
    }
    let merged = merge::merge(composition, parts, sources);
    let is_empty = !merged.inputs.iter().any(|input| input.rendered);
    if is_empty && !merged.has_errors() && merged.environments.iter().any(|it| !it.options.allow_empty) {
        // One environment may be empty, but not the whole input. The texts as a whole tell why there is nothing.
        return compile_view(composition, sources, thoroughness, kept_choices, EmptyInput::AsOptionsSay, |run| {
            document_results(run, None)
        });
    }
    merged
}

/// Whether an input without an object to transform is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EmptyInput {
    Allowed,
    AsOptionsSay,
}

/// Runs the pipeline over all texts of a set or of a view.
fn compile_view<O: OutputForm>(
    composition: &'static Composition,
    sources: &SourceSet,
    thoroughness: Thoroughness,
    kept_choices: Option<&KeptChoices>,
    empty_input: EmptyInput,
    document_results: impl for<'r> FnOnce(&'r Run<'r>) -> DocumentResults<'r, O>,
) -> Compilation<O> {
    let mut diagnostics = Vec::new();
    let options = read_options(composition, sources, &mut diagnostics);
    if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        // With invalid options, any finding in the input could be wrong.
        sort(&mut diagnostics, sources);
        return Compilation { diagnostics, ..Compilation::empty(options) };
    }
    let crds = read_crds(sources, &options, &mut diagnostics);
    let schemas = crds.as_ref().map(CrdSchemas);
    let skeletons = (!options.crds).then(Skeletons::default);
    let (schemas, skeletons) = (schemas.as_ref(), skeletons.as_ref());
    let run = Run { sources, schemas, skeletons, options: &options, thoroughness, kept_choices };
    let mut results = document_results(&run);
    results.remove_copies();
    let DocumentResults { inputs, transformed, mut findings, suppressions, configured, mut read_failures, .. } =
        results;
    diagnostics.into_iter().chain(read_failures.relevant.drain(..)).for_each(|diagnostic| findings.add(diagnostic));
    let is_empty = transformed.is_empty();
    let (outputs, decisions) = link::link(transformed, &inputs, sources, &mut findings);
    let has_errors = findings.has_errors();
    let allows_empty = options.allow_empty || empty_input == EmptyInput::Allowed;
    if is_empty && !allows_empty && !has_errors {
        let message = format!("the input has no {} to render", MODELS.kind().1);
        let mut diagnostic = Diagnostic::new(&codes::NO_MODEL_DEPLOYMENT, message)
            .help("pass a file or directory with one, or set allowEmpty: true in the Render options");
        if let Some(help) = inputs.iter().find_map(|input| help_for_untransformed(composition, input)) {
            diagnostic = diagnostic.help(help.to_owned());
        }
        diagnostic.location = location_of_empty_input(sources, inputs.is_empty() && read_failures.foreign.is_empty());
        findings.add(diagnostic);
        // A broken text that was ignored as foreign may contain the missing object.
        read_failures.foreign.into_iter().for_each(|foreign| findings.add(foreign));
    }
    let every_finding = thoroughness != Thoroughness::Needed;
    let mut suppressed = findings.suppress(suppressions, every_finding);
    sort(&mut suppressed, sources);
    let (diagnostics, omitted) = findings.into_parts();
    let mut diagnostics: Vec<Diagnostic> =
        diagnostics.into_iter().filter_map(|diagnostic| options.adjust(diagnostic)).collect();
    sort(&mut diagnostics, sources);
    diagnostics.dedup();
    deduplicate_run_findings(&mut diagnostics);
    diagnostics.extend(omitted.report(&options));
    let omitted_suppressed = omitted.suppressed();
    Compilation {
        outputs,
        inputs,
        configured,
        diagnostics,
        suppressed,
        omitted_suppressed,
        decisions,
        options,
        environments: Vec::new(),
        kept_choices: Arc::default(),
    }
}

/// Explains how to have an object transformed that is left to its own controller.
fn help_for_untransformed(composition: &Composition, input: &InputDocument) -> Option<&'static str> {
    let header = &input.header;
    let transform = composition.transform_of_kind(header.group(), &header.kind);
    let transform = transform.filter(|transform| transform.needs_set() && !input.rendered && !input.patch)?;
    Some(transform.handled_description())
}

/// Returns the location for "nothing to render": the only input text, if it is empty.
fn location_of_empty_input(sources: &SourceSet, is_empty: bool) -> Option<Location> {
    let mut texts = sources.iter().filter(|(_, source)| source.purpose == Purpose::Input);
    let (source, _) = texts.next().filter(|_| texts.next().is_none())?;
    is_empty.then(|| Location::from_source(source))
}

/// Sorts findings by file, line, code, column and text. Findings without a location come first.
///
/// ```
/// use kubefoundry_compiler::pipeline::sort;
/// use kubefoundry_diagnostics::source::SourceSet;
/// let mut none = Vec::new();
/// sort(&mut none, &SourceSet::default());
/// ```
pub fn sort(diagnostics: &mut [Diagnostic], sources: &SourceSet) {
    let mut lines: BTreeMap<SourceId, LineIndex<'_>> = BTreeMap::new();
    for location in diagnostics.iter().filter_map(|diagnostic| diagnostic.location.as_ref()) {
        lines.entry(location.source).or_insert_with(|| LineIndex::new(&sources.get(location.source).text));
    }
    diagnostics.sort_by_cached_key(|diagnostic| {
        let file_and_line = diagnostic.location.as_ref().map(|location| {
            let line = lines.get(&location.source).map_or(0, |lines| lines.position(location.span.start).line);
            (location.source, line)
        });
        let span = diagnostic.location.as_ref().map(|location| location.span);
        (file_and_line, diagnostic.code.id, span, diagnostic.message.clone())
    });
}
