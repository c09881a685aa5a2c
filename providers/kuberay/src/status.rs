//! The status of a RayService, which has up to two clusters: the active one serves, and the pending one will replace
//! it. The first cluster starts as the pending one.
//!
//! Sources, of ray-project/kuberay `ray-operator`: `apis/ray/v1/rayservice_types.go` (conditions and their reasons,
//! application states), `controllers/ray/rayservice_controller.go`. `serviceStatus` is `Running` or empty; operators
//! before 1.3 write no conditions.

use serde_json::Value;

use super::serving_pods::SERVE_PORT;
use kubefoundry_deployment::wire::Phase;
use kubefoundry_kubernetes::wire::ConditionStatus;
use kubefoundry_provider::status::{
    ObservedObject, ProviderState, Replicas, Status, StatusError, StatusPart, StatusSource, integer_at, text_or_empty,
};
use kubefoundry_transform::Endpoint;

const SOURCE: StatusSource =
    StatusSource { provider: "KubeRay", group: "ray.io", versions: &["v1alpha1", "v1"], kinds: &["RayService"] };

/// The states of an application, worst first.
const APPLICATION_STATES: [&str; 6] = ["DEPLOY_FAILED", "UNHEALTHY", "DEPLOYING", "NOT_STARTED", "DELETING", "RUNNING"];

pub(super) fn translate(object: &Value) -> Result<Status, StatusError> {
    let mut observed = ObservedObject::parse(object, &SOURCE)?;
    let clusters = read_clusters(object);
    let applications: Vec<&Application<'_>> = clusters.iter().flat_map(|cluster| &cluster.applications).collect();
    for application in &applications {
        if !APPLICATION_STATES.contains(&application.state) {
            observed.note_unrecognized(application.state_path(), application.state);
        }
    }
    let phase = determine_phase(&mut observed, &clusters, &applications);
    let state = ProviderState {
        phase,
        message: compose_message(&observed, phase, &applications),
        replicas: count_replicas(object, &clusters),
        endpoint: Some(Endpoint { service: format!("{}-serve-svc", observed.name), port: SERVE_PORT }),
        parts: clusters.iter().flat_map(Cluster::parts).collect(),
        ready_condition: "Ready",
    };
    Ok(observed.into_status(state))
}

fn determine_phase(
    observed: &mut ObservedObject<'_>,
    clusters: &[Cluster<'_>],
    applications: &[&Application<'_>],
) -> Option<Phase> {
    let failed = applications.iter().any(|application| application.state == "DEPLOY_FAILED");
    let suspended = observed.is_true("Suspended") || observed.is_true("Suspending");
    let Some(ready) = observed.condition("Ready").cloned() else {
        let service_status = observed.read_string_enum("serviceStatus").unwrap_or_default();
        return match service_status {
            _ if suspended => Some(Phase::Pending),
            "Running" => Some(Phase::Running),
            "" if observed.has_unrecognized() => None,
            "" if failed => Some(Phase::Failed),
            "" if clusters.is_empty() => Some(Phase::Pending),
            "" => Some(Phase::Deploying),
            other => {
                observed.note_unrecognized("status.serviceStatus", other);
                None
            }
        };
    };
    match (ready.status, ready.reason.as_str()) {
        // The active cluster serves, even while the next one starts or fails to start.
        (ConditionStatus::True, _) => Some(Phase::Running),
        (ConditionStatus::False, "ValidationFailed" | "InitializingTimeout") => Some(Phase::Failed),
        (ConditionStatus::False, "SuspendInProgress" | "SuspendComplete") => Some(Phase::Pending),
        (ConditionStatus::False, "Initializing" | "ZeroServeEndpoints") if suspended => Some(Phase::Pending),
        (ConditionStatus::False, "Initializing" | "ZeroServeEndpoints") if failed => Some(Phase::Failed),
        (ConditionStatus::False, "Initializing" | "ZeroServeEndpoints") => Some(Phase::Deploying),
        (ConditionStatus::False, reason) => {
            observed.note_unrecognized("status.conditions[Ready].reason", reason);
            None
        }
        (ConditionStatus::Unknown, _) => {
            observed.note_unrecognized("status.conditions[Ready].status", ready.status.as_str());
            None
        }
    }
}

/// Composes the message from the worst application, or else from the condition `Ready`.
fn compose_message(observed: &ObservedObject<'_>, phase: Option<Phase>, applications: &[&Application<'_>]) -> String {
    let severity_rank =
        |application: &&&Application<'_>| APPLICATION_STATES.iter().position(|state| *state == application.state);
    let worst = applications.iter().filter(|application| application.state != "RUNNING").min_by_key(severity_rank);
    let reason = observed.reason_if_false("Ready").unwrap_or_default();
    let condition_message = observed.condition_message("Ready").unwrap_or_default();
    let mut message = match worst {
        Some(worst) if !matches!(reason, "ValidationFailed" | "InitializingTimeout") => worst.sentence(),
        _ if phase == Some(Phase::Failed) && !reason.is_empty() => format!("{reason}: {condition_message}"),
        _ => condition_message.to_owned(),
    };
    if observed.is_true("UpgradeInProgress") {
        message = format!("upgrade in progress; {message}");
    }
    message
}

/// The active or the pending cluster.
struct Cluster<'o> {
    role: &'static str,
    name: &'o str,
    status: &'o Value,
    applications: Vec<Application<'o>>,
}

/// A Ray Serve application on a cluster.
struct Application<'o> {
    role: &'static str,
    name: &'o str,
    state: &'o str,
    message: &'o str,
}

/// Returns the label selector of the workers of the active cluster, whose name KubeRay chooses (`labelPod` in
/// ray-operator/controllers/ray/common/pod.go).
pub(super) fn worker_selector(object: &Value) -> Option<String> {
    let active = read_clusters(object).into_iter().find(|cluster| cluster.role == "active")?;
    (!active.name.is_empty()).then(|| format!("ray.io/cluster={},ray.io/node-type=worker", active.name))
}

/// Returns the active cluster, then the pending one, if they exist.
fn read_clusters(object: &Value) -> Vec<Cluster<'_>> {
    let both = ["active", "pending"].into_iter().filter_map(|role| {
        let status = object.pointer(&format!("/status/{role}ServiceStatus"))?;
        let applications = status.get("applicationStatuses").and_then(Value::as_object);
        let applications = applications.into_iter().flatten().map(|(name, application)| Application {
            role,
            name,
            state: text_or_empty(application, "/status"),
            message: text_or_empty(application, "/message"),
        });
        let applications: Vec<_> = applications.collect();
        let name = text_or_empty(status, "/rayClusterName");
        // Go writes an absent cluster as an empty object.
        let exists = !name.is_empty() || !applications.is_empty();
        exists.then_some(Cluster { role, name, status, applications })
    });
    both.collect()
}

impl Application<'_> {
    /// Returns the path of the application's state.
    fn state_path(&self) -> String {
        format!("status.{}ServiceStatus.applicationStatuses[{:?}].status", self.role, self.name)
    }

    /// Describes the application: `llm: DEPLOYING: 1 of 2 replicas`.
    fn sentence(&self) -> String {
        let parts = [self.name, self.state, self.message.trim()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
    }
}

impl Cluster<'_> {
    fn replicas(&self) -> Replicas {
        let count = |field: &str| integer_at(self.status, &format!("/rayClusterStatus/{field}WorkerReplicas"));
        Replicas { desired: count("desired"), ready: count("ready"), available: count("available") }
    }

    fn parts(&self) -> Vec<StatusPart> {
        let traffic = integer_at(self.status, "/trafficRoutedPercent");
        let cluster = StatusPart {
            role: format!("{} cluster", self.role),
            name: self.name.to_owned(),
            state: Some(text_or_empty(self.status, "/rayClusterStatus/state").to_owned())
                .filter(|state| !state.is_empty()),
            message: traffic.map_or_else(String::new, |percent| format!("{percent}% of the traffic")),
            replicas: Some(self.replicas()),
        };
        let applications = self.applications.iter().map(|application| StatusPart {
            role: format!("{} application", self.role),
            name: application.name.to_owned(),
            state: Some(application.state.to_owned()),
            message: application.message.to_owned(),
            replicas: None,
        });
        std::iter::once(cluster).chain(applications).collect()
    }
}

/// Counts the workers of the serving cluster, or else of the starting one. Without a cluster, only the desired count is
/// known.
fn count_replicas(object: &Value, clusters: &[Cluster<'_>]) -> Option<Replicas> {
    let groups = object.pointer("/spec/rayClusterConfig/workerGroupSpecs").and_then(Value::as_array)?;
    let desired = groups.iter().map(|group| integer_at(group, "/replicas").unwrap_or(1)).sum();
    let counted = clusters.first().map(Cluster::replicas).unwrap_or_default();
    Some(Replicas { desired: counted.desired.or(Some(desired)), ..counted })
}
