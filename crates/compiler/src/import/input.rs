//! The objects of an input, whatever their kind.

use serde_json::Value;

use crate::reading::report_failure;
use kubefoundry_diagnostics::source::{Purpose, Source, SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, DocumentScope, Findings, ObjectRef};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_model::draft::string_at;
use kubefoundry_model::provider::Provider;
use kubefoundry_model::providers::PROVIDERS;
use kubefoundry_model::wire;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::edit::TextEditor;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// A text of the input, read.
pub(crate) struct ParsedText<'s> {
    source: SourceId,
    content: &'s str,
    documents: Vec<yaml::Document<'s>>,
}

/// An object, on its own or in a list.
pub(crate) struct InputObject<'t> {
    pub(crate) source: SourceId,
    pub(crate) document: usize,
    /// Where it stands in its document.
    pub(crate) base: FieldPath,
    pub(crate) value: Value,
    text: &'t str,
    documents: &'t [yaml::Document<'t>],
    /// The position of its document among those that were read.
    position: usize,
    root: &'t Node<'t>,
}

/// Reads every text with resources.
pub(crate) fn texts<'s>(sources: &'s SourceSet, diagnostics: &mut Vec<Diagnostic>) -> Vec<ParsedText<'s>> {
    let inputs = sources.iter().filter(|(_, source)| source.purpose == Purpose::Input);
    inputs.map(|(id, source)| read(id, source, diagnostics)).collect()
}

fn read<'s>(id: SourceId, source: &'s Source, diagnostics: &mut Vec<Diagnostic>) -> ParsedText<'s> {
    let parsed = yaml::parse(&source.text, &yaml::Limits::default());
    let problems = parsed.documents.iter().flat_map(|document| &document.problems).chain(&parsed.failure);
    for problem in problems {
        let nothing = Node { value: yaml::Value::Null, span: problem.span };
        let scope = DocumentScope { source: id, text: &source.text, document: 0, root: &nothing, object: None };
        let mut findings = Findings::new(scope);
        report_failure(problem, &mut findings);
        diagnostics.extend(findings.into_diagnostics());
    }
    ParsedText { source: id, content: &source.text, documents: parsed.documents }
}

/// The objects of texts, in order; those of a list each on its own.
pub(crate) fn objects<'t>(texts: &'t [ParsedText<'t>]) -> Vec<InputObject<'t>> {
    let mut objects = Vec::new();
    for text in texts {
        for (position, parsed) in text.documents.iter().enumerate() {
            collect(text, (position, parsed), &FieldPath::root(), &mut objects);
        }
    }
    objects
}

fn collect<'t>(
    from: &'t ParsedText<'t>,
    (position, document): (usize, &'t yaml::Document<'t>),
    base: &FieldPath,
    objects: &mut Vec<InputObject<'t>>,
) {
    let Some(node) = document.root.at(base) else { return };
    let is_list = node.get("kind").and_then(Node::as_str).is_some_and(|kind| kind.ends_with("List"));
    if is_list && let Some(items) = node.get("items") {
        for index in 0..items.items().len() {
            collect(from, (position, document), &base.key("items").index(index), objects);
        }
        return;
    }
    let value = node.to_json();
    if value.is_object() {
        objects.push(InputObject {
            source: from.source,
            document: document.index,
            base: base.clone(),
            value,
            text: from.content,
            documents: &from.documents,
            position,
            root: &document.root,
        });
    }
}

/// The kinds that can be imported, as group and kind.
pub(crate) fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    PROVIDERS.iter().flat_map(|provider| provider.info().kinds).map(|own| (own.group, own.kind))
}

impl InputObject<'_> {
    fn group(&self) -> &str {
        string_at(&self.value, "/apiVersion").and_then(|version| version.split_once('/')).map_or("", |(group, _)| group)
    }

    /// The provider that reads objects of this kind.
    pub(crate) fn provider(&self) -> Option<&'static dyn Provider> {
        let kind = string_at(&self.value, "/kind")?;
        let reads = |provider: &&dyn Provider| provider.info().has_kind(self.group(), kind);
        let provider = PROVIDERS.iter().copied().find(reads)?;
        // An object that another one of its provider owns is a part of that one: an InferenceSet's Workspaces.
        let owner = string_at(&self.value, "/metadata/ownerReferences/0/kind");
        let is_part = provider.info().kinds.iter().any(|own| Some(own.kind) == owner);
        (!is_part).then_some(provider)
    }

    /// Its namespace, when it states one.
    pub(crate) fn namespace(&self) -> Option<&str> {
        string_at(&self.value, "/metadata/namespace")
    }

    /// What it is.
    pub(crate) fn reference(&self) -> ObjectRef {
        let of = |pointer: &str| string_at(&self.value, pointer).unwrap_or_default().into();
        ObjectRef {
            api_version: of("/apiVersion"),
            kind: of("/kind"),
            namespace: string_at(&self.value, "/metadata/namespace").map(Into::into),
            name: of("/metadata/name"),
        }
    }

    /// The API group whose object it is.
    pub(crate) fn api_group(&self) -> Option<&'static ApiGroup> {
        ApiGroup::find(self.group())
    }

    /// Whether it is a ModelDeployment of ours.
    pub(crate) fn is_model(&self) -> bool {
        self.api_group().is_some() && string_at(&self.value, "/kind") == Some(wire::KIND)
    }

    /// Whether it is a provider configuration of ours.
    pub(crate) fn is_config(&self) -> bool {
        self.api_group().is_some() && string_at(&self.value, "/kind") == Some(wire::CONFIGURATION_KIND)
    }

    /// Whether it is a kustomization.
    pub(crate) fn is_kustomization(&self) -> bool {
        matches!(string_at(&self.value, "/kind"), Some("Kustomization" | "Component"))
            || self.group() == "" && self.value.get("kind").is_none() && self.value.get("patches").is_some()
    }

    /// Its tree.
    pub(crate) fn node(&self) -> Option<&Node<'_>> {
        self.root.at(&self.base)
    }

    /// An editor of its document.
    pub(crate) fn editor(&self) -> TextEditor<'_, '_> {
        TextEditor::new(self.text, self.documents, self.position)
    }

    /// A field of it, as a path of its document.
    pub(crate) fn place(&self, path: &FieldPath) -> FieldPath {
        path.segments().iter().fold(self.base.clone(), |at, segment| match segment {
            Segment::Key(key) => at.key(key.clone()),
            Segment::Index(index) => at.index(*index),
        })
    }

    /// The scope for findings in it.
    pub(crate) fn scope(&self) -> DocumentScope<'_> {
        let object = Some(self.reference());
        DocumentScope { source: self.source, text: self.text, document: self.document, root: self.root, object }
    }
}
