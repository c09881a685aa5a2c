//! What a namespace allows: its annotation lists the providers that its deployments may use (OP-7.5).

use crate::names::ALLOWED_PROVIDERS;

/// The providers that an annotation lists.
pub(super) fn read(annotation: &str) -> Vec<String> {
    annotation.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Why a provider may not be used, if so; without a list every provider may.
pub(super) fn refusal(provider: &str, namespace: &str, allowed: Option<&[String]>) -> Option<String> {
    let allowed = allowed?;
    if allowed.iter().any(|name| name == provider) {
        return None;
    }
    let list = listed(allowed);
    Some(format!(
        "provider {provider:?} is not allowed in namespace {namespace:?}; its annotation {ALLOWED_PROVIDERS} allows: {list}"
    ))
}

/// What there is to choose from, for when none of it can be chosen.
pub(super) fn choice(namespace: &str, allowed: &[String]) -> String {
    format!("namespace {namespace:?} allows: {} (annotation {ALLOWED_PROVIDERS})", listed(allowed))
}

fn listed(allowed: &[String]) -> String {
    if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_what_is_allowed() {
        let list = read(" kaito, dynamo,");
        assert_eq!(refusal("kaito", "ml", Some(&list)), None);
        assert_eq!(refusal("kuberay", "ml", None), None);
        assert_eq!(
            refusal("kuberay", "ml", Some(&list)).unwrap(),
            "provider \"kuberay\" is not allowed in namespace \"ml\"; its annotation kubefoundry.ai/allowed-providers allows: kaito, dynamo"
        );
        assert!(refusal("kaito", "ml", Some(&read(""))).unwrap().ends_with("allows: none"));
        assert!(refusal("kait", "ml", Some(&list)).is_some());
    }
}
