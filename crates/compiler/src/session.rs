//! A session runs the pipeline repeatedly inside a long-running program such as an operator, an admission webhook or an
//! editor.
//!
//! [`compile`](crate::compile()) takes all texts of a run at once. A [`Session`] keeps what seldom changes (options,
//! provider configurations, CRDs) and evaluates one deployment at a time, in the form in which the API server returns
//! it. It can also compile all texts again, and then transforms only the documents that changed. The results equal
//! those of a fresh run, because all of these share one code path. A session has no clock and starts no thread of its
//! own.

use serde_json::Value;

pub use crate::pipeline::{Evaluation, Providers};
use kubefoundry_crd::Crds;
pub use kubefoundry_crd::InstalledVersion;
pub use kubefoundry_model::select::PriorChoice;

use crate::options::Options;
use crate::pipeline::{Cache, Compilation, Engine, Thoroughness};
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_model::catalog::Catalog;
use kubefoundry_model::composition::Composition;
use kubefoundry_model::conformance;
use kubefoundry_model::defaults;
use kubefoundry_provider::status::text_or_empty;
use kubefoundry_yaml::fingerprint;

/// The number of hexadecimal digits of a hash. 64 bits suffice because only a deployment's own successive hashes are
/// compared.
const HASH_DIGITS: usize = 16;

/// The options, provider configurations and CRDs at one moment. A session borrows nothing, can be shared between
/// threads and is cheap to clone.
///
/// ```
/// use kubefoundry_compiler::session::{Providers, Session};
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_diagnostics::source::SourceSet;
/// use serde_json::json;
/// let session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
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
    engine: Engine<'static>,
    cache: Cache,
}

impl Session {
    /// Reads options, provider configurations and CRDs from the sources of each
    /// [`Purpose`](kubefoundry_diagnostics::source::Purpose). Configurations may also be among the input; other input
    /// objects are ignored. Without CRDs it is unknown what is installed, and every provider is rendered in its default
    /// version. A `CustomResourceDefinitionList` without items means that nothing is installed.
    ///
    /// An invalid configuration excludes only its own provider from selection: see [`Session::problems`].
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_composition::BUILTIN;
    /// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    /// let mut sources = SourceSet::default();
    /// sources.add_for(Purpose::Options, "kubefoundry.yaml", "
    /// apiVersion: config.kubefoundry.ai/v1alpha1
    /// kind: Render
    /// ownerReferences: true
    /// ");
    /// sources.add_for(Purpose::Crds, "installed CRDs", r#"
    /// {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinitionList", "items": []}"#);
    /// let session = Session::new(&BUILTIN, &sources, Providers::Configured).unwrap();
    /// assert!(session.options().owner_references);
    /// assert_eq!(session.provider_names().count(), 0);
    /// assert_eq!(session.crd_version("kaito"), None);
    /// ```
    ///
    /// # Errors
    /// Returns the findings in options, or in texts that should contain CRDs.
    pub fn new(
        composition: &'static Composition,
        sources: &SourceSet,
        providers: Providers,
    ) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self { engine: Engine::read(composition, sources, providers)?, cache: Cache::default() })
    }

    /// Returns a session with the provider configurations in `sources` and the same options and CRDs. A heartbeat of a
    /// provider therefore does not require CRDs to be read again.
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_composition::BUILTIN;
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// let mut sources = SourceSet::default();
    /// let session = Session::new(&BUILTIN, &sources, Providers::Configured).unwrap();
    /// assert_eq!(session.provider_names().count(), 0);
    /// sources.add("dynamo", BUILTIN.find_provider("dynamo").unwrap().info().config);
    /// let session = session.with_providers(&sources, Providers::Configured);
    /// assert_eq!(session.provider_names().collect::<Vec<_>>(), ["dynamo"]);
    /// ```
    #[must_use]
    pub fn with_providers(&self, sources: &SourceSet, providers: Providers) -> Self {
        Self { engine: self.engine.with_providers(sources, providers), ..self.clone() }
    }

    /// Runs the whole pipeline like [`compile`](crate::compile()). `sources` bring their own options, configurations
    /// and CRDs. The results of each document are kept for the next call with the same thoroughness, which transforms
    /// only changed documents unless options, configurations, kustomizations or CRDs changed too. The result equals
    /// that of a fresh run.
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_composition::BUILTIN;
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// use kubefoundry_compiler::Thoroughness;
    /// let mut session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
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
        self.cache.compile(self.options().composition, sources, thoroughness)
    }

    /// Returns the number of documents that the last [`Session::compile`] transformed or classified because no cached
    /// result applied.
    pub fn mapped_documents(&self) -> usize {
        self.cache.mapped_documents()
    }

    /// Returns the options of this session.
    pub fn options(&self) -> &Options {
        self.engine.options()
    }

    /// Returns the providers that can be selected, with their configurations.
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_composition::BUILTIN;
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// let mut sources = SourceSet::default();
    /// sources.add("edge.yaml", "
    /// apiVersion: kubefoundry.ai/v1alpha1
    /// kind: InferenceProviderConfig
    /// metadata: {name: edge}
    /// spec: {capabilities: {engines: [vllm], servingModes: [aggregated], gpuSupport: true}}
    /// status: {ready: false}
    /// ");
    /// let session = Session::new(&BUILTIN, &sources, Providers::Configured).unwrap();
    /// assert_eq!(session.catalog().get("edge").unwrap().ready, Some(false));
    /// ```
    pub fn catalog(&self) -> &Catalog {
        self.engine.catalog()
    }

    /// Returns the names of the configured providers, including those whose configuration is invalid.
    pub fn provider_names(&self) -> impl Iterator<Item = &str> {
        self.catalog().names()
    }

    /// Returns the findings in provider configurations.
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_composition::BUILTIN;
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
    /// let session = Session::new(&BUILTIN, &sources, Providers::All).unwrap();
    /// assert_eq!(session.problems()[0].object.as_ref().unwrap().to_string(), "InferenceProviderConfig edge");
    /// ```
    pub fn problems(&self) -> &[Diagnostic] {
        self.engine.problems()
    }

    /// Selects a provider for a deployment and renders it. `chosen` is an earlier selection, which stays unless the
    /// deployment names a provider. Either way, the provider is checked for whether it can run the deployment.
    ///
    /// The deployment may come from the API server: `status` and managed fields are ignored.
    ///
    /// ```
    /// use kubefoundry_compiler::session::{PriorChoice, Providers, Session};
    /// use kubefoundry_composition::BUILTIN;
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// use serde_json::json;
    /// let session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
    /// let mut phi = json!({
    ///     "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
    ///     "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}},
    /// });
    /// let chosen = PriorChoice { provider: "kuberay".to_owned(), reason: "it was the only one".to_owned() };
    /// let unchanged = session.evaluate(&phi, Some(&chosen));
    /// assert_eq!(unchanged.decision.unwrap().reason(), Some("it was the only one"));
    /// phi["spec"]["provider"] = json!({"name": "dynamo"});
    /// let named = session.evaluate(&phi, Some(&chosen));
    /// assert_eq!(named.provider(), Some("dynamo"));
    /// assert_eq!(named.decision.unwrap().reason(), Some("explicit provider selection"));
    /// ```
    pub fn evaluate(&self, deployment: &Value, chosen: Option<&PriorChoice>) -> Evaluation {
        self.engine.evaluate(deployment, chosen, Thoroughness::Needed)
    }

    /// Validates a deployment. With [`Thoroughness::EveryRule`] it reports everything that `kubefoundry lint` finds in
    /// one object, including fields without effect. An object that is not stored yet needs no uid, whatever the
    /// options.
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_composition::BUILTIN;
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// use kubefoundry_compiler::Thoroughness;
    /// let session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
    /// let phi = serde_json::json!({
    ///     "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
    ///     "spec": {"engine": {"type": "vllm"}},
    /// });
    /// let evaluation = session.validate(&phi, Thoroughness::EveryRule);
    /// let errors: Vec<&str> = evaluation.errors().map(|error| error.message.as_str()).collect();
    /// assert_eq!(errors, [
    ///     "model.id is required when source is huggingface",
    ///     "vLLM engine requires GPU (set resources.gpu.count > 0)",
    /// ]);
    /// ```
    pub fn validate(&self, deployment: &Value, thoroughness: Thoroughness) -> Evaluation {
        if self.options().owner_references && text_or_empty(deployment, "/metadata/uid").is_empty() {
            let engine = self.engine.with_options(|options| options.owner_references = false);
            return engine.evaluate(deployment, None, thoroughness);
        }
        self.engine.evaluate(deployment, None, thoroughness)
    }

    /// Returns the deployment with the default values of the specification (MD-1.17) written into absent fields of
    /// `spec`, as a defaulting webhook does. It renders as before. A deployment with errors is returned unchanged.
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_composition::BUILTIN;
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// use serde_json::json;
    /// let session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
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
        if let (Some(validated), false) = self.engine.read_deployment(deployment) {
            defaults::write_defaults(&validated, &mut with_defaults);
        }
        with_defaults
    }

    /// Returns the CRDs, if it is known what is installed.
    pub fn crds(&self) -> Option<&Crds<'static>> {
        self.engine.crds()
    }

    /// Hashes the identity of a deployment for its provider: the provider, `model.id`, `model.source`, `engine.type`
    /// and `serving.mode` (OP-3.1), after defaults. When the hash changes, the running objects are deleted and
    /// recreated. Returns `None` if the deployment cannot be read far enough.
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_composition::BUILTIN;
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// use serde_json::json;
    /// let session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
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
        let deployment = self.engine.read_deployment(deployment).0?;
        let (model, engine) = (&deployment.model, deployment.engine.kind.as_str());
        let (source, mode) = (model.source.value.as_str(), deployment.workload.mode().as_str());
        let identity = serde_json::json!([provider, model.id, source, engine, mode]);
        let mut hash = fingerprint::sha256(identity.to_string().as_bytes());
        hash.truncate(HASH_DIGITS);
        Some(hash)
    }

    /// Returns the installed versions of a provider's kinds, each with the fingerprint of its schema. Empty if it is
    /// unknown what is installed, or if kubefoundry does not render the provider.
    ///
    /// ```
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_composition::BUILTIN;
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
    /// let session = Session::new(&BUILTIN, &sources, Providers::All).unwrap();
    /// let installed = session.installed("kuberay");
    /// assert_eq!((installed[0].kind.as_str(), installed[0].version.as_str()), ("RayService", "v1"));
    /// assert_eq!(installed[0].fingerprint.len(), 16);
    /// assert!(session.installed("kaito").is_empty());
    /// ```
    pub fn installed(&self, provider: &str) -> Vec<InstalledVersion> {
        let (crds, provider) = (self.crds(), self.options().composition.find_provider(provider));
        crds.zip(provider)
            .map(|(crds, provider)| crds.installed_versions(&conformance::crd_kinds(provider)))
            .unwrap_or_default()
    }

    /// Returns the CRD version to write for a provider: set by the options, or else the first installed one. `None` if
    /// its CRD is not installed, has no known version or cannot be read, or if kubefoundry does not render the provider.
    pub fn crd_version(&self, provider: &str) -> Option<String> {
        self.engine.find_crd_version(provider)
    }
}
