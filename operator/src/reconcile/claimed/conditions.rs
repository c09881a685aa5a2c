//! The conditions of claimed objects, with their reasons for docs/operator/reference.md.

/// Everything is applied as rendered.
pub(crate) const APPLIED: &str = "Applied";
/// The workload of another owner has the containers of the actor.
pub(crate) const BOUND: &str = "Bound";
/// The queue of an actor is ready, as far as an object shows it.
pub(crate) const TRANSPORT_READY: &str = "TransportReady";
/// The pods of an actor are ready.
pub(crate) const WORKLOAD_READY: &str = "WorkloadReady";
/// KEDA accepts the scaling of an actor.
pub(crate) const SCALING_READY: &str = "ScalingReady";
/// The server of a distribution is ready.
pub(crate) const DEPLOYMENT_READY: &str = "DeploymentReady";

/// A reason of a condition, and what it means.
pub(crate) struct Reason {
    pub(crate) condition: &'static str,
    pub(crate) word: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "the documentation is generated from it by a test"))]
    pub(crate) meaning: &'static str,
}

const fn reason(condition: &'static str, word: &'static str, meaning: &'static str) -> Reason {
    Reason { condition, word, meaning }
}

/// Every reason.
pub(crate) const REASONS: &[Reason] = &[
    reason(APPLIED, "Applied", "everything is applied as rendered"),
    reason(APPLIED, "Invalid", "the object has errors; the message has those of `kubefoundry lint`"),
    reason(APPLIED, "TargetMissing", "the workload of `spec.workloadRef` does not exist (yet)"),
    reason(APPLIED, "TargetShared", "another actor is bound to the workload of `spec.workloadRef`"),
    reason(APPLIED, "NotOwned", "an object of that name exists that was not applied for this object"),
    reason(APPLIED, "Refused", "the API server, a webhook or a CRD refuses an object"),
    reason(APPLIED, "Contested", "another client keeps changing an object; it is corrected with growing delays"),
    reason(BOUND, "Bound", "the workload has the containers of the actor"),
    reason(BOUND, "Binding", "the workload is about to get the containers"),
    reason(BOUND, "Waiting", "other objects have to be applied first"),
    reason(BOUND, "Invalid", "see `Applied`"),
    reason(BOUND, "TargetMissing", "see `Applied`"),
    reason(BOUND, "TargetShared", "see `Applied`"),
    reason(BOUND, "Refused", "the API server, a webhook or a CRD refuses the change of the workload"),
    reason(BOUND, "Reverted", "another client removed or changed the additions; they are added again after a while"),
    reason(BOUND, "Stopped", "another client did so more than five times; the operator no longer changes the workload"),
    reason(TRANSPORT_READY, "Ready", "nothing shows that the queue is not ready"),
    reason(TRANSPORT_READY, "NotReady", "the transport is not in the options, or the object of the queue is not ready"),
    reason(WORKLOAD_READY, "Ready", "all desired pods are ready, or none is desired"),
    reason(WORKLOAD_READY, "PodsNotHealthy", "a pod fails; the message names it"),
    reason(WORKLOAD_READY, "NotReady", "pods are missing or not ready yet"),
    reason(SCALING_READY, "Ready", "KEDA has not refused the ScaledObject"),
    reason(SCALING_READY, "NotReady", "KEDA refuses the ScaledObject, or it does not exist"),
    reason(DEPLOYMENT_READY, "Ready", "the server is ready"),
    reason(DEPLOYMENT_READY, "NotReady", "the server is not ready; the message names the part that is not"),
];

/// Whether a condition of a claimed object has this reason in the documentation.
pub(crate) fn is_documented(condition: &str, word: &str) -> bool {
    REASONS.iter().any(|row| row.condition == condition && row.word == word)
}
