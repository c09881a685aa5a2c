//! Registers a built-in provider in the cluster: its InferenceProviderConfig, and a heartbeat (MD-8.3).

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::{Timestamp, Unit};
use kube::api::{Api, Patch, PatchParams};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_model::provider::Provider;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::cached_object::CachedObject;
use crate::evaluator::{Snapshot, Snapshots};
use crate::hash::short_hex;
use crate::names;
use crate::runtime::lease::no_response;
use crate::watch::Configs;

/// Reported in the status, so that users find the documentation of this version.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Maximum time for one write of the configuration and its status.
const MAX_WRITE: Duration = Duration::from_secs(10);

/// Writes the configuration and then a heartbeat at each interval, and at once when readiness changes, until the lease
/// is lost. A deleted configuration is written again.
pub(crate) async fn register(
    client: kube::Client,
    api_group: &'static ApiGroup,
    provider: &'static dyn Provider,
    interval: Duration,
    mut snapshots: Snapshots,
) {
    let resource = Configs::resource(api_group);
    let api: Api<CachedObject> = Api::all_with(client, &resource);
    let manager = names::provider_manager(provider.name());
    let apply = PatchParams::apply(&manager).force();
    let config = config(api_group, provider);
    let mut logged = String::new();
    let mut is_configured = false;
    loop {
        let snapshot = Arc::clone(&snapshots.borrow_and_update());
        let status = status(api_group, provider, &snapshot);
        let written = async {
            // Applied once per start, and again when it is gone: changes by users stay until the next start.
            if !is_configured || !snapshot.session.provider_names().any(|name| name == provider.name()) {
                api.patch(provider.name(), &apply, &Patch::Apply(&config)).await?;
            }
            api.patch_status(provider.name(), &apply, &Patch::Apply(&status)).await
        };
        // Its own limit: a heartbeat that gets no response must not delay the next ones until the provider counts as
        // silent.
        let limit = interval.clamp(Duration::from_secs(1), MAX_WRITE);
        let written = tokio::time::timeout(limit, written).await;
        let wait = match written.unwrap_or_else(|_| Err(no_response(limit))) {
            Ok(_) => {
                if !is_configured {
                    tracing::info!(provider = provider.name(), "registered");
                }
                is_configured = true;
                logged.clear();
                interval
            }
            Err(error) => {
                is_configured &= !matches!(&error, kube::Error::Api(status) if status.code == 404);
                let error = error.to_string();
                if logged != error {
                    tracing::warn!(provider = provider.name(), error, "registering the provider failed, retrying");
                    logged = error;
                }
                interval.min(Duration::from_secs(1))
            }
        };
        let before = without_heartbeat(&status);
        let changed = async {
            // A snapshot changes often; the status needs a write only when readiness or CRDs change.
            while snapshots.changed().await.is_ok() {
                let snapshot = Arc::clone(&snapshots.borrow_and_update());
                let is_gone = !snapshot.session.provider_names().any(|name| name == provider.name());
                if without_heartbeat(&self::status(api_group, provider, &snapshot)) != before || is_gone {
                    return;
                }
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            // With a delay, so that a client that keeps deleting it does not cause a loop without pauses.
            () = changed => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}

/// Returns the provider configuration that is built into this version.
fn config(api_group: &ApiGroup, provider: &dyn Provider) -> Value {
    let parsed = kubefoundry_yaml::parse(provider.info().config, &kubefoundry_yaml::Limits::default());
    let config = parsed.documents.first().map(|document| document.root.to_json()).unwrap_or_default();
    json!({
        "apiVersion": api_group.api_version(),
        "kind": kubefoundry_model::wire::CONFIGURATION_KIND,
        "metadata": {"name": provider.name()},
        "spec": config["spec"],
    })
}

/// Returns the status to apply: readiness, versions, and a heartbeat with the current time.
fn status(api_group: &ApiGroup, provider: &dyn Provider, snapshot: &Snapshot) -> Value {
    let name = provider.name();
    let crd_version = snapshot.session.crd_version(name);
    let mut status = json!({
        "ready": crd_version.is_some(),
        "version": format!("{}:v{VERSION}", names::provider_manager(name)),
        "lastHeartbeat": Timestamp::now().round(Unit::Second).unwrap_or_default().to_string(),
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
        "kind": kubefoundry_model::wire::CONFIGURATION_KIND,
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
    use kubefoundry_kubernetes::api_group::API_GROUPS;
    use kubefoundry_model::providers::PROVIDERS;

    use super::*;

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
