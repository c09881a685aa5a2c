//! The engine: everything with which documents are transformed. This is the only place that surveys an input and reads
//! its configurations.

pub(crate) mod cache;
mod cache_pass;
mod cached_units;
pub(crate) mod compile;
pub(crate) mod document_stream;
pub(crate) mod evaluate;
pub(crate) mod transform_set;

use std::sync::Arc;

use crate::options::Options;
use crate::pipeline::checks::installed_crds::CrdSchemas;
use crate::pipeline::checks::skeletons::Skeletons;
use crate::pipeline::documents::document::Document;
use crate::pipeline::documents::document_role::Role;
use crate::pipeline::field_effects::patch_judge;
use crate::pipeline::read_order::first_texts::Survey;
use crate::pipeline::read_order::options_and_crds::{configure_inline, read_crds, read_options};
use crate::pipeline::read_order::read_plan::ReadPlan;
use crate::pipeline::rendering::attempt::{Attempt, InputDeployment};
use crate::pipeline::rendering::environment::Environment;
use crate::pipeline::rendering::kept_choices::KeptChoices;
use crate::pipeline::rendering::output_role::Providers;
use crate::pipeline::rendering::rule_step_allowance::allowance;
use crate::pipeline::results::compilation::Compilation;
use kubefoundry_crd::Crds;
use kubefoundry_diagnostics::source::{SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Findings, ObjectRef, Severity};
use kubefoundry_model::catalog::Catalog;
use kubefoundry_model::composition::Composition;
use kubefoundry_model::select::{PriorChoice, StepBudget};
use kubefoundry_transform::{Decision, Thoroughness};
use kubefoundry_yaml::Node;
use serde_json::Value;

/// What is read before any document: options and CRDs. A clone shares it.
#[derive(Debug, Clone)]
pub(crate) struct Groundwork<'s> {
    pub(crate) options: Arc<Options>,
    /// The CRDs, if it is known what is installed.
    schemas: Option<CrdSchemas<'s>>,
    /// The schemas to check against without CRDs.
    skeletons: Arc<Skeletons>,
    /// The providers that deployments keep.
    pub(crate) kept_choices: Arc<KeptChoices>,
}

/// Options, provider configurations, CRDs and kept providers: everything with which documents are transformed. It is
/// immutable and can be shared between threads; a clone shares all of it.
///
/// CONTRIBUTING.md says which entry an analysis takes.
///
/// ```
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_compiler::pipeline::{Engine, Providers};
/// use kubefoundry_compiler::Thoroughness;
/// use kubefoundry_diagnostics::source::SourceSet;
/// let engine = Engine::read(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
/// let phi = serde_json::json!({
///     "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
///     "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 2}}},
/// });
/// assert_eq!(engine.evaluate(&phi, None, Thoroughness::Needed).provider(), Some("dynamo"));
/// let rendered = engine.render(&phi, Thoroughness::Needed).unwrap();
/// assert_eq!(rendered.decision.gpus[0].count, 2);
/// ```
#[derive(Debug, Clone)]
pub struct Engine<'s> {
    groundwork: Groundwork<'s>,
    catalog: Arc<Catalog>,
    /// Findings in provider configurations, if they were read for single deployments.
    problems: Arc<[Diagnostic]>,
    /// The source of deployments without a text in findings: the id after those of all sources.
    pub(crate) source: SourceId,
}

/// A part of an engine, which can be that of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnginePart {
    /// The options, apart from what the CRDs decide.
    Options,
    /// The provider configurations.
    Providers,
    /// The CRDs.
    Crds,
    /// The providers that deployments keep.
    KeptChoices,
}

/// The result of rendering a document.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedDocument {
    /// The selected provider and the facts about its objects.
    pub decision: Decision,
    /// The objects, supporting ones first.
    pub objects: Vec<(ObjectRef, Value)>,
}

/// The deployments of an input.
pub struct InputDeployments<'s>(Vec<Document<'s>>);

impl<'s> Groundwork<'s> {
    pub(crate) fn new(options: Options, crds: Option<Crds<'s>>) -> Self {
        Self {
            options: Arc::new(options),
            schemas: crds.map(|crds| CrdSchemas(Arc::new(crds))),
            skeletons: Arc::default(),
            kept_choices: Arc::default(),
        }
    }

    /// Reads the texts that must be read first according to the plan, and the provider configurations in them and in
    /// options.
    pub(crate) fn configure<'t>(
        &self,
        sources: &'t SourceSet,
        plan: &ReadPlan,
        providers: Providers,
    ) -> (Engine<'s>, Survey<'t>) {
        let options = &*self.options;
        let mut survey = Survey::new(sources, options, plan);
        let mut catalog = match providers {
            Providers::All => options.composition.configuration(options.rule_limits),
            Providers::Configured => Catalog::without_builtin(options.composition.providers(), options.rule_limits),
        };
        survey.configure(sources, &mut catalog);
        survey.configured = configure_inline(&mut catalog, sources, options, &mut survey.problems);
        let (groundwork, source) = (self.clone(), SourceId(sources.len()));
        (Engine { groundwork, catalog: Arc::new(catalog), problems: Arc::default(), source }, survey)
    }
}

impl Engine<'static> {
    /// Reads options, provider configurations and CRDs from the sources of each
    /// [`Purpose`](kubefoundry_diagnostics::source::Purpose). Configurations may also be among the input; other input
    /// objects are ignored. The engine borrows nothing.
    ///
    /// # Errors
    /// Returns the findings in options, or in texts that should contain CRDs.
    pub fn read(
        composition: &'static Composition,
        sources: &SourceSet,
        providers: Providers,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut diagnostics = Vec::new();
        let options = read_options(composition, sources, &mut diagnostics);
        let crds = read_crds(sources, &options, &mut diagnostics).map(Crds::into_owned);
        if diagnostics.iter().any(is_error) {
            return Err(diagnostics);
        }
        Ok(Self::configured(&Groundwork::new(options, crds), sources, providers))
    }

    /// Returns an engine with the provider configurations in `sources` and the same options and CRDs.
    #[must_use]
    pub fn with_providers(&self, sources: &SourceSet, providers: Providers) -> Self {
        Self::configured(&self.groundwork, sources, providers)
    }

    fn configured(groundwork: &Groundwork<'static>, sources: &SourceSet, providers: Providers) -> Self {
        let plan = ReadPlan::everything(groundwork.options.composition, sources);
        let (engine, survey) = groundwork.configure(sources, &plan, providers);
        let problems = survey.diagnostics.into_iter().chain(survey.problems).chain(survey.read_failures.relevant);
        Self { problems: problems.collect(), ..engine }
    }
}

impl<'s> Engine<'s> {
    /// Reads options, provider configurations, CRDs and the deployments of an input that is not divided.
    ///
    /// # Errors
    /// The errors of options or configurations, which every run reports as well.
    pub fn read_input(
        composition: &'static Composition,
        sources: &'s SourceSet,
        providers: Providers,
    ) -> Result<(Self, InputDeployments<'s>), Vec<Diagnostic>> {
        let mut diagnostics = Vec::new();
        let options = read_options(composition, sources, &mut diagnostics);
        if diagnostics.iter().any(is_error) {
            return Err(diagnostics);
        }
        let crds = read_crds(sources, &options, &mut diagnostics);
        let plan = ReadPlan::everything(composition, sources);
        let (engine, mut survey) = Groundwork::new(options, crds).configure(sources, &plan, providers);
        if survey.problems.iter().any(is_error) {
            survey.diagnostics.append(&mut survey.problems);
            return Err(survey.diagnostics);
        }
        let documents = std::mem::take(&mut survey.read_documents);
        let is_deployment = |document: &Document<'_>| {
            let source = sources.get(document.source);
            let mut findings = Findings::new(document.scope());
            let is_patch = survey.is_patch(source);
            Role::classify(document, source.purpose, is_patch, engine.options(), &mut findings).is_transformed_alone()
        };
        let deployments = documents.into_values().flatten().filter(is_deployment).collect();
        Ok((engine, InputDeployments(deployments)))
    }

    /// Returns the engine of a run: of an environment with a name, or of an input that is not divided. `view` are its
    /// texts. The run has reported the problems of options, configurations and CRDs.
    pub fn of_run<O>(view: &'s SourceSet, compilation: &Compilation<O>, name: Option<&str>) -> Self {
        let options = compilation.options_of(name).clone();
        let crds = read_crds(view, &options, &mut Vec::new());
        let mut groundwork = Groundwork::new(options, crds);
        groundwork.kept_choices = compilation.kept_choices.of_environment(name).cloned().unwrap_or_default();
        groundwork.configure(view, &ReadPlan::only(view, &compilation.configured), Providers::All).0
    }

    /// Returns an engine with a part of another one.
    #[must_use]
    pub fn with(&self, part: EnginePart, other: &Self) -> Self {
        let (mut engine, from) = (self.clone(), &other.groundwork);
        let to = &mut engine.groundwork;
        match part {
            EnginePart::Options => {
                to.options = Arc::new(Options { crds: to.options.crds, ..(*from.options).clone() });
            }
            EnginePart::Providers => engine.catalog = Arc::clone(&other.catalog),
            EnginePart::Crds => {
                to.options = Arc::new(Options { crds: from.options.crds, ..(*to.options).clone() });
                to.schemas.clone_from(&from.schemas);
            }
            EnginePart::KeptChoices => to.kept_choices = Arc::clone(&from.kept_choices),
        }
        engine
    }

    /// Returns an engine with changed options.
    #[must_use]
    pub fn with_options(&self, change: impl FnOnce(&mut Options)) -> Self {
        let mut engine = self.clone();
        change(Arc::make_mut(&mut engine.groundwork.options));
        engine
    }

    /// Returns an engine that keeps no provider, but selects the provider of every deployment.
    #[must_use]
    pub fn without_kept_choices(&self) -> Self {
        let mut engine = self.clone();
        engine.groundwork.kept_choices = Arc::default();
        engine
    }

    /// Returns the options.
    pub fn options(&self) -> &Options {
        &self.groundwork.options
    }

    /// Returns the providers that can be selected.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the CRDs, if it is known what is installed.
    pub fn crds(&self) -> Option<&Crds<'s>> {
        self.groundwork.schemas.as_ref().map(|schemas| &*schemas.0)
    }

    /// Returns the findings in the provider configurations of [`Engine::read`].
    pub fn problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    /// Returns the view of the engine that a transformation has.
    pub(crate) fn environment(&self, thoroughness: Thoroughness) -> Environment<'_> {
        let Groundwork { options, schemas, skeletons, kept_choices } = &self.groundwork;
        let skeletons = (!options.crds).then_some(&**skeletons);
        Environment {
            configuration: &*self.catalog,
            schemas: schemas.as_ref(),
            skeletons,
            patch_skeletons: skeletons,
            options,
            thoroughness,
            chosen: None,
            kept_choices,
            patch_judge: Some(patch_judge::judge),
        }
    }

    /// Transforms one deployment. `chosen` is an earlier choice of its provider.
    pub(crate) fn transform(
        &self,
        document: &Document<'_>,
        chosen: Option<&PriorChoice>,
        thoroughness: Thoroughness,
    ) -> Attempt {
        let mut environment = self.environment(thoroughness);
        environment.chosen = chosen;
        Attempt::run(document, &environment, &mut StepBudget::new(allowance(self.options().rule_limits, 0, 1)))
    }

    /// Renders a single ModelDeployment. Returns `None` if it has errors or is of another kind, which may need other
    /// objects.
    pub fn render(&self, document: &Value, thoroughness: Thoroughness) -> Option<RenderedDocument> {
        // The document may come from either of two runs, so it gets the same position in both.
        let document = Document::without_text(SourceId::default(), Node::from(document));
        let Attempt { objects, decision, findings, .. } = self.transform(&document, None, thoroughness);
        if findings.iter().any(is_error) {
            return None;
        }
        let decision = decision?;
        let objects = decision.objects.iter().cloned().zip(objects).collect();
        Some(RenderedDocument { decision, objects })
    }

    /// Runs a deployment that is not part of a text. `steps` is the budget of selection rules for all attempts
    /// together.
    pub fn attempt(&self, root: &Node<'_>, thoroughness: Thoroughness, steps: &mut StepBudget) -> Attempt {
        let document = Document::without_text(SourceId::default(), root.clone());
        Attempt::run(&document, &self.environment(thoroughness).beside_run(thoroughness), steps)
    }
}

impl<'s> InputDeployments<'s> {
    /// Returns the deployments in the order of the input, to be run by `engine`.
    pub fn iter<'p>(&'p self, engine: &'p Engine<'_>) -> impl Iterator<Item = InputDeployment<'p>>
    where
        's: 'p,
    {
        let environment = engine.environment(Thoroughness::Needed).beside_run(Thoroughness::Needed);
        self.0.iter().filter_map(move |document| InputDeployment::new(document, &environment))
    }
}

fn is_error(finding: &Diagnostic) -> bool {
    finding.severity == Severity::Error
}
