//! A YAML document with comments. The YAML writer writes the values, so that no value can become a key or a comment; the
//! comments are then put above the keys.

use std::collections::BTreeMap;

use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::wrap;
use kubefoundry_yaml::{FieldPart, Limits, Node, Value, parse, to_yaml};
use serde_json::Value as Json;

/// Columns of a line with a comment.
const WIDTH: usize = 100;

/// A document whose fields have comments.
#[derive(Debug)]
pub(super) struct CommentedDocument {
    root: Node<'static>,
    /// Comments above fields: prose, which is wrapped.
    above: Vec<(FieldPath, String)>,
    /// Fields that are commented out, below fields: prose, and lines of YAML.
    below: Vec<(FieldPath, String, String)>,
}

impl CommentedDocument {
    pub(super) fn new() -> Self {
        let root = Node { value: Value::Mapping(Vec::new()), span: kubefoundry_yaml::Span::default() };
        Self { root, above: Vec::new(), below: Vec::new() }
    }

    /// Sets a field.
    pub(super) fn set(&mut self, path: impl Into<FieldPath>, value: impl Into<Json>) {
        self.root.insert_at(&path.into(), Node::from(&value.into()).to_owned_node());
    }

    /// Adds prose above a field that has been set.
    pub(super) fn describe(&mut self, path: impl Into<FieldPath>, prose: impl Into<String>) {
        self.above.push((path.into(), prose.into()));
    }

    /// Adds fields below a field that has been set, as comments with its indentation: prose, and lines of YAML.
    pub(super) fn suggest(&mut self, path: impl Into<FieldPath>, prose: impl Into<String>, yaml: impl Into<String>) {
        self.below.push((path.into(), prose.into(), yaml.into()));
    }

    /// Writes the document.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        to_yaml(&self.root.to_json(), &mut text);
        let parsed = parse(&text, &Limits::default());
        let Some(document) = parsed.documents.first() else { return text };
        // The comments to insert, by the offset of a line.
        let mut comments: BTreeMap<usize, String> = BTreeMap::new();
        let line_start = |at: usize| text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
        for (path, prose) in &self.above {
            let key = document.root.locate(path, FieldPart::Key).start;
            let start = line_start(key);
            let margin = " ".repeat(key - start);
            let comment = comments.entry(start).or_default();
            comment.push_str(&comment_lines(&margin, &wrap_prose(prose, &margin)));
        }
        for (path, prose, yaml) in &self.below {
            let key = document.root.locate(path, FieldPart::Key).start;
            let margin = " ".repeat(key - line_start(key));
            let end = document.root.locate(path, FieldPart::Value).end;
            let next = text.get(end..).and_then(|rest| rest.find('\n')).map_or(text.len(), |at| end + at + 1);
            let mut lines = wrap_prose(prose, &margin);
            lines.extend(yaml.lines().map(str::to_owned));
            let comment = comment_lines(&margin, &lines);
            // Below the field, and so before what is above the next one.
            let known = comments.remove(&next).unwrap_or_default();
            comments.insert(next, comment + &known);
        }
        let mut out = String::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            out.extend(comments.remove(&start));
            out.push_str(line);
            start += line.len();
        }
        out.extend(comments.into_values());
        out
    }
}

fn wrap_prose(prose: &str, margin: &str) -> Vec<String> {
    if prose.is_empty() { Vec::new() } else { wrap(prose, WIDTH.saturating_sub(margin.len() + "# ".len())) }
}

fn comment_lines(margin: &str, lines: &[String]) -> String {
    lines.iter().flat_map(|line| [margin, "# ", line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn comments_are_above_and_below_their_fields() {
        let mut document = CommentedDocument::new();
        document.set(FieldPath::parse("a.b"), 1);
        document.set(FieldPath::parse("a.c"), json!(["x", "z"]));
        document.set(FieldPath::parse("d"), "e");
        document.describe(FieldPath::parse("a.b"), "The first.");
        document.describe(FieldPath::parse("d"), "The last.");
        document.suggest(FieldPath::parse("a.c"), "", "f:\n  g: 1");
        document.suggest(FieldPath::parse("d"), "More.", "h: 2");
        let expected =
            "a:\n  # The first.\n  b: 1\n  c:\n  - x\n  - z\n  # f:\n  #   g: 1\n# The last.\nd: e\n# More.\n# h: 2\n";
        assert_eq!(document.to_text(), expected);
    }

    #[test]
    fn a_value_stays_a_value() {
        for value in ["a\nkind: Secret", "\"quoted\": yes", "# comment", "on", "- x", "\u{7}"] {
            let mut document = CommentedDocument::new();
            document.set(FieldPath::parse("a.b"), value);
            document.describe(FieldPath::parse("a.b"), "A value.");
            let text = document.to_text();
            let parsed = parse(&text, &Limits::default());
            assert_eq!(parsed.documents[0].root.to_json(), json!({"a": {"b": value}}), "{text}");
        }
    }
}
