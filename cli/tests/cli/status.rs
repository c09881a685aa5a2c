//! `status`: dumps as upstream controllers leave them, and the table that people and programs get.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};

/// The folders of a group of cases, sorted.
pub(crate) fn cases(group: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(group);
    let mut cases: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert!(cases.len() > 5);
    cases
}

/// Compares with the snapshots beside a case.
pub(crate) fn beside(case: &Path, compare: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(case);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.remove_description();
    settings.bind(compare);
}

/// What a run said, as a user sees it.
pub(crate) fn said(ran: &Ran) -> String {
    let err = if ran.err.is_empty() { String::new() } else { format!("--- standard error\n{}", ran.err) };
    format!("{}{err}--- exit status {}\n", ran.out, ran.code.unwrap())
}

/// Runs the command in a case's folder.
fn run(case: &Path, more: &[&str]) -> Ran {
    let words = fs::read_to_string(case.join("args")).unwrap_or_default();
    let sandbox = Sandbox::new().with("dump.yaml", fs::read(case.join("dump.yaml")).unwrap());
    let arguments: Vec<&str> = ["status", "dump.yaml"].into_iter().chain(words.split_whitespace()).collect();
    sandbox.run(&[arguments.as_slice(), more].concat())
}

#[test]
fn cases_are_told_as_recorded() {
    for case in cases("status") {
        assert!(fs::read_to_string(case.join("dump.yaml")).unwrap().starts_with("# "), "{}", case.display());
        let (text, json) = (run(&case, &[]), run(&case, &["--output", "json"]));
        assert_eq!(text.code, json.code);
        beside(&case, || {
            insta::assert_snapshot!("text", said(&text));
            insta::assert_snapshot!("json", json.out);
        });
    }
}

/// A dump in parts is the dump.
#[test]
fn files_and_standard_input_are_one_dump() {
    let object = |kind: &str, name: &str, more: &str| {
        format!("{{\"apiVersion\": \"{kind}\", \"metadata\": {{\"name\": \"{name}\", \"namespace\": \"ml\"}}{more}}}")
    };
    let deployment = object("kubefoundry.ai/v1alpha1\", \"kind\": \"ModelDeployment", "m", "");
    let workspace = object("kaito.sh/v1beta1\", \"kind\": \"Workspace", "m", ", \"status\": {\"state\": \"Ready\"}");
    let sandbox = Sandbox::new().with("dump/a.json", &deployment).with("dump/b.yaml", &workspace);
    let whole = sandbox.run(&["status", "dump"]).exits(0);
    assert!(whole.out.contains("ml         m     kaito     Workspace  Running  1/1    m:80"), "{}", whole.out);
    assert_eq!(sandbox.pipe(&["status", "dump/a.json", "-"], &workspace).exits(0).out, whole.out);
    let list = format!("{{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{deployment}, {workspace}]}}");
    assert_eq!(sandbox.pipe(&["status"], &list).exits(0).out, whole.out);
}

#[test]
fn an_empty_dump_is_said() {
    let ran = Sandbox::new().pipe(&["status"], "apiVersion: v1\nitems: []\nkind: List\n").exits(0);
    assert_eq!(
        (ran.out.as_str(), ran.err.as_str()),
        ("", "The dump has no ModelDeployment, and no object that runs one.\n")
    );
}

/// The clock is read when `now` says so, and the answer tells what time it was.
#[test]
fn now_is_the_clock_only_when_asked() {
    let object = "{apiVersion: kaito.sh/v1beta1, kind: Workspace, metadata: {name: m, creationTimestamp: \"2020-01-01T00:00:00Z\"}}";
    let json = |arguments: &[&str]| -> Value {
        let ran = Sandbox::new().pipe(&[&["status", "--output", "json"], arguments].concat(), object).exits(0);
        serde_json::from_str(&ran.out).unwrap()
    };
    let without = json(&[]);
    assert!(without.get("now").is_none() && without["statuses"][0].get("stale").is_none());
    let clock = json(&["--now", "now"]);
    assert!(clock["now"].as_str().unwrap() > "2026" && clock["statuses"][0]["stale"] == true);
    let patient = json(&["--now", "2020-01-01T00:10:00Z", "--stale-after", "600"]);
    assert_eq!((&patient["statuses"][0]["stale"], &patient["staleAfterSeconds"]), (&false.into(), &600.into()));
    let ran = Sandbox::new().pipe(&["status", "--now", "today"], object).exits(2);
    assert!(ran.err.contains("expected `now`, or a time as RFC 3339"), "{}", ran.err);
    Sandbox::new().pipe(&["status", "--stale-after", "5"], object).exits(2);
}

#[test]
fn a_file_that_is_not_there_is_wrong_usage() {
    assert!(Sandbox::new().run(&["status", "gone.yaml"]).exits(2).err.contains("gone.yaml"));
}
