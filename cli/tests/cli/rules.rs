//! `explain --rules`: problems of selection rules.

use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};

const FLAWED: &str = include_str!("../../../testdata/golden/diagnostics/rules-with-flaws/input.yaml");

fn run(arguments: &[&str]) -> Ran {
    Sandbox::new().with("a.yaml", FLAWED).run(&[&["explain", "a.yaml", "--rules"], arguments].concat()).exits(0)
}

/// Each flaw is printed with an example deployment.
#[test]
fn prints_flaws_with_examples() {
    insta::assert_snapshot!("rules", run(&[]).out);
    insta::assert_snapshot!("rules_alone", run(&["--no-builtins"]).out);
}

#[test]
fn prints_flaws_as_json() {
    let report: Value = serde_json::from_str(&run(&["-o", "json"]).out).unwrap();
    assert_eq!((&report["version"], &report["analysis"]["complete"]), (&1.into(), &true.into()));
    let kinds: Vec<&str> =
        report["analysis"]["flaws"].as_array().unwrap().iter().map(|flaw| flaw["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tied", "unreachable", "unreachable", "shadowed", "shadowed", "named-only"]);
    let witness = &report["analysis"]["flaws"][0]["witness"];
    assert_eq!((&witness["selects"], &witness["document"]["kind"]), (&"dynamo".into(), &"ModelDeployment".into()));
}

/// The analysis needs no model. For an invalid configuration, the findings are printed instead.
#[test]
fn analyzes_configurations_without_models() {
    let sandbox = Sandbox::new().with("a.yaml", FLAWED.split("---\n").next().unwrap());
    assert!(sandbox.run(&["explain", "a.yaml", "--rules"]).exits(0).out.contains("shadowed: rule 2 of edge"));
    let sandbox = sandbox.with("b.yaml", FLAWED.replace("contextLength <= 4096", "contextLenght <= 4096"));
    let ran = sandbox.run(&["explain", "b.yaml", "--rules"]).exits(1);
    assert!(ran.out.is_empty() && ran.err.contains("error[KF0406]"), "{ran:?}");
}
