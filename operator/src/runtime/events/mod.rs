//! Events (OP-8.2), one object for each distinct statement about a deployment.
//!
//! Corresponds to `kube::runtime::events::{Recorder, Reporter}`. kube's `Recorder` names an event by the time and
//! recognizes repetitions in memory, so each process that takes over writes every event again; and it joins events that
//! differ only in their note. Here the name is a hash of the object, the reason and the note: a repetition, by this
//! process or the one before it, increments the `series` of the event that exists. How many events an object causes is
//! limited as in client-go ([`correlator`]), which kube's `Recorder` leaves to its caller.

mod correlator;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::events::v1::Event;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use correlator::{Correlator, Verdict};
use tokio::time::Instant;

use crate::cached_object::CachedObject;
use crate::error::Error;
use crate::hash::short_hex;
use crate::mutex::lock;
use crate::reconcile::request::RequestError;

/// The reason of an event, with what follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventReason {
    /// A provider was selected.
    ProviderSelected,
    /// An object of the provider was created.
    ResourceCreated,
    /// A Secret that the deployment names does not exist.
    SecretNotFound,
    /// The provider reports an error, or its object cannot be applied.
    ProviderError,
    /// Another client changed the provider's object.
    DriftDetected,
    /// The provider's objects were not deleted in time.
    FinalizerTimeout,
    /// The main object is deleted and created again.
    Recreating,
    /// The last recreations failed, so no other one starts.
    RecreationPaused,
    /// An object of the deployment lost its owner, and outlives the deployment.
    ObjectLeft,
    /// An actor was added to a workload of another owner.
    Bound,
    /// An actor was removed from a workload of another owner.
    Unbound,
    /// Another client reverted what was added to a workload.
    BindingConflict,
    /// Another client did so too often.
    BindingStopped,
    /// An object is no longer handed to the operator.
    Released,
}

impl EventReason {
    /// All reasons: those of the specification's table in its order, then our own.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 14] = [
        Self::ProviderSelected,
        Self::ResourceCreated,
        Self::SecretNotFound,
        Self::ProviderError,
        Self::DriftDetected,
        Self::FinalizerTimeout,
        Self::Recreating,
        Self::RecreationPaused,
        Self::ObjectLeft,
        Self::Bound,
        Self::Unbound,
        Self::BindingConflict,
        Self::BindingStopped,
        Self::Released,
    ];

    /// Returns the `reason` of the event.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::ProviderSelected => "ProviderSelected",
            Self::ResourceCreated => "ResourceCreated",
            Self::SecretNotFound => "SecretNotFound",
            Self::ProviderError => "ProviderError",
            Self::DriftDetected => "DriftDetected",
            Self::FinalizerTimeout => "FinalizerTimeout",
            Self::Recreating => "Recreating",
            Self::RecreationPaused => "RecreationPaused",
            Self::ObjectLeft => "ObjectLeft",
            Self::Bound => "Bound",
            Self::Unbound => "Unbound",
            Self::BindingConflict => "BindingConflict",
            Self::BindingStopped => "BindingStopped",
            Self::Released => "Released",
        }
    }

    /// Returns the `type` of the event.
    pub(crate) const fn event_type(self) -> &'static str {
        match self {
            Self::ProviderSelected
            | Self::ResourceCreated
            | Self::Recreating
            | Self::Bound
            | Self::Unbound
            | Self::Released => "Normal",
            Self::SecretNotFound
            | Self::ProviderError
            | Self::DriftDetected
            | Self::FinalizerTimeout
            | Self::RecreationPaused
            | Self::ObjectLeft
            | Self::BindingConflict
            | Self::BindingStopped => "Warning",
        }
    }

    /// Returns the `action` of the event: what the operator was doing.
    const fn action(self) -> &'static str {
        match self {
            Self::ProviderSelected => "Select",
            Self::ResourceCreated | Self::DriftDetected | Self::Recreating | Self::RecreationPaused => "Apply",
            Self::Bound | Self::BindingConflict | Self::BindingStopped => "Bind",
            Self::Unbound | Self::Released => "Release",
            Self::SecretNotFound => "Validate",
            Self::ProviderError => "Observe",
            Self::FinalizerTimeout | Self::ObjectLeft => "Delete",
        }
    }

    /// Explanation for docs/operator/reference.md.
    #[cfg(test)]
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::ProviderSelected => "a provider was selected; the message has the reason",
            Self::ResourceCreated => "an object of the provider was created",
            Self::SecretNotFound => "a Secret that the deployment names does not exist in its namespace",
            Self::ProviderError => {
                "the provider reports an error or refuses an object, or an object of that name has another owner"
            }
            Self::DriftDetected => "another client changed a rendered field; the operator restored it",
            Self::FinalizerTimeout => {
                "the finalizer was removed after `--finalizer-timeout`; objects of the provider may be orphaned"
            }
            Self::Recreating => "the main object is deleted and created again; the message has the reason",
            Self::RecreationPaused => {
                "three recreations in a row were not ready within `--recreate-deadline`, so the others wait"
            }
            Self::ObjectLeft => {
                "an object lost its owner (`--cascade=orphan`, or an edit), so it outlives its deleted deployment"
            }
            Self::Bound => "an actor was added to a workload of another owner",
            Self::Unbound => "an actor was removed from a workload of another owner",
            Self::BindingConflict => "another client removed or changed what an actor added to a workload",
            Self::BindingStopped => {
                "another client did so more than five times, so the operator no longer changes the workload"
            }
            Self::Released => "an AsyncActor or a LlamaStackDistribution is no longer handed to the operator",
        }
    }
}

/// Publishes events. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Recorder {
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
    pub(crate) fn new(client: kube::Client, instance: &str) -> Self {
        let instance = if instance.is_empty() { CONTROLLER } else { instance };
        Self { client, instance: instance.into(), counts: Arc::default(), correlator: Arc::default() }
    }

    /// Publishes an event about a deployment of this kind. A failure is logged, and does not fail the reconciliation.
    pub(crate) async fn publish(
        &self,
        deployment: &CachedObject,
        resource: &ApiResource,
        reason: EventReason,
        message: &str,
    ) {
        let verdict = {
            let mut correlator = lock(&self.correlator);
            correlator.decide(deployment.uid(), reason.as_str(), message, Instant::now())
        };
        let (namespace, name) = (deployment.namespace(), deployment.name());
        let is_combined = match verdict {
            Verdict::Publish => false,
            Verdict::Combine => true,
            Verdict::Drop => {
                let reason = reason.as_str();
                tracing::debug!(namespace, name, reason, message, "too many events about the deployment: dropped");
                return;
            }
        };
        let Err(error) = self.try_publish(deployment, resource, reason, message, is_combined).await else { return };
        let (error, reason) = (Error::from(RequestError::from(error)), reason.as_str());
        if error.is_waiting() {
            tracing::debug!(namespace, name, reason, %error, "publishing an event failed");
        } else {
            tracing::warn!(namespace, name, reason, %error, "publishing an event failed");
        }
    }

    /// Creates the event at its first publication, and later increments the count of its series.
    async fn try_publish(
        &self,
        deployment: &CachedObject,
        resource: &ApiResource,
        reason: EventReason,
        message: &str,
        is_combined: bool,
    ) -> Result<(), kube::Error> {
        let api: Api<Event> = Api::namespaced(self.client.clone(), deployment.namespace());
        let now = microseconds();
        let event = event(deployment, resource, reason, message, is_combined, &self.instance, &now);
        let event: Event = serde_json::from_value(event).map_err(kube::Error::SerdeError)?;
        let name = event.metadata.name.clone().unwrap_or_default();
        let key = (deployment.namespace().to_owned(), name.clone());
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

/// Creates the event object for the first publication. A combined event has one name for all messages of its reason; its
/// note cannot change, so it stays that of the first of them.
fn event(
    deployment: &CachedObject,
    resource: &ApiResource,
    reason: EventReason,
    message: &str,
    is_combined: bool,
    instance: &str,
    now: &str,
) -> Value {
    let note = if is_combined { format!("{COMBINED}{message}") } else { message.to_owned() };
    let note = truncated(&note, MAX_NOTE_BYTES);
    let mut hash = Sha256::new();
    for part in [deployment.uid(), reason.as_str(), if is_combined { COMBINED } else { note }] {
        hash.update(part);
        hash.update([0]);
    }
    let hash = short_hex(&hash.finalize());
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": format!("{}.{hash}", deployment.name()), "namespace": deployment.namespace()},
        "type": reason.event_type(),
        "reason": reason.as_str(),
        "action": reason.action(),
        "note": note,
        "eventTime": now,
        "reportingController": CONTROLLER,
        "reportingInstance": truncated(instance, 128),
        "regarding": {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "namespace": deployment.namespace(),
            "name": deployment.name(),
            "uid": deployment.uid(),
        },
    })
}

/// Returns the longest prefix of a text that has at most `max` bytes.
fn truncated(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// Returns the current time with exactly six fractional digits, as `MicroTime` requires.
fn microseconds() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use kube::core::GroupVersionKind;

    use super::*;

    fn event_of(uid: &str, reason: EventReason, message: &str, is_combined: bool) -> Value {
        let kind = GroupVersionKind::gvk("kubefoundry.ai", "v1alpha1", "ModelDeployment");
        let resource = ApiResource::from_gvk(&kind);
        event(&deployment(uid), &resource, reason, message, is_combined, "pod", &microseconds())
    }

    fn deployment(uid: &str) -> CachedObject {
        CachedObject::new(json!({
            "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment",
            "metadata": {"name": "phi", "namespace": "ml", "uid": uid},
        }))
        .unwrap()
    }

    #[test]
    fn the_same_note_about_the_same_object_is_one_event() {
        let name = |uid, reason, message| {
            let event = event_of(uid, reason, message, false);
            // The apiserver accepts it.
            let _: Event = serde_json::from_value(event.clone()).unwrap();
            event["metadata"]["name"].as_str().unwrap().to_owned()
        };
        let event_name = name("1", EventReason::ProviderError, "a");
        assert!(event_name.starts_with("phi."), "{event_name}");
        assert_eq!(event_name, name("1", EventReason::ProviderError, "a"));
        for other in [
            name("2", EventReason::ProviderError, "a"),
            name("1", EventReason::DriftDetected, "a"),
            name("1", EventReason::ProviderError, "b"),
        ] {
            assert_ne!(event_name, other);
        }
    }

    #[test]
    fn a_combined_event_is_one_for_all_messages_of_its_reason() {
        let combined = |reason, message| event_of("1", reason, message, true);
        let (first, second) = (combined(EventReason::ProviderError, "a"), combined(EventReason::ProviderError, "b"));
        assert_eq!(first["metadata"]["name"], second["metadata"]["name"]);
        assert_eq!(first["note"], "(combined from similar events): a");
        assert_ne!(first["metadata"]["name"], combined(EventReason::DriftDetected, "a")["metadata"]["name"]);
    }

    #[test]
    fn a_time_has_six_digits() {
        let time = microseconds();
        assert_eq!((time.len(), time.get(19..20), time.get(26..)), (27, Some("."), Some("Z")), "{time}");
    }

    #[test]
    fn a_note_is_truncated_between_characters() {
        assert_eq!(truncated("aé", 2), "a");
        assert_eq!(truncated("aé", 3), "aé");
        let event = event_of("1", EventReason::ProviderError, &"é".repeat(600), false);
        assert_eq!(event["note"].as_str().unwrap().len(), 1024);
    }

    #[test]
    fn every_reason_is_listed_once() {
        let reasons: std::collections::BTreeSet<_> = EventReason::ALL.iter().map(|reason| reason.as_str()).collect();
        assert_eq!(reasons.len(), EventReason::ALL.len());
    }
}
