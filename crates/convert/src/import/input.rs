//! The objects of an input, of any kind.

use serde_json::Value;

use kubefoundry_compiler::reading::report_failure;
use kubefoundry_deployment::wire;
use kubefoundry_diagnostics::source::{Purpose, Source, SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, DocumentScope, Findings, ObjectRef};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_model::composition::Composition;
use kubefoundry_provider::Provider;
use kubefoundry_provider::draft::string_at;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::edit::TextEditor;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::text::one_of;

/// A parsed text of the input.
pub(crate) struct ParsedText<'s> {
    source: SourceId,
    content: &'s str,
    documents: Vec<yaml::Document<'s>>,
}

/// An object, on its own or in a list.
pub(crate) struct ParsedObject<'t> {
    pub(crate) composition: &'static Composition,
    pub(crate) source: SourceId,
    pub(crate) document: usize,
    /// The path in its document.
    pub(crate) base: FieldPath,
    pub(crate) value: Value,
    text: &'t str,
    documents: &'t [yaml::Document<'t>],
    /// The position of its document among the parsed documents.
    position: usize,
    root: &'t Node<'t>,
}

/// Parses every text of the input and reports its syntax errors.
pub(crate) fn parse_texts<'s>(sources: &'s SourceSet, diagnostics: &mut Vec<Diagnostic>) -> Vec<ParsedText<'s>> {
    let inputs = sources.iter().filter(|(_, source)| source.purpose == Purpose::Input);
    inputs.map(|(id, source)| parse_text(id, source, diagnostics)).collect()
}

/// Parses a text and reports the problems of its documents, each at its own position.
fn parse_text<'s>(id: SourceId, source: &'s Source, diagnostics: &mut Vec<Diagnostic>) -> ParsedText<'s> {
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

/// Returns the objects of texts, in order. The items of a list are separate objects.
pub(crate) fn objects<'t>(composition: &'static Composition, texts: &'t [ParsedText<'t>]) -> Vec<ParsedObject<'t>> {
    let mut objects = Vec::new();
    for text in texts {
        for (position, parsed) in text.documents.iter().enumerate() {
            collect_objects(composition, text, (position, parsed), &FieldPath::root(), &mut objects);
        }
    }
    objects
}

/// Adds the object at `base` of a document or, for a list, every object in it.
fn collect_objects<'t>(
    composition: &'static Composition,
    from: &'t ParsedText<'t>,
    (position, document): (usize, &'t yaml::Document<'t>),
    base: &FieldPath,
    objects: &mut Vec<ParsedObject<'t>>,
) {
    let Some(node) = document.root.at(base) else { return };
    let is_list = node.get("kind").and_then(Node::as_str).is_some_and(|kind| kind.ends_with("List"));
    if is_list && let Some(items) = node.get("items") {
        for index in 0..items.items().len() {
            collect_objects(composition, from, (position, document), &base.key("items").index(index), objects);
        }
        return;
    }
    let value = node.to_json();
    if value.is_object() {
        objects.push(ParsedObject {
            composition,
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

/// Returns the kinds that can be imported, as group and kind.
pub(crate) fn importable_kinds(composition: &Composition) -> impl Iterator<Item = (&'static str, &'static str)> {
    composition.providers().iter().flat_map(|provider| provider.info().kinds).map(|kind| (kind.group, kind.kind))
}

impl ParsedObject<'_> {
    fn group(&self) -> &str {
        string_at(&self.value, "/apiVersion").and_then(|version| version.split_once('/')).map_or("", |(group, _)| group)
    }

    /// Returns the provider that imports the object.
    pub(crate) fn provider(&self) -> Option<&'static dyn Provider> {
        let provider = self.composition.providers().iter().copied().find(|provider| provider.owns(&self.value))?;
        // An object that another object of the provider owns is a part of its owner and is not imported separately. An
        // example is a Workspace of an InferenceSet.
        let owner = string_at(&self.value, "/metadata/ownerReferences/0/kind");
        let info = provider.info();
        let is_part = info.kinds.iter().chain(info.unsupported_kinds).any(|kind| Some(kind.kind) == owner);
        (!is_part).then_some(provider)
    }

    /// Returns why the object cannot be imported if its kind, or that of its owner, belongs to the stack of a provider
    /// but is rendered by no ModelDeployment.
    pub(crate) fn unsupported_kind(&self) -> Option<String> {
        let kind = string_at(&self.value, "/kind")?;
        let owner = string_at(&self.value, "/metadata/ownerReferences/0/kind");
        self.composition.providers().iter().find_map(|provider| {
            let info = provider.info();
            let finds = |kind: &str| {
                info.unsupported_kinds.iter().find(|other| other.group == self.group() && other.kind == kind)
            };
            if finds(kind).is_some() {
                let kinds: Vec<&str> = info.kinds.iter().map(|main| main.kind).collect();
                return Some(format!("no ModelDeployment renders a {kind}, expected {}", one_of(&kinds)));
            }
            let owner = owner.and_then(finds).filter(|_| info.has_kind(self.group(), kind))?.kind;
            Some(format!("it belongs to a {owner}, which no ModelDeployment renders"))
        })
    }

    /// Returns the object with another value.
    pub(crate) fn with_value(&self, value: Value) -> Self {
        Self { value, base: self.base.clone(), ..*self }
    }

    /// Returns the namespace, if the object has one.
    pub(crate) fn namespace(&self) -> Option<&str> {
        string_at(&self.value, "/metadata/namespace")
    }

    /// Returns a reference to the object.
    pub(crate) fn reference(&self) -> ObjectRef {
        let text = |pointer: &str| string_at(&self.value, pointer).unwrap_or_default().into();
        ObjectRef {
            api_version: text("/apiVersion"),
            kind: text("/kind"),
            namespace: string_at(&self.value, "/metadata/namespace").map(Into::into),
            name: text("/metadata/name"),
        }
    }

    /// Returns the API group of the object if it is one of kubefoundry.
    pub(crate) fn api_group(&self) -> Option<&'static ApiGroup> {
        ApiGroup::find(self.group())
    }

    /// Returns whether the object is a ModelDeployment of a kubefoundry API group.
    pub(crate) fn is_model(&self) -> bool {
        self.api_group().is_some() && string_at(&self.value, "/kind") == Some(wire::KIND)
    }

    /// Returns whether the object is a provider configuration of a kubefoundry API group.
    pub(crate) fn is_config(&self) -> bool {
        self.api_group().is_some() && string_at(&self.value, "/kind") == Some(wire::CONFIGURATION_KIND)
    }

    /// Returns whether the object is a kustomization.
    pub(crate) fn is_kustomization(&self) -> bool {
        matches!(string_at(&self.value, "/kind"), Some("Kustomization" | "Component"))
            || self.group() == "" && self.value.get("kind").is_none() && self.value.get("patches").is_some()
    }

    /// Returns the node of the object in its document.
    pub(crate) fn node(&self) -> Option<&Node<'_>> {
        self.root.at(&self.base)
    }

    /// Returns an editor of its document.
    pub(crate) fn editor(&self) -> TextEditor<'_, '_> {
        TextEditor::new(self.text, self.documents, self.position)
    }

    /// Converts the path of a field in the object to its path in the document.
    pub(crate) fn document_path(&self, path: &FieldPath) -> FieldPath {
        path.segments().iter().fold(self.base.clone(), |at, segment| match segment {
            Segment::Key(key) => at.key(key.clone()),
            Segment::Index(index) => at.index(*index),
        })
    }

    /// Returns the scope for findings about the object.
    pub(crate) fn scope(&self) -> DocumentScope<'_> {
        let object = Some(self.reference());
        DocumentScope { source: self.source, text: self.text, document: self.document, root: self.root, object }
    }
}
