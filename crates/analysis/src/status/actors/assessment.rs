//! The judgment of an actor: by the status that a controller wrote, or else by the objects that run it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::counts::{Counts, count, small};
use super::objects::{ActorObjects, Surroundings, sentence};
use crate::status::claimed::{Key, replica_failure};
use crate::status::{StalenessPolicy, deployment_status};
use kubefoundry_actor::status::{ActorState, Observation as ActorObservation, PODS_NOT_HEALTHY, PodFailure, state};
use kubefoundry_compiler::cluster_snapshot::LiveObject;
use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_kubernetes::wire::ConditionStatus;
use kubefoundry_provider::status::{integer_at, text_or_empty};

/// The conditions of an actor.
pub(super) const TRANSPORT_READY: &str = "TransportReady";
pub(super) const WORKLOAD_READY: &str = "WorkloadReady";
pub(super) const SCALING_READY: &str = "ScalingReady";

/// What is known about an actor, and the messages that belong to it.
pub(super) struct Assessment {
    pub(super) state: ActorState,
    pub(super) counts: Counts,
    /// Why the transport or the scaling is not ready.
    pub(super) cause: String,
    /// Why the workload is not ready.
    pub(super) failure: Option<(String, String)>,
    pub(super) seconds_since_scaling: Option<i64>,
    pub(super) notes: Vec<String>,
}

/// Judges an actor by the status that a controller wrote.
pub(super) fn assess_written_status(
    actor: &Value,
    found: &ActorObjects<'_>,
    failures: &[(&LiveObject, PodFailure)],
    policy: StalenessPolicy,
) -> Assessment {
    let conditions = deployment_status::conditions(actor);
    let find = |name: &str| conditions.iter().find(|condition| condition.condition_type == name);
    let is_true = |name: &str| find(name).is_some_and(|condition| condition.status == ConditionStatus::True);
    let counts = Counts::of(found).or_reported(actor);
    let failure = find(WORKLOAD_READY)
        .filter(|condition| condition.status == ConditionStatus::False)
        .map(|condition| (condition.reason.clone(), condition.message.clone()));
    let scaling_enabled = actor.pointer("/spec/scaling/enabled") == Some(&Value::Bool(true));
    let last_scaling = Time::parse(text_or_empty(actor, "/status/lastScaleTime")).or_else(|| found.last_scaling());
    let seconds_since_scaling = seconds_since(last_scaling, policy);
    let failing = integer_at(actor, "/status/failingPods").unwrap_or_else(|| count(failures.len()));
    let derived = derive(
        counts,
        failure.as_ref(),
        &ActorObservation {
            deleting: !text_or_empty(actor, "/metadata/deletionTimestamp").is_empty(),
            observed_generation: integer_at(actor, "/status/observedGeneration").unwrap_or(0),
            transport_ready: is_true(TRANSPORT_READY),
            scaling_ready: is_true(SCALING_READY),
            scaling_enabled,
            workload_ready: is_true(WORKLOAD_READY),
            failing: small(failing),
            seconds_since_scaling,
            ..ActorObservation::default()
        },
    );
    // Whether unready replicas are late depends on the time, which the controller had.
    let word = text_or_empty(actor, "/status/status");
    let is_late = policy.now.is_none() && word == ActorState::Degraded.as_str();
    let state = if derived == ActorState::ScalingUp && is_late { ActorState::Degraded } else { derived };
    let cause = match state {
        ActorState::TransportError => find(TRANSPORT_READY),
        ActorState::ScalingError => find(SCALING_READY),
        _ => None,
    };
    let cause = cause.map_or_else(|| "no controller has judged it yet".to_owned(), sentence);
    Assessment { state, counts, cause, failure, seconds_since_scaling, notes: Vec::new() }
}

/// Judges an actor without a status of its own by the objects that run it.
pub(super) fn assess_objects(
    key: &Key,
    found: &ActorObjects<'_>,
    around: &Surroundings<'_>,
    failures: &[(&LiveObject, PodFailure)],
    policy: StalenessPolicy,
) -> Assessment {
    let mut notes = Vec::new();
    let workload = found.workloads.first().copied();
    let counts = Counts::of(found);
    let applied: BTreeSet<&ObjectRef> =
        found.workloads.iter().filter(|workload| workload.group() == "apps").map(|workload| &workload.object).collect();
    if let Some(shown) = workload
        && applied.len() > 1
        && !found.is_on_knative()
    {
        let others = applied.into_iter().filter(|object| **object != shown.object).map(ToString::to_string);
        let others: Vec<String> = others.collect();
        notes.push(format!("{} is shown; {} runs it, too", shown.object, others.join(" and ")));
    }
    let scaled = around.scaled_object(key, workload);
    let wants_scaling = found.actor.map_or(scaled.is_some(), |actor| {
        actor.value.pointer("/spec/scaling/enabled") == Some(&Value::Bool(true)) || scaled.is_some()
    });
    // Knative scales its services itself, and a Ray head is a single pod.
    let scaling_enabled = found.is_on_knative() || (wants_scaling && !found.is_on_ray());
    let scaling_failure = if found.is_on_knative() || !scaling_enabled {
        None
    } else if let Some(scaled) = scaled {
        let conditions = deployment_status::conditions(&scaled.value);
        let ready = conditions.iter().find(|condition| condition.condition_type == "Ready");
        if ready.is_none_or(|ready| ready.status == ConditionStatus::Unknown) {
            notes.push(format!("KEDA has not judged {} yet", scaled.object));
        }
        let failed = ready.filter(|ready| ready.status == ConditionStatus::False);
        failed.map(|ready| format!("{}: {}", scaled.object, sentence(ready)))
    } else if around.scaled_objects.is_empty() {
        notes.push("the snapshot has no ScaledObject, so its scaling is not judged".to_owned());
        None
    } else {
        Some("no ScaledObject in the snapshot scales it".to_owned())
    };
    let queue_failure = around.queue_failure(key);
    let of_pods = failures.first().map(|(_, failure)| (PODS_NOT_HEALTHY.to_owned(), failure.message.clone()));
    let of_workload = || replica_failure(&workload?.value).map(|condition| (condition.reason, condition.message));
    let failure = of_pods.or_else(of_workload).filter(|_| counts.ready < counts.desired);
    let seconds_since_scaling = match seconds_since(found.last_scaling(), policy) {
        _ if found.is_past_deadline() => Some(i64::MAX),
        seconds => seconds,
    };
    let deleting = |object: &LiveObject| !text_or_empty(&object.value, "/metadata/deletionTimestamp").is_empty();
    let state = derive(
        counts,
        failure.as_ref(),
        &ActorObservation {
            deleting: found.actor.or(workload).is_some_and(deleting),
            // A workload is what a controller creates first.
            observed_generation: i64::from(workload.is_some() || !found.pods.is_empty()),
            transport_ready: queue_failure.is_none(),
            scaling_ready: scaling_failure.is_none(),
            scaling_enabled,
            workload_ready: failure.is_none(),
            failing: small(count(failures.len())),
            seconds_since_scaling,
            ..ActorObservation::default()
        },
    );
    if found.pods.is_empty() && matches!(state, ActorState::ScalingUp | ActorState::Degraded) {
        notes.push("the snapshot does not include its pods, so the cause is unknown".to_owned());
    }
    let cause = if state == ActorState::TransportError { queue_failure } else { scaling_failure };
    Assessment { state, counts, cause: cause.unwrap_or_default(), failure, seconds_since_scaling, notes }
}

/// Derives the state from an observation, completed by counts and the failure of the workload.
pub(super) fn derive(
    counts: Counts,
    failure: Option<&(String, String)>,
    observation: &ActorObservation<'_>,
) -> ActorState {
    let workload_failure = failure.map(|(reason, message)| (reason.as_str(), message.as_str()));
    let (ready, total, desired) = (small(counts.ready), small(counts.total), small(counts.desired));
    state(&ActorObservation { workload_failure, ready, total, desired, ..*observation })
}

fn seconds_since(time: Option<Time>, policy: StalenessPolicy) -> Option<i64> {
    let seconds = policy.now?.seconds_since(time?);
    Some(i64::try_from(seconds).unwrap_or(i64::MAX))
}
