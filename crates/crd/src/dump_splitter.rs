//! Where in a dump the CRDs are, without parsing it.
//!
//! A dump of a whole cluster has hundreds of CRDs and tens of megabytes, of which a run needs three. So a text is cut
//! where a line at its margin starts a document, or an item of a list; only what speaks of a CRD that is needed is
//! parsed. In YAML a line at the margin that starts with `- ` cannot be anything else, unless the document is in flow
//! style. JSON is cut only as `kubectl` lays it out: the items of the outermost list, each from its brace to the brace in
//! the same column; no line of JSON starts inside of a text.

use kubefoundry_yaml::Span;

/// The parts of a text that hold one document, or one item of a list, each.
pub(super) fn split_dump(text: &str) -> Vec<Span> {
    let mut cutter = DumpSplitter { text, slices: Vec::new(), start: 0, state: SplitState::Start };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let next = at + line.len();
        cutter.handle_line(line, at, next);
        at = next;
    }
    cutter.end_part(at);
    cutter.slices
}

struct DumpSplitter<'t> {
    text: &'t str,
    slices: Vec<Span>,
    /// Where the part begins that is not cut yet.
    start: usize,
    state: SplitState,
}

/// What the lines stand in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SplitState {
    /// Before the first line of a document.
    Start,
    /// In a document in block style.
    Block,
    /// In an item of a list at the margin.
    Item,
    /// In a document in flow style, whose keys stand in this column, once that is known.
    Flow(Option<usize>),
    /// In the outermost `items` of such a document, whose items stand in this column, once that is known.
    Items(Option<usize>),
}

impl DumpSplitter<'_> {
    fn handle_line(&mut self, line: &str, at: usize, next: usize) {
        let words = line.trim();
        if line.starts_with("---") || line.starts_with("...") {
            self.end_part(at);
            self.start = if line.starts_with("--- ") { at + "--- ".len() } else { next };
            self.state = SplitState::Start;
            return;
        }
        if words.is_empty() {
            return;
        }
        let column = line.len() - line.trim_start().len();
        match self.state {
            SplitState::Start if line.starts_with('#') => {}
            SplitState::Start if line.starts_with(['{', '[']) => self.state = SplitState::Flow(None),
            SplitState::Start | SplitState::Block | SplitState::Item if line.starts_with("- ") => {
                self.start_part(at, SplitState::Item)
            }
            SplitState::Start => self.state = SplitState::Block,
            // The keys of the list after its items are no part of the last one.
            SplitState::Item if column == 0 && !line.starts_with('#') => self.start_part(at, SplitState::Block),
            SplitState::Flow(keys) => {
                let keys = keys.unwrap_or(column);
                let items = column == keys && matches!(words, "\"items\": [" | "\"items\":[");
                self.state = if items { SplitState::Items(None) } else { SplitState::Flow(Some(keys)) };
            }
            SplitState::Items(None) if words == "{" => self.start_part(at, SplitState::Items(Some(column))),
            SplitState::Items(Some(items)) if column == items && words.starts_with('}') => {
                self.end_part(at + column + 1);
                self.start = next;
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
        if self.text.get(self.start..end).is_some_and(|slice| !slice.trim().is_empty()) {
            self.slices.push(Span { start: self.start, end });
        }
        self.start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        split_dump(text).into_iter().map(|span| &text[span.start..span.end]).collect()
    }

    #[test]
    fn documents_and_items_are_cut() {
        assert_eq!(cut("a: 1\n---\nb:\n- 2\n"), ["a: 1\n", "b:\n", "- 2\n"]);
        assert_eq!(
            cut("apiVersion: v1\nitems:\n- a: 1\n  b: |\n    - no item\n\n- a: 2\nkind: List\n"),
            ["apiVersion: v1\nitems:\n", "- a: 1\n  b: |\n    - no item\n\n", "- a: 2\n", "kind: List\n"]
        );
        assert_eq!(cut("--- # a comment\na: 1\n...\n"), ["# a comment\na: 1\n"]);
        assert_eq!(cut("# license\n\na: 1\n# more\n"), ["# license\n\na: 1\n# more\n"]);
    }

    #[test]
    fn items_of_json_are_cut_where_kubectl_breaks_lines() {
        let text = "{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        {\n            \"items\": [\n                {\n                }\n            ]\n        },\n        {\n        }\n    ],\n    \"kind\": \"List\"\n}\n";
        let items = cut(text);
        assert_eq!(items.len(), 4, "{items:?}");
        assert_eq!(
            items[1].trim(),
            "{\n            \"items\": [\n                {\n                }\n            ]\n        }"
        );
        assert_eq!(items[2].trim(), "{\n        }");
    }

    #[test]
    fn other_json_is_one() {
        for text in [
            "{\n\"items\": [\n- 1\n]}\n",
            "{\"items\": [{}, {}]}",
            "{\n  \"a\": {\n    \"items\": [\n      {\n      }\n    ]\n  }\n}\n",
        ] {
            assert_eq!(cut(text), [text]);
        }
        assert_eq!(cut(""), Vec::<&str>::new());
        assert_eq!(cut("\n---\n\n"), Vec::<&str>::new());
    }
}
