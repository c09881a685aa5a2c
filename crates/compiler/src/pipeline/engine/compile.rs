//! Compiles the texts of an input: reads them, transforms their documents, and links the results.

use std::mem;
use std::sync::Arc;

use serde_json::Value;

use super::Groundwork;
use super::{document_stream, transform_set};
use crate::codes;
use crate::pipeline::documents::document_role::InputDocument;
use crate::pipeline::documents::run_findings::{deduplicate_run_findings, sort};
use crate::pipeline::read_order::options_and_crds::{read_crds, read_options};
use crate::pipeline::read_order::read_plan::ReadPlan;
use crate::pipeline::rendering::kept_choices::KeptChoices;
use crate::pipeline::rendering::output_form::OutputForm;
use crate::pipeline::rendering::output_role::Providers;
use crate::pipeline::results::compilation::Compilation;
use crate::pipeline::results::document_results::DocumentResults;
use crate::pipeline::results::{environment_merger, output_linker};
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Location, Severity};
use kubefoundry_model::composition::{Composition, MODELS};
use kubefoundry_transform::Thoroughness;

/// Runs the whole pipeline. It never fails: every mistake in the input is a diagnostic.
pub fn compile(composition: &'static Composition, sources: &SourceSet, thoroughness: Thoroughness) -> Compilation {
    compile_as(composition, sources, thoroughness)
}

/// Like [`compile`], with each object in the form that the caller needs.
///
/// For many objects, text takes a tenth of the memory of values.
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
    let kept_choices = Arc::new(kept_choices);
    let mut compilation = compile_with(composition, sources, thoroughness, Some(&kept_choices), |run, _| run.results());
    compilation.kept_choices = kept_choices;
    compilation
}

/// Runs the pipeline, once for each environment of the input; `document_results` transforms the documents of an
/// environment with a name or takes their results from a cache.
pub(crate) fn compile_with<O: OutputForm>(
    composition: &'static Composition,
    sources: &SourceSet,
    thoroughness: Thoroughness,
    kept_choices: Option<&Arc<KeptChoices>>,
    mut document_results: impl for<'r> FnMut(&Run<'r>, Option<&Arc<str>>) -> DocumentResults<'r, O>,
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
    let merged = environment_merger::merge(composition, parts, sources);
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
    kept_choices: Option<&Arc<KeptChoices>>,
    empty_input: EmptyInput,
    document_results: impl for<'r> FnOnce(&Run<'r>) -> DocumentResults<'r, O>,
) -> Compilation<O> {
    let mut diagnostics = Vec::new();
    let options = read_options(composition, sources, &mut diagnostics);
    if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        // With invalid options, any finding in the input could be wrong.
        sort(&mut diagnostics, sources);
        return Compilation { diagnostics, ..Compilation::empty(options) };
    }
    let crds = read_crds(sources, &options, &mut diagnostics);
    let mut groundwork = Groundwork::new(options, crds);
    groundwork.kept_choices = kept_choices.cloned().unwrap_or_default();
    let run = Run { sources, groundwork, thoroughness };
    let mut results = document_results(&run);
    let options = Arc::unwrap_or_clone(run.groundwork.options);
    results.remove_copies();
    let DocumentResults { inputs, transformed, mut findings, suppressions, configured, mut read_failures, .. } =
        results;
    diagnostics.into_iter().chain(read_failures.relevant.drain(..)).for_each(|diagnostic| findings.add(diagnostic));
    let is_empty = transformed.is_empty();
    let (outputs, decisions) = output_linker::link(transformed, &inputs, sources, &mut findings);
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
        ..Compilation::empty(options)
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

/// A run over all texts of a set or of a view.
pub(crate) struct Run<'s> {
    pub(crate) sources: &'s SourceSet,
    pub(crate) groundwork: Groundwork<'s>,
    pub(crate) thoroughness: Thoroughness,
}

impl<'s> Run<'s> {
    /// Reads and transforms the texts. A late document makes it start once more, with all texts read before the first
    /// object is transformed, so that no document can be late.
    pub(crate) fn results<O: OutputForm>(&self) -> DocumentResults<'s, O> {
        let options = &self.groundwork.options;
        let (results, is_valid) = self.run_plan(&ReadPlan::new(self.sources, options));
        if is_valid { results } else { self.run_plan(&ReadPlan::everything(options.composition, self.sources)).0 }
    }

    /// Processes every document, and returns the results and whether the plan turned out to be valid. If transformations
    /// look at other objects, all objects stay JSON values until the last transformation is done. Only then are they
    /// converted to the form that the caller asked for.
    fn run_plan<O: OutputForm>(&self, plan: &ReadPlan) -> (DocumentResults<'s, O>, bool) {
        let (engine, mut survey) = self.groundwork.configure(self.sources, plan, Providers::All);
        let environment = engine.environment(self.thoroughness);
        let read_documents = mem::take(&mut survey.read_documents);
        let is_valid;
        let mut results = if plan.keeps_set {
            let mut results: DocumentResults<'_, Value> =
                document_stream::run(self.sources, &environment, &survey, read_documents, plan);
            is_valid = !plan.is_invalidated_by(results.late);
            survey.report(&mut results.findings);
            transform_set::transform(&mut results, &environment);
            results.into_form()
        } else {
            let mut results: DocumentResults<'_, O> =
                document_stream::run(self.sources, &environment, &survey, read_documents, plan);
            is_valid = !plan.is_invalidated_by(results.late);
            survey.report(&mut results.findings);
            results
        };
        results.read_failures.append(survey.read_failures);
        results.configured.append(&mut survey.configured);
        (results, is_valid)
    }
}
