//! Decides the role of a document from its header.

use super::document::Document;
use super::identity_hash::IdentityHash;
use crate::codes;
use crate::options::Options;
use kubefoundry_diagnostics::Findings;
use kubefoundry_diagnostics::source::{Purpose, SourceId};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::wire::metadata;
use kubefoundry_model::composition::{Composition, kinds_of};
use kubefoundry_transform::AnyTransform;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{FieldPart, Node, Span, Value};

/// An input document: its type and its place, so that it can be passed through byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputDocument {
    /// The text that contains it.
    pub source: SourceId,
    /// The index of the document in the text.
    pub index: usize,
    /// The bytes of the document in the text.
    pub span: Span,
    /// Whether it is an item of a list, whose indentation and anchors belong to the list.
    pub item: bool,
    /// Its API version, kind, namespace and name.
    pub header: Header,
    /// The bytes of its name.
    pub name_span: Span,
    /// Whether it is transformed. If not, it is left to its own controller.
    pub rendered: bool,
    /// Whether a kustomization applies it as a patch. It is then only a part of an object.
    pub patch: bool,
    /// The object that it was generated from in an earlier run, as its ownership annotation names it.
    pub owner: Option<String>,
    pub(crate) identity_hash: IdentityHash,
}

impl InputDocument {
    pub(crate) fn new(document: &Document<'_>, is_patch: bool, options: &Options) -> Self {
        let header = &document.header;
        let transform = options.composition.transform_of_kind(header.group(), &header.kind).filter(|_| !is_patch);
        Self {
            source: document.source,
            index: document.index(),
            span: document.span,
            item: document.item,
            header: header.clone(),
            name_span: document.root.locate(&metadata().name(), FieldPart::Value),
            rendered: transform.is_some_and(|transform| transform.handles(&document.root, &options.settings)),
            patch: is_patch,
            owner: owner_of(options.composition, &document.root),
            identity_hash: IdentityHash::from(header),
        }
    }
}

/// The role of a document in a run.
#[derive(Clone, Copy)]
pub(crate) enum Role {
    /// It is transformed.
    Transformed(&'static dyn AnyTransform),
    /// It configures a transformation.
    Configuration,
    /// A kustomization applies it as a patch to an object or a configuration of a transformation.
    Patch(&'static dyn AnyTransform),
    /// It is passed through, or a finding rejects it.
    Other,
}

impl Role {
    /// Decides the role of a document. Reports documents that look like input of kubefoundry but are not recognized,
    /// and those whose type is not certain.
    pub(crate) fn classify(
        document: &Document<'_>,
        purpose: Purpose,
        is_patch: bool,
        options: &Options,
        findings: &mut Findings<'_>,
    ) -> Self {
        let role = Self::classify_by_type(document, purpose, is_patch, options, findings);
        // What comes after a limit may be, or change, the type.
        let is_uncertain = document.is_partial() || document.has_ambiguous_type();
        if matches!(role, Self::Other) && is_uncertain && document.may_hold_input(options.composition) {
            document.report_problems(findings);
        }
        role
    }

    fn classify_by_type(
        document: &Document<'_>,
        purpose: Purpose,
        is_patch: bool,
        options: &Options,
        findings: &mut Findings<'_>,
    ) -> Self {
        let header = &document.header;
        if document.is_partial() && (header.api_version.is_empty() || header.kind.is_empty()) {
            return Self::Other;
        }
        if let Some(transform) = options.composition.owner_of_group(header.group()) {
            return Self::classify_in_owned_group(header, transform, purpose, is_patch, findings);
        }
        if let Some(transform) = options.composition.transform_of_kind(header.group(), &header.kind) {
            let is_handled =
                purpose == Purpose::Input && !is_patch && transform.handles(&document.root, &options.settings);
            let is_transformed = is_handled && check_version(header, transform, findings);
            return if is_transformed { Self::Transformed(transform) } else { Self::Other };
        }
        for transform in options.composition.transforms() {
            transform.report_misnamed(header, &options.settings, findings);
        }
        if purpose == Purpose::Input {
            options.composition.report_left_out(header, &FieldPath::root(), findings);
        }
        let is_unused_render = &*header.api_version == crate::options::render::API_VERSION && purpose == Purpose::Input;
        if is_unused_render && !configures_a_function(&document.root) {
            let message = "this Render document is ignored";
            findings
                .report(&codes::UNUSED_OPTIONS, "kind", message)
                .help("name the file kubefoundry.yaml, or pass it with --config");
        }
        Self::Other
    }

    /// Decides the role of a document whose API group belongs to one transformation.
    fn classify_in_owned_group(
        header: &Header,
        transform: &'static dyn AnyTransform,
        purpose: Purpose,
        is_patch: bool,
        findings: &mut Findings<'_>,
    ) -> Self {
        if !check_version(header, transform, findings) {
            return Self::Other;
        }
        let (kind, is_input_kind) = (&*header.kind, *header.kind == *transform.kind().1);
        if is_input_kind || transform.configuration_kind() == Some(kind) {
            return match purpose {
                _ if is_patch => Self::Patch(transform),
                _ if !is_input_kind => Self::Configuration,
                Purpose::Input => Self::Transformed(transform),
                _ => Self::Other,
            };
        }
        report_unknown_kind(header, transform, findings);
        Self::Other
    }

    /// Returns whether the document is transformed without a look at others, as ModelDeployments are.
    pub(crate) fn is_transformed_alone(self) -> bool {
        self.transform().is_some_and(|transform| !transform.needs_set())
    }

    /// Returns the transformation of the document, if it is transformed.
    pub(crate) fn transform(self) -> Option<&'static dyn AnyTransform> {
        if let Self::Transformed(transform) = self { Some(transform) } else { None }
    }
}

/// Reports a version that the transformation does not read. Returns whether it reads the version.
fn check_version(header: &Header, transform: &dyn AnyTransform, findings: &mut Findings<'_>) -> bool {
    let (group, version) = header.api_version.rsplit_once('/').unwrap_or_default();
    if transform.version(group) == version {
        return true;
    }
    let known_version = format!("{group}/{}", transform.version(group));
    let message = format!("apiVersion {:?} is unknown, expected {known_version}", header.api_version);
    findings
        .report(&codes::UNKNOWN_VERSION, "apiVersion", message)
        .replace_with("use the known version", known_version);
    false
}

/// Reports a kind that the API group of a transformation does not have.
fn report_unknown_kind(header: &Header, transform: &dyn AnyTransform, findings: &mut Findings<'_>) {
    let kinds: Vec<&str> = kinds_of(transform).collect();
    let (kind, expected) = (&*header.kind, kinds.join(" or "));
    let written = findings.scope().root.get("kind").filter(|it| it.value != Value::Null && it.as_str().is_none());
    if let Some(written) = written {
        let message = format!("kind is {}, expected {expected}", written.describe());
        findings.report(&codes::WRONG_TYPE, "kind", message);
        return;
    }
    if kind.is_empty() {
        findings.report(&codes::REQUIRED_FIELD, "kind", format!("kind is required, expected {expected}"));
        return;
    }
    let message = format!("{} has no kind {kind:?}, expected {expected}", header.group());
    let reported = findings.report(&codes::UNKNOWN_KIND, "kind", message);
    if let Some(meant) = kubefoundry_yaml::text::closest(kind, kinds.iter().copied()) {
        reported.help(format!("did you mean {meant}?")).replace_with(format!("change it to {meant}"), meant);
    }
}

/// Returns whether a `Render` document configures a KRM function, by the annotations that kustomize and kpt use.
fn configures_a_function(root: &Node<'_>) -> bool {
    let annotations = root.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let marks = ["config.kubernetes.io/function", "config.kubernetes.io/local-config"];
    annotations.is_some_and(|annotations| marks.iter().any(|mark| annotations.get(mark).is_some()))
}

/// Returns the origin that an object names in its ownership annotation: kind and `namespace/name`.
fn owner_of(composition: &Composition, root: &Node<'_>) -> Option<String> {
    composition.transforms().iter().find_map(|transform| {
        let owner = annotation(root, transform.mark_groups(), transform.owner_annotation())?;
        Some(format!("{} {owner}", transform.kind().1))
    })
}

/// Finds an annotation with the prefix of any of the groups. It is called several times per document, so it builds no
/// key strings.
pub(crate) fn annotation<'n>(root: &'n Node<'_>, groups: &[ApiGroup], name: &str) -> Option<&'n str> {
    let annotations = root.get("metadata").and_then(|metadata| metadata.get("annotations"))?;
    let value = |api_group: &ApiGroup| {
        let mut entries = annotations.entries().iter();
        entries.find(|entry| entry.key.strip_prefix(api_group.label_prefix) == Some(name))?.node.as_str()
    };
    groups.iter().find_map(value)
}
