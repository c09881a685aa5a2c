//! The status of a graph, in both CRD versions.
//!
//! Sources, of ai-dynamo/dynamo `deploy/operator`: `api/v1beta1/dynamographdeployment_types.go` (states, replica
//! counts), `internal/controller/dgd_workload_program.go` (reasons of `Ready`). A worker that keeps crashing is
//! `pending`; `failed` is an error of the operator. The state belongs to `observedGeneration` and does not reflect
//! later changes.

use serde_json::Value;

use super::PORT;
use kubefoundry_deployment::wire::Phase;
use kubefoundry_provider::status::{
    ObservedObject, ProviderState, Replicas, Status, StatusError, StatusPart, StatusSource, integer_at, text_or_empty,
};
use kubefoundry_transform::Endpoint;

const SOURCE: StatusSource = StatusSource {
    provider: "Dynamo",
    group: "nvidia.com",
    versions: &["v1alpha1", "v1beta1"],
    kinds: &["DynamoGraphDeployment"],
};

pub(super) fn translate(object: &Value) -> Result<Status, StatusError> {
    let mut observed = ObservedObject::parse(object, &SOURCE)?;
    let phase = determine_phase(&mut observed);
    let components = read_components(observed.object, observed.version);
    let frontend = components.iter().find(|component| component.role == "frontend");
    let state = ProviderState {
        phase,
        message: compose_message(&observed),
        replicas: sum_replicas(&components),
        endpoint: frontend.map(|frontend| Endpoint {
            service: format!("{}-{}", observed.name, frontend.name.to_lowercase()),
            port: PORT,
        }),
        parts: components.iter().map(ComponentStatus::part).collect(),
        ready_condition: "Ready",
    };
    Ok(observed.into_status(state))
}

fn determine_phase(observed: &mut ObservedObject<'_>) -> Option<Phase> {
    let state = observed.read_string_enum("state");
    let phase = match state {
        Some("initializing" | "pending") => Phase::Deploying,
        Some("successful") => Phase::Running,
        Some("failed") => Phase::Failed,
        Some("") | None if observed.has_no_status() => Phase::Pending,
        None if observed.has_unrecognized() => return None,
        // The CRD defaults the state, so a status without one is unknown too.
        other => {
            observed.note_unrecognized("status.state", other.map_or(Value::Null, Value::from));
            return None;
        }
    };
    Some(if observed.is_outdated() { Phase::Deploying } else { phase })
}

fn compose_message(observed: &ObservedObject<'_>) -> String {
    let condition_message = observed.condition_message("Ready").unwrap_or_default();
    match text_or_empty(observed.object, "/status/rollingUpdate/phase") {
        "Failed" if condition_message.is_empty() => "the rolling update failed".to_owned(),
        "Failed" => format!("the rolling update failed; {condition_message}"),
        _ => condition_message.to_owned(),
    }
}

/// A component of the graph with its specification and its status.
struct ComponentStatus<'o> {
    name: &'o str,
    /// The component's type. In `v1alpha1` the role of a worker is in `subComponentType`.
    role: &'o str,
    desired: i64,
    status: Option<&'o Value>,
}

impl ComponentStatus<'_> {
    /// Returns whether the component runs replicas of the model.
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

fn read_components<'o>(object: &'o Value, version: &str) -> Vec<ComponentStatus<'o>> {
    let is_v1alpha1 = version == "v1alpha1";
    let statuses = object.pointer(if is_v1alpha1 { "/status/services" } else { "/status/components" });
    let component = |name: &'o str, spec: &'o Value, role: &'o str| ComponentStatus {
        name,
        role,
        desired: integer_at(spec, "/replicas").unwrap_or(1),
        status: statuses.and_then(|statuses| statuses.get(name)),
    };
    if is_v1alpha1 {
        let services = object.pointer("/spec/services").and_then(Value::as_object);
        let services = services.into_iter().flatten().map(|(name, service)| {
            let role = Some(text_or_empty(service, "/subComponentType")).filter(|role| !role.is_empty());
            component(name, service, role.unwrap_or_else(|| text_or_empty(service, "/componentType")))
        });
        services.collect()
    } else {
        let components = object.pointer("/spec/components").and_then(Value::as_array);
        components
            .into_iter()
            .flatten()
            .map(|item| component(text_or_empty(item, "/name"), item, text_or_empty(item, "/type")))
            .collect()
    }
}

/// Returns the label selector of the workers of a graph in aggregated mode. The operator labels every pod with its graph
/// and the type of its component (`generateLabels` in `deploy/operator/internal/dynamo/graph.go`).
pub(super) fn worker_selector(object: &Value) -> Option<String> {
    let version = text_or_empty(object, "/apiVersion").rsplit_once('/')?.1;
    let components = read_components(object, version);
    let roles: Vec<&str> = components.iter().filter(|one| one.serves()).map(|component| component.role).collect();
    let name = text_or_empty(object, "/metadata/name");
    // Prefill and decode workers have replicas of their own.
    (roles == ["worker"])
        .then(|| format!("nvidia.com/dynamo-graph-deployment-name={name},nvidia.com/dynamo-component-type=worker"))
}

/// Sums the replicas of the workers. A PodClique does not report available replicas, and a PodCliqueScalingGroup no
/// ready ones. A sum with a missing count is absent.
fn sum_replicas(components: &[ComponentStatus<'_>]) -> Option<Replicas> {
    let workers: Vec<_> = components.iter().filter(|component| component.serves()).collect();
    let sum = |field: &str| workers.iter().map(|worker| worker.count(field)).sum::<Option<i64>>();
    let desired = workers.iter().map(|worker| worker.desired).sum();
    (!workers.is_empty()).then(|| Replicas {
        desired: Some(desired),
        ready: sum("readyReplicas"),
        available: sum("availableReplicas"),
    })
}
