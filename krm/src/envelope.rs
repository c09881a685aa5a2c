//! The `ResourceList`: what it must be before anything in it is looked at.

use kubefoundry_diagnostics::render::LineIndex;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::{Document, Failure, FailureKind, Limits, Node, Value};

/// The group of a `ResourceList`.
const GROUP: &str = "config.kubernetes.io";
const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];

/// Why standard input cannot be worked on. It is echoed then: a client that parses it fails as it would have without
/// us, and one that does not gets back what it gave.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum EnvelopeError {
    #[error("standard input is not UTF-8 (byte {0}), {EXPECTED}")]
    NotUtf8(usize),
    #[error("standard input is empty, {EXPECTED}")]
    Empty,
    #[error("standard input, line {line}: {message}")]
    NotRead { line: usize, message: String },
    #[error("standard input has {0} documents, {EXPECTED}")]
    NotAlone(usize),
    #[error("standard input is {0}, {EXPECTED}")]
    NotAResourceList(String),
    #[error("ResourceList has apiVersion {0:?}, expected {GROUP}/v1, {GROUP}/v1beta1 or {GROUP}/v1alpha1")]
    UnknownVersion(String),
    #[error("items is {0}, expected a list of objects")]
    ItemsNotAList(&'static str),
}

const EXPECTED: &str = "expected one ResourceList of config.kubernetes.io/v1";

/// A `ResourceList` that was read.
#[derive(Debug)]
pub(crate) struct Envelope<'t> {
    pub(crate) text: &'t str,
    pub(crate) document: Document<'t>,
}

impl<'t> Envelope<'t> {
    /// Reads a `ResourceList`; what is in its items is not judged.
    pub(crate) fn read(text: &'t str) -> Result<Self, EnvelopeError> {
        let parsed = yaml::parse(text, &limits(text));
        if let Some(failure) = &parsed.failure {
            return Err(not_read(text, failure));
        }
        let count = parsed.documents.len();
        let mut documents = parsed.documents.into_iter();
        let (Some(document), None) = (documents.next(), documents.next()) else {
            return Err(if count == 0 { EnvelopeError::Empty } else { EnvelopeError::NotAlone(count) });
        };
        let envelope = Self { text, document };
        envelope.check_header()?;
        if let Some(problem) = envelope.document.problems.iter().find(|problem| envelope.is_own(problem)) {
            return Err(not_read(text, problem));
        }
        match envelope.root().get("items").map(|items| (&items.value, items.describe())) {
            None | Some((Value::Null | Value::Sequence(_), _)) => Ok(envelope),
            Some((_, found)) => Err(EnvelopeError::ItemsNotAList(found)),
        }
    }

    fn check_header(&self) -> Result<(), EnvelopeError> {
        let word = |key: &str| self.root().get(key).and_then(Node::as_str).unwrap_or_default();
        let (api_version, kind) = (word("apiVersion"), word("kind"));
        if kind != "ResourceList" {
            let found = if kind.is_empty() { self.root().describe().to_owned() } else { format!("a {kind}") };
            return Err(EnvelopeError::NotAResourceList(found));
        }
        let known =
            api_version.split_once('/').is_some_and(|(group, version)| group == GROUP && VERSIONS.contains(&version));
        if known { Ok(()) } else { Err(EnvelopeError::UnknownVersion(api_version.to_owned())) }
    }

    /// Whether a problem is one of the list, not of an item: an item's matters to whoever reads that item. What is
    /// nested too deeply is left out of the tree, and stands in the text all the same.
    fn is_own(&self, problem: &Failure) -> bool {
        let inside = |node: &Node<'_>| node.span.start <= problem.span.start && problem.span.end <= node.span.end;
        match problem.kind {
            FailureKind::TooDeep => false,
            kind if kind.is_limit() => true,
            _ => !self.items().iter().chain(self.function_config()).any(inside),
        }
    }

    /// The list itself.
    pub(crate) fn root(&self) -> &Node<'t> {
        &self.document.root
    }

    /// The limits for a list that was made of this one.
    pub(crate) fn limits(&self) -> Limits {
        Limits { document_bytes: usize::MAX, ..limits(self.text) }
    }

    /// The objects.
    pub(crate) fn items(&self) -> &[Node<'t>] {
        self.root().get("items").map(Node::items).unwrap_or_default()
    }

    /// The configuration, when there is any.
    pub(crate) fn function_config(&self) -> Option<&Node<'t>> {
        self.root().get("functionConfig").filter(|config| match &config.value {
            Value::Null => false,
            Value::Mapping(entries) => !entries.is_empty(),
            _ => true,
        })
    }

    /// A part of the text as a text of its own, at the column at which it stands, so that its lines stay aligned; and
    /// where that text would start in the whole.
    pub(crate) fn alone(&self, node: &Node<'_>) -> (String, usize) {
        let before = self.text.get(..node.span.start).unwrap_or_default();
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
        let own = self.text.get(node.span.start..node.span.end).unwrap_or_default();
        let indent = if own.starts_with(['{', '[']) { 0 } else { column };
        (format!("{}{own}", " ".repeat(indent)), node.span.start - indent)
    }
}

/// The whole list is one document, so the limits of one document do not apply; each item is held to them when it is
/// rendered. What aliases stand for is bounded all the same.
fn limits(text: &str) -> Limits {
    let usual = Limits::default();
    Limits {
        documents: usual.documents,
        document_bytes: usual.document_bytes.max(text.len()),
        nodes: usize::MAX,
        depth: 250,
        alias_nodes: usual.alias_nodes,
    }
}

fn not_read(text: &str, failure: &Failure) -> EnvelopeError {
    let line = LineIndex::new(text).position(failure.span.start).line;
    EnvelopeError::NotRead { line, message: failure.sentence() }
}
