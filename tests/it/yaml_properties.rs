//! Properties of any value and any text.

use kubefoundry_yaml::{Limits, Node, ParsedText, parse, to_yaml, to_yaml_stream};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

#[rustfmt::skip]
const UNUSUAL_TEXTS: &[&str] = &[
    "", " ", "\n", "\n\n", "\t", "\r", "\r\n", "~", "null", "Null", "y", "n", "yes", "NO", "on", "off", "true", "False", "0", "-0",
    "0777", "0o17", "0x1F", "0b1", "08", "1:30", "190:20:30", "1e3", "1E400", "1_000", ".5", "5.", ".inf", "-.INF", ".nan", "+1",
    "2024-01-01", "2001-12-14 21:59:43", "<<", "=", "-", "- a", "--", "---", "--- a", "...", "?", "? a", ":", ": ", "a: b", "a:", ":a",
    "#", "# a", "a #b", "a# b", "!", "!!str a", "&a", "*a", "|", ">", "|-", "%", "%YAML 1.2", "@", "`", "'", "\"", "''", "it's", "\\",
    "\\n", "{", "}", "[", "]", "{}", "[]", "[a, b]", "{a: b}", ",", " a", "a ", "\ta", "a\t", "\na", "a\n", "a\n\n", "\n\na\n", " a\nb",
    "a\n b\n", "a\n\tb", "a \nb", "a\r\nb", "a\rb", "#a\nb", "---\na", "a\n---\nb\n...\n", "\u{0}", "\u{7}", "\u{1b}[0m", "\u{7f}",
    "\u{85}", "a\u{85}b", "\u{a0}", "\u{2028}", "a\u{2029}b\nc", "\u{feff}", "a\u{feff}b", "\u{fffe}", "\u{ffff}", "é", "日本", "😀",
    "http://a:80/b?c=d&e=f#g", "key: |\n  x\n", "- a\n- b\n", "\n ", " \n", "a\n ", "a\n  \n", "\u{2028}\n", "a:\n\tb",
    "default \u{2192} dynamo", "\u{2192}", "a \u{2192}", "on \u{2192} x", "a:\n  b: 1\n- c # d\n\n\ne\n", "--- \na\n...\nb\n",
    "a\n\t", "a\n\t\n", "a\n \t\n\n", "\ta\n\t\n",
];

fn string() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(UNUSUAL_TEXTS).prop_map(str::to_owned),
        proptest::collection::vec(proptest::sample::select(UNUSUAL_TEXTS), 1..4).prop_map(|parts| parts.concat()),
        any::<String>(),
        "[ -~]{0,200}",
        "([a-z ]{1,100}\n){1,3}",
        "(( {0,4}[!-~]{0,3} ?[!-~]{0,9})?\n){1,5}",
        "[a-z]{1000,1100}",
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        2 => any::<f64>().prop_filter("finite", |it| it.is_finite()).prop_map(Value::from),
        1 => (-1e6..1e6_f64).prop_map(Value::from),
        1 => any::<i32>().prop_map(|it| Value::from(f64::from(it))),
        6 => string().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((string(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Returns the value with integral floats as integers, because both the reader and the writer convert them.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap();
            let text = float.to_string();
            if float == 0.0 {
                return json!(0);
            }
            text.parse::<i64>()
                .map(Value::from)
                .or_else(|_| text.parse::<u64>().map(Value::from))
                .unwrap_or_else(|_| value.clone())
        }
        Value::Array(items) => items.iter().map(canonical).collect(),
        Value::Object(entries) => {
            Value::Object(entries.iter().map(|(key, value)| (key.clone(), canonical(value))).collect())
        }
        other => other.clone(),
    }
}

fn one(text: &str) -> Value {
    let parsed = parse(text, &Limits::default());
    assert!(parsed.failure.is_none(), "{:?} in\n{text}", parsed.failure);
    assert_eq!(parsed.documents.len(), 1, "{text:?}");
    assert_eq!(parsed.documents[0].problems, [], "{text}");
    parsed.documents[0].root.to_json()
}

/// Asserts that every span is on character boundaries and inside its document.
fn check(text: &str, parsed: &ParsedText<'_>) {
    fn walk(text: &str, node: &Node<'_>) {
        assert!(text.get(node.span.start..node.span.end).is_some(), "{:?}", node.span);
        for entry in node.entries() {
            assert!(text.get(entry.key_span.start..entry.key_span.end).is_some());
            walk(text, &entry.node);
        }
        node.items().iter().for_each(|item| walk(text, item));
    }
    let mut end = 0;
    for document in &parsed.documents {
        assert!(
            document.span.start >= end && text.get(document.span.start..document.span.end).is_some(),
            "{:?}",
            document.span
        );
        end = document.span.end;
        walk(text, &document.root);
    }
    let failures =
        parsed.documents.iter().flat_map(|it| &it.problems).chain(&parsed.failure).chain(&parsed.later_failures);
    for failure in failures {
        assert!(text.get(failure.span.start..failure.span.end).is_some(), "{failure:?}");
        assert!(!failure.message.contains('\n'), "{failure:?}");
    }
}

const BASE: &str = "# c\napiVersion: v1\nmetadata: &m\n  name: 'a b'\n  labels: {app: x, \"y/z\": 1}\nspec:\n- <<: *m\n  t: |\n    a\n     b\n\n  \
                    f: >-\n    c\n    d\n-\n  ? k\n  : [1, 2.5, ~, !!str 3]\n  w: \"x\\n\n    z\"\n---\nb: é\n...\n";

/// Writes a value with serde-saphyr, the reference for our writer.
fn write_by_library(value: &Value, out: &mut String) {
    let options = serde_saphyr::ser_options! {
        compact_list_indent: true,
        prefer_block_scalars: true,
        indent_step: 2,
        folded_wrap_chars: usize::MAX,
    };
    serde_saphyr::to_fmt_writer_with_options(&mut *out, &canonical(value), options).unwrap();
    if !out.ends_with('\n') {
        out.push('\n');
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600,
        max_global_rejects: 1_000_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn written_values_read_back(value in value()) {
        let mut text = String::new();
        to_yaml(&value, &mut text);
        prop_assert!(text.ends_with('\n') && !text.starts_with("---\n"));
        let read = one(&text);
        prop_assert_eq!(&read, &canonical(&value), "{}", text);
        let mut again = String::new();
        to_yaml(&read, &mut again);
        prop_assert_eq!(again, text, "writing is stable");
    }

    /// Our writer, which is faster, gives the same text as the library's writer.
    #[test]
    fn our_writer_equals_that_of_the_library(value in value()) {
        let (mut ours, mut theirs) = (String::new(), String::new());
        to_yaml(&value, &mut ours);
        write_by_library(&value, &mut theirs);
        prop_assert_eq!(ours, theirs);
    }

    /// Strings that look like words, flags, quantities, numbers and dates, as values and as keys.
    #[test]
    fn words_are_quoted_as_the_library_quotes_them(text in "[-/.+_:=#~0-9a-zA-Z ]{0,9}") {
        let value = json!({"v": text, (text.clone()): [text]});
        let (mut ours, mut theirs) = (String::new(), String::new());
        to_yaml(&value, &mut ours);
        write_by_library(&value, &mut theirs);
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn numbers_are_quoted_as_the_library_quotes_them(text in "[0-9][0-9.]{0,9}") {
        let (mut ours, mut theirs) = (String::new(), String::new());
        to_yaml(&json!({"v": text, "l": [text]}), &mut ours);
        write_by_library(&json!({"v": text, "l": [text]}), &mut theirs);
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn streams_read_back(values in proptest::collection::vec(value(), 0..4)) {
        let text = to_yaml_stream(&values);
        let parsed = parse(&text, &Limits::default());
        prop_assert!(parsed.failure.is_none());
        let read: Vec<_> = parsed.documents.iter().map(|it| it.root.to_json()).collect();
        prop_assert_eq!(read, values.iter().map(canonical).collect::<Vec<_>>(), "{}", text);
    }

    #[test]
    fn json_text_reads_back(value in value()) {
        // A raw line separator and a character that YAML does not print are refused; JSON writers may escape them.
        let text: String = value.to_string().chars().map(|it| match it {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => format!("\\u{:04x}", u32::from(it)),
            other => other.to_string(),
        }).collect();
        // A flow key may not be longer than 1024 characters.
        prop_assume!(!text.contains(&"a".repeat(1000)) && text.len() < 1000);
        prop_assert_eq!(one(&text), canonical(&value));
    }

    #[test]
    fn any_text_is_read_without_panic(text in any::<String>()) {
        check(&text, &parse(&text, &Limits::default()));
    }

    #[test]
    fn any_punctuation_is_read_without_panic(text in "[-:?,\\[\\]{}#&*!|>'\"%@ \t\r\nab1~<.=\u{85}\u{2028}é]{0,60}") {
        check(&text, &parse(&text, &Limits::default()));
        let tight = Limits { document_bytes: 40, nodes: 6, depth: 2, alias_nodes: 2, ..Limits::default() };
        check(&text, &parse(&text, &tight));
    }

    #[test]
    fn mutated_yaml_is_read_without_panic(at in 0..BASE.len(), cut in 0..12_usize, add in proptest::sample::select(UNUSUAL_TEXTS)) {
        let at = BASE.floor_char_boundary(at);
        let end = BASE.ceil_char_boundary((at + cut).min(BASE.len()));
        let text = format!("{}{add}{}", &BASE[..at], &BASE[end..]);
        check(&text, &parse(&text, &Limits::default()));
        let tight = Limits { document_bytes: 150, nodes: 20, depth: 3, alias_nodes: 2, ..Limits::default() };
        check(&text, &parse(&text, &tight));
    }
}

#[test]
fn the_base_of_the_mutated_texts_is_valid() {
    let parsed = parse(BASE, &Limits::default());
    assert!(parsed.failure.is_none() && parsed.documents.iter().all(|it| it.problems.is_empty()), "{parsed:?}");
}

#[test]
fn unusual_strings_read_back_as_values_and_keys() {
    for text in UNUSUAL_TEXTS {
        let value = json!({"v": text, (*text): [text, {(*text): text}]});
        let mut out = String::new();
        to_yaml(&value, &mut out);
        assert_eq!(one(&out), value, "{out}");
        let mut by_library = String::new();
        write_by_library(&value, &mut by_library);
        assert_eq!(out, by_library);
        let mut alone = String::new();
        to_yaml(&json!(text), &mut alone);
        assert_eq!(one(&alone), json!(text), "{alone}");
    }
}

#[test]
fn the_style_is_the_style_of_kubectl() {
    let value = json!({
        "metadata": {"name": "x", "labels": {}}, "list": [{"a": 1, "b": ["c", ["d"]]}, {}, []],
        "text": "one\n  two\n", "long": "word ".repeat(60) + "end", "number": 3.0, "no": null,
    });
    let mut text = String::new();
    to_yaml(&value, &mut text);
    let long = "word ".repeat(60);
    assert_eq!(
        text,
        format!(
            "metadata:\n  name: x\n  labels: {{}}\nlist:\n- a: 1\n  b:\n  - c\n  - - d\n- {{}}\n- []\ntext: |\n  one\n    two\n\
             long: {long}end\nnumber: 3\n\"no\": null\n"
        )
    );
}
