//! The events about deployments and claimed objects (OP-8.2).

use kubefoundry_controller_runtime::events::EventKind;

/// The reason of an event, with what follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventReason {
    /// A provider was selected.
    ProviderSelected,
    /// An object of the provider was created.
    ResourceCreated,
    /// A Secret that the deployment names does not exist.
    SecretNotFound,
    /// The provider reports an error, or its object cannot be applied.
    ProviderError,
    /// Another client changed the provider's object.
    DriftDetected,
    /// The provider's objects were not deleted in time.
    FinalizerTimeout,
    /// The main object is deleted and created again.
    Recreating,
    /// The last recreations failed, so no other one starts.
    RecreationPaused,
    /// An object of the deployment lost its owner, and outlives the deployment.
    ObjectLeft,
    /// An actor was added to a workload of another owner.
    Bound,
    /// An actor was removed from a workload of another owner.
    Unbound,
    /// Another client reverted what was added to a workload.
    BindingConflict,
    /// Another client did so too often.
    BindingStopped,
    /// An object is no longer handed to the operator.
    Released,
}

impl EventReason {
    /// All reasons: those of the specification's table in its order, then our own.
    pub const ALL: [Self; 14] = [
        Self::ProviderSelected,
        Self::ResourceCreated,
        Self::SecretNotFound,
        Self::ProviderError,
        Self::DriftDetected,
        Self::FinalizerTimeout,
        Self::Recreating,
        Self::RecreationPaused,
        Self::ObjectLeft,
        Self::Bound,
        Self::Unbound,
        Self::BindingConflict,
        Self::BindingStopped,
        Self::Released,
    ];

    /// Returns the event that has this reason.
    pub const fn kind(self) -> EventKind {
        let (reason, event_type, action) = match self {
            Self::ProviderSelected => ("ProviderSelected", "Normal", "Select"),
            Self::ResourceCreated => ("ResourceCreated", "Normal", "Apply"),
            Self::SecretNotFound => ("SecretNotFound", "Warning", "Validate"),
            Self::ProviderError => ("ProviderError", "Warning", "Observe"),
            Self::DriftDetected => ("DriftDetected", "Warning", "Apply"),
            Self::FinalizerTimeout => ("FinalizerTimeout", "Warning", "Delete"),
            Self::Recreating => ("Recreating", "Normal", "Apply"),
            Self::RecreationPaused => ("RecreationPaused", "Warning", "Apply"),
            Self::ObjectLeft => ("ObjectLeft", "Warning", "Delete"),
            Self::Bound => ("Bound", "Normal", "Bind"),
            Self::Unbound => ("Unbound", "Normal", "Release"),
            Self::BindingConflict => ("BindingConflict", "Warning", "Bind"),
            Self::BindingStopped => ("BindingStopped", "Warning", "Bind"),
            Self::Released => ("Released", "Normal", "Release"),
        };
        EventKind { reason, event_type, action }
    }

    /// Explanation for docs/operator/reference.md.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::ProviderSelected => "a provider was selected; the message has the reason",
            Self::ResourceCreated => "an object of the provider was created",
            Self::SecretNotFound => "a Secret that the deployment names does not exist in its namespace",
            Self::ProviderError => {
                "the provider reports an error or refuses an object, or an object of that name has another owner"
            }
            Self::DriftDetected => "another client changed a rendered field; the operator restored it",
            Self::FinalizerTimeout => {
                "the finalizer was removed after `--finalizer-timeout`; objects of the provider may be orphaned"
            }
            Self::Recreating => "the main object is deleted and created again; the message has the reason",
            Self::RecreationPaused => {
                "three recreations in a row were not ready within `--recreate-deadline`, so the others wait"
            }
            Self::ObjectLeft => {
                "an object lost its owner (`--cascade=orphan`, or an edit), so it outlives its deleted deployment"
            }
            Self::Bound => "an actor was added to a workload of another owner",
            Self::Unbound => "an actor was removed from a workload of another owner",
            Self::BindingConflict => "another client removed or changed what an actor added to a workload",
            Self::BindingStopped => {
                "another client did so more than five times, so the operator no longer changes the workload"
            }
            Self::Released => "an AsyncActor or a LlamaStackDistribution is no longer handed to the operator",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_listed_once() {
        let reasons: std::collections::BTreeSet<_> =
            EventReason::ALL.iter().map(|reason| reason.kind().reason).collect();
        assert_eq!(reasons.len(), EventReason::ALL.len());
    }
}
