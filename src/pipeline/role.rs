//! What becomes of a document, by what it says it is.

use super::document::Document;
use crate::codes;
use crate::composition;
use crate::composition::TRANSFORMS;
use crate::options::Options;
use kubefoundry_diagnostics::Findings;
use kubefoundry_diagnostics::source::{Purpose, SourceId};
use kubefoundry_kubernetes::api_group::Dialect;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::manifest::MODEL_DEPLOYMENT;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Node, Span, Target};

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
    /// Whether it is a ModelDeployment, or of another kind that is turned into objects.
    pub rendered: bool,
    /// Whether a kustomization applies it as a patch: then it is a part of an object, and no object.
    pub patch: bool,
    /// What it was generated from earlier, by its annotation.
    pub owner: Option<String>,
}

impl InputDocument {
    pub(super) fn of(document: &Document<'_>, is_patch: bool, is_source: bool) -> Self {
        let header = &document.header;
        Self {
            source: document.source,
            index: document.index,
            span: document.span,
            item: document.item,
            header: header.clone(),
            name_span: document.root.locate(&FieldPath::parse("metadata.name"), Target::Value),
            rendered: is_source || header.dialect().is_some() && &*header.kind == "ModelDeployment" && !is_patch,
            patch: is_patch,
            owner: owner_of(&document.root),
        }
    }
}

/// What becomes of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Deployment,
    /// Of the kind of a transformation, by its position in [`TRANSFORMS`], which sees it with the others.
    Source(usize),
    Config,
    /// A kustomization applies it to an object: it is a part of one.
    Patch,
    /// It is passed through, or a finding says what is wrong with it.
    None,
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
            if document.speaks_of_us() {
                document.report_problems(findings);
            }
            return Self::None;
        }
        let Some(dialect) = header.dialect() else {
            if let Some((position, transform)) = composition::transform_of_kind(header.group(), &header.kind) {
                let is_taken =
                    purpose == Purpose::Input && !is_patch && transform.takes(&document.root, &options.settings);
                let known = is_taken && is_known_version(header, transform.kind().0, findings);
                return if known { Self::Source(position) } else { Self::None };
            }
            for transform in TRANSFORMS {
                transform.misnamed(header, &options.settings, findings);
            }
            let unused = &*header.api_version == crate::options::render::API_VERSION && purpose == Purpose::Input;
            if unused && !is_of_a_function(&document.root) {
                let message = "these options are not used, expected them as kubefoundry.yaml of the one directory given, or by --config";
                findings.report(&codes::UNUSED_OPTIONS, "kind", message);
            }
            if &*header.kind == "ModelDeployment" {
                if header.group().is_empty() {
                    document.report_header(findings);
                } else {
                    foreign_deployment(header.group(), findings);
                }
            }
            return Self::None;
        };
        if !is_known_version(header, &dialect.api_version(), findings) {
            return Self::None;
        }
        match &*header.kind {
            "ModelDeployment" | "InferenceProviderConfig" if is_patch => Self::Patch,
            "ModelDeployment" if purpose == Purpose::Input => Self::Deployment,
            "ModelDeployment" => Self::None,
            "InferenceProviderConfig" => Self::Config,
            "" => {
                document.report_header(findings);
                Self::None
            }
            kind => {
                unknown_kind(kind, dialect, findings);
                Self::None
            }
        }
    }
}

/// Whether a document that is no patch is a provider configuration: what [`Role::of`] says, before the roles are known.
pub(super) fn is_config(header: &Header) -> bool {
    &*header.kind == "InferenceProviderConfig"
        && header.dialect().is_some_and(|dialect| *dialect.api_version() == *header.api_version)
}

fn is_known_version(header: &Header, known: &str, findings: &mut Findings<'_>) -> bool {
    if *header.api_version == *known {
        return true;
    }
    let message = format!("apiVersion {:?} is unknown, expected {known}", header.api_version);
    findings
        .report(&codes::UNKNOWN_VERSION, "apiVersion", message)
        .replace_with("use the known version", known.to_owned());
    false
}

fn unknown_kind(kind: &str, dialect: &Dialect, findings: &mut Findings<'_>) {
    let kinds = ["ModelDeployment", "InferenceProviderConfig"];
    let message = format!("{} has no kind {kind:?}, expected {}", dialect.group, kinds.join(" or "));
    let reported = findings.report(&codes::UNKNOWN_KIND, "kind", message);
    if let Some(meant) = kubefoundry_yaml::text::closest(kind, kinds) {
        reported.help(format!("did you mean {meant}?")).replace_with(format!("change it to {meant}"), meant);
    }
}

fn foreign_deployment(group: &str, findings: &mut Findings<'_>) {
    let groups: Vec<&str> = kubefoundry_kubernetes::api_group::DIALECTS.iter().map(|dialect| dialect.group).collect();
    let message = format!("ModelDeployment of group {group} is not rendered, expected {}", groups.join(" or "));
    let reported = findings.report(&codes::FOREIGN_MODEL_DEPLOYMENT, "apiVersion", message);
    if let Some(meant) = kubefoundry_yaml::text::closest(group, groups.iter().copied()) {
        reported.help(format!("did you mean {meant}/v1alpha1?"));
    }
}

/// Whether options are those of a KRM function, which its client reads: by the marks that kustomize and kpt know.
fn is_of_a_function(root: &Node<'_>) -> bool {
    let annotations = root.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let marks = ["config.kubernetes.io/function", "config.kubernetes.io/local-config"];
    annotations.is_some_and(|annotations| marks.iter().any(|mark| annotations.get(mark).is_some()))
}

/// What an object of ours names as its origin: `namespace/name` of a ModelDeployment, and of others the kind before it.
fn owner_of(root: &Node<'_>) -> Option<String> {
    if let Some(owner) = annotation(root, MODEL_DEPLOYMENT) {
        return Some(owner.to_owned());
    }
    TRANSFORMS.iter().find_map(|transform| {
        let owner = annotation(root, transform.owner_annotation())?;
        Some(format!("{} {owner}", transform.kind().1))
    })
}

/// An annotation of one of the dialects. Asked several times of every document: no key is put together for it.
pub(super) fn annotation<'n>(root: &'n Node<'_>, name: &str) -> Option<&'n str> {
    let annotations = root.get("metadata").and_then(|metadata| metadata.get("annotations"))?;
    let value = |dialect: &Dialect| {
        let mut entries = annotations.entries().iter();
        entries.find(|entry| entry.key.strip_prefix(dialect.label_prefix) == Some(name))?.node.as_str()
    };
    kubefoundry_kubernetes::api_group::DIALECTS.iter().find_map(value)
}
