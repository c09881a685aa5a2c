//! What a run gives to every transformation beside the objects.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Debug;

use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_yaml::field_path::FieldPath;

use crate::{AllSettings, PriorChoice};

/// A kind as group and kind.
pub type GroupKind = (&'static str, &'static str);

/// How thorough a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Thoroughness {
    /// Rules are evaluated where they decide something.
    #[default]
    Needed,
    /// Every rule is evaluated for every deployment, so that every mistake in one is found (`lint`).
    EveryRule,
    /// The same, and everything that was decided is kept: candidates, their rules, every field (`explain`).
    Everything,
}

/// What a run was given: options, configurations, the schemas that are installed.
#[derive(Debug, Clone, Copy)]
pub struct RunContext<'r> {
    /// Image prefixes and their replacements.
    pub images: &'r [(String, String)],
    /// Provider to the CRD version that the options ask for.
    pub crd_versions: &'r BTreeMap<String, String>,
    /// Whether a dump of CRDs chooses the version where the options name none.
    pub schemas_choose_crd_version: bool,
    /// Provider to runtime version.
    pub runtimes: &'r BTreeMap<String, String>,
    /// Whether generated objects get an ownerReference.
    pub owner_references: bool,
    /// The settings of providers and transformations.
    pub settings: &'r AllSettings,
    /// What was read from configurations of the input; the transformation that they configure knows its type.
    pub configuration: &'r dyn Configuration,
    /// What is installed in the cluster, when that is known.
    pub schemas: Option<&'r dyn InstalledSchemas>,
    /// Whether objects of a kind, by group and kind, become what [`ObjectSet::generated`](crate::ObjectSet::generated) holds.
    pub generates: fn(&str, &str) -> bool,
    /// How thorough the run is.
    pub thoroughness: Thoroughness,
    /// An earlier choice of a provider, which is kept unless the object names one.
    pub chosen: Option<&'r PriorChoice>,
}

/// What the documents that configure a transformation say, read one after the other. As [`Any`] it is of the type that the
/// transformation knows.
pub trait Configuration: Any + Debug + Send + Sync {
    /// Reads the configuration at a path of the document that `findings` look at.
    fn read(&mut self, at: &FieldPath, findings: &mut Findings<'_>);
}

/// What is known of the schemas that a cluster serves.
pub trait InstalledSchemas: Debug + Sync {
    /// Whether the schema of a kind has a field; nothing when the schema is not known. In the path, `*` stands for any key
    /// of a map and any item of a list.
    fn has_field(&self, api_version: &str, kind: &str, path: &str) -> Option<bool>;

    /// Whether one of these kinds is served in a version, given as `group/version`.
    fn serves(&self, kinds: &[GroupKind], api_version: &str) -> bool;

    /// Checks a generated object. Findings name what its schema refuses, and why the schema cannot be used.
    fn check(&self, manifest: &Manifest, findings: &mut Findings<'_>) -> SchemaCheck;

    /// Reports at `place` that none of these kinds is installed as `expected`, with what is installed of them; or why that
    /// cannot be told.
    fn report_missing(
        &self,
        kinds: &[GroupKind],
        expected: &str,
        place: &FieldPath,
        message: &str,
        findings: &mut Findings<'_>,
    );
}

/// What checking an object against the schema of its kind came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaCheck {
    /// It was checked against the schema with this fingerprint.
    Checked(String),
    /// The schema cannot be used; a finding says why.
    Unusable,
    /// Its kind is not installed.
    NotInstalled,
}
