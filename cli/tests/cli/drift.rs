//! `drift`: compares rendered objects with a cluster snapshot.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sandbox::{PINNED, Ran, Sandbox, broken, model};
use crate::status::{cases, run_text, with_snapshots_in};

/// Runs `drift` on the files of a test case.
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
fn cases_match_their_snapshots() {
    for case in cases("drift") {
        assert!(fs::read_to_string(case.join("input.yaml")).unwrap().starts_with("# "), "{}", case.display());
        let (text, json, diff) = (run(&case, &[]), run(&case, &["--output", "json"]), run(&case, &["--diff"]));
        assert_eq!((text.code, text.code), (json.code, diff.code), "{}", case.display());
        let report: Value = serde_json::from_str(&json.out).unwrap();
        assert_eq!(
            report["drifted"] == true,
            json.code == Some(1) && !report["objects"].as_array().unwrap().is_empty()
        );
        with_snapshots_in(&case, || {
            insta::assert_snapshot!("text", run_text(&text));
            insta::assert_snapshot!("json", json.out);
            insta::assert_snapshot!("diff", diff.out);
        });
    }
}

/// Rendered objects have no drift from themselves, in YAML or JSON, from a file or a pipe.
#[test]
fn rendered_objects_have_not_drifted() {
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
fn needs_a_spec_and_a_snapshot() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    assert!(sandbox.run(&["drift", "a.yaml"]).exits(2).err.contains("SNAPSHOT"));
    sandbox.run(&["drift", "a.yaml", "a.yaml", "a.yaml"]).exits(2);
    assert!(sandbox.run(&["drift", "a.yaml", "gone.yaml"]).exits(2).err.contains("gone.yaml"));
    sandbox.run(&["drift", "-", "-"]).exits(2);
    // The ModelDeployment itself does not count as the rendered object.
    let ran = sandbox.run(&["drift", "a.yaml", "a.yaml"]).exits(1);
    assert!(
        ran.out
            .starts_with("DynamoGraphDeployment prod/a is missing: the snapshot has no DynamoGraphDeployment at all"),
        "{}",
        ran.out
    );
}

/// Without a comparison, the status is not that of drift.
#[test]
fn does_not_compare_input_with_errors() {
    let sandbox = Sandbox::new().with("a.yaml", broken("a")).with("live.yaml", "");
    let ran = sandbox.run(&["drift", "a.yaml", "live.yaml"]).exits(2);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("error[KF0112]"), "{}", ran.err);
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("live.yaml", "");
    sandbox.run(&["drift", "a.yaml", "live.yaml", "--crd-version", "dynamo=nonsense"]).exits(2);
}
