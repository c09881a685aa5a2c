//! Suppresses findings that an object lists in its annotation `<prefix>/lint-ignore: KF0211, idle-gpus`.
//!
//! The annotation is part of the object, so it moves with the object and is reviewed with it. A suppressed warning or
//! info is not reported. An error cannot be suppressed: `render` fails on it, and so does `lint`.

use std::iter::once;

use super::document::Document;
use super::document_role::annotation;
use crate::codes;
use crate::registry;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{Code, Diagnostic, FieldRef, Location, ObjectRef, Severity};
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::wire::metadata;
use kubefoundry_model::composition::Composition;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::Span;
use kubefoundry_yaml::text::closest;
use kubefoundry_yaml::text::one_line;

/// The name of the annotation after the prefix of an API group.
pub const NAME: &str = "lint-ignore";

/// The suppressions of one object.
#[derive(Debug, Clone)]
pub(crate) struct Suppression {
    composition: &'static Composition,
    /// The location of the annotation's value.
    pub(crate) location: Location,
    /// The bytes of the object.
    pub(crate) span: Span,
    object: Option<ObjectRef>,
    entries: Vec<SuppressedCode>,
    /// Whether the object has an error. Other checks may then not have run, so an unused suppression proves nothing.
    is_broken: bool,
}

/// A code in the annotation.
#[derive(Debug, Clone)]
struct SuppressedCode {
    written: String,
    code: Option<&'static Code>,
    used: bool,
    /// Whether the code was found as an error, which cannot be suppressed.
    is_error: bool,
}

impl Suppression {
    /// Reads the annotation of a document, if it has one.
    pub(crate) fn from_document(composition: &'static Composition, document: &Document<'_>) -> Option<Self> {
        let value = annotation(&document.root, API_GROUPS, NAME)?;
        let annotations = metadata().annotations();
        let keys = API_GROUPS.iter().map(|api_group| api_group.label(NAME));
        let path = keys.map(|key| annotations.clone().key(key)).find(|path| document.root.at(path).is_some())?;
        let entries = written_codes(composition, value).map(|(word, code)| SuppressedCode {
            written: word.to_owned(),
            code,
            used: false,
            is_error: false,
        });
        let scope = document.scope();
        Some(Self {
            composition,
            location: scope.locate(&FieldRef::value(&path)),
            span: document.span,
            object: scope.object,
            entries: entries.collect(),
            is_broken: false,
        })
    }

    /// Returns the start of the object, in an order that follows the input.
    fn start(&self) -> (SourceId, usize, usize) {
        (self.location.source, self.location.document, self.span.start)
    }

    fn covers(&self, location: &Location) -> bool {
        let own = &self.location;
        (own.source, own.document) == (location.source, location.document) && location.span.start <= self.span.end
    }

    /// Returns findings about entries of the annotation that match no finding or no code. All findings of the run must
    /// have been marked before.
    pub(crate) fn find_problems(&self) -> impl Iterator<Item = Diagnostic> {
        let is_unused =
            |entry: &&SuppressedCode| !entry.used && (entry.code.is_none() || entry.is_error || !self.is_broken);
        self.entries.iter().filter(is_unused).map(|entry| {
            let written = &entry.written;
            let (message, help) = if let Some(code) = entry.code.filter(|_| entry.is_error) {
                let message = format!(
                    "the annotation ignores {} ({}), which is an error and cannot be ignored",
                    code.id, code.name
                );
                (message, Some("remove it from the annotation, and correct the error".to_owned()))
            } else if let Some(code) = entry.code {
                let message = format!(
                    "the annotation ignores {} ({}), which is not reported for this object",
                    code.id, code.name
                );
                (message, Some("remove it from the annotation".to_owned()))
            } else {
                let meant = closest(written, registry::codes(self.composition).map(|code| code.name));
                let message = format!("there is no diagnostic {written:?}, expected a code or its name");
                (one_line(&message), meant.map(|meant| format!("did you mean {meant:?}?")))
            };
            let mut finding = Diagnostic::new(&codes::UNUSED_SUPPRESSION, message);
            finding.help = help;
            finding.location = Some(self.location.clone());
            finding.object.clone_from(&self.object);
            finding
        })
    }
}

/// An object whose annotation ignores codes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct IgnoringObject {
    /// Position of its document in the text, counted from 0.
    pub document: usize,
    /// The bytes of the object.
    pub span: Span,
    /// The object.
    pub object: ObjectRef,
    /// The ids of the codes.
    pub codes: Vec<&'static str>,
}

/// Returns the objects of a text whose annotations ignore codes.
///
/// ```
/// use kubefoundry_composition::BUILTIN;
/// let text = "kind: A\nmetadata: {name: a, annotations: {kubefoundry.ai/lint-ignore: idle-gpus}}\n";
/// let objects = kubefoundry_compiler::pipeline::ignoring_objects(&BUILTIN, text);
/// assert_eq!(objects[0].codes, [kubefoundry_compiler::registry::code(&BUILTIN, "idle-gpus").unwrap().id]);
/// ```
pub fn ignoring_objects(composition: &'static Composition, text: &str) -> Vec<IgnoringObject> {
    let mut objects = Vec::new();
    if memchr::memmem::find(text.as_bytes(), NAME.as_bytes()).is_none() && !text.contains('\\') {
        return objects;
    }
    for document in yaml::parse(text, &yaml::Limits::default()).documents {
        let items = document.root.get("items").map(yaml::Node::items).unwrap_or_default();
        for node in once(&document.root).chain(items) {
            let Some(value) = annotation(node, API_GROUPS, NAME) else { continue };
            objects.push(IgnoringObject {
                document: document.index,
                span: node.span,
                object: Header::from_node(node).object(),
                codes: written_codes(composition, value).filter_map(|(_, code)| Some(code?.id)).collect(),
            });
        }
    }
    objects
}

/// Returns the words of an annotation with their codes.
fn written_codes<'v>(
    composition: &'static Composition,
    value: &'v str,
) -> impl Iterator<Item = (&'v str, Option<&'static Code>)> {
    let words = value.split([',', ' ', '\n', '\t']).filter(|word| !word.is_empty());
    words.map(move |word| {
        (word, registry::code(composition, word).or_else(|| registry::code(composition, &word.to_ascii_uppercase())))
    })
}

/// Marks suppressed findings, and the suppressions that match one. `suppressions` must be in input order.
pub(crate) fn mark(diagnostics: &mut [Diagnostic], suppressions: &mut [Suppression]) {
    if suppressions.is_empty() {
        return;
    }
    for diagnostic in diagnostics {
        let Some(location) = &diagnostic.location else { continue };
        // Objects do not overlap, so only the last one that starts before the finding can contain it.
        let start = (location.source, location.document, location.span.start);
        let end = suppressions.partition_point(|suppression| suppression.start() <= start);
        let last_before = end.checked_sub(1).and_then(|position| suppressions.get_mut(position));
        let Some(suppression) = last_before.filter(|suppression| suppression.covers(location)) else { continue };
        suppression.is_broken |= diagnostic.severity == Severity::Error;
        for entry in suppression.entries.iter_mut().filter(|entry| entry.code == Some(diagnostic.code)) {
            if diagnostic.severity == Severity::Error {
                entry.is_error = true;
            } else {
                entry.used = true;
                diagnostic.suppressed = true;
            }
        }
    }
}
