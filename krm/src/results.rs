//! Converts findings to results of the `ResourceList` and to lines on standard error.

use kubefoundry_compiler::Compilation;
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::{Diagnostic, Location, Severity};
use kubefoundry_yaml::edit::TextEdit;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::text::printable;
use kubefoundry_yaml::{Limits, Node, Value, append, parse};
use serde_json::{Map, Value as Json, json};

use crate::envelope::Envelope;
use crate::item::{self, Origin};
use crate::sources::{SourceOrigin, Sources};

/// A result with its message for standard error.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    message: String,
    pub(crate) result: Json,
}

impl Finding {
    pub(crate) fn to_line(&self) -> String {
        // Messages contain names and kinds of the input, which may be anything.
        format!("{}: {}\n", self.severity, printable(&self.message))
    }

    /// Creates an error about the whole list.
    pub(crate) fn error(message: String) -> Self {
        let result = Json::Object(new_result(Severity::Error, &message));
        Self { severity: Severity::Error, message, result }
    }

    /// Creates an info about an item.
    pub(crate) fn info(message: String, object: &Node<'_>) -> Self {
        let mut result = new_result(Severity::Info, &message);
        result.insert("resourceRef".to_owned(), json!(item::reference(object)));
        result.extend(file_entry(object));
        Self { severity: Severity::Info, message, result: Json::Object(result) }
    }
}

fn new_result(severity: Severity, message: &str) -> Map<String, Json> {
    Map::from_iter([("message".to_owned(), json!(message)), ("severity".to_owned(), json!(severity))])
}

fn file_entry(object: &Node<'_>) -> Option<(String, Json)> {
    let origin = Origin::from_annotations(object)?;
    Some(("file".to_owned(), json!({"path": origin.path, "index": origin.index})))
}

/// Converts all findings, errors first, because kpt shows only the first four results.
pub(crate) fn to_findings(
    compilation: &Compilation,
    function_diagnostics: &[Diagnostic],
    sources: &Sources,
    envelope: &Envelope<'_>,
    from_config_map: bool,
) -> Vec<Finding> {
    let context = Context { sources, envelope, from_config_map };
    let mut findings: Vec<Finding> = function_diagnostics
        .iter()
        .chain(&compilation.diagnostics)
        .map(|diagnostic| context.to_finding(diagnostic))
        .collect();
    findings.sort_by_key(|finding| finding.severity);
    findings
}

struct Context<'c, 't> {
    sources: &'c Sources,
    envelope: &'c Envelope<'t>,
    from_config_map: bool,
}

impl Context<'_, '_> {
    fn to_finding(&self, diagnostic: &Diagnostic) -> Finding {
        let location = diagnostic.location.as_ref();
        let object = location.and_then(|location| self.sources.object(self.envelope, location.source));
        let prefix = self.location_prefix(diagnostic, object);
        let help = diagnostic.help.as_ref().map_or_else(String::new, |help| format!(" ({help})"));
        let related = self.format_related(diagnostic);
        let message = format!("{} {prefix}{}{related}{help}", diagnostic.code.id, diagnostic.message);
        let mut result = new_result(diagnostic.severity, &message);
        if let Some(reference) = &diagnostic.object {
            result.insert("resourceRef".to_owned(), json!(reference));
        }
        if let Some(location) = location
            && let Some(field) = self.field_entry(diagnostic, location)
        {
            result.insert("field".to_owned(), Json::Object(field));
        }
        result.extend(object.and_then(file_entry));
        result.insert("tags".to_owned(), json!({"code": diagnostic.code.id, "name": diagnostic.code.name}));
        Finding { severity: diagnostic.severity, message, result: Json::Object(result) }
    }

    /// Formats the location before a message: `models/llama.yaml:8: `, or the object if its file is unknown.
    fn location_prefix(&self, diagnostic: &Diagnostic, object: Option<&Node<'_>>) -> String {
        if let Some(location) = &diagnostic.location
            && object.and_then(Origin::from_annotations).is_some()
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
        self.sources.line_in_file(self.envelope, location).map_or_else(|| name.clone(), |line| format!("{name}:{line}"))
    }

    /// Formats related locations that have files: `; given here: mine.yaml:4`.
    fn format_related(&self, diagnostic: &Diagnostic) -> String {
        let mut text = String::new();
        for related in &diagnostic.related {
            let object = self.sources.object(self.envelope, related.location.source);
            if object.and_then(Origin::from_annotations).is_some() {
                append!(text, "; {}: {}", related.message, self.file_and_line(&related.location));
            }
        }
        text
    }

    /// Returns the `field` of a result: its path, its current value, and the value that a fix proposes.
    fn field_entry(&self, diagnostic: &Diagnostic, location: &Location) -> Option<Map<String, Json>> {
        if location.path == FieldPath::root() {
            return None;
        }
        let object = self.sources.object(self.envelope, location.source);
        let is_data = self.from_config_map && self.sources.origin(location.source) == SourceOrigin::FunctionConfig;
        let path =
            if is_data { FieldPath::parse("data").key(join_path(&location.path)) } else { location.path.clone() };
        let mut field = Map::from_iter([("path".to_owned(), json!(path.to_string()))]);
        let value = object.and_then(|object| object.at(&path));
        if let Some(value) = value.filter(|value| !matches!(value.value, Value::Sequence(_) | Value::Mapping(_))) {
            field.insert("currentValue".to_owned(), value.to_json());
        }
        // A fix may also rename the key; it proposes a value only if it replaces exactly the value.
        let replaces_value = |value: &Node<'_>, edit: &TextEdit| {
            value.span.start < value.span.end && self.sources.span_in_list(location.source, edit.range) == value.span
        };
        if let Some([edit]) = diagnostic.fix.as_ref().map(|fix| fix.edits.as_slice())
            && value.is_some_and(|value| replaces_value(value, edit))
            && let [proposed] = parse(&edit.replacement, &Limits::default()).documents.as_slice()
        {
            field.insert("proposedValue".to_owned(), proposed.root.to_json());
        }
        Some(field)
    }
}

/// Joins a path with dots, as in the keys of a ConfigMap.
fn join_path(path: &FieldPath) -> String {
    let part = |segment: &Segment| match segment {
        Segment::Key(key) => key.clone().into_owned(),
        Segment::Index(index) => index.to_string(),
    };
    path.segments().iter().map(part).collect::<Vec<_>>().join(".")
}

/// Returns the results of earlier functions, without those of an earlier run of this one.
pub(crate) fn results_of_others(envelope: &Envelope<'_>) -> Vec<Json> {
    let results = envelope.root().get("results").map(Node::items).unwrap_or_default();
    let is_own = |result: &&Node<'_>| {
        let code = item::text_at(result, &["tags", "code"]);
        code.is_some_and(|code| kubefoundry_compiler::registry::code(&BUILTIN, code).is_some())
    };
    results.iter().filter(|result| !is_own(result)).map(Node::to_json).collect()
}

/// Returns the errors of earlier functions. Clients stop after an error, but in a shell pipeline the list arrives here,
/// and a success would hide the failure.
pub(crate) fn errors_of_others(envelope: &Envelope<'_>) -> Vec<String> {
    let is_error = |result: &Json| result.get("severity").and_then(Json::as_str) == Some("error");
    let message = |result: &Json| result.get("message").and_then(Json::as_str).unwrap_or("no message").to_owned();
    results_of_others(envelope).iter().filter(|result| is_error(result)).map(message).collect()
}
