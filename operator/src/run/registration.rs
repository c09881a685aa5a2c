//! Registers a built-in provider in the cluster: its InferenceProviderConfig, and a heartbeat (MD-8.3).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, Patch, PatchParams};
use kubefoundry_controller_runtime::hash::short_hex;
use kubefoundry_controller_runtime::lease::no_response;
use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_controller_runtime::observed::{ConditionView, ObjectView};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_provider::Provider;
use kubefoundry_reconcile::cached_object::CachedObject;
use kubefoundry_reconcile::names;
use kubefoundry_reconcile::status::{Condition, condition_to_write};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::controllers::{self, Turns};
use crate::evaluator::{Snapshot, Snapshots};
use crate::manifests::permissions;
use crate::run::rights::{Right, RightsChecker};
use crate::watch::Upstream;

/// Reported in the status, so that users find the documentation of this version.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Maximum time for one write of the configuration and its status.
const MAX_WRITE: Duration = Duration::from_secs(10);

/// Time without a working watch after which a provider is not ready: longer than a restart of the apiserver.
const WATCH_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of missing rights that a condition names.
const MAX_NAMED_RIGHTS: usize = 10;

/// The condition of an InferenceProviderConfig that says why a provider is not ready.
const READY: &str = "Ready";
/// The condition of an InferenceProviderConfig that is true while failed recreations keep others from starting.
const PAUSED: &str = "RecreationsPaused";

/// What a provider needs to work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Health {
    is_installed: bool,
    missing_rights: Vec<String>,
    watches_down: BTreeSet<String>,
}

impl Health {
    /// Returns the reason and the message of the condition.
    fn reason(&self, provider: &str) -> (&'static str, String) {
        if !self.is_installed {
            return ("CRDNotInstalled", format!("the CRD of provider {provider:?} is not installed in the cluster"));
        }
        if !self.missing_rights.is_empty() {
            let mut named: Vec<String> = self.missing_rights.iter().take(MAX_NAMED_RIGHTS).cloned().collect();
            let more = self.missing_rights.len() - named.len();
            if more > 0 {
                named.push(format!("{more} more"));
            }
            return ("MissingRights", format!("the controller of the provider may not {}", named.join(", ")));
        }
        if !self.watches_down.is_empty() {
            let watches: Vec<&str> = self.watches_down.iter().map(String::as_str).collect();
            return ("WatchDown", format!("these watches do not work: {}", watches.join(", ")));
        }
        ("Ready", "the CRD is installed, and the controller has its rights and watches".to_owned())
    }

    fn is_ready(&self) -> bool {
        self.is_installed && self.missing_rights.is_empty() && self.watches_down.is_empty()
    }
}

/// Registers a provider for as long as this process leads its role.
pub(crate) struct Registration {
    pub(crate) client: kube::Client,
    pub(crate) api_group: &'static ApiGroup,
    pub(crate) provider: &'static dyn Provider,
    /// The interval between heartbeats.
    pub(crate) interval: Duration,
    pub(crate) snapshots: Snapshots,
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) rights: RightsChecker,
    pub(crate) turns: Arc<Turns>,
}

impl Registration {
    /// Writes the configuration and then a heartbeat at each interval, and at once when readiness changes, until the
    /// lease is lost. A deleted configuration is written again.
    pub(crate) async fn run(mut self) {
        let (api_group, provider, interval) = (self.api_group, self.provider, self.interval);
        let name = provider.name();
        let api: Api<CachedObject> = Api::all_with(self.client.clone(), &names::configurations(api_group));
        let manager = names::provider_manager(name);
        let apply = PatchParams::apply(&manager).force();
        let config = config(api_group, provider);
        let mut logged = String::new();
        let mut is_configured = false;
        let mut is_registered = false;
        let mut missing_rights = Vec::new();
        let (mut ready, mut paused) = (WrittenCondition::new(READY), WrittenCondition::new(PAUSED));
        let mut health = None;
        // Its own limit: a heartbeat that gets no response must not delay the next ones until the provider counts as
        // silent.
        let limit = interval.clamp(Duration::from_secs(1), MAX_WRITE);
        self.metrics.record_heartbeat(name);
        loop {
            let snapshot = Arc::clone(&self.snapshots.borrow_and_update());
            match tokio::time::timeout(limit, self.rights.missing(|right| concerns(right, provider, &snapshot))).await {
                Ok(Ok(missing)) => {
                    self.metrics.set_missing_rights(name, missing.len());
                    missing_rights = missing.iter().map(ToString::to_string).collect();
                }
                // What was known before holds until the apiserver answers.
                Ok(Err(error)) => tracing::debug!(provider = name, %error, "checking the rights failed"),
                Err(_) => tracing::debug!(provider = name, "checking the rights timed out"),
            }
            let now = self.health(&snapshot, missing_rights.clone());
            log_change(name, health.as_ref(), &now);
            let written = async {
                // Applied once per start, and again when it is gone: changes by users stay until the next start.
                if !is_configured || !snapshot.session.provider_names().any(|known| known == name) {
                    let stored = api.patch(name, &apply, &Patch::Apply(&config)).await?;
                    let stored = stored.value();
                    ready.adopt(&stored);
                    paused.adopt(&stored);
                    // A status that is refused must not write the configuration again each time.
                    is_configured = true;
                }
                let mut reported = status_of(api_group, provider, &snapshot, &now);
                let failed = self.turns.paused_by(controllers::now());
                reported["status"]["conditions"] = json!([
                    ready.update(now.is_ready(), now.reason(name)),
                    paused.update(!failed.is_empty(), pause(&failed)),
                ]);
                api.patch_status(name, &apply, &Patch::Apply(&reported)).await
            };
            let written = tokio::time::timeout(limit, written).await;
            let wait = match written.unwrap_or_else(|_| Err(no_response(limit))) {
                Ok(_) => {
                    if !std::mem::replace(&mut is_registered, true) {
                        tracing::info!(provider = name, "registered");
                    }
                    self.metrics.record_heartbeat(name);
                    logged.clear();
                    interval
                }
                Err(error) => {
                    is_configured &= !matches!(&error, kube::Error::Api(status) if status.code == 404);
                    let error = error.to_string();
                    if logged != error {
                        tracing::warn!(provider = name, error, "registering the provider failed, retrying");
                        logged = error;
                    }
                    interval.min(Duration::from_secs(1))
                }
            };
            self.wait(wait, &status_of(api_group, provider, &snapshot, &now), &now).await;
            health = Some(now);
        }
    }

    fn health(&self, snapshot: &Snapshot, missing_rights: Vec<String>) -> Health {
        let name = self.provider.name();
        let is_installed = snapshot.session.crd_version(name).is_some();
        let watches_down = self.upstream.watches_down(name, WATCH_TIMEOUT);
        Health { is_installed, missing_rights, watches_down }
    }

    /// Waits until the next heartbeat is due, or until the cluster changes what was written.
    async fn wait(&mut self, time: Duration, written: &Value, health: &Health) {
        let before = without_heartbeat(written);
        let (api_group, provider) = (self.api_group, self.provider);
        let snapshots = &mut self.snapshots;
        let changed = async {
            // A snapshot changes often; the status needs a write only when readiness or CRDs change.
            while snapshots.changed().await.is_ok() {
                let snapshot = Arc::clone(&snapshots.borrow_and_update());
                let is_gone = !snapshot.session.provider_names().any(|name| name == provider.name());
                let is_installed = snapshot.session.crd_version(provider.name()).is_some();
                let now = Health { is_installed, ..health.clone() };
                if without_heartbeat(&status_of(api_group, provider, &snapshot, &now)) != before || is_gone {
                    return;
                }
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            // With a delay, so that a client that keeps deleting it does not cause a loop without pauses.
            () = changed => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}

/// Whether a right is needed now: nothing is for a kind of a provider or a Gateway that is not installed.
fn concerns(right: &Right, provider: &'static dyn Provider, snapshot: &Snapshot) -> bool {
    let is_optional =
        permissions::kinds(provider).iter().any(|kind| !kind.group.is_empty() && kind.group == right.group);
    !is_optional
        || snapshot.watched_kinds().iter().any(|kind| kind.group == right.group && kind.plural == right.resource)
}

/// Logs that a provider became ready, or why it is not.
fn log_change(provider: &str, before: Option<&Health>, now: &Health) {
    if before == Some(now) {
        return;
    }
    let (reason, message) = now.reason(provider);
    if !now.is_ready() {
        tracing::warn!(provider, reason, message, "the provider is not ready");
    } else if before.is_some() {
        tracing::info!(provider, "the provider is ready again");
    }
}

/// Returns the reason and the message of the condition about the queue of recreations.
fn pause(failed: &[String]) -> (&'static str, String) {
    if failed.is_empty() {
        return ("NotPaused", "recreations that no edit causes may start".to_owned());
    }
    let failed = failed.join(", ");
    (
        "NotReadyInTime",
        format!("the last recreations were not ready in time ({failed}); others wait until one of them is"),
    )
}

/// A condition as it was written last.
struct WrittenCondition {
    name: &'static str,
    last: Value,
}

impl WrittenCondition {
    fn new(name: &'static str) -> Self {
        Self { name, last: Value::Null }
    }

    /// Continues the condition that is stored, which another process may have written.
    fn adopt(&mut self, stored: &Value) {
        if let Some(own) = ObjectView(stored).status().condition(self.name) {
            self.last = own.value().clone();
        }
    }

    /// Returns the condition to apply.
    fn update(&mut self, is_true: bool, (reason, message): (&str, String)) -> Value {
        let condition = Condition { name: self.name, status: is_true.into(), reason: reason.to_owned(), message };
        self.last = condition_to_write(&condition, Some(ConditionView(&self.last)), None, controllers::now());
        self.last.clone()
    }
}

/// Returns the provider configuration that is built into this version.
fn config(api_group: &ApiGroup, provider: &dyn Provider) -> Value {
    let name = format!("config.yaml of {}", provider.name());
    let config = kubefoundry_yaml::infallible::parse_builtin_yaml(&name, provider.info().config);
    json!({
        "apiVersion": api_group.api_version(),
        "kind": kubefoundry_deployment::wire::CONFIGURATION_KIND,
        "metadata": {"name": provider.name()},
        "spec": config["spec"],
    })
}

/// Returns the status to apply: readiness, versions, and a heartbeat with the current time.
fn status_of(api_group: &ApiGroup, provider: &dyn Provider, snapshot: &Snapshot, health: &Health) -> Value {
    let name = provider.name();
    let crd_version = snapshot.session.crd_version(name);
    let mut status = json!({
        "ready": health.is_ready(),
        "version": format!("{}:v{VERSION}", names::provider_manager(name)),
        "lastHeartbeat": controllers::now().to_string(),
    });
    if let Some(crd_version) = crd_version {
        let version = crd_version.split_once('/').map(|(_, version)| version).unwrap_or_default();
        let installed = snapshot.session.installed(name);
        let mut written_kinds: Vec<_> = installed.iter().filter(|installed| installed.version == version).collect();
        written_kinds.sort();
        let hash = match written_kinds.as_slice() {
            [] => None,
            [one] => Some(one.fingerprint.clone()),
            // A provider with several kinds gets one hash over all of them.
            several => {
                let mut hash = Sha256::new();
                for one in several {
                    hash.update(format!("{}={}\n", one.kind, one.fingerprint));
                }
                Some(short_hex(&hash.finalize()))
            }
        };
        if let Some(hash) = hash {
            status["upstreamSchemaHash"] = hash.into();
        }
        status["upstreamCRDVersion"] = crd_version.into();
    }
    json!({
        "apiVersion": api_group.api_version(),
        "kind": kubefoundry_deployment::wire::CONFIGURATION_KIND,
        "metadata": {"name": name},
        "status": status,
    })
}

/// Returns a status without its heartbeat, for comparisons.
fn without_heartbeat(status: &Value) -> Value {
    let mut comparable = status.clone();
    if let Some(fields) = comparable.get_mut("status").and_then(Value::as_object_mut) {
        fields.remove("lastHeartbeat");
    }
    comparable
}

#[cfg(test)]
mod tests {
    use kubefoundry_composition::PROVIDERS;
    use kubefoundry_kubernetes::api_group::API_GROUPS;

    use super::*;

    #[test]
    fn the_condition_names_the_first_thing_that_is_missing() {
        let health = Health { is_installed: true, ..Health::default() };
        assert_eq!(health.reason("kaito").0, "Ready");
        let down = Health { watches_down: BTreeSet::from(["workspaces.kaito.sh".to_owned()]), ..health.clone() };
        assert_eq!(down.reason("kaito"), ("WatchDown", "these watches do not work: workspaces.kaito.sh".to_owned()));
        let rights = (0..12).map(|number| format!("list kind-{number}")).collect();
        let (reason, message) = Health { missing_rights: rights, ..down }.reason("kaito");
        assert_eq!(reason, "MissingRights");
        assert!(message.contains("may not list kind-0, ") && message.ends_with(", 2 more"), "{message}");
        assert_eq!(Health::default().reason("kaito").0, "CRDNotInstalled");
    }

    #[test]
    fn a_condition_keeps_the_time_of_its_transition() {
        let mut condition = WrittenCondition::new(READY);
        let old = "2020-01-01T00:00:00Z";
        let stored = json!({"status": {"conditions": [
            {"type": "Other", "status": "True", "lastTransitionTime": "2019-01-01T00:00:00Z"},
            {"type": "Ready", "status": "False", "lastTransitionTime": old},
        ]}});
        condition.adopt(&stored);
        let mut update = |health: &Health| condition.update(health.is_ready(), health.reason("kaito"));
        assert_eq!(update(&Health::default())["lastTransitionTime"], old);
        let ready = update(&Health { is_installed: true, ..Health::default() });
        assert_eq!(ready["status"], "True");
        assert_ne!(ready["lastTransitionTime"], old);
    }

    #[test]
    fn a_paused_queue_names_the_deployments_that_pause_it() {
        let mut condition = WrittenCondition::new(PAUSED);
        let failed = ["ml/a".to_owned(), "ml/b".to_owned()];
        let paused = condition.update(true, pause(&failed));
        assert_eq!((&paused["type"], &paused["status"]), (&json!("RecreationsPaused"), &json!("True")));
        assert!(paused["message"].as_str().unwrap().contains("(ml/a, ml/b)"), "{paused}");
        assert_eq!(condition.update(false, pause(&[]))["reason"], "NotPaused");
    }

    #[test]
    fn every_provider_has_a_configuration_to_register() {
        for provider in PROVIDERS {
            for api_group in API_GROUPS.iter().filter(|api_group| api_group.has_crds) {
                let config = config(api_group, *provider);
                assert_eq!(config["metadata"], json!({"name": provider.name()}));
                assert!(config["spec"]["capabilities"].is_object(), "{config}");
            }
        }
    }
}
