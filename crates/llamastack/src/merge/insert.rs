//! Edits of a YAML text that add to it: in block style by lines, in flow style between brackets.

use serde_json::{Value, json};

use super::Entry;
use super::expected::{of_api, provider, tree};
use super::section;
use crate::json_line;
use crate::wire::Api;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::Node;

/// How changes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Only what changes.
    Edit,
    /// The same, with a new key before all others: what stands last may take up what comes behind it.
    EditAtStart,
    /// `providers` and `apis` anew, with what aliases in them stand for.
    Rewrite,
}

/// A change: bytes that go, and a text that comes.
pub(super) struct Edit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
    /// Whether the text is whole lines.
    pub(super) is_lines: bool,
}

/// The text in which providers are added and replaced. It may be wrong for texts with anchors: who calls reads it again.
pub(super) fn edited(text: &str, root: Option<&Node<'_>>, entries: &[&Entry], apis: &[Api], style: Style) -> String {
    let editor = Editor { text, line_end: if text.contains("\r\n") { "\r\n" } else { "\n" }, style };
    let Some(root) = root.filter(|root| !root.entries().is_empty() || editor.is_flow(root)) else {
        let file = json!({"providers": tree(None, entries, &[]).get("providers")});
        // After comments, or instead of a `null`.
        let before = if style == Style::Edit { text } else { "" };
        return splice(before, vec![editor.lines(before.len(), &block(&file, 0))], editor.line_end);
    };
    let mut edits = Vec::new();
    if style == Style::Rewrite {
        let merged = tree(Some(root), entries, apis);
        for key in ["apis", "providers"] {
            let is_concerned = key == "providers" || !apis.is_empty();
            if let Some(value) = merged.get(key).filter(|_| is_concerned) {
                editor.set(root, key, value, &mut edits);
            }
        }
    } else {
        if let Some(list) = root.get("apis").filter(|_| !apis.is_empty()) {
            let names: Vec<Value> = apis.iter().map(|api| Value::from(api.as_str())).collect();
            section::append(&editor, (root, "apis", list), &[], &names, &mut edits);
        }
        editor.providers(root, entries, &mut edits);
    }
    splice(text, edits, editor.line_end)
}

/// What is needed to place an edit.
pub(super) struct Editor<'t> {
    pub(super) text: &'t str,
    line_end: &'static str,
    style: Style,
}

impl Editor<'_> {
    fn providers(&self, root: &Node<'_>, entries: &[&Entry], edits: &mut Vec<Edit>) {
        let all = tree(None, entries, &[]);
        let all = all.get("providers").unwrap_or(&Value::Null);
        let providers = root.get("providers");
        let Some(providers) = providers.filter(|providers| !providers.entries().is_empty()) else {
            self.set(root, "providers", all, edits);
            return;
        };
        if self.is_alias(providers) {
            self.set(root, "providers", tree(Some(root), entries, &[]).get("providers").unwrap_or(all), edits);
            return;
        }
        for api in Api::ALL {
            let entries = of_api(entries, api);
            let new: Vec<Value> = entries.iter().map(|entry| provider(entry)).collect();
            let section = providers.get(api.as_str()).filter(|section| !section.items().is_empty());
            match section {
                _ if new.is_empty() => {}
                Some(section) => {
                    section::append(self, (providers, api.as_str(), section), &entries, &new, edits);
                }
                None => self.set(providers, api.as_str(), &Value::Array(new), edits),
            }
        }
    }

    /// Gives a key of a mapping another value, or the mapping another key.
    pub(super) fn set(&self, parent: &Node<'_>, key: &str, value: &Value, edits: &mut Vec<Edit>) {
        if self.is_flow(parent) {
            edits.push(set_in_flow(parent, key, value));
            return;
        }
        let first = parent.entries().first().map_or(parent.span.start, |entry| entry.key_span.start);
        let column = self.column(first);
        let Some(entry) = parent.entry(key) else {
            let lines = block(&json!({ key: value }), column);
            let at = if self.style == Style::EditAtStart { first - column } else { self.line_after(parent) };
            edits.push(self.lines(at, &lines));
            return;
        };
        // What is empty is written over; the comment behind it stays.
        let (start, end) = (entry.key_span.end, entry.node.span.end.max(entry.key_span.end));
        let colon = self.text.get(start..).and_then(|rest| rest.find(':')).map_or(start, |colon| start + colon + 1);
        let lines = block(value, self.child_column(parent, value, column));
        if is_empty(&entry.node) {
            let old = self.text.get(colon..end).unwrap_or_default();
            let start =
                if old.trim().is_empty() { end.max(colon) } else { self.before_blank(colon, entry.node.span.start) };
            if start < end {
                edits.push(Edit { start, end, text: String::new(), is_lines: false });
            }
            edits.push(self.lines(self.next_line(end.max(colon)), &lines));
        } else {
            let end = self.line_after(&entry.node);
            let text = format!("{}{}", self.line_end, self.with_line_ends(&lines));
            edits.push(Edit { start: colon, end, text, is_lines: false });
        }
    }

    /// Where the lines of a value stand below their key: mappings two columns in, lists as the file has others.
    fn child_column(&self, parent: &Node<'_>, value: &Value, column: usize) -> usize {
        if !value.is_array() {
            return column + 2;
        }
        let lists = parent.entries().iter().filter(|entry| matches!(entry.node.value, yaml::Value::Sequence(_)));
        let mut lists = lists.filter(|entry| !self.is_flow(&entry.node) && !self.is_alias(&entry.node));
        let indentation = lists.next().map(|entry| self.column(entry.node.span.start).saturating_sub(column));
        column + indentation.unwrap_or_default()
    }

    pub(super) fn lines(&self, at: usize, lines: &str) -> Edit {
        Edit { start: at, end: at, text: self.with_line_ends(lines), is_lines: true }
    }

    fn with_line_ends(&self, lines: &str) -> String {
        lines.replace('\n', self.line_end)
    }

    /// Whether a collection is written in brackets.
    pub(super) fn is_flow(&self, node: &Node<'_>) -> bool {
        self.text.get(node.span.start..).is_some_and(|text| text.starts_with(['{', '[']))
    }

    /// Whether a value is an alias.
    pub(super) fn is_alias(&self, node: &Node<'_>) -> bool {
        self.text.get(node.span.start..).is_some_and(|text| text.starts_with('*'))
    }

    /// How far from the start of its line a place is, in bytes: what is before it is indentation.
    pub(super) fn column(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        at - before.rfind('\n').map_or(0, |end| end + 1)
    }

    /// The start of the first line behind a value. Blank lines behind a block scalar are a part of it.
    pub(super) fn line_after(&self, node: &Node<'_>) -> usize {
        let (mut last, mut end) = (node, node.span.end);
        loop {
            last = match &last.value {
                yaml::Value::Mapping(entries) => match entries.last() {
                    Some(entry) => {
                        end = end.max(entry.key_span.end);
                        &entry.node
                    }
                    None => break,
                },
                yaml::Value::Sequence(items) => match items.last() {
                    Some(item) => item,
                    None => break,
                },
                _ => break,
            };
        }
        let mut end = self.next_line(end);
        if self.text.get(last.span.start..).is_some_and(|text| text.starts_with(['|', '>'])) {
            let rest = self.text.get(end..).unwrap_or_default().split_inclusive('\n');
            end += rest.take_while(|line| line.trim().is_empty()).map(str::len).sum::<usize>();
        }
        end
    }

    /// The start of the next line, or the place itself if a line starts there.
    pub(super) fn next_line(&self, at: usize) -> usize {
        if self.text.get(..at).is_some_and(|before| before.ends_with('\n')) {
            return at;
        }
        let rest = self.text.get(at..).unwrap_or_default();
        rest.find('\n').map_or(self.text.len(), |end| at + end + 1)
    }

    fn before_blank(&self, from: usize, to: usize) -> usize {
        let between = self.text.get(from..to).unwrap_or_default();
        from + between.trim_end().len()
    }
}

/// Gives a key of a mapping in brackets another value, or the mapping another key.
fn set_in_flow(parent: &Node<'_>, key: &str, value: &Value) -> Edit {
    let value = json_line(value);
    match (parent.entry(key), parent.entries().last()) {
        (Some(entry), _) => {
            let end = entry.node.span.end.max(entry.key_span.end);
            Edit { start: entry.key_span.end, end, text: format!(": {value}"), is_lines: false }
        }
        (None, Some(last)) => {
            let end = last.node.span.end.max(last.key_span.end);
            Edit { start: end, end, text: format!(", {}: {value}", Value::from(key)), is_lines: false }
        }
        (None, None) => {
            let start = parent.span.start + 1;
            Edit { start, end: start, text: format!("{}: {value}", Value::from(key)), is_lines: false }
        }
    }
}

/// Whether a value holds nothing.
fn is_empty(node: &Node<'_>) -> bool {
    match &node.value {
        yaml::Value::Null => true,
        yaml::Value::Mapping(entries) => entries.is_empty(),
        yaml::Value::Sequence(items) => items.is_empty(),
        _ => false,
    }
}

/// A value in block style from a column on.
pub(super) fn block(value: &Value, column: usize) -> String {
    let mut text = String::new();
    yaml::to_yaml(value, &mut text);
    let mut lines = String::new();
    for line in text.lines() {
        if !line.is_empty() {
            lines.extend(std::iter::repeat_n(' ', column));
            lines.push_str(line);
        }
        lines.push('\n');
    }
    lines
}

/// Makes edits that do not overlap. Of those at one place the first comes first.
fn splice(text: &str, mut edits: Vec<Edit>, line_end: &str) -> String {
    edits.sort_by_key(|edit| (edit.start, edit.end));
    let mut out = String::with_capacity(text.len() * 2);
    let mut at = 0;
    for edit in edits {
        out.push_str(text.get(at..edit.start).unwrap_or_default());
        if edit.is_lines && !out.is_empty() && !out.ends_with('\n') {
            out.push_str(line_end);
        }
        out.push_str(&edit.text);
        at = edit.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}
