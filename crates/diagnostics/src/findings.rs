//! The collector of the findings in one document.

use super::{Attribute, Code, Diagnostic, FieldRef, Fix, Location, ObjectRef, RelatedLocation, Severity};
use crate::source::SourceId;
use kubefoundry_yaml::edit::TextEdit;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::secret::secret_at;
use kubefoundry_yaml::text::{one_line, shorten};
use kubefoundry_yaml::{FieldPart, Node, Span, Value};

/// The document that findings are reported in.
#[derive(Debug, Clone)]
pub struct DocumentScope<'d> {
    /// The source that contains the document.
    pub source: SourceId,
    /// The whole text of the source, into which spans point. Empty for an object without a text.
    pub text: &'d str,
    /// Position of the document in the source, counted from 0.
    pub document: usize,
    /// The root of the document's tree.
    pub root: &'d Node<'d>,
    /// The object in the document, if its kind is known.
    pub object: Option<ObjectRef>,
}

impl DocumentScope<'_> {
    /// Returns the location of a field in this document.
    pub fn locate(&self, place: &FieldRef) -> Location {
        let mut span = self.root.locate(&place.path, place.part);
        // A block value begins on the line below its key, so underlining it would seem to mean its first entry.
        if self.root.at(&place.path).is_some_and(|node| self.is_block(node)) {
            span = self.root.locate(&place.path, FieldPart::Key);
        }
        Location { source: self.source, document: self.document, span, path: place.path.clone() }
    }

    /// Returns the text that a finding underlines, or the key or value itself if the document has no text.
    fn text_at<'s>(&'s self, code: &'static Code, location: &'s Location) -> &'s str {
        if !self.text.is_empty() {
            return location.span.of(self.text);
        }
        let is_key = code.has(Attribute::AsciiKey);
        match location.path.segments().last() {
            Some(Segment::Key(key)) if is_key => key,
            _ => self.root.at(&location.path).and_then(Node::as_str).unwrap_or_default(),
        }
    }

    /// Conceals the value that a finding is about if its name says that it is a secret, in the source and in the texts that
    /// quote it. The forms of tokens are masked wherever they stand; this value may have any.
    fn conceal_named_secret(&self, diagnostic: &mut Diagnostic) {
        let own = |location: &&Location| (location.source, location.document) == (self.source, self.document);
        let Some(location) = diagnostic.location.as_ref().filter(own) else { return };
        let Some(secret) = secret_at(self.root, self.text, &location.path) else { return };
        diagnostic.secrets.push(self.root.locate(&location.path, FieldPart::Value));
        // A password that is a word may stand in the sentences, too, without being the value.
        let is_word = secret.bytes().all(|byte| byte.is_ascii_lowercase());
        let quote = |text: &str| if is_word { format!("\"{text}\"") } else { text.to_owned() };
        let (written, shortened, mask) = (quote(&secret), quote(&shorten(&secret)), quote("****"));
        let conceal = |text: &mut String| *text = text.replace(&written, &mask).replace(&shortened, &mask);
        let related = diagnostic.related.iter_mut().map(|related| &mut related.message);
        diagnostic.help.iter_mut().chain([&mut diagnostic.message]).chain(related).for_each(conceal);
    }

    /// Whether a value is a mapping or list in block style.
    fn is_block(&self, node: &Node<'_>) -> bool {
        let collection = matches!(node.value, Value::Mapping(_) | Value::Sequence(_));
        // The span of an alias is the alias itself, not the collection that it names.
        collection && !self.text.get(node.span.start..).is_some_and(|text| text.starts_with(['{', '[', '*']))
    }
}

/// Maximum number of findings per document, so that a document full of mistakes is handled in bounded time.
const MAX_FINDINGS: usize = 1000;

/// Collects the findings of one document: at most 1000, and one about the number of the others.
#[derive(Debug)]
pub struct Findings<'d> {
    scope: DocumentScope<'d>,
    diagnostics: Vec<Diagnostic>,
    dropped: usize,
    /// The fields that are absent because their key is misspelled, which is an error.
    misspelled: Vec<FieldPath>,
    /// Number of errors that were not added because they follow from a misspelling.
    echoed_errors: usize,
}

impl<'d> Findings<'d> {
    /// Creates an empty collection for a document.
    pub fn new(scope: DocumentScope<'d>) -> Self {
        Self { scope, diagnostics: Vec::new(), dropped: 0, misspelled: Vec::new(), echoed_errors: 0 }
    }

    /// The document that findings are reported in.
    pub fn scope(&self) -> &DocumentScope<'d> {
        &self.scope
    }

    /// Reports a finding at a field. A `&FieldPath` or a dotted path means the field's value. The returned builder adds
    /// help, related locations and a fix.
    pub fn report(
        &mut self,
        code: &'static Code,
        place: impl Into<FieldRef>,
        message: impl Into<String>,
    ) -> DiagnosticBuilder<'_, 'd> {
        let place = place.into();
        // Finding the span walks the document, which is not needed for a finding that is only counted.
        let location = if self.is_full() { Location::default() } else { self.scope.locate(&place) };
        self.push(code, &message.into(), location)
    }

    /// Reports a finding at a span that is not a field of its own, such as a character in a CEL rule.
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

    /// Adds a finding with a location of its own, for example in another source.
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
        if self.follows_from_misspelling(&location.path) {
            self.echoed_errors += usize::from(code.severity == Severity::Error);
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

    /// Whether a finding at a path is about a field whose key is misspelled, or about one below it.
    fn follows_from_misspelling(&self, path: &FieldPath) -> bool {
        self.misspelled.iter().any(|meant| path.starts_with(meant))
    }

    /// Whether the limit is reached. Further findings are only counted, so callers can skip expensive checks.
    pub fn is_full(&self) -> bool {
        self.diagnostics.len() >= MAX_FINDINGS
    }

    /// Whether there is an error so far. Dropped findings count as errors.
    pub fn has_errors(&self) -> bool {
        self.dropped > 0 || self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Returns the number of errors so far, without dropped ones. Errors that follow from a misspelling count, because
    /// callers compare the numbers before and after a check.
    pub fn error_count(&self) -> usize {
        let errors = self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
        errors.count() + self.echoed_errors
    }

    /// Iterates over the findings so far.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter()
    }

    /// Returns the number of findings so far, without dropped ones.
    pub fn len(&self) -> usize {
        self.diagnostics.len()
    }

    /// Whether there are no findings so far.
    pub fn is_empty(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// Adds the findings of a later phase in a document that already has errors. Only findings with at least severity
    /// `least` are added, and none about a field that already has an error, or about its ancestors and descendants:
    /// they would repeat the error. Findings with the code `always` are exempt from the second condition.
    pub fn extend_without_echoes(&mut self, later: Findings<'_>, least: Severity, always: &'static Code) {
        let path = |diagnostic: &Diagnostic| diagnostic.location.as_ref().map(|location| location.path.clone());
        let errors = self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
        let errors: Vec<_> = errors.filter_map(path).collect();
        let is_echo = |diagnostic: &Diagnostic| {
            path(diagnostic).is_none_or(|at| errors.iter().any(|error| at.starts_with(error) || error.starts_with(&at)))
        };
        let is_consequence = |diagnostic: &Diagnostic| {
            diagnostic.location.as_ref().is_some_and(|location| self.follows_from_misspelling(&location.path))
        };
        let is_worth_reporting = |diagnostic: &Diagnostic| {
            diagnostic.severity <= least
                && !is_consequence(diagnostic)
                && (diagnostic.code == always || !is_echo(diagnostic))
        };
        let later: Vec<Diagnostic> = later.diagnostics.into_iter().filter(is_worth_reporting).collect();
        self.diagnostics.extend(later);
    }

    /// Adds help to the findings that have none. `advice` returns the help for a location, if it has any.
    pub fn add_missing_help(&mut self, advice: impl Fn(&Location) -> Option<String>) {
        for diagnostic in self.diagnostics.iter_mut().filter(|diagnostic| diagnostic.help.is_none()) {
            diagnostic.help =
                diagnostic.location.as_ref().and_then(&advice).map(|help| shorten_message(one_line(&help)));
        }
    }

    /// Removes and returns the findings so far.
    pub fn take(&mut self) -> Vec<Diagnostic> {
        let empty = Self::new(self.scope.clone());
        std::mem::replace(self, empty).into_diagnostics()
    }

    /// Returns all findings.
    pub fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        // A fix would silently decide, for example, which of two equal keys is meant.
        if self.diagnostics.iter().any(|diagnostic| diagnostic.code.has(Attribute::WithholdsFixes)) {
            self.diagnostics.iter_mut().for_each(|diagnostic| diagnostic.fix = None);
        }
        if self.dropped > 0 {
            let message =
                format!("the document has {} more findings; at most {MAX_FINDINGS} are reported", self.dropped);
            let mut diagnostic = Diagnostic::new(&super::codes::LIMIT_EXCEEDED, message);
            diagnostic.location = Some(self.scope.locate(&FieldRef::key(&FieldPath::root())));
            diagnostic.object.clone_from(&self.scope.object);
            self.diagnostics.push(diagnostic);
        }
        self.diagnostics.iter_mut().for_each(|diagnostic| self.scope.conceal_named_secret(diagnostic));
        self.diagnostics
    }
}

/// Whether a scalar is neither an alias nor a block scalar and has no anchor or tag, so that replacing its text changes
/// exactly this value.
fn is_untagged_scalar(text: &str, span: Span) -> bool {
    let scalar_text = span.of(text);
    let before = Span { start: 0, end: span.start }.of(text);
    let token = before.rsplit(|c: char| c.is_whitespace()).find(|token| !token.is_empty());
    // A `*` or `&` inside a word is part of it; after a bracket it is not.
    let is_mark = |token: &str| token.trim_start_matches(['{', '[', ',', '-', ':', '?']).starts_with(['&', '!']);
    !scalar_text.starts_with(['*', '&', '!', '|', '>']) && !token.is_some_and(is_mark)
}

/// Maximum length of a message. Text that it quotes from the input can be of any length.
const MAX_MESSAGE_CHARS: usize = 1000;

/// Removes the middle of a message that is too long.
fn shorten_message(message: String) -> String {
    let count = message.chars().count();
    if count <= MAX_MESSAGE_CHARS {
        return message;
    }
    let start: String = message.chars().take(MAX_MESSAGE_CHARS / 2).collect();
    let end: String = message.chars().skip(count - MAX_MESSAGE_CHARS / 3).collect();
    format!("{start} [...] {end}")
}

/// Names up to three non-ASCII characters of a text that should be ASCII, such as Cyrillic letters, full-width letters
/// or dashes, which look like ASCII.
fn describe_look_alikes(code: &'static Code, text: &str) -> String {
    if text.is_ascii() || text.len() > 512 || !(code.has(Attribute::AsciiValue) || code.has(Attribute::AsciiKey)) {
        return String::new();
    }
    let mut look_alikes: Vec<char> = text.chars().filter(|c| !c.is_ascii()).collect();
    look_alikes.sort_unstable();
    look_alikes.dedup();
    let descriptions: Vec<String> =
        look_alikes.iter().take(3).map(|c| format!("{:?} is U+{:04X}", c, u32::from(*c))).collect();
    format!(" ({})", descriptions.join(", "))
}

/// Adds details to the finding that was just reported. Does nothing if the finding was dropped because the limit is
/// reached.
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

    /// Adds help.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        if let Some(diagnostic) = self.last() {
            diagnostic.help = Some(shorten_message(one_line(&help.into())));
        }
        self
    }

    /// Adds a related location in the same document.
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

    /// Adds a related location in the same document, given by its span.
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

    /// Adds a related location in any document.
    pub fn related_in(mut self, source: SourceId, document: usize, span: Span, message: impl Into<String>) -> Self {
        let location = Location { source, span, document, path: kubefoundry_yaml::field_path::FieldPath::root() };
        if let Some(diagnostic) = self.last() {
            diagnostic.related.push(RelatedLocation { location, message: one_line(&message.into()) });
        }
        self
    }

    /// Declares that the value of a field is a secret, whatever it looks like. No report shows it.
    pub fn conceal(mut self, place: impl Into<FieldRef>) -> Self {
        if self.is_stored {
            // Not the key of a block, which `DocumentScope::locate` would return.
            let place = place.into();
            let span = self.findings.scope.root.locate(&place.path, place.part);
            if let Some(diagnostic) = self.last() {
                diagnostic.secrets.push(span);
            }
        }
        self
    }

    /// Declares that the finding is about a misspelled key, and which absent field is meant. If the finding is an error,
    /// later ones about that field, such as that it is required, are not added: they follow from the misspelling. After
    /// a warning they are, since the options may make one of them an error.
    pub fn means(mut self, meant: FieldPath) -> Self {
        if self.last().is_some_and(|diagnostic| diagnostic.severity == Severity::Error) {
            self.findings.misspelled.push(meant);
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

    /// Adds a fix that replaces the text at the finding's location. Adds none if that text is an alias, or a value with
    /// an anchor or a tag, because the replacement could change other fields or another type than intended.
    pub fn replace_with(mut self, title: impl Into<String>, replacement: impl Into<String>) -> Self {
        let text = self.findings.scope.text;
        if let Some(diagnostic) = self.last()
            && let Some(span) = diagnostic.location.as_ref().map(|location| location.span)
        {
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
