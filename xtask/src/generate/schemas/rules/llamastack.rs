//! External providers of llama-stack.

use kubefoundry_llamastack::wire::Api;

use super::Rule;

/// Returns rules that make ids unique across APIs, because providers with the same id would be installed to the same
/// path. Within one API the list keys ensure this. There is one rule per pair of APIs, so that the message can name
/// both and the API server can estimate the cost.
pub(super) fn unique_ids() -> Vec<Rule> {
    let mut rules = Vec::new();
    for (position, first) in Api::ALL.iter().enumerate() {
        for second in &Api::ALL[position + 1..] {
            let (first, second) = (first.section(), second.section());
            let is_used = |id: &str| format!("self.{second}.exists(other, other.providerId == {id})");
            // The cost estimate needs a length limit: the API server knows it for an id or an image, but not for an item
            // that passed a filter.
            let shared = format!("self.{first}.map(it, it.providerId).filter(id, {})[0]", is_used("id"));
            let image = |own: &str, other: &str| {
                let in_other = format!("self.{other}.exists(other, other.providerId == it.providerId)");
                format!("self.{own}.map(it, {in_other} ? it.image : '').filter(image, image != '')[0]")
            };
            let (first_image, second_image) = (image(first, second), image(second, first));
            let found = format!("in externalProviders: found in both {first} and {second} API sections");
            let remedy = "give each provider its own id";
            rules.push(Rule {
                rule: format!(
                    "!has(self.{first}) || !has(self.{second}) || !self.{first}.exists(it, {})",
                    is_used("it.providerId")
                ),
                message: format!("duplicate provider_id {found}; {remedy}"),
                expression: Some(format!(
                    "\"duplicate provider_id '\" + {shared} + \"' {found} (images: \" + {first_image} + \" and \" + \
                     {second_image} + \"); {remedy}\""
                )),
            });
        }
    }
    rules
}
