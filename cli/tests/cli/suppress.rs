//! The annotation `lint-ignore`: what an object says to ignore.

use serde_json::Value;

use crate::sandbox::{PINNED, Sandbox, broken, doubtful, model};

/// A model that says to ignore some codes.
fn ignoring(model: &str, codes: &str) -> String {
    model.replace(
        "  namespace: prod\n",
        &format!("  namespace: prod\n  annotations: {{kubefoundry.ai/lint-ignore: '{codes}'}}\n"),
    )
}

fn sandbox(model: &str) -> Sandbox {
    Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model)
}

/// Not by `strict` either: somebody looked at it and decided.
#[test]
fn a_warning_is_said_nowhere() {
    let sandbox = sandbox(&ignoring(&doubtful("a"), "KF0210"));
    let lint = sandbox.run(&["lint", ".", "--strict"]).exits(0);
    assert_eq!(lint.out, "no findings in 1 file (1 suppressed)\n");
    assert_eq!(sandbox.run(&["render", ".", "--strict"]).exits(0).err, "");
}

/// Lint passes what a team knows to be broken; nothing comes out of it all the same.
#[test]
fn an_error_passes_lint_and_is_not_rendered() {
    let sandbox = sandbox(&ignoring(&broken("a"), "wrong-type"));
    assert_eq!(sandbox.run(&["lint", "."]).exits(0).out, "no findings in 1 file (1 suppressed)\n");
    let render = sandbox.run(&["render", "."]).exits(1);
    assert!(render.out.is_empty() && render.err.contains("KF0101"), "{}", render.err);
}

/// Code scanning is told of it, so that a reviewer sees what was dismissed.
#[test]
fn sarif_marks_what_is_suppressed() {
    let ran = sandbox(&ignoring(&doubtful("a"), "KF0210")).run(&["lint", ".", "-o", "sarif"]).exits(0);
    let log: Value = serde_json::from_str(&ran.out).unwrap();
    let result = &log["runs"][0]["results"][0];
    assert_eq!((&result["ruleId"], &result["suppressions"][0]["kind"]), (&"KF0210".into(), &"inSource".into()));
}

/// Where rules are not all tried, what was not found may be there: `render` does not complain.
#[test]
fn only_lint_says_what_is_ignored_in_vain() {
    let sandbox = sandbox(&ignoring(&doubtful("a"), "KF0210,KF0308"));
    let lint = sandbox.run(&["lint", ".", "-o", "concise", "--fail-on", "warning"]).exits(1);
    assert!(lint.out.contains("a.yaml:6:45: warning[KF0010]"), "{}", lint.out);
    assert_eq!(lint.out.lines().count(), 1, "{}", lint.out);
    assert_eq!(sandbox.run(&["render", "."]).exits(0).err, "");
}

/// What is left alone by the one who wrote it is left alone by machines.
#[test]
fn fix_leaves_it_alone() {
    let text = ignoring(&broken("a").replace("two", "1").replace("gpu:", "gpuu:"), "KF0102,KF0201");
    let sandbox = sandbox(&text);
    let ran = sandbox.run(&["lint", "--fix", "."]).exits(0);
    assert_eq!((ran.err.as_str(), sandbox.read("a.yaml")), ("", text));
}

/// A model with as many findings as a document has, all of one code, which it says to ignore.
fn many(name: &str, line: &str, code: &str) -> String {
    let lines: String = (0..90).map(|at| line.replace('N', &at.to_string())).collect();
    ignoring(&format!("{}{lines}---\n", model(name)), code)
}

/// Past the findings that are kept they are counted, too, and still ignored; and what is not is still said.
#[test]
fn what_is_ignored_is_counted_past_the_limit() {
    let overrides = "  provider: {name: dynamo, overrides: {";
    let warnings = |name: usize| {
        let keys: Vec<String> = (0..90).map(|at| format!("zz{at}: 1")).collect();
        let model = model(&format!("m{name}")) + overrides + &keys.join(", ") + "}}\n---\n";
        ignoring(&model, "unknown-override")
    };
    let lint = sandbox(&(0..120).map(warnings).collect::<String>()).run(&["lint", ".", "--strict"]).exits(0);
    assert_eq!(lint.out, "no findings in 1 file (10800 suppressed)\n");
    let errors: String = (0..120).map(|name| many(&format!("m{name}"), "  zzN: 1\n", "KF0102")).collect();
    let sandbox = sandbox(&errors);
    assert_eq!(sandbox.run(&["lint", "."]).exits(0).out, "no findings in 1 file (10800 suppressed)\n");
    let render = sandbox.run(&["render", "."]).exits(1);
    assert!(
        render.out.is_empty() && render.err.contains("800 more findings that annotations suppress"),
        "{}",
        render.err
    );
}
