//! The settings and schemas of a run, which every transformation receives with the objects.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Debug;

use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::cluster_node::ClusterNode;
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_yaml::field_path::FieldPath;
use serde_json::Value;

use crate::{AllSettings, AnyTransform, PatchedObject, PriorChoice};

/// An API group and a kind: `("ray.io", "RayService")`.
pub type GroupKind = (&'static str, &'static str);

/// How much a run evaluates and records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Thoroughness {
    /// Selection rules are evaluated only where they decide something.
    #[default]
    Needed,
    /// Every selection rule is evaluated for every deployment, so that every mistake in a rule is found (`lint`).
    EveryRule,
    /// Like [`EveryRule`](Self::EveryRule), and every decision is recorded: candidates, their rules, every field
    /// (`explain`).
    Everything,
}

/// The inputs of a run apart from the objects: options, configurations, installed schemas.
#[derive(Debug, Clone, Copy)]
pub struct RunContext<'r> {
    /// Image prefixes and their replacements (option `images`).
    pub images: &'r [(String, String)],
    /// The CRD version of each provider that the options set.
    pub crd_versions: &'r BTreeMap<String, String>,
    /// Whether the installed schemas choose the CRD version if the options set none.
    pub schemas_choose_crd_version: bool,
    /// The runtime version of each provider that the options set.
    pub runtimes: &'r BTreeMap<String, String>,
    /// Whether generated objects get an ownerReference.
    pub owner_references: bool,
    /// The settings of all providers and transformations.
    pub settings: &'r AllSettings,
    /// The configurations in the input. Only the transformation that they configure knows the concrete type.
    pub configuration: &'r dyn Configuration,
    /// The schemas installed in the cluster, if they are known.
    pub schemas: Option<&'r dyn InstalledSchemas>,
    /// The nodes of the cluster, if they are known.
    pub nodes: Option<&'r [ClusterNode]>,
    /// Every transformation of the program.
    pub transforms: &'static [&'static dyn AnyTransform],
    /// How much the run evaluates and records.
    pub thoroughness: Thoroughness,
    /// The provider selected earlier, which is kept unless the object names one.
    pub chosen: Option<&'r PriorChoice>,
}

impl RunContext<'_> {
    /// Returns whether objects of a kind are transformed into the objects in
    /// [`ObjectSet::generated`](crate::ObjectSet::generated).
    pub fn generates(&self, group: &str, kind: &str) -> bool {
        let of_kind = |transform: &&&dyn AnyTransform| transform.kind().1 == kind && transform.has_group(group);
        self.transforms.iter().find(of_kind).is_some_and(|transform| !transform.needs_set())
    }
}

/// The accumulated content of the documents that configure a transformation. The transformation downcasts it to its own
/// type through [`Any`].
pub trait Configuration: Any + Debug + Send + Sync {
    /// Reads the configuration at a path of the document in the scope of `findings`, in addition to earlier ones.
    fn read(&mut self, at: &FieldPath, findings: &mut Findings<'_>);

    /// Returns whether a decision can spend steps of the budget that all objects of a run share. If so, objects are
    /// transformed in their order.
    fn spends_steps(&self) -> bool;
}

/// The schemas that a cluster serves.
pub trait InstalledSchemas: Debug + Sync {
    /// Returns whether the schema of a kind has a field; `None` if the schema is not known. In the path, `*` stands for
    /// any key of a map and any item of a list.
    fn has_field(&self, api_version: &str, kind: &str, path: &str) -> Option<bool>;

    /// Returns whether the schema of a kind requires a field in the object above it; `None` as in [`Self::has_field`].
    fn requires_field(&self, api_version: &str, kind: &str, path: &str) -> Option<bool>;

    /// Returns whether the cluster serves one of these kinds in a version, given as `group/version`.
    fn serves(&self, kinds: &[GroupKind], api_version: &str) -> bool;

    /// Returns the version, as `group/version`, in which the cluster stores the first of these kinds, if it serves that
    /// version and does not deprecate it.
    fn stored_version(&self, kinds: &[GroupKind]) -> Option<String>;

    /// Returns how the schema of a kind declares the list at a path; `None` if the schema or the declaration is absent.
    fn list_type(&self, api_version: &str, kind: &str, path: &FieldPath) -> Option<ListType>;

    /// Checks a generated object and reports what its schema refuses, or why the schema cannot be used. What only a
    /// patch of the object violates is reported at the patch.
    fn check(&self, manifest: &Manifest, patched: Option<&PatchedObject>, findings: &mut Findings<'_>) -> SchemaCheck;

    /// Reports at `place` that none of these kinds is installed in the version `expected`, and which versions are
    /// installed, or why that is not known.
    fn report_missing(
        &self,
        kinds: &[GroupKind],
        expected: &str,
        place: &FieldPath,
        message: &str,
        findings: &mut Findings<'_>,
    );
}

/// How a schema declares a list (`x-kubernetes-list-type`).
#[derive(Debug, Clone, PartialEq)]
pub enum ListType {
    /// One value, which is replaced as a whole.
    Atomic,
    /// Unique scalars, to which several writers add.
    Set,
    /// Items that are identified by these fields. A field may have a default.
    Map(Vec<(String, Option<Value>)>),
}

/// The outcome of checking an object against the schema of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaCheck {
    /// The object was checked against the schema with this fingerprint.
    Checked(String),
    /// The schema cannot be used; a finding gives the reason.
    Unusable,
    /// The kind of the object is not installed.
    NotInstalled,
}
