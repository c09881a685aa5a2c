//! The objects of a snapshot by which actors are judged.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::status::claimed::{Key, joined};
use crate::status::deployment_status;
use kubefoundry_actor::status::{PodFailure, VOLUME_EVENTS, pod_failure};
use kubefoundry_compiler::cluster_snapshot::LiveObject;
use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_kubernetes::wire::ConditionStatus;
use kubefoundry_provider::status::{Condition, text_or_empty};

/// An actor and what runs it.
#[derive(Default)]
pub(super) struct ActorObjects<'l> {
    pub(super) actor: Option<&'l LiveObject>,
    pub(super) workloads: Vec<&'l LiveObject>,
    pub(super) pods: Vec<&'l LiveObject>,
}

/// The other objects of a snapshot by which actors are judged.
#[derive(Default)]
pub(super) struct Surroundings<'l> {
    /// ScaledObjects by the name of the workload that they scale.
    pub(super) scaled_objects: BTreeMap<Key, &'l LiveObject>,
    /// ScaledObjects by their own name, for actors without a workload in the snapshot.
    pub(super) named_scaled_objects: BTreeMap<Key, &'l LiveObject>,
    /// The objects that create queues, by the name of the queue.
    pub(super) queues: BTreeMap<Key, &'l LiveObject>,
    /// The newest event of each pod that cannot mount a volume: its time, reason and message.
    pub(super) volume_events: BTreeMap<Key, (&'l str, &'l str, &'l str)>,
}

/// Returns the creation time and the name of an object, to sort by.
pub(super) fn age_key(object: &LiveObject) -> (String, Arc<str>) {
    (text_or_empty(&object.value, "/metadata/creationTimestamp").to_owned(), object.object.name.clone())
}

impl<'l> Surroundings<'l> {
    /// Keeps an event of a pod that cannot mount a volume.
    pub(super) fn add_event(&mut self, event: &'l LiveObject) {
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

    pub(super) fn pod_failure(&self, pod: &LiveObject) -> Option<PodFailure> {
        let event = self.volume_events.get(&Key::new(pod.object.namespace.as_ref(), &pod.object.name));
        pod_failure(&pod.value, event.map(|(_, reason, message)| (*reason, *message)))
    }

    /// Returns the ScaledObject of a workload or, without a workload, of an actor.
    pub(super) fn scaled_object(&self, key: &Key, workload: Option<&LiveObject>) -> Option<&'l LiveObject> {
        let found = match workload {
            Some(workload) => self.scaled_objects.get(&Key::new(key.0.as_ref(), &workload.object.name)),
            None => self.named_scaled_objects.get(key),
        };
        found.copied()
    }

    /// Returns why the queue of an actor cannot be created, if its object says so.
    pub(super) fn queue_failure(&self, key: &Key) -> Option<String> {
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
pub(super) fn sentence(condition: &Condition) -> String {
    joined(&condition.reason, &condition.message)
}

impl ActorObjects<'_> {
    pub(super) fn is_on_knative(&self) -> bool {
        self.workloads.iter().any(|workload| workload.group() == "serving.knative.dev")
    }

    /// Returns whether KEDA cannot scale the workload, because it has no replicas of its own.
    pub(super) fn is_on_ray(&self) -> bool {
        self.workloads.first().is_some_and(|workload| workload.group() == "ray.io")
    }

    /// Returns whether a Deployment has given up waiting for its pods.
    pub(super) fn is_past_deadline(&self) -> bool {
        let conditions = self.workloads.first().map(|workload| deployment_status::conditions(&workload.value));
        conditions.into_iter().flatten().any(|condition| condition.reason == "ProgressDeadlineExceeded")
    }

    /// Returns the last change of replicas that shows: the creation of the newest pod.
    pub(super) fn last_scaling(&self) -> Option<Time> {
        let times = self.pods.iter().map(|pod| text_or_empty(&pod.value, "/metadata/creationTimestamp"));
        times.filter_map(Time::parse).max()
    }
}
