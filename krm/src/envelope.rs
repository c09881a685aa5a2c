//! Parses the `ResourceList` and checks its envelope: everything except the items.

use kubefoundry_diagnostics::render::LineIndex;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::text::printable;
use kubefoundry_yaml::{Document, Failure, FailureKind, Limits, Node, Span, Value};

/// The API group of a `ResourceList`.
const GROUP: &str = "config.kubernetes.io";
const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];

/// Reasons why standard input is not a usable `ResourceList`. The function then returns its input unchanged: a client
/// that parses it reports its own error, and any other client loses nothing.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum EnvelopeError {
    #[error("standard input is not UTF-8 (byte {0}), {EXPECTED}")]
    NotUtf8(usize),
    #[error("standard input is empty, {EXPECTED}")]
    Empty,
    #[error("standard input, line {line}: {message}")]
    Invalid { line: usize, message: String },
    #[error("standard input has {0} documents, {EXPECTED}")]
    SeveralDocuments(usize),
    #[error("standard input is {0}, {EXPECTED}")]
    NotAResourceList(String),
    #[error("ResourceList has apiVersion {0:?}, expected {GROUP}/v1, {GROUP}/v1beta1 or {GROUP}/v1alpha1")]
    UnknownVersion(String),
    #[error("items is {0}, expected a list of objects")]
    ItemsNotAList(&'static str),
}

const EXPECTED: &str = "expected one ResourceList of config.kubernetes.io/v1";

/// A parsed `ResourceList`.
#[derive(Debug)]
pub(crate) struct Envelope<'t> {
    pub(crate) text: &'t str,
    pub(crate) document: Document<'t>,
}

impl<'t> Envelope<'t> {
    /// Parses a `ResourceList` without checking its items.
    pub(crate) fn parse(text: &'t str) -> Result<Self, EnvelopeError> {
        let parsed = yaml::parse(text, &limits(text));
        if let Some(failure) = &parsed.failure {
            return Err(invalid(text, failure));
        }
        let count = parsed.documents.len();
        let mut documents = parsed.documents.into_iter();
        let (Some(document), None) = (documents.next(), documents.next()) else {
            return Err(if count == 0 { EnvelopeError::Empty } else { EnvelopeError::SeveralDocuments(count) });
        };
        let envelope = Self { text, document };
        envelope.check_header()?;
        if let Some(problem) = envelope.document.problems.iter().find(|problem| envelope.is_envelope_problem(problem)) {
            return Err(invalid(text, problem));
        }
        match envelope.root().get("items").map(|items| (&items.value, items.describe())) {
            None | Some((Value::Null | Value::Sequence(_), _)) => Ok(envelope),
            Some((_, found)) => Err(EnvelopeError::ItemsNotAList(found)),
        }
    }

    fn check_header(&self) -> Result<(), EnvelopeError> {
        let text_of = |key: &str| self.root().get(key).and_then(Node::as_str).unwrap_or_default();
        let (api_version, kind) = (text_of("apiVersion"), text_of("kind"));
        if kind != "ResourceList" {
            let found =
                if kind.is_empty() { self.root().describe().to_owned() } else { format!("a {}", printable(kind)) };
            return Err(EnvelopeError::NotAResourceList(found));
        }
        let known =
            api_version.split_once('/').is_some_and(|(group, version)| group == GROUP && VERSIONS.contains(&version));
        if known { Ok(()) } else { Err(EnvelopeError::UnknownVersion(api_version.to_owned())) }
    }

    /// Whether a problem is in the list itself. Problems in an item are reported only if that item is read. Nodes that
    /// are nested too deeply are missing in the tree, but their text is kept, so they are no problem here.
    fn is_envelope_problem(&self, problem: &Failure) -> bool {
        let inside = |node: &Node<'_>| node.span.start <= problem.span.start && problem.span.end <= node.span.end;
        match problem.kind {
            FailureKind::TooDeep => false,
            kind if kind.is_limit() => true,
            _ => !self.items().iter().chain(self.function_config()).any(inside),
        }
    }

    pub(crate) fn root(&self) -> &Node<'t> {
        &self.document.root
    }

    /// Limits for parsing a changed version of this list, which may be longer.
    pub(crate) fn limits(&self) -> Limits {
        Limits { document_bytes: usize::MAX, ..limits(self.text) }
    }

    pub(crate) fn items(&self) -> &[Node<'t>] {
        self.root().get("items").map(Node::items).unwrap_or_default()
    }

    /// Returns the configuration unless it is null or empty.
    pub(crate) fn function_config(&self) -> Option<&Node<'t>> {
        self.root().get("functionConfig").filter(|config| match &config.value {
            Value::Null => false,
            Value::Mapping(entries) => !entries.is_empty(),
            _ => true,
        })
    }

    /// Extracts the text of a node, indented to its original column so that its lines stay aligned. Also returns the
    /// offset of the extracted text in the list.
    pub(crate) fn extract_text(&self, node: &Node<'_>) -> (String, usize) {
        let before = Span { start: 0, end: node.span.start }.of(self.text);
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
        let node_text = node.span.of(self.text);
        let indent = if node_text.starts_with(['{', '[']) { 0 } else { column };
        (format!("{}{node_text}", " ".repeat(indent)), node.span.start - indent)
    }
}

/// Limits for the list as one document. The limits of documents apply to each item when it is rendered; only the
/// expansion of aliases is limited here, too.
fn limits(text: &str) -> Limits {
    let defaults = Limits::default();
    Limits {
        documents: defaults.documents,
        document_bytes: defaults.document_bytes.max(text.len()),
        nodes: usize::MAX,
        depth: 250,
        alias_nodes: defaults.alias_nodes,
    }
}

fn invalid(text: &str, failure: &Failure) -> EnvelopeError {
    let line = LineIndex::new(text).position(failure.span.start).line;
    EnvelopeError::Invalid { line, message: failure.sentence() }
}
