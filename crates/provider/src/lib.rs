//! What the author of a provider reads: the interface of providers, and the parts that several of them share.
//!
//! A provider is a folder under `providers/` and a line in `crates/composition`.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.

pub mod draft;
pub mod image;
pub mod import_pod;
mod import_volumes;
pub mod known_images;
pub mod metadata;
pub mod model_alias;
pub mod nixl;
pub mod overrides;
pub mod pod;
pub mod releases;
pub mod runtime_upgrade;
pub mod runtime_version;
pub mod starter;
pub mod status;
pub mod support;

use std::fmt::Debug;

use serde::Serialize;
use serde_json::Value;

use crate::draft::{Draft, ImportRefusal, ImportSource, Refinement};
pub use crate::runtime_version::RuntimeMatch;
use crate::runtime_version::find_nearest;
use crate::starter::{Starter, StarterRequest};
pub use crate::status::{Status, StatusError};
use crate::support::FieldSupport;
use kubefoundry_deployment::ir::{Deployment, EngineType};
use kubefoundry_deployment::placement::PodPlacement;
use kubefoundry_deployment::wire::ModelDeploymentSpec;
use kubefoundry_diagnostics::{Code, Findings};
use kubefoundry_engines::Launcher;
use kubefoundry_engines::flags::FlagTable;
use kubefoundry_kubernetes::header::{group_of, is_builtin_group};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::pod::StringMap;
use kubefoundry_kubernetes::wire::Shape;
use kubefoundry_transform::{AllSettings, Endpoint, GroupKind, InstalledSchemas, PodPart, SettingsSection};
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// The constant facts of a provider.
#[derive(Debug)]
pub struct ProviderInfo {
    /// The name in `spec.provider.name`, which is also that of its folder: `kaito`.
    pub name: &'static str,
    /// The name in messages: `KAITO`.
    pub display_name: &'static str,
    /// The provider's `InferenceProviderConfig` as YAML, the same kind of object that third parties write.
    pub config: &'static str,
    /// The README of its folder.
    pub readme: &'static str,
    /// The versions of its main objects that it can write, as `group/version`, the default first: `ray.io/v1`, or
    /// `apps/v1` for kinds of Kubernetes itself.
    pub crd_versions: &'static [&'static str],
    /// The CRD versions that are the default from a release of the runtime on, oldest first: `("1.5.0", "group/v1")`.
    pub crd_versions_by_runtime: &'static [(&'static str, &'static str)],
    /// The runtime versions whose flags it knows, the default first.
    pub runtimes: &'static [&'static str],
    /// Returns whether the provider chooses the GPUs of a deployment, so that `resources.gpu.count` is not required.
    pub chooses_gpus: fn(&ModelDeploymentSpec) -> bool,
    /// Returns what decides on which nodes the pods of a deployment run.
    pub placement: fn(&Deployment) -> PodPlacement,
    /// Whether the upstream controller chooses the runtime, so that an option only states which one it is, and the
    /// default is an assumption.
    pub chooses_runtime_itself: bool,
    /// Returns the flag tables of a runtime version for an engine, outermost parser first. Empty for an engine or a
    /// version that it does not know.
    pub flag_tables: fn(EngineType, &str) -> Vec<FlagTable>,
    /// Whether upstream supports upgrades of the runtime to the next minor release only.
    pub upgrades_by_minor_release: bool,
    /// Whether its runtime and its operator, with the CRDs, are released together under one version.
    pub is_released_with_runtime: bool,
    /// The shape of `spec.provider.overrides`.
    pub overrides: Shape,
    /// The section of a `Render` document with its settings, if it has any.
    pub section: Option<fn() -> SettingsSection>,
    /// The codes that only this provider reports.
    pub codes: &'static [&'static Code],
    /// The fields of the specification that it treats differently from
    /// [most providers](crate::support::default_rows).
    pub deviations: fn() -> Vec<FieldSupport>,
    /// The reactions of the upstream controller to changed fields.
    pub behaviors: &'static [Behavior],
    /// The kinds of its main objects, which can be imported. Its CRDs define them, or Kubernetes.
    pub kinds: &'static [ObjectKind],
    /// Further kinds of its stack that serve models, but that no ModelDeployment renders.
    pub unsupported_kinds: &'static [ObjectKind],
    /// The fields that the API server adds to its objects by CRD defaults.
    pub server_defaults: &'static [ServerDefault],
    /// The keys that identify the items of its lists, used where no CRD is at hand.
    pub list_keys: &'static [ListKeys],
}

impl ProviderInfo {
    /// Returns whether an object of this group and kind is one of the main objects.
    pub fn has_kind(&self, group: &str, kind: &str) -> bool {
        self.kinds.iter().any(|main| main.group == group && main.kind == kind)
    }

    /// Returns the runtime version whose facts are used for a version that a user names, and how they relate. `None` if
    /// the text is not a version such as `1.4.0` or `1.4.0-cuda13`, or the provider has no runtimes.
    ///
    /// ```
    /// use kubefoundry_provider::{Provider, RuntimeMatch};
    /// use kubefoundry_dynamo::Dynamo;
    /// let find = |version| Dynamo.info().find_runtime(version);
    /// assert_eq!(find("1.5.0-cuda13"), Some(("1.5.0", RuntimeMatch::Same)));
    /// assert_eq!(find("1.99.0"), Some(("1.6.1", RuntimeMatch::NearestOlder)));
    /// assert_eq!(find("0.7.1"), Some(("1.0.0", RuntimeMatch::Oldest)));
    /// assert_eq!(find("latest"), None);
    /// ```
    pub fn find_runtime(&self, version: &str) -> Option<(&'static str, RuntimeMatch)> {
        find_nearest(self.runtimes.iter().copied(), version)
    }

    /// Returns the CRD version to write for a runtime version, if neither the options nor CRDs of the cluster decide.
    ///
    /// ```
    /// use kubefoundry_provider::Provider;
    /// use kubefoundry_dynamo::Dynamo;
    /// assert_eq!(Dynamo.info().default_crd_version(Some("1.4.2")), Some("nvidia.com/v1alpha1"));
    /// assert_eq!(Dynamo.info().default_crd_version(Some("1.5.0")), Some("nvidia.com/v1beta1"));
    /// assert_eq!(Dynamo.info().default_crd_version(None), Some("nvidia.com/v1alpha1"));
    /// ```
    pub fn default_crd_version(&self, runtime: Option<&str>) -> Option<&'static str> {
        let runtime = runtime.or(self.runtimes.first().copied()).unwrap_or_default();
        let steps = self.crd_versions_by_runtime.iter().rev();
        // A step that is not newer than the runtime is the runtime itself, or its nearest older version.
        let reached = steps.copied().find(|(first, _)| {
            matches!(
                find_nearest([*first].into_iter(), runtime),
                Some((_, RuntimeMatch::Same | RuntimeMatch::NearestOlder))
            )
        });
        reached.map(|(_, crd_version)| crd_version).or_else(|| self.crd_versions.first().copied())
    }

    /// Returns the support for every field of the specification, in the order of [`support::default_rows`].
    pub fn field_support(&self) -> Vec<FieldSupport> {
        let deviations = (self.deviations)();
        let own_row = |row: FieldSupport| deviations.iter().find(|own| own.field == row.field).cloned().unwrap_or(row);
        support::default_rows().into_iter().map(own_row).collect()
    }
}

/// A kind of objects, which a CRD or Kubernetes itself defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectKind {
    /// The API group: `ray.io`.
    pub group: &'static str,
    /// The kind: `RayService`.
    pub kind: &'static str,
    /// The plural that RBAC rules use, `spec.names.plural` of a CRD: `rayservices`.
    pub plural: &'static str,
}

impl ObjectKind {
    /// Returns group and kind.
    pub const fn group_kind(&self) -> GroupKind {
        (self.group, self.kind)
    }

    /// Returns whether a CRD defines the kind, which has to be installed then.
    pub fn is_custom(&self) -> bool {
        !is_builtin_group(self.group)
    }
}

/// A field that the API server fills in by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerDefault {
    /// The kind of object. Empty for every kind.
    pub kind: &'static str,
    /// The end of the field's path: `numOfHosts`.
    pub path: &'static str,
    /// The default as JSON. Empty for any value.
    pub value: &'static str,
}

/// The keys that identify the items of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListKeys {
    /// The name of the list field: `workerGroupSpecs`.
    pub field: &'static str,
    /// The keys of an item that are unique together. If several rows name the field, the row whose first key occurs in
    /// the list is used.
    pub keys: &'static [&'static str],
}

/// Finds a provider by its name in `spec.provider.name`.
pub fn find_provider(providers: &[&'static dyn Provider], name: &str) -> Option<&'static dyn Provider> {
    providers.iter().copied().find(|provider| provider.name() == name)
}

/// A serving stack that this program renders.
pub trait Provider: Debug + Sync {
    /// Returns the constant facts of the provider.
    fn info(&self) -> &'static ProviderInfo;

    /// Returns [`ProviderInfo::name`].
    fn name(&self) -> &'static str {
        self.info().name
    }

    /// Returns [`ProviderInfo::display_name`].
    fn display_name(&self) -> &'static str {
        self.info().display_name
    }

    /// Returns whether an object is one of the provider's main objects, so that it is imported and its status read.
    ///
    /// By default, an object of [`ProviderInfo::kinds`] is, if a CRD defines the kind. Other programs write Deployments,
    /// too, so a provider with a kind of Kubernetes itself recognizes its own objects, for example by a label.
    fn owns(&self, object: &Value) -> bool {
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
        let kind = (group_of(text("apiVersion")), text("kind"));
        self.info().kinds.iter().any(|own| own.is_custom() && own.group_kind() == kind)
    }

    /// Returns the name that the provider itself gives the model in requests, if it does not leave it to the engine's
    /// flags. `object` is a main object.
    fn assigned_model_name(&self, _object: &Value) -> Option<String> {
        None
    }

    /// Translates a deployment into objects, the main object last. The deployment has already passed the check of the
    /// provider's capabilities. Returns `None` after reporting why it cannot be translated. The caller adds the namespace, the owner, and the labels and annotations that every object
    /// gets.
    fn translate(
        &self,
        deployment: &Deployment,
        context: &TranslationContext<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<Translation>;

    /// Returns the instance type of the nodes that upstream orders for a deployment, if the deployment names one.
    fn ordered_instance_type<'d>(&self, _deployment: &'d Deployment) -> Option<&'d str> {
        None
    }

    /// Returns the program that takes the engine's flags of a deployment, or `None` if the provider leaves the engine's
    /// settings to an image. Findings about the choice are those that [`Self::translate`] reports.
    fn launcher(
        &self,
        deployment: &Deployment,
        context: &TranslationContext<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<Launcher>;

    /// Returns the overrides that become parts of pods unread, so that the pipeline checks their structure.
    fn pod_parts(&self, _deployment: &Deployment) -> Vec<PodPart> {
        Vec::new()
    }

    /// Imports an object of one of [`ProviderInfo::kinds`], as far as a deployment can express it.
    ///
    /// # Errors
    /// Returns [`ImportRefusal`] if no deployment renders a similar object.
    fn import(&self, source: &ImportSource<'_>) -> Result<Draft, ImportRefusal>;

    /// Returns the label selector of the pods that count as replicas of a main object, for the scale subresource. Returns
    /// `None` where no labels select them, or where the number of replicas has no meaning, as in disaggregated mode.
    ///
    /// ```
    /// use kubefoundry_composition::BUILTIN;
    /// use serde_json::json;
    /// let kaito = BUILTIN.find_provider("kaito").unwrap();
    /// let workspace = json!({"apiVersion": "kaito.sh/v1beta1", "kind": "Workspace", "metadata": {"name": "phi"}});
    /// let selector = kaito.replica_selector(&workspace).unwrap();
    /// assert_eq!(selector, "kaito.sh/workspace=phi,apps.kubernetes.io/pod-index=0");
    /// ```
    fn replica_selector(&self, _object: &Value) -> Option<String> {
        None
    }

    /// Splits an object that serves several models into objects that serve one each, with names of their own. Returns none
    /// if the object serves one model, or cannot be split.
    fn split(&self, _object: &Value) -> Vec<Value> {
        Vec::new()
    }

    /// Brings an object into one of the forms that upstream treats alike, before it is compared with another one.
    fn unify(&self, _object: &mut Value) {}

    /// Adds to a draft what shows only when its rendering is compared with the object. Returns whether the draft has
    /// changed, so that a rendering of it has fewer differences.
    fn refine(&self, _refinement: &Refinement<'_>, _draft: &mut Draft) -> bool {
        false
    }

    /// Returns the fields that a first deployment needs besides its model, engine and GPUs.
    ///
    /// ```
    /// use kubefoundry_composition::BUILTIN;
    /// use kubefoundry_provider::starter::StarterRequest;
    /// use kubefoundry_deployment::wire::EngineType;
    /// let request = StarterRequest { engine: EngineType::Llamacpp, gpus: 0 };
    /// let kaito = BUILTIN.find_provider("kaito").unwrap().starter(request);
    /// assert_eq!(kaito.deployment[0].path.to_string(), "spec.image");
    /// assert!(BUILTIN.find_provider("dynamo").unwrap().starter(request).deployment.is_empty());
    /// ```
    fn starter(&self, _request: StarterRequest) -> Starter {
        Starter::default()
    }

    /// Returns the Hugging Face id of a model for which this provider, and no other, has a name of its own.
    ///
    /// ```
    /// use kubefoundry_composition::BUILTIN;
    /// let kaito = BUILTIN.find_provider("kaito").unwrap();
    /// assert_eq!(kaito.resolve_model_alias("phi-4"), Some("microsoft/phi-4"));
    /// assert_eq!(kaito.resolve_model_alias("microsoft/phi-4"), None);
    /// ```
    fn resolve_model_alias(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// Translates the status of a main object, as the API server returns it, to the unified status (MD-7.2, as
    /// corrected in docs/deviations.md). An unknown state results in no phase, and the status quotes it.
    ///
    /// ```
    /// use kubefoundry_composition::BUILTIN;
    /// use kubefoundry_deployment::wire::Phase;
    /// use serde_json::json;
    /// let kaito = BUILTIN.find_provider("kaito").unwrap();
    /// let workspace = |state: &str| json!({
    ///     "apiVersion": "kaito.sh/v1beta1", "kind": "Workspace", "metadata": {"name": "phi"}, "status": {"state": state},
    /// });
    /// let status = kaito.translate_status(&workspace("Ready")).unwrap();
    /// assert_eq!(status.phase, Some(Phase::Running));
    /// assert_eq!(status.endpoint.unwrap().service, "phi");
    /// let status = kaito.translate_status(&workspace("Dreaming")).unwrap();
    /// assert_eq!(status.phase, None);
    /// assert_eq!(status.unrecognized[0].value, "Dreaming");
    /// ```
    ///
    /// # Errors
    /// Returns [`StatusError`] if the object is not a main object of this provider, or if its version is unknown.
    fn translate_status(&self, observed: &serde_json::Value) -> Result<Status, StatusError>;
}

/// The inputs of a translation besides the deployment.
#[derive(Debug, Clone, Copy)]
pub struct TranslationContext<'c> {
    /// The CRD version to write, one of [`ProviderInfo::crd_versions`].
    pub crd_version: &'c str,
    /// The runtime version as the options write it, or the first of [`ProviderInfo::runtimes`]. It may have a suffix, and
    /// may be newer than the known ones. Empty if the provider has none.
    pub runtime: &'c str,
    /// Whether the options pin the runtime version. An unpinned default image draws an info.
    pub runtime_pinned: bool,
    /// Image prefixes with their replacements.
    pub images: &'c [(String, String)],
    /// The settings of providers and transformations.
    pub settings: &'c AllSettings,
    /// The CRDs that are installed in the cluster, if known.
    pub schemas: Option<&'c dyn InstalledSchemas>,
}

impl TranslationContext<'_> {
    /// Returns whether the schema of a kind in [`Self::crd_version`] has a field, or `None` if the installed CRDs are
    /// unknown. `*` in the path stands for any key of a map and any item of a list.
    pub fn schema_has(&self, kind: &str, path: &str) -> Option<bool> {
        self.schemas.and_then(|schemas| schemas.has_field(self.crd_version, kind, path))
    }

    /// Replaces the longest matching prefix of an image. A prefix matches whole path components.
    ///
    /// ```
    /// use kubefoundry_provider::TranslationContext;
    /// use kubefoundry_transform::AllSettings;
    /// let images = vec![("nvcr.io".to_owned(), "mirror.example.com/nvcr".to_owned())];
    /// let context = TranslationContext {
    ///     crd_version: "nvidia.com/v1alpha1", runtime: "1.4.0", runtime_pinned: true, images: &images,
    ///     settings: &AllSettings::default(), schemas: None,
    /// };
    /// assert_eq!(context.image("nvcr.io/nvidia/x:1"), "mirror.example.com/nvcr/nvidia/x:1");
    /// assert_eq!(context.image("nvcr.iofake/x:1"), "nvcr.iofake/x:1");
    /// ```
    pub fn image(&self, image: &str) -> String {
        kubefoundry_kubernetes::image::apply_mirrors(self.images, image)
    }
}

/// The objects of one deployment.
#[derive(Debug, Clone)]
pub struct Translation {
    /// The objects in the order in which they must be applied. The main object is the last one.
    pub manifests: Vec<Manifest>,
    /// The Service that answers requests once the model runs. `None` if nothing that is rendered answers them.
    pub endpoint: Option<Endpoint>,
    /// What a Gateway can send requests to.
    pub gateway_backend: GatewayBackend,
}

/// What a Gateway sends the requests for a model to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GatewayBackend {
    /// Pods. An InferencePool of them has to be rendered.
    Pods {
        /// The labels by which upstream, or the pod template, tells the serving pods of the deployment from all others.
        labels: StringMap,
        /// The port on which each of them serves.
        port: u16,
    },
    /// An InferencePool that the upstream controller creates.
    UpstreamPool {
        /// Its name.
        name: String,
        /// Who creates it, and when: the end of the sentence `spec.gateway is not rendered: `.
        why: &'static str,
    },
}

/// The reaction of the upstream controller to a change of one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behavior {
    /// The kind of the rendered object: `Workspace`.
    pub kind: &'static str,
    /// The path of the field, with `*` for any key or index: `resource.labelSelector`. The row also covers the fields
    /// below it, unless a longer path does.
    pub path: &'static str,
    /// What the controller does.
    pub reaction: Reaction,
    /// The upstream file, issue or document that says so.
    pub source: &'static str,
}

impl Behavior {
    /// Finds the row for a field of an object: the one with the longest path that covers the field.
    ///
    /// ```
    /// use kubefoundry_provider::{Behavior, Reaction};
    /// use kubefoundry_yaml::field_path::FieldPath;
    /// let rows = [
    ///     Behavior { kind: "K", path: "spec", reaction: Reaction::Refused, source: "" },
    ///     Behavior { kind: "K", path: "spec.*.replicas", reaction: Reaction::InPlace, source: "" },
    /// ];
    /// let reaction = |path: FieldPath| Behavior::find(&rows, "K", &path).map(|row| row.reaction);
    /// let spec = FieldPath::parse("spec");
    /// assert_eq!(reaction(spec.index(0).key("replicas")), Some(Reaction::InPlace));
    /// assert_eq!(reaction(spec.key("a").key("replicas").key("b")), Some(Reaction::InPlace));
    /// assert_eq!(reaction(spec.key("a")), Some(Reaction::Refused));
    /// assert_eq!(reaction(FieldPath::parse("status")), None);
    /// assert_eq!(Behavior::find(&rows, "Other", &spec), None);
    /// ```
    pub fn find<'b>(behaviors: &'b [Self], kind: &str, path: &FieldPath) -> Option<&'b Self> {
        let matching = behaviors.iter().filter(|row| row.kind == kind && row.covers(path));
        matching.max_by_key(|row| row.path.split('.').count())
    }

    /// Returns whether a field is at or below the path of the row.
    fn covers(&self, path: &FieldPath) -> bool {
        let mut segments = path.segments().iter();
        self.path.split('.').all(|step| match segments.next() {
            Some(_) if step == "*" => true,
            Some(Segment::Key(key)) => key == step,
            _ => false,
        })
    }
}

/// The effect of a change on what runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reaction {
    /// Stored. Nothing that runs depends on it.
    None,
    /// Applied without a restart.
    InPlace,
    /// A quantity that can grow without a restart. A smaller value is rejected.
    Grows,
    /// Pods are replaced one after another.
    RollingRestart,
    /// A second cluster starts and replaces the first.
    BlueGreen,
    /// Accepted without effect.
    NoEffect,
    /// Rejected by a webhook or a CRD validation rule.
    Refused,
}
