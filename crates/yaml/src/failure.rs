//! Problems of a text as YAML, independent of its content.

use granit_parser::{ErrorKind, ScanError};

use super::Span;

/// The kind of a [`Failure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureKind {
    /// The text is not YAML.
    Syntax,
    /// A key occurs twice in one mapping.
    DuplicateKey,
    /// A key is both merged through `<<` and set, or merged twice.
    MergeOverride,
    /// The value of `<<` is neither a mapping nor a list of mappings.
    BadMerge,
    /// An alias names no earlier anchor, or names the collection that contains it.
    UnknownAlias,
    /// A value or key that JSON cannot represent: `.nan`, `.inf`, a collection or null as a key.
    NotJson,
    /// A tag that contradicts its scalar, such as `!!int abc`.
    BadTag,
    /// The text has more documents than [`Limits::documents`](super::Limits::documents).
    TooManyDocuments,
    /// The document has more nodes than [`Limits::nodes`](super::Limits::nodes).
    TooManyNodes,
    /// The document is nested deeper than [`Limits::depth`](super::Limits::depth).
    TooDeep,
    /// The document is longer than [`Limits::document_bytes`](super::Limits::document_bytes).
    TooLarge,
    /// The aliases of the document expand to more than [`Limits::alias_nodes`](super::Limits::alias_nodes) nodes, or to
    /// more than [`Limits::document_bytes`](super::Limits::document_bytes).
    TooManyAliases,
}

impl FailureKind {
    /// Whether one of the [`Limits`](super::Limits) was exceeded. The rest of the document is then not read.
    pub fn is_limit(self) -> bool {
        matches!(
            self,
            Self::TooManyDocuments | Self::TooManyNodes | Self::TooDeep | Self::TooLarge | Self::TooManyAliases
        )
    }
}

/// A problem and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind of problem.
    pub kind: FailureKind,
    /// One line without its verb: `a tab as indentation; expected spaces`. See [`Failure::sentence`].
    pub message: String,
    /// The bytes to underline.
    pub span: Span,
    /// A second location that explains the problem, such as the first of two equal keys, and a short note about it.
    pub related: Option<(Span, String)>,
}

impl Failure {
    /// Creates a failure without a related location.
    pub fn new(kind: FailureKind, span: Span, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), span, related: None }
    }

    /// The failure as a sentence: `found a tab as indentation, expected spaces`. A message without an expectation comes
    /// from the parser and is a sentence already.
    pub fn sentence(&self) -> String {
        match self.message.split_once("; expected") {
            Some((found, expected)) => format!("found {found}, expected{expected}"),
            None => self.message.clone(),
        }
    }

    pub(crate) fn with_related(mut self, span: Span, note: impl Into<String>) -> Self {
        self.related = Some((span, note.into()));
        self
    }

    /// Translates a parser error.
    /// `base` is the position in `text` at which the parser started.
    pub(crate) fn from_scan(text: &str, base: usize, error: &ScanError) -> Self {
        let start = error.marker().byte_offset().map_or(text.len(), |offset| base + offset).min(text.len());
        let width = text.get(start..).and_then(|rest| rest.chars().next()).map_or(0, |found| match found {
            '\r' | '\n' => 0,
            other => other.len_utf8(),
        });
        Self::new(FailureKind::Syntax, Span { start, end: start + width }, syntax_message(error.kind()))
    }
}

fn syntax_message(kind: &ErrorKind) -> String {
    match kind {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar
        | ErrorKind::TabAtBlockScalarStart => "a tab as indentation; expected spaces".to_owned(),
        ErrorKind::MappingValueNotAllowed => {
            "`: ` where no key is allowed; expected one key per line, or quotes around a value that contains `: `"
                .to_owned()
        }
        ErrorKind::InvalidColonPlacement => {
            "`: ` inside a `[` or `{` that is not closed; expected its closing bracket, or a key on the same line"
                .to_owned()
        }
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            "a line that is neither `key: value` nor part of the value before it; expected `:` after a key".to_owned()
        }
        ErrorKind::InvalidIndentation | ErrorKind::ExpectedBlockMappingKey => {
            "a line that belongs to no block; expected the indentation of its siblings".to_owned()
        }
        ErrorKind::ExpectedBlockSequenceEntry => "a line inside a list without its dash; expected `- `".to_owned(),
        ErrorKind::UnexpectedEofFlowSequence | ErrorKind::ExpectedFlowSequenceSeparator => {
            "a `[` list that is not closed; expected `,` or `]`".to_owned()
        }
        // Inside a list, the parser may also have begun a mapping: `[a: 1`.
        ErrorKind::UnexpectedEofFlowMapping | ErrorKind::ExpectedFlowMappingSeparator => {
            "a `{` mapping or `[` list that is not closed; expected `,` or its closing bracket".to_owned()
        }
        ErrorKind::UnclosedFlowCollection { open } => {
            format!("`{open}` that is never closed; expected its closing bracket")
        }
        ErrorKind::UnclosedQuotedScalar | ErrorKind::DocumentIndicatorInQuotedScalar => {
            "a quote that is never closed; expected the same quote again".to_owned()
        }
        ErrorKind::InvalidTrailingSingleQuotedScalar | ErrorKind::InvalidTrailingDoubleQuotedScalar => {
            "text after a closing quote; expected the end of the value".to_owned()
        }
        ErrorKind::UnknownQuotedScalarEscape => {
            "an unknown escape in a double-quoted string; expected one that YAML defines, or `\\\\`".to_owned()
        }
        ErrorKind::UnexpectedCharacter { character } => {
            format!("a value that starts with the character {}; expected quotes around it", character.escape_default())
        }
        ErrorKind::BlockSequenceEntryNotAllowed => {
            "`- ` after a key on one line; expected the list on the next line".to_owned()
        }
        ErrorKind::InvalidQuotedScalarIndent => {
            "a quoted string whose next line is indented too little; expected more spaces than its key".to_owned()
        }
        ErrorKind::ExpectedNodeContent | ErrorKind::UnexpectedEofImplicitFlowMapping => {
            "no value; expected a scalar, a list or a mapping".to_owned()
        }
        other => other.to_string(),
    }
}
