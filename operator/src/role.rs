//! The parts of the operator (docs/specification.md OP-1.1): they can run in one process, or each on its own.

use std::fmt;

use kubefoundry::model::provider::Provider;
use kubefoundry::model::providers;

/// A part that can run on its own.
#[derive(Clone, Copy)]
pub(crate) enum Role {
    /// Answers the apiserver's admission requests.
    Webhooks,
    /// Validates what is stored, also when the webhook was away.
    Core,
    /// Chooses the provider where the user did not.
    Selector,
    /// Applies what a deployment becomes for one provider, and reports its status.
    Provider(&'static dyn Provider),
}

impl Role {
    /// Every role, in the order of the data.
    pub(crate) fn all() -> Vec<Self> {
        let providers = providers::PROVIDERS.iter().map(|provider| Self::Provider(*provider));
        [Self::Webhooks, Self::Core, Self::Selector].into_iter().chain(providers).collect()
    }

    /// Its name, as in `--roles`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Webhooks => "webhooks",
            Self::Core => "core",
            Self::Selector => "selector",
            Self::Provider(provider) => provider.name(),
        }
    }

    /// A role by its name.
    ///
    /// # Errors
    /// The names that there are.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let all = Self::all();
        all.iter().copied().find(|role| role.name() == name).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|role| role.name()).collect();
            format!("expected one of {}", names.join(", "))
        })
    }
}

impl fmt::Debug for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Role {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Role {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_is_found_by_its_name() {
        for role in Role::all() {
            assert_eq!(Role::parse(role.name()), Ok(role));
        }
        assert_eq!(
            Role::parse("vllm").unwrap_err(),
            "expected one of webhooks, core, selector, kaito, dynamo, kuberay"
        );
    }
}
