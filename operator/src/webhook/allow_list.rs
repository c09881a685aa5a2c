//! The allow list of a namespace: an annotation with the providers that its deployments may use (OP-7.5).

use crate::names::ALLOWED_PROVIDERS;

/// Parses the annotation: names separated by commas.
pub(super) fn parse(annotation: &str) -> Vec<String> {
    annotation.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns the reason why a provider may not be used; none if it may. Without a list every provider is allowed.
pub(super) fn refusal(provider: &str, namespace: &str, allowed: Option<&[String]>) -> Option<String> {
    let allowed = allowed?;
    if allowed.iter().any(|name| name == provider) {
        return None;
    }
    let list = format_list(allowed);
    Some(format!(
        "provider {provider:?} is not allowed in namespace {namespace:?}; its annotation {ALLOWED_PROVIDERS} allows: {list}"
    ))
}

/// Explains the allow list, for an error that no allowed provider can be selected.
pub(super) fn describe(namespace: &str, allowed: &[String]) -> String {
    format!("namespace {namespace:?} allows: {} (annotation {ALLOWED_PROVIDERS})", format_list(allowed))
}

fn format_list(allowed: &[String]) -> String {
    if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_the_allowed_providers() {
        let list = parse(" kaito, dynamo,");
        assert_eq!(refusal("kaito", "ml", Some(&list)), None);
        assert_eq!(refusal("kuberay", "ml", None), None);
        assert_eq!(
            refusal("kuberay", "ml", Some(&list)).unwrap(),
            "provider \"kuberay\" is not allowed in namespace \"ml\"; its annotation kubefoundry.ai/allowed-providers allows: kaito, dynamo"
        );
        assert!(refusal("kaito", "ml", Some(&parse(""))).unwrap().ends_with("allows: none"));
        assert!(refusal("kait", "ml", Some(&list)).is_some());
    }
}
