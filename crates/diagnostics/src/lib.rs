//! Diagnostics: one type for every finding. Checks collect findings and continue, instead of stopping at the first one.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.
//!
//! Checks report [`Diagnostic`]s to [`Findings`]. Only the renderers in [`render`] turn them into text.

pub mod codes;
mod findings;
pub mod render;
pub mod source;

use std::fmt;
use std::sync::Arc;

pub use codes::{Attribute, Code};
pub use findings::{DiagnosticBuilder, DocumentScope, Findings};

use crate::source::SourceId;
use kubefoundry_yaml::edit::TextEdit;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::secret::mask;
use kubefoundry_yaml::text::printable;
use kubefoundry_yaml::{FieldPart, Span};

/// The severity of a finding. An error prevents all output; information never fails a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// The input cannot be rendered.
    Error,
    /// The input is rendered, but probably not as intended.
    Warning,
    /// A hint without consequences for the run.
    Info,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        })
    }
}

/// A Kubernetes object, by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// `group/version`.
    pub api_version: Arc<str>,
    /// The kind.
    pub kind: Arc<str>,
    /// The namespace, if the object has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Arc<str>>,
    /// The name.
    pub name: Arc<str>,
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&self.kind))?;
        if self.name.is_empty() {
            return Ok(());
        }
        f.write_str(" ")?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{}/", printable(namespace))?;
        }
        f.write_str(&printable(&self.name))
    }
}

/// A location in the input: a source, a document in it, a field, and the bytes to underline.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub struct Location {
    /// The source.
    pub source: SourceId,
    /// The bytes to underline.
    pub span: Span,
    /// Position of the document in the source, counted from 0.
    pub document: usize,
    /// The field.
    pub path: FieldPath,
}

impl Location {
    /// Creates a location.
    pub fn new(source: SourceId, document: usize, span: Span, path: FieldPath) -> Self {
        Self { source, span, document, path }
    }

    /// Creates the location of a source as a whole, which is its first byte.
    pub fn from_source(source: SourceId) -> Self {
        Self { source, ..Self::default() }
    }
}

/// A second location that explains a finding, such as the first use of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelatedLocation {
    /// The location.
    pub location: Location,
    /// A short note about it.
    pub message: String,
}

/// A change of the text that is always correct, so that `lint --fix` can apply it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fix {
    /// The action, in the imperative: `quote the value`.
    pub title: String,
    /// The replacements, in the source of the finding. They do not overlap.
    pub edits: Vec<TextEdit>,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The code.
    pub code: &'static Code,
    /// The severity: that of the code, unless the render options set another one.
    pub severity: Severity,
    /// The problem, on one line.
    pub message: String,
    /// The location. A finding about the options or the whole input has none.
    pub location: Option<Location>,
    /// The object that the finding is about.
    pub object: Option<ObjectRef>,
    /// Other locations that explain the finding.
    pub related: Vec<RelatedLocation>,
    /// Advice on what to do.
    pub help: Option<String>,
    /// A fix that `lint --fix` can apply.
    pub fix: Option<Fix>,
    /// The parts of its source that are secrets, whatever they look like. No report shows them.
    pub secrets: Vec<Span>,
    /// Whether an annotation of the object suppresses the finding. `lint` then ignores it.
    pub suppressed: bool,
}

/// Counts the findings that say that a part of the input was not judged.
pub fn count_not_judged<'d>(diagnostics: impl IntoIterator<Item = &'d Diagnostic>) -> usize {
    diagnostics.into_iter().filter(|diagnostic| diagnostic.code.has(Attribute::NotJudged)).count()
}

impl Diagnostic {
    /// Creates a finding without a location, with the severity of its code.
    pub fn new(code: &'static Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity,
            message: mask(&message.into()).into_owned(),
            location: None,
            object: None,
            related: Vec::new(),
            help: None,
            fix: None,
            secrets: Vec::new(),
            suppressed: false,
        }
    }

    /// Adds help.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(mask(&help.into()).into_owned());
        self
    }

    /// Returns the sort key: location, code, message. Findings without a location come first.
    pub fn sort_key(&self) -> (Option<&Location>, &'static str, &str) {
        (self.location.as_ref(), self.code.id, &self.message)
    }
}

/// The key or the value of a field, as the target of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRef {
    /// The field.
    pub path: FieldPath,
    /// The part to underline.
    pub part: FieldPart,
}

impl FieldRef {
    /// Refers to the key of a field.
    pub fn key(path: &FieldPath) -> Self {
        Self { path: path.clone(), part: FieldPart::Key }
    }

    /// Refers to the value of a field.
    pub fn value(path: &FieldPath) -> Self {
        Self { path: path.clone(), part: FieldPart::Value }
    }
}
impl From<&FieldPath> for FieldRef {
    fn from(path: &FieldPath) -> Self {
        Self::value(path)
    }
}
impl From<&'static str> for FieldRef {
    fn from(dotted: &'static str) -> Self {
        Self::value(&FieldPath::parse(dotted))
    }
}
