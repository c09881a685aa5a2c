//! The interface of providers. A provider is a folder under `providers/` and a line in [`super::providers::PROVIDERS`].

use serde::Serialize;

use super::draft::{Draft, ImportRefusal, ImportSource};
use super::ir::Deployment;
pub use super::status::{Status, StatusError};
use super::support::{self, FieldSupport};
use kubefoundry_diagnostics::{Code, Findings};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::wire::Shape;
use kubefoundry_transform::{AllSettings, Endpoint, InstalledSchemas, SettingsSection};
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
    /// The CRD versions that it can write, as `group/version`, the default first.
    pub crd_versions: &'static [&'static str],
    /// The runtime versions whose flags it knows, the default first. Empty if it has no default image.
    pub runtimes: &'static [&'static str],
    /// Whether its runtime and its operator, with the CRDs, are released together under one version.
    pub is_released_with_runtime: bool,
    /// The shape of `spec.provider.overrides`.
    pub overrides: Shape,
    /// The section of a `Render` document with its settings, if it has any.
    pub section: Option<fn() -> SettingsSection>,
    /// The codes that only this provider reports.
    pub codes: &'static [&'static Code],
    /// The fields of the specification that it treats differently from
    /// [most providers](super::support::default_rows).
    pub deviations: fn() -> Vec<FieldSupport>,
    /// The reactions of the upstream controller to changed fields.
    pub behaviors: &'static [Behavior],
    /// The kinds of its main objects, which its CRDs define and which can be imported.
    pub kinds: &'static [CustomKind],
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

    /// Returns the support for every field of the specification, in the order of [`support::default_rows`].
    pub fn field_support(&self) -> Vec<FieldSupport> {
        let deviations = (self.deviations)();
        let own_row = |row: FieldSupport| deviations.iter().find(|own| own.field == row.field).cloned().unwrap_or(row);
        support::default_rows().into_iter().map(own_row).collect()
    }
}

/// A kind that a CRD defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CustomKind {
    /// The API group: `ray.io`.
    pub group: &'static str,
    /// The kind: `RayService`.
    pub kind: &'static str,
    /// `spec.names.plural` of the CRD, which RBAC rules use: `rayservices`.
    pub plural: &'static str,
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

/// A serving stack that this program renders.
pub trait Provider: Sync {
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

    /// Translates a deployment into objects, the main object last. The deployment has already passed the check of the
    /// provider's capabilities. Returns `None` after reporting why it cannot be translated. The caller adds the namespace, the owner, and the labels and annotations that every object
    /// gets.
    fn translate(
        &self,
        deployment: &Deployment,
        context: &TranslationContext<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<Translation>;

    /// Imports an object of one of [`ProviderInfo::kinds`], as far as a deployment can express it.
    ///
    /// # Errors
    /// Returns [`ImportRefusal`] if no deployment renders a similar object.
    fn import(&self, source: &ImportSource<'_>) -> Result<Draft, ImportRefusal>;

    /// Translates the status of a main object, as the API server returns it, to the unified status (MD-7.2, as
    /// corrected in docs/deviations.md). An unknown state results in no phase, and the status quotes it.
    ///
    /// ```
    /// use kubefoundry_model::providers;
    /// use kubefoundry_model::wire::Phase;
    /// use serde_json::json;
    /// let kaito = providers::find("kaito").unwrap();
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
    /// The runtime version, one of [`ProviderInfo::runtimes`]. Empty if the provider has none.
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
    /// use kubefoundry_model::provider::TranslationContext;
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
    /// The Service that answers requests once the model runs.
    pub endpoint: Endpoint,
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
    /// use kubefoundry_model::provider::{Behavior, Reaction};
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
