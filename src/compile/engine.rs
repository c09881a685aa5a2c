//! One deployment at a time, with all that is known of a cluster, for whoever keeps running: see [`crate::engine`].

use std::sync::Arc;

use serde_json::Value;

use super::document::{Document, Header};
use super::found::Found;
use super::map::Setting;
use super::relevance::Texts;
use super::role::Role;
use super::subject::Subject;
use super::suppress::{self, Suppression};
use super::survey::{First, Survey};
use super::{Attempt, Decision, Providers, Thoroughness, catalog_of, conformance, crds_of, options_of, say_once};
use crate::crds::{Crds, Installed};
use crate::diagnostic::{Diagnostic, Findings, Scope, Severity, codes};
use crate::dialect::{DIALECTS, Dialect};
use crate::drift::{self, FieldDrift};
use crate::fingerprint;
use crate::model::catalog::Catalog;
use crate::model::defaults;
use crate::model::ir::Deployment;
use crate::model::providers;
use crate::model::select::{self, Chosen, Steps};
use crate::model::validate;
use crate::options::Options;
use crate::path::FieldPath;
use crate::source::{Purpose, SourceId, SourceSet};
use crate::trace::accounting::{self, Accounting};
use crate::wire::{ModelDeployment, Read as _, Reader};
use crate::yaml::{self, Entry, Node, Span};

/// Fields of an object that say nothing of what is wanted, and may be most of it.
const REPORTED: &[(&str, Option<&str>)] = &[("status", None), ("metadata", Some("managedFields"))];

/// Digits of a hash that are kept: nobody looks for two deployments of one hash.
const HASH_DIGITS: usize = 16;

/// What the engine knows of a cluster at a moment: options, provider configurations, CRDs. It borrows nothing, is shared
/// between threads, and a clone of it costs nothing.
///
/// ```
/// use kubefoundry::engine::{Engine, Providers};
/// use kubefoundry::SourceSet;
/// use serde_json::json;
/// let engine = Engine::new(&SourceSet::default(), Providers::All).unwrap();
/// let phi = json!({
///     "apiVersion": "kubefoundry.ai/v1alpha1",
///     "kind": "ModelDeployment",
///     "metadata": {"name": "phi", "uid": "6c7a", "managedFields": [{"manager": "kubectl"}]},
///     "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}},
///     "status": {"phase": "Pending"},
/// });
/// let evaluation = engine.evaluate(&phi, None);
/// assert!(!evaluation.has_errors());
/// let decision = evaluation.decision.unwrap();
/// assert_eq!(decision.reason(), Some("default → dynamo (GPU inference default)"));
/// assert_eq!(evaluation.objects.last().unwrap()["kind"], "DynamoGraphDeployment");
/// ```
#[derive(Debug, Clone)]
pub struct Engine {
    pub(super) options: Arc<Options>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) crds: Option<Arc<Crds<'static>>>,
    pub(super) problems: Arc<[Diagnostic]>,
    /// The source that deployments are said to stand in: the one behind all that were given.
    pub(super) source: SourceId,
}

/// What a deployment comes to.
#[derive(Debug, Clone, PartialEq)]
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

impl Engine {
    /// Reads options ([`Purpose::Options`]), provider configurations ([`Purpose::Input`] or [`Purpose::Providers`]) and
    /// CRDs ([`Purpose::Crds`]); other objects of the input are nothing to it. Without CRDs nobody knows what is installed:
    /// every provider is rendered by its default. A `CustomResourceDefinitionList` without items says that nothing is.
    ///
    /// A configuration that cannot be used takes its provider out of selection, and no other: see [`Engine::problems`].
    ///
    /// ```
    /// use kubefoundry::engine::{Engine, Providers};
    /// use kubefoundry::{Purpose, SourceSet};
    /// let mut sources = SourceSet::default();
    /// sources.add_for(Purpose::Options, "kubefoundry.yaml", "
    /// apiVersion: config.kubefoundry.ai/v1alpha1
    /// kind: Render
    /// ownerReferences: true
    /// ");
    /// sources.add_for(Purpose::Crds, "installed CRDs", r#"
    /// {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinitionList", "items": []}"#);
    /// let engine = Engine::new(&sources, Providers::Given).unwrap();
    /// assert!(engine.options().owner_references);
    /// assert_eq!(engine.provider_names().count(), 0);
    /// let problem = engine.crds_problem("kaito").unwrap();
    /// assert_eq!(problem.message, "Provider 'kaito' CRD not installed in cluster");
    /// ```
    ///
    /// # Errors
    /// What is wrong with options or with texts that should hold CRDs.
    pub fn new(sources: &SourceSet, providers: Providers) -> Result<Self, Vec<Diagnostic>> {
        let mut diagnostics = Vec::new();
        let options = options_of(sources, &mut diagnostics);
        let crds = crds_of(sources, &options, &mut diagnostics).map(Crds::into_owned);
        if diagnostics.iter().any(|found| found.severity == Severity::Error) {
            return Err(diagnostics);
        }
        let catalog = Catalog::without_builtin(options.rule_limits);
        Ok(Self::of(options, catalog, crds, sources).with_providers(sources, providers))
    }

    /// The same with the provider configurations of these texts. Options and CRDs stay: what was read of a CRD need not be read
    /// again when a provider says that it is alive.
    ///
    /// ```
    /// use kubefoundry::engine::{Engine, Providers};
    /// use kubefoundry::{SourceSet, model::providers};
    /// let mut sources = SourceSet::default();
    /// let engine = Engine::new(&sources, Providers::Given).unwrap();
    /// assert_eq!(engine.provider_names().count(), 0);
    /// sources.add("dynamo", providers::find("dynamo").unwrap().config());
    /// let engine = engine.with_providers(&sources, Providers::Given);
    /// assert_eq!(engine.provider_names().collect::<Vec<_>>(), ["dynamo"]);
    /// ```
    #[must_use]
    pub fn with_providers(&self, sources: &SourceSet, providers: Providers) -> Self {
        let mut survey = Survey::of(sources, &self.options, First::All, Texts::All);
        let (catalog, problems) = catalog_of(sources, &self.options, providers, &mut survey);
        let problems = survey.diagnostics.into_iter().chain(problems).chain(survey.trouble.ours);
        Self {
            catalog: Arc::new(catalog),
            problems: problems.collect(),
            source: SourceId(sources.iter().count()),
            ..self.clone()
        }
    }

    /// Of these parts.
    pub(super) fn of(options: Options, catalog: Catalog, crds: Option<Crds<'static>>, sources: &SourceSet) -> Self {
        Self {
            options: Arc::new(options),
            catalog: Arc::new(catalog),
            crds: crds.map(Arc::new),
            problems: Arc::default(),
            source: SourceId(sources.iter().count()),
        }
    }

    /// The options that apply.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The providers that can be chosen, with what they say of themselves.
    ///
    /// ```
    /// use kubefoundry::engine::{Engine, Providers};
    /// use kubefoundry::SourceSet;
    /// let mut sources = SourceSet::default();
    /// sources.add("edge.yaml", "
    /// apiVersion: kubefoundry.ai/v1alpha1
    /// kind: InferenceProviderConfig
    /// metadata: {name: edge}
    /// spec: {capabilities: {engines: [vllm], servingModes: [aggregated], gpuSupport: true}}
    /// status: {ready: false}
    /// ");
    /// let engine = Engine::new(&sources, Providers::Given).unwrap();
    /// assert_eq!(engine.catalog().get("edge").unwrap().ready, Some(false));
    /// ```
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The names of the providers that are configured, also of those whose configuration cannot be used.
    pub fn provider_names(&self) -> impl Iterator<Item = &str> {
        self.catalog.names()
    }

    /// What was wrong with provider configurations.
    ///
    /// ```
    /// use kubefoundry::engine::{Engine, Providers};
    /// use kubefoundry::SourceSet;
    /// let mut sources = SourceSet::default();
    /// sources.add("edge.yaml", "
    /// apiVersion: kubefoundry.ai/v1alpha1
    /// kind: InferenceProviderConfig
    /// metadata: {name: edge}
    /// spec:
    ///   capabilities: {engines: [vllm], servingModes: [aggregated], gpuSupport: true}
    ///   selectionRules: [{condition: spec.resources.gpu.count >, priority: 1}]
    /// ");
    /// let engine = Engine::new(&sources, Providers::All).unwrap();
    /// assert_eq!(engine.problems()[0].object.as_ref().unwrap().to_string(), "InferenceProviderConfig edge");
    /// ```
    pub fn problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    /// Decides on a deployment and renders it. `chosen` is an earlier choice, which stays unless the deployment names a
    /// provider; whether the provider can run the deployment is checked all the same.
    ///
    /// The deployment may come from the apiserver: what only that or a controller writes (`status`, managed fields) is
    /// passed over.
    ///
    /// ```
    /// use kubefoundry::engine::{Chosen, Engine, Providers};
    /// use kubefoundry::SourceSet;
    /// use serde_json::json;
    /// let engine = Engine::new(&SourceSet::default(), Providers::All).unwrap();
    /// let mut phi = json!({
    ///     "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
    ///     "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}},
    /// });
    /// let chosen = Chosen { provider: "kuberay".to_owned(), reason: "it was the only one".to_owned() };
    /// let kept = engine.evaluate(&phi, Some(&chosen));
    /// assert_eq!(kept.decision.unwrap().reason(), Some("it was the only one"));
    /// phi["spec"]["provider"] = json!({"name": "dynamo"});
    /// let named = engine.evaluate(&phi, Some(&chosen));
    /// assert_eq!(named.provider(), Some("dynamo"));
    /// assert_eq!(named.decision.unwrap().reason(), Some("explicit provider selection"));
    /// ```
    pub fn evaluate(&self, deployment: &Value, chosen: Option<&Chosen>) -> Evaluation {
        self.run(deployment, chosen, Thoroughness::Needed)
    }

    /// Finds what is wrong with a deployment: with [`Thoroughness::EveryRule`] all that `kubefoundry lint` finds in one
    /// object, fields without effect included.
    ///
    /// ```
    /// use kubefoundry::engine::{Engine, Providers};
    /// use kubefoundry::{SourceSet, Thoroughness};
    /// let engine = Engine::new(&SourceSet::default(), Providers::All).unwrap();
    /// let phi = serde_json::json!({
    ///     "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
    ///     "spec": {"engine": {"type": "vllm"}},
    /// });
    /// let found = engine.validate(&phi, Thoroughness::EveryRule);
    /// let errors: Vec<&str> = found.errors().map(|error| error.message.as_str()).collect();
    /// assert_eq!(errors, [
    ///     "model.id is required when source is huggingface",
    ///     "vLLM engine requires GPU (set resources.gpu.count > 0)",
    /// ]);
    /// ```
    pub fn validate(&self, deployment: &Value, thoroughness: Thoroughness) -> Evaluation {
        self.run(deployment, None, thoroughness)
    }

    /// The deployment with the defaults that the specification states as values (spec/1 §4.1) written into its `spec`, where
    /// it says nothing: what a defaulting webhook answers. It renders as before. One with errors stays as it is.
    ///
    /// ```
    /// use kubefoundry::engine::{Engine, Providers};
    /// use kubefoundry::SourceSet;
    /// use serde_json::json;
    /// let engine = Engine::new(&SourceSet::default(), Providers::All).unwrap();
    /// let phi = json!({
    ///     "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
    ///     "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}},
    /// });
    /// let phi = engine.default_values(&phi);
    /// assert_eq!(phi["spec"], json!({
    ///     "model": {"id": "org/phi", "source": "huggingface"},
    ///     "engine": {"type": "vllm", "trustRemoteCode": false, "enforceEager": false},
    ///     "resources": {"gpu": {"count": 1}},
    ///     "serving": {"mode": "aggregated"},
    ///     "scaling": {"replicas": 1},
    /// }));
    /// assert_eq!(engine.default_values(&phi), phi);
    /// ```
    #[must_use]
    pub fn default_values(&self, deployment: &Value) -> Value {
        let mut with_defaults = deployment.clone();
        if let (Some(read), false) = self.read(deployment) {
            defaults::write(&read, &mut with_defaults);
        }
        with_defaults
    }

    /// The fields of a live object that are not as they are rendered; see [`drift()`](crate::drift::drift). Lists are told
    /// apart by the keys that the installed CRDs name.
    ///
    /// ```
    /// use kubefoundry::engine::{Engine, Providers};
    /// use kubefoundry::SourceSet;
    /// use serde_json::json;
    /// let engine = Engine::new(&SourceSet::default(), Providers::All).unwrap();
    /// let service = |replicas: u32| json!({
    ///     "apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "m"}, "spec": {"replicas": replicas},
    /// });
    /// assert!(engine.drift(&service(1), &service(1)).is_empty());
    /// assert_eq!(engine.drift(&service(1), &service(2))[0].path, "spec.replicas");
    /// ```
    pub fn drift(&self, expected: &Value, live: &Value) -> Vec<FieldDrift> {
        drift::drift(expected, live, self.crds.as_deref())
    }

    /// A hash of what makes a deployment another one to its provider: the provider, `model.id`, `model.source`,
    /// `engine.type` and `serving.mode` (spec/1 §4.7), after defaults. When it changes, what runs is deleted and made anew.
    /// None when the deployment cannot be read so far.
    ///
    /// ```
    /// use kubefoundry::engine::{Engine, Providers};
    /// use kubefoundry::SourceSet;
    /// use serde_json::json;
    /// let engine = Engine::new(&SourceSet::default(), Providers::All).unwrap();
    /// let mut phi = json!({
    ///     "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
    ///     "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}},
    /// });
    /// let hash = engine.identity_hash(&phi, "dynamo").unwrap();
    /// assert_eq!(hash.len(), 16);
    /// phi["spec"]["resources"]["gpu"]["count"] = 2.into();
    /// phi["spec"]["serving"] = json!({"mode": "aggregated"});
    /// assert_eq!(engine.identity_hash(&phi, "dynamo").as_ref(), Some(&hash));
    /// phi["spec"]["model"]["id"] = "org/phi-2".into();
    /// assert_ne!(engine.identity_hash(&phi, "dynamo").as_ref(), Some(&hash));
    /// ```
    pub fn identity_hash(&self, deployment: &Value, provider: &str) -> Option<String> {
        let deployment = self.read(deployment).0?;
        let (model, engine) = (&deployment.model, deployment.engine.kind.as_str());
        let (source, mode) = (model.source.value.as_str(), deployment.workload.mode().as_str());
        let identity = serde_json::json!([provider, model.id, source, engine, mode]);
        let mut hash = fingerprint::sha256(identity.to_string().as_bytes());
        hash.truncate(HASH_DIGITS);
        Some(hash)
    }

    /// The versions of a provider's kinds that are installed, each with the fingerprint of its schema. None when that is not
    /// known, and for providers that this program does not render.
    ///
    /// ```
    /// use kubefoundry::engine::{Engine, Providers};
    /// use kubefoundry::{Purpose, SourceSet};
    /// let mut sources = SourceSet::default();
    /// sources.add_for(Purpose::Crds, "crds.yaml", "
    /// apiVersion: apiextensions.k8s.io/v1
    /// kind: CustomResourceDefinition
    /// spec:
    ///   group: ray.io
    ///   names: {kind: RayService}
    ///   versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object}}}]
    /// ");
    /// let engine = Engine::new(&sources, Providers::All).unwrap();
    /// let installed = engine.installed("kuberay");
    /// assert_eq!((installed[0].kind.as_str(), installed[0].version.as_str()), ("RayService", "v1"));
    /// assert_eq!(installed[0].fingerprint.len(), 16);
    /// assert!(engine.installed("kaito").is_empty());
    /// ```
    pub fn installed(&self, provider: &str) -> Vec<Installed> {
        let (crds, provider) = (self.crds.as_deref(), providers::find(provider));
        crds.zip(provider).map(|(crds, provider)| crds.installed(provider)).unwrap_or_default()
    }

    /// The CRD version that is written for a provider: by the options, or the first that is installed. None when
    /// [`Engine::crds_problem`] says why, and for a provider that this program does not render.
    pub fn target(&self, provider: &str) -> Option<String> {
        self.find_target(provider).0
    }

    /// Why nothing can be rendered for a provider of this program: its CRD is not installed, or not in a version that is
    /// known, or cannot be read. None when something can be, and when nobody knows what is installed.
    pub fn crds_problem(&self, provider: &str) -> Option<Diagnostic> {
        self.find_target(provider).1
    }

    fn find_target(&self, provider: &str) -> (Option<String>, Option<Diagnostic>) {
        let Some(provider) = providers::find(provider) else { return (None, None) };
        let root = Node { value: yaml::Value::Null, span: Span::default() };
        let scope = Scope { source: self.source, text: "", document: 0, root: &root, object: None };
        let mut findings = Findings::new(scope);
        let target = conformance::target(provider, &self.options, self.crds.as_deref(), &mut findings);
        let problem = findings.into_diagnostics().into_iter().next();
        (
            target,
            problem.map(|problem| {
                // Of what is missing there is no place.
                let location = problem.location.filter(|location| location.source != self.source);
                Diagnostic { location, ..problem }
            }),
        )
    }

    fn run(&self, deployment: &Value, chosen: Option<&Chosen>, thoroughness: Thoroughness) -> Evaluation {
        let mut document = Document::without_text(self.source, wanted(deployment));
        let mut findings = Findings::new(document.scope());
        let role = Role::of(&document, Purpose::Input, false, &self.options, &mut findings);
        if role != Role::Deployment && !findings.has_errors() {
            let Header { api_version, kind, .. } = &document.header;
            let expected = DIALECTS.iter().map(Dialect::api_version).collect::<Vec<_>>().join(" or ");
            let message =
                format!("the object is a {kind:?} of {api_version:?}, expected a ModelDeployment of {expected}");
            findings.report(&codes::NO_MODEL_DEPLOYMENT, "kind", message);
        }
        let found = findings.into_diagnostics();
        if role != Role::Deployment {
            return Evaluation { decision: None, objects: Vec::new(), diagnostics: found };
        }
        let mut attempt = self.attempt(&document, chosen, thoroughness);
        if thoroughness != Thoroughness::Needed && attempt.errors().is_empty() {
            let without_effect = self.without_effect(&mut document, &attempt.findings);
            attempt.findings.extend(without_effect);
        }
        let Attempt { mut objects, decision, findings } = attempt;
        let mut found = Found::of(found);
        for finding in findings {
            found.add(finding);
        }
        let is_undecided = decision.as_ref().is_some_and(|decision| decision.provider().is_none());
        if is_undecided && !found.has_errors() {
            // Nothing is said of the deployment when what could not be read may have been the one.
            self.problems.iter().cloned().for_each(|problem| found.add(problem));
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
        chosen: Option<&Chosen>,
        thoroughness: Thoroughness,
    ) -> Attempt {
        let setting = Setting { thoroughness, chosen, ..self.setting() };
        let mut steps = Steps::new(select::allowance(self.options.rule_limits, 0, 1));
        Attempt::of(document, &setting, &mut steps)
    }

    fn setting(&self) -> Setting<'_> {
        Setting {
            catalog: &self.catalog,
            crds: self.crds.as_deref(),
            options: &self.options,
            thoroughness: Thoroughness::Needed,
            chosen: None,
            keeps_set: false,
        }
    }

    /// What `lint` says of fields that reach nothing and that nothing else is said of.
    fn without_effect(&self, document: &mut Document<'_>, said: &[Diagnostic]) -> Vec<Diagnostic> {
        let (kind, work) = accounting::Kind::of(&document.root);
        let setting = self.setting();
        let mut accounting = Accounting::new(self.options.rule_limits);
        accounting.learn(vec![(kind, work, Subject::new(document, &setting))]);
        let mut findings = Findings::new(document.scope());
        said.iter().cloned().for_each(|said| findings.add(said));
        accounting.report(kind, &document.root, &mut findings);
        findings.into_diagnostics().split_off(said.len())
    }

    /// What is said of all that was found.
    fn said(&self, mut found: Found, document: &Document<'_>, thoroughness: Thoroughness) -> Vec<Diagnostic> {
        let suppressions = Suppression::of(document).into_iter().collect();
        suppress::suppress(&mut found, suppressions, thoroughness != Thoroughness::Needed);
        let found = found.into_parts().0.into_iter();
        let mut said: Vec<Diagnostic> = found.filter_map(|found| self.options.adjust(found)).collect();
        for found in &mut said {
            // There is no text that a machine may mend; people may.
            let fix = found.fix.take();
            found.help = found.help.take().or_else(|| fix.map(|fix| fix.title));
        }
        said.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
        said.dedup();
        say_once(&mut said);
        said
    }

    /// A deployment with its defaults, as far as it can be read, and whether anything is wrong with it.
    fn read(&self, deployment: &Value) -> (Option<Deployment>, bool) {
        let document = Document::without_text(self.source, wanted(deployment));
        let mut findings = Findings::new(document.scope());
        let mut read = || {
            let dialect = Dialect::of_group(document.header.group())?;
            let reader = &mut Reader::strict(&mut findings);
            let wire = ModelDeployment::read(&document.root, &FieldPath::root(), reader)?;
            let engine = select::default_engine(&wire, dialect, &self.catalog);
            validate::validate_for(&wire, dialect, engine, &mut findings)
        };
        let read = read();
        (read, findings.has_errors())
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
    let entries = entries.map(|(key, node)| Entry { key: key.into(), key_span: span, node });
    Node { value: yaml::Value::Mapping(entries.collect()), span }
}
