//! The status of llama-stack servers, from their pods: the operator of the cluster knows no external providers.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::Value;

use super::claimed::{Key, join_nonempty, joined, replica_failure};
use super::{Observation, ReportedStatus, StalenessPolicy, StatusEntry, deployment_status, empty_status, staleness};
use kubefoundry_compiler::cluster_snapshot::LiveObject;
use kubefoundry_deployment::wire::Phase;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_llamastack::phase::Phase as PartPhase;
use kubefoundry_llamastack::pod_status::{PodPart, distribution_of, parts, server_of};
use kubefoundry_llamastack::wire;
use kubefoundry_provider::Status;
use kubefoundry_provider::status::{
    Replicas, StatusPart, UnrecognizedValue, deletion_message, integer_at, text_or_empty,
};
use kubefoundry_transform::Endpoint;

/// The states of a LlamaStackDistribution, which are the phases of the upstream operator, with the unified phases.
pub const DISTRIBUTION_STATES: [(&str, Phase); 5] = [
    ("Pending", Phase::Pending),
    ("Initializing", Phase::Deploying),
    ("Ready", Phase::Running),
    ("Failed", Phase::Failed),
    ("Terminating", Phase::Terminating),
];

/// A distribution and what runs it.
#[derive(Default)]
struct DistributionObjects<'l> {
    distribution: Option<&'l LiveObject>,
    deployment: Option<&'l LiveObject>,
    service: Option<&'l LiveObject>,
    /// The newest first; those that are being deleted last.
    pods: Vec<&'l LiveObject>,
}

/// Returns an entry for each distribution that is in a snapshot, or has a pod with external providers in it.
pub(super) fn entries(objects: &[LiveObject], policy: StalenessPolicy) -> Vec<StatusEntry> {
    let mut distributions: BTreeMap<Key, DistributionObjects<'_>> = BTreeMap::new();
    for object in objects {
        let ObjectRef { kind, namespace, name, .. } = &object.object;
        let key = |name: &str| Key::new(namespace.as_ref(), name);
        match (object.group(), &**kind) {
            (wire::GROUP, wire::KIND) => {
                distributions.entry(key(name)).or_default().distribution.get_or_insert(object);
            }
            ("", "Pod") => {
                if let Some(server) = server_of(&object.value) {
                    distributions.entry(key(server)).or_default().pods.push(object);
                }
            }
            ("apps", "Deployment") => {
                // The template of a Deployment has the labels of its pods.
                if let Some(server) = object.value.pointer("/spec/template").and_then(server_of) {
                    distributions.entry(key(server)).or_default().deployment = Some(object);
                }
            }
            ("", "Service") => {
                if let Some(server) = name.strip_suffix("-service") {
                    distributions.entry(key(server)).or_default().service = Some(object);
                }
            }
            _ => {}
        }
    }
    let has_distributions = distributions.values().any(|found| found.distribution.is_some());
    let own = distributions.into_iter().filter(|(_, found)| {
        found.distribution.is_some() || found.pods.iter().any(|pod| distribution_of(&pod.value).is_some())
    });
    let entries = own.map(|(key, mut found)| {
        found.pods.sort_by_cached_key(|pod| {
            let text = |pointer: &str| text_or_empty(&pod.value, pointer).to_owned();
            let is_deleted = !text("/metadata/deletionTimestamp").is_empty();
            Reverse((!is_deleted, text("/metadata/creationTimestamp"), pod.object.name.clone()))
        });
        let mut entry = entry(&key, &found, policy);
        // A dump without any distribution was not meant to contain them.
        if has_distributions && found.distribution.is_none() {
            entry.notes.push("the snapshot does not have this LlamaStackDistribution".to_owned());
        }
        entry
    });
    entries.collect()
}

fn entry(key: &Key, found: &DistributionObjects<'_>, policy: StalenessPolicy) -> StatusEntry {
    let mut notes = Vec::new();
    let newest = found.pods.first().copied();
    let reported = found.distribution.and_then(|distribution| reported(&distribution.value));
    let mut status = match (newest, &reported) {
        (Some(pod), _) => status_of_pod(&pod.value),
        (None, Some(reported)) => {
            notes.push("the snapshot does not include its pods: this is the status that it reports itself".to_owned());
            status_of_report(reported, found)
        }
        (None, None) => {
            let message = "the snapshot does not include its pods".to_owned();
            Status { phase: Some(Phase::Pending), message, ..empty_status() }
        }
    };
    if let (Some(pod), true) = (newest, found.pods.len() > 1) {
        // During a rollout, the newest pod shows what the new version does.
        notes.push(format!("of {} pods, the newest is shown: {}", found.pods.len(), pod.object.name));
    }
    let failure = found.deployment.and_then(|deployment| replica_failure(&deployment.value));
    if let (None, Some(failure)) = (newest, failure) {
        status.phase = Some(Phase::Failed);
        status.message = joined(&failure.reason, &failure.message);
    }
    if let Some(message) = found.distribution.and_then(|distribution| deletion_message(&distribution.value)) {
        status.phase = Some(Phase::Terminating);
        status.message = message;
    }
    status.replicas = replicas(found);
    status.endpoint = endpoint(key, found);
    if let Some(distribution) = found.distribution {
        status.provider_conditions = deployment_status::conditions(&distribution.value);
        status.generation = integer_at(&distribution.value, "/metadata/generation");
    }
    let state = DISTRIBUTION_STATES.iter().find(|(_, phase)| status.phase == Some(*phase)).map(|(word, _)| *word);
    if let (Some(reported), Some(state), Some(_)) = (&reported, state, newest)
        && !reported.phase.is_empty()
        && reported.phase != state
    {
        notes.push(format!("the distribution's own status still says {}", reported.phase));
    }
    let source = newest.or(found.deployment).or(found.distribution);
    let observation = source.map_or_else(Observation::default, |it| staleness::observe(&it.value, &status, policy));
    let resource = found
        .distribution
        .map_or_else(|| key.object(wire::API_VERSION, wire::KIND), |distribution| distribution.object.clone());
    StatusEntry { reported, observation, notes, ..StatusEntry::of_object(resource, state.unwrap_or("Unknown"), status) }
}

/// Returns the phase in the status of a distribution, and why it is not ready.
fn reported(distribution: &Value) -> Option<ReportedStatus> {
    let phase = text_or_empty(distribution, "/status/phase").to_owned();
    let conditions = deployment_status::conditions(distribution);
    let failed = conditions.into_iter().find(|condition| condition.status.as_str() == "False");
    let message = failed.map(|failed| joined(&failed.reason, &failed.message)).unwrap_or_default();
    (!phase.is_empty() || !message.is_empty()).then_some(ReportedStatus { phase, message })
}

/// Reads the status of a distribution without a pod in the snapshot.
fn status_of_report(reported: &ReportedStatus, found: &DistributionObjects<'_>) -> Status {
    let phase = DISTRIBUTION_STATES.iter().find(|(word, _)| *word == reported.phase).map(|(_, phase)| *phase);
    let mut status = Status { phase, message: reported.message.clone(), ..empty_status() };
    if phase.is_none() && !reported.phase.is_empty() {
        let value = Value::from(reported.phase.as_str());
        let unrecognized = UnrecognizedValue { path: "status.phase".to_owned(), value };
        status.message = join_nonempty(&[&unrecognized.to_string(), &status.message], "; ");
        status.unrecognized.push(unrecognized);
    }
    let providers = found.distribution.and_then(|it| it.value.pointer("/status/externalProviders")?.as_array());
    let parts = providers.into_iter().flatten().map(|provider| {
        let text = |pointer: &str| text_or_empty(provider, pointer).to_owned();
        let state = Some(text("/phase")).filter(|state| !state.is_empty());
        let (role, name, message) = ("external provider".to_owned(), text("/providerId"), text("/message"));
        StatusPart { role, name, state, message, replicas: None }
    });
    status.parts = parts.collect();
    status
}

/// Returns the number of pods whose server is ready, and that of those that should be.
fn replicas(found: &DistributionObjects<'_>) -> Option<Replicas> {
    if let Some(deployment) = found.deployment {
        let ready = integer_at(&deployment.value, "/status/readyReplicas").unwrap_or(0);
        let desired = integer_at(&deployment.value, "/spec/replicas").unwrap_or(1);
        return Some(Replicas { desired: Some(desired), ready: Some(ready), available: None });
    }
    let desired = found.distribution.map(|it| integer_at(&it.value, "/spec/replicas").unwrap_or(1));
    let serves = |pod: &&&LiveObject| parts(&pod.value).iter().any(is_serving);
    let ready = i64::try_from(found.pods.iter().filter(serves).count()).ok();
    (!found.pods.is_empty()).then_some(Replicas { desired, ready, available: None })
}

fn is_serving(part: &PodPart) -> bool {
    part.role == "server" && part.phase == PartPhase::Ready
}

/// Returns the Service of a server: the one in the snapshot, or the one that follows from the distribution.
fn endpoint(key: &Key, found: &DistributionObjects<'_>) -> Option<Endpoint> {
    let service = found.service.and_then(|service| integer_at(&service.value, "/spec/ports/0/port"));
    let declared = found.distribution.and_then(|it| integer_at(&it.value, "/spec/server/containerSpec/port"));
    let port = u16::try_from(service.or(declared)?).ok()?;
    Some(Endpoint { service: format!("{}-service", key.1), port })
}

/// Reads the parts of a pod. The message names the first part that is not ready.
fn status_of_pod(pod: &Value) -> Status {
    let parts = parts(pod);
    let find = |phase: PartPhase| parts.iter().find(|part| part.phase == phase);
    let is_deleted = deletion_message(pod);
    let (phase, message) = if let Some(message) = is_deleted {
        (Phase::Terminating, format!("its pod is {message}"))
    } else if let Some(failed) = find(PartPhase::Failed) {
        (Phase::Failed, format!("{} {} failed", failed.role, failed.name))
    } else if parts.iter().any(is_serving) {
        (Phase::Running, String::new())
    } else {
        let is_pending = parts.iter().all(|part| part.phase == PartPhase::Pending);
        let phase = if is_pending { Phase::Pending } else { Phase::Deploying };
        let waits = parts.iter().find(|part| part.phase != PartPhase::Ready);
        (phase, waits.map(|part| format!("waiting for {} {}", part.role, part.name)).unwrap_or_default())
    };
    let parts = parts.into_iter().map(|part| StatusPart {
        role: part.role.to_owned(),
        name: part.name,
        state: Some(part.phase.as_str().to_owned()),
        message: part.message,
        replicas: None,
    });
    Status { phase: Some(phase), message, parts: parts.collect(), ..empty_status() }
}
