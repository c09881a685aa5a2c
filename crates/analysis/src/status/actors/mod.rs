//! The status of AsyncActors: from the conditions that a controller wrote, or else from the workload, the pods and the
//! ScaledObject of the actor. The actor itself may be missing: rendering replaces it by these objects.

mod assessment;
mod counts;
mod message;
mod objects;

use std::collections::BTreeMap;

use serde_json::Value;

use self::assessment::{SCALING_READY, TRANSPORT_READY, WORKLOAD_READY, assess_objects, assess_written_status};
use self::counts::Counts;
use self::message::message;
use self::objects::{ActorObjects, Surroundings, age_key};
use super::claimed::{Key, join_nonempty, joined};
use super::{Observation, ReportedStatus, StalenessPolicy, StatusEntry, deployment_status, empty_status, staleness};
use kubefoundry_actor::status::{ActorState, PodFailure, actor_of_pod, actor_of_workload, is_workload};
use kubefoundry_actor::{API_VERSION, KIND};
use kubefoundry_compiler::cluster_snapshot::LiveObject;
use kubefoundry_deployment::wire::Phase;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_kubernetes::wire::StringEnum as _;
use kubefoundry_provider::Status;
use kubefoundry_provider::status::{Replicas, StatusPart, UnrecognizedValue, integer_at, text_or_empty};

/// Returns an entry for each actor that is in a snapshot or runs in it.
pub(super) fn entries(objects: &[LiveObject], policy: StalenessPolicy) -> Vec<StatusEntry> {
    let mut actors: BTreeMap<Key, ActorObjects<'_>> = BTreeMap::new();
    let mut around = Surroundings::default();
    for object in objects {
        let ObjectRef { kind, namespace, name, .. } = &object.object;
        let key = |name: &str| Key::new(namespace.as_ref(), name);
        match (object.group(), &**kind) {
            (group, KIND) if API_VERSION.split('/').next() == Some(group) => {
                actors.entry(key(name)).or_default().actor.get_or_insert(object);
            }
            ("", "Pod") => {
                if let Some(actor) = actor_of_pod(&object.value) {
                    actors.entry(key(actor)).or_default().pods.push(object);
                }
            }
            (group, kind) if is_workload(group, kind) => {
                if let Some(actor) = actor_of_workload(&object.value) {
                    actors.entry(key(actor)).or_default().workloads.push(object);
                }
            }
            ("keda.sh", "ScaledObject") => {
                let target = text_or_empty(&object.value, "/spec/scaleTargetRef/name");
                around.scaled_objects.insert(key(target), object);
                around.named_scaled_objects.insert(key(name), object);
            }
            ("rabbitmq.com", "Queue") => {
                around.queues.insert(key(text_or_empty(&object.value, "/spec/name")), object);
            }
            ("sqs.services.k8s.aws", "Queue") => {
                around.queues.insert(key(text_or_empty(&object.value, "/spec/queueName")), object);
            }
            ("" | "events.k8s.io", "Event") => around.add_event(object),
            _ => {}
        }
    }
    let has_actors = actors.values().any(|found| found.actor.is_some());
    let entries = actors.into_iter().map(|(key, mut found)| {
        // The newest first: an older one may be what a rollout replaces.
        found.pods.sort_by_cached_key(|pod| std::cmp::Reverse(age_key(pod)));
        found
            .workloads
            .sort_by_cached_key(|workload| std::cmp::Reverse((workload.group() == "apps", age_key(workload))));
        let mut entry = entry(&key, &found, &around, policy);
        // A dump without any actor was not meant to contain them.
        if has_actors && found.actor.is_none() {
            entry.notes.push("the snapshot does not have this AsyncActor".to_owned());
        }
        entry
    });
    entries.collect()
}

fn entry(key: &Key, found: &ActorObjects<'_>, around: &Surroundings<'_>, policy: StalenessPolicy) -> StatusEntry {
    let failures: Vec<(&LiveObject, PodFailure)> =
        found.pods.iter().filter_map(|pod| Some((*pod, around.pod_failure(pod)?))).collect();
    let written = found.actor.filter(|actor| has_written_status(&actor.value));
    let mut assessment = match written {
        Some(actor) => assess_written_status(&actor.value, found, &failures, policy),
        None => assess_objects(key, found, around, &failures, policy),
    };
    let message = message(found, &assessment, &failures);
    let mut status = Status {
        phase: phase(assessment.state),
        parts: parts(found, assessment.counts, &failures, &message),
        message,
        replicas: Some(Replicas {
            desired: Some(assessment.counts.desired),
            ready: Some(assessment.counts.ready),
            available: None,
        }),
        ..empty_status()
    };
    if let Some(actor) = found.actor {
        status.provider_conditions = deployment_status::conditions(&actor.value);
        status.generation = integer_at(&actor.value, "/metadata/generation");
        status.observed_generation = written.and_then(|actor| integer_at(&actor.value, "/status/observedGeneration"));
        check_word(&actor.value, assessment.state, &mut status, &mut assessment.notes);
    }
    if let (Some(now), Some(seen), true) = (status.generation, status.observed_generation, status.is_outdated()) {
        let outdated = format!("the controller has seen generation {seen} of {now}");
        status.message = join_nonempty(&[&outdated, &status.message], "; ");
    }
    // What was judged is what can be stale.
    let source = written.or_else(|| found.workloads.first().copied()).or(found.actor).or(found.pods.first().copied());
    let observation = source.map_or_else(Observation::default, |it| staleness::observe(&it.value, &status, policy));
    let resource = found.actor.map_or_else(|| key.object(API_VERSION, KIND), |actor| actor.object.clone());
    StatusEntry {
        reported: found.actor.and_then(|actor| reported(&actor.value)),
        observation,
        notes: assessment.notes,
        ..StatusEntry::of_object(resource, assessment.state.as_str(), status)
    }
}

/// Returns whether a controller of actors has written a status. Other controllers write conditions of other types.
fn has_written_status(actor: &Value) -> bool {
    let types = [TRANSPORT_READY, WORKLOAD_READY, SCALING_READY];
    integer_at(actor, "/status/observedGeneration").is_some_and(|generation| generation > 0)
        || deployment_status::conditions(actor).iter().any(|condition| types.contains(&&*condition.condition_type))
}

/// Returns the state in one word that the actor itself has.
fn reported(actor: &Value) -> Option<ReportedStatus> {
    let word = text_or_empty(actor, "/status/status");
    (!word.is_empty()).then(|| ReportedStatus { phase: word.to_owned(), message: String::new() })
}

/// Compares the state with the word in the status of the actor.
fn check_word(actor: &Value, state: ActorState, status: &mut Status, notes: &mut Vec<String>) {
    let word = text_or_empty(actor, "/status/status");
    if !word.is_empty() && !ActorState::VARIANTS.iter().any(|(known, _)| *known == word) {
        let unrecognized = UnrecognizedValue { path: "status.status".to_owned(), value: Value::from(word) };
        notes.push(unrecognized.to_string());
        status.unrecognized.push(unrecognized);
    } else if !word.is_empty() && word != state.as_str() {
        notes.push(format!("the actor's own status still says {word}"));
    }
}

/// Returns the unified phase of a state.
fn phase(state: ActorState) -> Option<Phase> {
    match state {
        ActorState::Terminating => Some(Phase::Terminating),
        ActorState::Creating | ActorState::PendingResources => Some(Phase::Pending),
        ActorState::ScalingUp | ActorState::Degraded => Some(Phase::Deploying),
        // An actor that is scaled to zero starts with the next message.
        ActorState::Napping | ActorState::ScalingDown | ActorState::Running => Some(Phase::Running),
        ActorState::TransportError
        | ActorState::ScalingError
        | ActorState::ImagePullError
        | ActorState::RuntimeError
        | ActorState::SidecarError
        | ActorState::VolumeError
        | ActorState::ConfigError
        | ActorState::WorkloadError => Some(Phase::Failed),
        ActorState::Unknown => None,
    }
}

/// Returns the workload, and each pod that fails, with its last words. `message` is the message about the actor.
fn parts(
    found: &ActorObjects<'_>,
    counts: Counts,
    failures: &[(&LiveObject, PodFailure)],
    message: &str,
) -> Vec<StatusPart> {
    let workload = found.workloads.first().map(|workload| StatusPart {
        role: "workload".to_owned(),
        name: workload.object.to_string(),
        state: None,
        message: String::new(),
        replicas: Some(Replicas { desired: Some(counts.desired), ready: Some(counts.ready), available: None }),
    });
    let pods = failures.iter().map(|(pod, failure)| StatusPart {
        role: "pod".to_owned(),
        name: pod.object.name.to_string(),
        state: Some(failure.reason.clone()),
        // What the actor's message says is not repeated.
        message: joined(if message.contains(&failure.message) { "" } else { &failure.message }, &failure.last_words),
        replicas: None,
    });
    workload.into_iter().chain(pods).collect()
}
