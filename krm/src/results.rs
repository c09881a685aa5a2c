//! Findings as results, and as the lines on standard error that every client shows.

use std::fmt::Write as _;

use kubefoundry_compiler::Compilation;
use kubefoundry_diagnostics::{Diagnostic, Location, Severity};
use kubefoundry_yaml::edit::TextEdit;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::{Limits, Node, Value, parse};
use serde_json::{Map, Value as Json, json};

use crate::envelope::Envelope;
use crate::item::{self, Origin};
use crate::sources::{Made, Sources};

/// One result, and the line that says the same.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    message: String,
    pub(crate) result: Json,
}

impl Finding {
    /// The line on standard error.
    pub(crate) fn line(&self) -> String {
        format!("{}: {}\n", self.severity, self.message)
    }

    /// An error about the whole list.
    pub(crate) fn error(message: String) -> Self {
        let result = Json::Object(start(Severity::Error, &message));
        Self { severity: Severity::Error, message, result }
    }

    /// What was done, about an item.
    pub(crate) fn info(message: String, object: &Node<'_>) -> Self {
        let mut result = start(Severity::Info, &message);
        result.insert("resourceRef".to_owned(), json!(item::reference(object)));
        result.extend(file(object));
        Self { severity: Severity::Info, message, result: Json::Object(result) }
    }
}

fn start(severity: Severity, message: &str) -> Map<String, Json> {
    Map::from_iter([("message".to_owned(), json!(message)), ("severity".to_owned(), json!(severity))])
}

fn file(object: &Node<'_>) -> Option<(String, Json)> {
    let origin = Origin::of(object)?;
    Some(("file".to_owned(), json!({"path": origin.path, "index": origin.index})))
}

/// Every finding, errors first: of results and of standard error kpt shows the first four.
pub(crate) fn findings(
    compilation: &Compilation,
    more: &[Diagnostic],
    sources: &Sources,
    envelope: &Envelope<'_>,
    from_config_map: bool,
) -> Vec<Finding> {
    let context = Context { sources, envelope, from_config_map };
    let mut findings: Vec<Finding> =
        more.iter().chain(&compilation.diagnostics).map(|diagnostic| context.finding(diagnostic)).collect();
    findings.sort_by_key(|finding| finding.severity);
    findings
}

struct Context<'c, 't> {
    sources: &'c Sources,
    envelope: &'c Envelope<'t>,
    from_config_map: bool,
}

impl Context<'_, '_> {
    fn finding(&self, diagnostic: &Diagnostic) -> Finding {
        let location = diagnostic.location.as_ref();
        let object = location.and_then(|location| self.sources.object(self.envelope, location.source));
        let place = self.place(diagnostic, object);
        let help = diagnostic.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        let related = self.related(diagnostic);
        let message = format!("{} {place}{}{related}{help}", diagnostic.code.id, diagnostic.message);
        let mut result = start(diagnostic.severity, &message);
        if let Some(reference) = &diagnostic.object {
            result.insert("resourceRef".to_owned(), json!(reference));
        }
        if let Some(location) = location
            && let Some(field) = self.field(diagnostic, location)
        {
            result.insert("field".to_owned(), Json::Object(field));
        }
        result.extend(object.and_then(file));
        result.insert("tags".to_owned(), json!({"code": diagnostic.code.id, "name": diagnostic.code.name}));
        Finding { severity: diagnostic.severity, message, result: Json::Object(result) }
    }

    /// `models/llama.yaml:8: `, or the object where no file is known.
    fn place(&self, diagnostic: &Diagnostic, object: Option<&Node<'_>>) -> String {
        if let Some(location) = &diagnostic.location
            && object.and_then(Origin::of).is_some()
        {
            return format!("{}: ", self.file_and_line(location));
        }
        match (&diagnostic.object, &diagnostic.location) {
            (Some(object), _) => format!("{object}: "),
            (None, Some(location)) => format!("{}: ", self.sources.set.get(location.source).name),
            (None, None) => String::new(),
        }
    }

    fn file_and_line(&self, location: &Location) -> String {
        let name = &self.sources.set.get(location.source).name;
        self.sources.line(self.envelope, location).map_or_else(|| name.clone(), |line| format!("{name}:{line}"))
    }

    /// Other places, where they have files: `; given here: mine.yaml:4`.
    fn related(&self, diagnostic: &Diagnostic) -> String {
        let mut text = String::new();
        for related in &diagnostic.related {
            let object = self.sources.object(self.envelope, related.location.source);
            if object.and_then(Origin::of).is_some() {
                let _ = write!(text, "; {}: {}", related.message, self.file_and_line(&related.location));
            }
        }
        text
    }

    /// The field, its value, and the value that a fix would give it.
    fn field(&self, diagnostic: &Diagnostic, location: &Location) -> Option<Map<String, Json>> {
        if location.path == FieldPath::root() {
            return None;
        }
        let object = self.sources.object(self.envelope, location.source);
        let is_data = self.from_config_map && self.sources.made(location.source) == Made::FunctionConfig;
        let path = if is_data { FieldPath::parse("data").key(joined(&location.path)) } else { location.path.clone() };
        let mut field = Map::from_iter([("path".to_owned(), json!(path.to_string()))]);
        let value = object.and_then(|object| object.at(&path));
        if let Some(value) = value.filter(|value| !matches!(value.value, Value::Sequence(_) | Value::Mapping(_))) {
            field.insert("currentValue".to_owned(), value.to_json());
        }
        // A fix may rename the key; only what stands in the value's place is a proposed value.
        let stands_at = |value: &Node<'_>, edit: &TextEdit| {
            value.span.start < value.span.end && self.sources.in_list(location.source, edit.range) == value.span
        };
        if let Some([edit]) = diagnostic.fix.as_ref().map(|fix| fix.edits.as_slice())
            && value.is_some_and(|value| stands_at(value, edit))
            && let [proposed] = parse(&edit.replacement, &Limits::default()).documents.as_slice()
        {
            field.insert("proposedValue".to_owned(), proposed.root.to_json());
        }
        Some(field)
    }
}

fn joined(path: &FieldPath) -> String {
    let part = |segment: &Segment| match segment {
        Segment::Key(key) => key.clone().into_owned(),
        Segment::Index(index) => index.to_string(),
    };
    path.segments().iter().map(part).collect::<Vec<_>>().join(".")
}

/// The results of functions before us, without those of an earlier run of ours.
pub(crate) fn of_others(envelope: &Envelope<'_>) -> Vec<Json> {
    let given = envelope.root().get("results").map(Node::items).unwrap_or_default();
    let ours = |result: &&Node<'_>| {
        let code = item::word(result, &["tags", "code"]);
        code.is_some_and(|code| kubefoundry_compiler::registry::code(code).is_some())
    };
    given.iter().filter(|result| !ours(result)).map(Node::to_json).collect()
}

/// What functions before us failed with. Where clients run functions, such a list never arrives; in a shell's pipe it
/// does, and passing it on as a success would hide the failure.
pub(crate) fn errors_of_others(envelope: &Envelope<'_>) -> Vec<String> {
    let is_error = |result: &Json| result.get("severity").and_then(Json::as_str) == Some("error");
    let message = |result: &Json| result.get("message").and_then(Json::as_str).unwrap_or("no message").to_owned();
    of_others(envelope).iter().filter(|result| is_error(result)).map(message).collect()
}
