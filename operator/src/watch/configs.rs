//! Watches the InferenceProviderConfigs of an API group: which providers can be selected, and which are alive.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::{Api, Client};
use kubefoundry_kubernetes::api_group::ApiGroup;
use serde_json::{Value, json};
use tokio::time::Instant;

use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_controller_runtime::observed::ObjectView;
use kubefoundry_controller_runtime::watch::{Index, Initialized, Signal, follow, watch_config};
use kubefoundry_reconcile::cached_object::CachedObject;
use kubefoundry_reconcile::names;

/// A provider configuration, with its heartbeat kept apart: a heartbeat alone must not build a new snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProviderConfig {
    /// Kind, name, specification and readiness as JSON.
    pub(crate) text: Arc<str>,
    heartbeat: Option<Heartbeat>,
}

/// The heartbeat of a provider, and when it was observed. Its clock is used for the first observation only.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Heartbeat {
    /// `status.lastHeartbeat` as written.
    time: String,
    /// The local time at which it was observed first.
    seen: Instant,
    /// The age at that moment by the provider's clock; zero for every heartbeat but the first.
    age: Duration,
}

impl ProviderConfig {
    /// Returns the time from which the provider counts as silent; none if it sends no heartbeat.
    pub(crate) fn silent_from(&self, timeout: Duration) -> Option<Instant> {
        let heartbeat = self.heartbeat.as_ref()?;
        Some(heartbeat.seen + timeout.saturating_sub(heartbeat.age))
    }

    /// Returns the text, with `ready: false` when the provider is silent.
    pub(crate) fn text_at(&self, now: Instant, timeout: Duration) -> Arc<str> {
        if self.silent_from(timeout).is_none_or(|from| now < from) {
            return Arc::clone(&self.text);
        }
        let mut value: Value = match serde_json::from_str(&self.text) {
            Ok(value) => value,
            Err(error) => {
                tracing::error!(%error, "a provider configuration that is kept cannot be read");
                return Arc::clone(&self.text);
            }
        };
        value["status"]["ready"] = Value::Bool(false);
        value.to_string().into()
    }
}

/// The configurations of one group, by name.
#[derive(Debug)]
pub(crate) struct Configs {
    pub(crate) api_group: &'static ApiGroup,
    known: RwLock<Index<ProviderConfig>>,
    filled: Initialized,
}

impl Configs {
    pub(crate) fn new(api_group: &'static ApiGroup) -> Self {
        Self { api_group, known: RwLock::default(), filled: Initialized::default() }
    }

    /// Returns the configurations by name.
    pub(crate) fn all(&self) -> BTreeMap<String, ProviderConfig> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).all.clone()
    }

    /// Waits until the cache is filled.
    pub(crate) async fn filled(&self) {
        self.filled.wait().await;
    }

    /// Keeps the cache up to date, and raises the signal on changes. Never returns.
    pub(crate) async fn follow(&self, client: Client, changed: Arc<Signal>, metrics: Arc<Metrics>) {
        let resource = names::configurations(self.api_group);
        let what = format!("{}.{}", resource.plural, resource.group);
        follow(&what, &metrics, Api::<CachedObject>::all_with(client, &resource), watch_config(), |event| {
            let is_done = matches!(event, kube::runtime::watcher::Event::InitDone);
            let before = self.all();
            let read = |object: &CachedObject| {
                (object.name().to_owned(), Some(read_config(object, before.get(object.name()))))
            };
            let changes = self.known.write().unwrap_or_else(PoisonError::into_inner).apply(event, read);
            if is_done {
                self.filled.set();
            }
            // The listener compares texts: a heartbeat alone only postpones the silence.
            if is_done || !changes.is_empty() {
                changed.raise();
            }
        })
        .await;
    }
}

fn read_config(object: &CachedObject, before: Option<&ProviderConfig>) -> ProviderConfig {
    let value = object.value();
    let status = ObjectView(&value).status();
    let time = status.last_heartbeat();
    let known = before.and_then(|before| before.heartbeat.as_ref());
    let heartbeat = time.map(|time| match known {
        Some(known) if known.time == time => known.clone(),
        // A new heartbeat was written just now, whatever its clock says.
        Some(_) => Heartbeat { time: time.to_owned(), seen: Instant::now(), age: Duration::ZERO },
        None => Heartbeat { time: time.to_owned(), seen: Instant::now(), age: age(time, Timestamp::now()) },
    });
    let mut config = json!({
        "apiVersion": value["apiVersion"], "kind": value["kind"],
        "metadata": {"name": object.name()}, "spec": value["spec"],
    });
    if let Some(ready) = status.ready() {
        config["status"] = json!({"ready": ready});
    }
    ProviderConfig { text: config.to_string().into(), heartbeat }
}

/// Returns the age of a time; zero if it lies in the future or is invalid.
fn age(time: &str, now: Timestamp) -> Duration {
    let then = time.parse::<Timestamp>().unwrap_or(now);
    Duration::try_from(now.duration_since(then)).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(heartbeat: Option<&str>, before: Option<&ProviderConfig>) -> ProviderConfig {
        let object = json!({
            "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "InferenceProviderConfig", "metadata": {"name": "kaito"},
            "spec": {"documentation": "https://example.com"}, "status": {"ready": true, "lastHeartbeat": heartbeat},
        });
        read_config(&CachedObject::new(object).unwrap(), before)
    }

    #[test]
    fn a_silent_provider_is_not_ready() {
        let timeout = Duration::from_secs(120);
        let ready_at = |config: &ProviderConfig, now| !config.text_at(now, timeout).contains("false");
        let ready = |config: &ProviderConfig| ready_at(config, Instant::now());
        let quiet = config(None, None);
        let old = config(Some("2020-01-01T00:00:00Z"), None);
        assert!(ready(&quiet) && !ready(&old));
        // The provider's clock is years behind, but its heartbeat changes.
        let beating = config(Some("2020-01-01T00:00:30Z"), Some(&old));
        assert!(ready(&beating));
        assert_eq!(beating.text, old.text);
        let later = Instant::now() + timeout;
        assert!(ready_at(&quiet, later) && !ready_at(&beating, later));
        assert!(!ready_at(&config(Some("2020-01-01T00:00:30Z"), Some(&beating)), later));
    }

    #[test]
    fn a_future_or_invalid_time_has_no_age() {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        assert_eq!(age("2026-01-01T00:00:00Z", now), Duration::from_secs(60));
        assert_eq!(age("2027-01-01T00:00:00Z", now), Duration::ZERO);
        assert_eq!(age("yesterday", now), Duration::ZERO);
    }
}
