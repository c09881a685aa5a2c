//! Selection rules that never end, or are not rules at all.

use std::fmt::Write as _;

use super::bounded::{assert_rejected, config, repeat_with, run};
use crate::sandbox::{Sandbox, model};

/// A provider with one rule, and a deployment.
fn with_rule(rule: &str) -> String {
    let rule = format!("  selectionRules:\n  - condition: '{rule}'\n    priority: 500\n");
    config("acme") + &rule + "---\n" + &model("a")
}

#[test]
fn rules_that_never_end() {
    let list = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
    let mut rule = String::new();
    for level in 0..8 {
        write!(rule, "{list}.all(x{level}, ").unwrap();
    }
    rule += &format!("x0 >= 0{}", ")".repeat(8));
    assert_rejected(
        "a.yaml",
        with_rule(&rule),
        &["a.yaml:19:1: error[KF0408] rule 1 of acme fails: the rule takes more than 1000000 steps for this input"],
    );
}

#[test]
fn rules_that_are_too_large() {
    let long = "true || ".repeat(128 * 1024) + "true";
    assert_rejected("a.yaml", with_rule(&long), &["a.yaml:11:17: error[KF0406] the rule is 1048580 bytes long"]);
    let nested = format!("{}true{}", "(".repeat(1500), ")".repeat(1500));
    assert_rejected(
        "a.yaml",
        with_rule(&nested),
        &["a.yaml:11:49: error[KF0406] the rule nests deeper than 32 levels here"],
    );
    let text = with_rule("true").replacen(
        "  selectionRules:\n",
        &format!("  selectionRules:\n{}", "  - {condition: \"true\"}\n".repeat(300)),
        1,
    );
    assert_rejected(
        "a.yaml",
        text,
        &["a.yaml:10:3: error[KF0104] spec.selectionRules has 301 rules, expected at most 256"],
    );
}

#[test]
fn too_many_configurations() {
    let configurations = repeat_with(300, |at| config(&format!("acme{at}")) + "---\n");
    let expected = "error[KF0104]";
    assert_rejected("a.yaml", configurations + &model("a"), &[&format!("a.yaml:{}:9: {expected}", 256 * 10 + 4)]);
}

/// `count` rules that take nearly all the steps one may take, of configurations with up to 256 each.
fn costly(count: usize) -> String {
    let list = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
    let rule = format!("{list}.all(a, {list}.all(b, {list}.all(c, {list}.all(d, a > 0))))");
    let rules =
        |at: usize| repeat_with((count - at * 256).min(256), |_| format!("  - {{condition: '{rule}', priority: 1}}\n"));
    repeat_with(count.div_ceil(256), |at| config(&format!("p{at}")) + "  selectionRules:\n" + &rules(at) + "---\n")
}

/// Each takes what a rule may take; all together they may take only a little more, for one deployment and for a run.
#[test]
fn many_costly_rules() {
    let text = costly(256) + &model("a");
    let finding = "fails: the rules take more than 4000000 steps for this deployment";
    let sandbox = Sandbox::new().with("a.yaml", text);
    for command in ["render", "lint", "explain"] {
        let ran = run(&sandbox, &[command, "a.yaml"]).exits(1);
        let report = format!("{}{}", ran.out, ran.err);
        assert_eq!(report.matches("error[KF0408]").count(), 1, "{command}: {report:.2000}");
        assert!(report.contains(finding), "{command}: {report:.2000}");
    }
    let fleet = repeat_with(2000, |at| format!("---\n{}", model(&format!("m{at}"))));
    let sandbox = Sandbox::new().with("a.yaml", costly(1024) + &fleet);
    for command in ["render", "lint"] {
        let ran = run(&sandbox, &[command, "a.yaml"]).exits(1);
        let report = format!("{}{}", ran.out, ran.err);
        assert_eq!(report.matches("error[KF0408]").count(), 2000, "{command}: {report:.2000}");
    }
}

/// Ordinary rules are evaluated for every deployment of a large fleet.
#[test]
fn a_fleet_and_ordinary_rules() {
    let rule = "  - {condition: spec.engine.type == 'vllm' && spec.resources.gpu.count > 0, priority: 1}\n";
    let rules = config("acme") + "  selectionRules:\n" + &rule.repeat(100);
    let fleet = repeat_with(2000, |at| format!("---\n{}", model(&format!("m{at}"))));
    let sandbox = Sandbox::new().with("a.yaml", rules + &fleet);
    run(&sandbox, &["render", "a.yaml"]).exits(0);
}

#[test]
fn too_many_rules_of_many_configurations() {
    let rules = "  selectionRules:\n".to_owned() + &"  - {condition: 'true', priority: 1}\n".repeat(256);
    let text = repeat_with(250, |at| config(&format!("p{at}")) + &rules + "---\n") + &model("a");
    let finding = "error[KF0104] spec.selectionRules has 256 rules";
    assert_rejected("a.yaml", text, &[&format!("a.yaml:{}:3: {finding}", 4 * 267 + 10)]);
}
