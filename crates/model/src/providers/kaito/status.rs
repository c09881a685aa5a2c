//! What KAITO says of a Workspace and of an InferenceSet.
//!
//! Sources, of kaito-project/kaito: `pkg/workspace/controllers/workspace_controller.go` (updateWorkspaceStatus: states and
//! reasons), `pkg/inferenceset/inferenceset_controller.go` (addOrUpdateInferenceSet). `WorkspaceSucceeded` is False while
//! a Workspace starts, too; only the reason `workspaceFailed`, of tuning, is a failure.

use serde_json::Value;

use crate::status::{ObservedObject, ProviderState, Replicas, Status, StatusError, StatusSource, integer_at};
use crate::wire::Phase;
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::wire::ConditionStatus;
use kubefoundry_transform::Endpoint;

const SOURCE: StatusSource = StatusSource {
    provider: "KAITO",
    group: "kaito.sh",
    versions: &["v1alpha1", "v1beta1"],
    kinds: &["Workspace", SET],
};
const SET: &str = "InferenceSet";

/// The port of the Services.
const PORT: u16 = 80;

pub(super) fn translate(object: &Value) -> Result<Status, StatusError> {
    let mut observed = ObservedObject::parse(object, &SOURCE)?;
    let reading = if observed.kind == SET { inference_set(&mut observed) } else { workspace(&mut observed) };
    Ok(observed.into_status(reading))
}

fn workspace(observed: &mut ObservedObject<'_>) -> ProviderState {
    const SUCCEEDED: &str = "WorkspaceSucceeded";
    let phase = match observed.read_string_enum("state") {
        Some("Ready" | "Succeeded") => Some(Phase::Running),
        // Of a tuning job, Running says that the job does.
        Some("NotReady" | "Running") => Some(Phase::Deploying),
        Some("Failed") => Some(Phase::Failed),
        Some("" | "Pending") => Some(by_conditions(observed)),
        Some(other) => {
            observed.note_unrecognized("status.state", other);
            None
        }
        // v1alpha1 has conditions only.
        None if observed.has_unrecognized() => None,
        None => Some(by_conditions(observed)),
    };
    let verdict =
        observed.reason_if_false(SUCCEEDED).filter(|reason| ["workspaceFailed", "BenchmarkFailed"].contains(reason));
    let verdict = verdict.and_then(|_| observed.condition_message(SUCCEEDED));
    let said = verdict
        .or_else(|| observed.condition_message("InferenceReady"))
        .or_else(|| observed.condition_message("ResourceReady"));
    // A Workspace serves from one pod. One that tunes serves nothing.
    let serves = observed.object.get("tuning").is_none_or(Value::is_null);
    let ready = phase.map(|phase| i64::from(phase == Phase::Running));
    ProviderState {
        phase,
        message: said.unwrap_or_default().to_owned(),
        replicas: serves.then_some(Replicas { desired: Some(1), ready, available: ready }),
        endpoint: serves.then(|| Endpoint { service: observed.name.to_owned(), port: PORT }),
        ready_condition: SUCCEEDED,
        parts: Vec::new(),
    }
}

fn by_conditions(observed: &ObservedObject<'_>) -> Phase {
    if observed.is_true("WorkspaceSucceeded") {
        Phase::Running
    } else if observed.reason_if_false("WorkspaceSucceeded") == Some("workspaceFailed") {
        Phase::Failed
    } else if ["ResourceReady", "InferenceReady", "JobStarted"].iter().any(|one| observed.is_true(one)) {
        Phase::Deploying
    } else {
        Phase::Pending
    }
}

fn inference_set(observed: &mut ObservedObject<'_>) -> ProviderState {
    const READY: &str = "InferenceSetReady";
    let object = observed.object;
    let desired = integer_at(object, "/spec/replicas").unwrap_or(1);
    // Zero is left out by Go.
    let ready = (!observed.has_no_status()).then(|| integer_at(object, "/status/readyReplicas").unwrap_or(0));
    if let Some(own) = observed.condition(READY)
        && own.status == ConditionStatus::Unknown
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
    let said = observed.condition_message(READY).map(str::to_owned);
    // The Service is one that is rendered beside the set: KAITO makes one for each Workspace of it.
    let is_ours = object.pointer("/metadata/annotations").and_then(Value::as_object).is_some_and(|annotations| {
        API_GROUPS.iter().any(|api_group| annotations.contains_key(&api_group.label("model-deployment")))
    });
    ProviderState {
        phase,
        message: said.unwrap_or_default(),
        replicas: Some(Replicas { desired: Some(desired), ready, available: None }),
        endpoint: is_ours.then(|| Endpoint { service: format!("{}-inference", observed.name), port: PORT }),
        ready_condition: READY,
        parts: Vec::new(),
    }
}
