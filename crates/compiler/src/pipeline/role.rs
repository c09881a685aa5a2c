//! What becomes of a document, by what it says it is.

use super::document::Document;
use crate::codes;
use crate::composition;
use crate::composition::TRANSFORMS;
use crate::options::Options;
use kubefoundry_diagnostics::Findings;
use kubefoundry_diagnostics::source::{Purpose, SourceId};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::wire::metadata;
use kubefoundry_transform::{AllSettings, AnyTransform};
use kubefoundry_yaml::{FieldPart, Node, Span};

/// Where a document that is not ours stands, so that it can be passed through byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputDocument {
    /// Which text.
    pub source: SourceId,
    /// Its position in the text.
    pub index: usize,
    /// Its own bytes there.
    pub span: Span,
    /// Whether it is an item of a list: then its indentation and its anchors are those of the list.
    pub item: bool,
    /// What it is.
    pub header: Header,
    /// Where its name stands.
    pub name_span: Span,
    /// Whether it is of a kind that is turned into objects, and is not left to its controller.
    pub rendered: bool,
    /// Whether a kustomization applies it as a patch: then it is a part of an object, and no object.
    pub patch: bool,
    /// What it was generated from earlier, by its annotation.
    pub owner: Option<String>,
}

impl InputDocument {
    pub(super) fn of(document: &Document<'_>, is_patch: bool, settings: &AllSettings) -> Self {
        let header = &document.header;
        let transform = composition::transform_of_kind(header.group(), &header.kind).filter(|_| !is_patch);
        Self {
            source: document.source,
            index: document.index(),
            span: document.span,
            item: document.item,
            header: header.clone(),
            name_span: document.root.locate(&metadata().name(), FieldPart::Value),
            rendered: transform.is_some_and(|transform| transform.handles(&document.root, settings)),
            patch: is_patch,
            owner: owner_of(&document.root),
        }
    }
}

/// What becomes of a document.
#[derive(Clone, Copy)]
pub(super) enum Role {
    /// It is transformed.
    Transformed(&'static dyn AnyTransform),
    /// It configures a transformation.
    Configuration,
    /// A kustomization applies it to an object of a transformation, or to a configuration of one: it is a part of one.
    Patch(&'static dyn AnyTransform),
    /// It is passed through, or a finding says what is wrong with it.
    Other,
}

impl Role {
    /// Decides it. Findings say what is wrong with a document that is nothing to us and should be.
    pub(super) fn of(
        document: &Document<'_>,
        purpose: Purpose,
        is_patch: bool,
        options: &Options,
        findings: &mut Findings<'_>,
    ) -> Self {
        let header = &document.header;
        if document.is_partial() && (header.api_version.is_empty() || header.kind.is_empty()) {
            // What says whose it is may stand behind the limit.
            if document.mentions_input_kinds() {
                document.report_problems(findings);
            }
            return Self::Other;
        }
        if let Some(transform) = composition::owner_of_group(header.group()) {
            return Self::in_own_group(header, transform, purpose, is_patch, findings);
        }
        if let Some(transform) = composition::transform_of_kind(header.group(), &header.kind) {
            let is_taken =
                purpose == Purpose::Input && !is_patch && transform.handles(&document.root, &options.settings);
            let known = is_taken && is_known_version(header, transform, findings);
            return if known { Self::Transformed(transform) } else { Self::Other };
        }
        for transform in TRANSFORMS {
            transform.report_misnamed(header, &options.settings, findings);
        }
        let unused = &*header.api_version == crate::options::render::API_VERSION && purpose == Purpose::Input;
        if unused && !is_of_a_function(&document.root) {
            let message = "this Render document is ignored";
            findings
                .report(&codes::UNUSED_OPTIONS, "kind", message)
                .help("name the file kubefoundry.yaml in the directory passed as PATH, or pass it with --config");
        }
        Self::Other
    }

    /// Decides it for a document of a group that belongs to a transformation alone.
    fn in_own_group(
        header: &Header,
        transform: &'static dyn AnyTransform,
        purpose: Purpose,
        is_patch: bool,
        findings: &mut Findings<'_>,
    ) -> Self {
        if !is_known_version(header, transform, findings) {
            return Self::Other;
        }
        let (kind, is_own) = (&*header.kind, *header.kind == *transform.kind().1);
        if is_own || transform.configuration_kind() == Some(kind) {
            return match purpose {
                _ if is_patch => Self::Patch(transform),
                _ if !is_own => Self::Configuration,
                Purpose::Input => Self::Transformed(transform),
                _ => Self::Other,
            };
        }
        report_unknown_kind(header, transform, findings);
        Self::Other
    }

    /// What transforms the document.
    pub(super) fn transform(self) -> Option<&'static dyn AnyTransform> {
        if let Self::Transformed(transform) = self { Some(transform) } else { None }
    }
}

fn is_known_version(header: &Header, transform: &dyn AnyTransform, findings: &mut Findings<'_>) -> bool {
    let (group, version) = header.api_version.rsplit_once('/').unwrap_or_default();
    if transform.version(group) == version {
        return true;
    }
    let known = format!("{group}/{}", transform.version(group));
    let message = format!("apiVersion {:?} is unknown, expected {known}", header.api_version);
    findings.report(&codes::UNKNOWN_VERSION, "apiVersion", message).replace_with("use the known version", known);
    false
}

fn report_unknown_kind(header: &Header, transform: &dyn AnyTransform, findings: &mut Findings<'_>) {
    let kinds: Vec<&str> = composition::kinds_of(transform).collect();
    let (kind, expected) = (&*header.kind, kinds.join(" or "));
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

/// Whether options are those of a KRM function, which its client reads: by the marks that kustomize and kpt know.
fn is_of_a_function(root: &Node<'_>) -> bool {
    let annotations = root.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let marks = ["config.kubernetes.io/function", "config.kubernetes.io/local-config"];
    annotations.is_some_and(|annotations| marks.iter().any(|mark| annotations.get(mark).is_some()))
}

/// What an object of ours names as its origin: the kind of another object, and its `namespace/name`.
fn owner_of(root: &Node<'_>) -> Option<String> {
    TRANSFORMS.iter().find_map(|transform| {
        let owner = annotation(root, transform.mark_groups(), transform.owner_annotation())?;
        Some(format!("{} {owner}", transform.kind().1))
    })
}

/// An annotation of one of some groups. Asked several times of every document: no key is put together for it.
pub(super) fn annotation<'n>(root: &'n Node<'_>, groups: &[ApiGroup], name: &str) -> Option<&'n str> {
    let annotations = root.get("metadata").and_then(|metadata| metadata.get("annotations"))?;
    let value = |api_group: &ApiGroup| {
        let mut entries = annotations.entries().iter();
        entries.find(|entry| entry.key.strip_prefix(api_group.label_prefix) == Some(name))?.node.as_str()
    };
    groups.iter().find_map(value)
}
