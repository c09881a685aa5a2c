//! `status`: cluster snapshots in the states that upstream controllers produce, as a table and as JSON.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};

/// The sorted folders of a group of test cases.
pub(crate) fn cases(group: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(group);
    let mut cases: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert!(cases.len() > 5);
    cases
}

/// Runs assertions with the snapshots in the folder of a case.
pub(crate) fn with_snapshots_in(case: &Path, compare: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(case);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.remove_description();
    settings.bind(compare);
}

/// The output, the standard error and the exit status of a run as one text.
pub(crate) fn run_text(ran: &Ran) -> String {
    let err = if ran.err.is_empty() { String::new() } else { format!("--- standard error\n{}", ran.err) };
    format!("{}{err}--- exit status {}\n", ran.out, ran.code.unwrap())
}

/// Runs `status` on the files of a test case.
fn run(case: &Path, more: &[&str]) -> Ran {
    let words = fs::read_to_string(case.join("args")).unwrap_or_default();
    let sandbox = Sandbox::new().with("dump.yaml", fs::read(case.join("dump.yaml")).unwrap());
    let arguments: Vec<&str> = ["status", "dump.yaml"].into_iter().chain(words.split_whitespace()).collect();
    sandbox.run(&[arguments.as_slice(), more].concat())
}

#[test]
fn cases_match_their_snapshots() {
    for case in cases("status") {
        assert!(fs::read_to_string(case.join("dump.yaml")).unwrap().starts_with("# "), "{}", case.display());
        let (text, json) = (run(&case, &[]), run(&case, &["--output", "json"]));
        assert_eq!(text.code, json.code);
        with_snapshots_in(&case, || {
            insta::assert_snapshot!("text", run_text(&text));
            insta::assert_snapshot!("json", json.out);
        });
    }
}

/// Every state in the schema is the state of some case, and every phase that of some part.
#[test]
fn every_state_has_a_case() {
    let schema: Value = serde_json::from_str(&Sandbox::new().run(&["schema", "status"]).exits(0).out).unwrap();
    let enumerated = |pointer: &str| -> BTreeSet<String> {
        let words = schema.pointer(pointer).and_then(Value::as_array);
        words.unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let (mut states, mut phases) = (BTreeSet::new(), BTreeSet::new());
    for case in cases("status") {
        let json: Value = serde_json::from_str(&run(&case, &["--output", "json"]).out).unwrap();
        for entry in json["statuses"].as_array().unwrap() {
            states.extend(entry["state"].as_str().map(str::to_owned));
            let parts = entry["parts"].as_array().unwrap().iter();
            let providers = parts.filter(|part| part["role"] == "external provider");
            phases.extend(providers.filter_map(|part| part["state"].as_str().map(str::to_owned)));
        }
    }
    assert_eq!(states, enumerated("/properties/statuses/items/properties/state/enum"));
    assert_eq!(phases, ["Failed", "Installing", "Pending", "Ready"].map(str::to_owned).into());
}

/// A snapshot can be split over files and standard input.
#[test]
fn joins_the_parts_of_a_snapshot() {
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
fn notes_an_empty_snapshot() {
    let ran = Sandbox::new().pipe(&["status"], "apiVersion: v1\nitems: []\nkind: List\n").exits(0);
    assert_eq!(
        (ran.out.as_str(), ran.err.as_str()),
        (
            "",
            "The cluster snapshot has no ModelDeployment, LlamaStackDistribution or AsyncActor, and no object that runs one.\n"
        )
    );
}

/// The clock is read only with `--now now`; the report has the time that was used.
#[test]
fn reads_the_clock_only_on_request() {
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
    assert!(ran.err.contains("expected `now` or an RFC 3339 time"), "{}", ran.err);
    Sandbox::new().pipe(&["status", "--stale-after", "5"], object).exits(2);
}

#[test]
fn a_missing_file_is_wrong_usage() {
    assert!(Sandbox::new().run(&["status", "gone.yaml"]).exits(2).err.contains("gone.yaml"));
}
