//! Decisions of a controller of actors as pure functions: which objects it reconciles, and the state of an actor in one
//! word (`determineStatus` in deliveryhero/asya v0.1.1). They never read the clock.

use serde_json::Value;

use super::inject;
use kubefoundry_kubernetes::string_enum;

string_enum! {
    /// The state of an actor.
    pub enum ActorState {
        /// The actor is being deleted.
        Terminating = "Terminating",
        /// No controller has reconciled it yet.
        Creating = "Creating",
        /// The transport is not ready.
        TransportError = "TransportError",
        /// The actor cannot be scaled.
        ScalingError = "ScalingError",
        /// The actor is scaled to zero.
        Napping = "Napping",
        /// No node has enough resources for its pods.
        PendingResources = "PendingResources",
        /// An image cannot be pulled.
        ImagePullError = "ImagePullError",
        /// The runtime crashes.
        RuntimeError = "RuntimeError",
        /// The sidecar crashes.
        SidecarError = "SidecarError",
        /// A volume cannot be mounted.
        VolumeError = "VolumeError",
        /// A ConfigMap or a Secret is missing.
        ConfigError = "ConfigError",
        /// Pods fail for another reason.
        WorkloadError = "WorkloadError",
        /// Replicas are being added.
        ScalingUp = "ScalingUp",
        /// Replicas are being removed.
        ScalingDown = "ScalingDown",
        /// Some replicas have not been ready for a long time.
        Degraded = "Degraded",
        /// All desired replicas are ready.
        Running = "Running",
        /// None of these.
        Unknown = "Unknown",
    }
}

/// The observed state of an actor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an observation of its own")]
pub struct Observation<'o> {
    /// Whether it has a deletion timestamp.
    pub deleting: bool,
    /// `status.observedGeneration`, or zero if no controller has reconciled the actor.
    pub observed_generation: i64,
    /// Whether the condition `TransportReady` is true.
    pub transport_ready: bool,
    /// Whether the condition `ScalingReady` is true.
    pub scaling_ready: bool,
    /// Whether `spec.scaling.enabled` is true.
    pub scaling_enabled: bool,
    /// Whether the condition `WorkloadReady` is true.
    pub workload_ready: bool,
    /// Reason and message of the condition `WorkloadReady`, when it is false.
    pub workload_failure: Option<(&'o str, &'o str)>,
    /// Ready pods.
    pub ready: i32,
    /// All pods.
    pub total: i32,
    /// Desired pods.
    pub desired: i32,
    /// Pods that fail.
    pub failing: i32,
    /// Seconds since the last change of replicas.
    pub seconds_since_scaling: Option<i64>,
}

/// Seconds after a change of replicas during which unready replicas count as starting.
const DEGRADED_AFTER_SECONDS: i64 = 5 * 60;

/// Returns the state of an actor: the first one that applies.
///
/// ```
/// use kubefoundry_actor::status::{ActorState, Observation, state};
/// let well = Observation {
///     observed_generation: 1, transport_ready: true, workload_ready: true, ready: 2, total: 2, desired: 2,
///     ..Observation::default()
/// };
/// assert_eq!(state(&well), ActorState::Running);
/// assert_eq!(state(&Observation { transport_ready: false, ..well }), ActorState::TransportError);
/// ```
pub fn state(observation: &Observation<'_>) -> ActorState {
    let Observation { ready, total, desired, failing, scaling_enabled, scaling_ready, .. } = *observation;
    if observation.deleting {
        ActorState::Terminating
    } else if observation.observed_generation == 0 {
        ActorState::Creating
    } else if !observation.transport_ready {
        ActorState::TransportError
    } else if scaling_enabled && !scaling_ready {
        ActorState::ScalingError
    } else if desired == 0 && scaling_enabled {
        ActorState::Napping
    } else if !observation.workload_ready {
        workload_error(observation.workload_failure)
    } else if failing > 0 && ready < desired {
        ActorState::WorkloadError
    } else if total < desired && desired > 0 {
        ActorState::ScalingUp
    } else if total > desired {
        ActorState::ScalingDown
    } else if ready < total && total > 0 {
        let for_long = observation.seconds_since_scaling.is_some_and(|seconds| seconds > DEGRADED_AFTER_SECONDS);
        if for_long { ActorState::Degraded } else { ActorState::ScalingUp }
    } else if ready == desired && (ready > 0 || !scaling_enabled) {
        ActorState::Running
    } else {
        ActorState::Unknown
    }
}

/// Derives the state from the message of the condition `WorkloadReady`.
fn workload_error(failure: Option<(&str, &str)>) -> ActorState {
    let Some((_, message)) = failure.filter(|(reason, _)| *reason == "PodsNotHealthy") else {
        return ActorState::WorkloadError;
    };
    let has = |word: &str| message.contains(word);
    if has("Insufficient") {
        ActorState::PendingResources
    } else if has("ImagePullBackOff") || has("ErrImagePull") {
        ActorState::ImagePullError
    } else if has(super::RUNTIME) && has("CrashLoopBackOff") {
        ActorState::RuntimeError
    } else if has(super::SIDECAR) && has("CrashLoopBackOff") {
        ActorState::SidecarError
    } else if has("MountVolume") || has("VolumeMount") {
        ActorState::VolumeError
    } else if (has("configmap") || has("secret")) && has("not found") {
        ActorState::ConfigError
    } else {
        ActorState::WorkloadError
    }
}

/// Returns whether a controller must handle changes of a workload, that is, whether it has the annotation of an actor
/// (ADR-001, predicate filtering).
///
/// ```
/// use kubefoundry_actor::status::is_managed;
/// use serde_json::json;
/// assert!(is_managed(&json!({"metadata": {"annotations": {"asya.sh/managed-by": "echo"}}})));
/// assert!(!is_managed(&json!({"metadata": {"annotations": {"asya.sh/managed-by": ""}}})));
/// assert!(!is_managed(&json!({"metadata": {}})));
/// ```
pub fn is_managed(object: &Value) -> bool {
    inject::managed_by(object).is_some()
}

/// Returns whether only the replicas in the specification of a workload changed. Autoscalers make such changes, which
/// need no reconciliation.
///
/// ```
/// use kubefoundry_actor::status::only_replicas_changed;
/// use serde_json::json;
/// let with = |replicas: i32, paused: bool| json!({"spec": {"replicas": replicas, "paused": paused}});
/// assert!(only_replicas_changed(&with(1, false), &with(3, false)));
/// assert!(!only_replicas_changed(&with(1, false), &with(3, true)));
/// assert!(!only_replicas_changed(&with(1, false), &with(1, false)));
/// ```
pub fn only_replicas_changed(old: &Value, new: &Value) -> bool {
    let parts = |object: &Value| {
        let mut spec = object.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
        (spec.shift_remove("replicas"), spec)
    };
    let ((was, before), (is, after)) = (parts(old), parts(new));
    before == after && was != is
}

#[cfg(test)]
mod tests {
    use super::*;

    const WELL: Observation<'_> = Observation {
        deleting: false,
        observed_generation: 3,
        transport_ready: true,
        scaling_ready: true,
        scaling_enabled: true,
        workload_ready: true,
        workload_failure: None,
        ready: 2,
        total: 2,
        desired: 2,
        failing: 0,
        seconds_since_scaling: None,
    };

    /// One row for each state, in order of precedence.
    #[test]
    fn derives_the_state_from_an_observation() {
        let failed = |message| Observation {
            workload_ready: false,
            workload_failure: Some(("PodsNotHealthy", message)),
            ..WELL
        };
        let rows = [
            (Observation { deleting: true, transport_ready: false, ..WELL }, ActorState::Terminating),
            (Observation { observed_generation: 0, transport_ready: false, ..WELL }, ActorState::Creating),
            (Observation { transport_ready: false, scaling_ready: false, ..WELL }, ActorState::TransportError),
            (Observation { scaling_ready: false, workload_ready: false, ..WELL }, ActorState::ScalingError),
            (Observation { desired: 0, ready: 0, total: 0, workload_ready: false, ..WELL }, ActorState::Napping),
            (failed("0/3 nodes: Insufficient nvidia.com/gpu"), ActorState::PendingResources),
            (failed("Container asya-runtime in ImagePullBackOff (pod: a)"), ActorState::ImagePullError),
            (failed("Container asya-runtime in CrashLoopBackOff (pod: a)"), ActorState::RuntimeError),
            (failed("Container asya-sidecar in CrashLoopBackOff (pod: a)"), ActorState::SidecarError),
            (failed("MountVolume.SetUp failed"), ActorState::VolumeError),
            (failed("configmap \"asya-runtime\" not found"), ActorState::ConfigError),
            (failed("Pod a in Failed phase"), ActorState::WorkloadError),
            (Observation { workload_ready: false, ..WELL }, ActorState::WorkloadError),
            (Observation { failing: 1, ready: 1, ..WELL }, ActorState::WorkloadError),
            (Observation { failing: 1, ..WELL }, ActorState::Running),
            (Observation { total: 1, ready: 1, ..WELL }, ActorState::ScalingUp),
            (Observation { total: 3, ..WELL }, ActorState::ScalingDown),
            (Observation { ready: 1, seconds_since_scaling: Some(301), ..WELL }, ActorState::Degraded),
            (Observation { ready: 1, seconds_since_scaling: Some(300), ..WELL }, ActorState::ScalingUp),
            (Observation { ready: 1, ..WELL }, ActorState::ScalingUp),
            (WELL, ActorState::Running),
            (Observation { ready: 0, total: 0, desired: 0, scaling_enabled: false, ..WELL }, ActorState::Running),
            (Observation { ready: 3, ..WELL }, ActorState::Unknown),
        ];
        for (observation, expected) in rows {
            assert_eq!(state(&observation), expected, "{observation:?}");
        }
    }
}
