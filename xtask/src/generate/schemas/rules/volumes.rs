//! Rules on the volumes for model data.

use kubefoundry_model::validate::messages;

use super::{Rule, raw};

/// Returns the rules on a single volume.
pub(super) fn rules() -> Vec<Rule> {
    let is_set = |field: &str| format!("(has(self.{field}) && self.{field} != '')");
    let mut rules = vec![
        Rule::new(
            format!("(has(self.purpose) && self.purpose != 'custom') || {}", is_set("mountPath")),
            format!("mountPath {}", messages::MOUNT_PATH_REQUIRED),
        ),
        Rule::new(
            format!("has(self.size) || {}", is_set("claimName")),
            format!("claimName {}", messages::CLAIM_NAME_REQUIRED),
        ),
    ];
    for field in ["storageClassName", "accessMode"] {
        rules.push(Rule::new(
            format!("!has(self.{field}) || has(self.size)"),
            format!("{field} {}", messages::ONLY_FOR_NEW_CLAIM),
        ));
    }
    let below = format!("self.mountPath.matches({})", raw("^/.*[^/]"));
    let up = format!("self.mountPath.matches({})", raw(r"(^|/)\.\.(/|$)"));
    let refused = format!("self.mountPath.matches({})", raw(r"[:$\x00-\x1f\x7f]"));
    rules.push(Rule::expect("mountPath", &format!("!{below}"), messages::MOUNT_BELOW_ROOT));
    rules.push(Rule::expect("mountPath", &format!("{below} && {up}"), messages::PATH_UPWARDS));
    rules.push(Rule::expect("mountPath", &format!("{below} && !{up} && {refused}"), messages::MOUNT_CHARACTERS));
    rules
}

/// Returns the rules on values that must differ between volumes. There are at most eight volumes, so a rule can compare
/// all pairs of indexes.
pub(super) fn unique() -> Vec<Rule> {
    let mount = |index: &str| {
        let volume = format!("self.volumes[{index}]");
        format!(
            "(has({volume}.mountPath) && {volume}.mountPath != '' ? {volume}.mountPath : \
             !has({volume}.purpose) || {volume}.purpose == 'custom' ? '' : \
             {volume}.purpose == 'modelCache' ? '/model-cache' : '/compilation-cache')"
        )
    };
    let claim = |index: &str| {
        let volume = format!("self.volumes[{index}]");
        format!("(has({volume}.size) && has({volume}.claimName) ? {volume}.claimName : '')")
    };
    vec![require_unique("mountPath", mount), require_unique("claimName", claim)]
}

/// Returns the rule that no two volumes have the same `field`. `value` returns the CEL expression for the field of the
/// volume at an index, which is `''` if the field is not set.
fn require_unique(field: &str, value: impl Fn(&str) -> String) -> Rule {
    const INDEXES: &str = "[0, 1, 2, 3, 4, 5, 6, 7]";
    let is_repeated = format!(
        "i < self.volumes.size() && {} != '' && {INDEXES}.exists(j, j < i && {} == {})",
        value("i"),
        value("i"),
        value("j")
    );
    // The API server assumes that string() returns an unbounded text, which exceeds the cost limit.
    let number = "['0', '1', '2', '3', '4', '5', '6', '7'][i]";
    Rule {
        rule: format!("!has(self.volumes) || !{INDEXES}.exists(i, {is_repeated})"),
        message: format!("two volumes have the same {field}"),
        expression: Some(format!(
            "{INDEXES}.filter(i, {is_repeated}).map(i, 'volumes[' + {number} + '].{field} is \"' + {} + \
             '\", which an earlier entry already has')[0]",
            value("i")
        )),
    }
}
