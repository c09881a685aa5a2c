//! What is said to the user: one type for every finding, collected, never returned early.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.
//!
//! Rules make [`Diagnostic`]s and hand them to [`Findings`]; only the renderers in [`render`] turn them into text.

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
use kubefoundry_yaml::{FieldPart, Span};

/// How much a finding matters. Errors stop the output; information never fails a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// The input cannot be rendered as it is.
    Error,
    /// It is rendered, and probably not as meant.
    Warning,
    /// Worth knowing.
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

/// The object that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// `group/version`.
    pub api_version: Arc<str>,
    /// The kind.
    pub kind: Arc<str>,
    /// The namespace, when the object states one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Arc<str>>,
    /// The name.
    pub name: Arc<str>,
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if self.name.is_empty() {
            return Ok(());
        }
        f.write_str(" ")?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

/// Where in the input: a source, a document in it, a field, and the bytes to underline.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub struct Location {
    /// Which text.
    pub source: SourceId,
    /// The bytes to underline.
    pub span: Span,
    /// Which document of it, counted from 0.
    pub document: usize,
    /// Which field.
    pub path: FieldPath,
}

impl Location {
    /// The bytes of a span in a document of a source, and the field that they are.
    pub fn new(source: SourceId, document: usize, span: Span, path: FieldPath) -> Self {
        Self { source, span, document, path }
    }

    /// A source as a whole: its first byte.
    pub fn from_source(source: SourceId) -> Self {
        Self { source, ..Self::default() }
    }
}

/// A second place that explains a finding, such as where a name was used first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelatedLocation {
    /// Where.
    pub location: Location,
    /// What is there, in a few words.
    pub message: String,
}

/// A change of the text that is right in every case, so that a machine may make it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fix {
    /// What it does: `quote the value`.
    pub title: String,
    /// The bytes to replace, in the source that the finding is in. They do not overlap.
    pub edits: Vec<TextEdit>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Its stable code.
    pub code: &'static Code,
    /// Its severity: the code's, unless options changed it.
    pub severity: Severity,
    /// What was found and what is expected, in one line.
    pub message: String,
    /// Where; a finding about options or the whole input has no place.
    pub location: Option<Location>,
    /// The object it is about.
    pub object: Option<ObjectRef>,
    /// Other places that explain it.
    pub related: Vec<RelatedLocation>,
    /// What to do.
    pub help: Option<String>,
    /// A fix that a machine may make.
    pub fix: Option<Fix>,
    /// Whether an annotation of the object says to ignore it: then `lint` does.
    pub suppressed: bool,
}

impl Diagnostic {
    /// A finding without a place.
    pub fn new(code: &'static Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity,
            message: message.into(),
            location: None,
            object: None,
            related: Vec::new(),
            help: None,
            fix: None,
            suppressed: false,
        }
    }

    /// Adds advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// What diagnostics are ordered by: source, place, code, text. Those without a place come first.
    pub fn sort_key(&self) -> (Option<&Location>, &'static str, &str) {
        (self.location.as_ref(), self.code.id, &self.message)
    }
}

/// Where to point for a field: its path, and its key or its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRef {
    /// The field.
    pub path: FieldPath,
    /// Its key or its value.
    pub part: FieldPart,
}

impl FieldRef {
    /// The key of a field.
    pub fn key(path: &FieldPath) -> Self {
        Self { path: path.clone(), part: FieldPart::Key }
    }

    /// The value of a field.
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
