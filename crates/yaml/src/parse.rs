//! Splits a text into documents and reads each of them.

use granit_parser::{ErrorKind, Event, Parser, ScanError, Span as ParserSpan, StrInput};

use super::block_reader::{BlockDocument, is_printable, read_block_document};
use super::build::{Builder, ParseFlow};
use super::strict::is_suspicious;
use super::token_position::{content_start, next_marker};
use super::{Failure, FailureKind, Node, Span};

/// Limits on a text and its documents. Exceeding one is reported in bounded time and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of documents in one text; empty ones do not count.
    pub documents: usize,
    /// Maximum number of bytes in one document, and of bytes that its aliases expand to.
    pub document_bytes: usize,
    /// Maximum number of nodes in one document: keys, values and collections.
    pub nodes: usize,
    /// Maximum nesting of collections.
    pub depth: usize,
    /// Maximum number of nodes that all aliases of one document expand to.
    pub alias_nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { documents: 250_000, document_bytes: 4 * 1024 * 1024, nodes: 250_000, depth: 64, alias_nodes: 50_000 }
    }
}

/// The documents of a text and its syntax errors.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParsedText<'t> {
    /// The documents that could be read, in order, without empty ones.
    pub documents: Vec<Document<'t>>,
    /// The first syntax error, or an exceeded limit on documents. Later documents are read if the parser can resume.
    pub failure: Option<Failure>,
    /// Further syntax errors, at most one per document.
    pub later_failures: Vec<Failure>,
}

/// One document of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Document<'t> {
    /// The tree. If [`Document::problems`] contains an exceeded limit, it is what was read up to that point.
    pub root: Node<'t>,
    /// The bytes between the `---` and `...` markers, including comments.
    pub span: Span,
    /// Position in the text, counted from 0. Empty documents, and comments alone before a `---`, count too.
    pub index: usize,
    /// Everything that a strict reader refuses in the document.
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
    collect(documents(text, limits))
}

fn collect(mut reader: Documents<'_>) -> ParsedText<'_> {
    let documents = reader.by_ref().collect();
    let mut failures = reader.into_failures().into_iter();
    ParsedText { documents, failure: failures.next(), later_failures: failures.collect() }
}

/// Like [`parse`], but with the event parser alone. It is the reference that tests hold the block reader to.
///
/// ```
/// use kubefoundry_yaml::{Limits, parse, parse_events};
/// let text = "spec:\n  replicas: 1\n";
/// assert_eq!(parse(text, &Limits::default()), parse_events(text, &Limits::default()));
/// ```
pub fn parse_events<'t>(text: &'t str, limits: &Limits) -> ParsedText<'t> {
    let mut reader = documents(text, limits);
    reader.start_events(0);
    collect(reader)
}

/// Like [`parse`], but reads one document at a time, so that each can be dropped before the next one is read.
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
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    Documents {
        text,
        limits: *limits,
        reader: ActiveReader::Block(start),
        ready: None,
        failures: Vec::new(),
        boundary: Some(start),
        next_index: 0,
        is_suspicious: is_suspicious(text),
        document_count: 0,
        is_ended: false,
    }
}

/// Iterator over the documents of a text; see [`documents`].
pub struct Documents<'t> {
    text: &'t str,
    limits: Limits,
    reader: ActiveReader<'t>,
    /// The last document read, until `next` returns it.
    ready: Option<Document<'t>>,
    failures: Vec<Failure>,
    /// Start of the next document if it has no `---`; unknown after a failure.
    boundary: Option<usize>,
    next_index: usize,
    is_suspicious: bool,
    /// Number of documents read that are not empty.
    document_count: usize,
    is_ended: bool,
}

impl<'t> Iterator for Documents<'t> {
    type Item = Document<'t>;

    fn next(&mut self) -> Option<Document<'t>> {
        while self.ready.is_none() && !self.is_ended {
            self.is_ended = !match self.reader {
                ActiveReader::Block(at) => self.read_block(at),
                ActiveReader::Events(_) => self.read_events(),
            };
        }
        self.ready.take()
    }
}

/// The reader of the next document.
enum ActiveReader<'t> {
    /// The block reader, at the start of the text or at a `---`.
    Block(usize),
    /// The event parser, from the document on that the block reader refused. It goes on until a document ends with the
    /// `---` of the next one, where both readers agree on the position.
    Events(Box<EventParser<'t>>),
}

/// Returns whether a text starts with a `---` and a document that may be a mapping. Others, such as a stream of scalars,
/// stay with the event parser: the block reader refuses each of them, and to start the parser again costs more than to
/// read one.
fn may_be_mapping(text: &str) -> bool {
    let Some(content) = text.strip_prefix("---\n") else { return false };
    let end = memchr::memmem::find(content.as_bytes(), b"\n---").unwrap_or(content.len());
    content.as_bytes().get(..end).is_some_and(|document| memchr::memchr(b':', document).is_some())
}

/// The event parser on the rest of a text.
struct EventParser<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// The position in the text at which the parser started; it counts its own positions from there.
    base: usize,
}

impl<'t> EventParser<'t> {
    fn new(text: &'t str, base: usize, limits: &Limits) -> Self {
        // The builder skips collections beyond `limits.depth`. The parser's own limit only bounds its memory.
        let nesting = limits.depth.max(254) + 1;
        let mut options = granit_parser::options! {
            emit_unresolved_aliases: true,
            emit_anchor_events: true,
            flow_nesting_limit: nesting,
            block_nesting_limit: nesting,
        };
        options.set_emit_comments(false);
        Self { parser: Parser::new_from_str_with_options(text.get(base..).unwrap_or(""), options), base }
    }

    fn next_event(&mut self) -> Option<Result<(Event<'t>, Span), ScanError>> {
        let base = self.base;
        Some(self.parser.next_event()?.map(|(event, span)| (event, byte_span(span, base))))
    }
}

impl<'t> Documents<'t> {
    /// Returns the syntax errors up to this point, in order, at most one per document.
    pub fn into_failures(self) -> Vec<Failure> {
        self.failures
    }

    /// Reads the document at `at` with the block reader, or switches to the event parser. Returns whether there may be
    /// another one.
    fn read_block(&mut self, at: usize) -> bool {
        let Some(document) = self.find_document(at) else {
            self.start_events(at);
            return true;
        };
        let (start, end) = (document.content.start, document.content.end);
        let read = if self.document_count < self.limits.documents {
            read_block_document(self.text, document.content, &self.limits)
        } else {
            None
        };
        match read {
            None => {
                self.start_events(at);
                return true;
            }
            Some(BlockDocument::Tree(root)) => {
                self.next_index += usize::from(document.follows_comments);
                self.document_count += 1;
                let span = Span { start: start.min(end), end };
                self.ready = Some(Document { root, span, index: self.next_index, problems: Vec::new() });
            }
            Some(BlockDocument::Empty) => self.next_index += usize::from(document.follows_comments),
        }
        self.next_index += 1;
        self.boundary = None;
        self.reader = ActiveReader::Block(end);
        end < self.text.len()
    }

    /// Switches to the event parser, which reads from `at`, or from the byte order mark at the start of the text.
    fn start_events(&mut self, at: usize) {
        let base = if self.boundary.is_some() { 0 } else { at };
        self.reader = ActiveReader::Events(Box::new(EventParser::new(self.text, base, &self.limits)));
    }

    /// Finds the content of the document that starts at `at`, which is the start of the text or a `---`. Returns `None`
    /// if a marker is not on a line of its own.
    fn find_document(&self, at: usize) -> Option<DocumentRegion> {
        let rest = self.text.get(at..)?;
        let (mut content, mut follows_comments) = (at, false);
        let mut is_explicit = rest.starts_with("---");
        if !is_explicit {
            // Comments may come before the first marker.
            let mut length = 0;
            for line in rest.split_inclusive('\n') {
                let text = line.trim_start_matches(' ');
                if line.starts_with("---") {
                    (is_explicit, content) = (true, at + length);
                    break;
                }
                if !(text.is_empty() || text.starts_with(['\n', '#'])) {
                    break;
                }
                follows_comments |= text.starts_with('#');
                length += line.len();
            }
        }
        if is_explicit {
            let line = self.text.get(content..)?.split('\n').next()?;
            if line != "---" || !is_printable(self.text.get(at..content)?) {
                return None;
            }
            content = content_start(self.text, content + "---".len());
        } else {
            follows_comments = false;
        }
        // A line that starts with `---` ends the document unless more text touches the dashes.
        let bytes = self.text.as_bytes();
        let is_marker_before = content > 0 && bytes.get(content..)?.starts_with(b"---");
        let end = if is_marker_before {
            content
        } else {
            memchr::memmem::find(bytes.get(content..)?, b"\n---").map_or(bytes.len(), |length| content + length + 1)
        };
        if !matches!(bytes.get(end + 3), None | Some(b' ' | b'\n' | b'\t' | b'\r')) {
            return None;
        }
        Some(DocumentRegion { content: Span { start: content, end }, follows_comments })
    }

    /// Reads at most to the end of the next document with the event parser. Returns whether there may be more.
    fn read_events(&mut self) -> bool {
        let ActiveReader::Events(parser) = &mut self.reader else { return true };
        match parser.next_event() {
            Some(Ok((Event::DocumentStart(_, _), span))) if self.document_count >= self.limits.documents => {
                self.report_too_many_documents(span);
                false
            }
            Some(Ok((Event::DocumentStart(explicit, _), span))) => self.read_document(explicit, span),
            Some(Ok((Event::StreamEnd, _))) | None => false,
            Some(Ok(_)) => true,
            Some(Err(error)) => {
                self.next_index += 1;
                self.report_syntax_error(&error)
            }
        }
    }

    /// Reads one document. Returns whether there may be another one.
    fn read_document(&mut self, explicit: bool, marker: Span) -> bool {
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
            let ActiveReader::Events(parser) = &mut self.reader else { return true };
            let base = parser.base;
            match parser.next_event() {
                Some(Ok((Event::DocumentEnd, marker))) => {
                    let is_explicit = marker.start < marker.end;
                    let end = if is_explicit {
                        self.boundary = Some(content_start(self.text, marker.end));
                        marker.start
                    } else {
                        next_marker(self.text, marker.start)
                    };
                    self.store_document(builder, Span { start: start.min(end), end }, index);
                    let may_be_block = self.text.get(end..).is_some_and(may_be_mapping);
                    if !is_explicit && may_be_block && self.starts_document(end) {
                        self.reader = ActiveReader::Block(end);
                    }
                    return true;
                }
                Some(Ok((event, span))) => {
                    if builder.handle_event(event, span) == ParseFlow::Stop {
                        return self.finish_truncated(builder, start, index);
                    }
                }
                Some(Err(error)) if *error.kind() == ErrorKind::RecursionLimitExceeded => {
                    builder.report_too_deep(byte_span(ParserSpan::empty(*error.marker()), base));
                    return self.finish_truncated(builder, start, index);
                }
                Some(Err(error)) => return self.report_syntax_error(&error),
                None => return false,
            }
        }
    }

    /// Returns whether the event parser finds the `---` at `at` next, rather than stray text before it.
    fn starts_document(&mut self, at: usize) -> bool {
        let ActiveReader::Events(parser) = &mut self.reader else { return false };
        let base = parser.base;
        match parser.parser.peek() {
            Some(Ok((Event::DocumentStart(true, _), span))) => byte_span(*span, base).start == at,
            _ => false,
        }
    }

    /// Stores the part of a document that was read before it exceeded a limit, and skips the rest.
    fn finish_truncated(&mut self, builder: Builder<'t>, start: usize, index: usize) -> bool {
        let ActiveReader::Events(parser) = &mut self.reader else { return true };
        let base = parser.base;
        let more = parser.parser.proceed_next_document().unwrap_or(false);
        let end = match parser.parser.peek() {
            Some(Ok((Event::DocumentStart(..), parser_span))) => byte_span(*parser_span, base).start,
            Some(Ok(_)) | None => self.text.len(),
            Some(Err(error)) => error.marker().byte_offset().map_or(self.text.len(), |offset| base + offset),
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

    /// Reports that the text has too many documents.
    fn report_too_many_documents(&mut self, document_start: Span) {
        let at = Span { start: document_start.start, end: document_start.start };
        let what = "a text with too many documents";
        self.failures.push(limit_exceeded(FailureKind::TooManyDocuments, at, what, self.limits.documents));
    }

    /// Reports a syntax error and skips to the next document. Returns whether there is one.
    fn report_syntax_error(&mut self, error: &ScanError) -> bool {
        let ActiveReader::Events(parser) = &mut self.reader else { return true };
        self.failures.push(Failure::from_scan(self.text, parser.base, error));
        self.boundary = None;
        parser.parser.proceed_next_document().unwrap_or(false)
    }
}

/// Returns the byte range of an event in the text. The parser sets byte offsets because its input is a `&str`.
fn byte_span(parser_span: ParserSpan, base: usize) -> Span {
    let start = base + parser_span.start.byte_offset().unwrap_or(0);
    Span { start, end: parser_span.end.byte_offset().map_or(start, |end| base + end).max(start) }
}

/// The place of a document that the block reader may read.
struct DocumentRegion {
    /// The bytes between the markers.
    content: Span,
    /// Whether comments before the first marker count as a document.
    follows_comments: bool,
}

/// Returns the problem of an exceeded limit.
pub(super) fn limit_exceeded(kind: FailureKind, span: Span, what: &str, limit: usize) -> Failure {
    Failure::new(kind, span, format!("{what}; expected at most {limit}"))
}
