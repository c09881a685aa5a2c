//! The collector that rules report to while they look at one document.

use super::{Code, Diagnostic, Edit, Fix, Location, ObjectRef, Place, Related, Severity};
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

/// Collects the findings of one document.
#[derive(Debug)]
pub struct Findings<'d> {
    scope: Scope<'d>,
    diagnostics: Vec<Diagnostic>,
}

impl<'d> Findings<'d> {
    /// An empty collection for a document.
    pub fn new(scope: Scope<'d>) -> Self {
        Self { scope, diagnostics: Vec::new() }
    }

    /// The document that is being looked at.
    pub fn scope(&self) -> &Scope<'d> {
        &self.scope
    }

    /// Names the object that later findings are about.
    pub fn set_object(&mut self, object: ObjectRef) {
        self.scope.object = Some(object);
    }

    /// Reports a finding at a place (a `&FieldPath` or a dotted path means the value there) and returns it for help,
    /// related places and a fix to be added.
    pub fn report(
        &mut self,
        code: &'static Code,
        place: impl Into<Place>,
        message: impl Into<String>,
    ) -> Reported<'_, 'd> {
        let location = self.scope.locate(&place.into());
        self.push(code, message.into(), location)
    }

    /// Reports a finding at bytes of the source, for what has no field path of its own (a character in a CEL rule).
    pub fn report_at(
        &mut self,
        code: &'static Code,
        place: impl Into<Place>,
        span: Span,
        message: impl Into<String>,
    ) -> Reported<'_, 'd> {
        let location = Location { span, ..self.scope.locate(&place.into()) };
        self.push(code, message.into(), location)
    }

    fn push(&mut self, code: &'static Code, message: String, location: Location) -> Reported<'_, 'd> {
        let mut diagnostic = Diagnostic::new(code, message);
        diagnostic.location = Some(location);
        diagnostic.object.clone_from(&self.scope.object);
        self.diagnostics.push(diagnostic);
        Reported { findings: self }
    }

    /// Whether an error is among the findings so far.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
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

    /// Takes in what a later phase found in a document that an earlier one found errors in: all but the echoes, that is,
    /// what is said of a field that has its error already, unless `always` keeps it.
    pub fn absorb(&mut self, later: Findings<'_>, always: impl Fn(&Diagnostic) -> bool) {
        let path = |diagnostic: &Diagnostic| diagnostic.location.as_ref().map(|location| location.path.clone());
        let errors = self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
        let errors: Vec<_> = errors.filter_map(path).collect();
        let is_echo = |diagnostic: &Diagnostic| {
            path(diagnostic).is_none_or(|at| errors.iter().any(|error| at.starts_with(error) || error.starts_with(&at)))
        };
        self.diagnostics.extend(later.diagnostics.into_iter().filter(|found| always(found) || !is_echo(found)));
    }

    /// Everything found.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics
    }
}

/// A finding that was just reported.
#[derive(Debug)]
pub struct Reported<'f, 'd> {
    findings: &'f mut Findings<'d>,
}

impl Reported<'_, '_> {
    fn last(&mut self) -> Option<&mut Diagnostic> {
        self.findings.diagnostics.last_mut()
    }

    /// Adds advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        if let Some(diagnostic) = self.last() {
            diagnostic.help = Some(help.into());
        }
        self
    }

    /// Adds a second place in the same document.
    pub fn related(mut self, place: impl Into<Place>, message: impl Into<String>) -> Self {
        let location = self.findings.scope.locate(&place.into());
        if let Some(diagnostic) = self.last() {
            diagnostic.related.push(Related { location, message: message.into() });
        }
        self
    }

    /// Adds a second place in the same document by its bytes.
    pub fn related_at(mut self, span: Span, message: impl Into<String>) -> Self {
        if let Some(diagnostic) = self.last()
            && let Some(location) = diagnostic.location.clone()
        {
            diagnostic.related.push(Related { location: Location { span, ..location }, message: message.into() });
        }
        self
    }

    /// Adds a second place in any document.
    pub fn related_in(mut self, source: SourceId, document: usize, span: Span, message: impl Into<String>) -> Self {
        let location = Location { source, span, document, path: crate::path::FieldPath::root() };
        if let Some(diagnostic) = self.last() {
            diagnostic.related.push(Related { location, message: message.into() });
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
