//! Documents, spans and strict-mode problems.

use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{FailureKind, Limits, Node, ParsedText, Span, parse};
use serde_json::json;

fn read(text: &str) -> ParsedText<'_> {
    parse(text, &Limits::default())
}

fn slice(text: &str, span: Span) -> &str {
    &text[span.start..span.end]
}

fn root<'p, 't>(parsed: &'p ParsedText<'t>) -> &'p Node<'t> {
    &parsed.documents[0].root
}

/// Returns the text of every node and key, in reading order.
fn places(text: &str) -> Vec<&str> {
    fn walk<'t>(text: &'t str, node: &Node<'_>, out: &mut Vec<&'t str>) {
        out.push(&text[node.span.start..node.span.end]);
        for entry in node.entries() {
            out.push(&text[entry.key_span.start..entry.key_span.end]);
            walk(text, &entry.node, out);
        }
        for item in node.items() {
            walk(text, item, out);
        }
    }
    let parsed = read(text);
    assert!(parsed.failure.is_none(), "{:?}", parsed.failure);
    let mut out = Vec::new();
    walk(text, root(&parsed), &mut out);
    out
}

#[test]
fn documents_keep_their_text_and_position() {
    let text =
        "# license\n---\n# first\na: 1\n# after\n---\n---\n# only this\n--- # beside\nb: 2\n...\n# third\nc: 3\n";
    let parsed = read(text);
    let documents: Vec<_> = parsed.documents.iter().map(|it| (it.index, slice(text, it.span))).collect();
    assert_eq!(documents, [(1, "# first\na: 1\n# after\n"), (4, "# beside\nb: 2\n"), (5, "# third\nc: 3\n")]);
    assert!(parsed.failure.is_none());
}

#[test]
fn texts_without_documents_are_fine() {
    for text in ["", "\n\n", "# only\n", "---\n", "---\n---\n", "\u{feff}", "---\n# x\n---\n# y\n"] {
        let parsed = read(text);
        assert!(parsed.documents.is_empty() && parsed.failure.is_none(), "{text:?}: {parsed:?}");
    }
    assert_eq!(root(&read("~\n")).to_json(), json!(null));
}

#[test]
fn byte_order_marks_and_line_ends_do_not_matter() {
    let text = "\u{feff}a: 1\r\nb:\r\n- |\r\n  x\r\n  y\r\n- é\r\n";
    let parsed = read(text);
    assert_eq!(root(&parsed).to_json(), json!({"a": 1, "b": ["x\ny\n", "é"]}));
    assert_eq!(parsed.documents[0].span, Span { start: 3, end: text.len() });
}

#[test]
fn json_is_yaml() {
    let text = "{\n\t\"a\": [1, {\"b\": null}, \"\\u00e9\\ud83d\\ude00\"],\n\t\"c\":{\"d\":\"x\"}}";
    assert_eq!(root(&read(text)).to_json(), json!({"a": [1, {"b": null}, "é😀"], "c": {"d": "x"}}));
}

#[test]
fn spans_are_the_tokens() {
    assert_eq!(
        places("a: 'x' # c\nb: [1, \"y\"]\n"),
        ["a: 'x' # c\nb: [1, \"y\"]", "a", "'x'", "b", "[1, \"y\"]", "1", "\"y\""]
    );
    assert_eq!(places("k:\n- a\n- b: 1\n"), ["k:\n- a\n- b: 1", "k", "- a\n- b: 1", "a", "b: 1", "b", "1"]);
    assert_eq!(places("k: # c\n  - &x a\n  -\n"), ["k: # c\n  - &x a\n  -", "k", "- &x a\n  -", "a", ""]);
    assert_eq!(
        places("- - a\n  - b\n- {c: d}\n"),
        ["- - a\n  - b\n- {c: d}", "- a\n  - b", "a", "b", "{c: d}", "c", "d"]
    );
    assert_eq!(
        places("a: |-\n  x\n  y\n\nb: >\n  z\n"),
        ["a: |-\n  x\n  y\n\nb: >\n  z", "a", "|-\n  x\n  y", "b", ">\n  z"]
    );
    assert_eq!(places("- | # c\n  x\n- &a !t |\n  y\n"), ["- | # c\n  x\n- &a !t |\n  y", "| # c\n  x", "|\n  y"]);
    assert_eq!(places("a: &x {b: 1}\nc: *x\n")[4..], ["1", "c", "*x", "b", "1"]);
    assert_eq!(places("\"a\" : 'é'\n"), ["\"a\" : 'é'", "\"a\"", "'é'"]);
    assert_eq!(places("? k\n: v\n"), ["k\n: v", "k", "v"]);
}

#[test]
fn an_absent_value_has_the_position_behind_its_colon() {
    for (text, at) in
        [("a:\nb: 1\n", 2), ("\"a\" :   \n", 5), ("a:", 2), ("{a: , b: 1}", 3), ("a: &x\nb: 1", 2), ("a: # c\n", 2)]
    {
        let parsed = read(text);
        let node = root(&parsed).get("a").unwrap();
        assert_eq!(node.span, Span { start: at, end: at }, "{text:?}");
        assert_eq!(root(&parsed).to_json()["a"], json!(null));
    }
}

#[test]
fn paths_find_places() {
    let text = "spec:\n  engine:\n    type: vllm\n  env:\n  - name: A\n";
    let parsed = read(text);
    let node = root(&parsed).at(&FieldPath::parse("spec.env").index(0).key("name")).unwrap();
    assert_eq!(slice(text, node.span), "A");
}

fn problems(text: &str) -> Vec<(FailureKind, &str, Option<&str>)> {
    let parsed = read(text);
    assert!(parsed.failure.is_none(), "{:?}", parsed.failure);
    let document = &parsed.documents[0];
    document
        .problems
        .iter()
        .map(|it| (it.kind, slice(text, it.span), it.related.as_ref().map(|(span, _)| slice(text, *span))))
        .inspect(|_| assert!(document.problems.iter().all(|it| !it.message.contains('\n'))))
        .collect()
}

#[test]
fn duplicate_keys_are_problems_and_the_first_one_stays() {
    let text = "a: 1\n'a': 2\n1: x\n\"1\": y\n";
    assert_eq!(
        problems(text),
        [(FailureKind::DuplicateKey, "'a'", Some("a")), (FailureKind::DuplicateKey, "\"1\"", Some("1"))]
    );
    assert_eq!(root(&read(text)).to_json(), json!({"a": 1, "1": "x"}));
    let many: String = (0..40).map(|at| format!("k{at}: {at}\n")).collect::<String>() + "k7: x\nk39: y\n";
    assert_eq!(problems(&many).len(), 2);
}

#[test]
fn merges_apply_and_overriding_is_a_problem() {
    let base = "b: &b {x: 1, q: {z: 2}}\nc: &c {w: 3}\n";
    for (text, expected) in [
        ("d: {<<: *b, v: 0}", json!({"x": 1, "q": {"z": 2}, "v": 0})),
        ("d:\n  <<: [*b, *c]\n  v: 0", json!({"x": 1, "q": {"z": 2}, "w": 3, "v": 0})),
        ("d:\n  <<: *b\n  <<: *c", json!({"x": 1, "q": {"z": 2}, "w": 3})),
        ("d: {<<: {<<: *c, v: 0}}", json!({"w": 3, "v": 0})),
        ("d: {'<<': 1}", json!({"<<": 1})),
        ("d: {!!merge <<: *c}", json!({"w": 3})),
        ("d: {<<: []}", json!({})),
    ] {
        let text = format!("{base}{text}\n");
        assert_eq!(problems(&text), [], "{text}");
        assert_eq!(root(&read(&text)).to_json()["d"], expected, "{text}");
    }
    for (text, place, other) in [
        ("d: {<<: *c, w: 9}", "w", "w"),
        ("d: {w: 9, <<: *c}", "<<", "w"),
        ("d: {<<: [*c, {w: 9}]}", "<<", "w"),
        ("d:\n  <<: *c\n  <<: *c", "<<", "w"),
    ] {
        let text = format!("{base}{text}\n");
        assert_eq!(problems(&text), [(FailureKind::MergeOverride, place, Some(other))], "{text}");
    }
    let text = format!("{base}d: {{<<: *c, w: 9}}\n");
    assert_eq!(root(&read(&text)).to_json()["d"], json!({"w": 9}), "the explicit key wins");
    for value in ["1", "~", "[1]", "[[]]", "*l", ""] {
        let text = format!("l: &l [{{a: 1}}]\nd: {{<<: {value}}}\n");
        assert_eq!(problems(&text)[0].0, FailureKind::BadMerge, "{text}");
    }
}

#[test]
fn values_that_json_cannot_represent_are_problems() {
    use FailureKind::{BadTag, NotJson, UnknownAlias};
    for (text, kind, place) in [
        ("a: .inf", NotJson, ".inf"),
        ("a: -.INF", NotJson, "-.INF"),
        ("a: .nan", NotJson, ".nan"),
        ("~: a", NotJson, "~"),
        (": a", NotJson, ""),
        ("[a]: b", NotJson, "[a]"),
        ("? {a: 1}\n: b", NotJson, "{a: 1}"),
        ("18446744073709551615: a", NotJson, "18446744073709551615"),
        ("a: !!int x", BadTag, "x"),
        ("a: !!binary '*'", BadTag, "'*'"),
        ("a: *x", UnknownAlias, "*x"),
        ("a: &x [*x]", UnknownAlias, "*x"),
        ("a: {<<: *x, b: 1}", UnknownAlias, "*x"),
    ] {
        assert_eq!(problems(text), [(kind, place, None)], "{text}");
    }
}

#[test]
fn yaml_1_2_only_syntax_is_a_problem() {
    for (text, place) in [
        ("-\ta: 1\n", "\t"),
        ("\ta: 1\n", "\t"),
        ("a: 1 # c\n\t# d\nb: 2\n", "\t"),
        ("a: {x:, y: 1}\n", ":"),
        ("a: &x.y 1\n", "&x.y"),
        ("a: x\u{85}y\n", "\u{85}"),
        ("# c\u{2028}\na: 1\n", "\u{2028}"),
        ("a: 'x \u{2029}y'\n", "\u{2029}"),
    ] {
        assert_eq!(problems(text), [(FailureKind::Syntax, place, None)], "{text:?}");
    }
    for text in [
        "a:\t1\t# c\n",
        "a: [\n 1,\t2 ]\n",
        "{\n\t\"a\": 1\n}",
        "a: \"x\u{2028}y\"\n",
        "a: |\n  \tx\n",
        "a: x\n  \t\nb: 1\n",
    ] {
        assert_eq!(problems(text), [], "{text:?}");
    }
}

#[test]
fn reading_continues_after_a_broken_document() {
    let text = "a: 1\n---\nb: [1\n---\nc: 3\n---\nd: 'x\n";
    let parsed = read(text);
    let indices: Vec<_> = parsed.documents.iter().map(|it| (it.index, it.root.to_json())).collect();
    assert_eq!(indices, [(0, json!({"a": 1})), (2, json!({"c": 3}))]);
    let failure = parsed.failure.unwrap();
    assert_eq!((failure.kind, slice(text, failure.span)), (FailureKind::Syntax, "["));
    assert_eq!(parsed.later_failures.len(), 1);
}

#[test]
fn syntax_errors_have_a_message_and_a_position() {
    for text in [
        "a: b: c",
        "a: [1",
        "a: {b",
        "a: 'x",
        "a: \"\\q\"",
        "a:\n  - b\n c: d",
        "a: \"b\" c",
        "a: @x",
        "a: - b",
        "\0",
        "a: \u{7f}",
    ] {
        let parsed = read(text);
        let failure = parsed.failure.unwrap_or_else(|| panic!("{text:?} was read"));
        assert!(failure.message.contains("; expected "), "{text:?}: {}", failure.message);
        assert!(!failure.message.contains('\n') && failure.span.end <= text.len(), "{text:?}: {failure:?}");
    }
}

#[test]
fn strings_borrow_from_the_text() {
    let text = String::from("a: plain\nb: 'single'\n\"c\": \"double\"\n");
    let parsed = read(&text);
    for entry in root(&parsed).entries() {
        let kubefoundry_yaml::Value::String(value) = &entry.node.value else { panic!("{entry:?}") };
        assert!(matches!(value, std::borrow::Cow::Borrowed(_)) && matches!(entry.key, std::borrow::Cow::Borrowed(_)));
    }
}

/// A line of blanks at the end of a block scalar is content, so a tab in it is not indentation.
#[test]
fn blank_lines_at_the_end_of_a_block_scalar_may_have_tabs() {
    for (text, value) in [
        ("a: |-\n  x\n  \t\nb: z\n", json!({"a": "x\n\t", "b": "z"})),
        ("- a: |\n    x\n    \t\n  b: z\n", json!([{"a": "x\n\t\n", "b": "z"}])),
        ("- |-\n  x\n   \t\n\n- z\n", json!(["x\n \t", "z"])),
        ("a: |\n  x\n  \t", json!({"a": "x\n\t"})),
        ("a: |\n  \t\n", json!({"a": "\t\n"})),
    ] {
        let parsed = read(text);
        assert_eq!((&parsed.failure, parsed.documents[0].problems.as_slice()), (&None, [].as_slice()), "{text:?}");
        assert_eq!(root(&parsed).to_json(), value, "{text:?}");
    }
    for text in ["a: |\n  x\n \t\nb: z\n", "a: |\n  x\n\t\n", "a: |\n  x\n  \u{2028}\n", "a: |\n  x\n\tb: z\n"] {
        let parsed = read(text);
        let problems = parsed.documents.iter().flat_map(|document| &document.problems).chain(&parsed.failure);
        assert!(problems.count() > 0, "{text:?}");
    }
}
