//! External providers of llama-stack.

use kubefoundry::llamastack::wire::Api;

use super::Rule;

/// Ids are unique over all APIs: two providers of one id would be installed to one place. Within an API the list's own keys
/// see to it. A rule for every two APIs, so that the message can name both, and an apiserver can tell what it costs.
pub(super) fn unique_ids() -> Vec<Rule> {
    let mut rules = Vec::new();
    for (position, first) in Api::ALL.iter().enumerate() {
        for second in &Api::ALL[position + 1..] {
            let (first, second) = (first.section(), second.section());
            let taken = format!("self.{second}.exists(other, other.providerId == it.providerId)");
            rules.push(Rule {
                rule: format!("!has(self.{first}) || !has(self.{second}) || !self.{first}.exists(it, {taken})"),
                message: format!(
                    "duplicate provider_id in externalProviders: found in both {first} and {second} API sections"
                ),
                expression: Some(format!(
                    "\"duplicate provider_id '\" + self.{first}.filter(it, {taken})[0].providerId + \"' in \
                     externalProviders: found in both {first} and {second} API sections\""
                )),
            });
        }
    }
    rules
}
