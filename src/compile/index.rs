//! Phase 1: read every text, and learn of every document what it is and where it stands.

use super::document::{Document, Header, report_failure, speaks_of_us};
use super::kustomize;
use crate::diagnostic::{Diagnostic, Findings, Scope, codes};
use crate::dialect::Dialect;
use crate::options::Options;
use crate::path::FieldPath;
use crate::source::{Purpose, SourceId, SourceSet};
use crate::yaml::{self, Node, Span};

/// Where a document that is not ours stands, so that it can be passed through byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputDocument {
    /// Which text.
    pub source: SourceId,
    /// Its position in the text.
    pub index: usize,
    /// Its own bytes there.
    pub span: Span,
    /// What it is.
    pub header: Header,
    /// Where its name stands.
    pub name_span: Span,
    /// Whether it is a ModelDeployment that is rendered.
    pub rendered: bool,
    /// The ModelDeployment that it was generated from earlier, by its annotation.
    pub owner: Option<String>,
}

/// Everything that the input holds.
#[derive(Debug, Default)]
pub(super) struct Index<'t> {
    pub(super) deployments: Vec<Document<'t>>,
    pub(super) configs: Vec<Document<'t>>,
    /// Documents that a kustomization applies as patches: parts of objects.
    pub(super) patches: Vec<Document<'t>>,
    pub(super) inputs: Vec<InputDocument>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Reads every text of the input. Options are not among them; they are read before.
pub(super) fn index<'t>(sources: &'t SourceSet, options: &Options) -> Index<'t> {
    let mut index = Index::default();
    let mut patched = Vec::new();
    let mut documents = Vec::new();
    for (id, source) in sources.iter().filter(|(_, source)| source.purpose != Purpose::Options) {
        let parsed = yaml::parse(&source.text, &options.limits);
        if speaks_of_us(&source.text) {
            for failure in parsed.failure.iter().chain(&parsed.later_failures) {
                let root = Node { value: yaml::Value::Null, span: failure.span };
                let scope = Scope { source: id, text: &source.text, document: 0, root: &root, object: None };
                let mut findings = Findings::new(scope);
                report_failure(failure, &mut findings);
                index.diagnostics.extend(findings.into_diagnostics());
            }
        }
        for document in parsed.documents {
            let header = Header::of(&document.root);
            if kustomize::is_kustomization(&source.name, header.group(), &header.kind) {
                patched.extend(kustomize::patch_paths(&source.name, &document.root));
            }
            let document = Document {
                source: id,
                text: &source.text,
                index: document.index,
                span: document.span,
                root: document.root,
                header,
                problems: document.problems,
            };
            document.flatten(&mut documents, &mut index.diagnostics);
        }
    }
    for document in documents {
        let source = sources.get(document.source);
        let is_patch = patched.contains(&kustomize::normalize("", &source.name));
        index.add(document, source.purpose, is_patch);
    }
    index
}

impl<'t> Index<'t> {
    fn add(&mut self, document: Document<'t>, purpose: Purpose, is_patch: bool) {
        if purpose == Purpose::Input {
            let header = &document.header;
            self.inputs.push(InputDocument {
                source: document.source,
                index: document.index,
                span: document.span,
                header: header.clone(),
                name_span: document.root.locate(&FieldPath::parse("metadata.name"), yaml::Target::Value),
                rendered: header.dialect().is_some() && header.kind == "ModelDeployment" && !is_patch,
                owner: owner_of(&document.root),
            });
        }
        let mut findings = Findings::new(document.scope());
        let role = Role::of(&document, purpose, is_patch, &mut findings);
        self.diagnostics.extend(findings.into_diagnostics());
        match role {
            Role::Deployment => self.deployments.push(document),
            Role::Config => self.configs.push(document),
            Role::Patch => self.patches.push(document),
            Role::None => {}
        }
    }
}

/// What becomes of a document.
enum Role {
    Deployment,
    Config,
    Patch,
    /// It is passed through, or a finding says what is wrong with it.
    None,
}

impl Role {
    fn of(document: &Document<'_>, purpose: Purpose, is_patch: bool, findings: &mut Findings<'_>) -> Self {
        let header = &document.header;
        if document.is_partial() && (header.api_version.is_empty() || header.kind.is_empty()) {
            // What says whose it is may stand behind the limit.
            if document.speaks_of_us() {
                document.report_problems(findings);
            }
            return Self::None;
        }
        let Some(dialect) = header.dialect() else {
            if header.api_version == crate::wire::RENDER_API_VERSION && purpose == Purpose::Input {
                let message = "these options are not used, expected them as kubefoundry.yaml of the one directory given, or by --config";
                findings.report(&codes::UNUSED_OPTIONS, "kind", message);
            }
            if header.kind == "ModelDeployment" {
                if header.group().is_empty() {
                    document.report_header(findings);
                } else {
                    foreign_deployment(header.group(), findings);
                }
            }
            return Self::None;
        };
        if header.api_version != dialect.api_version() {
            let message = format!("apiVersion {:?} is unknown, expected {}", header.api_version, dialect.api_version());
            findings
                .report(&codes::UNKNOWN_VERSION, "apiVersion", message)
                .replace_with("use the known version", dialect.api_version());
            return Self::None;
        }
        match header.kind.as_str() {
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

fn unknown_kind(kind: &str, dialect: &Dialect, findings: &mut Findings<'_>) {
    let kinds = ["ModelDeployment", "InferenceProviderConfig"];
    let message = format!("{} has no kind {kind:?}, expected {}", dialect.group, kinds.join(" or "));
    let reported = findings.report(&codes::UNKNOWN_KIND, "kind", message);
    if let Some(meant) = crate::wire::closest(kind, kinds) {
        reported.help(format!("did you mean {meant}?")).replace_with(format!("change it to {meant}"), meant);
    }
}

fn foreign_deployment(group: &str, findings: &mut Findings<'_>) {
    let groups: Vec<&str> = crate::dialect::DIALECTS.iter().map(|dialect| dialect.group).collect();
    let message = format!("ModelDeployment of group {group} is not rendered, expected {}", groups.join(" or "));
    let reported = findings.report(&codes::FOREIGN_MODEL_DEPLOYMENT, "apiVersion", message);
    if let Some(meant) = crate::wire::closest(group, groups.iter().copied()) {
        reported.help(format!("did you mean {meant}/v1alpha1?"));
    }
}

/// The deployment that an object of ours names as its origin.
fn owner_of(root: &Node<'_>) -> Option<String> {
    let annotations = root.get("metadata").and_then(|metadata| metadata.get("annotations"))?;
    let owner = |dialect: &Dialect| annotations.get(&dialect.label("model-deployment")).and_then(Node::as_str);
    crate::dialect::DIALECTS.iter().find_map(owner).map(str::to_owned)
}
