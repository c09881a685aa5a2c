//! `lint`: the report is the output, and the exit status is for CI.

use serde_json::Value;

use crate::sandbox::{PINNED, SERVICE, Sandbox, broken, doubtful, model};

/// The report is what lint prints: on standard output, so that it can be piped and kept.
#[test]
fn the_report_is_on_standard_output() {
    let sandbox = Sandbox::new().with("a.yaml", broken("a"));
    let ran = sandbox.run(&["lint", "a.yaml"]).exits(1);
    assert!(ran.out.contains("error[KF0112]") && ran.out.contains("\n1 error in 1 file\n"), "{}", ran.out);
    assert_eq!(ran.err, "");
}

/// A clean run says how much was looked at: 0 files is another result than 40.
#[test]
fn a_clean_run_says_so() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a")).with("b.yaml", SERVICE);
    assert_eq!(sandbox.run(&["lint", "."]).exits(0).out, "no findings in 2 files\n");
}

/// A pull request that touches no model is fine.
#[test]
fn an_input_without_models_is_clean() {
    let sandbox = Sandbox::new().with("b.yaml", SERVICE);
    assert_eq!(sandbox.run(&["lint", "b.yaml"]).exits(0).out, "no findings in 1 file\n");
}

/// A repository of other people's files costs next to nothing and is not a finding: charts, broken YAML, other tools'
/// formats, a word in a comment, kinds that sound like ours.
#[test]
fn a_repository_without_models_is_clean() {
    let mut sandbox = Sandbox::new();
    for number in 0..300 {
        sandbox = sandbox.with(&format!("team-{}/app-{number}.yaml", number % 7), SERVICE);
    }
    let sandbox = sandbox
        .with("chart/templates/x.yaml", "{{ if .Values.on }}\nkind: {{ .Values.kind }}\n")
        .with("bad.yaml", ": : [")
        .with("twice.yaml", "a: 1\na: 2\n")
        .with("bytes.yaml", b"kind: \xff\n")
        .with("kustomization.yaml", "resources: [team-0/app-0.yaml]\npatches: [{patch: 'kind: Service'}]\n")
        .with("tsconfig.json", "{\"a\": 1, // JSON with comments\n}")
        .with("escaped.yaml", "kind: \"Model\\x44eployments\"\n")
        .with("empty.yaml", "");
    assert_eq!(sandbox.run(&["lint", "."]).exits(0).out, "no findings in 308 files\n");
    let files: Vec<String> = (0..300).map(|number| format!("team-{}/app-{number}.yaml", number % 7)).collect();
    let named: Vec<&str> = std::iter::once("lint").chain(files.iter().map(String::as_str)).collect();
    assert_eq!(sandbox.run(&named).exits(0).out, "no findings in 300 files\n");
}

/// The level is the team's choice; information never fails a run.
#[test]
fn fail_on_sets_the_level() {
    let sandbox = Sandbox::new()
        .with("info.yaml", model("info"))
        .with("warning.yaml", doubtful("warning"))
        .with("error.yaml", broken("error"));
    for (file, level, code) in [
        ("info.yaml", "warning", 0),
        ("warning.yaml", "error", 0),
        ("warning.yaml", "warning", 1),
        ("warning.yaml", "never", 0),
        ("error.yaml", "error", 1),
        ("error.yaml", "warning", 1),
        ("error.yaml", "never", 0),
    ] {
        let ran = sandbox.run(&["lint", file, "--fail-on", level]);
        assert_eq!(ran.code, Some(code), "{file} {level}: {}", ran.out);
    }
}

/// A file that was not read was not judged, whatever the level.
#[test]
fn never_does_not_hide_failures() {
    Sandbox::new().run(&["lint", "nope.yaml", "--fail-on", "never"]).exits(2);
}

/// Strict and lint work together.
#[test]
fn strict_fails_on_warnings() {
    let sandbox = Sandbox::new().with("a.yaml", doubtful("a"));
    sandbox.run(&["lint", "a.yaml", "--strict"]).exits(1);
}

/// Only lines with a place: what a problem matcher or an editor reads.
#[test]
fn concise_is_lines_only() {
    let sandbox = Sandbox::new().with("a.yaml", broken("a"));
    let ran = sandbox.run(&["lint", "a.yaml", "--output", "concise"]).exits(1);
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
    assert!(ran.out.starts_with("a.yaml:13:14: error[KF0112] "), "{}", ran.out);
    let clean = Sandbox::new().with("b.yaml", SERVICE);
    assert_eq!(clean.run(&["lint", "b.yaml", "-o", "concise"]).exits(0).out, "");
}

/// The stable shape: one object a finding, with everything that a dashboard sorts by.
#[test]
fn json_is_one_versioned_document() {
    let sandbox = Sandbox::new().with("a.yaml", broken("a"));
    let ran = sandbox.run(&["lint", "a.yaml", "-o", "json"]).exits(1);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["version"], 1);
    let finding = &report["diagnostics"][0];
    assert_eq!((&finding["file"], &finding["line"], &finding["column"]), (&"a.yaml".into(), &13.into(), &14.into()));
    assert_eq!((&finding["severity"], &finding["code"]), (&"error".into(), &"KF0112".into()));
    assert_eq!(finding["object"]["name"], "a");
}

/// Rules are tried even where another provider was chosen by name: a mistake in one shows before it matters, and is an
/// error where `render` has one.
#[test]
fn every_rule_is_tried() {
    let rule = "  selectionRules:\n  - condition: spec.engine.args['none'] == 'x'\n    priority: 1\n";
    let acme = format!("{}{rule}", crate::render::ACME);
    let chosen = Sandbox::new().with("acme.yaml", &acme).with("a.yaml", model("a") + "  provider: {name: dynamo}\n");
    assert_eq!(chosen.run(&["render", "."]).exits(0).kinds(), ["DynamoGraphDeployment"]);
    assert!(chosen.run(&["lint", "."]).exits(0).out.contains("warning[KF0416]"));
    let selected = Sandbox::new().with("acme.yaml", &acme).with("a.yaml", model("a"));
    assert!(selected.run(&["render", "."]).exits(1).err.contains("error[KF0408]"));
    assert!(selected.run(&["lint", "."]).exits(1).out.contains("error[KF0408]"));
}

/// A KAITO preset with memory, which the instance type decides: one info.
fn preset(name: &str) -> String {
    format!(
        "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata:\n  name: {name}\nspec:\n  \
         model: {{id: microsoft/Phi-4-mini-instruct}}\n  \
         provider: {{name: kaito, overrides: {{instanceType: Standard_NC24ads_A100_v4}}}}\n  \
         engine: {{type: vllm}}\n  resources: {{gpu: {{count: 1}}, memory: 32Gi}}\n"
    )
}

/// On a terminal the end of a report is seen, so errors come last, and many infos of one code do not bury them. Reports
/// for tools list every finding in the order of the input.
#[test]
fn text_shows_errors_last_and_many_infos_of_a_code_once() {
    let mut sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED);
    sandbox = sandbox.with("0.yaml", model("broken").replace("count: 1", "count: \"1\""));
    for number in 1..=4 {
        sandbox = sandbox.with(&format!("{number}.yaml"), preset(&format!("m{number}")));
    }
    let text = sandbox.run(&["lint", "."]).exits(1).out;
    assert_eq!(text.matches("info[KF1007]").count(), 1, "{text}");
    let note = "  = note: 3 more infos with the code KF1007 in 3 files; `--output concise` lists them\n";
    let end = "1 error, 4 infos in 5 files\n[*] 1 fixable with the `--fix` option.\n\
               For more about a finding, try `kubefoundry explain KF0112`.\n";
    let (info, error) = (text.find(note).unwrap(), text.find("error[KF0112]: [*] spec.resources").unwrap());
    assert!(info < error && text.ends_with(end), "{text}");
    let noted = sandbox.run(&["render", "."]).exits(1).err;
    assert!(noted.contains("in 3 files; `--diagnostics concise` lists them\n"), "{noted}");
    assert!(noted.contains("\n[*] 1 fixable with `kubefoundry lint --fix`.\n"), "{noted}");
    let concise = sandbox.run(&["lint", ".", "-o", "concise"]).exits(1).out;
    let codes: Vec<&str> = concise.lines().map(|line| line.split(['[', ']']).nth(1).unwrap()).collect();
    assert_eq!(codes, ["KF0112", "KF1007", "KF1007", "KF1007", "KF1007"], "{concise}");
}

/// Two infos of a code are shown: a note about one of them would save nothing.
#[test]
fn text_shows_two_infos_of_a_code() {
    let sandbox = Sandbox::new().with("a.yaml", preset("a")).with("b.yaml", preset("b"));
    let text = sandbox.run(&["lint", "."]).exits(0).out;
    assert_eq!((text.matches("info[KF1007]").count(), text.matches("more infos").count()), (2, 0), "{text}");
}

/// A fix changes a text that was read, and the options on the command line are not such a text.
#[test]
fn options_on_the_command_line_are_not_fixable() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    let ran = sandbox.run(&["lint", "a.yaml", "--runtime", "dynmo=1.4.0"]);
    assert!(!ran.out.contains("fixable"), "{}", ran.out);
}
