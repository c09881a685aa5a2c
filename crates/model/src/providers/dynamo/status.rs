//! What Dynamo says of a graph, in both versions.
//!
//! Sources, of ai-dynamo/dynamo `deploy/operator`: `api/v1beta1/dynamographdeployment_types.go` (states, replica counts),
//! `internal/controller/dgd_workload_program.go` (reasons of `Ready`). A worker that crashes again and again is `pending`;
//! `failed` is an error of the operator's. A state is that of `observedGeneration`, and says nothing of a later change.

use serde_json::Value;

use super::PORT;
use crate::status::{
    ObservedObject, ProviderState, Replicas, Status, StatusError, StatusPart, StatusSource, integer_at, text_or_empty,
};
use crate::wire::Phase;
use kubefoundry_transform::Endpoint;

const SOURCE: StatusSource = StatusSource {
    provider: "Dynamo",
    group: "nvidia.com",
    versions: &["v1alpha1", "v1beta1"],
    kinds: &["DynamoGraphDeployment"],
};

pub(super) fn translate(object: &Value) -> Result<Status, StatusError> {
    let mut observed = ObservedObject::parse(object, &SOURCE)?;
    let phase = phase(&mut observed);
    let components = components(&observed);
    let frontend = components.iter().find(|component| component.role == "frontend");
    let reading = ProviderState {
        phase,
        message: message(&observed),
        replicas: replicas(&components),
        endpoint: frontend
            .map(|it| Endpoint { service: format!("{}-{}", observed.name, it.name.to_lowercase()), port: PORT }),
        parts: components.iter().map(Component::part).collect(),
        ready_condition: "Ready",
    };
    Ok(observed.into_status(reading))
}

fn phase(observed: &mut ObservedObject<'_>) -> Option<Phase> {
    let state = observed.read_string_enum("state");
    let phase = match state {
        Some("initializing" | "pending") => Phase::Deploying,
        Some("successful") => Phase::Running,
        Some("failed") => Phase::Failed,
        Some("") | None if observed.has_no_status() => Phase::Pending,
        None if observed.has_unrecognized() => return None,
        // The CRD gives it a default, so that there is always one.
        other => {
            observed.note_unrecognized("status.state", other.map_or(Value::Null, Value::from));
            return None;
        }
    };
    Some(if observed.is_outdated() { Phase::Deploying } else { phase })
}

fn message(observed: &ObservedObject<'_>) -> String {
    let said = observed.condition_message("Ready").unwrap_or_default();
    match text_or_empty(observed.object, "/status/rollingUpdate/phase") {
        "Failed" if said.is_empty() => "the rolling update failed".to_owned(),
        "Failed" => format!("the rolling update failed; {said}"),
        _ => said.to_owned(),
    }
}

/// A component of the graph, its specification and its status together.
struct Component<'o> {
    name: &'o str,
    /// The role: in `v1alpha1` a worker says it in a field of its own.
    role: &'o str,
    desired: i64,
    status: Option<&'o Value>,
}

impl Component<'_> {
    /// What the frontend and the planner are is no replica of the model.
    fn serves(&self) -> bool {
        !matches!(self.role, "frontend" | "planner" | "epp")
    }

    fn count(&self, field: &str) -> Option<i64> {
        self.status.and_then(|status| status.get(field)).and_then(Value::as_i64)
    }

    fn part(&self) -> StatusPart {
        let (ready, available) = (self.count("readyReplicas"), self.count("availableReplicas"));
        let role = if self.role.is_empty() { "component" } else { self.role };
        StatusPart {
            role: role.to_owned(),
            name: self.name.to_owned(),
            state: None,
            message: String::new(),
            replicas: Some(Replicas { desired: Some(self.desired), ready, available }),
        }
    }
}

fn components<'o>(observed: &ObservedObject<'o>) -> Vec<Component<'o>> {
    let object = observed.object;
    let alpha = observed.version == "v1alpha1";
    let statuses = object.pointer(if alpha { "/status/services" } else { "/status/components" });
    let of = |name: &'o str, spec: &'o Value, role: &'o str| Component {
        name,
        role,
        desired: integer_at(spec, "/replicas").unwrap_or(1),
        status: statuses.and_then(|statuses| statuses.get(name)),
    };
    if alpha {
        let services = object.pointer("/spec/services").and_then(Value::as_object);
        let services = services.into_iter().flatten().map(|(name, service)| {
            let role = Some(text_or_empty(service, "/subComponentType")).filter(|role| !role.is_empty());
            of(name, service, role.unwrap_or_else(|| text_or_empty(service, "/componentType")))
        });
        services.collect()
    } else {
        let components = object.pointer("/spec/components").and_then(Value::as_array);
        components
            .into_iter()
            .flatten()
            .map(|it| of(text_or_empty(it, "/name"), it, text_or_empty(it, "/type")))
            .collect()
    }
}

/// The workers' replicas together. A PodClique says nothing of available ones, a PodCliqueScalingGroup nothing of ready
/// ones; a sum with a hole is no sum.
fn replicas(components: &[Component<'_>]) -> Option<Replicas> {
    let workers: Vec<_> = components.iter().filter(|component| component.serves()).collect();
    let sum = |field: &str| workers.iter().map(|worker| worker.count(field)).sum::<Option<i64>>();
    let desired = workers.iter().map(|worker| worker.desired).sum();
    (!workers.is_empty()).then(|| Replicas {
        desired: Some(desired),
        ready: sum("readyReplicas"),
        available: sum("availableReplicas"),
    })
}
