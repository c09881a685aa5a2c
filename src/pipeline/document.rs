//! A document, what it says it is, and the documents inside a list.

use std::sync::Arc;

use crate::codes;
use crate::composition;
use crate::trace::accounting;
use kubefoundry_diagnostics::source::{Source, SourceId};
use kubefoundry_diagnostics::{Diagnostic, Findings, Place, Scope};
use kubefoundry_kubernetes::api_group::{DIALECTS, Dialect};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_transform::Object;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Failure, FailureKind, Node, Span, Value};

/// A document, or an item of a `List`.
#[derive(Debug)]
pub(super) struct Document<'t> {
    pub(super) source: SourceId,
    pub(super) text: &'t str,
    pub(super) index: usize,
    /// Its own bytes.
    pub(super) span: Span,
    /// Whether it is an item of a list.
    pub(super) item: bool,
    pub(super) root: Node<'t>,
    pub(super) header: Header,
    pub(super) problems: Vec<Failure>,
    /// Of a deployment whose fields are accounted for: how it is written.
    pub(super) written: Option<accounting::Kind>,
}

/// Whether a text may hold something of ours. A broken text that never speaks of us is none of our business: a
/// template, another tool's input.
pub(super) fn speaks_of_us(text: &str) -> bool {
    DIALECTS.iter().any(|dialect| text.contains(dialect.label_prefix)) || composition::may_hold_source(text)
}

impl<'t> Document<'t> {
    /// A document of a text.
    pub(super) fn new(id: SourceId, source: &'t Source, document: yaml::Document<'t>) -> Self {
        let yaml::Document { root, span, index, problems } = document;
        Self {
            source: id,
            text: &source.text,
            index,
            span,
            item: false,
            header: Header::of(&root),
            root,
            problems,
            written: None,
        }
    }
}

impl<'t> Document<'t> {
    /// A document that is in no text.
    pub(super) fn without_text(source: SourceId, root: Node<'t>) -> Self {
        Self {
            source,
            text: "",
            index: 0,
            span: root.span,
            item: false,
            header: Header::of(&root),
            root,
            problems: Vec::new(),
            written: None,
        }
    }

    /// What transformations see of it.
    pub(super) fn into_object(self) -> Object<'t> {
        let Self { source, text, index, root, header, problems, .. } = self;
        Object { source, text, document: index, header, root, problems }
    }
}

impl Document<'_> {
    /// The scope for findings in this document.
    pub(super) fn scope(&self) -> Scope<'_> {
        let object = (!self.header.kind.is_empty()).then(|| self.header.object());
        Scope { source: self.source, text: self.text, document: self.index, root: &self.root, object }
    }

    /// Whether a limit was passed: then what was read of it is a part.
    pub(super) fn is_partial(&self) -> bool {
        self.problems.iter().any(|problem| problem.kind.is_limit())
    }

    /// Whether this document may hold something of ours.
    pub(super) fn speaks_of_us(&self) -> bool {
        self.text.get(self.span.start..self.span.end).is_some_and(speaks_of_us)
    }

    /// Moves what strict reading refused into findings.
    pub(super) fn report_problems(&self, findings: &mut Findings<'_>) {
        for problem in &self.problems {
            report_failure(problem, findings);
        }
    }

    /// The document itself, or, of a list, its items, and theirs. What is wrong with a list that may hold something of
    /// ours is reported; of one that passed a limit nothing comes out.
    pub(super) fn flatten(self, out: &mut Vec<Self>, diagnostics: &mut Vec<Diagnostic>) {
        if !self.header.is_list() {
            out.push(self);
            return;
        }
        let ours = self.speaks_of_us();
        let mut findings = Findings::new(self.scope());
        let items = self.root.get("items");
        let inside = |item: &Node<'_>, problem: &Failure| {
            problem.span.start >= item.span.start && problem.span.end <= item.span.end
        };
        let of_an_item =
            |problem: &Failure| items.is_some_and(|items| items.items().iter().any(|item| inside(item, problem)));
        if ours {
            let partial = self.is_partial();
            for problem in self.problems.iter().filter(|problem| partial || !of_an_item(problem)) {
                report_failure(problem, &mut findings);
            }
            if items.is_some_and(|items| !matches!(items.value, Value::Sequence(_) | Value::Null)) {
                findings.report(&codes::WRONG_TYPE, "items", "items is not a list, expected a list of objects");
            }
        }
        diagnostics.extend(findings.into_diagnostics());
        if self.is_partial() {
            return;
        }
        let Self { source, text, index, root, problems, header, .. } = self;
        // Of a typed list, items may leave out what the list says of them all.
        let kind = header.kind.strip_suffix("List").filter(|kind| !kind.is_empty()).map(Arc::from);
        let Value::Mapping(entries) = root.value else { return };
        let items = entries.into_iter().find(|entry| entry.key == "items").map(|entry| entry.node.value);
        let Some(Value::Sequence(items)) = items else { return };
        for item in items {
            let problems = problems.iter().filter(|problem| inside(&item, problem)).cloned().collect();
            let mut own = Header::of(&item);
            if let Some(kind) = &kind
                && own.api_version.is_empty()
                && own.kind.is_empty()
            {
                own.api_version.clone_from(&header.api_version);
                own.kind.clone_from(kind);
            }
            let item = Self {
                source,
                text,
                index,
                span: item.span,
                item: true,
                header: own,
                root: item,
                problems,
                written: None,
            };
            item.flatten(out, diagnostics);
        }
    }

    /// What is wrong with a document that speaks of us but does not say what it is.
    pub(super) fn report_header(&self, findings: &mut Findings<'_>) {
        let Header { api_version, kind, .. } = &self.header;
        let versions: Vec<String> = DIALECTS.iter().map(Dialect::api_version).collect();
        let expected = versions.join(" or ");
        if self.header.dialect().is_some() {
            let message = "kind is required, expected ModelDeployment or InferenceProviderConfig";
            findings.report(&codes::REQUIRED_FIELD, "kind", message);
        } else if api_version.is_empty() {
            let reported = findings.report(
                &codes::REQUIRED_FIELD,
                Place::key(&FieldPath::parse("apiVersion")),
                format!("apiVersion of a {kind} is required, expected {expected}"),
            );
            let keys = self.root.entries().iter().map(|entry| entry.key.as_ref());
            if let Some(near) = kubefoundry_yaml::text::closest("apiVersion", keys.filter(|key| *key != "kind")) {
                reported.help(format!("{near:?} may be meant to be it"));
            }
        } else {
            let message = format!("apiVersion {api_version:?} of a {kind} is unknown, expected {expected}");
            findings.report(&codes::UNKNOWN_VERSION, "apiVersion", message);
        }
    }
}

/// Reports what reading refused.
pub(crate) fn report_failure(failure: &Failure, findings: &mut Findings<'_>) {
    let code = match failure.kind {
        FailureKind::Syntax | FailureKind::UnknownAlias | FailureKind::BadMerge | FailureKind::BadTag => &codes::SYNTAX,
        FailureKind::DuplicateKey | FailureKind::MergeOverride => &codes::DUPLICATE_KEY,
        FailureKind::NotJson => &codes::NOT_JSON,
        FailureKind::TooManyDocuments
        | FailureKind::TooManyNodes
        | FailureKind::TooDeep
        | FailureKind::TooLarge
        | FailureKind::TooManyAliases => &codes::LIMIT_EXCEEDED,
    };
    let reported = findings.report_at(code, &FieldPath::root(), failure.span, failure.sentence());
    if let Some((span, message)) = &failure.related {
        reported.related_at(*span, message.clone());
    }
}
