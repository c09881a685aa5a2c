//! Findings that an object says to ignore: annotation `<prefix>/lint-ignore: KF0210, idle-gpus`.
//!
//! It is written in the object that it is about, so that it moves with it and is reviewed with it. A warning or info
//! is then said nowhere. An error still stops the output, since what it flags cannot be rendered; only `lint` passes it.

use super::document::Document;
use super::role::annotation;
use crate::codes;
use crate::registry;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{Code, Diagnostic, FieldRef, Location, ObjectRef, Severity};
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::wire::metadata;
use kubefoundry_yaml::Span;
use kubefoundry_yaml::text::closest;
use kubefoundry_yaml::text::one_line;

/// The annotation's name behind the prefix of an API group.
const NAME: &str = "lint-ignore";

/// What one object says to ignore.
#[derive(Debug, Clone)]
pub(super) struct Suppression {
    /// Where the annotation's value stands.
    pub(super) location: Location,
    /// The object's own bytes.
    pub(super) span: Span,
    object: Option<ObjectRef>,
    entries: Vec<SuppressedCode>,
    /// Whether the object has an error: then what else there is in it was not all looked for.
    is_broken: bool,
}

/// A code, as it was written.
#[derive(Debug, Clone)]
struct SuppressedCode {
    written: String,
    code: Option<&'static Code>,
    used: bool,
}

impl Suppression {
    /// Reads the annotation, where there is one.
    pub(super) fn of(document: &Document<'_>) -> Option<Self> {
        let value = annotation(&document.root, API_GROUPS, NAME)?;
        let annotations = metadata().annotations();
        let keys = API_GROUPS.iter().map(|api_group| api_group.label(NAME));
        let path = keys.map(|key| annotations.clone().key(key)).find(|path| document.root.at(path).is_some())?;
        let words = value.split([',', ' ', '\n', '\t']).filter(|word| !word.is_empty());
        let entries = words.map(|word| {
            let code = registry::code(word).or_else(|| registry::code(&word.to_ascii_uppercase()));
            SuppressedCode { written: word.to_owned(), code, used: false }
        });
        let scope = document.scope();
        Some(Self {
            location: scope.locate(&FieldRef::value(&path)),
            span: document.span,
            object: scope.object,
            entries: entries.collect(),
            is_broken: false,
        })
    }

    fn start(&self) -> (SourceId, usize, usize) {
        (self.location.source, self.location.document, self.span.start)
    }

    fn covers(&self, location: &Location) -> bool {
        let (here, there) = (&self.location, location);
        (here.source, here.document) == (there.source, there.document) && there.span.start <= self.span.end
    }

    /// What is wrong with the annotation itself, once all findings were seen.
    pub(super) fn complaints(&self) -> impl Iterator<Item = Diagnostic> {
        let in_vain = |entry: &&SuppressedCode| !entry.used && (entry.code.is_none() || !self.is_broken);
        self.entries.iter().filter(in_vain).map(|entry| {
            let written = &entry.written;
            let (what, help) = if let Some(code) = entry.code {
                let what = format!(
                    "the annotation ignores {} ({}), which is not reported for this object",
                    code.id, code.name
                );
                (what, Some("remove it from the annotation".to_owned()))
            } else {
                let meant = closest(written, registry::codes().map(|code| code.name));
                let what = format!("there is no diagnostic {written:?}, expected codes or their names");
                (one_line(&what), meant.map(|meant| format!("did you mean {meant:?}?")))
            };
            let mut complaint = Diagnostic::new(&codes::UNUSED_SUPPRESSION, what);
            complaint.help = help;
            complaint.location = Some(self.location.clone());
            complaint.object.clone_from(&self.object);
            complaint
        })
    }
}

/// Marks the findings that are to be ignored, and that they were found. `suppressions` are in input order.
pub(super) fn mark(diagnostics: &mut [Diagnostic], suppressions: &mut [Suppression]) {
    if suppressions.is_empty() {
        return;
    }
    for diagnostic in diagnostics {
        let Some(location) = &diagnostic.location else { continue };
        // They are in input order, and objects do not overlap: only the last that starts before the place can cover it.
        let place = (location.source, location.document, location.span.start);
        let after = suppressions.partition_point(|suppression| suppression.start() <= place);
        let before = after.checked_sub(1).and_then(|position| suppressions.get_mut(position));
        let Some(suppression) = before.filter(|suppression| suppression.covers(location)) else { continue };
        suppression.is_broken |= diagnostic.severity == Severity::Error;
        for entry in suppression.entries.iter_mut().filter(|entry| entry.code == Some(diagnostic.code)) {
            entry.used = true;
            diagnostic.suppressed = true;
        }
    }
}
