//! Phase 1: read every text, and learn of every document what it is and where it stands.

use super::kustomize;
use crate::diagnostic::{Diagnostic, Findings, ObjectRef, Scope, codes};
use crate::dialect::Dialect;
use crate::options::Options;
use crate::path::FieldPath;
use crate::source::{Purpose, SourceId, SourceSet};
use crate::yaml::{self, Failure, FailureKind, Node, Span};

/// A document, or an item of a `List`.
#[derive(Debug)]
pub(super) struct Document<'t> {
    pub(super) source: SourceId,
    pub(super) text: &'t str,
    pub(super) index: usize,
    pub(super) root: Node<'t>,
    pub(super) header: Header,
    pub(super) problems: Vec<Failure>,
}

/// What a document says it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    /// `group/version`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace, when stated.
    pub namespace: Option<String>,
    /// The name; empty when there is none.
    pub name: String,
}

impl Header {
    fn of(root: &Node<'_>) -> Self {
        let text = |node: Option<&Node<'_>>| node.and_then(Node::as_str).unwrap_or_default().to_owned();
        let metadata = root.get("metadata");
        let field = |name: &str| metadata.and_then(|metadata| metadata.get(name));
        Self {
            api_version: text(root.get("apiVersion")),
            kind: text(root.get("kind")),
            namespace: field("namespace").and_then(Node::as_str).map(str::to_owned),
            name: text(field("name")),
        }
    }

    /// The API group.
    pub fn group(&self) -> &str {
        self.api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }

    /// The object in messages.
    pub fn object(&self) -> ObjectRef {
        ObjectRef {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

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

impl Document<'_> {
    /// The scope for findings in this document.
    pub(super) fn scope(&self) -> Scope<'_> {
        let object = (!self.header.kind.is_empty()).then(|| self.header.object());
        Scope { source: self.source, text: self.text, document: self.index, root: &self.root, object }
    }

    /// Moves what strict reading refused into findings; whether there was any.
    pub(super) fn report_problems(&self, findings: &mut Findings<'_>) -> bool {
        for problem in &self.problems {
            report_failure(problem, findings);
        }
        !self.problems.is_empty()
    }

    /// The items of a list, as documents of their own.
    fn items(self) -> Vec<Self> {
        let Self { source, text, index, root, problems, .. } = self;
        let items = match root.value {
            yaml::Value::Mapping(entries) => {
                entries.into_iter().find(|entry| entry.key == "items").map(|entry| entry.node.value)
            }
            _ => None,
        };
        let Some(yaml::Value::Sequence(items)) = items else { return Vec::new() };
        items
            .into_iter()
            .map(|root| {
                let inside = |span: Span| span.start >= root.span.start && span.end <= root.span.end;
                let problems = problems.iter().filter(|problem| inside(problem.span)).cloned().collect();
                Self { source, text, index, header: Header::of(&root), root, problems }
            })
            .collect()
    }
}

/// Reads every text of the input. Options are not among them; they are read before.
pub(super) fn index<'t>(sources: &'t SourceSet, options: &Options) -> Index<'t> {
    let mut index = Index::default();
    let mut patched = Vec::new();
    for (id, source) in sources.iter().filter(|(_, source)| source.purpose != Purpose::Options) {
        let parsed = yaml::parse(&source.text, &options.limits);
        let failures = parsed.failure.iter().chain(&parsed.later_failures);
        if DIALECT_MARKS.iter().any(|mark| source.text.contains(mark)) {
            // A broken text that never speaks of us is none of our business: a template, another tool's input.
            for failure in failures {
                let root = Node { value: yaml::Value::Null, span: failure.span };
                let scope = Scope { source: id, text: &source.text, document: 0, root: &root, object: None };
                let mut findings = Findings::new(scope);
                report_failure(failure, &mut findings);
                index.diagnostics.extend(findings.into_diagnostics());
            }
        }
        for document in parsed.documents {
            let header = Header::of(&document.root);
            let span = document.span;
            let document = Document {
                source: id,
                text: &source.text,
                index: document.index,
                root: document.root,
                header,
                problems: document.problems,
            };
            if kustomize::is_kustomization(&source.name, document.header.group(), &document.header.kind) {
                patched.extend(kustomize::patch_paths(&source.name, &document.root));
            }
            if document.header.is_list() {
                for item in document.items() {
                    let span = item.root.span;
                    index.add(item, span, source.purpose);
                }
            } else {
                index.add(document, span, source.purpose);
            }
        }
    }
    let is_patch =
        |document: &Document<'t>| patched.contains(&kustomize::normalize("", &sources.get(document.source).name));
    let (patches, deployments) = std::mem::take(&mut index.deployments).into_iter().partition(is_patch);
    index.patches = patches;
    index.deployments = deployments;
    let patches = &index.patches;
    for input in &mut index.inputs {
        input.rendered &= !patches.iter().any(|patch| patch.source == input.source && patch.index == input.index);
    }
    index
}

/// Texts that occur in every document of ours.
static DIALECT_MARKS: &[&str] = &["kubefoundry.ai/", "kubeairunway.ai/"];

impl Header {
    fn is_list(&self) -> bool {
        (self.api_version == "v1" && self.kind == "List")
            || (Dialect::of_group(self.group()).is_some() && self.kind.ends_with("List"))
    }
}

impl<'t> Index<'t> {
    fn add(&mut self, document: Document<'t>, span: Span, purpose: Purpose) {
        let header = &document.header;
        let dialect = Dialect::of_group(header.group());
        let deployment = dialect.is_some() && header.kind == "ModelDeployment" && purpose == Purpose::Input;
        if purpose == Purpose::Input {
            self.inputs.push(InputDocument {
                source: document.source,
                index: document.index,
                span,
                header: header.clone(),
                name_span: document.root.locate(&FieldPath::parse("metadata.name"), yaml::Target::Value),
                rendered: deployment,
                owner: owner_of(&document.root),
            });
        }
        let Some(dialect) = dialect else {
            if header.kind == "ModelDeployment" && !header.group().is_empty() {
                self.foreign_deployment(&document);
            }
            return;
        };
        let mut findings = Findings::new(document.scope());
        if header.api_version != dialect.api_version() {
            findings
                .report(
                    &codes::UNKNOWN_VERSION,
                    "apiVersion",
                    format!("apiVersion {:?} is unknown, expected {}", header.api_version, dialect.api_version()),
                )
                .replace_with("use the known version", dialect.api_version());
            self.diagnostics.extend(findings.into_diagnostics());
            return;
        }
        match header.kind.as_str() {
            "ModelDeployment" if deployment => self.deployments.push(document),
            "ModelDeployment" => {}
            "InferenceProviderConfig" => self.configs.push(document),
            kind => {
                let kinds = ["ModelDeployment", "InferenceProviderConfig"];
                let message = format!("{} has no kind {kind:?}, expected {}", dialect.group, kinds.join(" or "));
                let reported = findings.report(&codes::UNKNOWN_KIND, "kind", message);
                if let Some(meant) = crate::wire::closest(kind, kinds) {
                    reported
                        .help(format!("did you mean {meant}?"))
                        .replace_with(format!("change it to {meant}"), meant);
                }
                self.diagnostics.extend(findings.into_diagnostics());
            }
        }
    }

    fn foreign_deployment(&mut self, document: &Document<'_>) {
        let mut findings = Findings::new(document.scope());
        let group = document.header.group();
        let groups: Vec<&str> = crate::dialect::DIALECTS.iter().map(|dialect| dialect.group).collect();
        let message = format!("ModelDeployment of group {group} is not rendered, expected {}", groups.join(" or "));
        let reported = findings.report(&codes::FOREIGN_MODEL_DEPLOYMENT, "apiVersion", message);
        if let Some(meant) = crate::wire::closest(group, groups.iter().copied()) {
            reported.help(format!("did you mean {meant}/v1alpha1?"));
        }
        self.diagnostics.extend(findings.into_diagnostics());
    }
}

/// The deployment that an object of ours names as its origin.
fn owner_of(root: &Node<'_>) -> Option<String> {
    let annotations = root.get("metadata").and_then(|metadata| metadata.get("annotations"))?;
    let owner = |dialect: &Dialect| annotations.get(&dialect.label("model-deployment")).and_then(Node::as_str);
    crate::dialect::DIALECTS.iter().find_map(owner).map(str::to_owned)
}

pub(super) fn report_failure(failure: &Failure, findings: &mut Findings<'_>) {
    let code = match failure.kind {
        FailureKind::Syntax | FailureKind::UnknownAlias | FailureKind::BadMerge | FailureKind::BadTag => &codes::SYNTAX,
        FailureKind::DuplicateKey | FailureKind::MergeOverride => &codes::DUPLICATE_KEY,
        FailureKind::NotJson => &codes::NOT_JSON,
        FailureKind::TooManyNodes | FailureKind::TooDeep | FailureKind::TooLarge | FailureKind::TooManyAliases => {
            &codes::LIMIT_EXCEEDED
        }
    };
    let reported = findings.report_at(code, &FieldPath::root(), failure.span, failure.sentence());
    if let Some((span, message)) = &failure.related {
        reported.related_at(*span, message.clone());
    }
}
