//! `lint --baseline`: findings that a file lists are not reported.

use serde_json::Value;

use crate::sandbox::{PINNED, Sandbox, broken, doubtful, model};

fn sandbox() -> Sandbox {
    Sandbox::new()
        .with("kubefoundry.yaml", PINNED)
        .with("models/a.yaml", broken("a"))
        .with("models/b.yaml", doubtful("b"))
}

/// Known findings are neither reported nor counted; a new one is.
#[test]
fn only_new_findings_are_reported() {
    let sandbox = sandbox();
    let ran = sandbox.run(&["lint", ".", "--write-baseline", "known.json"]).exits(0);
    assert_eq!(ran.err, "wrote 2 findings to known.json\n");
    assert_eq!(ran.out, "no findings in 2 files (2 in the baseline)\n");
    let known = ["lint", ".", "--baseline", "known.json", "--fail-on", "info"];
    let ran = sandbox.run(&known).exits(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("no findings in 3 files (2 in the baseline)\n", ""));
    for format in ["concise", "github", "gitlab", "json", "sarif", "junit"] {
        let ran = sandbox.run(&[&known[..], &["--output", format]].concat()).exits(0);
        assert!(!ran.out.contains("KF0112") && !ran.out.contains("KF0211"), "{format}: {}", ran.out);
    }
    let sandbox = sandbox.with("models/c.yaml", doubtful("c"));
    let ran = sandbox.run(&known).exits(1);
    assert!(ran.out.contains("models/c.yaml") && !ran.out.contains("models/b.yaml"), "{}", ran.out);
    assert!(ran.out.contains("\n1 warning in 4 files (2 in the baseline)\n"), "{}", ran.out);
}

/// The file changes only where findings do, so that its diff can be reviewed.
#[test]
fn the_file_is_sorted_and_has_no_lines() {
    let sandbox = sandbox();
    sandbox.run(&["lint", ".", "--write-baseline", "known.json"]).exits(0);
    let text = sandbox.read("known.json");
    let sandbox = sandbox.with("models/a.yaml", format!("# moved\n{}", broken("a")));
    sandbox
        .run(&["lint", "models", "kubefoundry.yaml", "--config", "kubefoundry.yaml", "--write-baseline", "known.json"])
        .exits(0);
    assert_eq!(sandbox.read("known.json"), text);
    let baseline: Value = serde_json::from_str(&text).unwrap();
    let entry = &baseline["findings"][0];
    assert_eq!(baseline["version"], 1);
    assert_eq!(entry["file"], "models/a.yaml");
    assert_eq!(entry["object"], "ModelDeployment prod/a");
    assert_eq!(entry["code"], "KF0112");
    assert_eq!(entry["path"], "spec.resources.gpu.count");
    assert_eq!(entry["count"], 1);
}

/// Files are named relative to the repository, so neither the working directory nor the place of the file matters.
#[test]
fn the_working_directory_does_not_matter() {
    let sandbox = sandbox().with(".git/HEAD", "").with("elsewhere/keep", "");
    sandbox.run(&["lint", "models", "--write-baseline", "elsewhere/known.json"]).exits(0);
    assert!(sandbox.read("elsewhere/known.json").contains("\"models/a.yaml\""));
    let mut command = sandbox.command(&["lint", ".", "--baseline", "../elsewhere/known.json"]);
    let output = command.current_dir(sandbox.path("models")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// One more finding like a known one is new.
#[test]
fn equal_findings_are_counted() {
    let twice = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: a, namespace: prod}\nspec:\n  \
                 model: {id: org/a}\n  engine: {type: vllm}\n  resources: {gpu: {count: x}}\n";
    let sandbox = Sandbox::new().with("a.yaml", twice);
    sandbox.run(&["lint", "a.yaml", "--write-baseline", "known.json"]).exits(0);
    let sandbox = sandbox.with("a.yaml", format!("{twice}---\n{twice}"));
    let ran = sandbox.run(&["lint", "a.yaml", "--baseline", "known.json", "-o", "concise"]).exits(1);
    assert_eq!(ran.out.matches("KF0112").count(), 1, "{}", ran.out);
}

/// A corrected finding leaves an entry behind, which one note tells. A file that was not checked proves nothing.
#[test]
fn entries_that_match_nothing_are_told() {
    let sandbox = sandbox();
    sandbox.run(&["lint", ".", "--write-baseline", "known.json"]).exits(0);
    let sandbox = sandbox.with("models/a.yaml", model("a"));
    let ran = sandbox.run(&["lint", ".", "--baseline", "known.json"]).exits(0);
    assert!(ran.err.starts_with("kubefoundry: known.json: 1 listed finding no longer occurs;"), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert_eq!(sandbox.run(&["lint", "models/b.yaml", "--baseline", "known.json"]).exits(0).err, "");
    assert_eq!(sandbox.run(&["lint", ".", "--baseline", "known.json", "--quiet"]).exits(0).err, "");
    std::fs::remove_file(sandbox.path("models/a.yaml")).unwrap();
    let ran = sandbox.run(&["lint", "models/b.yaml", "--baseline", "known.json"]).exits(0);
    assert!(ran.err.contains("1 listed finding no longer occurs"), "{}", ran.err);
}

/// A code that is reported once for a run is known wherever it is reported.
#[test]
fn findings_of_the_run_have_no_file() {
    let sandbox = Sandbox::new().with("b.yaml", model("b"));
    sandbox.run(&["lint", ".", "--write-baseline", "known.json"]).exits(0);
    assert!(sandbox.read("known.json").contains("KF0503") && !sandbox.read("known.json").contains("b.yaml"));
    let sandbox = sandbox.with("a.yaml", model("a"));
    sandbox.run(&["lint", ".", "--baseline", "known.json", "--fail-on", "info"]).exits(0);
}

/// What is known is not fixed either.
#[test]
fn known_findings_are_not_fixed() {
    let sandbox = Sandbox::new().with("a.yaml", model("a").replace("count: 1", "count: \"1\""));
    sandbox.run(&["lint", "a.yaml", "--write-baseline", "known.json"]).exits(0);
    let before = sandbox.read("a.yaml");
    sandbox.run(&["lint", "a.yaml", "--baseline", "known.json", "--fix"]).exits(0);
    assert_eq!(sandbox.read("a.yaml"), before);
    sandbox.run(&["lint", "a.yaml", "--fix"]).exits(0);
    assert_ne!(sandbox.read("a.yaml"), before);
}

/// What cannot be a baseline is wrong usage, and nothing is written for an incomplete run.
#[test]
fn rejects_files_that_are_no_baseline() {
    let sandbox = sandbox().with("later.json", "{\"version\": 2, \"findings\": []}").with("other.json", "{\"a\": 1}");
    for (file, expected) in [
        ("gone.json", "gone.json: "),
        ("later.json", "later.json: a baseline of version 2, expected version 1"),
        ("other.json", "other.json: not a baseline, as --write-baseline writes it: "),
    ] {
        let ran = sandbox.run(&["lint", ".", "--baseline", file]).exits(2);
        assert!(ran.err.starts_with(&format!("kubefoundry: {expected}")), "{}", ran.err);
    }
    sandbox.run(&["lint", ".", "--write-baseline", "no/known.json"]).exits(2);
    sandbox.run(&["lint", ".", "--runtime", "dynmo=1.4.0", "--write-baseline", "known.json"]).exits(2);
    assert!(!sandbox.path("known.json").exists());
    let ran = sandbox.run(&["lint", ".", "--fix", "--write-baseline", "known.json"]).exits(2);
    assert!(ran.err.contains("cannot be used with"), "{}", ran.err);
}

/// A pull request must not bring the baseline that hides its own findings.
#[test]
fn options_cannot_name_a_baseline() {
    let sandbox = sandbox();
    sandbox.run(&["lint", ".", "--write-baseline", "known.json"]).exits(0);
    let sandbox = sandbox.with("kubefoundry.yaml", format!("{PINNED}baseline: known.json\n"));
    let ran = sandbox.run(&["lint", "."]).exits(2);
    assert!(ran.out.contains("unknown field \"baseline\""), "{}", ran.out);
}
