//! The status of a server's pod: how far each external provider, the merge, the preflight and the server are, with the
//! last words of the containers that failed.
//!
//! The preflight is the first part of the server's container: the start script imports each provider, and runs
//! `llama-stack preflight` if there is one. Its errors have a form of their own, by which they differ from the server's.
//!
//! The phases and texts of providers are those of [`super::phase`]; the other containers of the pod have the same phases.

use serde_json::Value;

use super::phase::{ContainerState, Phase, container_state, is_pull_failure, phase, text_at};

/// A part of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodPart {
    /// `external provider`, `configuration`, `merge`, `preflight`, `server` or `pod`.
    pub role: &'static str,
    /// The id of the provider, or the name of the container or pod.
    pub name: String,
    /// How far it is.
    pub phase: Phase,
    /// More about the phase: for a failure, the last words of the container.
    pub message: String,
}

/// The prefix of the init containers that install providers.
const PROVIDER_PREFIX: &str = "external-provider-";

/// Returns the name of the distribution that a pod belongs to, if it is the pod of a server with external providers.
///
/// ```
/// let pod = serde_json::json!({
///     "metadata": {"labels": {"app": "llama-stack", "app.kubernetes.io/instance": "chat"}},
///     "spec": {"initContainers": [{"name": "external-provider-a"}]},
/// });
/// assert_eq!(kubefoundry_llamastack::pod_status::distribution_of(&pod), Some("chat"));
/// ```
pub fn distribution_of(pod: &Value) -> Option<&str> {
    let mut names = containers(pod, "initContainers").map(|container| text_at(container, "/name"));
    names.any(|name| name.starts_with(PROVIDER_PREFIX)).then(|| server_of(pod))?
}

/// Returns the name of the distribution in the labels of a pod, with or without external providers.
///
/// ```
/// let labels = serde_json::json!({"app": "llama-stack", "app.kubernetes.io/instance": "chat"});
/// let pod = serde_json::json!({"metadata": {"labels": labels}});
/// assert_eq!(kubefoundry_llamastack::pod_status::server_of(&pod), Some("chat"));
/// ```
pub fn server_of(pod: &Value) -> Option<&str> {
    let labels = pod.pointer("/metadata/labels")?;
    let is_server = labels.get("app").and_then(Value::as_str) == Some("llama-stack");
    is_server.then(|| labels.get("app.kubernetes.io/instance")?.as_str())?
}

/// Returns the parts of a pod, in the order in which they start.
///
/// ```
/// use kubefoundry_llamastack::phase::Phase;
/// use kubefoundry_llamastack::pod_status::parts;
/// let pod = serde_json::json!({
///     "spec": {
///         "initContainers": [{"name": "external-provider-a", "image": "acme/a:1"}, {"name": "merge-config", "image": "k"}],
///         "containers": [{"name": "llama-stack", "image": "starter"}],
///     },
///     "status": {"initContainerStatuses": [
///         {"name": "external-provider-a", "state": {"waiting": {"reason": "ImagePullBackOff"}}},
///     ]},
/// });
/// let parts = parts(&pod);
/// assert_eq!((parts[0].role, parts[0].name.as_str(), parts[0].phase), ("external provider", "a", Phase::Failed));
/// assert_eq!(parts[0].message, "Failed to pull provider image acme/a:1: ImagePullBackOff; check image pull credentials");
/// assert_eq!((parts[1].role, parts[1].phase), ("merge", Phase::Pending));
/// ```
pub fn parts(pod: &Value) -> Vec<PodPart> {
    let mut parts: Vec<PodPart> =
        containers(pod, "initContainers").map(|container| init_part(pod, container)).collect();
    // The user may have other containers injected; the server is the first.
    parts.extend(containers(pod, "containers").take(1).flat_map(|container| server_parts(pod, container)));
    // What ends or stops a whole pod is in no container: an eviction, or no node with room.
    let pod_status = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    let unscheduled = conditions
        .into_iter()
        .flatten()
        .find(|condition| text_at(condition, "/type") == "PodScheduled" && text_at(condition, "/status") == "False");
    let whole = match (pod_status("/status/phase"), pod_status("/status/reason")) {
        (Some("Failed"), Some(reason)) => {
            Some((Phase::Failed, joined(reason, pod_status("/status/message").unwrap_or_default())))
        }
        _ => unscheduled.map(|it| (Phase::Pending, joined(text_at(it, "/reason"), text_at(it, "/message")))),
    };
    if let Some((phase, message)) = whole {
        parts.insert(0, PodPart { role: "pod", name: text_at(pod, "/metadata/name").to_owned(), phase, message });
    }
    parts
}

fn containers<'p>(pod: &'p Value, list: &str) -> impl Iterator<Item = &'p Value> {
    pod.pointer(&format!("/spec/{list}")).and_then(Value::as_array).into_iter().flatten()
}

fn joined(reason: &str, message: &str) -> String {
    if message.is_empty() { reason.to_owned() } else { format!("{reason}: {message}") }
}

fn init_part(pod: &Value, container: &Value) -> PodPart {
    let (name, image) = (text_at(container, "/name"), text_at(container, "/image"));
    let state = container_state(pod, "initContainerStatuses", name);
    if let Some(id) = name.strip_prefix(PROVIDER_PREFIX) {
        let (phase, message) = phase(image, &state);
        return PodPart { role: "external provider", name: id.to_owned(), phase, message };
    }
    let role = match name {
        "extract-distribution-config" => "configuration",
        "merge-config" => "merge",
        _ => "init container",
    };
    let (phase, message) = match &state {
        ContainerState::Running => (Phase::Installing, "running".to_owned()),
        ContainerState::Terminated { exit_code: 0, .. } => (Phase::Ready, "done".to_owned()),
        other => general_phase(image, other),
    };
    PodPart { role, name: name.to_owned(), phase, message }
}

/// Returns the preflight, if the container begins with it, and the server.
fn server_parts(pod: &Value, container: &Value) -> Vec<PodPart> {
    let (name, image) = (text_at(container, "/name"), text_at(container, "/image"));
    let statuses = pod.pointer("/status/containerStatuses").and_then(Value::as_array);
    let status = statuses.into_iter().flatten().find(|status| text_at(status, "/name") == name);
    let is_true = |field: &str| status.and_then(|status| status.get(field)?.as_bool()) == Some(true);
    let state = container_state(pod, "containerStatuses", name);
    let (phase, message) = match state {
        ContainerState::Running if is_true("ready") => (Phase::Ready, "serving".to_owned()),
        ContainerState::Running => (Phase::Installing, "starting".to_owned()),
        // A server does not end by itself.
        ContainerState::Terminated { exit_code, message } => failure(exit_code, message),
        ref other => general_phase(image, other),
    };
    let part = |role, phase, message| PodPart { role, name: name.to_owned(), phase, message };
    if !has_preflight(container) {
        return vec![part("server", phase, message)];
    }
    let has_run = !matches!(state, ContainerState::Waiting { last: None, .. } | ContainerState::Absent);
    if phase == Phase::Failed && has_run && is_preflight_error(&message) {
        let waiting = "Waiting for the preflight".to_owned();
        return vec![part("preflight", Phase::Failed, message), part("server", Phase::Pending, waiting)];
    }
    let (preflight, words) = match phase {
        Phase::Installing if !is_true("started") => (Phase::Installing, "running, until the server answers"),
        Phase::Failed | Phase::Pending if !has_run => (Phase::Pending, "Waiting for container to start"),
        _ => (Phase::Ready, "reported no error"),
    };
    vec![part("preflight", preflight, words.to_owned()), part("server", phase, message)]
}

/// Returns whether a server's container begins with the start script, which only it has this variable for.
fn has_preflight(container: &Value) -> bool {
    let variables = container.get("env").and_then(Value::as_array).into_iter().flatten();
    text_at(container, "/command/0") == "/bin/sh"
        && variables.into_iter().any(|variable| text_at(variable, "/name") == "LLS_PREFLIGHT")
}

/// Returns whether the last words of a container are an error of the start script, which names a resolution.
fn is_preflight_error(message: &str) -> bool {
    // The first line comes after what this program says about the exit.
    message.contains("ERROR: ") && message.lines().any(|line| line.starts_with("Resolution: "))
}

/// Returns the phase of a container that is neither running nor done.
fn general_phase(image: &str, state: &ContainerState<'_>) -> (Phase, String) {
    match *state {
        ContainerState::Waiting { reason, message, .. } if is_pull_failure(reason) => (
            Phase::Failed,
            format!("Failed to pull image {image}: {}; check image pull credentials", joined(reason, message)),
        ),
        ContainerState::Waiting { last: Some((exit_code, message)), .. } if exit_code != 0 => {
            failure(exit_code, message)
        }
        ContainerState::Terminated { exit_code, message } => failure(exit_code, message),
        ContainerState::Waiting { reason, .. } => (Phase::Pending, reason.to_owned()),
        ContainerState::Absent | ContainerState::Running => {
            (Phase::Pending, "Waiting for container to start".to_owned())
        }
    }
}

fn failure(exit_code: i64, message: &str) -> (Phase, String) {
    let message = message.trim();
    let message = if message.is_empty() { String::new() } else { format!(": {message}") };
    (Phase::Failed, format!("Container failed with exit code {exit_code}{message}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(status: &Value) -> Value {
        json!({
            "metadata": {"name": "chat-1", "labels": {"app": "llama-stack", "app.kubernetes.io/instance": "chat"}},
            "spec": {
                "initContainers": [{"name": "external-provider-a", "image": "i"}, {"name": "merge-config", "image": "k"}],
                "containers": [{"name": "llama-stack", "image": "s"}, {"name": "proxy"}],
            },
            "status": status,
        })
    }

    fn told(status: &Value) -> Vec<(&'static str, Phase, String)> {
        parts(&pod(status)).into_iter().map(|part| (part.role, part.phase, part.message)).collect()
    }

    #[test]
    fn tells_what_stopped_a_pod() {
        let done = json!({"terminated": {"exitCode": 0}});
        let failed = json!({"terminated": {"exitCode": 1, "message": "ERROR: Provider API type mismatch\n"}});
        let inits = |a: &Value, merge: &Value| json!([{"name": "external-provider-a", "state": a}, {"name": "merge-config", "state": merge}]);
        let found = told(&json!({"initContainerStatuses": inits(&done, &failed)}));
        let message = "Container failed with exit code 1: ERROR: Provider API type mismatch".to_owned();
        assert_eq!(found[1], ("merge", Phase::Failed, message));
        let crashed =
            json!([{"name": "llama-stack", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": failed}]);
        let found = told(&json!({"initContainerStatuses": inits(&done, &done), "containerStatuses": crashed}));
        assert_eq!((found[1].1, found[2].0, found[2].1), (Phase::Ready, "server", Phase::Failed));
        let running = json!([{"name": "llama-stack", "ready": true, "state": {"running": {}}}]);
        let found = told(&json!({"initContainerStatuses": inits(&done, &done), "containerStatuses": running}));
        assert_eq!(found[2], ("server", Phase::Ready, "serving".to_owned()));
        let found = told(
            &json!({"phase": "Failed", "reason": "Evicted", "message": "Usage of EmptyDir volume exceeds the limit"}),
        );
        let message = "Evicted: Usage of EmptyDir volume exceeds the limit".to_owned();
        assert_eq!(found[0], ("pod", Phase::Failed, message));
        let condition =
            json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}]);
        assert_eq!(
            told(&json!({"conditions": condition}))[0],
            ("pod", Phase::Pending, "Unschedulable: 0/3 nodes".to_owned())
        );
    }

    /// The form of an error and the startup probe show whether the container is still at its preflight.
    #[test]
    fn separates_the_preflight_from_the_server() {
        let mut pod = pod(&json!({}));
        pod["spec"]["containers"][0]["command"] = json!(["/bin/sh", "-c", "script"]);
        pod["spec"]["containers"][0]["env"] = json!([{"name": "LLS_PREFLIGHT", "value": "auto"}]);
        let mut told = |status: Value| {
            pod["status"]["containerStatuses"] = json!([status]);
            let parts = parts(&pod).split_off(2);
            parts.into_iter().map(|part| (part.role, part.phase)).collect::<Vec<_>>()
        };
        let of =
            |state: &Value, more: bool| json!({"name": "llama-stack", "started": more, "ready": more, "state": state});
        let (running, waiting) = (json!({"running": {}}), json!({"waiting": {"reason": "PodInitializing"}}));
        let ended = |message: &str| json!({"terminated": {"exitCode": 1, "message": message}});
        let error = ended("ERROR: Cannot get the specification\n\nResolution: Build it\n");
        for (status, preflight, server) in [
            (of(&waiting, false), Phase::Pending, Phase::Pending),
            (of(&json!({"waiting": {"reason": "ErrImagePull"}}), false), Phase::Pending, Phase::Failed),
            (of(&running, false), Phase::Installing, Phase::Installing),
            (of(&running, true), Phase::Ready, Phase::Ready),
            (of(&error, false), Phase::Failed, Phase::Pending),
            (of(&ended("ERROR:    Application startup failed."), false), Phase::Ready, Phase::Failed),
        ] {
            assert_eq!(told(status.clone()), [("preflight", preflight), ("server", server)], "{status}");
        }
    }
}
