//! The status of llama-stack servers with external providers, from their pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Observation, StatusEntry, empty_status};
use crate::cluster_snapshot::LiveObject;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_llamastack::phase::Phase as PartPhase;
use kubefoundry_llamastack::{pod_status, wire};
use kubefoundry_model::provider::Status;
use kubefoundry_model::status::StatusPart;
use kubefoundry_model::wire::Phase;
use kubefoundry_yaml::text::one_line;

/// Namespace and name of a distribution.
type Key = (Option<Arc<str>>, Arc<str>);

/// Returns an entry for each distribution with external providers that is in a snapshot or has a pod in it.
pub(super) fn entries(objects: &[LiveObject]) -> Vec<StatusEntry> {
    let mut distributions: BTreeMap<Key, Vec<&LiveObject>> = BTreeMap::new();
    for object in objects {
        let ObjectRef { kind, namespace, name, .. } = &object.object;
        let name = match (object.group(), &**kind) {
            (wire::GROUP, wire::KIND) if object.value.pointer("/spec/server/externalProviders").is_some() => {
                name.clone()
            }
            ("", "Pod") => match pod_status::distribution_of(&object.value) {
                Some(name) => Arc::from(name),
                None => continue,
            },
            _ => continue,
        };
        let pods = distributions.entry((namespace.clone(), name)).or_default();
        if &**kind == "Pod" {
            pods.push(object);
        }
    }
    distributions.into_iter().map(|((namespace, name), pods)| entry(namespace, name, &pods)).collect()
}

fn entry(namespace: Option<Arc<str>>, name: Arc<str>, pods: &[&LiveObject]) -> StatusEntry {
    // During a rollout, the newest pod shows what the new version does.
    let created =
        |pod: &LiveObject| pod.value.pointer("/metadata/creationTimestamp").and_then(Value::as_str).map(str::to_owned);
    let newest = pods.iter().max_by_key(|pod| (created(pod), pod.object.name.clone()));
    let resource =
        ObjectRef { api_version: Arc::from(wire::API_VERSION), kind: Arc::from(wire::KIND), namespace, name };
    let mut notes = Vec::new();
    if pods.len() > 1 {
        notes.extend(newest.map(|pod| format!("of {} pods, the newest is shown: {}", pods.len(), pod.object.name)));
    }
    StatusEntry {
        deployment: None,
        deployment_in_dump: false,
        resource: Some(resource),
        provider: None,
        joined_by: None,
        state: None,
        status: newest.map_or_else(without_pod, |pod| pod_status_of(&pod.value)),
        reported: None,
        observation: Observation::default(),
        notes,
    }
}

fn without_pod() -> Status {
    let message = "the snapshot has no pod of it (kubectl get pods)".to_owned();
    Status { phase: Some(Phase::Pending), message, ..empty_status() }
}

fn pod_status_of(pod: &Value) -> Status {
    let parts = pod_status::parts(pod);
    let all = |phase: PartPhase| parts.iter().all(|part| part.phase == phase);
    let any = |phase: PartPhase| parts.iter().any(|part| part.phase == phase);
    let phase = if pod.pointer("/metadata/deletionTimestamp").is_some() {
        Phase::Terminating
    } else if any(PartPhase::Failed) {
        Phase::Failed
    } else if parts.iter().any(|part| part.role == "server" && part.phase == PartPhase::Ready) {
        Phase::Running
    } else if all(PartPhase::Pending) {
        Phase::Pending
    } else {
        Phase::Deploying
    };
    // Ready parts need no words. What waits for a failed part needs none either; of other waiting parts, the first is enough.
    let mut waits = any(PartPhase::Failed);
    let told = parts.iter().filter(|part| match part.phase {
        PartPhase::Ready => false,
        PartPhase::Pending => !std::mem::replace(&mut waits, true),
        _ => true,
    });
    let told: Vec<String> = told
        .map(|part| {
            // The last words of a container are several lines.
            let words: Vec<&str> = part.message.split_whitespace().collect();
            format!("{} {} {}: {}", part.role, part.name, part.phase.as_str(), one_line(&words.join(" ")))
        })
        .collect();
    let message = if told.is_empty() { "all external providers are installed".to_owned() } else { told.join("; ") };
    let parts = parts.into_iter().map(|part| StatusPart {
        role: part.role.to_owned(),
        name: part.name,
        state: Some(part.phase.as_str().to_owned()),
        message: part.message,
        replicas: None,
    });
    Status { phase: Some(phase), message, parts: parts.collect(), ..empty_status() }
}
