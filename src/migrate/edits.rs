//! Changes of a document that leave everything else in its text as it is: comments, quotes, order.

use serde_json::{Value as Json, json};

use kubefoundry_diagnostics::Edit;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::{Node, Span, Value};

/// What is added: a field by its keys, and its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Addition {
    pub(super) keys: Vec<&'static str>,
    pub(super) value: Json,
}

/// The edits that add fields to the object at `node`; none where the text has no place for one. Fields of one mapping that
/// is not there yet are added together.
pub(super) fn additions(text: &str, node: &Node<'_>, additions: &[Addition]) -> Option<Vec<Edit>> {
    let mut fields: Vec<(&[&'static str], Json)> = Vec::new();
    for Addition { keys, value } in additions {
        let present =
            (0..keys.len()).rev().find(|number| entry(node, keys.get(..*number).unwrap_or_default()).is_some());
        // All keys that are there, and the first that is not.
        let (field, inner) = keys.split_at_checked(present? + 1)?;
        let value = inner.iter().rev().fold(value.clone(), |value, key| json!({*key: value}));
        match fields.iter_mut().find(|(known, _)| *known == field) {
            Some((_, known)) => merge(known, value),
            None => fields.push((field, value)),
        }
    }
    fields.into_iter().map(|(field, value)| addition(text, node, field, &value)).collect()
}

/// Whether a mapping is written as JSON has it: what is added must be JSON, too.
fn is_json(text: &str, node: &Node<'_>) -> bool {
    let first = node.entries().first().and_then(|entry| text.get(entry.key_span.start..));
    text.get(node.span.start..).is_some_and(|own| own.starts_with('{')) && first.is_some_and(|key| key.starts_with('"'))
}

/// The value under these keys, and where the last of them ends.
fn entry<'n, 't>(node: &'n Node<'t>, keys: &[&'static str]) -> Option<(&'n Node<'t>, usize)> {
    keys.iter().try_fold((node, 0), |(node, _), key| node.entry(key).map(|entry| (&entry.node, entry.key_span.end)))
}

/// Puts the fields of a mapping into another.
fn merge(into: &mut Json, value: Json) {
    match (into, value) {
        (Json::Object(known), Json::Object(fields)) => {
            for (key, value) in fields {
                match known.get_mut(&key) {
                    Some(known) => merge(known, value),
                    None => drop(known.insert(key, value)),
                }
            }
        }
        (into, value) => *into = value,
    }
}

/// The edit that adds one field to a mapping that is there.
fn addition(text: &str, node: &Node<'_>, keys: &[&'static str], value: &Json) -> Option<Edit> {
    let (last, parents) = keys.split_last()?;
    let (at, key_end) = entry(node, parents)?;
    let field = if is_json(text, node) { format!("\"{last}\": {value}") } else { format!("{last}: {}", flow(value)) };
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    match (&at.value, at.entries().first()) {
        (Value::Mapping(_), Some(first)) => {
            let start = first.key_span.start;
            let own = text.get(at.span.start..)?;
            if own.starts_with(['*', '&', '!']) {
                return None;
            }
            let replacement = if own.starts_with('{') {
                format!("{field}, ")
            } else {
                let line = text.get(..start)?.rfind('\n').map_or(0, |newline| newline + 1);
                let before = text.get(line..start)?;
                let is_indent = before.chars().all(|c| matches!(c, ' ' | '-'));
                let indent = " ".repeat(is_indent.then_some(before.len())?);
                // Right below the key of the mapping: what is said above the first field is said of that.
                let line_end = text.get(key_end..start).and_then(|between| between.find('\n'));
                if let Some(end) = line_end.map(|end| key_end + end).filter(|_| !parents.is_empty()) {
                    let end = if text.get(..end)?.ends_with('\r') { end - 1 } else { end };
                    let replacement = format!("{newline}{indent}{field}");
                    return Some(Edit { span: Span { start: end, end }, replacement });
                }
                format!("{field}{newline}{indent}")
            };
            Some(Edit { span: Span { start, end: start }, replacement })
        }
        (Value::Mapping(_), None) => Some(Edit { span: at.span, replacement: format!("{{{field}}}") }),
        (Value::Null, _) => {
            let colon = key_end + text.get(key_end..)?.find(':')? + 1;
            let span = if at.span.start == at.span.end { Span { start: colon, end: colon } } else { at.span };
            let space = if span.start == colon { " " } else { "" };
            Some(Edit { span, replacement: format!("{space}{{{field}}}") })
        }
        _ => None,
    }
}

/// A value as YAML of one line.
fn flow(value: &Json) -> String {
    match value {
        Json::Object(fields) => {
            let fields: Vec<String> = fields.iter().map(|(key, value)| format!("{key}: {}", flow(value))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Json::String(text) => {
            let mut out = String::new();
            yaml::to_yaml(&json!({"k": text}), &mut out);
            let plain = out.trim_start_matches("k: ").trim_end();
            let is_fine_in_flow = !plain.contains([',', '{', '}', '[', ']', '\n']);
            if is_fine_in_flow { plain.to_owned() } else { value.to_string() }
        }
        other => other.to_string(),
    }
}

/// The edit that puts another scalar in the place of one, quoted as that was.
pub(super) fn replacement(text: &str, span: Span, new: &str) -> Option<Edit> {
    let old = text.get(span.start..span.end)?;
    let replacement = match old.chars().next()? {
        quote @ ('"' | '\'') => format!("{quote}{new}{quote}"),
        '*' | '&' | '!' | '|' | '>' => return None,
        _ => new.to_owned(),
    };
    Some(Edit { span, replacement })
}

/// A text with edits made; those at one place are made in their order.
pub(super) fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.span.start);
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for Edit { span, replacement } in edits {
        out.push_str(text.get(end..span.start).unwrap_or_default());
        out.push_str(&replacement);
        end = span.end.max(end);
    }
    out.push_str(text.get(end..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubefoundry_yaml::{Limits, parse};

    fn added(text: &str, keys: &[&'static str], value: &str) -> Option<String> {
        let parsed = parse(text, &Limits::default());
        let field = Addition { keys: keys.to_vec(), value: json!(value) };
        Some(apply(text, additions(text, &parsed.documents[0].root, &[field])?))
    }

    #[test]
    fn fields_are_added_where_they_belong() {
        for (text, expected) in [
            ("spec:\n  engine: # which\n    args: {}\n", "spec:\n  engine: # which\n    type: vllm\n    args: {}\n"),
            (
                "spec:\n  # the model\n  model: {id: a}\n",
                "spec:\n  engine: {type: vllm}\n  # the model\n  model: {id: a}\n",
            ),
            ("spec: {engine: {args: {}}}", "spec: {engine: {type: vllm, args: {}}}"),
            ("spec: {engine: {}}", "spec: {engine: {type: vllm}}"),
            ("spec:\n  engine:\n", "spec:\n  engine: {type: vllm}\n"),
            ("spec:\n  engine: null\n", "spec:\n  engine: {type: vllm}\n"),
            ("{\"spec\": {\"a\": 1}}", "{\"spec\": {\"engine\": {\"type\":\"vllm\"}, \"a\": 1}}"),
            ("{\"spec\": {}}", "{\"spec\": {\"engine\": {\"type\":\"vllm\"}}}"),
            ("spec:\r\n  engine:\r\n    a: 1\r\n", "spec:\r\n  engine:\r\n    type: vllm\r\n    a: 1\r\n"),
        ] {
            assert_eq!(added(text, &["spec", "engine", "type"], "vllm").as_deref(), Some(expected), "{text}");
        }
        let two = [("type", json!("vllm")), ("enforceEager", json!(true))];
        let two = two.map(|(key, value)| Addition { keys: vec!["spec", "engine", key], value });
        let text = "spec:\n  a: 1\n";
        let parsed = parse(text, &Limits::default());
        let edits = additions(text, &parsed.documents[0].root, &two).unwrap();
        assert_eq!(apply(text, edits), "spec:\n  engine: {type: vllm, enforceEager: true}\n  a: 1\n");
        assert_eq!(added("spec: text\n", &["spec", "engine"], "1"), None);
    }
}
