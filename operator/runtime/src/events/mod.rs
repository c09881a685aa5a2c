//! Events (OP-8.2), one object for each distinct statement about a deployment.
//!
//! Corresponds to `kube::runtime::events::{Recorder, Reporter}`. kube's `Recorder` names an event by the time and
//! recognizes repetitions in memory, so each process that takes over writes every event again; and it joins events that
//! differ only in their note. Here the name is a hash of the object, the reason and the note: a repetition, by this
//! process or the one before it, increments the `series` of the event that exists. How many events an object causes is
//! limited as in client-go (`correlator`), which kube's `Recorder` leaves to its caller.

mod correlator;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use correlator::{Correlator, Verdict};
use tokio::time::Instant;

use crate::error::{Error, RequestError};
use crate::hash::short_hex;
use crate::mutex::lock;
use crate::text::truncate;

/// What kind of statement an event makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventKind {
    /// The `reason`.
    pub reason: &'static str,
    /// The `type`: `Normal` or `Warning`.
    pub event_type: &'static str,
    /// The `action`: what the operator was doing.
    pub action: &'static str,
}

/// Publishes events. Cheap to clone.
#[derive(Clone)]
pub struct Recorder {
    client: kube::Client,
    /// `reportingInstance`: the process that publishes.
    instance: Arc<str>,
    /// How often each event was published, by namespace and name. A new process does not know the count of an event
    /// that exists, and continues with two.
    counts: Arc<Mutex<BTreeMap<(String, String), i32>>>,
    correlator: Arc<Mutex<Correlator>>,
}

/// The beginning of a note that stands for many, as in client-go.
const COMBINED: &str = "(combined from similar events): ";

/// `reportingController` of every event.
const CONTROLLER: &str = "kubefoundry-operator";
/// Maximum length of a note in bytes that the apiserver accepts
/// (`k8s.io/kubernetes/pkg/apis/core/validation/events.go`).
const MAX_NOTE_BYTES: usize = 1024;
/// Maximum number of events that are counted; then counting starts again.
const MAX_COUNTS: usize = 4096;

impl Recorder {
    /// Creates a recorder for this process; `instance` is the name of its pod or host.
    pub fn new(client: kube::Client, instance: &str) -> Self {
        let instance = if instance.is_empty() { CONTROLLER } else { instance };
        Self { client, instance: instance.into(), counts: Arc::default(), correlator: Arc::default() }
    }

    /// Publishes an event about an object. A failure is logged, and does not fail the reconciliation.
    pub async fn publish(&self, regarding: &ObjectReference, kind: EventKind, message: &str) {
        let verdict = {
            let mut correlator = lock(&self.correlator);
            correlator.decide(text(regarding.uid.as_ref()), kind.reason, message, Instant::now())
        };
        let (namespace, name, reason) =
            (text(regarding.namespace.as_ref()), text(regarding.name.as_ref()), kind.reason);
        let is_combined = match verdict {
            Verdict::Publish => false,
            Verdict::Combine => true,
            Verdict::Drop => {
                tracing::debug!(namespace, name, reason, message, "too many events about the deployment: dropped");
                return;
            }
        };
        let Err(error) = self.try_publish(regarding, kind, message, is_combined).await else { return };
        let error = Error::from(RequestError::from(error));
        if error.is_waiting() {
            tracing::debug!(namespace, name, reason, %error, "publishing an event failed");
        } else {
            tracing::warn!(namespace, name, reason, %error, "publishing an event failed");
        }
    }

    /// Creates the event at its first publication, and later increments the count of its series.
    async fn try_publish(
        &self,
        regarding: &ObjectReference,
        kind: EventKind,
        message: &str,
        is_combined: bool,
    ) -> Result<(), kube::Error> {
        let api: Api<Event> = Api::namespaced(self.client.clone(), text(regarding.namespace.as_ref()));
        let now = microseconds();
        let (name, event) = event(regarding, kind, message, is_combined, &self.instance, &now);
        let event: Event = serde_json::from_value(event).map_err(kube::Error::SerdeError)?;
        let key = (text(regarding.namespace.as_ref()).to_owned(), name.clone());
        let mut count = self.next_count(&key);
        if count == 1 {
            match api.create(&PostParams::default(), &event).await {
                Err(kube::Error::Api(status)) if status.is_already_exists() => count = self.next_count(&key),
                created => return created.map(drop),
            }
        }
        let series = json!({"series": {"count": count, "lastObservedTime": now}});
        match api.patch(&name, &PatchParams::default(), &Patch::Merge(&series)).await {
            // The apiserver deletes events after an hour by default. Then this counts as the first publication again.
            Err(kube::Error::Api(status)) if status.is_not_found() => {
                self.lock().remove(&key);
                api.create(&PostParams::default(), &event).await.map(drop)
            }
            patched => patched.map(drop),
        }
    }

    /// Returns the number of times that an event was published, this time included.
    fn next_count(&self, key: &(String, String)) -> i32 {
        let mut counts = self.lock();
        if counts.len() >= MAX_COUNTS && !counts.contains_key(key) {
            counts.clear();
        }
        let count = counts.entry(key.clone()).or_default();
        *count = count.saturating_add(1);
        *count
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<(String, String), i32>> {
        lock(&self.counts)
    }
}

/// Creates the event object for the first publication. Returns its name and the object. A combined event has one name for
/// all messages of its reason; its note cannot change, so it stays that of the first of them.
fn event(
    regarding: &ObjectReference,
    kind: EventKind,
    message: &str,
    is_combined: bool,
    instance: &str,
    now: &str,
) -> (String, Value) {
    let note = if is_combined { format!("{COMBINED}{message}") } else { message.to_owned() };
    let note = truncate(&note, MAX_NOTE_BYTES);
    let mut hash = Sha256::new();
    for part in [text(regarding.uid.as_ref()), kind.reason, if is_combined { COMBINED } else { note }] {
        hash.update(part);
        hash.update([0]);
    }
    let name = format!("{}.{}", text(regarding.name.as_ref()), short_hex(&hash.finalize()));
    let event = json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": regarding.namespace},
        "type": kind.event_type,
        "reason": kind.reason,
        "action": kind.action,
        "note": note,
        "eventTime": now,
        "reportingController": CONTROLLER,
        "reportingInstance": truncate(instance, 128),
        "regarding": regarding,
    });
    (name, event)
}

/// Returns a field of a reference; empty if it is absent.
fn text(field: Option<&String>) -> &str {
    field.map(String::as_str).unwrap_or_default()
}

/// Returns the current time with exactly six fractional digits, as `MicroTime` requires.
fn microseconds() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERROR: EventKind = EventKind { reason: "ProviderError", event_type: "Warning", action: "Observe" };
    const DRIFT: EventKind = EventKind { reason: "DriftDetected", event_type: "Warning", action: "Apply" };

    fn event_of(uid: &str, kind: EventKind, message: &str, is_combined: bool) -> Value {
        let [name, namespace, uid] = ["phi", "ml", uid].map(|text| Some(text.to_owned()));
        let regarding = ObjectReference { name, namespace, uid, ..ObjectReference::default() };
        event(&regarding, kind, message, is_combined, "pod", &microseconds()).1
    }

    #[test]
    fn the_same_note_about_the_same_object_is_one_event() {
        let name = |uid, reason, message| {
            let event = event_of(uid, reason, message, false);
            // The apiserver accepts it.
            let _: Event = serde_json::from_value(event.clone()).unwrap();
            event["metadata"]["name"].as_str().unwrap().to_owned()
        };
        let event_name = name("1", ERROR, "a");
        assert!(event_name.starts_with("phi."), "{event_name}");
        assert_eq!(event_name, name("1", ERROR, "a"));
        for other in [name("2", ERROR, "a"), name("1", DRIFT, "a"), name("1", ERROR, "b")] {
            assert_ne!(event_name, other);
        }
    }

    #[test]
    fn a_combined_event_is_one_for_all_messages_of_its_reason() {
        let combined = |reason, message| event_of("1", reason, message, true);
        let (first, second) = (combined(ERROR, "a"), combined(ERROR, "b"));
        assert_eq!(first["metadata"]["name"], second["metadata"]["name"]);
        assert_eq!(first["note"], "(combined from similar events): a");
        assert_ne!(first["metadata"]["name"], combined(DRIFT, "a")["metadata"]["name"]);
    }

    #[test]
    fn a_time_has_six_digits() {
        let time = microseconds();
        assert_eq!((time.len(), time.get(19..20), time.get(26..)), (27, Some("."), Some("Z")), "{time}");
    }

    #[test]
    fn a_note_is_truncated_between_characters() {
        assert_eq!(truncate("aé", 2), "a");
        assert_eq!(truncate("aé", 3), "aé");
        let event = event_of("1", ERROR, &"é".repeat(600), false);
        assert_eq!(event["note"].as_str().unwrap().len(), 1024);
    }
}
