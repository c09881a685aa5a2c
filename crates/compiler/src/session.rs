//! A session: the pipeline for a program that keeps running, such as an operator, an admission webhook, or an editor.
//!
//! [`compile`](crate::compile()) takes all texts of a run. A [`Session`] holds what changes seldom (options, provider
//! configurations, CRDs) and takes one deployment at a time, as the apiserver gives it; or all texts again, of which it
//! transforms the documents that changed. What comes out is the same: all send the deployment through the same code. A
//! session has no clock and no thread of its own.

use std::sync::Arc;

use serde_json::Value;

pub use crate::drift::{FieldDrift, drift};
pub use crate::pipeline::{Evaluation, Providers};
pub use crate::plan::{UpstreamChange, upstream_changes};
pub use crate::status::{Observation, StalenessPolicy, observe};
pub use kubefoundry_crd::InstalledVersion;
pub use kubefoundry_model::select::PriorChoice;

use crate::options::Options;
use crate::pipeline::{Compilation, Evaluator, ResultCache, Thoroughness, compile_cached};
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_model::catalog::Catalog;
use kubefoundry_model::conformance;
use kubefoundry_model::defaults;
use kubefoundry_model::providers;
use kubefoundry_model::status::text_or_empty;
use kubefoundry_yaml::fingerprint;

/// Digits of a hash that are kept: nobody looks for two deployments of one hash.
const HASH_DIGITS: usize = 16;

/// What is known of a cluster at a moment: options, provider configurations, CRDs. It borrows nothing, is shared
/// between threads, and a clone of it costs nothing.
///
/// ```
/// use kubefoundry_compiler::session::{Providers, Session};
/// use kubefoundry_diagnostics::source::SourceSet;
/// use serde_json::json;
/// let session = Session::new(&SourceSet::default(), Providers::All).unwrap();
/// let phi = json!({
///     "apiVersion": "kubefoundry.ai/v1alpha1",
///     "kind": "ModelDeployment",
///     "metadata": {"name": "phi", "uid": "6c7a", "managedFields": [{"manager": "kubectl"}]},
///     "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}},
///     "status": {"phase": "Pending"},
/// });
/// let evaluation = session.evaluate(&phi, None);
/// assert!(!evaluation.has_errors());
/// let decision = evaluation.decision.unwrap();
/// assert_eq!(decision.reason(), Some("default → dynamo (GPU inference default)"));
/// assert_eq!(evaluation.objects.last().unwrap()["kind"], "DynamoGraphDeployment");
/// ```
#[derive(Debug, Clone)]
pub struct Session {
    evaluator: Evaluator,
    /// What was wrong with provider configurations.
    problems: Arc<[Diagnostic]>,
    /// What documents became in the last [`Session::compile`].
    cache: ResultCache,
}

impl Session {
    /// Reads options, provider configurations and CRDs, each from the texts given for it ([`Purpose`](kubefoundry_diagnostics::source::Purpose));
    /// configurations may also be among the input, whose other objects are nothing to it. Without CRDs nobody knows what is
    /// installed: every provider is rendered by its default. A `CustomResourceDefinitionList` without items says that
    /// nothing is.
    ///
    /// A configuration that cannot be used takes its provider out of selection, and no other: see [`Session::problems`].
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    /// let mut sources = SourceSet::default();
    /// sources.add_for(Purpose::Options, "kubefoundry.yaml", "
    /// apiVersion: config.kubefoundry.ai/v1alpha1
    /// kind: Render
    /// ownerReferences: true
    /// ");
    /// sources.add_for(Purpose::Crds, "installed CRDs", r#"
    /// {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinitionList", "items": []}"#);
    /// let session = Session::new(&sources, Providers::Given).unwrap();
    /// assert!(session.options().owner_references);
    /// assert_eq!(session.provider_names().count(), 0);
    /// let problem = session.crds_problem("kaito").unwrap();
    /// assert_eq!(problem.message, "Provider 'kaito' CRD not installed in cluster");
    /// ```
    ///
    /// # Errors
    /// What is wrong with options or with texts that should hold CRDs.
    pub fn new(sources: &SourceSet, providers: Providers) -> Result<Self, Vec<Diagnostic>> {
        let evaluator = Evaluator::read(sources)?;
        let session = Self { evaluator, problems: Arc::default(), cache: ResultCache::default() };
        Ok(session.with_providers(sources, providers))
    }

    /// The same with the provider configurations of these texts. Options and CRDs stay: what was read of a CRD need not be read
    /// again when a provider says that it is alive.
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// use kubefoundry_model::providers;
    /// let mut sources = SourceSet::default();
    /// let session = Session::new(&sources, Providers::Given).unwrap();
    /// assert_eq!(session.provider_names().count(), 0);
    /// sources.add("dynamo", providers::find("dynamo").unwrap().info().config);
    /// let session = session.with_providers(&sources, Providers::Given);
    /// assert_eq!(session.provider_names().collect::<Vec<_>>(), ["dynamo"]);
    /// ```
    #[must_use]
    pub fn with_providers(&self, sources: &SourceSet, providers: Providers) -> Self {
        let (evaluator, problems) = self.evaluator.with_providers(sources, providers);
        Self { evaluator, problems: problems.into(), ..self.clone() }
    }

    /// Runs the whole pipeline, as [`compile`](crate::compile()) does; the texts bring their own options, configurations
    /// and CRDs. What a document became is kept for the next call with the same thoroughness: then only documents that
    /// changed are transformed, unless options, configurations, kustomizations or CRDs changed, too. What comes out is
    /// that of a fresh run.
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// use kubefoundry_compiler::Thoroughness;
    /// let mut session = Session::new(&SourceSet::default(), Providers::All).unwrap();
    /// let mut sources = SourceSet::default();
    /// let phi = sources.add("phi.yaml", "
    /// apiVersion: kubefoundry.ai/v1alpha1
    /// kind: ModelDeployment
    /// metadata: {name: phi}
    /// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
    /// ");
    /// assert_eq!(session.compile(&sources, Thoroughness::Needed).decisions[0].gpus[0].count, 1);
    /// sources.set_text(phi, sources.get(phi).text.replace("count: 1", "count: 2"));
    /// assert_eq!(session.compile(&sources, Thoroughness::Needed).decisions[0].gpus[0].count, 2);
    /// ```
    pub fn compile(&mut self, sources: &SourceSet, thoroughness: Thoroughness) -> Compilation {
        compile_cached(sources, thoroughness, &mut self.cache)
    }

    /// How many documents the last [`Session::compile`] transformed or looked at, rather than know what becomes of them.
    pub fn mapped_documents(&self) -> usize {
        self.cache.mapped()
    }

    /// The options that apply.
    pub fn options(&self) -> &Options {
        self.evaluator.options()
    }

    /// The providers that can be chosen, with what they say of themselves.
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// let mut sources = SourceSet::default();
    /// sources.add("edge.yaml", "
    /// apiVersion: kubefoundry.ai/v1alpha1
    /// kind: InferenceProviderConfig
    /// metadata: {name: edge}
    /// spec: {capabilities: {engines: [vllm], servingModes: [aggregated], gpuSupport: true}}
    /// status: {ready: false}
    /// ");
    /// let session = Session::new(&sources, Providers::Given).unwrap();
    /// assert_eq!(session.catalog().get("edge").unwrap().ready, Some(false));
    /// ```
    pub fn catalog(&self) -> &Catalog {
        self.evaluator.catalog()
    }

    /// The names of the providers that are configured, also of those whose configuration cannot be used.
    pub fn provider_names(&self) -> impl Iterator<Item = &str> {
        self.catalog().names()
    }

    /// What was wrong with provider configurations.
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// let mut sources = SourceSet::default();
    /// sources.add("edge.yaml", "
    /// apiVersion: kubefoundry.ai/v1alpha1
    /// kind: InferenceProviderConfig
    /// metadata: {name: edge}
    /// spec:
    ///   capabilities: {engines: [vllm], servingModes: [aggregated], gpuSupport: true}
    ///   selectionRules: [{condition: spec.resources.gpu.count >, priority: 1}]
    /// ");
    /// let session = Session::new(&sources, Providers::All).unwrap();
    /// assert_eq!(session.problems()[0].object.as_ref().unwrap().to_string(), "InferenceProviderConfig edge");
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
    /// use kubefoundry_compiler::session::{PriorChoice, Providers, Session};
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// use serde_json::json;
    /// let session = Session::new(&SourceSet::default(), Providers::All).unwrap();
    /// let mut phi = json!({
    ///     "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
    ///     "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}},
    /// });
    /// let chosen = PriorChoice { provider: "kuberay".to_owned(), reason: "it was the only one".to_owned() };
    /// let kept = session.evaluate(&phi, Some(&chosen));
    /// assert_eq!(kept.decision.unwrap().reason(), Some("it was the only one"));
    /// phi["spec"]["provider"] = json!({"name": "dynamo"});
    /// let named = session.evaluate(&phi, Some(&chosen));
    /// assert_eq!(named.provider(), Some("dynamo"));
    /// assert_eq!(named.decision.unwrap().reason(), Some("explicit provider selection"));
    /// ```
    pub fn evaluate(&self, deployment: &Value, chosen: Option<&PriorChoice>) -> Evaluation {
        self.evaluator.evaluate(deployment, chosen, Thoroughness::Needed, &self.problems)
    }

    /// Finds what is wrong with a deployment: with [`Thoroughness::EveryRule`] all that `kubefoundry lint` finds in one
    /// object, fields without effect included. One that is not stored yet needs no uid, whatever the options.
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// use kubefoundry_compiler::Thoroughness;
    /// let session = Session::new(&SourceSet::default(), Providers::All).unwrap();
    /// let phi = serde_json::json!({
    ///     "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
    ///     "spec": {"engine": {"type": "vllm"}},
    /// });
    /// let found = session.validate(&phi, Thoroughness::EveryRule);
    /// let errors: Vec<&str> = found.errors().map(|error| error.message.as_str()).collect();
    /// assert_eq!(errors, [
    ///     "model.id is required when source is huggingface",
    ///     "vLLM engine requires GPU (set resources.gpu.count > 0)",
    /// ]);
    /// ```
    pub fn validate(&self, deployment: &Value, thoroughness: Thoroughness) -> Evaluation {
        if self.options().owner_references && text_or_empty(deployment, "/metadata/uid").is_empty() {
            let options = Options { owner_references: false, ..self.options().clone() };
            return self.evaluator.with_options(options).evaluate(deployment, None, thoroughness, &self.problems);
        }
        self.evaluator.evaluate(deployment, None, thoroughness, &self.problems)
    }

    /// The deployment with the defaults that the specification states as values (MD-1.17) written into its `spec`,
    /// where it says nothing: what a defaulting webhook answers. It renders as before. One with errors stays as it is.
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// use serde_json::json;
    /// let session = Session::new(&SourceSet::default(), Providers::All).unwrap();
    /// let phi = json!({
    ///     "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
    ///     "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}},
    /// });
    /// let phi = session.default_values(&phi);
    /// assert_eq!(phi["spec"], json!({
    ///     "model": {"id": "org/phi", "source": "huggingface"},
    ///     "engine": {"type": "vllm", "trustRemoteCode": false, "enforceEager": false},
    ///     "resources": {"gpu": {"count": 1}},
    ///     "serving": {"mode": "aggregated"},
    ///     "scaling": {"replicas": 1},
    /// }));
    /// assert_eq!(session.default_values(&phi), phi);
    /// ```
    #[must_use]
    pub fn default_values(&self, deployment: &Value) -> Value {
        let mut with_defaults = deployment.clone();
        if let (Some(read), false) = self.evaluator.read_deployment(deployment) {
            defaults::write_defaults(&read, &mut with_defaults);
        }
        with_defaults
    }

    /// The fields of a live object that are not as they are rendered; see [`drift()`](crate::drift::drift). Lists are told
    /// apart by the keys that the installed CRDs name.
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// use serde_json::json;
    /// let session = Session::new(&SourceSet::default(), Providers::All).unwrap();
    /// let service = |replicas: u32| json!({
    ///     "apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "m"}, "spec": {"replicas": replicas},
    /// });
    /// assert!(session.drift(&service(1), &service(1)).is_empty());
    /// assert_eq!(session.drift(&service(1), &service(2))[0].path, "spec.replicas");
    /// ```
    pub fn drift(&self, expected: &Value, live: &Value) -> Vec<FieldDrift> {
        drift(expected, live, self.evaluator.crds())
    }

    /// A hash of what makes a deployment another one to its provider: the provider, `model.id`, `model.source`,
    /// `engine.type` and `serving.mode` (OP-3.1), after defaults. When it changes, what runs is deleted and made anew.
    /// None when the deployment cannot be read so far.
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// use serde_json::json;
    /// let session = Session::new(&SourceSet::default(), Providers::All).unwrap();
    /// let mut phi = json!({
    ///     "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
    ///     "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}},
    /// });
    /// let hash = session.identity_hash(&phi, "dynamo").unwrap();
    /// assert_eq!(hash.len(), 16);
    /// phi["spec"]["resources"]["gpu"]["count"] = 2.into();
    /// phi["spec"]["serving"] = json!({"mode": "aggregated"});
    /// assert_eq!(session.identity_hash(&phi, "dynamo").as_ref(), Some(&hash));
    /// phi["spec"]["model"]["id"] = "org/phi-2".into();
    /// assert_ne!(session.identity_hash(&phi, "dynamo").as_ref(), Some(&hash));
    /// ```
    pub fn identity_hash(&self, deployment: &Value, provider: &str) -> Option<String> {
        let deployment = self.evaluator.read_deployment(deployment).0?;
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
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    /// let mut sources = SourceSet::default();
    /// sources.add_for(Purpose::Crds, "crds.yaml", "
    /// apiVersion: apiextensions.k8s.io/v1
    /// kind: CustomResourceDefinition
    /// spec:
    ///   group: ray.io
    ///   names: {kind: RayService}
    ///   versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object}}}]
    /// ");
    /// let session = Session::new(&sources, Providers::All).unwrap();
    /// let installed = session.installed("kuberay");
    /// assert_eq!((installed[0].kind.as_str(), installed[0].version.as_str()), ("RayService", "v1"));
    /// assert_eq!(installed[0].fingerprint.len(), 16);
    /// assert!(session.installed("kaito").is_empty());
    /// ```
    pub fn installed(&self, provider: &str) -> Vec<InstalledVersion> {
        let (crds, provider) = (self.evaluator.crds(), providers::find(provider));
        crds.zip(provider)
            .map(|(crds, provider)| crds.installed_versions(&conformance::crd_kinds(provider)))
            .unwrap_or_default()
    }

    /// The CRD version that is written for a provider: by the options, or the first that is installed. None when
    /// [`Session::crds_problem`] says why, and for a provider that this program does not render.
    pub fn crd_version(&self, provider: &str) -> Option<String> {
        self.evaluator.find_crd_version(provider).0
    }

    /// Why nothing can be rendered for a provider of this program: its CRD is not installed, or not in a version that is
    /// known, or cannot be read. None when something can be, and when nobody knows what is installed.
    pub fn crds_problem(&self, provider: &str) -> Option<Diagnostic> {
        self.evaluator.find_crd_version(provider).1
    }
}
