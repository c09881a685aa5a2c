//! The collector that rules report to while they look at one document.

use super::{Code, Diagnostic, Edit, Fix, Location, ObjectRef, Place, Related, Severity, one_line};
use crate::path::FieldPath;
use crate::source::SourceId;
use crate::yaml::{Node, Span};

/// The document that is being looked at.
#[derive(Debug, Clone)]
pub struct Scope<'d> {
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

impl Scope<'_> {
    /// The location of a place in this document.
    pub fn locate(&self, place: &Place) -> Location {
        Location {
            source: self.source,
            document: self.document,
            span: self.root.locate(&place.path, place.target),
            path: place.path.clone(),
        }
    }
}

/// Findings of one document, at the most: a document of nothing but mistakes is answered in bounded time.
const MOST: usize = 1000;

/// Collects the findings of one document, at most 1000 and a word about the rest.
#[derive(Debug)]
pub struct Findings<'d> {
    scope: Scope<'d>,
    diagnostics: Vec<Diagnostic>,
    left_out: usize,
}

impl<'d> Findings<'d> {
    /// An empty collection for a document.
    pub fn new(scope: Scope<'d>) -> Self {
        Self { scope, diagnostics: Vec::new(), left_out: 0 }
    }

    /// The document that is being looked at.
    pub fn scope(&self) -> &Scope<'d> {
        &self.scope
    }

    /// Reports a finding at a place (a `&FieldPath` or a dotted path means the value there) and returns it for help,
    /// related places and a fix to be added.
    pub fn report(
        &mut self,
        code: &'static Code,
        place: impl Into<Place>,
        message: impl Into<String>,
    ) -> Reported<'_, 'd> {
        let place = place.into();
        // Looking for a place takes a look at the document; past the limit none is needed.
        let location = if self.is_full() { Location::default() } else { self.scope.locate(&place) };
        self.push(code, &message.into(), location)
    }

    /// Reports a finding at bytes of the source, for what has no field path of its own (a character in a CEL rule).
    pub fn report_at(
        &mut self,
        code: &'static Code,
        place: impl Into<Place>,
        span: Span,
        message: impl Into<String>,
    ) -> Reported<'_, 'd> {
        let place = place.into();
        let location = if self.is_full() { Location::default() } else { self.scope.locate(&place) };
        let location = Location { span, ..location };
        self.push(code, &message.into(), location)
    }

    fn push(&mut self, code: &'static Code, message: &str, location: Location) -> Reported<'_, 'd> {
        if self.is_full() {
            self.left_out += 1;
            return Reported { findings: self, kept: false };
        }
        let mut diagnostic = Diagnostic::new(code, one_line(message));
        diagnostic.location = Some(location);
        diagnostic.object.clone_from(&self.scope.object);
        self.diagnostics.push(diagnostic);
        Reported { findings: self, kept: true }
    }

    fn is_full(&self) -> bool {
        self.diagnostics.len() >= MOST
    }

    /// Whether an error is among the findings so far.
    pub fn has_errors(&self) -> bool {
        self.left_out > 0 || self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// How many errors there are so far.
    pub fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
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
    pub fn absorb(&mut self, later: Findings<'_>, least: Severity, always: &'static Code) {
        let path = |diagnostic: &Diagnostic| diagnostic.location.as_ref().map(|location| location.path.clone());
        let errors = self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
        let errors: Vec<_> = errors.filter_map(path).collect();
        let is_echo = |diagnostic: &Diagnostic| {
            path(diagnostic).is_none_or(|at| errors.iter().any(|error| at.starts_with(error) || error.starts_with(&at)))
        };
        let worth_saying = |found: &Diagnostic| found.severity <= least && (found.code == always || !is_echo(found));
        self.diagnostics.extend(later.diagnostics.into_iter().filter(worth_saying));
    }

    /// Everything found.
    pub fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        if self.left_out > 0 {
            let message = format!("the document has {} more findings, expected at most {MOST}", self.left_out);
            let mut diagnostic = Diagnostic::new(&super::codes::LIMIT_EXCEEDED, message);
            diagnostic.location = Some(self.scope.locate(&Place::key(&FieldPath::root())));
            diagnostic.object.clone_from(&self.scope.object);
            self.diagnostics.push(diagnostic);
        }
        self.diagnostics
    }
}

/// A finding that was just reported.
#[derive(Debug)]
pub struct Reported<'f, 'd> {
    findings: &'f mut Findings<'d>,
    kept: bool,
}

impl Reported<'_, '_> {
    fn last(&mut self) -> Option<&mut Diagnostic> {
        self.findings.diagnostics.last_mut().filter(|_| self.kept)
    }

    /// Adds advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        if let Some(diagnostic) = self.last() {
            diagnostic.help = Some(one_line(&help.into()));
        }
        self
    }

    /// Adds a second place in the same document.
    pub fn related(mut self, place: impl Into<Place>, message: impl Into<String>) -> Self {
        let location = self.findings.scope.locate(&place.into());
        if let Some(diagnostic) = self.last() {
            diagnostic.related.push(Related { location, message: one_line(&message.into()) });
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
                .push(Related { location: Location { span, ..location }, message: one_line(&message.into()) });
        }
        self
    }

    /// Adds a second place in any document.
    pub fn related_in(mut self, source: SourceId, document: usize, span: Span, message: impl Into<String>) -> Self {
        let location = Location { source, span, document, path: crate::path::FieldPath::root() };
        if let Some(diagnostic) = self.last() {
            diagnostic.related.push(Related { location, message: one_line(&message.into()) });
        }
        self
    }

    /// Adds a fix that replaces bytes of the source.
    pub fn fix(mut self, title: impl Into<String>, edits: Vec<Edit>) -> Self {
        if let Some(diagnostic) = self.last() {
            diagnostic.fix = Some(Fix { title: title.into(), edits });
        }
        self
    }

    /// Adds the fix that replaces the text at the finding's own place.
    pub fn replace_with(mut self, title: impl Into<String>, replacement: impl Into<String>) -> Self {
        if let Some(diagnostic) = self.last() {
            let span = diagnostic.location.as_ref().map(|location| location.span).unwrap_or_default();
            diagnostic.fix =
                Some(Fix { title: title.into(), edits: vec![Edit { span, replacement: replacement.into() }] });
        }
        self
    }
}
