//! `--quiet`, `--select`, `--ignore` and `--min-severity`: which findings are reported.

use crate::sandbox::{Sandbox, broken, doubtful, model};

/// One error, one warning and one info.
fn sandbox() -> Sandbox {
    Sandbox::new().with("a.yaml", broken("a")).with("b.yaml", doubtful("b"))
}

/// Returns the codes of a concise report.
fn codes(report: &str) -> Vec<&str> {
    report.lines().filter_map(|line| line.split(['[', ']']).nth(1)).collect()
}

#[test]
fn codes_and_names_are_selected_and_ignored() {
    let sandbox = sandbox();
    for (arguments, expected) in [
        (&[][..], &["KF0112", "KF0503", "KF0211"][..]),
        (&["--select", "KF0211"], &["KF0112", "KF0211"]),
        (&["--select", "scaling-ignored"], &["KF0112", "KF0211"]),
        (&["--select", "kf0112"], &["KF0112"]),
        (&["--ignore", "KF0211"], &["KF0112", "KF0503"]),
        (&["--ignore", "KF0211,unpinned-runtime"], &["KF0112"]),
        (&["--ignore", "KF0211", "--ignore", "KF0503"], &["KF0112"]),
        (&["--select", "KF0211,KF0503", "--ignore", "KF0503"], &["KF0112", "KF0211"]),
        (&["--min-severity", "warning"], &["KF0112", "KF0211"]),
        (&["--min-severity", "error"], &["KF0112"]),
        (&["--quiet"], &["KF0112"]),
    ] {
        let ran = sandbox.run(&[&["lint", ".", "-o", "concise"], arguments].concat()).exits(1);
        assert_eq!(codes(&ran.out), expected, "{arguments:?}");
        let ran = sandbox.run(&[&["render", ".", "--diagnostics", "concise"], arguments].concat()).exits(1);
        assert_eq!(codes(&ran.err), expected, "{arguments:?}");
    }
}

/// `--strict` does not bring back what is ignored, as with the option `severities`.
#[test]
fn an_ignored_warning_is_no_error() {
    let sandbox = Sandbox::new().with("b.yaml", doubtful("b"));
    sandbox.run(&["lint", "b.yaml", "--strict"]).exits(1);
    sandbox.run(&["lint", "b.yaml", "--strict", "--ignore", "KF0211"]).exits(0);
    let ran = sandbox.run(&["render", "b.yaml", "--strict", "--ignore", "KF0211"]).exits(0);
    assert!(!ran.out.is_empty());
}

/// What the exit status depends on is never hidden.
#[test]
fn findings_that_fail_the_run_are_not_hidden() {
    let sandbox = Sandbox::new().with("b.yaml", doubtful("b"));
    for (hide, fail_on, expected) in [
        (&["-q"][..], "error", &[][..]),
        (&["-q"], "warning", &["KF0211"]),
        (&["-q"], "info", &["KF0503", "KF0211"]),
        (&["--min-severity", "error"], "warning", &["KF0211"]),
    ] {
        let arguments = [&["lint", "b.yaml", "-o", "concise", "--fail-on", fail_on], hide].concat();
        let ran = sandbox.run(&arguments);
        assert_eq!(ran.code, Some(i32::from(!expected.is_empty())), "{arguments:?}");
        assert_eq!(codes(&ran.out), expected, "{arguments:?}");
    }
}

/// Quiet is silent about a run without errors, and keeps the reason of each failure.
#[test]
fn quiet_prints_only_errors() {
    let sandbox = sandbox().with("c.yaml", model("c"));
    let ran = sandbox.run(&["lint", "b.yaml", "c.yaml", "--quiet"]).exits(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    let ran = sandbox.run(&["render", "b.yaml", "c.yaml", "--quiet"]).exits(0);
    assert!(!ran.out.is_empty() && ran.err.is_empty(), "{}", ran.err);
    let ran = sandbox.run(&["lint", ".", "--quiet"]).exits(1);
    assert!(ran.out.starts_with("error[KF0112]") && !ran.out.contains("in 3 files"), "{}", ran.out);
    let sandbox = sandbox.with("empty/readme.txt", "");
    assert_eq!(sandbox.run(&["lint", "empty", "-q"]).exits(0).err, "");
    assert!(sandbox.run(&["lint", "nope.yaml", "-q"]).exits(2).err.contains("nope.yaml"));
}

/// The summary tells how many findings are not reported.
#[test]
fn the_summary_counts_less_severe_findings() {
    let out = sandbox().run(&["lint", ".", "--min-severity", "error"]).exits(1).out;
    assert!(out.contains("\n1 error in 2 files (2 less severe)\n"), "{out}");
}

/// An info fails a run only if that is asked for.
#[test]
fn infos_can_fail_a_run() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    sandbox.run(&["lint", "a.yaml", "--fail-on", "info"]).exits(1);
    let junit = sandbox.run(&["lint", "a.yaml", "--fail-on", "info", "-o", "junit"]).exits(1).out;
    assert!(junit.contains("failures=\"1\""), "{junit}");
    sandbox.run(&["lint", "a.yaml", "--fail-on", "info", "--ignore", "KF0503"]).exits(0);
}

/// A code that no finding can have is a mistake, and errors cannot be ignored, as in the option `severities`.
#[test]
fn rejects_unknown_codes_and_errors() {
    let sandbox = sandbox();
    for (arguments, expected) in [
        (["--ignore", "unpined-runtime"], "did you mean \"unpinned-runtime\"?"),
        (["--select", "KF0211,KF9999"], "invalid value 'KF9999' for '--select <CODE>': there is no such diagnostic"),
        (["--ignore", "KF0112"], "KF0112 (wrong-type) is an error; only warnings and infos can be ignored"),
    ] {
        let ran = sandbox.run(&[&["lint", "."], &arguments[..]].concat()).exits(2);
        assert!(ran.err.contains(expected), "{arguments:?}: {}", ran.err);
    }
}

/// What is not reported is not fixed.
#[test]
fn ignored_findings_are_not_fixed() {
    let text = model("a").replace("count: 1", "count: \"1\"");
    let sandbox = Sandbox::new().with("a.yaml", &text);
    let ran = sandbox.run(&["lint", "a.yaml", "--fix", "-q"]).exits(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    assert_ne!(sandbox.read("a.yaml"), text);
}

/// An annotation that ignores a code stays valid if a flag ignores the code, too.
#[test]
fn flags_and_annotations_agree() {
    let annotated = doubtful("b")
        .replace("  namespace: prod\n", "  namespace: prod\n  annotations: {kubefoundry.ai/lint-ignore: KF0211}\n");
    let sandbox = Sandbox::new().with("b.yaml", annotated);
    let ran = sandbox.run(&["lint", "b.yaml", "--ignore", "KF0211", "-o", "concise"]).exits(0);
    assert_eq!(codes(&ran.out), ["KF0503"], "{}", ran.out);
}
