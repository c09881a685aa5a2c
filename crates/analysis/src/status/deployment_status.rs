//! Reads the status that a ModelDeployment itself contains.

use serde_json::Value;

use super::{ReportedStatus, empty_status};
use kubefoundry_deployment::wire::Phase;
use kubefoundry_kubernetes::wire::StringEnum as _;
use kubefoundry_provider::Status;
use kubefoundry_provider::status::{Condition, Replicas, UnrecognizedValue, integer_at, text_or_empty};
use kubefoundry_transform::Endpoint;

/// Returns the provider that was selected for a ModelDeployment, or the one that it requests.
pub(super) fn provider_name(deployment: &Value) -> Option<String> {
    let names = ["/status/provider/name", "/spec/provider/name"].map(|pointer| text_or_empty(deployment, pointer));
    names.into_iter().find(|name| !name.is_empty()).map(str::to_owned)
}

/// Returns the phase and message in the status of a ModelDeployment, if it has either.
pub(super) fn reported_status(deployment: &Value) -> Option<ReportedStatus> {
    let text = |pointer: &str| text_or_empty(deployment, pointer).to_owned();
    let reported = ReportedStatus { phase: text("/status/phase"), message: text("/status/message") };
    (!reported.phase.is_empty() || !reported.message.is_empty()).then_some(reported)
}

/// Returns the status of a ModelDeployment that has no provider object in the snapshot.
pub(super) fn status_without_resource(deployment: &Value) -> Status {
    let written_phase = text_or_empty(deployment, "/status/phase");
    let phase = Phase::VARIANTS.iter().find(|(word, _)| *word == written_phase).map(|(_, phase)| *phase);
    let mut status = Status {
        phase,
        generation: integer_at(deployment, "/metadata/generation"),
        observed_generation: integer_at(deployment, "/status/observedGeneration"),
        conditions: conditions(deployment),
        ..empty_status()
    };
    let count = |field: &str| integer_at(deployment, &format!("/status/replicas/{field}"));
    if deployment.pointer("/status/replicas").is_some_and(Value::is_object) {
        let (desired, ready, available) = (count("desired"), count("ready"), count("available"));
        status.replicas = Some(Replicas { desired, ready, available });
    }
    let service = text_or_empty(deployment, "/status/endpoint/service");
    let port = integer_at(deployment, "/status/endpoint/port").and_then(|port| u16::try_from(port).ok());
    status.endpoint = port.filter(|_| !service.is_empty()).map(|port| Endpoint { service: service.to_owned(), port });
    text_or_empty(deployment, "/status/message").clone_into(&mut status.message);
    if !written_phase.is_empty() && phase.is_none() {
        let unrecognized = UnrecognizedValue { path: "status.phase".to_owned(), value: Value::from(written_phase) };
        let sentences = [unrecognized.to_string(), status.message];
        status.message = sentences.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
        status.unrecognized.push(unrecognized);
    }
    if !text_or_empty(deployment, "/metadata/deletionTimestamp").is_empty() {
        status.phase = Some(Phase::Terminating);
    }
    if status.message.is_empty() {
        "the snapshot has no object that runs it".clone_into(&mut status.message);
    }
    status
}

/// Returns the conditions of an object; malformed ones are skipped.
pub(super) fn conditions(object: &Value) -> Vec<Condition> {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().filter_map(Condition::read).collect()
}
