//! Too much of everything.

use super::bounded::{HEADER, assert_rejected, repeat_with, run};
use crate::sandbox::{Sandbox, broken, model};

#[test]
fn alias_bombs() {
    let mut nodes = format!("{HEADER}  a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    nodes += &repeat_with(9, |level| {
        format!("  a{}: &a{} [{}]\n", level + 1, level + 1, vec![format!("*a{level}"); 9].join(", "))
    });
    assert_rejected("a.yaml", nodes, &["a.yaml:9:37: error[KF0104]"]);
    let bytes = format!("{HEADER}  a: &a '{}'\n  b:\n{}", "x".repeat(100_000), "  - *a\n".repeat(40_000));
    assert_rejected("a.yaml", bytes, &["a.yaml:48:5: error[KF0104]"]);
}

#[test]
fn nesting() {
    let deep = 100_000;
    for nested in ["[".repeat(deep), "{a: ".repeat(deep), "[".repeat(deep) + &"]".repeat(deep), "- ".repeat(deep) + "x"]
    {
        let finding = "error[KF0104]";
        let text = format!("{HEADER}  {nested}\n");
        let sandbox = Sandbox::new().with("a.yaml", &text);
        let ran = run(&sandbox, &["render", "a.yaml", "--diagnostics", "concise"]).exits(1);
        assert_eq!(ran.out, "");
        let line = ran.err.lines().find(|line| line.contains(finding)).unwrap_or_else(|| panic!("{ran:?}"));
        assert!(line.starts_with("a.yaml:5:"), "{line}");
    }
    let mapping = repeat_with(2000, |level| format!("{}a:\n", " ".repeat(level + 2)));
    assert_rejected("a.yaml", format!("{HEADER}{mapping}"), &["a.yaml:68:66: error[KF0104]"]);
}

#[test]
fn a_document_over_the_limit() {
    let long = format!("{HEADER}  x: '{}'\n", "x".repeat(5 * 1024 * 1024));
    let finding = "a.yaml:1:1: error[KF0104]";
    assert_rejected("a.yaml", long, &[finding]);
    let lines = format!("{HEADER}{}", "- aaaaaaaaaaaaaaaaaaaaaaaa\n".repeat(200_000));
    assert_rejected("a.yaml", lines, &[finding]);
    let nodes = format!("{HEADER}  x:\n{}", "  - a\n".repeat(300_000));
    assert_rejected("a.yaml", nodes, &["a.yaml:249993:5: error[KF0104]"]);
}

/// Past the limit for one file nothing is read, so an endless one ends.
#[test]
fn a_file_over_the_limit() {
    let sandbox = Sandbox::new();
    let file = std::fs::File::create(sandbox.path("big.json")).unwrap();
    file.set_len(70 * 1024 * 1024).unwrap();
    let ran = run(&sandbox, &["lint", "big.json"]).exits(2);
    assert_eq!(ran.err, "kubefoundry: big.json: larger than 64 MiB\n");
    let ran = run(&sandbox.with("a.yaml", broken("a")), &["lint", ".", "-o", "concise"]).exits(1);
    assert_eq!(ran.err, "kubefoundry: big.json: larger than 64 MiB; skipped\n");
    assert!(ran.out.contains("a.yaml:13:14: error[KF0112]"), "{}", ran.out);
}

#[test]
fn ten_thousand_documents_and_a_bad_one() {
    let documents =
        repeat_with(10_000, |at| if at == 5000 { broken("bad") } else { model(&format!("m{at}")) } + "---\n");
    let sandbox = Sandbox::new().with("a.yaml", documents);
    let ran = run(&sandbox, &["render", "a.yaml", "--diagnostics", "concise"]).exits(1);
    assert_eq!(ran.out, "");
    let errors: Vec<&str> = ran.err.lines().filter(|line| line.contains("error")).collect();
    assert!(matches!(errors.as_slice(), [one] if one.starts_with("a.yaml:70013:14: error[KF0112]")), "{errors:?}");
}

#[test]
fn more_documents_than_are_read() {
    let text = "a\n---\n".repeat(300_000) + HEADER;
    assert_rejected("a.yaml", text, &["a.yaml:500000:1: error[KF0104]"]);
}

/// What is wrong in a document is counted, not searched, past its first thousand findings: that took a minute once.
#[test]
fn a_hundred_thousand_unknown_fields() {
    let fields = repeat_with(100_000, |at| format!("  field-{at}: 1\n"));
    assert_rejected(
        "a.yaml",
        format!("{HEADER}{fields}"),
        &["a.yaml:1:1: error[KF0104] the document has 99002 more findings"],
    );
    let line = repeat_with(100_000, |at| format!("field-{at}: 1, "));
    let flow = format!(
        "{{apiVersion: kubefoundry.ai/v1alpha1, kind: ModelDeployment, metadata: {{name: m}}, spec: {{{line}}}}}"
    );
    assert_rejected("a.yaml", flow, &["a.yaml:1:2: error[KF0104] the document has 99002 more findings"]);
}

#[test]
fn more_engine_arguments_than_a_command_line_holds() {
    let arguments = repeat_with(60_000, |at| format!("      flag-{at}: \"1\"\n"));
    let text = model("a").replace("    type: vllm\n", &format!("    type: vllm\n    args:\n{arguments}"));
    assert_rejected(
        "a.yaml",
        text,
        &["a.yaml:11:5: error[KF0104] spec.engine.args has 60000 entries, expected at most 512"],
    );
    let arguments = repeat_with(60_000, |at| format!("    - --flag-{at}=1\n"));
    let text = model("a").replace("    type: vllm\n", &format!("    type: vllm\n    extraArgs:\n{arguments}"));
    assert_rejected("a.yaml", text, &["a.yaml:11:5: error[KF0104] spec.engine.extraArgs has 60000 entries"]);
}

/// Hundreds of findings on one line of megabytes: their columns are not counted from its start each time.
#[test]
fn long_arguments_on_one_line() {
    let arguments = |prefix: &str| repeat_with(250, |at| format!("'{prefix}{}{at:03}', ", "-".repeat(16_000)));
    let text = |arguments: &str| {
        model("a").replace("    type: vllm\n", &format!("    type: vllm\n    extraArgs: [{arguments}]\n"))
    };
    assert_rejected("a.yaml", text(&arguments("")), &["a.yaml:10:11: info[KF0503]", "a.yaml:11:17: error[KF0306]"]);
    // Flags that are not known, and what is not theirs.
    let sandbox = Sandbox::new().with("a.yaml", text(&arguments("--a")));
    let ran = run(&sandbox, &["lint", "a.yaml"]);
    assert!(ran.out.contains("250 errors, 1 info") && ran.out.len() < 3_000_000, "{} {:.1000}", ran.out.len(), ran.out);
}

/// As many references as a deployment may have, in many deployments: boxes and arrows are found, not searched for.
#[test]
fn pictures_of_many_references() {
    let deployment = |of: usize| {
        let secrets = repeat_with(256, |at| format!("  - {{name: s{}}}\n", of * 256 + at));
        format!("---\n{}  imagePullSecrets:\n{secrets}", model(&format!("a{of}")))
    };
    let sandbox = Sandbox::new().with("a.yaml", repeat_with(118, deployment));
    for format in ["html", "mermaid"] {
        let ran = run(&sandbox, &["explain", "a.yaml", "-o", format]).exits(0);
        assert!(ran.out.contains("s30207"), "{format}: {} bytes", ran.out.len());
    }
}

/// Of findings of a run, as many are kept as anybody reads. The rest is counted.
#[test]
fn more_findings_than_are_read() {
    let sandbox = Sandbox::new().with("a.yaml", format!("{HEADER}---\n").repeat(50_000));
    // Each lacks a model and an engine, and all but the first have the name of the first.
    let finding = "error[KF0104] the run has 139999 more findings, 139999 of them errors; at most 10000 are reported";
    for command in ["render", "lint"] {
        let option = if command == "render" { "--diagnostics" } else { "-o" };
        let ran = run(&sandbox, &[command, "a.yaml", option, "concise"]).exits(1);
        let report = if command == "render" { &ran.err } else { &ran.out };
        assert_eq!(report.lines().count(), 10_001, "{report:.1000}");
        assert_eq!(report.lines().last(), Some(finding));
    }
}

/// Each is a mistake on its own, which shows once all are known.
#[test]
fn ten_thousand_deployments_of_one_name() {
    let sandbox = Sandbox::new().with("a.yaml", (model("a") + "---\n").repeat(10_000));
    for command in ["render", "lint"] {
        run(&sandbox, &[command, "a.yaml"]).exits(1);
    }
}

/// A fleet may have more warnings than are kept, and is rendered.
#[test]
fn more_warnings_than_are_read() {
    let overrides = repeat_with(750, |at| format!("x{at}: 1, "));
    let text =
        |at| model(&format!("m{at}")) + &format!("  provider: {{name: dynamo, overrides: {{{overrides}}}}}\n---\n");
    let sandbox = Sandbox::new().with("a.yaml", repeat_with(20, text));
    let ran = run(&sandbox, &["render", "a.yaml", "--diagnostics", "concise"]).exits(0);
    let finding = "warning[KF0104] the run has 5001 more findings, 0 of them errors; at most 10000 are reported";
    assert_eq!(ran.err.lines().last(), Some(finding));
    // What is left out counts for what the options make of it.
    let options = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nseverities: {KF0601: error}\n";
    let sandbox = sandbox.with("options.yaml", options);
    let ran = run(&sandbox, &["render", "a.yaml", "--config", "options.yaml", "--diagnostics", "concise"]).exits(1);
    assert_eq!(ran.out, "");
    let finding = "error[KF0104] the run has 5001 more findings, 5001 of them errors; at most 10000 are reported";
    assert_eq!(ran.err.lines().last(), Some(finding));
}
