//! The collector that rules report to while they look at one document.

use super::{Attribute, Code, Diagnostic, FieldRef, Fix, Location, ObjectRef, RelatedLocation, Severity};
use crate::source::SourceId;
use kubefoundry_yaml::edit::TextEdit;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::text::one_line;
use kubefoundry_yaml::{FieldPart, Node, Span, Value};

/// The document that is being looked at.
#[derive(Debug, Clone)]
pub struct DocumentScope<'d> {
    /// Its text's id.
    pub source: SourceId,
    /// Its text, whole (spans are into it).
    pub text: &'d str,
    /// Its index in the text.
    pub document: usize,
    /// Its tree.
    pub root: &'d Node<'d>,
    /// What it is, as far as that is known.
    pub object: Option<ObjectRef>,
}

impl DocumentScope<'_> {
    /// The location of a place in this document.
    pub fn locate(&self, place: &FieldRef) -> Location {
        let mut span = self.root.locate(&place.path, place.part);
        // The value of a field that is a block begins on another line, as if its first entry were meant.
        if self.root.at(&place.path).is_some_and(|node| self.is_block(node)) {
            span = self.root.locate(&place.path, FieldPart::Key);
        }
        Location { source: self.source, document: self.document, span, path: place.path.clone() }
    }

    /// What a finding points at, as it is written; of a document without a text, as it is read.
    fn text_at<'s>(&'s self, code: &'static Code, location: &'s Location) -> &'s str {
        if !self.text.is_empty() {
            return self.text.get(location.span.start..location.span.end).unwrap_or_default();
        }
        let is_key = code.has(Attribute::AsciiKey);
        match location.path.segments().last() {
            Some(Segment::Key(key)) if is_key => key,
            _ => self.root.at(&location.path).and_then(Node::as_str).unwrap_or_default(),
        }
    }

    /// Whether a value is a block mapping or list, whose brackets are its indentation.
    fn is_block(&self, node: &Node<'_>) -> bool {
        let collection = matches!(node.value, Value::Mapping(_) | Value::Sequence(_));
        // An alias stands where it is written.
        collection && !self.text.get(node.span.start..).is_some_and(|text| text.starts_with(['{', '[', '*']))
    }
}

/// Findings of one document, at the most: a document of nothing but mistakes is answered in bounded time.
const MAX_FINDINGS: usize = 1000;

/// Collects the findings of one document, at most 1000 and a word about the rest.
#[derive(Debug)]
pub struct Findings<'d> {
    scope: DocumentScope<'d>,
    diagnostics: Vec<Diagnostic>,
    dropped: usize,
}

impl<'d> Findings<'d> {
    /// An empty collection for a document.
    pub fn new(scope: DocumentScope<'d>) -> Self {
        Self { scope, diagnostics: Vec::new(), dropped: 0 }
    }

    /// The document that is being looked at.
    pub fn scope(&self) -> &DocumentScope<'d> {
        &self.scope
    }

    /// Reports a finding at a place (a `&FieldPath` or a dotted path means the value there) and returns it for help,
    /// related places and a fix to be added.
    pub fn report(
        &mut self,
        code: &'static Code,
        place: impl Into<FieldRef>,
        message: impl Into<String>,
    ) -> DiagnosticBuilder<'_, 'd> {
        let place = place.into();
        // Looking for a place takes a look at the document; past the limit none is needed.
        let location = if self.is_full() { Location::default() } else { self.scope.locate(&place) };
        self.push(code, &message.into(), location)
    }

    /// Reports a finding at bytes of the source, for what has no field path of its own (a character in a CEL rule).
    pub fn report_at(
        &mut self,
        code: &'static Code,
        place: impl Into<FieldRef>,
        span: Span,
        message: impl Into<String>,
    ) -> DiagnosticBuilder<'_, 'd> {
        let place = place.into();
        let location = if self.is_full() { Location::default() } else { self.scope.locate(&place) };
        let location = Location { span, ..location };
        self.push(code, &message.into(), location)
    }

    /// Takes in a finding that has its own place, in another source.
    pub fn add(&mut self, diagnostic: Diagnostic) {
        if self.is_full() {
            self.dropped += 1;
        } else {
            self.diagnostics.push(diagnostic);
        }
    }

    fn push(&mut self, code: &'static Code, message: &str, location: Location) -> DiagnosticBuilder<'_, 'd> {
        if self.is_full() {
            self.dropped += 1;
            return DiagnosticBuilder { findings: self, is_stored: false };
        }
        let mut message = one_line(message);
        message.push_str(&describe_look_alikes(code, self.scope.text_at(code, &location)));
        let mut diagnostic = Diagnostic::new(code, shorten_message(message));
        diagnostic.location = Some(location);
        diagnostic.object.clone_from(&self.scope.object);
        self.diagnostics.push(diagnostic);
        DiagnosticBuilder { findings: self, is_stored: true }
    }

    /// Whether nothing more is kept: a further finding is only counted, so it need not be worked out.
    pub fn is_full(&self) -> bool {
        self.diagnostics.len() >= MAX_FINDINGS
    }

    /// Whether an error is among the findings so far.
    pub fn has_errors(&self) -> bool {
        self.dropped > 0 || self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// How many errors there are so far.
    pub fn error_count(&self) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
    }

    /// What was found so far.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter()
    }

    /// How many findings there are so far.
    pub fn len(&self) -> usize {
        self.diagnostics.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// Takes in what a later phase found in a document that an earlier one found errors in, from severity `least` up: all
    /// but the echoes, that is, what is said of a field that has its error already, unless its code is `always` said.
    pub fn extend_without_echoes(&mut self, later: Findings<'_>, least: Severity, always: &'static Code) {
        let path = |diagnostic: &Diagnostic| diagnostic.location.as_ref().map(|location| location.path.clone());
        let errors = self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
        let errors: Vec<_> = errors.filter_map(path).collect();
        let is_echo = |diagnostic: &Diagnostic| {
            path(diagnostic).is_none_or(|at| errors.iter().any(|error| at.starts_with(error) || error.starts_with(&at)))
        };
        let worth_saying = |found: &Diagnostic| found.severity <= least && (found.code == always || !is_echo(found));
        self.diagnostics.extend(later.diagnostics.into_iter().filter(worth_saying));
    }

    /// Adds advice to what was found so far and has none yet, where there is some for its place.
    pub fn add_missing_help(&mut self, advice: impl Fn(&Location) -> Option<String>) {
        for found in self.diagnostics.iter_mut().filter(|found| found.help.is_none()) {
            found.help = found.location.as_ref().and_then(&advice).map(|help| shorten_message(one_line(&help)));
        }
    }

    /// Takes out what was found so far.
    pub fn take(&mut self) -> Vec<Diagnostic> {
        let empty = Self::new(self.scope.clone());
        std::mem::replace(self, empty).into_diagnostics()
    }

    /// Everything found.
    pub fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        // Which of two keys counts is the first question; a fix would answer it by the way.
        if self.diagnostics.iter().any(|found| found.code.has(Attribute::WithholdsFixes)) {
            self.diagnostics.iter_mut().for_each(|found| found.fix = None);
        }
        if self.dropped > 0 {
            let message =
                format!("the document has {} more findings; at most {MAX_FINDINGS} are reported", self.dropped);
            let mut diagnostic = Diagnostic::new(&super::codes::LIMIT_EXCEEDED, message);
            diagnostic.location = Some(self.scope.locate(&FieldRef::key(&FieldPath::root())));
            diagnostic.object.clone_from(&self.scope.object);
            self.diagnostics.push(diagnostic);
        }
        self.diagnostics
    }
}

/// Whether a scalar is just what is written: no alias, and neither anchor nor tag before it.
fn is_untagged_scalar(text: &str, span: Span) -> bool {
    let own = text.get(span.start..span.end).unwrap_or_default();
    let before = text.get(..span.start).unwrap_or_default();
    let token = before.rsplit(|c: char| c.is_whitespace()).find(|token| !token.is_empty()).unwrap_or_default();
    // A `*` or `&` within a word is a part of it; behind a bracket it is not.
    let is_mark = |token: &str| token.trim_start_matches(['{', '[', ',', '-', ':', '?']).starts_with(['&', '!']);
    !own.starts_with(['*', '&', '!', '|', '>']) && !is_mark(token)
}

/// Characters of a message, at the most: what it quotes of the input may be of any length.
const MAX_MESSAGE_CHARS: usize = 1000;

/// A message without its middle, when it is too long to be read.
fn shorten_message(message: String) -> String {
    let count = message.chars().count();
    if count <= MAX_MESSAGE_CHARS {
        return message;
    }
    let start: String = message.chars().take(MAX_MESSAGE_CHARS / 2).collect();
    let end: String = message.chars().skip(count - MAX_MESSAGE_CHARS / 3).collect();
    format!("{start} [...] {end}")
}

/// Which characters of a name are not what they look like: a Cyrillic letter, a full-width one, a hyphen that is none.
fn describe_look_alikes(code: &'static Code, text: &str) -> String {
    if text.is_ascii() || text.len() > 512 || !(code.has(Attribute::AsciiValue) || code.has(Attribute::AsciiKey)) {
        return String::new();
    }
    let mut look_alikes: Vec<char> = text.chars().filter(|c| !c.is_ascii()).collect();
    look_alikes.sort_unstable();
    look_alikes.dedup();
    let found: Vec<String> =
        look_alikes.iter().take(3).map(|c| format!("{:?} is U+{:04X}", c, u32::from(*c))).collect();
    format!(" ({})", found.join(", "))
}

/// A finding that was just reported.
#[derive(Debug)]
pub struct DiagnosticBuilder<'f, 'd> {
    findings: &'f mut Findings<'d>,
    is_stored: bool,
}

#[expect(
    clippy::return_self_not_must_use,
    reason = "the finding is reported already; what is added to it may be dropped"
)]
impl DiagnosticBuilder<'_, '_> {
    fn last(&mut self) -> Option<&mut Diagnostic> {
        self.findings.diagnostics.last_mut().filter(|_| self.is_stored)
    }

    /// Adds advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        if let Some(diagnostic) = self.last() {
            diagnostic.help = Some(shorten_message(one_line(&help.into())));
        }
        self
    }

    /// Adds a second place in the same document.
    pub fn related(mut self, place: impl Into<FieldRef>, message: impl Into<String>) -> Self {
        if !self.is_stored {
            return self;
        }
        let location = self.findings.scope.locate(&place.into());
        if let Some(diagnostic) = self.last() {
            diagnostic.related.push(RelatedLocation { location, message: one_line(&message.into()) });
        }
        self
    }

    /// Adds a second place in the same document by its bytes.
    pub fn related_at(mut self, span: Span, message: impl Into<String>) -> Self {
        if let Some(diagnostic) = self.last()
            && let Some(location) = diagnostic.location.clone()
        {
            diagnostic
                .related
                .push(RelatedLocation { location: Location { span, ..location }, message: one_line(&message.into()) });
        }
        self
    }

    /// Adds a second place in any document.
    pub fn related_in(mut self, source: SourceId, document: usize, span: Span, message: impl Into<String>) -> Self {
        let location = Location { source, span, document, path: kubefoundry_yaml::field_path::FieldPath::root() };
        if let Some(diagnostic) = self.last() {
            diagnostic.related.push(RelatedLocation { location, message: one_line(&message.into()) });
        }
        self
    }

    /// Adds a fix that replaces bytes of the source.
    pub fn fix(mut self, title: impl Into<String>, edits: Vec<TextEdit>) -> Self {
        if let Some(diagnostic) = self.last() {
            diagnostic.fix = Some(Fix { title: title.into(), edits });
        }
        self
    }

    /// Adds the fix that replaces the text at the finding's own place; none where the text there stands for another (an
    /// alias), is stood for elsewhere (an anchor), or is what a tag makes of it.
    pub fn replace_with(mut self, title: impl Into<String>, replacement: impl Into<String>) -> Self {
        let text = self.findings.scope.text;
        if let Some(diagnostic) = self.last() {
            let span = diagnostic.location.as_ref().map(|location| location.span).unwrap_or_default();
            if !is_untagged_scalar(text, span) {
                return self;
            }
            diagnostic.fix = Some(Fix {
                title: title.into(),
                edits: vec![TextEdit { range: span, replacement: replacement.into() }],
            });
        }
        self
    }
}
