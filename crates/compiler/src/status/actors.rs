//! The status of AsyncActors: from the conditions that a controller wrote, or else from the workload, the pods and the
//! ScaledObject of the actor. The actor itself may be missing: rendering replaces it by these objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::{
    Key, Observation, ReportedStatus, StalenessPolicy, StatusEntry, deployment_status, empty_status, join_nonempty,
    joined, replica_failure, staleness,
};
use crate::cluster_snapshot::LiveObject;
use crate::cluster_snapshot::time::{Time, format_age};
use kubefoundry_actor::status::{
    ActorState, Observation as ActorObservation, PODS_NOT_HEALTHY, PodFailure, VOLUME_EVENTS, actor_of_pod,
    actor_of_workload, is_ready, is_workload, pod_failure, state,
};
use kubefoundry_actor::{API_VERSION, KIND};
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_kubernetes::wire::{ConditionStatus, StringEnum as _};
use kubefoundry_model::provider::Status;
use kubefoundry_model::status::{
    Condition, Replicas, StatusPart, UnrecognizedValue, deletion_message, integer_at, text_or_empty,
};
use kubefoundry_model::wire::Phase;

/// The conditions of an actor.
const TRANSPORT_READY: &str = "TransportReady";
const WORKLOAD_READY: &str = "WorkloadReady";
const SCALING_READY: &str = "ScalingReady";

/// An actor and what runs it.
#[derive(Default)]
struct ActorObjects<'l> {
    actor: Option<&'l LiveObject>,
    workloads: Vec<&'l LiveObject>,
    pods: Vec<&'l LiveObject>,
}

/// The other objects of a snapshot by which actors are judged.
#[derive(Default)]
struct Surroundings<'l> {
    /// ScaledObjects by the name of the workload that they scale.
    scaled_objects: BTreeMap<Key, &'l LiveObject>,
    /// ScaledObjects by their own name, for actors without a workload in the snapshot.
    named_scaled_objects: BTreeMap<Key, &'l LiveObject>,
    /// The objects that create queues, by the name of the queue.
    queues: BTreeMap<Key, &'l LiveObject>,
    /// The newest event of each pod that cannot mount a volume: its time, reason and message.
    volume_events: BTreeMap<Key, (&'l str, &'l str, &'l str)>,
}

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

/// Returns the creation time and the name of an object, to sort by.
fn age_key(object: &LiveObject) -> (String, Arc<str>) {
    (text_or_empty(&object.value, "/metadata/creationTimestamp").to_owned(), object.object.name.clone())
}

impl<'l> Surroundings<'l> {
    /// Keeps an event of a pod that cannot mount a volume.
    fn add_event(&mut self, event: &'l LiveObject) {
        let text = |pointers: &[&str]| {
            pointers.iter().map(|pointer| text_or_empty(&event.value, pointer)).find(|text| !text.is_empty())
        };
        // The two groups have different names for the same fields.
        let pod = text(&["/involvedObject/name", "/regarding/name"]);
        let kind = text(&["/involvedObject/kind", "/regarding/kind"]);
        let reason = text_or_empty(&event.value, "/reason");
        let (Some(pod), Some("Pod")) = (pod, kind) else { return };
        if !VOLUME_EVENTS.contains(&reason) {
            return;
        }
        let message = text(&["/message", "/note"]).unwrap_or_default();
        let times =
            ["/series/lastObservedTime", "/lastTimestamp", "/deprecatedLastTimestamp", "/eventTime", "/firstTimestamp"];
        let event = (text(&times).unwrap_or_default(), reason, message);
        let namespace = text(&["/involvedObject/namespace", "/regarding/namespace"]).map(Arc::from);
        let newest = self.volume_events.entry(Key::new(namespace.as_ref(), pod)).or_insert(event);
        *newest = event.max(*newest);
    }

    fn pod_failure(&self, pod: &LiveObject) -> Option<PodFailure> {
        let event = self.volume_events.get(&Key::new(pod.object.namespace.as_ref(), &pod.object.name));
        pod_failure(&pod.value, event.map(|(_, reason, message)| (*reason, *message)))
    }

    /// Returns the ScaledObject of a workload or, without a workload, of an actor.
    fn scaled_object(&self, key: &Key, workload: Option<&LiveObject>) -> Option<&'l LiveObject> {
        let found = match workload {
            Some(workload) => self.scaled_objects.get(&Key::new(key.0.as_ref(), &workload.object.name)),
            None => self.named_scaled_objects.get(key),
        };
        found.copied()
    }

    /// Returns why the queue of an actor cannot be created, if its object says so.
    fn queue_failure(&self, key: &Key) -> Option<String> {
        let queue = self.queues.get(&Key::new(key.0.as_ref(), &format!("asya-{}", key.1)))?;
        let conditions = deployment_status::conditions(&queue.value);
        let failed = conditions.iter().find(|condition| match condition.condition_type.as_str() {
            "Ready" => condition.status == ConditionStatus::False,
            "ACK.Terminal" => condition.status == ConditionStatus::True,
            _ => false,
        })?;
        Some(format!("{} {}: {}", queue.object.kind, queue.object.name, sentence(failed)))
    }
}

/// Returns the reason and the message of a condition.
fn sentence(condition: &Condition) -> String {
    joined(&condition.reason, &condition.message)
}

/// The pods of an actor, counted.
#[derive(Clone, Copy)]
struct Counts {
    ready: i64,
    total: i64,
    desired: i64,
}

impl Counts {
    /// Counts from the status of a workload that has replicas, or else from the pods.
    fn of(found: &ActorObjects<'_>) -> Self {
        let is_live = |pod: &&&LiveObject| {
            let ended = ["Failed", "Succeeded"].contains(&text_or_empty(&pod.value, "/status/phase"));
            !ended && text_or_empty(&pod.value, "/metadata/deletionTimestamp").is_empty()
        };
        let total = count(found.pods.iter().filter(is_live).count());
        let ready = count(found.pods.iter().filter(is_live).filter(|pod| is_ready(&pod.value)).count());
        let Some(workload) = found.workloads.first().filter(|workload| workload.group() == "apps") else {
            return Self { ready, total, desired: if found.is_on_knative() { total } else { total.max(1) } };
        };
        let integer = |pointer: &str| integer_at(&workload.value, pointer).map(|count| count.max(0));
        // Go omits a count of zero.
        let has_status = integer("/status/observedGeneration").is_some();
        let reported = |pointer: &str, counted: i64| integer(pointer).unwrap_or(if has_status { 0 } else { counted });
        Self {
            ready: reported("/status/readyReplicas", ready),
            total: reported("/status/replicas", total),
            desired: integer("/spec/replicas").unwrap_or(1),
        }
    }

    /// Takes the counts that a controller wrote into the status of an actor.
    fn or_reported(self, actor: &Value) -> Self {
        let count = |field: &str, counted| integer_at(actor, &format!("/status/{field}")).unwrap_or(counted).max(0);
        Self {
            ready: count("readyReplicas", self.ready),
            total: count("totalReplicas", self.total),
            desired: count("desiredReplicas", self.desired),
        }
    }
}

impl ActorObjects<'_> {
    fn is_on_knative(&self) -> bool {
        self.workloads.iter().any(|workload| workload.group() == "serving.knative.dev")
    }

    /// Returns whether KEDA cannot scale the workload, because it has no replicas of its own.
    fn is_on_ray(&self) -> bool {
        self.workloads.first().is_some_and(|workload| workload.group() == "ray.io")
    }

    /// Returns whether a Deployment has given up waiting for its pods.
    fn is_past_deadline(&self) -> bool {
        let conditions = self.workloads.first().map(|workload| deployment_status::conditions(&workload.value));
        conditions.into_iter().flatten().any(|condition| condition.reason == "ProgressDeadlineExceeded")
    }

    /// Returns the last change of replicas that shows: the creation of the newest pod.
    fn last_scaling(&self) -> Option<Time> {
        let times = self.pods.iter().map(|pod| text_or_empty(&pod.value, "/metadata/creationTimestamp"));
        times.filter_map(Time::parse).max()
    }
}

/// What is known about an actor, and the messages that belong to it.
struct Assessment {
    state: ActorState,
    counts: Counts,
    /// Why the transport or the scaling is not ready.
    cause: String,
    /// Why the workload is not ready.
    failure: Option<(String, String)>,
    seconds_since_scaling: Option<i64>,
    notes: Vec<String>,
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

/// Judges an actor by the status that a controller wrote.
fn assess_written_status(
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
fn assess_objects(
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
        notes.push("the snapshot has no pods of it, which would show what they wait for".to_owned());
    }
    let cause = if state == ActorState::TransportError { queue_failure } else { scaling_failure };
    Assessment { state, counts, cause: cause.unwrap_or_default(), failure, seconds_since_scaling, notes }
}

/// Derives the state from an observation, completed by counts and the failure of the workload.
fn derive(counts: Counts, failure: Option<&(String, String)>, observation: &ActorObservation<'_>) -> ActorState {
    let workload_failure = failure.map(|(reason, message)| (reason.as_str(), message.as_str()));
    let (ready, total, desired) = (small(counts.ready), small(counts.total), small(counts.desired));
    state(&ActorObservation { workload_failure, ready, total, desired, ..*observation })
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a count of a dump, which may be any number.
fn small(count: i64) -> i32 {
    i32::try_from(count.max(0)).unwrap_or(i32::MAX)
}

fn seconds_since(time: Option<Time>, policy: StalenessPolicy) -> Option<i64> {
    let seconds = policy.now?.seconds_since(time?);
    Some(i64::try_from(seconds).unwrap_or(i64::MAX))
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

/// Explains the state in one line.
fn message(found: &ActorObjects<'_>, assessment: &Assessment, failures: &[(&LiveObject, PodFailure)]) -> String {
    let Counts { ready, total, desired } = assessment.counts;
    match assessment.state {
        ActorState::Terminating => {
            let mut deleted = found.actor.into_iter().chain(found.workloads.first().copied());
            deleted.find_map(|object| deletion_message(&object.value)).unwrap_or_default()
        }
        ActorState::Creating if found.workloads.is_empty() && found.pods.is_empty() => {
            "no controller has written a status, and the snapshot has no workload of it".to_owned()
        }
        ActorState::Creating => "no controller has written a status".to_owned(),
        ActorState::TransportError | ActorState::ScalingError => assessment.cause.clone(),
        ActorState::Napping => "scaled to zero until messages arrive".to_owned(),
        ActorState::PendingResources
        | ActorState::ImagePullError
        | ActorState::RuntimeError
        | ActorState::SidecarError
        | ActorState::VolumeError
        | ActorState::ConfigError
        | ActorState::WorkloadError => failure_message(assessment, failures),
        ActorState::ScalingUp => format!("{ready} of {desired} replicas are ready"),
        ActorState::ScalingDown => format!("{total} replicas, of which {desired} remain"),
        ActorState::Degraded => {
            let age = assessment.seconds_since_scaling.filter(|seconds| *seconds < i64::MAX);
            let age = age.and_then(|seconds| u64::try_from(seconds).ok()).map(format_age);
            let age = age.map_or_else(String::new, |age| format!(", {age} after the last change"));
            format!("{ready} of {total} replicas are ready{age}")
        }
        ActorState::Running => String::new(),
        ActorState::Unknown => format!("{ready} of {total} replicas are ready, {desired} desired"),
    }
}

/// Returns the failure of the workload.
fn failure_message(assessment: &Assessment, failures: &[(&LiveObject, PodFailure)]) -> String {
    match &assessment.failure {
        Some((reason, message)) if reason == PODS_NOT_HEALTHY => message.clone(),
        Some((reason, message)) => joined(reason, message),
        None => failures.first().map(|(_, failure)| failure.message.clone()).unwrap_or_default(),
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
