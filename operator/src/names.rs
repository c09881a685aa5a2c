//! The names by which the operator is known in a cluster. Documentation tables are checked against these.

use kubefoundry_kubernetes::api_group::ApiGroup;

/// The field manager of validation.
pub(crate) const CORE_MANAGER: &str = "kubefoundry-core";
/// The field manager of selection (docs/specification.md OP-6.1).
pub(crate) const SELECTOR_MANAGER: &str = "provider-selector";

/// The field manager of a provider's controller (docs/specification.md OP-6.1): `kaito-provider`.
pub(crate) fn provider_manager(provider: &str) -> String {
    format!("{provider}-provider")
}

/// The finalizer of a provider's controller: `kubefoundry.ai/kaito-provider`.
pub(crate) fn finalizer(api_group: &ApiGroup, provider: &str) -> String {
    api_group.label(&provider_manager(provider))
}

/// Annotation on a ModelDeployment: `"true"` keeps every controller from it (docs/specification.md OP-4.2).
pub(crate) const PAUSED: &str = "reconcile-paused";
/// Annotation on a ModelDeployment: `"true"` renders, and applies nothing (docs/specification.md OP-4.3).
pub(crate) const DRY_RUN: &str = "dry-run";
/// Annotation on a ModelDeployment, written by us: what a dry run rendered.
pub(crate) const DRY_RUN_RESULT: &str = "dry-run-result";
/// Annotation on a main object: the fields of its ModelDeployment whose change makes another object (OP-3.1).
pub(crate) const IDENTITY_HASH: &str = "identity-hash";
/// Annotation on a main object: what was rendered when it was applied last.
pub(crate) const RENDERED_HASH: &str = "rendered-hash";
/// Annotation on a Namespace, with the prefix of the specification whatever the group: providers that its deployments
/// may use, with commas (OP-7.5).
pub(crate) const ALLOWED_PROVIDERS: &str = "kubefoundry.ai/allowed-providers";

/// A row of a documentation table: a name and what it means.
#[cfg(test)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
}

/// Every condition of a ModelDeployment.
#[cfg(test)]
pub(crate) const CONDITIONS: &[Row] = &[
    Row { name: condition::VALIDATED, meaning: "the specification has no error" },
    Row { name: condition::PROVIDER_SELECTED, meaning: "a provider is chosen" },
    Row { name: condition::PROVIDER_COMPATIBLE, meaning: "the provider can run it, and its CRD is installed" },
    Row { name: condition::RESOURCE_CREATED, meaning: "the provider's objects are in the cluster as rendered" },
    Row { name: condition::READY, meaning: "the model serves" },
    Row { name: condition::STALE_STATUS, meaning: "the provider's operator has been silent for too long" },
];

/// Types of conditions.
pub(crate) mod condition {
    pub(crate) const VALIDATED: &str = "Validated";
    pub(crate) const PROVIDER_SELECTED: &str = "ProviderSelected";
    pub(crate) const PROVIDER_COMPATIBLE: &str = "ProviderCompatible";
    pub(crate) const RESOURCE_CREATED: &str = "ResourceCreated";
    pub(crate) const READY: &str = "Ready";
    pub(crate) const STALE_STATUS: &str = "StaleStatus";
}
