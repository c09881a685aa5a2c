//! The status of a Workspace and of an InferenceSet.
//!
//! Sources, of kaito-project/kaito: `pkg/workspace/controllers/workspace_controller.go` (updateWorkspaceStatus: states
//! and reasons), `pkg/inferenceset/inferenceset_controller.go` (addOrUpdateInferenceSet). `WorkspaceSucceeded` is also
//! False while a Workspace starts; only the reason `workspaceFailed`, which tuning sets, is a failure.

use serde_json::Value;

use kubefoundry_deployment::wire::Phase;
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::wire::ConditionStatus;
use kubefoundry_provider::status::{
    ObservedObject, ProviderState, Replicas, Status, StatusError, StatusSource, integer_at,
};
use kubefoundry_transform::Endpoint;

const SOURCE: StatusSource = StatusSource {
    provider: "KAITO",
    group: "kaito.sh",
    versions: &["v1alpha1", "v1beta1"],
    kinds: &["Workspace", INFERENCE_SET],
};
const INFERENCE_SET: &str = "InferenceSet";

/// The port of the Services.
const PORT: u16 = 80;

pub(super) fn translate(object: &Value) -> Result<Status, StatusError> {
    let mut observed = ObservedObject::parse(object, &SOURCE)?;
    let state = if observed.kind == INFERENCE_SET {
        inference_set_state(&mut observed)
    } else {
        workspace_state(&mut observed)
    };
    Ok(observed.into_status(state))
}

fn workspace_state(observed: &mut ObservedObject<'_>) -> ProviderState {
    const SUCCEEDED: &str = "WorkspaceSucceeded";
    let phase = match observed.read_string_enum("state") {
        Some("Ready" | "Succeeded") => Some(Phase::Running),
        // Running is the state of a tuning job, whose model does not serve yet.
        Some("NotReady" | "Running") => Some(Phase::Deploying),
        Some("Failed") => Some(Phase::Failed),
        Some("" | "Pending") => Some(phase_from_conditions(observed)),
        Some(other) => {
            observed.note_unrecognized("status.state", other);
            None
        }
        // v1alpha1 has conditions only.
        None if observed.has_unrecognized() => None,
        None => Some(phase_from_conditions(observed)),
    };
    let failure =
        observed.reason_if_false(SUCCEEDED).filter(|reason| ["workspaceFailed", "BenchmarkFailed"].contains(reason));
    let failure = failure.and_then(|_| observed.condition_message(SUCCEEDED));
    let message = failure
        .or_else(|| observed.condition_message("InferenceReady"))
        .or_else(|| observed.condition_message("ResourceReady"));
    // A Workspace serves from one pod; a tuning Workspace does not serve.
    let serves = observed.object.get("tuning").is_none_or(Value::is_null);
    let ready = phase.map(|phase| i64::from(phase == Phase::Running));
    ProviderState {
        phase,
        message: message.unwrap_or_default().to_owned(),
        replicas: serves.then_some(Replicas { desired: Some(1), ready, available: ready }),
        endpoint: serves.then(|| Endpoint { service: observed.name.to_owned(), port: PORT }),
        ready_condition: SUCCEEDED,
        parts: Vec::new(),
    }
}

fn phase_from_conditions(observed: &ObservedObject<'_>) -> Phase {
    if observed.is_true("WorkspaceSucceeded") {
        Phase::Running
    } else if observed.reason_if_false("WorkspaceSucceeded") == Some("workspaceFailed") {
        Phase::Failed
    } else if observed.reason_if_false("InferenceReady").is_some()
        || ["ResourceReady", "InferenceReady", "JobStarted"].iter().any(|condition| observed.is_true(condition))
    {
        // KAITO sets InferenceReady once it has begun to create the inference workload.
        Phase::Deploying
    } else {
        Phase::Pending
    }
}

fn inference_set_state(observed: &mut ObservedObject<'_>) -> ProviderState {
    const READY: &str = "InferenceSetReady";
    let object = observed.object;
    let desired = integer_at(object, "/spec/replicas").unwrap_or(1);
    // Go omits a count of zero.
    let ready = (!observed.has_no_status()).then(|| integer_at(object, "/status/readyReplicas").unwrap_or(0));
    if let Some(ready_condition) = observed.condition(READY)
        && ready_condition.status == ConditionStatus::Unknown
    {
        observed.note_unrecognized(format!("status.conditions[{READY}].status"), ConditionStatus::Unknown.as_str());
    }
    let phase = match (observed.reason_if_false(READY), ready) {
        _ if observed.is_true(READY) => Some(Phase::Running),
        (Some("inferencesetFailed"), _) => Some(Phase::Failed),
        (None, _) if observed.has_unrecognized() => None,
        (None, None) => Some(Phase::Pending),
        (None, Some(ready)) if ready >= desired => Some(Phase::Running),
        (Some(_), _) | (None, Some(_)) => Some(Phase::Deploying),
    };
    let message = observed.condition_message(READY).map(str::to_owned);
    // KAITO creates a Service only for each Workspace. The one for the whole set exists if kubefoundry rendered the
    // set.
    let is_rendered = object.pointer("/metadata/annotations").and_then(Value::as_object).is_some_and(|annotations| {
        API_GROUPS.iter().any(|api_group| annotations.contains_key(&api_group.label("model-deployment")))
    });
    ProviderState {
        phase,
        message: message.unwrap_or_default(),
        replicas: Some(Replicas { desired: Some(desired), ready, available: None }),
        endpoint: is_rendered.then(|| Endpoint { service: format!("{}-inference", observed.name), port: PORT }),
        ready_condition: READY,
        parts: Vec::new(),
    }
}
