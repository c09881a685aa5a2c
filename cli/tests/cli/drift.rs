//! `drift`: what is rendered against what is in a cluster.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sandbox::{PINNED, Ran, Sandbox, broken, model};
use crate::status::{beside, cases, said};

/// Runs the command in a case's folder.
fn run(case: &Path, more: &[&str]) -> Ran {
    let mut sandbox = Sandbox::new();
    for file in ["input.yaml", "live.yaml", "kubefoundry.yaml", "crds.yaml"] {
        if let Ok(text) = fs::read(case.join(file)) {
            sandbox = sandbox.with(file, text);
        }
    }
    let crds: &[&str] = if case.join("crds.yaml").exists() { &["--crds", "crds.yaml"] } else { &[] };
    sandbox.run(&[&["drift", "input.yaml", "live.yaml", "--config", "kubefoundry.yaml"], crds, more].concat())
}

#[test]
fn cases_drift_as_recorded() {
    for case in cases("drift") {
        assert!(fs::read_to_string(case.join("input.yaml")).unwrap().starts_with("# "), "{}", case.display());
        let (text, json, diff) = (run(&case, &[]), run(&case, &["--output", "json"]), run(&case, &["--diff"]));
        assert_eq!((text.code, text.code), (json.code, diff.code), "{}", case.display());
        let report: Value = serde_json::from_str(&json.out).unwrap();
        assert_eq!(
            report["drifted"] == true,
            json.code == Some(1) && !report["objects"].as_array().unwrap().is_empty()
        );
        beside(&case, || {
            insta::assert_snapshot!("text", said(&text));
            insta::assert_snapshot!("json", json.out);
            insta::assert_snapshot!("diff", diff.out);
        });
    }
}

/// What is rendered has not drifted from itself: as a file, as a pipe, as JSON.
#[test]
fn what_was_just_applied_has_not_drifted() {
    let sandbox = Sandbox::new().with("models/kubefoundry.yaml", PINNED);
    let sandbox = sandbox.with("models/a.yaml", model("a")).with("models/b.yaml", model("b"));
    let rendered = sandbox.run(&["render", "models"]).exits(0).out;
    let ran = sandbox.pipe(&["drift", "models", "-"], &rendered).exits(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("no drift in 2 objects\n", ""));
    let json = sandbox.run(&["render", "models", "--output", "json"]).exits(0).out;
    assert_eq!(sandbox.pipe(&["drift", "models", "-"], json).exits(0).out, "no drift in 2 objects\n");
    let swapped = sandbox.with("live/all.yaml", &rendered).pipe(&["drift", "-", "live"], model("a")).exits(1);
    assert!(swapped.out.ends_with("\n\ndrift in 1 of 2 objects\n"), "{}", swapped.out);
}

#[test]
fn spec_and_live_are_both_needed() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    assert!(sandbox.run(&["drift", "a.yaml"]).exits(2).err.contains("LIVE"));
    sandbox.run(&["drift", "a.yaml", "a.yaml", "a.yaml"]).exits(2);
    assert!(sandbox.run(&["drift", "a.yaml", "gone.yaml"]).exits(2).err.contains("gone.yaml"));
    sandbox.run(&["drift", "-", "-"]).exits(2);
    // The same file as both: a ModelDeployment is no object that it becomes.
    let ran = sandbox.run(&["drift", "a.yaml", "a.yaml"]).exits(1);
    assert!(
        ran.out.starts_with("DynamoGraphDeployment prod/a is missing: the dump has no DynamoGraphDeployment at all"),
        "{}",
        ran.out
    );
}

/// An error in the input is an error; wrong options are wrong usage.
#[test]
fn what_cannot_be_rendered_is_not_compared() {
    let sandbox = Sandbox::new().with("a.yaml", broken("a")).with("live.yaml", "");
    let ran = sandbox.run(&["drift", "a.yaml", "live.yaml"]).exits(1);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("error[KF0101]"), "{}", ran.err);
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("live.yaml", "");
    sandbox.run(&["drift", "a.yaml", "live.yaml", "--crd-version", "dynamo=nonsense"]).exits(2);
}
