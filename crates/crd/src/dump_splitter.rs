//! Splits a dump into parts with one CRD each, without parsing it.
//!
//! A dump of a whole cluster has hundreds of CRDs and tens of megabytes, but a run needs about three of them. So a text
//! is split where an unindented line starts a document or a list item, and only parts that mention a needed CRD are
//! parsed. In YAML, an unindented line that starts with `- ` cannot be anything else, unless the document is in flow
//! style. JSON is split only in the layout of `kubectl`: into the items of the outermost list, each from its brace to
//! the brace in the same column. That is safe because no line of JSON starts inside a string.

use kubefoundry_yaml::Span;

/// Returns the parts of a text, each with at most one document or one list item.
pub(super) fn split_dump(text: &str) -> Vec<Span> {
    let mut splitter = DumpSplitter { text, parts: Vec::new(), start: 0, state: SplitState::Start };
    let mut at = 0;
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1);
    for end in ends.chain(std::iter::once(text.len())) {
        let line = text.get(at..end).unwrap_or_default();
        // Nearly all lines of a dump are indented lines in block style, which end nothing.
        let is_inner = matches!(splitter.state, SplitState::Block | SplitState::Item) && line.starts_with(' ');
        if !line.is_empty() && !is_inner {
            splitter.handle_line(line, at, end);
        }
        at = end;
    }
    splitter.end_part(at);
    splitter.parts
}

struct DumpSplitter<'t> {
    text: &'t str,
    parts: Vec<Span>,
    /// Start of the current part.
    start: usize,
    state: SplitState,
}

/// The context of the current line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SplitState {
    /// Before the first line of a document.
    Start,
    /// In a document in block style.
    Block,
    /// In an item of an unindented list.
    Item,
    /// In a document in flow style. The column of its keys, once known.
    Flow(Option<usize>),
    /// In the outermost `items` of a document in flow style. The column of its items, once known.
    Items(Option<usize>),
}

impl DumpSplitter<'_> {
    /// Handles the line from `at` to `end`, which may start or end a part.
    fn handle_line(&mut self, line: &str, at: usize, end: usize) {
        let content = line.trim();
        if line.starts_with("---") || line.starts_with("...") {
            self.end_part(at);
            self.start = if line.starts_with("--- ") { at + "--- ".len() } else { end };
            self.state = SplitState::Start;
            return;
        }
        if content.is_empty() {
            return;
        }
        let column = line.len() - line.trim_start().len();
        match self.state {
            SplitState::Start if line.starts_with('#') => {}
            SplitState::Start if line.starts_with(['{', '[']) => self.state = SplitState::Flow(None),
            SplitState::Start | SplitState::Block | SplitState::Item if line.starts_with("- ") => {
                self.start_part(at, SplitState::Item);
            }
            SplitState::Start => self.state = SplitState::Block,
            // Keys of the `List` after its items are not part of the last item.
            SplitState::Item if column == 0 && !line.starts_with('#') => self.start_part(at, SplitState::Block),
            SplitState::Flow(keys) => {
                let keys = keys.unwrap_or(column);
                let starts_items = column == keys && matches!(content, "\"items\": [" | "\"items\":[");
                self.state = if starts_items { SplitState::Items(None) } else { SplitState::Flow(Some(keys)) };
            }
            SplitState::Items(None) if content == "{" => self.start_part(at, SplitState::Items(Some(column))),
            SplitState::Items(Some(items)) if column == items && content.starts_with('}') => {
                self.end_part(at + column + 1);
                self.start = end;
                self.state = SplitState::Items(None);
            }
            SplitState::Block | SplitState::Item | SplitState::Items(_) => {}
        }
    }

    fn start_part(&mut self, at: usize, state: SplitState) {
        self.end_part(at);
        self.state = state;
    }

    fn end_part(&mut self, end: usize) {
        if self.text.get(self.start..end).is_some_and(|part| !part.trim().is_empty()) {
            self.parts.push(Span { start: self.start, end });
        }
        self.start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        split_dump(text).into_iter().map(|span| &text[span.start..span.end]).collect()
    }

    #[test]
    fn splits_documents_and_items() {
        assert_eq!(split("a: 1\n---\nb:\n- 2\n"), ["a: 1\n", "b:\n", "- 2\n"]);
        assert_eq!(
            split("apiVersion: v1\nitems:\n- a: 1\n  b: |\n    - no item\n\n- a: 2\nkind: List\n"),
            ["apiVersion: v1\nitems:\n", "- a: 1\n  b: |\n    - no item\n\n", "- a: 2\n", "kind: List\n"]
        );
        assert_eq!(split("--- # a comment\na: 1\n...\n"), ["# a comment\na: 1\n"]);
        assert_eq!(split("# license\n\na: 1\n# more\n"), ["# license\n\na: 1\n# more\n"]);
    }

    #[test]
    fn splits_json_items_in_the_layout_of_kubectl() {
        let text = "{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        {\n            \"items\": [\n                {\n                }\n            ]\n        },\n        {\n        }\n    ],\n    \"kind\": \"List\"\n}\n";
        let items = split(text);
        assert_eq!(items.len(), 4, "{items:?}");
        assert_eq!(
            items[1].trim(),
            "{\n            \"items\": [\n                {\n                }\n            ]\n        }"
        );
        assert_eq!(items[2].trim(), "{\n        }");
    }

    #[test]
    fn does_not_split_other_json() {
        for text in [
            "{\n\"items\": [\n- 1\n]}\n",
            "{\"items\": [{}, {}]}",
            "{\n  \"a\": {\n    \"items\": [\n      {\n      }\n    ]\n  }\n}\n",
        ] {
            assert_eq!(split(text), [text]);
        }
        assert_eq!(split(""), Vec::<&str>::new());
        assert_eq!(split("\n---\n\n"), Vec::<&str>::new());
    }
}
