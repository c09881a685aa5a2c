//! Decisions of a controller of actors as pure functions: which objects it reconciles, and the state of an actor in one
//! word (`determineStatus` in deliveryhero/asya v0.1.1). They never read the clock.
//!
//! `kubefoundry status` derives the [`Observation`] from a cluster snapshot. [`pod_failure`] words the failure of a pod as
//! the upstream operator does in the condition `WorkloadReady`, because [`state`] reads these words.

use serde_json::Value;

use super::{inject, target};
use kubefoundry_kubernetes::image::PULL_FAILURES;
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

/// The reason of the condition `WorkloadReady` whose message names a failing pod.
pub const PODS_NOT_HEALTHY: &str = "PodsNotHealthy";

/// Derives the state from the message of the condition `WorkloadReady`. It knows more words than the upstream operator,
/// which never sees the reasons of events, or a container between a crash and its restart.
fn workload_error(failure: Option<(&str, &str)>) -> ActorState {
    let Some((_, message)) = failure.filter(|(reason, _)| *reason == PODS_NOT_HEALTHY) else {
        return ActorState::WorkloadError;
    };
    let has = |word: &str| message.contains(word);
    let crashes = has("CrashLoopBackOff") || has(TERMINATED);
    if has("Insufficient") {
        ActorState::PendingResources
    } else if PULL_FAILURES.into_iter().any(has) {
        ActorState::ImagePullError
    } else if has(super::RUNTIME) && crashes {
        ActorState::RuntimeError
    } else if has(super::SIDECAR) && crashes {
        ActorState::SidecarError
    } else if has("MountVolume") || has("VolumeMount") || VOLUME_EVENTS.into_iter().any(has) {
        ActorState::VolumeError
    } else if (has("configmap") || has("secret")) && has("not found") {
        ActorState::ConfigError
    } else {
        ActorState::WorkloadError
    }
}

/// Reasons of events of a pod that mean that a volume cannot be mounted. The status of a pod does not say so.
pub const VOLUME_EVENTS: [&str; 2] = ["FailedMount", "FailedAttachVolume"];

/// Reasons of a waiting container that are steps of a normal start.
const STARTING_REASONS: [&str; 3] = ["", "ContainerCreating", "PodInitializing"];

/// What [`pod_failure`] says about a container that has failed and is not restarting yet.
const TERMINATED: &str = "terminated with exit code";

/// Labels of the pods of an actor that contain its name: of v0.1.1 and of this program, and of later versions.
const NAME_LABELS: [&str; 2] = ["asya.sh/asya", "asya.sh/actor"];

/// Returns whether an object of this kind can run actors: one that they bind to, or their own workload.
///
/// ```
/// use kubefoundry_actor::status::is_workload;
/// assert!(is_workload("apps", "StatefulSet") && is_workload("kaito.sh", "Workspace"));
/// assert!(!is_workload("apps", "ReplicaSet"));
/// ```
pub fn is_workload(group: &str, kind: &str) -> bool {
    target::is_target(group, kind)
}

/// Returns the actor that a pod belongs to, from its labels.
///
/// ```
/// use kubefoundry_actor::status::actor_of_pod;
/// use serde_json::json;
/// let labels = json!({"asya.sh/asya": "echo", "asya.sh/workload": "deployment"});
/// assert_eq!(actor_of_pod(&json!({"kind": "Pod", "metadata": {"labels": labels}})), Some("echo"));
/// assert_eq!(actor_of_pod(&json!({"kind": "Pod", "metadata": {"labels": {"app": "echo"}}})), None);
/// ```
pub fn actor_of_pod(pod: &Value) -> Option<&str> {
    name_in_labels(pod.pointer("/metadata/labels")?)
}

/// Returns the actor that a workload runs: the one whose containers were added to it, or the one in the labels of its pods.
///
/// ```
/// use kubefoundry_actor::status::actor_of_workload;
/// use serde_json::json;
/// let bound = json!({"kind": "Workspace", "metadata": {"annotations": {"asya.sh/managed-by": "echo"}}});
/// assert_eq!(actor_of_workload(&bound), Some("echo"));
/// let own = json!({"kind": "Deployment", "spec": {"template": {"metadata": {"labels": {"asya.sh/asya": "echo"}}}}});
/// assert_eq!(actor_of_workload(&own), Some("echo"));
/// ```
pub fn actor_of_workload(workload: &Value) -> Option<&str> {
    inject::managed_by(workload).or_else(|| name_in_labels(workload.pointer("/spec/template/metadata/labels")?))
}

fn name_in_labels(labels: &Value) -> Option<&str> {
    let mut names = NAME_LABELS.into_iter().filter_map(|label| labels.get(label)?.as_str());
    names.find(|name| !name.is_empty())
}

/// Why a pod does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodFailure {
    /// The reason in one word, such as `CrashLoopBackOff`.
    pub reason: String,
    /// The failure in the words of the upstream operator, from which [`state`] derives the state.
    pub message: String,
    /// The end of the output of the container that failed; empty if the pod does not contain it.
    pub last_words: String,
}

/// Returns why a pod (core/v1, as JSON) fails, or `None` if it runs, starts or is being deleted. `volume_event` is the
/// reason and message of its newest event of [`VOLUME_EVENTS`].
///
/// ```
/// use kubefoundry_actor::status::pod_failure;
/// let pod = serde_json::json!({"metadata": {"name": "echo-1"}, "status": {"containerStatuses": [{
///     "name": "asya-runtime",
///     "state": {"waiting": {"reason": "CrashLoopBackOff"}},
///     "lastState": {"terminated": {"exitCode": 1, "message": "No module named 'echo'"}},
/// }]}});
/// let failure = pod_failure(&pod, None).unwrap();
/// assert_eq!(failure.message, "Container asya-runtime in CrashLoopBackOff (pod: echo-1)");
/// assert_eq!(failure.last_words, "No module named 'echo'");
/// ```
pub fn pod_failure(pod: &Value, volume_event: Option<(&str, &str)>) -> Option<PodFailure> {
    let name = text_at(pod, "/metadata/name");
    if !text_at(pod, "/metadata/deletionTimestamp").is_empty() {
        return None;
    }
    let failure = |reason: &str, message: String, last_words: &str| {
        let last_words = last_words.trim().to_owned();
        Some(PodFailure { reason: reason.to_owned(), message, last_words })
    };
    let (reason, message) = (text_at(pod, "/status/reason"), text_at(pod, "/status/message"));
    if text_at(pod, "/status/phase") == "Failed" {
        let reason = if reason.is_empty() { "Failed" } else { reason };
        return failure(reason, format!("Pod {name} in Failed phase"), message);
    }
    let list = |pointer: &str| pod.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    let unscheduled = list("/status/conditions")
        .find(|condition| text_at(condition, "/type") == "PodScheduled" && text_at(condition, "/status") == "False");
    if let Some(condition) = unscheduled {
        let (reason, message) = (text_at(condition, "/reason"), text_at(condition, "/message"));
        return failure(reason, format!("{reason}: {message} (pod: {name})"), "");
    }
    for status in list("/status/initContainerStatuses").chain(list("/status/containerStatuses")) {
        let container = text_at(status, "/name");
        let last_words = text_at(status, "/lastState/terminated/message");
        let waiting = text_at(status, "/state/waiting/reason");
        let exit_code = status.pointer("/state/terminated/exitCode").and_then(Value::as_i64).unwrap_or(0);
        if exit_code != 0 {
            let reason = text_at(status, "/state/terminated/reason");
            let message = format!("Container {container} {TERMINATED} {exit_code} (pod: {name})");
            return failure(reason, message, text_at(status, "/state/terminated/message"));
        }
        if STARTING_REASONS.contains(&waiting) {
            continue;
        }
        // What the kubelet says about a restart names the pod once more.
        let details = Some(text_at(status, "/state/waiting/message"));
        let details = details.filter(|details| !details.is_empty() && waiting != "CrashLoopBackOff");
        let details = details.map_or_else(String::new, |details| format!(": {details}"));
        return failure(waiting, format!("Container {container} in {waiting} (pod: {name}){details}"), last_words);
    }
    let (reason, message) = volume_event.filter(|_| !is_ready(pod))?;
    failure(reason, format!("{reason}: {message} (pod: {name})"), "")
}

/// Returns whether the condition `Ready` of a pod is true.
///
/// ```
/// use kubefoundry_actor::status::is_ready;
/// use serde_json::json;
/// assert!(is_ready(&json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})));
/// assert!(!is_ready(&json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}})));
/// ```
pub fn is_ready(pod: &Value) -> bool {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    let mut ready = conditions.into_iter().flatten().filter(|condition| text_at(condition, "/type") == "Ready");
    ready.any(|condition| text_at(condition, "/status") == "True")
}

/// Returns the text at a JSON pointer, or an empty text.
fn text_at<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use serde_json::json;

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
            (failed("Container asya-runtime in InvalidImageName (pod: a)"), ActorState::ImagePullError),
            (failed("Container asya-sidecar terminated with exit code 2 (pod: a)"), ActorState::SidecarError),
            (failed("Container model terminated with exit code 2 (pod: a)"), ActorState::WorkloadError),
            (failed("MountVolume.SetUp failed"), ActorState::VolumeError),
            (failed("FailedMount: Unable to attach or mount volumes (pod: a)"), ActorState::VolumeError),
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

    #[test]
    fn names_the_failure_of_a_pod() {
        let container = |state: &Value| json!({"metadata": {"name": "p"}, "status": {"containerStatuses": [{"name": "c", "state": state}]}});
        let message = |pod: &Value, event| pod_failure(pod, event).map(|failure| failure.message);
        let waiting = |reason: &str, message: &str| json!({"waiting": {"reason": reason, "message": message}});
        for (state, expected) in [
            (json!({"running": {}}), None),
            (json!({"terminated": {"exitCode": 0}}), None),
            (waiting("ContainerCreating", ""), None),
            (json!({"terminated": {"exitCode": 137}}), Some("Container c terminated with exit code 137 (pod: p)")),
            (waiting("CrashLoopBackOff", "back-off 5m0s"), Some("Container c in CrashLoopBackOff (pod: p)")),
            (
                waiting("CreateContainerConfigError", "secret \"s\" not found"),
                Some("Container c in CreateContainerConfigError (pod: p): secret \"s\" not found"),
            ),
        ] {
            assert_eq!(message(&container(&state), None).as_deref(), expected, "{state}");
        }
        let mut creating = container(&waiting("ContainerCreating", ""));
        let event = Some(("FailedMount", "no volume"));
        assert_eq!(message(&creating, event).as_deref(), Some("FailedMount: no volume (pod: p)"));
        creating["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
        assert_eq!(message(&creating, event), None);
        let mut failed =
            json!({"metadata": {"name": "p"}, "status": {"phase": "Failed", "reason": "Evicted", "message": "disk"}});
        let failure = pod_failure(&failed, None).unwrap();
        assert_eq!((failure.reason.as_str(), failure.last_words.as_str()), ("Evicted", "disk"));
        failed["metadata"]["deletionTimestamp"] = json!("2026-01-30T10:00:00Z");
        assert_eq!(message(&failed, None), None);
    }
}
