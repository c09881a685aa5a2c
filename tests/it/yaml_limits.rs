//! Hostile texts need bounded time and memory and are refused with a message about the limit.

use std::fmt::Write as _;

use kubefoundry_yaml::{FailureKind, Limits, ParsedText, parse};
use serde_json::json;

fn read(text: &str) -> ParsedText<'_> {
    parse(text, &Limits::default())
}

/// Returns the limit that the first document exceeds, after checking that the message names its value and that the next
/// document is read.
fn limit(text: &str) -> FailureKind {
    let text = format!("{text}\n---\nnext: 1\n");
    let parsed = read(&text);
    assert!(parsed.failure.is_none(), "{:?}", parsed.failure);
    let [first, second] = parsed.documents.as_slice() else { panic!("{} documents", parsed.documents.len()) };
    assert_eq!(second.root.to_json(), json!({"next": 1}));
    assert_eq!((first.index, second.index), (0, 1));
    let problem = first.problems.iter().find(|it| it.kind.is_limit()).unwrap();
    let default = Limits::default();
    let value = match problem.kind {
        FailureKind::TooManyNodes => default.nodes,
        FailureKind::TooDeep => default.depth,
        FailureKind::TooLarge => default.document_bytes,
        _ if problem.message.contains("nodes") => default.alias_nodes,
        _ => default.document_bytes,
    };
    assert!(problem.message.ends_with(&format!("expected at most {value}")), "{}", problem.message);
    problem.kind
}

#[test]
fn deep_nesting_is_refused() {
    let deep = 100_000;
    let mapping: String = (0..2000).map(|at| format!("{}a:\n", " ".repeat(at))).collect();
    for text in ["- ".repeat(deep), "{a: ".repeat(200) + &"}".repeat(200), "- ".repeat(65) + "x", mapping] {
        assert_eq!(limit(&text), FailureKind::TooDeep, "{text:.40}");
    }
    for text in ["[".repeat(deep), "{a: ".repeat(deep), "[".repeat(deep) + &"]".repeat(deep), "? ".repeat(deep)] {
        let parsed = read(&text);
        assert!(parsed.failure.is_some() || parsed.documents[0].problems[0].kind == FailureKind::TooDeep);
    }
    let most = "[".repeat(64) + &"]".repeat(64);
    assert!(read(&most).documents[0].problems.is_empty());
}

#[test]
fn too_deep_nodes_are_omitted_and_the_rest_is_read() {
    let text = format!("a: {}{}\nb: 1\n", "[".repeat(100), "]".repeat(100));
    let parsed = read(&text);
    assert_eq!(parsed.documents[0].root.get("b").map(kubefoundry_yaml::Node::to_json), Some(json!(1)));
    assert_eq!(parsed.documents[0].problems.len(), 1);
}

#[test]
fn too_many_nodes_keep_what_was_read() {
    let text = format!("kind: X\nitems:\n{}", "- a\n".repeat(260_000));
    assert_eq!(limit(&text), FailureKind::TooManyNodes);
    assert_eq!(read(&text).documents[0].root.get("kind").unwrap().as_str(), Some("X"));
}

#[test]
fn large_documents_are_refused_and_large_texts_are_not() {
    let text = format!("kind: X\na: '{}'\nb: 1", "x".repeat(4 * 1024 * 1024));
    assert_eq!(limit(&text), FailureKind::TooLarge);
    let one = format!("a: '{}'\n---\n", "x".repeat(1024 * 1024));
    assert!(read(&one.repeat(8)).documents.iter().all(|it| it.problems.is_empty()));
}

#[test]
fn alias_bombs_are_refused() {
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let before = format!("*a{}", level - 1);
        writeln!(laughs, "a{level}: &a{level} [{}]", vec![before; 9].join(", ")).unwrap();
    }
    assert_eq!(limit(&laughs), FailureKind::TooManyAliases);
    let long = format!("a: &a '{}'\nb:\n{}", "x".repeat(100_000), "- *a\n".repeat(40_000));
    assert_eq!(limit(&long), FailureKind::TooManyAliases);
    let mut chain = "a0: &a0 [x]\n".to_owned();
    for level in 1..100 {
        writeln!(chain, "a{level}: &a{level} [*a{}]", level - 1).unwrap();
    }
    assert_eq!(limit(&chain), FailureKind::TooDeep);
    let nested = format!("a: {}{}{}", "&x [".repeat(60), "x,".repeat(100_000), "]".repeat(60));
    assert_eq!(limit(&nested), FailureKind::TooManyNodes);
    let merges = format!("a: &a {{x: 1}}\nb:\n{}", "  <<: *a\n".repeat(60_000));
    assert_eq!(limit(&merges), FailureKind::TooManyAliases);
}

#[test]
fn many_keys_are_not_quadratic() {
    let text: String = (0..100_000).map(|at| format!("key-number-{at}: {at}\n")).collect();
    let parsed = read(&text);
    assert_eq!(parsed.documents[0].root.entries().len(), 100_000);
    assert!(parsed.documents[0].problems.is_empty());
    let same = "a: 1\n".repeat(100_000);
    assert_eq!(read(&same).documents[0].problems.len(), 1000);
}

#[test]
fn many_documents_and_many_failures_are_linear() {
    assert_eq!(read(&"a: 1\n---\n".repeat(50_000)).documents.len(), 50_000);
    assert_eq!(read(&"---\n".repeat(200_000)).documents.len(), 0);
    assert!(read(&"a: [\n---\n".repeat(20_000)).failure.is_some());
    assert_eq!(read(&"\ta: 1\n\n\t\n---\n".repeat(20_000)).documents.len(), 20_000);
}

#[test]
fn limits_can_be_set() {
    let limits = Limits { documents: 2, document_bytes: 10, nodes: 4, depth: 1, alias_nodes: 1 };
    let kind = |text: &str| parse(text, &limits).documents[0].problems.first().map(|it| it.kind);
    assert_eq!(kind("a: 1"), None);
    assert_eq!(kind("a: 12345678"), Some(FailureKind::TooLarge));
    assert_eq!(kind("[1,2,3,4]"), Some(FailureKind::TooManyNodes));
    assert_eq!(kind("[[1]]"), Some(FailureKind::TooDeep));
    assert_eq!(kind("[&a 1,*a]"), None);
    let parsed = parse("---\n---\na\n---\nb\n---\nc\n---\nd\n", &limits);
    let failure = parsed.failure.unwrap();
    assert_eq!((parsed.documents.len(), failure.kind), (2, FailureKind::TooManyDocuments));
    assert_eq!((failure.span.start, parsed.later_failures.len()), (16, 0), "where the third one starts");
}
