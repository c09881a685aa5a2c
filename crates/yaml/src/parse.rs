//! Text to documents.

use granit_parser::{ErrorKind, Event, Parser, ScanError, Span as ParserSpan, StrInput};

use super::build::{Builder, ParseFlow};
use super::strict::is_suspicious;
use super::token_position::{content_start, next_marker};
use super::{Failure, FailureKind, Node, Span};

/// How much a document may hold. What passes a limit is reported in bounded time and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Documents of one text; empty ones do not count.
    pub documents: usize,
    /// Bytes of one document, and bytes that the aliases of one document may stand for.
    pub document_bytes: usize,
    /// Nodes of one document: every key, every value and every collection.
    pub nodes: usize,
    /// Collections inside one another.
    pub depth: usize,
    /// Nodes that the aliases of one document may stand for, all together.
    pub alias_nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { documents: 250_000, document_bytes: 4 * 1024 * 1024, nodes: 250_000, depth: 64, alias_nodes: 50_000 }
    }
}

/// What a text was read into.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParsedText<'t> {
    /// The documents that could be read, in order; empty ones are left out.
    pub documents: Vec<Document<'t>>,
    /// The first place where the text is not YAML, or has more documents than the limit. Documents after it are read
    /// where they can be found again.
    pub failure: Option<Failure>,
    /// Further such places, at most one for each document.
    pub later_failures: Vec<Failure>,
}

/// One document of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Document<'t> {
    /// The tree. When [`Document::problems`] names a limit, it holds what was read before that.
    pub root: Node<'t>,
    /// The document's own text: no `---` or `...`, but the comments between those.
    pub span: Span,
    /// Its position in the text, counted from 0; empty documents, and comments that stand alone before a `---`,
    /// count too.
    pub index: usize,
    /// What a strict reader refuses in it.
    pub problems: Vec<Failure>,
}

/// Reads every document of a text, as `sigs.k8s.io/yaml` does in strict mode.
///
/// ```
/// use kubefoundry_yaml::{FailureKind, Limits, parse};
///
/// let parsed = parse("on: 0777\n---\na: 1\na: 2\n", &Limits::default());
/// assert_eq!(parsed.documents[0].root.to_json(), serde_json::json!({"true": 511}));
/// assert_eq!(parsed.documents[1].problems[0].kind, FailureKind::DuplicateKey);
/// assert!(parsed.failure.is_none());
/// ```
pub fn parse<'t>(text: &'t str, limits: &Limits) -> ParsedText<'t> {
    let mut reader = documents(text, limits);
    let documents = reader.by_ref().collect();
    let mut failures = reader.into_failures().into_iter();
    ParsedText { documents, failure: failures.next(), later_failures: failures.collect() }
}

/// The same, a document at a time, so that each can be let go before the next one is read.
///
/// ```
/// use kubefoundry_yaml::{Limits, documents};
///
/// let mut reader = documents("a: 1\n---\nb: [\n", &Limits::default());
/// assert!(reader.next().is_some_and(|document| document.root.get("a").is_some()));
/// assert!(reader.next().is_none());
/// assert_eq!(reader.into_failures().len(), 1);
/// ```
pub fn documents<'t>(text: &'t str, limits: &Limits) -> Documents<'t> {
    // Collections that pass our own depth are skipped; the parser's limit only bounds its memory.
    let nesting = limits.depth.max(254) + 1;
    let mut options = granit_parser::options! {
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        flow_nesting_limit: nesting,
        block_nesting_limit: nesting,
    };
    options.set_emit_comments(false);
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    Documents {
        text,
        limits: *limits,
        parser: Parser::new_from_str_with_options(text, options),
        ready: None,
        failures: Vec::new(),
        boundary: Some(start),
        next_index: 0,
        is_suspicious: is_suspicious(text),
        document_count: 0,
        is_ended: false,
    }
}

/// The documents of a text, one after the other; made by [`documents`].
pub struct Documents<'t> {
    text: &'t str,
    limits: Limits,
    parser: Parser<'t, StrInput<'t>>,
    /// The document that was read last, until it is handed out.
    ready: Option<Document<'t>>,
    failures: Vec<Failure>,
    /// Where the next document starts if it starts without `---`; unknown after a failure.
    boundary: Option<usize>,
    next_index: usize,
    is_suspicious: bool,
    /// How many documents were read that are not empty.
    document_count: usize,
    is_ended: bool,
}

impl<'t> Iterator for Documents<'t> {
    type Item = Document<'t>;

    fn next(&mut self) -> Option<Document<'t>> {
        while self.ready.is_none() && !self.is_ended {
            self.is_ended = !self.read_next();
        }
        self.ready.take()
    }
}

impl<'t> Documents<'t> {
    /// The places up to here where the text is not YAML, in order, at most one for each document.
    pub fn into_failures(self) -> Vec<Failure> {
        self.failures
    }

    /// Reads on, at most to the end of a document; whether there may be more.
    fn read_next(&mut self) -> bool {
        match self.parser.next_event() {
            Some(Ok((Event::DocumentStart(_, _), parser_span))) if self.document_count >= self.limits.documents => {
                self.report_too_many_documents(byte_span(parser_span));
                false
            }
            Some(Ok((Event::DocumentStart(explicit, _), parser_span))) => self.read_document(explicit, parser_span),
            Some(Ok((Event::StreamEnd, _))) | None => false,
            Some(Ok(_)) => true,
            Some(Err(error)) => {
                self.next_index += 1;
                self.report_syntax_error(&error)
            }
        }
    }

    /// Reads one document; whether there may be another one.
    fn read_document(&mut self, explicit: bool, parser_span: ParserSpan) -> bool {
        let marker = byte_span(parser_span);
        let start = if explicit {
            let before = self.boundary.and_then(|from| self.text.get(from..marker.start)).unwrap_or("");
            // Comments before a `---` are a document of their own, unless directives make them a part of this one.
            if before.contains('#') && !before.lines().any(|line| line.starts_with('%')) {
                self.next_index += 1;
            }
            content_start(self.text, marker.end)
        } else {
            self.boundary.unwrap_or(marker.start)
        };
        let index = self.next_index;
        self.next_index += 1;
        self.boundary = None;
        let cursor = if explicit { marker.end } else { start };
        let mut builder = Builder::new(self.text, self.limits, start, cursor, self.is_suspicious);
        loop {
            match self.parser.next_event() {
                Some(Ok((Event::DocumentEnd, parser_span))) => {
                    let end = byte_span(parser_span);
                    let end = if end.start < end.end {
                        self.boundary = Some(content_start(self.text, end.end));
                        end.start
                    } else {
                        next_marker(self.text, end.start)
                    };
                    self.store_document(builder, Span { start: start.min(end), end }, index);
                    return true;
                }
                Some(Ok((event, parser_span))) => {
                    if builder.handle_event(event, parser_span) == ParseFlow::Stop {
                        return self.finish_truncated(builder, start, index);
                    }
                }
                Some(Err(error)) if *error.kind() == ErrorKind::RecursionLimitExceeded => {
                    builder.report_too_deep(byte_span(ParserSpan::empty(*error.marker())));
                    return self.finish_truncated(builder, start, index);
                }
                Some(Err(error)) => return self.report_syntax_error(&error),
                None => return false,
            }
        }
    }

    /// Keeps what was read of a document that passed a limit, and goes on behind it.
    fn finish_truncated(&mut self, builder: Builder<'t>, start: usize, index: usize) -> bool {
        let more = self.parser.proceed_next_document().unwrap_or(false);
        let end = match self.parser.peek() {
            Some(Ok((Event::DocumentStart(..), parser_span))) => byte_span(*parser_span).start,
            Some(Ok(_)) | None => self.text.len(),
            Some(Err(error)) => error.marker().byte_offset().unwrap_or(self.text.len()),
        };
        self.store_document(builder, Span { start: start.min(end), end }, index);
        more
    }

    fn store_document(&mut self, builder: Builder<'t>, span: Span, index: usize) {
        if let Some((root, problems)) = builder.finish(span.end) {
            self.document_count += 1;
            self.ready = Some(Document { root, span, index, problems });
        }
    }

    /// Notes that the text has more documents than are read.
    fn report_too_many_documents(&mut self, document_start: Span) {
        let at = Span { start: document_start.start, end: document_start.start };
        let what = "a text of too many documents";
        self.failures.push(limit_exceeded(FailureKind::TooManyDocuments, at, what, self.limits.documents));
    }

    /// Notes a syntax error and looks for the next document; whether there is one.
    fn report_syntax_error(&mut self, error: &ScanError) -> bool {
        self.failures.push(Failure::from_scan(self.text, error));
        self.boundary = None;
        self.parser.proceed_next_document().unwrap_or(false)
    }
}

/// The byte range of an event. Parsing a `&str` gives every marker its offset.
pub(super) fn byte_span(parser_span: ParserSpan) -> Span {
    let start = parser_span.start.byte_offset().unwrap_or(0);
    Span { start, end: parser_span.end.byte_offset().unwrap_or(start).max(start) }
}

/// The problem of a passed limit.
pub(super) fn limit_exceeded(kind: FailureKind, span: Span, what: &str, limit: usize) -> Failure {
    Failure::new(kind, span, format!("{what}; expected at most {limit}"))
}
