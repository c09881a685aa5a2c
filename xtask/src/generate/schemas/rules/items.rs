//! Rules on engine arguments, environment variables, tolerations and labels.

use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::check::environment::{VALUE_TWICE, expected_sources};
use kubefoundry_kubernetes::wire::EnvVarSource;
use kubefoundry_model::validate::messages;

use super::{Rule, quote, raw, shortened};

/// Returns the rules on the keys of `engine.args`.
pub(super) fn argument_keys() -> Vec<Rule> {
    const EXPECTED: &str = messages::ARGUMENT_KEY;
    let pattern = raw("^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$");
    let wrong = format!("self.filter(key, !key.matches({pattern}))[0]");
    vec![Rule {
        rule: format!("self.all(key, key.matches({pattern}))"),
        message: format!("has a key that is not a flag name, {EXPECTED}"),
        expression: Some(format!("'has the key \"' + {} + {}", shortened(&wrong), quote(&format!("\", {EXPECTED}")))),
    }]
}

/// Returns the rules on `engine.extraArgs` as a whole.
pub(super) fn extra_arguments() -> Vec<Rule> {
    vec![Rule {
        rule: "self.size() == 0 || self[0] == '' || self[0].startsWith('--')".to_owned(),
        message: format!("the first element is not a flag, expected {}", messages::FIRST_EXTRA_ARGUMENT),
        expression: Some(format!(
            "'[0] is \"' + {} + {}",
            shortened("self[0]"),
            quote(&format!("\", expected {}", messages::FIRST_EXTRA_ARGUMENT))
        )),
    }]
}

/// Returns the rules on an element of `engine.extraArgs`.
pub(super) fn extra_argument() -> Vec<Rule> {
    vec![
        Rule::new("self != ''", format!("is \"\", expected {}", messages::EXTRA_ARGUMENT)),
        Rule::new("self != '--'", format!("is \"--\", expected {}", messages::END_OF_FLAGS)),
    ]
}

/// Returns the rules on an environment variable.
pub(super) fn variable() -> Vec<Rule> {
    vec![Rule::new("!has(self.value) || self.value == '' || !has(self.valueFrom)", VALUE_TWICE)]
}

/// Returns the rule that `valueFrom` has exactly one source.
pub(super) fn source() -> Vec<Rule> {
    let is_set: Vec<String> = EnvVarSource::FIELDS.iter().map(|field| format!("(has(self.{field}) ? 1 : 0)")).collect();
    let count = is_set.join(" + ");
    // The API server assumes that string() returns an unbounded text, which exceeds the cost limit.
    let numbers: Vec<String> = (0..=is_set.len()).map(|number| format!("'{number}'")).collect();
    let number = format!("[{}][{count}]", numbers.join(", "));
    let expected = expected_sources();
    vec![Rule {
        rule: format!("{count} == 1"),
        message: format!("has no source or several, {expected}"),
        expression: Some(format!("'has ' + {number} + ' sources, {expected}'")),
    }]
}

/// Returns the rules on a toleration, as Kubernetes validates it.
pub(super) fn toleration() -> Vec<Rule> {
    let is_set = |field: &str| format!("(has(self.{field}) && self.{field} != '')");
    let operator = |words: &str| format!("(has(self.operator) && self.operator in {words})");
    let value = is_set("value");
    vec![
        Rule::new(format!("{} || {}", is_set("key"), operator("['Exists']")), messages::TOLERATION_WITHOUT_KEY),
        Rule::new(
            format!("!{} || !{value}", operator("['Exists']")),
            format!("value {}", messages::TOLERATION_WITH_VALUE),
        ),
        Rule::new(
            format!("!{} || {value}", operator("['Lt', 'Gt']")),
            format!("value {}", messages::TOLERATION_WITHOUT_VALUE),
        ),
        Rule::expect(
            "value",
            &format!("{} && !self.value.matches({})", operator("['Lt', 'Gt']"), raw("^(0|-?[1-9][0-9]{0,18})$")),
            messages::TOLERATION_VALUE,
        ),
        Rule::new(
            "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
            format!("tolerationSeconds {}", messages::TOLERATION_SECONDS),
        ),
    ]
}

/// Returns the rules that refuse labels and annotations that only kubefoundry sets.
pub(super) fn reserved(api_group: &ApiGroup) -> Vec<Rule> {
    let mut rules = Vec::new();
    for field in ["labels", "annotations"] {
        for name in ["managed-by", "model-deployment", "model-source", "selected-reason"] {
            let label = api_group.label(name);
            rules.push(Rule::new(
                format!("!has(self.{field}) || !('{label}' in self.{field})"),
                format!("{field} has the key \"{label}\", which only {} sets", api_group.manager),
            ));
        }
    }
    rules
}
