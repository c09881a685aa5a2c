//! The parts of the operator (docs/specification.md OP-1.1): they can run in one process, or each on its own.

use std::fmt;

use kubefoundry_composition::PROVIDERS;
use kubefoundry_provider::Provider;

use kubefoundry_controller_runtime::limiter::Stage;
use kubefoundry_reconcile::claimed::{CLAIMED_KINDS, ClaimedKind};

/// The Lease of the selector. Core looks it up to find out whether a selector runs (OP-1.3).
pub(crate) const SELECTOR_LEASE: &str = "kubefoundry-provider-selector";

/// A part that can run on its own.
#[derive(Clone, Copy)]
pub(crate) enum Role {
    /// Answers the apiserver's admission requests.
    Webhooks,
    /// Validates stored deployments, including those stored while the webhook was not available.
    Core,
    /// Selects the provider of deployments whose users name none.
    Selector,
    /// Applies the objects of one provider, and reports their status.
    Provider(&'static dyn Provider),
    /// Runs objects of a kind that another operator may own: those that are handed to this one.
    Claimed(&'static dyn ClaimedKind),
}

impl Role {
    /// Returns every role that runs by default, in the order in which a deployment passes through them.
    pub(crate) fn all() -> Vec<Self> {
        let providers = PROVIDERS.iter().map(|provider| Self::Provider(*provider));
        [Self::Webhooks, Self::Core, Self::Selector].into_iter().chain(providers).collect()
    }

    /// Returns the roles that run only where `--roles` names them.
    pub(crate) fn optional() -> Vec<Self> {
        CLAIMED_KINDS.iter().map(|kind| Self::Claimed(*kind)).collect()
    }

    /// Whether the role is about ModelDeployments.
    pub(crate) fn serves_models(self) -> bool {
        !matches!(self, Self::Claimed(_))
    }

    /// Returns the name in `--roles` and in metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Webhooks => "webhooks",
            Self::Core => "core",
            Self::Selector => "selector",
            Self::Provider(provider) => provider.name(),
            Self::Claimed(kind) => kind.name(),
        }
    }

    /// Returns the stage of an object's processing that the role is responsible for.
    pub(crate) fn stage(self) -> Stage {
        match self {
            Self::Webhooks | Self::Core | Self::Selector => Stage::Decision,
            Self::Provider(_) | Self::Claimed(_) => Stage::Application,
        }
    }

    /// Returns the name of the Lease that the leader of this role holds.
    pub(crate) fn lease_name(self) -> String {
        match self {
            Self::Selector => SELECTOR_LEASE.to_owned(),
            role => format!("kubefoundry-{}", role.name()),
        }
    }

    /// Parses the name of a role.
    ///
    /// # Errors
    /// A message that lists the valid names.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let all: Vec<Self> = Self::all().into_iter().chain(Self::optional()).collect();
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
    fn parses_the_name_of_every_role() {
        let all = || Role::all().into_iter().chain(Role::optional());
        for role in all() {
            assert_eq!(Role::parse(role.name()), Ok(role));
        }
        let names: Vec<&str> = all().map(Role::name).collect();
        assert_eq!(names[..3], ["webhooks", "core", "selector"]);
        assert_eq!(Role::parse("vllm").unwrap_err(), format!("expected one of {}", names.join(", ")));
    }

    #[test]
    fn lease_names_are_unique() {
        let all = || Role::all().into_iter().chain(Role::optional());
        let names: std::collections::BTreeSet<String> = all().map(Role::lease_name).collect();
        assert_eq!(names.len(), all().count());
        assert!(names.contains(SELECTOR_LEASE) && names.contains("kubefoundry-kaito"));
    }
}
