//! One deployment on a bench: run again with changes, to learn what a field does, or what would have to be otherwise.

use serde_json::Value;

use super::conformance::CrdSchemas;
use super::context::{configure, crds_of, options_of};
use super::decision::{Decision, Providers};
use super::document::Document;
use super::environment::Environment;
use super::map::{self, GeneratedObject, TransformedObject};
use super::role::Role;
use super::scan::ReadPlan;
use super::survey::Survey;
use crate::composition::MODELS;
use crate::options::Options;
use kubefoundry_diagnostics::source::{SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Findings, ObjectRef, Severity};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::wire::{Read as _, Reader};
use kubefoundry_model::catalog::Catalog;
use kubefoundry_model::ir::Deployment;
use kubefoundry_model::select::StepBudget;
use kubefoundry_model::validate;
use kubefoundry_model::wire::ModelDeployment;
use kubefoundry_transform::{InputObject, Thoroughness};
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

/// A run before its first deployment: everything is read.
pub(crate) struct PreparedRun<'p> {
    environment: &'p Environment<'p>,
    catalog: &'p Catalog,
    /// The deployments of the input, in order.
    deployments: Vec<&'p Document<'p>>,
}

/// Reads everything, and hands it to `work`.
///
/// # Errors
/// What is wrong with options or configurations; it is among the findings of every run.
pub(crate) fn with_prepared_run<T>(
    sources: &SourceSet,
    providers: Providers,
    work: impl FnOnce(&PreparedRun<'_>) -> T,
) -> Result<T, Vec<Diagnostic>> {
    let mut diagnostics = Vec::new();
    let options = options_of(sources, &mut diagnostics);
    let is_error = |found: &Diagnostic| found.severity == Severity::Error;
    if diagnostics.iter().any(is_error) {
        return Err(diagnostics);
    }
    let crds = crds_of(sources, &options, &mut diagnostics);
    let mut survey = Survey::new(sources, &options, &ReadPlan::everything(sources));
    let mut catalog = catalog(&options, providers);
    let problems = configure(&mut catalog, sources, &options, &mut survey);
    if problems.iter().any(is_error) {
        survey.diagnostics.extend(problems);
        return Err(survey.diagnostics);
    }
    let schemas = crds.as_ref().map(CrdSchemas);
    let environment = Environment {
        configuration: &catalog,
        schemas: schemas.as_ref(),
        skeletons: None,
        options: &options,
        thoroughness: Thoroughness::Needed,
        chosen: None,
    };
    let is_deployment = |document: &&Document<'_>| {
        let source = sources.get(document.source);
        let mut findings = Findings::new(document.scope());
        let role = Role::of(document, source.purpose, survey.is_patch(source), &options, &mut findings);
        role.transform().is_some_and(|transform| !transform.needs_set())
    };
    let deployments = survey.kept.values().flatten().filter(is_deployment).collect();
    Ok(work(&PreparedRun { environment: &environment, catalog: &catalog, deployments }))
}

/// The providers that can be chosen, before any configuration is read.
pub(super) fn catalog(options: &Options, providers: Providers) -> Catalog {
    match providers {
        Providers::All => Catalog::with_builtin(options.rule_limits),
        Providers::Given => Catalog::without_builtin(options.rule_limits),
    }
}

impl<'p> PreparedRun<'p> {
    /// The deployments of the input, in order.
    pub(crate) fn subjects(&self) -> impl Iterator<Item = InputDeployment<'p>> {
        let Self { environment, catalog, .. } = *self;
        self.deployments.iter().map(move |document| InputDeployment { document, environment, catalog })
    }

    /// The providers that can be chosen.
    pub(crate) fn catalog(&self) -> &'p Catalog {
        self.catalog
    }

    /// The options that apply.
    pub(crate) fn options(&self) -> &'p Options {
        self.environment.options
    }

    /// Runs a deployment that is in no text.
    pub(crate) fn attempt(&self, root: &Node<'_>, thoroughness: Thoroughness, steps: &mut StepBudget) -> Attempt {
        let document = Document::without_text(SourceId::default(), root.clone());
        Attempt::of(&document, &Environment { thoroughness, ..*self.environment }, steps)
    }
}

/// One deployment of the input, and what it is mapped with.
#[derive(Clone, Copy)]
pub(crate) struct InputDeployment<'p> {
    document: &'p Document<'p>,
    environment: &'p Environment<'p>,
    catalog: &'p Catalog,
}

/// What a run of one deployment came to.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// Its objects; none with an error.
    pub(crate) objects: Vec<Value>,
    /// What was decided; none when it could not be read.
    pub(crate) decision: Option<Decision>,
    /// What was found.
    pub(crate) findings: Vec<Diagnostic>,
}

impl Attempt {
    pub(super) fn of(document: &Document<'_>, environment: &Environment<'_>, steps: &mut StepBudget) -> Self {
        let findings = Findings::new(document.scope());
        let outcome = map::transform::<Value>(MODELS, document, environment, steps, findings);
        let (mapped, findings) = (outcome.mapped, outcome.findings);
        let failed = findings.has_errors();
        let findings = findings.into_diagnostics();
        let Some(TransformedObject { mut decision, objects }) = mapped else {
            return Self { objects: Vec::new(), decision: None, findings };
        };
        let objects = if failed { Vec::new() } else { objects };
        decision.objects = objects.iter().map(GeneratedObject::reference).collect();
        Self { objects: objects.into_iter().map(|made| made.object).collect(), decision: Some(decision), findings }
    }

    /// Whether an error was found.
    pub(crate) fn is_refused(&self) -> bool {
        self.objects.is_empty()
    }

    /// The provider that was chosen.
    pub(crate) fn provider(&self) -> Option<&str> {
        self.decision.as_ref()?.provider()
    }

    /// The codes of the errors, each once, in order.
    pub(crate) fn errors(&self) -> Vec<&'static str> {
        let errors = self.findings.iter().filter(|found| found.severity == Severity::Error);
        let mut ids: Vec<&'static str> = Vec::new();
        for found in errors {
            if !ids.contains(&found.code.id) {
                ids.push(found.code.id);
            }
        }
        ids
    }
}

impl<'p> InputDeployment<'p> {
    /// None when it is not models that the run has configurations of.
    pub(super) fn new(document: &'p Document<'p>, environment: &'p Environment<'p>) -> Option<Self> {
        let catalog = Catalog::downcast(environment.configuration)?;
        Some(Self { document, environment, catalog })
    }

    /// Which text it stands in.
    pub(crate) fn source(&self) -> SourceId {
        self.document.source
    }

    /// Which document of it.
    pub(crate) fn index(&self) -> usize {
        self.document.index()
    }

    /// What it is.
    pub(crate) fn object(&self) -> ObjectRef {
        self.document.header.object()
    }

    /// Its tree.
    pub(crate) fn root(&self) -> &'p Node<'p> {
        &self.document.root
    }

    /// The providers that can be chosen.
    pub(crate) fn catalog(&self) -> &'p Catalog {
        self.catalog
    }

    /// The options that apply.
    pub(crate) fn options(&self) -> &'p Options {
        self.environment.options
    }

    /// It with its defaults, as far as it can be read.
    pub(crate) fn deployment(&self) -> Option<Deployment> {
        self.deployment_of(&self.document.root)
    }

    /// The same of another tree.
    pub(crate) fn deployment_of(&self, root: &Node<'_>) -> Option<Deployment> {
        let api_group = ApiGroup::find(self.document.header.group())?;
        let mut findings = Findings::new(self.document.scope());
        let mut reader = Reader::strict(&mut findings).in_group(api_group);
        let wire = ModelDeployment::read(root, &FieldPath::root(), &mut reader)?;
        validate::validate(&wire, api_group, &mut findings)
    }

    /// Runs it as it is.
    pub(crate) fn run(&self, thoroughness: Thoroughness, steps: &mut StepBudget) -> Attempt {
        Attempt::of(self.document, &self.environment_for(thoroughness), steps)
    }

    /// What it is tried with. What skeletons say of the objects is for the run that writes them.
    fn environment_for(&self, thoroughness: Thoroughness) -> Environment<'p> {
        Environment { thoroughness, skeletons: None, ..*self.environment }
    }

    /// Runs it with another tree.
    pub(crate) fn attempt(&self, root: Node<'_>, thoroughness: Thoroughness, steps: &mut StepBudget) -> Attempt {
        let InputObject { source, text, document, header, .. } = &self.document.object;
        let own = Header::from_node(&root);
        // An item of a typed list may leave its type to the list.
        let keep = |own: std::sync::Arc<str>, listed: &std::sync::Arc<str>| {
            if own.is_empty() { listed.clone() } else { own }
        };
        let header = Header {
            api_version: keep(own.api_version, &header.api_version),
            kind: keep(own.kind, &header.kind),
            ..own
        };
        let object = InputObject { source: *source, text, document: *document, header, root, problems: Vec::new() };
        let document = Document { object, span: self.document.span, item: self.document.item };
        Attempt::of(&document, &self.environment_for(thoroughness), steps)
    }

    /// Runs it with other options.
    pub(crate) fn attempt_with(&self, options: &Options, steps: &mut StepBudget) -> Attempt {
        Attempt::of(self.document, &Environment { options, ..self.environment_for(Thoroughness::Needed) }, steps)
    }
}
