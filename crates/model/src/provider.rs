//! What a provider is. A provider is one folder under `providers/` and one line in [`super::providers::PROVIDERS`].

use serde::Serialize;

use super::draft::{Draft, NotImportable, Subject};
use super::ir::Deployment;
pub use super::status::{Status, StatusError};
use super::support::FieldSupport;
use kubefoundry_diagnostics::{Code, Findings};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::wire::Shape;
use kubefoundry_transform::{AllSettings, Endpoint, InstalledSchemas, Section};
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// A serving stack that deployments are translated for.
pub trait Provider: Sync {
    /// Its name, as in `spec.provider.name`: `kaito`.
    fn name(&self) -> &'static str;

    /// Its name in messages: `KAITO`.
    fn display_name(&self) -> &'static str;

    /// Its `InferenceProviderConfig` as YAML: the same object a third party writes.
    fn config(&self) -> &'static str;

    /// Its documentation.
    fn readme(&self) -> &'static str;

    /// The CRD versions it can write, as `group/version`, the default first.
    fn targets(&self) -> &'static [&'static str];

    /// The runtime versions whose flags it knows, the default first; none when it brings no image of its own.
    fn runtimes(&self) -> &'static [&'static str];

    /// What its overrides look like: the keys of `spec.provider.overrides`.
    fn overrides(&self) -> Shape;

    /// The section of a `Render` document that its settings are read from, if it has any.
    fn section(&self) -> Option<Section> {
        None
    }

    /// The diagnostic codes that only it uses.
    fn codes(&self) -> &'static [&'static Code];

    /// What becomes of every field of the specification.
    fn field_support(&self) -> &'static [FieldSupport];

    /// What the upstream controller does when an output field changes.
    fn behaviors(&self) -> &'static [Behavior];

    /// Turns a deployment that its capabilities admit into its objects, main object last. `None` means that findings
    /// say why not. Labels, annotations, namespace and owner that every object gets are added by the caller.
    fn translate(
        &self,
        deployment: &Deployment,
        context: &Context<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<Translation>;

    /// The kinds of its objects that a deployment can be read back from, as group and kind.
    fn imports(&self) -> &'static [(&'static str, &'static str)];

    /// Reads an object of one of [`Provider::imports`] back, as far as a deployment can say what it says.
    ///
    /// # Errors
    /// [`NotImportable`] when no deployment becomes anything like it.
    fn import(&self, subject: &Subject<'_>) -> Result<Draft, NotImportable>;

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
pub struct Context<'c> {
    /// The CRD version to write, one of [`Provider::targets`].
    pub target: &'c str,
    /// The runtime version, one of [`Provider::runtimes`]; empty when the provider has none.
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

impl Context<'_> {
    /// Whether the schema of a kind of the target has a field, when that is known; `*` in the path stands for any key of a
    /// map and any item of a list.
    pub fn schema_has(&self, kind: &str, path: &str) -> Option<bool> {
        self.schemas.and_then(|schemas| schemas.has_field(self.target, kind, path))
    }

    /// An image with the longest matching prefix replaced. A prefix matches whole path components.
    ///
    /// ```
    /// use kubefoundry_model::provider::Context;
    /// use kubefoundry_transform::AllSettings;
    /// let images = vec![("nvcr.io".to_owned(), "mirror.example.com/nvcr".to_owned())];
    /// let context = Context {
    ///     target: "nvidia.com/v1alpha1", runtime: "1.4.0", runtime_pinned: true, images: &images,
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
    /// let reaction = |path: FieldPath| Behavior::of(&rows, "K", &path).map(|row| row.reaction);
    /// let spec = FieldPath::parse("spec");
    /// assert_eq!(reaction(spec.index(0).key("replicas")), Some(Reaction::InPlace));
    /// assert_eq!(reaction(spec.key("a").key("replicas").key("b")), Some(Reaction::InPlace));
    /// assert_eq!(reaction(spec.key("a")), Some(Reaction::Refused));
    /// assert_eq!(reaction(FieldPath::parse("status")), None);
    /// assert_eq!(Behavior::of(&rows, "Other", &spec), None);
    /// ```
    pub fn of<'b>(behaviors: &'b [Self], kind: &str, path: &FieldPath) -> Option<&'b Self> {
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
