//! Holds the block reader to the event parser.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::{parse, parse_events};

fn is_read(text: &str) -> bool {
    read_block_document(text, Span { start: 0, end: text.len() }, &Limits::default()).is_some()
}

/// Asserts that both readers agree on a text, under ordinary limits and under small ones.
fn assert_same(text: &str) {
    let small = Limits { documents: 3, document_bytes: 400, nodes: 30, depth: 4, alias_nodes: 20 };
    for limits in [Limits::default(), small] {
        assert_eq!(parse(text, &limits), parse_events(text, &limits), "{text:?} with {limits:?}");
    }
}

/// The notations of manifests must not fall back to the event parser: that would cost ten times as much.
#[test]
fn reads_the_notations_of_manifests() {
    for text in [
        "a: 1\nb: two words # why\nc: -1.5e3\nd: ~\ne:\nf: ''\n",
        "# first\na:\n  b:\n    c: 1\n  d: 2\n# last\n",
        "- a\n- b: 1\n  c: 2\n- - x\n  - y\n",
        "a:\n- 1\n- 2\nb:\n  - 3\n",
        "a: \"32Gi\"\nb: 'it''s'\nc: \"tab\\t, \\\"quotes\\\", \\u003c and a \\\\\"\n",
        "a: [1, two words, \"3\", [4], {b: c}]\nb: {}\nc: []\nd: {x: 1, \"y z\": [v0.26.0, http://host:80/p]}\n",
        "a: [\n  1,\n  2\n  ]\nb: {x: 1,\n  y: 2}\n",
        "a: |\n  one\n    two\n\n  three\nb: |-\n  kept\nc: |+\n  end\n\nd: >-\n  folded\n  text\n\n  next\n",
        "a: a long text\n  that goes on\n\n  after a blank line\nb: \"quoted \\\n  and joined,\n  or folded\"\nc: 'single\n  too'\n",
        "a:\n  value on its own line\nb:\n  [1]\n",
        "{\"a\": {\"b\": [1, true, null, \"x\"]},\n\"c\": \"d\"}\n",
        "true: a\n1: b\n1.5: c\n",
        "a: é ü 漢字 🦀 # …\n",
        "a: --flag=$(VALUE)\nb: a#b\nc: a:b\nd: =\n",
        "a: 1",
        "\n\n",
        "",
    ] {
        assert!(is_read(text), "{text:?} is left to the event parser");
        assert_same(text);
    }
}

/// What needs the event parser: errors, which only it reports, and notations that are rare in manifests.
#[test]
fn leaves_errors_and_rare_notations_to_the_event_parser() {
    for text in [
        "a: 1\na: 2\n",
        "a: *x\n",
        "a: &x 1\n",
        "a: !!str 1\n",
        "<<: {a: 1}\n",
        "? a\n: b\n",
        "a:\t1\n",
        "a: 1\r\n",
        "a: .inf\n",
        "null: a\n",
        "a: b: c\n",
        "a:\n    b: 1\n  c: 2\n",
        "a: 1\n  b: 2\n",
        "- a\nb: 1\n",
        "a: \"open\n",
        "a: [1\nb: 2\n",
        "a: [1,]\n",
        "a: {b}\n",
        "a: |2\n  x\n",
        "a: | # comment\n  x\n",
        "-\n  a: 1\n",
        "scalar\n",
        "a: 1\n...\n",
        "[a,\n...\n]\n",
        "%YAML 1.1\n---\na: 1\n",
        "a: \u{85}\n",
        "\u{feff}a: 1\n",
        "a: \"\\x41\"\n",
    ] {
        assert!(!is_read(text), "{text:?} is not left to the event parser");
        assert_same(text);
    }
}

#[test]
fn documents_of_both_readers_mix() {
    for text in [
        "a: 1\n---\nb: &x 1\n---\nc: 2\n",
        "# comment\n---\na: 1\n---\n---\n# only a comment\n---\nb: [\n---\nc: 1\n",
        "--- # comment\na: 1\n---\nb: 1\n...\n---\nc: 1\n",
        "---\na: 1\n--- b\n---\nc: 1\n",
        "%YAML 1.1\n---\na: 1\n---\nb: 1\n",
        "\u{feff}# comment\n---\na: *x\n---\nb: 1\n",
        "a: |\n  x\n---\nb: \"x\n---\n\"\n",
        "--- {a: 1}\na: 1\n---\nb: 1\n",
        "  ---\n? k\n: v\n---\n---\nb: 1\n",
    ] {
        assert_same(text);
    }
}

/// Every collection, scalar and comment may be written in several ways.
fn value(depth: usize) -> BoxedStrategy<Written> {
    let scalar = select(vec![
        "a",
        "two words",
        "1",
        "-1.5",
        "0x1F",
        "1_000",
        "true",
        "on",
        "~",
        "null",
        "\"x\"",
        "'y'",
        "\"a: b # c\"",
        "'it''s'",
        "\"\\n\\\"\"",
        "a:b",
        "a#b",
        "--flag",
        "$(A)",
        "é",
        "32Gi",
        ".5",
        "1e400",
        "v1/b",
        "=",
        "<=",
        "[]",
        "{}",
        "[a, b]",
        "{a: 1, b: [2]}",
        "[\"x\", 'y', 1.5]",
        "*x",
        "&x y",
        "!!str 1",
        ".inf",
        "a: b",
        "@a",
        "`a`",
    ])
    .prop_map(|text| Written::Inline(text.to_owned()));
    let multi_line = select(vec![
        "|\na\n  b\n\nc",
        "|-\na",
        "|+\na\n",
        ">-\na\nb\n\nc",
        ">\na",
        "a\nb",
        "a\n\nb c",
        "\"a\nb\"",
        "'a\n\nb'",
        "\"a \\\nb\"",
        "[a,\nb]",
        "{a: b,\nc: d}",
        "\na",
        "\n\"a\"",
    ])
    .prop_map(|text| Written::MultiLine(text.to_owned()));
    if depth == 0 {
        return prop_oneof![4 => scalar, 1 => multi_line].boxed();
    }
    let key = select(vec!["a", "b", "c-d", "\"e f\"", "'g'", "h.i/j", "y", "1", "<<", "a"]);
    let mapping = prop::collection::vec((key, value(depth - 1)), 1..4)
        .prop_map(|entries| Written::Mapping(entries.into_iter().map(|(key, it)| (key.to_owned(), it)).collect()));
    let sequence = prop::collection::vec(value(depth - 1), 1..4).prop_map(Written::Sequence);
    prop_oneof![3 => scalar, 1 => multi_line, 4 => mapping, 3 => sequence].boxed()
}

#[derive(Debug, Clone)]
enum Written {
    Inline(String),
    MultiLine(String),
    Mapping(Vec<(String, Written)>),
    Sequence(Vec<Written>),
}

impl Written {
    /// Returns the text of the value on its own lines.
    fn lines(&self, indent: usize, step: usize, compact: bool) -> String {
        let margin = " ".repeat(indent);
        match self {
            Self::Inline(text) | Self::MultiLine(text) => indented(text, &margin),
            Self::Mapping(entries) => {
                let entry = |(key, node): &(String, Self)| {
                    let deeper = if compact && matches!(node, Self::Sequence(_)) { indent } else { indent + step };
                    format!("{margin}{key}:{}", node.after_indicator(deeper, step, compact))
                };
                entries.iter().map(entry).collect::<Vec<_>>().concat()
            }
            Self::Sequence(items) => {
                let item = |item: &Self| match item {
                    // The first key or dash of a nested collection stands on the line of the dash.
                    Self::Mapping(_) | Self::Sequence(_) => {
                        let lines = item.lines(indent + 2, step, compact);
                        format!("{margin}- {}", lines.get(indent + 2..).unwrap_or(""))
                    }
                    _ => format!("{margin}-{}", item.after_indicator(indent + step, step, compact)),
                };
                items.iter().map(item).collect::<Vec<_>>().concat()
            }
        }
    }

    /// Returns the text of the value after `key:` or a dash.
    fn after_indicator(&self, indent: usize, step: usize, compact: bool) -> String {
        match self {
            Self::Inline(text) => format!(" {text}\n"),
            Self::MultiLine(text) => {
                let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
                format!(" {first}\n{}", indented(rest, &" ".repeat(indent)))
            }
            _ => format!("\n{}", self.lines(indent, step, compact)),
        }
    }
}

fn indented(text: &str, margin: &str) -> String {
    text.lines().map(|line| format!("{margin}{line}\n")).collect::<Vec<_>>().concat()
}

/// Lines at which one document may end and the next one begin.
const LINES_AROUND_MARKERS: &[&str] = &[
    "---\n",
    "--- \n",
    "--- # c\n",
    "---\r\n",
    "---a\n",
    "--- {a: 1}\n",
    "--- |\n",
    "  ---\n",
    "...\n",
    "... # c\n",
    "%YAML 1.2\n",
    "# c\n",
    "\n",
    "\t\n",
    "a: 1\n",
    "a: 1",
    "b: &x 1\n",
    "c: *x\n",
    "d: \"x\n",
    "  y\"\n",
    "e: |\n",
    "  text\n",
    "- a\n",
    "f: [\n",
    "  1]\n",
    "? k\n",
    ": v\n",
    "plain\n",
    "\u{feff}",
];

/// A change of a text: bytes are removed, or a piece of syntax is inserted.
fn change() -> impl Strategy<Value = (prop::sample::Index, usize, &'static str)> {
    let pieces = vec![
        "", "", "\n", " ", "  ", "- ", "-", ": ", ":", " #", "# c\n", "'", "\"", "[", "]", "{", "}", ",", "|\n",
        ">-\n", "---\n", "---", "...\n", "&a ", "*a", "!", "\t", "\r\n", "<<: ", "\u{85}", "\u{2028}", "\u{feff}",
        "\\", "\\\n", "? ", "\n  ", "\n\n",
    ];
    (any::<prop::sample::Index>(), 0..6_usize, select(pieces))
}

proptest! {
    // A run of 10 million cases of each property passed on 23 November 2026 (`PROPTEST_CASES=10000000 cargo test --release
    // -p kubefoundry-yaml both_readers`).
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(2_000)))]

    #[test]
    fn both_readers_agree(
        documents in prop::collection::vec(value(3), 1..3),
        step in 1..4_usize,
        compact: bool,
        changes in prop::collection::vec(change(), 0..4),
    ) {
        let mut text = String::new();
        for (number, document) in documents.iter().enumerate() {
            if number > 0 {
                text.push_str("---\n");
            }
            text.push_str(&document.lines(0, step, compact));
        }
        for (at, removed, inserted) in changes {
            let floor = |mut at: usize| { while !text.is_char_boundary(at) { at -= 1; } at };
            let start = floor(at.index(text.len() + 1));
            let end = floor((start + removed).min(text.len())).max(start);
            text.replace_range(start..end, inserted);
        }
        assert_same(&text);
    }

    #[test]
    fn both_readers_agree_around_markers(lines in prop::collection::vec(select(LINES_AROUND_MARKERS), 0..12)) {
        assert_same(&lines.concat());
    }
}
