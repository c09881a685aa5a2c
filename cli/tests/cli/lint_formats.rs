//! `lint --output`: what code hosts and CI systems read. That they accept it is tested in CI, with their schemas.

use serde_json::Value;

use crate::sandbox::{PINNED, Ran, SERVICE, Sandbox, broken, doubtful, model};

/// Two files with a finding each, one without.
fn three() -> Sandbox {
    Sandbox::new()
        .with("kubefoundry.yaml", PINNED)
        .with("models/a b,c:d.yaml", broken("a"))
        .with("models/doubtful.yaml", doubtful("doubtful"))
        .with("models/good.yaml", model("good"))
        .with("models/service.yaml", SERVICE)
}

fn lint(sandbox: &Sandbox, format: &str) -> Ran {
    sandbox.run(&["lint", ".", "--output", format]).exits(1)
}

/// Commas and colons end a property, so they are escaped there; the message is free text.
#[test]
fn github_points_at_the_line() {
    let ran = lint(&three(), "github");
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.out);
    let (start, rest) = lines[0].split_once("::").and_then(|(_, rest)| rest.split_once("::")).unwrap();
    assert_eq!(
        start,
        "error file=models/a b%2Cc%3Ad.yaml,line=13,col=14,endLine=13,endColumn=17,title=KF0112 wrong-type"
    );
    assert!(rest.starts_with("spec.resources.gpu.count is a string (\"two\"), expected an integer"), "{rest}");
    assert!(lines[1].starts_with("::warning file=models/doubtful.yaml,line=15,col=5,"), "{}", lines[1]);
}

/// A job that runs in a folder of the repository still names files from its root.
#[test]
fn github_counts_from_the_workspace() {
    let sandbox = three();
    let root = sandbox.path("").canonicalize().unwrap();
    let mut command = sandbox.command(&["lint", "doubtful.yaml", "-o", "github", "--fail-on", "warning"]);
    let output = command.current_dir(root.join("models")).env("GITHUB_WORKSPACE", &root).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("::warning file=models/doubtful.yaml,"), "{out}");
}

/// GitLab compares fingerprints between branches: they may not change when lines move.
#[test]
fn gitlab_fingerprints_survive_line_moves() {
    let report = |sandbox: &Sandbox| -> Vec<Value> { serde_json::from_str(&lint(sandbox, "gitlab").out).unwrap() };
    let before = report(&three());
    let moved = three().with("models/a b,c:d.yaml", format!("# a new first line\n\n{}", broken("a")));
    let after = report(&moved);
    assert_eq!(before[0]["location"]["path"], "models/a b,c:d.yaml");
    assert_eq!((&before[0]["severity"], &before[1]["severity"]), (&"major".into(), &"minor".into()));
    assert_eq!(before[0]["location"]["positions"]["begin"]["line"], 13);
    assert_eq!(after[0]["location"]["positions"]["begin"]["line"], 15);
    assert_eq!(before[0]["fingerprint"], after[0]["fingerprint"]);
    assert_ne!(before[0]["fingerprint"], before[1]["fingerprint"]);
}

/// The same mistake twice is two findings with two names.
#[test]
fn fingerprints_are_unique() {
    let volumes = "    storage: {volumes: [{name: X}, {name: X}]}\n  engine:";
    let sandbox = Sandbox::new().with("a.yaml", model("a").replace("  engine:", volumes));
    let ran = sandbox.run(&["lint", "a.yaml", "-o", "gitlab"]);
    let report: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
    let mut names: Vec<&str> = report.iter().map(|issue| issue["fingerprint"].as_str().unwrap()).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(all >= 2 && names.len() == all, "{report:#?}");
}

/// Exact columns, names as URIs relative to the checkout, the fix as a replacement.
#[test]
fn sarif_has_places_fixes_and_rules() {
    // Columns count characters, not bytes.
    let misspelt = model("m").replace("  engine:\n    type: vllm", "  engine: {\"\u{e9}\": 1, typ: vllm}");
    let sandbox = Sandbox::new().with("dir/m é.yaml", misspelt);
    let ran = lint(&sandbox, "sarif");
    let log: Value = serde_json::from_str(&ran.out).unwrap();
    let run = &log["runs"][0];
    assert_eq!((&log["version"], &run["columnKind"]), (&"2.1.0".into(), &"unicodeCodePoints".into()));
    let results = run["results"].as_array().unwrap();
    let renamed = results.iter().find(|result| result["fixes"][0]["description"]["text"] == "rename it to type");
    let renamed = renamed.unwrap_or_else(|| panic!("{}", ran.out));
    let place = &renamed["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "dir/m%20%C3%A9.yaml");
    assert_eq!(place["artifactLocation"]["uriBaseId"], "%SRCROOT%");
    assert_eq!((&place["region"]["startLine"], &place["region"]["startColumn"]), (&9.into(), &20.into()));
    assert_eq!(place["region"]["endColumn"], 23);
    let change = &renamed["fixes"][0]["artifactChanges"][0]["replacements"][0];
    assert_eq!((&change["deletedRegion"], &change["insertedContent"]["text"]), (&place["region"], &"type".into()));
    let rule = &run["tool"]["driver"]["rules"][usize::try_from(renamed["ruleIndex"].as_u64().unwrap()).unwrap()];
    assert_eq!((&rule["id"], &renamed["ruleId"]), (&"KF0113".into(), &"KF0113".into()));
    let page = rule["help"]["markdown"].as_str().unwrap();
    assert!(page.starts_with("# KF0113: unknown-field\n") && !page.contains(".md)"), "{page}");
}

/// Code scanning closes alerts when a run without results comes in; a run without a log would leave them open.
#[test]
fn a_clean_run_is_a_report_too() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("good.yaml", model("good"));
    let out = |format: &str| sandbox.run(&["lint", ".", "-o", format]).exits(0).out;
    let sarif: Value = serde_json::from_str(&out("sarif")).unwrap();
    assert_eq!(sarif["runs"][0]["results"], serde_json::json!([]));
    assert_eq!(out("gitlab"), "[]\n");
    assert_eq!(out("github"), "");
    assert!(out("junit").contains("<testcase classname=\"good.yaml\" name=\"ModelDeployment prod/good\"/>"));
}

/// One case an object, and a warning is not a failure unless the team says so.
#[test]
fn junit_has_a_case_for_each_object() {
    let ran = lint(&three(), "junit");
    assert!(
        ran.out.contains("<testsuites name=\"kubefoundry\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"0\">"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("<failure type=\"KF0112\" message=\"spec.resources.gpu.count is a string (&quot;two&quot;)")
    );
    assert!(ran.out.contains("<system-out>models/doubtful.yaml:15:5: warning[KF0211]"), "{}", ran.out);
    let strict = three().run(&["lint", ".", "--output", "junit", "--fail-on", "warning"]).exits(1);
    assert!(strict.out.contains("failures=\"2\""), "{}", strict.out);
}

/// Findings from standard input belong to no file, so code hosts do not get them.
#[test]
fn standard_input_is_no_file() {
    let sandbox = Sandbox::new();
    let out = |format: &str| sandbox.pipe(&["lint", "-", "-o", format], broken("a")).exits(1).out;
    assert!(out("github").starts_with("::error title=KF0112 wrong-type::"));
    assert!(!out("sarif").contains("stdin"));
    assert!(out("gitlab").contains("\"path\": \".\""));
}
