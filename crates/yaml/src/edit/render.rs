//! Rendering of new values.

use serde::Serialize as _;
use serde_json::{Map, Value};

use crate::{Limits, Node, append, parse, to_yaml};

/// Writes compact JSON whose floats are floats in YAML 1.1, too. It reads a number with an exponent as text unless it has
/// a point and a signed exponent.
struct YamlNumbers;

impl serde_json::ser::Formatter for YamlNumbers {
    fn write_f64<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, value: f64) -> std::io::Result<()> {
        let text = Value::from(value).to_string();
        let Some((digits, exponent)) = text.split_once('e') else { return writer.write_all(text.as_bytes()) };
        let point = if digits.contains('.') { "" } else { ".0" };
        let sign = if exponent.starts_with(['-', '+']) { "" } else { "+" };
        write!(writer, "{digits}{point}e{sign}{exponent}")
    }
}

/// A value rendered in block style.
pub(super) enum RenderedBlock {
    /// On the line of the key or dash.
    Inline(String),
    /// On lines below the key or dash. The head, such as `|`, is on the line of the key or dash; it is empty for a
    /// collection.
    Lines { head: String, body: String },
}

/// The notation inside a flow collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlowNotation {
    /// Strings and keys are quoted only where necessary.
    Plain,
    /// JSON.
    Json,
}

/// Returns the value that parsing its YAML gives, so that two values compare equal exactly when their texts mean the
/// same. For example, `2.0` becomes `2`.
///
/// ```
/// use kubefoundry_yaml::edit::normalize_value;
/// assert_eq!(normalize_value(serde_json::json!({"a": 2.0})), serde_json::json!({"a": 2}));
/// ```
pub fn normalize_value(value: Value) -> Value {
    let limits =
        Limits { documents: 1, document_bytes: usize::MAX, nodes: usize::MAX, depth: MAX_DEPTH, alias_nodes: 0 };
    let mut text = String::new();
    to_yaml([&value].as_slice(), &mut text);
    let parsed = parse(&text, &limits);
    let read = parsed.documents.first().and_then(|document| document.root.items().first());
    let read = read.filter(|_| parsed.failure.is_none()).map(Node::to_json);
    read.unwrap_or(value)
}

/// Deeper than the recursion limit of serde_json (128), so that every value that it parsed can be rendered.
const MAX_DEPTH: usize = 512;

/// Renders a value as one line of JSON that is also valid YAML: non-ASCII control characters and characters that YAML
/// does not allow are escaped, too.
///
/// ```
/// use kubefoundry_yaml::edit::to_json_line;
/// assert_eq!(to_json_line(&serde_json::json!({"a": ["\u{85}"]})), "{\"a\":[\"\\u0085\"]}");
/// assert_eq!(to_json_line(&serde_json::json!([1e-8, 1e300, 2.5])), "[1.0e-8,1.0e+300,2.5]");
/// ```
pub fn to_json_line(value: &Value) -> String {
    let json = to_json_text(value);
    let mut line = String::new();
    for c in json.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') {
            append!(line, "\\u{:04x}", u32::from(c));
        } else {
            line.push(c);
        }
    }
    line
}

#[expect(clippy::expect_used, reason = "memory takes every byte, the keys are strings, and JSON is UTF-8")]
fn to_json_text(value: &Value) -> String {
    let mut json = Vec::new();
    let written = value.serialize(&mut serde_json::Serializer::with_formatter(&mut json, YamlNumbers));
    written.expect("a JSON value can be written to memory");
    String::from_utf8(json).expect("JSON is UTF-8")
}

/// A value rendered in block style.
pub(super) fn render_block(value: &Value) -> RenderedBlock {
    if has_text_ending_in_blank_lines(value) {
        return render_block_quoted(value);
    }
    if is_nonempty_collection(value) {
        return RenderedBlock::Lines { head: String::new(), body: render_canonical(value) };
    }
    let entry = render_canonical(&Value::Object(Map::from_iter([("k".to_owned(), value.clone())])));
    let text = entry.strip_prefix("k: ").unwrap_or(&entry);
    match text.split_once('\n') {
        Some((head, body)) if !body.is_empty() => RenderedBlock::Lines { head: head.to_owned(), body: body.to_owned() },
        _ => RenderedBlock::Inline(text.trim_end_matches('\n').to_owned()),
    }
}

/// Renders a value in block style with every string that ends in blank lines in quotes.
fn render_block_quoted(value: &Value) -> RenderedBlock {
    let mut body = String::new();
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                push_entry(&mut body, name, value, child_indent(value));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| push_item(&mut body, item)),
        scalar => return RenderedBlock::Inline(to_json_line(scalar)),
    }
    RenderedBlock::Lines { head: String::new(), body }
}

/// Whether a block scalar in the value would end with blank lines. At the end of the value, blank lines of the
/// surrounding text would become part of it. Elsewhere they would not, but the same string is written the same way
/// everywhere.
fn has_text_ending_in_blank_lines(value: &Value) -> bool {
    match value {
        Value::String(text) => text.ends_with("\n\n") || text == "\n",
        Value::Array(items) => items.iter().any(has_text_ending_in_blank_lines),
        Value::Object(fields) => fields.values().any(has_text_ending_in_blank_lines),
        _ => false,
    }
}

/// Returns the indentation of a value relative to its key in canonical YAML: 2 for mappings, 0 for lists and for
/// strings, whose lines are already indented.
pub(super) fn child_indent(value: &Value) -> usize {
    if value.is_object() { 2 } else { 0 }
}

/// Appends the lines of a block-style mapping entry at column 0, with its value indented by `indent`.
pub(super) fn push_entry(lines: &mut String, name: &str, value: &Value, indent: usize) {
    let key = render_key(name);
    match render_block(value) {
        RenderedBlock::Inline(text) => lines.extend([&key, ": ", &text, "\n"]),
        RenderedBlock::Lines { head, body } => {
            let space = if head.is_empty() { "" } else { " " };
            lines.extend([&key, ":", space, &head, "\n"]);
            push_indented(lines, &body, indent, "\n");
        }
    }
}

/// Appends the lines of a block-style sequence item at column 0.
pub(super) fn push_item(lines: &mut String, item: &Value) {
    match render_block(item) {
        RenderedBlock::Inline(text) => lines.extend(["- ", &text, "\n"]),
        RenderedBlock::Lines { head, body } if head.is_empty() => {
            let start = lines.len() + 2;
            push_indented(lines, &body, 2, "\n");
            lines.replace_range(start - 2..start, "- ");
        }
        RenderedBlock::Lines { head, body } => lines.extend(["- ", &head, "\n", &body]),
    }
}

pub(super) fn is_nonempty_collection(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => false,
    }
}

/// Renders a value as canonical YAML.
pub(super) fn render_canonical(value: &Value) -> String {
    let mut text = String::new();
    to_yaml(value, &mut text);
    text
}

/// Renders a key without its colon.
pub(super) fn render_key(key: &str) -> String {
    let entry = render_canonical(&Value::Object(Map::from_iter([(key.to_owned(), Value::Bool(true))])));
    match entry.strip_suffix(": true\n") {
        Some(key) if !key.contains('\n') && !key.starts_with("? ") => key.to_owned(),
        _ => to_json_line(&Value::from(key)),
    }
}

/// Renders a flow collection with a space after each of its own colons and commas.
pub(super) fn render_flow_collection(value: &Value, notation: FlowNotation) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(key, value)| render_flow_entry(key, value, notation)).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| render_flow(item, notation)).collect();
            format!("[{}]", items.join(", "))
        }
        scalar => render_flow(scalar, notation),
    }
}

/// Renders a value for use inside a flow collection.
pub(super) fn render_flow(value: &Value, notation: FlowNotation) -> String {
    match value {
        _ if notation == FlowNotation::Json => to_json_line(value),
        Value::Object(_) | Value::Array(_) => render_flow_collection(value, notation),
        Value::String(_) => match render_block(value) {
            RenderedBlock::Inline(text) if !has_flow_indicator(&text) => text,
            _ => to_json_line(value),
        },
        other => other.to_string(),
    }
}

/// Renders an entry of a flow mapping.
pub(super) fn render_flow_entry(name: &str, value: &Value, notation: FlowNotation) -> String {
    let key = Some(render_key(name)).filter(|key| notation == FlowNotation::Plain && !has_flow_indicator(key));
    format!("{}: {}", key.unwrap_or_else(|| to_json_line(&Value::from(name))), render_flow(value, notation))
}

fn has_flow_indicator(text: &str) -> bool {
    text.contains([',', '{', '}', '[', ']'])
}

/// Quotes a string like the text that it replaces. Returns `None` if that text has no quotes or if the string would
/// need escapes.
pub(super) fn quote_like(old: &str, new: &str) -> Option<String> {
    let quote = old.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let is_simple = |c: char| !c.is_control() && !matches!(c, '"' | '\'' | '\\' | '\u{2028}' | '\u{2029}' | '\u{feff}');
    new.chars().all(is_simple).then(|| format!("{quote}{new}{quote}"))
}

/// Appends lines with an indentation and a line break each. Empty lines stay empty.
pub(super) fn push_indented(out: &mut String, lines: &str, indent: usize, line_break: &str) {
    for line in lines.split_terminator('\n') {
        if !line.is_empty() {
            out.extend(std::iter::repeat_n(' ', indent));
            out.push_str(line);
        }
        out.push_str(line_break);
    }
}
