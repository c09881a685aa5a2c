//! The objects of an input, whatever their kind.

use serde_json::Value;

use crate::compile::report_failure;
use crate::diagnostic::{Diagnostic, Findings, ObjectRef, Scope};
use crate::model::draft::text;
use crate::model::provider::Provider;
use crate::model::providers::PROVIDERS;
use crate::path::FieldPath;
use crate::source::{Purpose, Source, SourceId, SourceSet};
use crate::yaml::{self, Node};

/// A text of the input, read.
pub(super) struct Text<'s> {
    source: SourceId,
    text: &'s str,
    documents: Vec<yaml::Document<'s>>,
}

/// An object, on its own or in a list.
pub(super) struct Object<'t> {
    pub(super) source: SourceId,
    pub(super) document: usize,
    /// Where it stands in its document.
    pub(super) base: FieldPath,
    pub(super) value: Value,
    text: &'t str,
    root: &'t Node<'t>,
}

/// Reads every text with resources.
pub(super) fn texts<'s>(sources: &'s SourceSet, diagnostics: &mut Vec<Diagnostic>) -> Vec<Text<'s>> {
    let inputs = sources.iter().filter(|(_, source)| source.purpose == Purpose::Input);
    inputs.map(|(id, source)| read(id, source, diagnostics)).collect()
}

fn read<'s>(id: SourceId, source: &'s Source, diagnostics: &mut Vec<Diagnostic>) -> Text<'s> {
    let parsed = yaml::parse(&source.text, &yaml::Limits::default());
    let problems = parsed.documents.iter().flat_map(|document| &document.problems).chain(&parsed.failure);
    for problem in problems {
        let nothing = Node { value: yaml::Value::Null, span: problem.span };
        let scope = Scope { source: id, text: &source.text, document: 0, root: &nothing, object: None };
        let mut findings = Findings::new(scope);
        report_failure(problem, &mut findings);
        diagnostics.extend(findings.into_diagnostics());
    }
    Text { source: id, text: &source.text, documents: parsed.documents }
}

/// The objects of texts, in order; those of a list each on its own.
pub(super) fn objects<'t>(texts: &'t [Text<'t>]) -> Vec<Object<'t>> {
    let mut objects = Vec::new();
    for text in texts {
        for (document, parsed) in text.documents.iter().enumerate() {
            collect(text, document, &parsed.root, &FieldPath::root(), &mut objects);
        }
    }
    objects
}

fn collect<'t>(
    from: &'t Text<'t>,
    document: usize,
    root: &'t Node<'t>,
    base: &FieldPath,
    objects: &mut Vec<Object<'t>>,
) {
    let Some(node) = root.at(base) else { return };
    let is_list = node.get("kind").and_then(Node::as_str).is_some_and(|kind| kind.ends_with("List"));
    if is_list && let Some(items) = node.get("items") {
        for index in 0..items.items().len() {
            collect(from, document, root, &base.key("items").index(index), objects);
        }
        return;
    }
    let value = node.to_json();
    if value.is_object() {
        objects.push(Object { source: from.source, document, base: base.clone(), value, text: from.text, root });
    }
}

/// The kinds that can be imported, as group and kind.
pub(super) fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    PROVIDERS.iter().flat_map(|provider| provider.imports().iter().copied())
}

impl Object<'_> {
    fn group(&self) -> &str {
        text(&self.value, "/apiVersion").and_then(|version| version.split_once('/')).map_or("", |(group, _)| group)
    }

    /// The provider that reads objects of this kind.
    pub(super) fn provider(&self) -> Option<&'static dyn Provider> {
        let kind = text(&self.value, "/kind")?;
        // What belongs to another object is no object of its own: an InferenceSet's Workspaces.
        let owner = text(&self.value, "/metadata/ownerReferences/0/kind");
        let reads = |provider: &&dyn Provider| {
            provider.imports().iter().any(|(group, own)| *group == self.group() && *own == kind)
        };
        PROVIDERS.iter().copied().find(reads).filter(|_| owner != Some("InferenceSet"))
    }

    /// Whether it may be a part of what another object belongs to.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        let namespace = |object: &Self| text(&object.value, "/metadata/namespace").map(str::to_owned);
        namespace(self) == namespace(other) && self.provider().is_none()
    }

    /// What it is.
    pub(super) fn reference(&self) -> ObjectRef {
        let of = |pointer: &str| text(&self.value, pointer).unwrap_or_default().into();
        ObjectRef {
            api_version: of("/apiVersion"),
            kind: of("/kind"),
            namespace: text(&self.value, "/metadata/namespace").map(Into::into),
            name: of("/metadata/name"),
        }
    }

    /// The scope for findings in it.
    pub(super) fn scope(&self) -> Scope<'_> {
        let object = Some(self.reference());
        Scope { source: self.source, text: self.text, document: self.document, root: self.root, object }
    }
}
