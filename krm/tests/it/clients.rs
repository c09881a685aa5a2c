//! What clients do with an answer (measured: an empty one deletes every file, a missing item its file, a list without
//! `items` is applied as an object), turned around: no input makes us give such an answer.

use crate::common::{deployment, items, resource_list};
use kubefoundry_krm::run;
use proptest::prelude::*;

const HEAD: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n";

/// What is not a ResourceList comes back as it was: a client that would have failed to read it fails still, and one that
/// ignores the exit status loses nothing.
#[test]
fn what_is_no_resource_list_is_echoed() {
    for (input, says) in [
        ("log line\nkind: ResourceList: x\n", "line 2"),
        ("just text\n", "standard input is a string"),
        ("- a\n- b\n", "standard input is a list"),
        ("{}\n", "standard input is a mapping"),
        ("apiVersion: v1\nkind: List\nitems: []\n", "standard input is a List"),
        // A kind cannot write lines of its own into the log of a CI.
        ("kind: \"X\\u202e\\n::error::y\\e[2J\"\n", "standard input is a X\\u{202e}\\n::error::y\\u{1b}[2J"),
        ("kind: ResourceList\n---\nkind: ResourceList\n", "2 documents"),
        ("kind: ResourceList\n", "apiVersion \"\""),
        ("apiVersion: config.kubernetes.io/v2\nkind: ResourceList\nitems: []\n", "config.kubernetes.io/v2"),
        ("apiVersion: example.com/v1\nkind: ResourceList\n", "example.com/v1"),
        (&format!("{HEAD}items: {{a: b}}\n"), "items is a mapping"),
        (&format!("{HEAD}items: all\n"), "items is a string"),
        (&format!("{HEAD}items: []\nitems: []\n"), "items"),
        (&format!("{HEAD}items:\n- a: [b\n"), "line"),
    ] {
        let answer = run(input.as_bytes());
        assert_eq!(answer.status, 1, "{input}");
        assert_eq!(String::from_utf8(answer.stdout).unwrap(), input, "{input}");
        assert!(
            answer.stderr.starts_with("error: kubefoundry-fn: ") && answer.stderr.contains(says),
            "{}",
            answer.stderr
        );
        assert_eq!(answer.stderr.lines().count(), 1, "{}", answer.stderr);
    }
    let answer = run(b"kind: \xff\n");
    assert_eq!((answer.stdout.as_slice(), answer.status), (b"kind: \xff\n".as_slice(), 1));
    assert!(answer.stderr.contains("not UTF-8 (byte 6)"), "{}", answer.stderr);
}

/// No input at all is an error, and still no empty output: kpt deletes a package for that.
#[test]
fn output_is_never_empty() {
    for input in ["", "\n", "  \n# nothing\n", "---\n", "\u{feff}", "--- # nothing\n...\n"] {
        let answer = run(input.as_bytes());
        assert_eq!(answer.status, 1, "{input:?}");
        assert!(answer.stderr.contains("standard input is empty"), "{input:?}: {}", answer.stderr);
        assert_eq!(resource_list(&answer.stdout)["items"], serde_json::json!([]), "{input:?}");
    }
}

/// Results of an earlier function that are not a list, or have odd entries, are no reason to fail or to write them again.
#[test]
fn odd_results_of_others_are_no_error_of_ours() {
    for results in ["nope", "{a: b}", "[]", "[fatal]", "[{severity: fatal}]", "[{message: m}]", "~"] {
        let input = format!("{HEAD}items:\n- {}results: {results}\n", deployment("a", ""));
        let answer = run(input.as_bytes());
        assert_eq!((answer.status, answer.stderr.as_str()), (0, ""), "{results}");
        let list = resource_list(&answer.stdout);
        assert!(list["results"].is_array() && items(&list).len() == 2, "{results}: {list}");
    }
}

/// The version of the list is that of the input, and every known one is read.
#[test]
fn the_version_is_echoed() {
    for version in ["v1", "v1beta1", "v1alpha1"] {
        let input = format!(
            "kind: ResourceList\napiVersion: config.kubernetes.io/{version}\nitems:\n- {}",
            deployment("a", "")
        );
        let list = resource_list(&run(input.as_bytes()).stdout);
        assert_eq!(list["apiVersion"], format!("config.kubernetes.io/{version}"));
        assert_eq!(items(&list).len(), 2);
    }
}

/// A document marker, a byte order mark, Windows line ends and a missing last line break are no reason to fail.
#[test]
fn odd_texts_are_read() {
    let plain = format!("{HEAD}items:\n- {}", deployment("a", ""));
    for input in [
        format!("---\n{plain}"),
        format!("{plain}...\n"),
        format!("\u{feff}{plain}"),
        plain.replace('\n', "\r\n"),
        plain.trim_end().to_owned(),
        format!("# comment\n{plain}# comment\n"),
    ] {
        let answer = run(input.as_bytes());
        assert_eq!((answer.status, answer.stderr.as_str()), (0, ""), "{input:?}");
        let list = resource_list(&answer.stdout);
        assert_eq!(items(&list).len(), 2, "{input:?}");
        assert_eq!(list["results"][0]["severity"], "info", "{input:?}");
        let given = input.trim_end_matches(['.', '\n', '\r']).trim_end_matches("# comment").trim_end();
        assert!(String::from_utf8(answer.stdout).unwrap().starts_with(given), "{input:?}");
    }
}

/// An object beyond our depth limit is a foreign object and is passed through.
#[test]
fn what_is_not_ours_may_be_of_any_depth() {
    let answer = run(format!("{HEAD}items:\n{}", "- ".repeat(400)).as_bytes());
    assert_eq!((answer.status, answer.stderr.as_str()), (0, ""));
    let deep = format!("{}1{}", "[".repeat(230), "]".repeat(230));
    let input = format!(
        "{HEAD}items:\n- {{kind: A, apiVersion: a/v1, metadata: {{name: a}}, spec: {deep}}}\n- {}",
        deployment("a", "")
    );
    let answer = run(input.as_bytes());
    assert_eq!(answer.status, 0, "{}", answer.stderr);
    assert!(String::from_utf8(answer.stdout).unwrap().contains(&deep));
}

/// One mistake for each of many deployments: one line each, and no more than that.
#[test]
fn many_errors_are_many_lines() {
    let broken = |name: usize| format!("- {}", deployment(&format!("m{name}"), "").replace("vllm", "vlm"));
    let input = format!("{HEAD}items:\n{}", (0..200).map(broken).collect::<String>());
    let answer = run(input.as_bytes());
    assert_eq!((answer.status, answer.stderr.lines().count()), (1, 200), "{}", answer.stderr);
    assert!(answer.stderr.lines().all(|line| line.starts_with("error: KF0114 ModelDeployment m")));
}

/// Generates a foreign object of some kind in some style.
fn foreign() -> impl Strategy<Value = String> {
    let comment = prop_oneof![Just(""), Just("# a comment\n"), Just("  # an indented comment\n")];
    let name = "[a-z]{1,8}";
    let value = prop_oneof![
        Just("plain".to_owned()),
        Just("'single # quoted'".to_owned()),
        Just("\"double: \\\" quoted\"".to_owned()),
        Just("yes".to_owned()),
        Just("{a: b, c: [d, 'e']}".to_owned()),
        Just("[\n      1,\n      2 ]".to_owned()),
        Just("|\n      # no comment\n      - no item\n\n      end".to_owned()),
        Just(">-\n      folded\n      text".to_owned()),
        Just("|+\n      kept\n\n".to_owned()),
        Just("!!str 12".to_owned()),
        Just("&x anchored\n    other: *x".to_owned()),
        Just(String::new()),
        Just("first line\n      second line".to_owned()),
        Just("\n    - in a list\n    -   - nested".to_owned()),
    ];
    let style = prop_oneof![Just("- "), Just("-   "), Just("- # in front\n  ")];
    (comment.clone(), style, name, value, comment).prop_map(|(before, style, name, value, after)| {
        let indent = if style == "-   " { "    " } else { "  " };
        let object = format!(
            "apiVersion: v1\n{indent}kind: ConfigMap # kind\n{indent}metadata: {{name: {name}}}\n{indent}data:\n{indent}  key: {value}\n"
        );
        let before = if before.starts_with(' ') { "" } else { before };
        let after = if after.starts_with('#') { "" } else { after };
        format!("{before}{style}{object}{after}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every byte of what is not ours comes back, wherever a ModelDeployment stands among it and whatever else is done;
    /// and a second run changes nothing.
    #[test]
    fn every_foreign_byte_comes_back(
        before in prop::collection::vec(foreign(), 0..4),
        after in prop::collection::vec(foreign(), 0..4),
        prune in any::<bool>(),
    ) {
        let model = format!("- {}", deployment("phi", "    annotations: {config.kubernetes.io/path: a/phi.yaml}\n"));
        let list = format!("{}{model}{}", before.concat(), after.concat());
        let input = format!(
            "{HEAD}functionConfig: {{apiVersion: v1, kind: ConfigMap, data: {{prune: '{prune}', runtimes.dynamo: 1.4.0}}}}\nitems:\n{list}"
        );
        // What no YAML reader takes is not the point here.
        let readable = kubefoundry_yaml::parse(&input, &kubefoundry_yaml::Limits::default());
        prop_assume!(readable.failure.is_none());
        let answer = run(input.as_bytes());
        prop_assert_eq!(answer.status, 0, "{}\n{}", answer.stderr, input);
        let out = String::from_utf8(answer.stdout).unwrap();
        prop_assert!(out.starts_with(input.trim_end_matches('\n')), "{}\n=>\n{}", input, out);
        let again = run(out.as_bytes());
        prop_assert_eq!(again.status, 0);
        prop_assert_eq!(String::from_utf8(again.stdout).unwrap(), out);
    }

    /// Whatever is sent, something comes back, and no panic.
    #[test]
    fn any_text_is_answered(input in "(apiVersion: config\\.kubernetes\\.io/v1\nkind: ResourceList\n)?(items:|functionConfig:|- |  |a: b|\\{|\\}|\\[|\\]|&a|\\*a|\n|kind: ModelDeployment|\"|'|#|\\|){0,30}") {
        let answer = run(input.as_bytes());
        prop_assert!(!answer.stdout.is_empty());
        prop_assert_eq!(answer.status == 0, answer.stderr.is_empty());
    }
}
