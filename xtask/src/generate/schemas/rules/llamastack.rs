//! External providers of llama-stack.

use kubefoundry_llamastack::wire::Api;

use super::Rule;

/// Ids are unique over all APIs: two providers of one id would be installed to one place. Within an API the list's own keys
/// see to it. A rule for every two APIs, so that the message can name both, and an apiserver can tell what it costs.
pub(super) fn unique_ids() -> Vec<Rule> {
    let mut rules = Vec::new();
    for (position, first) in Api::ALL.iter().enumerate() {
        for second in &Api::ALL[position + 1..] {
            let (first, second) = (first.section(), second.section());
            let taken = |id: &str| format!("self.{second}.exists(other, other.providerId == {id})");
            // Of an entry that a filter let through, an apiserver does not know how long its texts are; of an id it does.
            let shared = format!("self.{first}.map(it, it.providerId).filter(id, {})[0]", taken("id"));
            let found = format!("in externalProviders: found in both {first} and {second} API sections");
            rules.push(Rule {
                rule: format!(
                    "!has(self.{first}) || !has(self.{second}) || !self.{first}.exists(it, {})",
                    taken("it.providerId")
                ),
                message: format!("duplicate provider_id {found}"),
                expression: Some(format!("\"duplicate provider_id '\" + {shared} + \"' {found}\"")),
            });
        }
    }
    rules
}
