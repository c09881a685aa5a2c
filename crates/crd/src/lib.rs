//! Upstream conformance: what a dump of CRDs says of the objects that are rendered.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.
//!
//! A dump is any text with CustomResourceDefinitions: files of upstream, `kubectl get crd -o yaml` or `-o json`. Of it
//! only what an output needs is read, and that once: [`Crds::read`] looks for text, a CRD is parsed when its kind is
//! asked for, and a schema is built when an object of its version is checked.
//!
//! An object is checked as the apiserver would on creation, strictly: a field that the schema does not have is an error,
//! where the apiserver drops it. Its steps, in its order: defaults, the schema, lists and embedded objects, metadata,
//! and then the rules of the CRD (by `cel` and the functions of `kube-cel`).

pub mod codes;
mod defaults;
mod definition;
#[cfg(test)]
mod differential;
mod dump_splitter;
mod format;
mod kind_candidates;
mod list_types;
mod metadata;
mod number;
mod pattern;
mod references;
mod schema;
mod structural;
mod validation_rules;
mod violation;
mod walk_path;
mod well_formed;

use std::borrow::Cow;

use serde_json::Value;

pub use definition::{CrdDefinition, CrdVersion};
use kind_candidates::KindCandidates;
pub use references::ReferenceResolver;
use references::Resolver;
pub use schema::CrdSchema;

use kubefoundry_diagnostics::source::{EncodingError, Purpose, Source, SourceId, SourceSet};
use kubefoundry_diagnostics::{Code, Diagnostic, Location};
use kubefoundry_yaml::Span;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// A dump of CRDs: what is installed in a cluster.
///
/// ```
/// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
/// use kubefoundry_crd::Crds;
/// let mut sources = SourceSet::default();
/// sources.add_for(Purpose::Crds, "crds.yaml", "
/// apiVersion: apiextensions.k8s.io/v1
/// kind: CustomResourceDefinition
/// metadata: {name: rayservices.ray.io}
/// spec:
///   group: ray.io
///   names: {kind: RayService}
///   versions:
///   - {name: v1alpha1, served: false, schema: {openAPIV3Schema: {type: object}}}
///   - {name: v1, served: true, schema: {openAPIV3Schema: {type: object}}}
/// ");
/// let (crds, problems) = Crds::from_sources(&sources, [("ray.io", "RayService")]);
/// assert!(problems.is_empty());
/// let definition = crds.find("ray.io", "RayService").unwrap().unwrap();
/// assert_eq!(definition.served_versions().collect::<Vec<_>>(), ["v1"]);
/// assert!(crds.find("kaito.sh", "Workspace").unwrap().is_none());
/// ```
#[derive(Debug)]
pub struct Crds<'t> {
    kinds: Vec<KindCandidates<'t>>,
}

/// An API group and a kind: `("ray.io", "RayService")`.
pub type GroupKind = (&'static str, &'static str);

/// A version of a kind that is installed in a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InstalledVersion {
    /// Its API group.
    pub group: String,
    /// Its version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// Its schema by its content: the same schema has the same fingerprint, however it is written and described.
    pub fingerprint: String,
}

/// Where in the dump something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrdOrigin {
    /// None of a CRD that was handed in as JSON.
    pub(crate) source: Option<SourceId>,
    pub(crate) file: String,
    pub(crate) span: Span,
}

/// What is wrong with a dump.
#[derive(Debug, Clone)]
pub struct CrdProblem {
    code: &'static Code,
    origin: CrdOrigin,
    message: String,
}

impl CrdProblem {
    fn new(code: &'static Code, origin: &CrdOrigin, message: impl Into<String>) -> Self {
        Self { code, origin: origin.clone(), message: message.into() }
    }

    /// As a finding, at its place in the dump.
    pub fn diagnostic(&self) -> Diagnostic {
        let CrdOrigin { source, span, .. } = self.origin;
        let mut diagnostic = Diagnostic::new(self.code, self.message.clone());
        diagnostic.location = source.map(|source| Location::new(source, 0, span, FieldPath::root()));
        diagnostic.help("pass the output of kubectl get crd -o yaml, or the files that upstream publishes".to_owned())
    }
}

/// What a schema has against an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaViolation {
    /// What kind of violation it is.
    pub code: &'static Code,
    /// The field of the object.
    pub path: FieldPath,
    /// What was found and what is expected; empty for a field that does not exist.
    pub message: String,
    /// What to do about it, when the schema tells.
    pub help: Option<String>,
    /// The text that is there, by which the field of the input that it comes from may be found.
    pub value: Option<String>,
    /// Whether the value has another type than the schema says, and is not null.
    pub is_wrong_type: bool,
}

impl SchemaViolation {
    fn refused(path: FieldPath, found: &str, expected: &str) -> Self {
        let message = format!("{found}, expected {expected}");
        Self { code: &codes::SCHEMA_VIOLATED, path, message, help: None, value: None, is_wrong_type: false }
    }

    /// What is wrong with an object, in one line.
    pub fn sentence(&self, object: &str, schema: &CrdSchema) -> String {
        self.sentence_for_schema(object, &schema.name, schema.file())
    }

    /// The same with a name for the schema: `core/v1 PodSpec`.
    pub fn sentence_for_schema(&self, object: &str, name: &str, file: &str) -> String {
        let Self { code, path, message, .. } = self;
        // The whole object has no path.
        let is_whole = path.segments().is_empty();
        let at = if is_whole { String::new() } else { format!(" at {path}") };
        if **code == codes::CRD_RULE_NOT_EVALUATED {
            format!("a rule of {name}{at} is not evaluated: {message}")
        } else if **code == codes::FIELD_NOT_IN_SCHEMA {
            format!("{object} would have {path}, which {name} in {file} does not have")
        } else if **code == codes::CRD_RULE_VIOLATED {
            format!("{object} breaks a rule of {name} in {file}{at}: {message}")
        } else if is_whole {
            format!("{object} {message} ({name} in {file})")
        } else {
            format!("{path} of {object} {message} ({name} in {file})")
        }
    }

    fn key(&self) -> (&FieldPath, &str, &str) {
        (&self.path, self.code.id, &self.message)
    }
}
impl PartialOrd for SchemaViolation {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for SchemaViolation {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl<'t> Crds<'t> {
    /// Looks through the texts given as [`Purpose::Crds`] for the CRDs of `kinds`; others are passed over, unparsed. A
    /// problem is a text in which there is no CRD.
    ///
    /// A `CustomResourceDefinitionList` without items is a dump, too: of a cluster that has no CRD.
    ///
    /// ```
    /// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    /// use kubefoundry_crd::Crds;
    /// let mut sources = SourceSet::default();
    /// let none = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinitionList", "items": []}"#;
    /// sources.add_for(Purpose::Crds, "installed CRDs", none);
    /// let (crds, problems) = Crds::from_sources(&sources, [("ray.io", "RayService")]);
    /// assert!(problems.is_empty());
    /// assert!(crds.find("kaito.sh", "Workspace").unwrap().is_none());
    /// ```
    pub fn from_sources(sources: &'t SourceSet, kinds: impl IntoIterator<Item = GroupKind>) -> (Self, Vec<Diagnostic>) {
        let mut slots: Vec<KindCandidates<'t>> =
            kinds.into_iter().map(|(group, kind)| KindCandidates::new(group, kind)).collect();
        let mut problems = Vec::new();
        let dumps = || sources.iter().filter(|(_, source)| source.purpose == Purpose::Crds);
        for (id, source) in dumps() {
            let text = source.text.as_str();
            let line = text.lines().next().map_or(0, str::len);
            let origin = CrdOrigin { source: Some(id), file: source.name.clone(), span: Span { start: 0, end: line } };
            let same = |other: &Source| source.directory.is_some() && other.directory == source.directory;
            match (crd_mention(source), &source.directory) {
                (CrdMention::Yes, _) => {}
                (CrdMention::InUtf16, _) => {
                    let message = "the dump is UTF-16, expected UTF-8";
                    problems.push(CrdProblem::new(&codes::UNUSABLE_CRD, &origin, message).diagnostic());
                    continue;
                }
                (CrdMention::No, None) => {
                    let message = "the text has no CustomResourceDefinition, expected a dump of CRDs";
                    problems.push(CrdProblem::new(&codes::NOT_A_CRD, &origin, message).diagnostic());
                    continue;
                }
                (CrdMention::No, Some(directory)) => {
                    // What lies beside CRDs is of no interest; of a directory without any, one file stands for all.
                    let is_first = dumps().find(|(_, other)| same(other)).is_some_and(|(first, _)| first == id);
                    if is_first && !dumps().any(|(_, other)| same(other) && crd_mention(other) != CrdMention::No) {
                        let message =
                            format!("no file of {directory} has a CustomResourceDefinition, expected a dump of CRDs");
                        problems.push(CrdProblem::new(&codes::NOT_A_CRD, &origin, message).diagnostic());
                    }
                    continue;
                }
            }
            for span in dump_splitter::split_dump(text) {
                let Some(slice) = text.get(span.start..span.end) else { continue };
                let line = slice.lines().next().map_or(0, str::len);
                for slot in slots.iter_mut().filter(|slot| slot.may_be_defined_in(slice)) {
                    let span = Span { start: span.start, end: span.start + line };
                    slot.candidates
                        .push((CrdOrigin { source: Some(id), file: source.name.clone(), span }, Cow::Borrowed(slice)));
                }
            }
        }
        (Self { kinds: slots }, problems)
    }

    /// The same with texts of its own, to be kept longer than the sources: those parts of the dump that may define a kind
    /// that is asked for.
    ///
    /// ```
    /// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    /// use kubefoundry_crd::Crds;
    /// let crds: Crds<'static> = {
    ///     let mut sources = SourceSet::default();
    ///     sources.add_for(Purpose::Crds, "crds.yaml", "
    /// apiVersion: apiextensions.k8s.io/v1
    /// kind: CustomResourceDefinition
    /// spec:
    ///   group: ray.io
    ///   names: {kind: RayService}
    ///   versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object}}}]
    /// ");
    ///     Crds::from_sources(&sources, [("ray.io", "RayService")]).0.into_owned()
    /// };
    /// assert!(crds.find("ray.io", "RayService").unwrap().is_some());
    /// ```
    #[must_use]
    pub fn into_owned(self) -> Crds<'static> {
        Crds { kinds: self.kinds.into_iter().map(KindCandidates::into_owned).collect() }
    }

    /// The CRD of a kind, if the dump has it. It is parsed when it is asked for first.
    ///
    /// # Errors
    /// When the text with it cannot be used, or two differ.
    pub fn find(&self, group: &str, kind: &str) -> Result<Option<&CrdDefinition>, &CrdProblem> {
        let slot = self.kinds.iter().find(|slot| slot.group == group && slot.kind == kind);
        let Some(slot) = slot else { return Ok(None) };
        slot.definition.get_or_init(|| slot.parse_definition()).as_ref().map(Option::as_ref)
    }

    /// Whether the dump serves a version, `group/version`, of any of these kinds.
    pub fn serves(&self, kinds: &[GroupKind], api_version: &str) -> bool {
        let Some((group, version)) = api_version.split_once('/') else { return false };
        kinds.iter().filter(|(of, _)| *of == group).any(|(_, kind)| {
            // What cannot be read is reported when the object is checked.
            self.find(group, kind).is_ok_and(|found| found.is_some_and(|found| found.version(version).is_some()))
        })
    }

    /// The versions of these kinds that the dump serves: `ray.io/v1 RayService`.
    pub fn served_versions(&self, kinds: &[GroupKind]) -> Vec<String> {
        let mut served = Vec::new();
        for definition in self.definitions(kinds).filter_map(Result::ok) {
            served.extend(definition.served_versions().map(|version| definition.version_name(version)));
        }
        served
    }

    /// The versions of these kinds that the dump serves, each with the fingerprint of its schema.
    pub fn installed_versions(&self, kinds: &[GroupKind]) -> Vec<InstalledVersion> {
        let served = self.definitions(kinds).filter_map(Result::ok);
        served.flat_map(CrdDefinition::installed_versions).collect()
    }

    /// The first problem with the CRDs of these kinds.
    pub fn find_problem(&self, kinds: &[GroupKind]) -> Option<&CrdProblem> {
        kinds.iter().find_map(|(group, kind)| self.find(group, kind).err())
    }

    fn definitions<'k>(
        &'k self,
        kinds: &'k [GroupKind],
    ) -> impl Iterator<Item = Result<&'k CrdDefinition, &'k CrdProblem>> {
        kinds.iter().filter_map(|(group, kind)| self.find(group, kind).transpose())
    }

    /// Whether the schema of a kind has a field; nothing when the dump does not have the schema.
    pub fn has_field(&self, api_version: &str, kind: &str, path: &str) -> Option<bool> {
        let (group, version) = api_version.split_once('/')?;
        let schema = self.find(group, kind).ok()??.version(version)?.schema().ok()?;
        Some(schema.has_field(path))
    }

    /// What the apiserver would refuse of an object that is created, or drop from it: findings without a place.
    ///
    /// An object of a kind that no provider writes is not in the dump, as far as this is concerned.
    ///
    /// ```
    /// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    /// use kubefoundry_crd::Crds;
    /// let mut sources = SourceSet::default();
    /// sources.add_for(Purpose::Crds, "crds.yaml", "
    /// apiVersion: apiextensions.k8s.io/v1
    /// kind: CustomResourceDefinition
    /// spec:
    ///   group: ray.io
    ///   names: {kind: RayService}
    ///   versions:
    ///   - name: v1
    ///     served: true
    ///     schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {suspend: {type: boolean}}}}}}
    /// ");
    /// let (crds, _) = Crds::from_sources(&sources, [("ray.io", "RayService")]);
    /// let mut object = serde_json::json!({
    ///     "apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "m"}, "spec": {"suspend": true},
    /// });
    /// assert!(crds.check(&object).is_empty());
    /// object["spec"] = serde_json::json!({"suspended": true});
    /// let found = crds.check(&object);
    /// assert_eq!(found[0].code.name, "field-not-in-schema");
    /// assert_eq!(found[0].help.as_deref(), Some("did you mean \"suspend\"?"));
    /// ```
    pub fn check(&self, object: &Value) -> Vec<Diagnostic> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        match self.schema(api_version, kind) {
            Ok(schema) => {
                let name = format!("{kind} {}", text("/metadata/name"));
                let found = schema.check(object).into_iter();
                found
                    .map(|violation| {
                        let mut diagnostic = Diagnostic::new(violation.code, violation.sentence(&name, schema));
                        diagnostic.help.clone_from(&violation.help);
                        diagnostic
                    })
                    .collect()
            }
            Err(Some(problem)) => vec![problem.diagnostic()],
            Err(None) => {
                let message = format!("{api_version} {kind} is not served by any CRD of the dump");
                vec![Diagnostic::new(&codes::CRD_NOT_INSTALLED, message)]
            }
        }
    }

    /// Fields whose change the rules of the dump refuse (those that compare with `oldSelf`), each with the rule's message.
    /// None where the dump has nothing usable about the object.
    ///
    /// ```
    /// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    /// use kubefoundry_crd::Crds;
    /// let mut sources = SourceSet::default();
    /// sources.add_for(Purpose::Crds, "crds.yaml", "
    /// apiVersion: apiextensions.k8s.io/v1
    /// kind: CustomResourceDefinition
    /// metadata: {name: rayservices.ray.io}
    /// spec:
    ///   group: ray.io
    ///   names: {kind: RayService}
    ///   versions:
    ///   - name: v1
    ///     served: true
    ///     schema:
    ///       openAPIV3Schema:
    ///         type: object
    ///         properties:
    ///           spec:
    ///             type: object
    ///             properties:
    ///               managedBy:
    ///                 type: string
    ///                 x-kubernetes-validations:
    ///                 - {rule: self == oldSelf, message: the managedBy field is immutable}
    /// ");
    /// let (crds, _) = Crds::from_sources(&sources, [("ray.io", "RayService")]);
    /// let service = |by: &str| serde_json::json!({
    ///     "apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "m"}, "spec": {"managedBy": by},
    /// });
    /// assert!(crds.check_change(&service("a"), &service("a")).is_empty());
    /// let refused = crds.check_change(&service("a"), &service("b"));
    /// assert_eq!(refused[0].0.to_string(), "spec.managedBy");
    /// assert_eq!(refused[0].1, "the managedBy field is immutable");
    /// ```
    pub fn check_change(&self, old: &Value, new: &Value) -> Vec<(FieldPath, String)> {
        let text = |pointer: &str| new.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let Ok(schema) = self.schema(text("/apiVersion"), text("/kind")) else { return Vec::new() };
        let violations = schema.check_change(old, new).into_iter();
        violations.map(|violation| (violation.path, violation.message)).collect()
    }

    /// The schema of an object. `Err` with nothing means that it is not in the dump.
    pub fn schema(&self, api_version: &str, kind: &str) -> Result<&CrdSchema, Option<&CrdProblem>> {
        let (group, version) = api_version.split_once('/').unwrap_or_default();
        let definition = self.find(group, kind).map_err(Some)?.ok_or(None)?;
        definition.version(version).ok_or(None)?.schema().map_err(Some)
    }
}

/// Whether a text speaks of CRDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CrdMention {
    No,
    Yes,
    /// It does or may, and cannot be read.
    InUtf16,
}

fn crd_mention(source: &Source) -> CrdMention {
    const KIND: &str = "CustomResourceDefinition";
    const LIST: &str = "CustomResourceDefinitionList";
    if source.encoding_error != Some(EncodingError::Utf16) {
        // An escape may stand for a part of the word.
        // The list is named for the cluster that has none.
        let is_named = kind_candidates::may_contain_word(&source.text, KIND)
            || kind_candidates::may_contain_word(&source.text, LIST);
        return if is_named { CrdMention::Yes } else { CrdMention::No };
    }
    // A file that is named is meant to be a dump; in a directory it may be anything.
    let is_named = source.directory.is_none();
    // Of UTF-16, the zero halves of plain letters are left.
    if is_named || source.text.replace('\0', "").contains(KIND) { CrdMention::InUtf16 } else { CrdMention::No }
}

/// The part of a schema that describes a field, by the steps to it.
fn schema_at<'s>(schema: &'s Value, steps: &[Segment], resolver: Resolver<'s>) -> Option<&'s Value> {
    steps.iter().try_fold(resolver.resolve(schema), |schema, step| match step {
        Segment::Key(key) => {
            resolver.property_schema(schema, key).or_else(|| resolver.keyword_schema(schema, "additionalProperties"))
        }
        Segment::Index(_) => resolver.keyword_schema(schema, "items"),
    })
}
