//! Documents of a text, including the items of lists.

use std::ops::Deref;
use std::sync::Arc;

use crate::codes;
use crate::reading::report_failure;
use kubefoundry_diagnostics::source::{Source, SourceId};
use kubefoundry_diagnostics::{Diagnostic, Findings};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_model::composition::Composition;
use kubefoundry_transform::InputObject;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::spelling::may_be_binary;
use kubefoundry_yaml::{Failure, FailureKind, Node, Span, Value};

/// A document, or an item of a `List`.
#[derive(Debug)]
pub(crate) struct Document<'t> {
    /// The part that transformations see.
    pub(crate) object: InputObject<'t>,
    /// The bytes of the document.
    pub(crate) span: Span,
    /// Whether the document is an item of a list.
    pub(crate) item: bool,
}

impl<'t> Deref for Document<'t> {
    type Target = InputObject<'t>;

    fn deref(&self) -> &InputObject<'t> {
        &self.object
    }
}

impl<'t> Document<'t> {
    /// Creates a document of a text.
    pub(crate) fn new(id: SourceId, source: &'t Source, document: yaml::Document<'t>) -> Self {
        let yaml::Document { root, span, index, problems } = document;
        let header = Header::from_node(&root);
        let object = InputObject { source: id, text: &source.text, document: index, header, root, problems };
        Self { object, span, item: false }
    }

    /// Creates a document that is not part of a text.
    pub(crate) fn without_text(source: SourceId, root: Node<'t>) -> Self {
        let (span, header) = (root.span, Header::from_node(&root));
        let object = InputObject { source, text: "", document: 0, header, root, problems: Vec::new() };
        Self { object, span, item: false }
    }

    /// Returns the index of the document in its text. For an item of a list, it is the index of the list.
    pub(crate) fn index(&self) -> usize {
        self.object.document
    }
}

impl Document<'_> {
    /// Returns whether the document exceeded a limit and was therefore read only partly.
    pub(crate) fn is_partial(&self) -> bool {
        self.problems.iter().any(|problem| problem.kind.is_limit())
    }

    /// Returns whether two readers may take the document for different kinds: a part of its type is set twice, where we
    /// keep the first value and a lenient reader the last one.
    pub(crate) fn has_ambiguous_type(&self) -> bool {
        let is_of_type = |span: Span| {
            let mut entries = self.root.entries().iter();
            entries.any(|entry| matches!(&*entry.key, "apiVersion" | "kind") && entry.key_span == span)
        };
        let is_duplicate =
            |problem: &&Failure| matches!(problem.kind, FailureKind::DuplicateKey | FailureKind::MergeOverride);
        let mut duplicates = self.problems.iter().filter(is_duplicate);
        duplicates.any(|it| is_of_type(it.span) || it.related.as_ref().is_some_and(|(span, _)| is_of_type(*span)))
    }

    /// Returns whether the document may contain an object that kubefoundry handles or reports, in any spelling.
    pub(crate) fn may_hold_input(&self, composition: &Composition) -> bool {
        // A directive is not a part of the document, but can give its tags another meaning.
        let directives = self.text.get(..self.span.start).unwrap_or_default();
        may_be_binary(directives.as_bytes())
            || self.text.get(self.span.start..self.span.end).is_some_and(|text| composition.may_hold_input(text))
    }

    /// Reports the problems of strict parsing.
    pub(crate) fn report_problems(&self, findings: &mut Findings<'_>) {
        for problem in &self.problems {
            report_failure(problem, findings);
        }
    }

    /// Appends the document, or the items of a list, recursively. The problems of a list are reported if it may contain
    /// an object of an input kind. A list that exceeded a limit has no items.
    pub(crate) fn flatten(
        self,
        composition: &Composition,
        documents: &mut Vec<Self>,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        if !self.header.is_list() {
            documents.push(self);
            return;
        }
        let mut findings = Findings::new(self.scope());
        let items = self.root.get("items");
        let is_within = |item: &Node<'_>, problem: &Failure| {
            problem.span.start >= item.span.start && problem.span.end <= item.span.end
        };
        let is_in_an_item =
            |problem: &Failure| items.is_some_and(|items| items.items().iter().any(|item| is_within(item, problem)));
        if self.may_hold_input(composition) {
            // Each item reports its own problems later, but a partial list has no items.
            let partial = self.is_partial();
            for problem in self.problems.iter().filter(|problem| partial || !is_in_an_item(problem)) {
                report_failure(problem, &mut findings);
            }
            if let Some(items) = items.filter(|items| !matches!(items.value, Value::Sequence(_) | Value::Null)) {
                let message = format!("items is {}, expected a list of objects", items.describe());
                findings.report(&codes::WRONG_TYPE, "items", message);
            }
        }
        diagnostics.extend(findings.into_diagnostics());
        if self.is_partial() {
            return;
        }
        let InputObject { source, text, document, root, problems, header } = self.object;
        // Items of a typed list may omit the apiVersion and kind that the list implies.
        let kind = header.kind.strip_suffix("List").filter(|kind| !kind.is_empty()).map(Arc::from);
        let Value::Mapping(entries) = root.value else { return };
        let items = entries.into_iter().find(|entry| entry.key == "items").map(|entry| entry.node.value);
        let Some(Value::Sequence(items)) = items else { return };
        for item in items {
            let problems = problems.iter().filter(|problem| is_within(&item, problem)).cloned().collect();
            let mut item_header = Header::from_node(&item);
            if let Some(kind) = &kind
                && item_header.api_version.is_empty()
                && item_header.kind.is_empty()
            {
                item_header.api_version.clone_from(&header.api_version);
                item_header.kind.clone_from(kind);
            }
            let span = item.span;
            let object = InputObject { source, text, document, header: item_header, root: item, problems };
            Self { object, span, item: true }.flatten(composition, documents, diagnostics);
        }
    }
}
