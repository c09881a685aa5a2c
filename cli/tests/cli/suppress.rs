//! The annotation `lint-ignore`, which suppresses findings of an object.

use serde_json::Value;

use crate::sandbox::{PINNED, Sandbox, broken, doubtful, model};

/// Adds the annotation for some codes to a model.
fn with_ignored(model: &str, codes: &str) -> String {
    model.replace(
        "  namespace: prod\n",
        &format!("  namespace: prod\n  annotations: {{kubefoundry.ai/lint-ignore: '{codes}'}}\n"),
    )
}

fn sandbox(model: &str) -> Sandbox {
    Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model)
}

/// A suppressed warning is not an error with `--strict` either.
#[test]
fn suppresses_a_warning() {
    let sandbox = sandbox(&with_ignored(&doubtful("a"), "KF0211"));
    let lint = sandbox.run(&["lint", ".", "--strict"]).exits(0);
    assert_eq!(lint.out, "no findings in 1 file (1 suppressed)\n");
    assert_eq!(sandbox.run(&["render", ".", "--strict"]).exits(0).err, "");
}

/// An error describes a manifest that cannot work, so no annotation removes it from a report.
#[test]
fn an_error_cannot_be_suppressed() {
    let sandbox = sandbox(&with_ignored(&broken("a"), "wrong-type"));
    let lint = sandbox.run(&["lint", ".", "-o", "concise"]).exits(1);
    assert!(lint.out.contains("error[KF0112]") && lint.out.contains("warning[KF0128]"), "{}", lint.out);
    let render = sandbox.run(&["render", "."]).exits(1);
    assert!(render.out.is_empty() && render.err.contains("KF0112"), "{}", render.err);
}

/// SARIF includes suppressed findings, so that reviewers see them in code scanning.
#[test]
fn sarif_marks_suppressed_findings() {
    let ran = sandbox(&with_ignored(&doubtful("a"), "KF0211")).run(&["lint", ".", "-o", "sarif"]).exits(0);
    let log: Value = serde_json::from_str(&ran.out).unwrap();
    let result = &log["runs"][0]["results"][0];
    assert_eq!((&result["ruleId"], &result["suppressions"][0]["kind"]), (&"KF0211".into(), &"inSource".into()));
}

/// Only `lint` evaluates all rules, so only `lint` can report an ignored code that does not occur.
#[test]
fn lint_reports_unused_suppressions() {
    let sandbox = sandbox(&with_ignored(&doubtful("a"), "KF0211,KF0308"));
    let lint = sandbox.run(&["lint", ".", "-o", "concise", "--fail-on", "warning"]).exits(1);
    assert!(lint.out.contains("a.yaml:6:45: warning[KF0128]"), "{}", lint.out);
    assert_eq!(lint.out.lines().count(), 1, "{}", lint.out);
    assert_eq!(sandbox.run(&["render", "."]).exits(0).err, "");
}

/// A fix of a warning that the annotation names is not applied; the errors beside it are still fixed.
#[test]
fn fix_skips_suppressed_warnings() {
    let text = with_ignored(&doubtful("a").replace("gpu:", "gpuu:"), "KF0113,KF0211");
    let sandbox = sandbox(&text);
    sandbox.run(&["lint", "--fix", "."]);
    assert_eq!(sandbox.read("a.yaml"), text.replace("gpuu:", "gpu:"));
}

/// Suppressed findings beyond the limit of stored findings are still counted and suppressed.
#[test]
fn counts_suppressed_findings_beyond_the_limit() {
    let overrides = "  provider: {name: dynamo, overrides: {";
    let warnings = |name: usize| {
        let keys: Vec<String> = (0..90).map(|at| format!("zz{at}: 1")).collect();
        let model = model(&format!("m{name}")) + overrides + &keys.join(", ") + "}}\n---\n";
        with_ignored(&model, "override-unknown")
    };
    let lint = sandbox(&(0..120).map(warnings).collect::<String>()).run(&["lint", ".", "--strict"]).exits(0);
    assert_eq!(lint.out, "no findings in 1 file (10800 suppressed)\n");
}
