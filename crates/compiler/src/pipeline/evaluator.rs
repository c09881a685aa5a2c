//! One deployment at a time, with all that is known of a cluster: options, provider configurations, CRDs.

use std::sync::Arc;

use serde_json::Value;

use super::accounting::{self, Accounting};
use super::conformance::CrdSchemas;
use super::context::{configure, crds_of, options_of};
use super::decision::{Decision, Providers};
use super::document::Document;
use super::environment::Environment;
use super::findings::{RunFindings, deduplicate_run_findings};
use super::prepared::{self, Attempt, InputDeployment};
use super::role::Role;
use super::rule_steps::allowance;
use super::scan::ReadPlan;
use super::skeletons::Skeletons;
use super::suppress::Suppression;
use super::survey::Survey;
use crate::codes;
use crate::composition::MODELS;
use crate::options::Options;
use kubefoundry_crd::Crds;
use kubefoundry_diagnostics::source::{Purpose, SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, DocumentScope, Findings, Severity};
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::wire::{Read as _, Reader};
use kubefoundry_model::catalog::Catalog;
use kubefoundry_model::conformance;
use kubefoundry_model::ir::Deployment;
use kubefoundry_model::providers;
use kubefoundry_model::select;
use kubefoundry_model::select::{PriorChoice, StepBudget};
use kubefoundry_model::validate;
use kubefoundry_model::wire::ModelDeployment;
use kubefoundry_transform::Thoroughness;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{MappingEntry, Node, Span};

/// Fields of an object that say nothing of what is wanted, and may be most of it.
const REPORTED: &[(&str, Option<&str>)] = &[("status", None), ("metadata", Some("managedFields"))];

/// Options, provider configurations and CRDs, and single deployments that are transformed with them. It borrows nothing,
/// and a clone of it costs nothing.
#[derive(Debug, Clone)]
pub(crate) struct Evaluator {
    options: Arc<Options>,
    catalog: Arc<Catalog>,
    crds: Option<Arc<Crds<'static>>>,
    /// What is asked without CRDs.
    skeletons: Arc<Skeletons>,
    /// The source that deployments are said to stand in: the one behind all that were given.
    source: SourceId,
}

/// What a deployment comes to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Evaluation {
    /// What was decided; none when the deployment could not be read so far.
    pub decision: Option<Decision>,
    /// The objects to apply in this order: supporting ones first, the main one last. None with an error, and none for a
    /// provider that this program does not render: its own controller makes them.
    pub objects: Vec<Value>,
    /// What was found, ordered by field: what the options turn off and what the deployment says to ignore is left out.
    /// Places are paths of fields; there is no text with lines.
    pub diagnostics: Vec<Diagnostic>,
}

impl Evaluation {
    /// Whether an error was found: then there are no objects.
    pub fn has_errors(&self) -> bool {
        self.errors().next().is_some()
    }

    /// The errors that were found, in order.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|found| found.severity == Severity::Error)
    }

    /// The provider that was chosen.
    pub fn provider(&self) -> Option<&str> {
        self.decision.as_ref()?.provider()
    }
}

impl Evaluator {
    /// With these parts.
    pub(super) fn new(options: Options, catalog: Catalog, crds: Option<Crds<'static>>, sources: &SourceSet) -> Self {
        let source = SourceId(sources.iter().count());
        Self {
            options: Arc::new(options),
            catalog: Arc::new(catalog),
            crds: crds.map(Arc::new),
            skeletons: Arc::default(),
            source,
        }
    }

    /// With the options and the CRDs of these texts, and no provider.
    ///
    /// # Errors
    /// What is wrong with options or with texts that should hold CRDs.
    pub(crate) fn read(sources: &SourceSet) -> Result<Self, Vec<Diagnostic>> {
        let mut diagnostics = Vec::new();
        let options = options_of(sources, &mut diagnostics);
        let crds = crds_of(sources, &options, &mut diagnostics).map(Crds::into_owned);
        if diagnostics.iter().any(|found| found.severity == Severity::Error) {
            return Err(diagnostics);
        }
        let catalog = Catalog::without_builtin(options.rule_limits);
        Ok(Self::new(options, catalog, crds, sources))
    }

    /// The same with the provider configurations of these texts, and what is wrong with those.
    pub(crate) fn with_providers(&self, sources: &SourceSet, providers: Providers) -> (Self, Vec<Diagnostic>) {
        let mut survey = Survey::new(sources, &self.options, &ReadPlan::everything(sources));
        let mut catalog = prepared::catalog(&self.options, providers);
        let problems = configure(&mut catalog, sources, &self.options, &mut survey);
        let problems = survey.diagnostics.into_iter().chain(problems).chain(survey.trouble.ours);
        let source = SourceId(sources.iter().count());
        (Self { catalog: Arc::new(catalog), source, ..self.clone() }, problems.collect())
    }

    /// The same with other options.
    pub(crate) fn with_options(&self, options: Options) -> Self {
        Self { options: Arc::new(options), ..self.clone() }
    }

    /// The same with the provider configurations of another one.
    pub(super) fn with_catalog_of(&self, other: &Self) -> Self {
        Self { catalog: Arc::clone(&other.catalog), ..self.clone() }
    }

    /// The same with the CRDs of another one.
    pub(super) fn with_crds_of(&self, other: &Self) -> Self {
        Self { crds: other.crds.clone(), ..self.clone() }
    }

    /// The options that apply.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// The providers that can be chosen.
    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The CRDs, when it is known what is installed.
    pub(crate) fn crds(&self) -> Option<&Crds<'static>> {
        self.crds.as_deref()
    }

    /// Sends a deployment through. `problems` are what is wrong with provider configurations, which may be why none is
    /// selected.
    pub(crate) fn evaluate(
        &self,
        deployment: &Value,
        chosen: Option<&PriorChoice>,
        thoroughness: Thoroughness,
        problems: &[Diagnostic],
    ) -> Evaluation {
        let mut document = Document::without_text(self.source, wanted(deployment));
        let mut findings = Findings::new(document.scope());
        let role = Role::of(&document, Purpose::Input, false, &self.options, &mut findings);
        let is_model = role.transform().is_some_and(|transform| !transform.needs_set());
        if !is_model && !findings.has_errors() {
            let Header { api_version, kind, .. } = &document.header;
            let expected = API_GROUPS.iter().map(ApiGroup::api_version).collect::<Vec<_>>().join(" or ");
            let message =
                format!("the object is a {kind:?} of {api_version:?}, expected a {} of {expected}", MODELS.kind().1);
            findings.report(&codes::NO_MODEL_DEPLOYMENT, "kind", message);
        }
        let found = findings.into_diagnostics();
        if !is_model {
            return Evaluation { decision: None, objects: Vec::new(), diagnostics: found };
        }
        let mut attempt = self.attempt(&document, chosen, thoroughness);
        if thoroughness != Thoroughness::Needed && attempt.errors().is_empty() {
            let without_effect = self.without_effect(&mut document, &attempt.findings);
            attempt.findings.extend(without_effect);
        }
        let Attempt { mut objects, decision, findings } = attempt;
        let mut found = RunFindings::new(found);
        for finding in findings {
            found.add(finding);
        }
        let is_undecided = decision.as_ref().is_some_and(|decision| decision.provider().is_none());
        if is_undecided && !found.has_errors() {
            // Nothing is said of the deployment when what could not be read may have been the one.
            problems.iter().cloned().for_each(|problem| found.add(problem));
        }
        if decision.as_ref().and_then(Decision::provider).is_some_and(|name| providers::find(name).is_none()) {
            objects.clear();
        }
        let diagnostics = self.said(found, &document, thoroughness);
        if diagnostics.iter().any(|found| found.severity == Severity::Error) {
            objects.clear();
        }
        Evaluation { decision, objects, diagnostics }
    }

    /// Runs one deployment.
    pub(super) fn attempt(
        &self,
        document: &Document<'_>,
        chosen: Option<&PriorChoice>,
        thoroughness: Thoroughness,
    ) -> Attempt {
        let schemas = self.schemas();
        let environment = Environment { thoroughness, chosen, ..self.environment(schemas.as_ref()) };
        let mut steps = StepBudget::new(allowance(self.options.rule_limits, 0, 1));
        Attempt::of(document, &environment, &mut steps)
    }

    fn schemas(&self) -> Option<CrdSchemas<'_>> {
        self.crds.as_deref().map(CrdSchemas)
    }

    fn environment<'e>(&'e self, schemas: Option<&'e CrdSchemas<'e>>) -> Environment<'e> {
        let (configuration, options) = (&*self.catalog, &*self.options);
        Environment {
            configuration,
            schemas,
            skeletons: (!options.crds).then_some(&*self.skeletons),
            options,
            thoroughness: Thoroughness::Needed,
            chosen: None,
        }
    }

    /// What `lint` says of fields that reach nothing and that nothing else is said of.
    fn without_effect(&self, document: &mut Document<'_>, said: &[Diagnostic]) -> Vec<Diagnostic> {
        let (kind, work) = accounting::DeploymentPattern::of(&document.root);
        let schemas = self.schemas();
        let environment = self.environment(schemas.as_ref());
        let mut accounting = Accounting::new(self.options.rule_limits);
        let subject = InputDeployment::new(document, &environment);
        accounting.learn(subject.into_iter().map(|subject| (kind, work, subject)).collect());
        let mut findings = Findings::new(document.scope());
        said.iter().cloned().for_each(|said| findings.add(said));
        accounting.report(kind, &document.root, &mut findings);
        findings.into_diagnostics().split_off(said.len())
    }

    /// What is said of all that was found.
    fn said(&self, mut found: RunFindings, document: &Document<'_>, thoroughness: Thoroughness) -> Vec<Diagnostic> {
        let suppressions = Suppression::of(document).into_iter().collect();
        found.suppress(suppressions, thoroughness != Thoroughness::Needed);
        let found = found.into_parts().0.into_iter();
        let mut said: Vec<Diagnostic> = found.filter_map(|found| self.options.adjust(found)).collect();
        for found in &mut said {
            // There is no text that a machine may mend; people may.
            let fix = found.fix.take();
            found.help = found.help.take().or_else(|| fix.map(|fix| fix.title));
        }
        said.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
        said.dedup();
        deduplicate_run_findings(&mut said);
        said
    }

    /// A deployment with its defaults, as far as it can be read, and whether anything is wrong with it.
    pub(crate) fn read_deployment(&self, deployment: &Value) -> (Option<Deployment>, bool) {
        let document = Document::without_text(self.source, wanted(deployment));
        let mut findings = Findings::new(document.scope());
        let mut read = || {
            let api_group = ApiGroup::find(document.header.group())?;
            let reader = &mut Reader::strict(&mut findings).in_group(api_group);
            let wire = ModelDeployment::read(&document.root, &FieldPath::root(), reader)?;
            let engine = select::default_engine(&wire, api_group, &self.catalog);
            validate::validate_with_default_engine(&wire, api_group, engine, &mut findings)
        };
        let read = read();
        (read, findings.has_errors())
    }

    /// The CRD version that is written for a provider, and why there is none.
    pub(crate) fn find_crd_version(&self, provider: &str) -> (Option<String>, Option<Diagnostic>) {
        let Some(provider) = providers::find(provider) else { return (None, None) };
        let root = Node { value: yaml::Value::Null, span: Span::default() };
        let scope = DocumentScope { source: self.source, text: "", document: 0, root: &root, object: None };
        let mut findings = Findings::new(scope);
        let schemas = self.schemas();
        let context = self.environment(schemas.as_ref()).context();
        let crd_version = conformance::choose_crd_version(provider, &context, &mut findings);
        let problem = findings.into_diagnostics().into_iter().next().map(|mut problem| {
            // Of what is missing there is no place.
            problem.location = problem.location.filter(|location| location.source != self.source);
            problem
        });
        (crd_version, problem)
    }
}

/// What an object says is wanted, without what was reported of it.
fn wanted(object: &Value) -> Node<'_> {
    let Value::Object(fields) = object else { return Node::from(object) };
    let is_reported = |outer: &str, inner: Option<&str>| REPORTED.contains(&(outer, inner));
    let entries = fields.iter().filter(|(key, _)| !is_reported(key, None)).map(|(key, value)| {
        let node = match value {
            Value::Object(inner) => {
                let inner = inner.iter().filter(|(name, _)| !is_reported(key, Some(name)));
                mapping(inner.map(|(name, value)| (name.as_str(), Node::from(value))))
            }
            value => Node::from(value),
        };
        (key.as_str(), node)
    });
    mapping(entries)
}

/// A mapping that is in no text.
fn mapping<'v>(entries: impl Iterator<Item = (&'v str, Node<'v>)>) -> Node<'v> {
    let span = Span::default();
    let entries = entries.map(|(key, node)| MappingEntry { key: key.into(), key_span: span, node });
    Node { value: yaml::Value::Mapping(entries.collect()), span }
}
