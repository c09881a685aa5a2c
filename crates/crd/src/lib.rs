//! Upstream conformance: checks rendered objects against a dump of CRDs.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.
//!
//! A dump is any text with CustomResourceDefinitions: files of an upstream project, or the output of `kubectl get crd
//! -o yaml` or `-o json`. Only the needed parts are parsed, once: [`Crds::from_sources`] searches the text, a CRD is
//! parsed when its kind is first looked up, and a schema is prepared when an object of its version is first checked.
//!
//! An object is checked as the API server does on creation, but strictly: an unknown field is an error, where the API
//! server drops it. The steps and their order are those of the API server: defaults, the schema, lists and embedded
//! objects, metadata, and finally the CRD validation rules (evaluated by `cel` with the functions of `kube-cel`).

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
pub mod upstream;
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
use kubefoundry_yaml::spelling::SpelledText;

/// The CRDs in a dump, that is, the kinds installed in a cluster.
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

/// A version of a kind installed in a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InstalledVersion {
    /// The API group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// A hash of the schema's content, which does not depend on notation and descriptions.
    pub fingerprint: String,
}

/// The position of a CRD in the dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrdOrigin {
    /// `None` for a CRD passed in as JSON.
    pub(crate) source: Option<SourceId>,
    pub(crate) file: String,
    pub(crate) span: Span,
}

/// A problem of a dump.
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

    /// Converts the problem to a finding at its position in the dump.
    pub fn diagnostic(&self) -> Diagnostic {
        let CrdOrigin { source, span, .. } = self.origin;
        let mut diagnostic = Diagnostic::new(self.code, self.message.clone());
        diagnostic.location = source.map(|source| Location::new(source, 0, span, FieldPath::root()));
        diagnostic.help("pass the output of kubectl get crd -o yaml, or the files that upstream publishes".to_owned())
    }
}

/// A violation of a schema by an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaViolation {
    /// The code of the finding.
    pub code: &'static Code,
    /// The violating field of the object.
    pub path: FieldPath,
    /// The predicate of the sentence, such as `is 3, expected …`; empty for a field that does not exist in the schema.
    pub message: String,
    /// Advice, if there is any.
    pub help: Option<String>,
    /// The value if it is a string, to find the input field that it comes from.
    pub value: Option<String>,
    /// Whether the value is not null and has another type than the schema requires.
    pub is_wrong_type: bool,
}

impl SchemaViolation {
    /// Creates the violation of a field with an unexpected value. The predicate says what was found: `is missing`.
    fn unexpected(path: FieldPath, predicate: &str, expected: &str) -> Self {
        Self::new(path, format!("{predicate}, expected {expected}"))
    }

    /// Creates the violation of a required field that is absent.
    fn missing(path: FieldPath) -> Self {
        Self::new(path, "is required, but missing".to_owned())
    }

    fn new(path: FieldPath, message: String) -> Self {
        Self { code: &codes::SCHEMA_VIOLATED, path, message, help: None, value: None, is_wrong_type: false }
    }

    /// Returns the violation as a sentence on one line.
    pub fn sentence(&self, object: &str, schema: &CrdSchema) -> String {
        self.sentence_for_schema(object, &schema.name, schema.file())
    }

    /// Like [`SchemaViolation::sentence`], with a name for the schema: `core/v1 PodSpec`.
    pub fn sentence_for_schema(&self, object: &str, name: &str, file: &str) -> String {
        let Self { code, path, message, .. } = self;
        // A violation of the whole object has an empty path.
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
    /// Searches the sources with [`Purpose::Crds`] for the CRDs of `kinds`. Other CRDs are skipped without parsing
    /// them. Returns a problem for each source, or directory of sources, without any CRD.
    ///
    /// A `CustomResourceDefinitionList` without items is a valid dump of a cluster without CRDs.
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
        let mut candidates: Vec<KindCandidates<'t>> =
            kinds.into_iter().map(|(group, kind)| KindCandidates::new(group, kind)).collect();
        let mut problems = Vec::new();
        let dumps = || sources.iter().filter(|(_, source)| source.purpose == Purpose::Crds);
        for (id, source) in dumps() {
            let text = source.text.as_str();
            let line = text.lines().next().map_or(0, str::len);
            let origin = CrdOrigin { source: Some(id), file: source.name.clone(), span: Span { start: 0, end: line } };
            let is_in_directory = |other: &Source| source.directory.is_some() && other.directory == source.directory;
            match (crd_mention(source), &source.directory) {
                (CrdMention::Yes, _) => {}
                (CrdMention::InUtf16, _) => {
                    let message = "the dump is UTF-16, expected UTF-8";
                    problems.push(CrdProblem::new(&codes::UNUSABLE_CRD, &origin, message).diagnostic());
                    continue;
                }
                (CrdMention::No, None) => {
                    let message = "the text has no CustomResourceDefinition, expected CRDs";
                    problems.push(CrdProblem::new(&codes::NOT_A_CRD, &origin, message).diagnostic());
                    continue;
                }
                (CrdMention::No, Some(directory)) => {
                    // Other files beside CRDs are ignored. For a directory without any CRD, only the first file is
                    // reported.
                    let is_first =
                        dumps().find(|(_, other)| is_in_directory(other)).is_some_and(|(first, _)| first == id);
                    if is_first
                        && !dumps().any(|(_, other)| is_in_directory(other) && crd_mention(other) != CrdMention::No)
                    {
                        let message = format!("no file of {directory} has a CustomResourceDefinition, expected CRDs");
                        problems.push(CrdProblem::new(&codes::NOT_A_CRD, &origin, message).diagnostic());
                    }
                    continue;
                }
            }
            for span in dump_splitter::split_dump(text) {
                let Some(part) = text.get(span.start..span.end) else { continue };
                let line = part.lines().next().map_or(0, str::len);
                let spelled = SpelledText::new(part.as_bytes());
                for kind in candidates.iter_mut().filter(|kind| kind.may_be_defined_in(part, &spelled)) {
                    let span = Span { start: span.start, end: span.start + line };
                    kind.candidates
                        .push((CrdOrigin { source: Some(id), file: source.name.clone(), span }, Cow::Borrowed(part)));
                }
            }
        }
        (Self { kinds: candidates }, problems)
    }

    /// Copies the parts of the texts that may define one of the requested kinds, so that the result can outlive the
    /// sources.
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

    /// Returns the CRD of a kind, or `None` if the dump does not contain it. The CRD is parsed on the first call.
    ///
    /// # Errors
    /// When the text of the CRD cannot be used, or two CRDs of the kind differ.
    pub fn find(&self, group: &str, kind: &str) -> Result<Option<&CrdDefinition>, &CrdProblem> {
        let candidates = self.kinds.iter().find(|candidates| candidates.group == group && candidates.kind == kind);
        let Some(candidates) = candidates else { return Ok(None) };
        candidates.definition.get_or_init(|| candidates.parse_definition()).as_ref().map(Option::as_ref)
    }

    /// Returns whether the dump serves a version, `group/version`, of any of these kinds.
    pub fn serves(&self, kinds: &[GroupKind], api_version: &str) -> bool {
        let Some((group, version)) = api_version.split_once('/') else { return false };
        kinds.iter().filter(|(kind_group, _)| *kind_group == group).any(|(_, kind)| {
            // An unreadable CRD is reported when an object is checked.
            self.find(group, kind)
                .is_ok_and(|definition| definition.is_some_and(|definition| definition.version(version).is_some()))
        })
    }

    /// Returns the version, as `group/version`, in which the first of these kinds is stored, if the dump serves that
    /// version and does not deprecate it.
    pub fn stored_version(&self, kinds: &[GroupKind]) -> Option<String> {
        let definition = self.definitions(kinds).find_map(Result::ok)?;
        definition.stored_version()
    }

    /// Returns the served versions of these kinds: `ray.io/v1 RayService`.
    pub fn served_versions(&self, kinds: &[GroupKind]) -> Vec<String> {
        let mut served = Vec::new();
        for definition in self.definitions(kinds).filter_map(Result::ok) {
            served.extend(definition.served_versions().map(|version| definition.version_name(version)));
        }
        served
    }

    /// Returns the served versions of these kinds, each with the fingerprint of its schema.
    pub fn installed_versions(&self, kinds: &[GroupKind]) -> Vec<InstalledVersion> {
        let served = self.definitions(kinds).filter_map(Result::ok);
        served.flat_map(CrdDefinition::installed_versions).collect()
    }

    /// Returns the first problem with the CRDs of these kinds.
    pub fn find_problem(&self, kinds: &[GroupKind]) -> Option<&CrdProblem> {
        kinds.iter().find_map(|(group, kind)| self.find(group, kind).err())
    }

    fn definitions<'k>(
        &'k self,
        kinds: &'k [GroupKind],
    ) -> impl Iterator<Item = Result<&'k CrdDefinition, &'k CrdProblem>> {
        kinds.iter().filter_map(|(group, kind)| self.find(group, kind).transpose())
    }

    /// Returns whether the schema of a kind has a field; `None` if the dump does not contain the schema.
    pub fn has_field(&self, api_version: &str, kind: &str, path: &str) -> Option<bool> {
        let (group, version) = api_version.split_once('/')?;
        let schema = self.find(group, kind).ok()??.version(version)?.schema().ok()?;
        Some(schema.has_field(path))
    }

    /// Returns whether the schema of a kind requires a field in the object above it; `None` if the dump does not contain
    /// the schema.
    pub fn requires_field(&self, api_version: &str, kind: &str, path: &str) -> Option<bool> {
        Some(self.schema(api_version, kind).ok()?.requires_field(path))
    }

    /// Checks an object as if it were created, and returns what the API server would refuse or drop. The findings have
    /// no location.
    ///
    /// Kinds that were not passed to [`Crds::from_sources`] count as not installed.
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
    /// let findings = crds.check(&object);
    /// assert_eq!(findings[0].code.name, "field-not-in-schema");
    /// assert_eq!(findings[0].help.as_deref(), Some("did you mean \"suspend\"?"));
    /// ```
    pub fn check(&self, object: &Value) -> Vec<Diagnostic> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        match self.schema(api_version, kind) {
            Ok(schema) => {
                let name = format!("{kind} {}", text("/metadata/name"));
                let violations = schema.check(object).into_iter();
                violations
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

    /// Returns the fields whose change a CRD validation rule refuses (a rule that reads `oldSelf`), each with the
    /// rule's message. Empty if the dump has no usable schema of the object.
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

    /// Returns the schema of a kind. `Err(None)` means that the dump does not contain it.
    pub fn schema(&self, api_version: &str, kind: &str) -> Result<&CrdSchema, Option<&CrdProblem>> {
        let (group, version) = api_version.split_once('/').unwrap_or_default();
        let definition = self.find(group, kind).map_err(Some)?.ok_or(None)?;
        definition.version(version).ok_or(None)?.schema().map_err(Some)
    }
}

/// Whether a text mentions CRDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CrdMention {
    No,
    Yes,
    /// The text does or may mention CRDs, but is UTF-16 and cannot be read.
    InUtf16,
}

fn crd_mention(source: &Source) -> CrdMention {
    const KIND: &str = "CustomResourceDefinition";
    const LIST: &str = "CustomResourceDefinitionList";
    if source.encoding_error != Some(EncodingError::Utf16) {
        // An empty list of a cluster without CRDs mentions only the list kind.
        let text = SpelledText::new(source.text.as_bytes());
        let is_named = kind_candidates::may_contain_word(&text, KIND) || kind_candidates::may_contain_word(&text, LIST);
        return if is_named { CrdMention::Yes } else { CrdMention::No };
    }
    // A file given as an argument is meant to be a dump; one in a directory can be anything.
    let is_named = source.directory.is_none();
    // Decoded as UTF-8, ASCII letters in UTF-16 are separated by NUL characters.
    if is_named || source.text.replace('\0', "").contains(KIND) { CrdMention::InUtf16 } else { CrdMention::No }
}

/// Returns the subschema of the field at a path.
fn schema_at<'s>(schema: &'s Value, steps: &[Segment], resolver: Resolver<'s>) -> Option<&'s Value> {
    steps.iter().try_fold(resolver.resolve(schema), |schema, step| match step {
        Segment::Key(key) => {
            resolver.property_schema(schema, key).or_else(|| resolver.keyword_schema(schema, "additionalProperties"))
        }
        Segment::Index(_) => resolver.keyword_schema(schema, "items"),
    })
}
