//! Splits a text into documents and reports failures of the text as a whole. The pipeline and every other reader of
//! texts use it.

use crate::codes;
use kubefoundry_diagnostics::source::{EncodingError, Source, SourceId};
use kubefoundry_diagnostics::{Diagnostic, DocumentScope, Findings};
use kubefoundry_model::composition::Composition;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Document, Failure, FailureKind, Node, Span};

/// Iterator over the documents of a text.
pub(crate) struct Documents<'t> {
    composition: &'static Composition,
    source: &'t Source,
    /// `None` for a source that is not valid text.
    parser: Option<yaml::Documents<'t>>,
}

impl<'t> Documents<'t> {
    pub(crate) fn new(composition: &'static Composition, source: &'t Source, limits: &yaml::Limits) -> Self {
        let parser = source.encoding_error.is_none().then(|| yaml::documents(&source.text, limits));
        Self { composition, source, parser }
    }

    /// Returns the failures of the whole text: not UTF-8, not YAML, or not JSON although the file name ends in `.json`.
    /// Call it after the last document has been read; before, it misses failures.
    pub(crate) fn into_failures(self) -> Vec<Failure> {
        let Self { composition, source, parser } = self;
        if let Some(error) = source.encoding_error {
            return vec![encoding_failure(error, &source.text)];
        }
        let mut failures = parser.map(yaml::Documents::into_failures).unwrap_or_default();
        let is_json = !source.is_rewritten && is_json_file(&source.name);
        if failures.is_empty() && is_json && composition.may_hold_input(&source.text) {
            failures.extend(find_non_json(&source.text));
        }
        failures
    }
}

impl<'t> Iterator for Documents<'t> {
    type Item = Document<'t>;

    fn next(&mut self) -> Option<Document<'t>> {
        self.parser.as_mut()?.next()
    }
}

/// Failures of whole texts, split by whether the text may be meant for kubefoundry.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadFailures {
    /// Failures of texts that may contain objects of kubefoundry.
    pub(crate) relevant: Vec<Diagnostic>,
    /// Failures of all other texts. They are reported only when the input has nothing else to render.
    pub(crate) foreign: Vec<Diagnostic>,
}

impl ReadFailures {
    /// Adds the failures of one text.
    pub(crate) fn add(&mut self, composition: &Composition, id: SourceId, source: &Source, failures: &[Failure]) {
        if !failures.is_empty() {
            let diagnostics =
                if composition.may_hold_input(&source.text) { &mut self.relevant } else { &mut self.foreign };
            diagnostics.extend(failure_diagnostics(id, &source.text, 0, failures));
        }
    }

    pub(crate) fn append(&mut self, mut later: Self) {
        self.relevant.append(&mut later.relevant);
        self.foreign.append(&mut later.foreign);
    }
}

/// Converts failures of a text, or of one of its documents, to findings.
pub(crate) fn failure_diagnostics(
    source: SourceId,
    text: &str,
    document: usize,
    failures: &[Failure],
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for failure in failures {
        let root = Node { value: yaml::Value::Null, span: failure.span };
        let scope = DocumentScope { source, text, document, root: &root, object: None };
        let mut findings = Findings::new(scope);
        report_failure(failure, &mut findings);
        diagnostics.extend(findings.into_diagnostics());
    }
    diagnostics
}

/// Reports a failure to read a document under the code that matches its kind.
pub fn report_failure(failure: &Failure, findings: &mut Findings<'_>) {
    let code = match failure.kind {
        FailureKind::Syntax | FailureKind::UnknownAlias | FailureKind::BadMerge | FailureKind::BadTag => &codes::SYNTAX,
        FailureKind::DuplicateKey | FailureKind::MergeOverride => &codes::DUPLICATE_KEY,
        FailureKind::NotJson => &codes::NOT_JSON,
        FailureKind::TooManyDocuments
        | FailureKind::TooManyNodes
        | FailureKind::TooDeep
        | FailureKind::TooLarge
        | FailureKind::TooManyAliases => &codes::LIMIT_EXCEEDED,
    };
    let reported = findings.report_at(code, &FieldPath::root(), failure.span, failure.sentence());
    if let Some((span, message)) = &failure.related {
        reported.related_at(*span, message.clone());
    }
}

fn encoding_failure(error: EncodingError, text: &str) -> Failure {
    let (offset, message) = match error {
        EncodingError::NotUtf8(offset) => (offset, "a byte that is not UTF-8; expected UTF-8 text"),
        EncodingError::Utf16 => (0, "text in UTF-16; expected UTF-8"),
    };
    let width = text.get(offset..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    Failure::new(FailureKind::Syntax, Span { start: offset, end: offset + width }, message)
}

fn is_json_file(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| extension == "json")
}

/// Finds the first place where a YAML text is not JSON. Other readers of `.json` files (jq, Argo CD) accept JSON only.
fn find_non_json(text: &str) -> Option<Failure> {
    // A byte order mark at the start is accepted, but `serde_json` refuses it.
    let mark_bytes = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let error = serde_json::from_str::<serde::de::IgnoredAny>(text.get(mark_bytes..)?).err()?;
    let line_start = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    // The parser did not see the mark, so only columns of the first line lack it.
    let missing_bytes = if error.line() == 1 { mark_bytes } else { 0 };
    let mut offset = (line_start + missing_bytes + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let width =
        text.get(offset..).and_then(|rest| rest.chars().next()).filter(|c| *c != '\n').map_or(0, char::len_utf8);
    let reason = error.to_string();
    let reason = reason.split_once(" at line ").map_or(&*reason, |(reason, _)| reason);
    let message = format!("text that is not JSON in a .json file ({reason}); expected JSON, or the ending .yaml");
    Some(Failure::new(FailureKind::Syntax, Span { start: offset, end: offset + width }, message))
}
