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

mod accounting;
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
mod inline_patch;
mod kustomize;
mod link;
mod map;
mod operations;
mod prepared;
pub(crate) mod probe;
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

use std::collections::{BTreeMap, BTreeSet};

pub use crate::reading::may_hold_input;
pub(crate) use cache::ResultCache;
pub use compilation::{Compilation, Output};
pub(crate) use context::options_of;
pub use decision::{Decision, OutputRole, Providers};
pub use evaluator::Evaluation;
pub(crate) use evaluator::Evaluator;
pub use form::{OutputForm, YamlText};
pub use kubefoundry_kubernetes::header::Header;
pub use kubefoundry_transform::{GpuCount, ResolvedField, Thoroughness};
pub(crate) use kustomize::{normalize, patch_files};
pub(crate) use prepared::{Attempt, InputDeployment, PreparedRun, with_prepared_run};
pub use probe::Fate;
pub use renderer::{ListItems, RenderedDocument, Renderer};
pub use role::InputDocument;

use crate::codes;
use crate::composition;
use conformance::CrdSchemas;
use context::crds_of;
use findings::deduplicate_run_findings;
use kubefoundry_diagnostics::render::LineIndex;
use kubefoundry_diagnostics::source::{Purpose, SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Location, Severity};
use results::DocumentResults;
use run::Run;
use skeletons::Skeletons;

/// Runs the whole pipeline. Total: every mistake of the input is a diagnostic, and nothing panics.
///
/// ```
/// use kubefoundry_compiler::{Thoroughness, compile};
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
/// use kubefoundry_compiler::pipeline::{Compilation, YamlText, compile_as};
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
/// let compilation: Compilation<YamlText> = compile_as(&sources, Thoroughness::Needed);
/// assert!(compilation.outputs[0].object.as_str().starts_with("apiVersion: nvidia.com/v1alpha1\n"));
/// ```
pub fn compile_as<O: OutputForm>(sources: &SourceSet, thoroughness: Thoroughness) -> Compilation<O> {
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method is not general enough over lifetimes")]
    compile_with(sources, thoroughness, |run| run.results())
}

/// The same as [`compile`], from what `cache` knows of documents that did not change.
pub(crate) fn compile_cached(sources: &SourceSet, thoroughness: Thoroughness, cache: &mut ResultCache) -> Compilation {
    compile_with(sources, thoroughness, |run| cache.results(run))
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
    let skeletons = (!options.crds).then(Skeletons::default);
    let (schemas, skeletons) = (schemas.as_ref(), skeletons.as_ref());
    let run = Run { sources, schemas, skeletons, options: &options, thoroughness };
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
            .help("pass a file or directory with one, or set allowEmpty: true in the Render options");
        if let Some(takes_what) = inputs.iter().find_map(left_to_its_controller) {
            diagnostic = diagnostic.help(takes_what.to_owned());
        }
        diagnostic.location = only_empty_text(sources, inputs.is_empty() && trouble.foreign.is_empty());
        found.add(diagnostic);
        // What was passed over as none of our business may be the reason.
        trouble.foreign.into_iter().for_each(|foreign| found.add(foreign));
    }
    let every_finding = thoroughness != Thoroughness::Needed;
    let mut suppressed = found.suppress(suppressions, every_finding);
    sort(&mut suppressed, sources);
    let (diagnostics, left_out) = found.into_parts();
    let mut diagnostics: Vec<Diagnostic> =
        diagnostics.into_iter().filter_map(|diagnostic| options.adjust(diagnostic)).collect();
    sort(&mut diagnostics, sources);
    diagnostics.dedup();
    deduplicate_run_findings(&mut diagnostics);
    diagnostics.extend(left_out.report(&options));
    let suppressed_left_out = left_out.suppressed();
    Compilation { outputs, inputs, configured, diagnostics, suppressed, suppressed_left_out, decisions, options }
}

/// What would make an object be transformed that is of such a kind and was not.
fn left_to_its_controller(input: &InputDocument) -> Option<&'static str> {
    let header = &input.header;
    let transform = composition::transform_of_kind(header.group(), &header.kind);
    let transform = transform.filter(|transform| transform.needs_set() && !input.rendered && !input.patch)?;
    Some(transform.handled_description())
}

/// The place to point at when there is nothing to render: the one text, when there is nothing in it at all.
fn only_empty_text(sources: &SourceSet, is_empty: bool) -> Option<Location> {
    let mut texts = sources.iter().filter(|(_, source)| source.purpose == Purpose::Input);
    let (source, _) = texts.next().filter(|_| texts.next().is_none())?;
    is_empty.then(|| Location::from_source(source))
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
