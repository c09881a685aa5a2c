//! The conditions of claimed objects, and the reasons of all conditions. docs/operator/reference.md lists them.

use crate::names::condition;

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

/// A reason of a condition.
#[derive(Debug)]
pub struct ConditionReason {
    /// The `type` of the condition.
    pub condition: &'static str,
    /// The `reason` of the condition, in CamelCase.
    pub word: &'static str,
    /// The meaning in docs/operator/reference.md, whose tables a test compares with these.
    pub meaning: &'static str,
}

const fn reason(condition: &'static str, word: &'static str, meaning: &'static str) -> ConditionReason {
    ConditionReason { condition, word, meaning }
}

/// Every reason that the operator writes about a ModelDeployment. `Ready` can also have reasons of the provider's object.
pub const REASONS: &[ConditionReason] = &[
    reason(condition::VALIDATED, "Valid", "the specification has no error"),
    reason(condition::VALIDATED, "Invalid", "the specification has errors; the message lists all of them"),
    reason(condition::PROVIDER_SELECTED, "Selected", "a provider is selected; the message has the reason"),
    reason(condition::PROVIDER_SELECTED, "NoHealthyProvider", "no provider is ready with a recent heartbeat"),
    reason(condition::PROVIDER_SELECTED, "NoCompatibleProvider", "no provider can run the deployment"),
    reason(
        condition::PROVIDER_SELECTED,
        "UnknownProvider",
        "no provider of the name in `spec.provider.name` is registered",
    ),
    reason(
        condition::PROVIDER_SELECTED,
        "NotAllowed",
        "the namespace does not allow the named provider, or any provider that could run the deployment",
    ),
    reason(
        condition::PROVIDER_SELECTED,
        "SelectorNotInstalled",
        "the deployment names no provider, and no selector runs",
    ),
    reason(condition::PROVIDER_SELECTED, "SelectionFailed", "selection failed for another reason; see the message"),
    reason(condition::PROVIDER_COMPATIBLE, "Compatible", "the provider can run the deployment"),
    reason(
        condition::PROVIDER_COMPATIBLE,
        "Incompatible",
        "the provider cannot run the deployment; the message has the reason",
    ),
    reason(condition::PROVIDER_COMPATIBLE, "CRDNotInstalled", "the provider's CRD is not installed"),
    reason(condition::PROVIDER_COMPATIBLE, "NotAllowed", "the namespace does not allow the provider"),
    reason(condition::PROVIDER_COMPATIBLE, "Invalid", "unknown, because the specification has errors"),
    reason(condition::RESOURCE_CREATED, "ResourceCreated", "the provider's object exists as rendered"),
    reason(condition::RESOURCE_CREATED, "Recreating", "the old object is being deleted; then the new one is created"),
    reason(condition::RESOURCE_CREATED, "Refused", "the API server or a webhook of the provider refuses the object"),
    reason(condition::RESOURCE_CREATED, "NotOwned", "an object of that name exists that the deployment does not own"),
    reason(condition::RESOURCE_CREATED, "NotRendered", "nothing is rendered; see the other conditions"),
    reason(condition::RESOURCE_CREATED, "DryRun", "the annotation `dry-run` is set"),
    reason(condition::READY, "Pending", "the provider has not reported a status yet"),
    reason(condition::READY, "Recreating", "see `ResourceCreated`"),
    reason(condition::READY, "Refused", "see `ResourceCreated`"),
    reason(condition::READY, "NotOwned", "see `ResourceCreated`"),
    reason(condition::READY, "NotRendered", "see `ResourceCreated`"),
    reason(condition::READY, "DryRun", "see `ResourceCreated`"),
    reason(condition::READY, "Migrating", "another provider takes over once the objects of this one are deleted"),
    reason(condition::READY, "Terminating", "the deployment is being deleted"),
    reason(
        condition::STALE_STATUS,
        "NoNews",
        "the provider's operator has not updated its status for longer than `--stale-after`",
    ),
    reason(condition::STALE_STATUS, "News", "the provider's operator updates its status again"),
    reason(condition::PENDING_RECREATE, "Queued", "others are recreated first (`--max-recreating`)"),
    reason(
        condition::PENDING_RECREATE,
        "AwaitingApproval",
        "with `--recreate=approve`: the annotation in the message approves it",
    ),
    reason(condition::PENDING_RECREATE, "Paused", "three recreations in a row were not ready in time"),
    reason(
        condition::PENDING_RECREATE,
        "Recreating",
        "it is its turn: the object is recreated, and has to become ready",
    ),
    reason(condition::PENDING_RECREATE, "Recreated", "the recreated object was ready"),
    reason(
        condition::PENDING_RECREATE,
        "NotReady",
        "the recreated object was not ready within `--recreate-deadline`; the next one may start",
    ),
];

/// Every reason that the operator writes about a claimed object.
pub const CLAIMED_REASONS: &[ConditionReason] = &[
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

/// Whether the documentation lists a reason. Those of `Ready` can come from providers, so all of them count.
pub(crate) fn is_documented(condition: &str, reason: &str) -> bool {
    let mut all = REASONS.iter().chain(CLAIMED_REASONS);
    condition == condition::READY || all.any(|row| row.condition == condition && row.word == reason)
}
