//! Events (docs/specification.md OP-8.2), once for each thing that happens.
//!
//! The name of an event follows from what it says. So what is said again, by this process or the one before it, is counted in
//! the event that is there (`series`), and makes no second one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::events::v1::Event;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::cached::Cached;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happening {
    /// A provider was chosen.
    ProviderSelected,
    /// An object of the provider was made.
    ResourceCreated,
    /// A Secret that is named is not there.
    SecretNotFound,
    /// The provider reports an error, or its object cannot be applied.
    ProviderError,
    /// The provider's object was changed by somebody else.
    DriftDetected,
    /// The provider's object could not be waited for.
    FinalizerTimeout,
}

impl Happening {
    /// All of them, as in the specification's table.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 6] = [
        Self::ProviderSelected,
        Self::ResourceCreated,
        Self::SecretNotFound,
        Self::ProviderError,
        Self::DriftDetected,
        Self::FinalizerTimeout,
    ];

    /// The event's reason.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::ProviderSelected => "ProviderSelected",
            Self::ResourceCreated => "ResourceCreated",
            Self::SecretNotFound => "SecretNotFound",
            Self::ProviderError => "ProviderError",
            Self::DriftDetected => "DriftDetected",
            Self::FinalizerTimeout => "FinalizerTimeout",
        }
    }

    /// The event's type.
    pub(crate) const fn event_type(self) -> &'static str {
        match self {
            Self::ProviderSelected | Self::ResourceCreated => "Normal",
            Self::SecretNotFound | Self::ProviderError | Self::DriftDetected | Self::FinalizerTimeout => "Warning",
        }
    }

    /// What the operator was doing.
    const fn action(self) -> &'static str {
        match self {
            Self::ProviderSelected => "Select",
            Self::ResourceCreated | Self::DriftDetected => "Apply",
            Self::SecretNotFound => "Validate",
            Self::ProviderError => "Observe",
            Self::FinalizerTimeout => "Delete",
        }
    }

    /// What it means, for the documentation.
    #[cfg(test)]
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::ProviderSelected => "a provider was chosen; why is in the message",
            Self::ResourceCreated => "an object of the provider was made",
            Self::SecretNotFound => "a Secret that the deployment names is not in its namespace",
            Self::ProviderError => {
                "the provider reports an error, refuses an object, or an object of that name is not ours"
            }
            Self::DriftDetected => "somebody changed a field that is rendered; it was set back",
            Self::FinalizerTimeout => "the provider's objects were not gone in time; they may still be there",
        }
    }
}

/// Where events go.
#[derive(Clone)]
pub(crate) struct Events {
    client: kube::Client,
    /// Which process says it.
    instance: Arc<str>,
    /// How often each was said, by namespace and name; lost with the process, and then counted from two on.
    said: Arc<Mutex<BTreeMap<(String, String), i32>>>,
}

/// Who says it.
const CONTROLLER: &str = "kubefoundry-operator";
/// The longest note that the apiserver takes, in bytes (`k8s.io/kubernetes/pkg/apis/core/validation/events.go`).
const LONGEST_NOTE: usize = 1024;
/// How many are counted at a time.
const MOST_COUNTED: usize = 4096;

impl Events {
    /// Events of this process; `instance` is the name of its pod or host.
    pub(crate) fn new(client: kube::Client, instance: &str) -> Self {
        let instance = if instance.is_empty() { CONTROLLER } else { instance };
        Self { client, instance: instance.into(), said: Arc::default() }
    }

    /// Writes an event about a deployment. What cannot be written is logged: it stops nothing.
    pub(crate) async fn publish(&self, deployment: &Cached, happening: Happening, message: &str) {
        if let Err(error) = self.try_publish(deployment, happening, message).await {
            let (namespace, name, reason) = (deployment.namespace(), deployment.name(), happening.reason());
            tracing::warn!(namespace, name, reason, %error, "an event could not be written");
        }
    }

    async fn try_publish(&self, deployment: &Cached, happening: Happening, message: &str) -> Result<(), kube::Error> {
        let api: Api<Event> = Api::namespaced(self.client.clone(), deployment.namespace());
        let now = microseconds();
        let event = event(deployment, happening, message, &self.instance, &now);
        let event: Event = serde_json::from_value(event).map_err(kube::Error::SerdeError)?;
        let name = event.metadata.name.clone().unwrap_or_default();
        let key = (deployment.namespace().to_owned(), name.clone());
        let mut count = self.count(&key);
        if count == 1 {
            match api.create(&PostParams::default(), &event).await {
                Err(kube::Error::Api(status)) if status.is_already_exists() => count = self.count(&key),
                made => return made.map(drop),
            }
        }
        let again = json!({"series": {"count": count, "lastObservedTime": now}});
        match api.patch(&name, &PatchParams::default(), &Patch::Merge(&again)).await {
            // Events are kept for an hour; then it is new again.
            Err(kube::Error::Api(status)) if status.is_not_found() => {
                self.lock().remove(&key);
                api.create(&PostParams::default(), &event).await.map(drop)
            }
            patched => patched.map(drop),
        }
    }

    /// How often it was said, this time included.
    fn count(&self, key: &(String, String)) -> i32 {
        let mut said = self.lock();
        if said.len() >= MOST_COUNTED && !said.contains_key(key) {
            said.clear();
        }
        let count = said.entry(key.clone()).or_default();
        *count = count.saturating_add(1);
        *count
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<(String, String), i32>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The event, when it is said for the first time.
fn event(deployment: &Cached, happening: Happening, message: &str, instance: &str, now: &str) -> Value {
    let object = deployment.value();
    let note = shortened(message, LONGEST_NOTE);
    let mut hash = Sha256::new();
    for part in [deployment.uid(), happening.reason(), note] {
        hash.update(part);
        hash.update([0]);
    }
    let hash = hexadecimal(&hash.finalize());
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": format!("{}.{hash}", deployment.name()), "namespace": deployment.namespace()},
        "type": happening.event_type(),
        "reason": happening.reason(),
        "action": happening.action(),
        "note": note,
        "eventTime": now,
        "reportingController": CONTROLLER,
        "reportingInstance": shortened(instance, 128),
        "regarding": {
            "apiVersion": object["apiVersion"],
            "kind": object["kind"],
            "namespace": deployment.namespace(),
            "name": deployment.name(),
            "uid": deployment.uid(),
        },
    })
}

/// The first 16 digits of a hash.
pub(crate) fn hexadecimal(hash: &[u8]) -> String {
    hash.iter().take(8).fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// The beginning of a text, at most so many bytes of it.
fn shortened(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// Now, as the apiserver reads it: with six digits.
fn microseconds() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment(uid: &str) -> Cached {
        Cached::new(json!({
            "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment",
            "metadata": {"name": "phi", "namespace": "ml", "uid": uid},
        }))
        .unwrap()
    }

    #[test]
    fn the_same_words_about_the_same_object_are_one_event() {
        let name = |uid, happening, message| {
            let event = event(&deployment(uid), happening, message, "pod", &microseconds());
            // It is what the apiserver takes.
            let _: Event = serde_json::from_value(event.clone()).unwrap();
            event["metadata"]["name"].as_str().unwrap().to_owned()
        };
        let one = name("1", Happening::ProviderError, "a");
        assert!(one.starts_with("phi."), "{one}");
        assert_eq!(one, name("1", Happening::ProviderError, "a"));
        for other in [
            name("2", Happening::ProviderError, "a"),
            name("1", Happening::DriftDetected, "a"),
            name("1", Happening::ProviderError, "b"),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn a_time_has_six_digits() {
        let time = microseconds();
        assert_eq!((time.len(), time.get(19..20), time.get(26..)), (27, Some("."), Some("Z")), "{time}");
    }

    #[test]
    fn a_note_is_cut_between_letters() {
        assert_eq!(shortened("aé", 2), "a");
        assert_eq!(shortened("aé", 3), "aé");
        let event = event(&deployment("1"), Happening::ProviderError, &"é".repeat(600), "pod", "");
        assert_eq!(event["note"].as_str().unwrap().len(), 1024);
    }

    #[test]
    fn every_reason_is_there_once() {
        let reasons: std::collections::BTreeSet<_> = Happening::ALL.iter().map(|one| one.reason()).collect();
        assert_eq!(reasons.len(), Happening::ALL.len());
    }
}
