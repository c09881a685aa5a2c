//! The installation phase of external providers: derives `status.externalProviders` of a distribution from the init
//! containers of a pod.
//!
//! It is for controllers and for `kubefoundry status`; rendering does not use it. Source: `specs/001-deploy-time-providers-l1/plan.md` of
//! `github.com/llamastack/llama-stack-k8s-operator`, "Phase 5: Status Tracking". There are two differences: an image
//! that cannot be pulled is a failure (`spec.md`, user story 3), and the time changes only with the phase.

use serde::Serialize;
use serde_json::Value;

use kubefoundry_kubernetes::image::PULL_FAILURES;
use kubefoundry_kubernetes::wire::Timestamp;
use kubefoundry_kubernetes::{string_enum, wire_object};

string_enum! {
    /// The installation phase of an external provider.
    pub enum Phase {
        /// The init container has not started.
        Pending = "Pending",
        /// The init container is running.
        Installing = "Installing",
        /// The packages are installed.
        Ready = "Ready",
        /// The image cannot be pulled, or the init container failed.
        Failed = "Failed",
    }
}

/// The state of a container in the status of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerState<'s> {
    /// The status does not list the container yet.
    Absent,
    /// The container is waiting, for a reason such as `PodInitializing`.
    Waiting {
        /// `state.waiting.reason`.
        reason: &'s str,
        /// `state.waiting.message`.
        message: &'s str,
        /// `lastState.terminated`: exit code and message of the previous run, if there was one.
        last: Option<(i64, &'s str)>,
    },
    /// The container is running.
    Running,
    /// The container has terminated.
    Terminated {
        /// `state.terminated.exitCode`.
        exit_code: i64,
        /// `state.terminated.message`: the end of its output.
        message: &'s str,
    },
}

/// An entry of `status.externalProviders`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderStatus {
    /// The provider's id.
    pub provider_id: String,
    /// Its image.
    pub image: String,
    /// How far it is.
    pub phase: Phase,
    /// More about the phase.
    pub message: String,
    /// The container that installs it.
    pub init_container_name: String,
    /// When the phase last changed, as RFC 3339.
    pub last_transition_time: String,
}

wire_object! {
    /// How far the installation of an external provider is: what the CRD of the distribution has of [`ProviderStatus`].
    pub struct ExternalProviderStatus {
        /// The provider's id.
        provider_id: String = "providerId" [required()],
        /// Its image.
        image: String = "image" [required()],
        /// How far it is.
        phase: Phase = "phase" [required()],
        /// More about the phase.
        message: String = "message",
        /// The container that installs it.
        init_container_name: String = "initContainerName",
        /// When the phase last changed.
        last_transition_time: String = "lastTransitionTime" [shape(Timestamp::SHAPE)],
    }
}

/// Returns the name of the init container that installs a provider.
///
/// ```
/// assert_eq!(kubefoundry_llamastack::phase::init_container_name("vllm"), "external-provider-vllm");
/// ```
pub fn init_container_name(provider_id: &str) -> String {
    format!("external-provider-{provider_id}")
}

/// Returns whether a reason of a waiting container means that its image cannot be pulled.
pub(super) fn is_pull_failure(reason: &str) -> bool {
    PULL_FAILURES.contains(&reason)
}

/// Derives the phase of a provider and its message from the state of its init container.
///
/// ```
/// use kubefoundry_llamastack::phase::{ContainerState, Phase, phase};
/// let waiting = ContainerState::Waiting { reason: "ImagePullBackOff", message: "unauthorized", last: None };
/// let (phase, message) = phase("quay.io/acme/vllm:1.0", &waiting);
/// assert_eq!(phase, Phase::Failed);
/// assert_eq!(
///     message,
///     "Failed to pull provider image quay.io/acme/vllm:1.0: ImagePullBackOff: unauthorized; check image pull credentials"
/// );
/// ```
pub fn phase(image: &str, state: &ContainerState<'_>) -> (Phase, String) {
    let failed = |exit_code: i64, message: &str| {
        let message = message.trim();
        let message = if message.is_empty() { String::new() } else { format!(": {message}") };
        (Phase::Failed, format!("Init container failed with exit code {exit_code}{message}"))
    };
    match *state {
        ContainerState::Absent => (Phase::Pending, "Waiting for init container to start".to_owned()),
        ContainerState::Running => (Phase::Installing, "Installing provider packages".to_owned()),
        ContainerState::Terminated { exit_code: 0, .. } => (Phase::Ready, "Provider installed successfully".to_owned()),
        ContainerState::Terminated { exit_code, message } => failed(exit_code, message),
        ContainerState::Waiting { reason, message, .. } if is_pull_failure(reason) => {
            let message = if message.is_empty() { String::new() } else { format!(": {message}") };
            let text =
                format!("Failed to pull provider image {image}: {reason}{message}; check image pull credentials");
            (Phase::Failed, text)
        }
        ContainerState::Waiting { last: Some((exit_code, message)), .. } if exit_code != 0 => {
            failed(exit_code, message)
        }
        ContainerState::Waiting { reason: "", .. } => (Phase::Pending, "Waiting".to_owned()),
        ContainerState::Waiting { reason, .. } => (Phase::Pending, reason.to_owned()),
    }
}

/// Builds the status of a provider at a time (RFC 3339). The time of the previous status is kept while its phase is
/// unchanged.
///
/// ```
/// use kubefoundry_llamastack::phase::{ContainerState, status};
/// let first = status("vllm", "acme/vllm:1", &ContainerState::Absent, "2026-01-01T00:00:00Z", None);
/// let waiting = ContainerState::Waiting { reason: "PodInitializing", message: "", last: None };
/// let second = status("vllm", "acme/vllm:1", &waiting, "2026-01-01T00:00:05Z", Some(&first));
/// assert_eq!((second.message.as_str(), second.last_transition_time.as_str()), ("PodInitializing", "2026-01-01T00:00:00Z"));
/// ```
pub fn status(
    provider_id: &str,
    image: &str,
    state: &ContainerState<'_>,
    now: &str,
    before: Option<&ProviderStatus>,
) -> ProviderStatus {
    let (phase, message) = phase(image, state);
    let since = before.filter(|before| before.provider_id == provider_id && before.phase == phase);
    ProviderStatus {
        provider_id: provider_id.to_owned(),
        image: image.to_owned(),
        phase,
        message,
        init_container_name: init_container_name(provider_id),
        last_transition_time: since.map_or(now, |since| since.last_transition_time.as_str()).to_owned(),
    }
}

/// Returns the state of a provider's init container in a pod (core/v1, as JSON).
///
/// ```
/// use kubefoundry_llamastack::phase::{ContainerState, state};
/// let pod = serde_json::json!({"status": {"initContainerStatuses": [
///     {"name": "external-provider-vllm", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}},
/// ]}});
/// assert_eq!(state(&pod, "vllm"), ContainerState::Running);
/// assert_eq!(state(&pod, "guard"), ContainerState::Absent);
/// ```
pub fn state<'p>(pod: &'p Value, provider_id: &str) -> ContainerState<'p> {
    container_state(pod, "initContainerStatuses", &init_container_name(provider_id))
}

/// Returns the state of a container in a list of the pod's status.
pub(super) fn container_state<'p>(pod: &'p Value, list: &str, name: &str) -> ContainerState<'p> {
    let statuses = pod.pointer(&format!("/status/{list}")).and_then(Value::as_array);
    let status = statuses.into_iter().flatten().find(|status| text_at(status, "/name") == name);
    let Some(status) = status else { return ContainerState::Absent };
    let termination = |state: &str| {
        let terminated = status.pointer(&format!("/{state}/terminated"))?;
        Some((terminated.get("exitCode").and_then(Value::as_i64)?, text_at(terminated, "/message")))
    };
    if let Some((exit_code, message)) = termination("state") {
        ContainerState::Terminated { exit_code, message }
    } else if status.pointer("/state/running").is_some() {
        ContainerState::Running
    } else if let Some(waiting) = status.pointer("/state/waiting") {
        let last = termination("lastState");
        ContainerState::Waiting { reason: text_at(waiting, "/reason"), message: text_at(waiting, "/message"), last }
    } else {
        // core/v1 defines a container without a state as waiting.
        ContainerState::Absent
    }
}

/// Returns the text at a JSON pointer, or an empty text.
pub(super) fn text_at<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase_of(state: &Value) -> (Phase, String) {
        let pod = serde_json::json!({"status": {"initContainerStatuses": [
            {"name": "other", "state": {"running": {}}},
            {"name": "external-provider-a", "state": state["state"], "lastState": state["lastState"]},
        ]}});
        phase("acme/a:1", &super::state(&pod, "a"))
    }

    #[test]
    fn derives_a_phase_from_every_state() {
        let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        for (state, expected, message) in [
            ("{}", Phase::Pending, "Waiting for init container to start"),
            (r#"{"state": {"waiting": {"reason": "PodInitializing"}}}"#, Phase::Pending, "PodInitializing"),
            (r#"{"state": {"waiting": {}}}"#, Phase::Pending, "Waiting"),
            (r#"{"state": {"running": {}}}"#, Phase::Installing, "Installing provider packages"),
            (r#"{"state": {"terminated": {"exitCode": 0}}}"#, Phase::Ready, "Provider installed successfully"),
            (
                r#"{"state": {"terminated": {"exitCode": 1, "message": "ERROR: Missing x\n"}}}"#,
                Phase::Failed,
                "Init container failed with exit code 1: ERROR: Missing x",
            ),
            (
                r#"{"state": {"terminated": {"exitCode": 137}}}"#,
                Phase::Failed,
                "Init container failed with exit code 137",
            ),
            // Between two attempts the message of the failed one is shown.
            (
                r#"{"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1, "message": "no wheel"}}}"#,
                Phase::Failed,
                "Init container failed with exit code 1: no wheel",
            ),
            (
                r#"{"state": {"waiting": {"reason": "InvalidImageName"}}}"#,
                Phase::Failed,
                "Failed to pull provider image acme/a:1: InvalidImageName; check image pull credentials",
            ),
        ] {
            assert_eq!(phase_of(&json(state)), (expected, message.to_owned()), "{state}");
        }
    }

    #[test]
    fn writes_the_fields_of_the_crd() {
        let status = serde_json::to_value(status("a", "i", &ContainerState::Running, "1", None)).unwrap();
        let keys: Vec<&str> = status.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ExternalProviderStatus::FIELDS);
    }

    #[test]
    fn changes_the_time_only_with_the_phase() {
        let first = status("a", "i", &ContainerState::Running, "1", None);
        assert_eq!(status("a", "i", &ContainerState::Running, "2", Some(&first)).last_transition_time, "1");
        let ended = ContainerState::Terminated { exit_code: 0, message: "" };
        assert_eq!(status("a", "i", &ended, "2", Some(&first)).last_transition_time, "2");
        assert_eq!(status("b", "i", &ContainerState::Running, "2", Some(&first)).last_transition_time, "2");
    }
}
