//! What a provider is. A provider is one folder under `providers/` and one line in [`super::providers::PROVIDERS`].

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

/// What is constant about a provider.
#[derive(Debug)]
pub struct ProviderInfo {
    /// Its name, as in `spec.provider.name`, and that of its folder: `kaito`.
    pub name: &'static str,
    /// Its name in messages: `KAITO`.
    pub display_name: &'static str,
    /// Its `InferenceProviderConfig` as YAML: the same object a third party writes.
    pub config: &'static str,
    /// Its documentation.
    pub readme: &'static str,
    /// The CRD versions it can write, as `group/version`, the default first.
    pub crd_versions: &'static [&'static str],
    /// The runtime versions whose flags it knows, the default first; none when it brings no image of its own.
    pub runtimes: &'static [&'static str],
    /// Whether a runtime version is also the release of its operator, whose CRDs its objects are for.
    pub is_released_with_runtime: bool,
    /// What its overrides look like: the keys of `spec.provider.overrides`.
    pub overrides: Shape,
    /// The section of a `Render` document that its settings are read from, if it has any.
    pub section: Option<fn() -> SettingsSection>,
    /// The diagnostic codes that only it uses.
    pub codes: &'static [&'static Code],
    /// What becomes of those fields of the specification that it treats otherwise than
    /// [most providers](super::support::default_rows).
    pub deviations: fn() -> Vec<FieldSupport>,
    /// What the upstream controller does when an output field changes.
    pub behaviors: &'static [Behavior],
    /// The kinds of its main objects: those that its CRDs define, and that a deployment can be read back from.
    pub kinds: &'static [CustomKind],
    /// What the apiserver adds to its objects by the defaults of their CRDs.
    pub server_defaults: &'static [ServerDefault],
    /// How the items of lists in its objects are told apart where no CRD is at hand to say so.
    pub list_keys: &'static [ListKeys],
}

impl ProviderInfo {
    /// Whether an object of this group and kind is one of its main objects.
    pub fn has_kind(&self, group: &str, kind: &str) -> bool {
        self.kinds.iter().any(|own| own.group == group && own.kind == kind)
    }

    /// What becomes of every field of the specification, in the order of [`support::default_rows`].
    pub fn field_support(&self) -> Vec<FieldSupport> {
        let deviations = (self.deviations)();
        let of = |row: FieldSupport| deviations.iter().find(|own| own.field == row.field).cloned().unwrap_or(row);
        support::default_rows().into_iter().map(of).collect()
    }
}

/// A kind that a CRD defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CustomKind {
    /// The API group: `ray.io`.
    pub group: &'static str,
    /// The kind: `RayService`.
    pub kind: &'static str,
    /// `spec.names.plural` of the CRD, by which RBAC knows the kind: `rayservices`.
    pub plural: &'static str,
}

/// A field that the apiserver fills in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerDefault {
    /// The kind of object; empty for every kind.
    pub kind: &'static str,
    /// The end of the field's path: `numOfHosts`.
    pub path: &'static str,
    /// Its value as JSON; empty for any value.
    pub value: &'static str,
}

/// How the items of a list are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListKeys {
    /// The name of the field that is the list: `workerGroupSpecs`.
    pub field: &'static str,
    /// The keys of an item that together are unique. Of several rows for one field that one is used whose first key
    /// occurs in the list.
    pub keys: &'static [&'static str],
}

/// A serving stack that deployments are translated for.
pub trait Provider: Sync {
    /// What is constant about it.
    fn info(&self) -> &'static ProviderInfo;

    /// [`ProviderInfo::name`].
    fn name(&self) -> &'static str {
        self.info().name
    }

    /// [`ProviderInfo::display_name`].
    fn display_name(&self) -> &'static str {
        self.info().display_name
    }

    /// Turns a deployment that its capabilities admit into its objects, main object last. `None` means that findings
    /// say why not. Labels, annotations, namespace and owner that every object gets are added by the caller.
    fn translate(
        &self,
        deployment: &Deployment,
        context: &TranslationContext<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<Translation>;

    /// Reads an object of one of [`ProviderInfo::kinds`] back, as far as a deployment can say what it says.
    ///
    /// # Errors
    /// [`ImportRefusal`] when no deployment becomes anything like it.
    fn import(&self, source: &ImportSource<'_>) -> Result<Draft, ImportRefusal>;

    /// Reads the state of its main object, as the apiserver gives it, into the unified status (MD-7.2, as
    /// docs/deviations.md corrects it). A state that is not known here gives no phase, and the word as it stands.
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
    /// [`StatusError`] when the object is none of this provider's main objects, or of a version that is not known.
    fn translate_status(&self, observed: &serde_json::Value) -> Result<Status, StatusError>;
}

/// What a translation is made with besides the deployment.
#[derive(Debug, Clone, Copy)]
pub struct TranslationContext<'c> {
    /// The CRD version to write, one of [`ProviderInfo::crd_versions`].
    pub crd_version: &'c str,
    /// The runtime version, one of [`ProviderInfo::runtimes`]; empty when the provider has none.
    pub runtime: &'c str,
    /// Whether the runtime version was pinned by options; an unpinned default image is worth an info.
    pub runtime_pinned: bool,
    /// Image prefixes and their replacements.
    pub images: &'c [(String, String)],
    /// The settings of providers and transformations.
    pub settings: &'c AllSettings,
    /// What is installed in the cluster, when that is known.
    pub schemas: Option<&'c dyn InstalledSchemas>,
}

impl TranslationContext<'_> {
    /// Whether the schema of a kind of the crd_version has a field, when that is known; `*` in the path stands for any key of a
    /// map and any item of a list.
    pub fn schema_has(&self, kind: &str, path: &str) -> Option<bool> {
        self.schemas.and_then(|schemas| schemas.has_field(self.crd_version, kind, path))
    }

    /// An image with the longest matching prefix replaced. A prefix matches whole path components.
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
        kubefoundry_kubernetes::image::mirrored(self.images, image)
    }
}

/// The objects of one deployment.
#[derive(Debug, Clone)]
pub struct Translation {
    /// In the order in which they are applied; the main object last.
    pub manifests: Vec<Manifest>,
    /// Where the model answers once it runs.
    pub endpoint: Endpoint,
}

/// What the upstream controller does when one of its fields changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behavior {
    /// Kind and path in the output, `*` for any key or index: `Workspace`, `resource.labelSelector`.
    pub kind: &'static str,
    /// The path; everything below it behaves the same unless a longer row says otherwise.
    pub path: &'static str,
    /// What happens.
    pub reaction: Reaction,
    /// How that is known.
    pub source: &'static str,
}

impl Behavior {
    /// The row that says most about a field of an object: the longest path that the field is at or below.
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
        let of_kind = behaviors.iter().filter(|row| row.kind == kind && row.covers(path));
        of_kind.max_by_key(|row| row.path.split('.').count())
    }

    /// Whether a field is at or below the path of the row.
    fn covers(&self, path: &FieldPath) -> bool {
        let mut segments = path.segments().iter();
        self.path.split('.').all(|step| match segments.next() {
            Some(_) if step == "*" => true,
            Some(Segment::Key(key)) => key == step,
            _ => false,
        })
    }
}

/// What happens on a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reaction {
    /// Stored, and nothing that runs depends on it.
    None,
    /// Applied to what runs.
    InPlace,
    /// A quantity: applied to what runs when it grows, rejected when it shrinks.
    Grows,
    /// Pods are replaced one after the other.
    RollingRestart,
    /// A second cluster is started beside the first.
    BlueGreen,
    /// Accepted, and without effect.
    NoEffect,
    /// Rejected by a webhook or a CEL rule.
    Refused,
}
