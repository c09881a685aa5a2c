//! The providers that a run selects from, and the roles of objects in its output.

/// The set of providers that can be selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Providers {
    /// The built-in providers and the configured ones.
    #[default]
    All,
    /// Only the configured providers. Used in a cluster, where each installed provider brings its own configuration.
    Configured,
}

/// The role of an object in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputRole {
    /// Generated for one input object, with the ownership marks of kubefoundry.
    Generated,
    /// The ModelDeployment itself, for a provider that kubefoundry does not render.
    PassedOn,
    /// An input object with additions.
    Changed,
    /// Generated for several input objects and owned by none of them.
    Shared,
}
