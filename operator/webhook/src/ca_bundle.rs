//! Writes the `caBundle` of the webhook configurations, and of CRDs with a conversion webhook. Uses exponential
//! back-off against a client that keeps removing it.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::future::join_all;
use k8s_openapi::ByteString;
use kube::api::{Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use kubefoundry_controller_runtime::admin::Readiness;
use kubefoundry_controller_runtime::backoff::Backoff;
use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_controller_runtime::mutex::lock;
use kubefoundry_controller_runtime::shutdown::{Shutdown, signaled};
use kubefoundry_controller_runtime::watch::watch_object;
use kubefoundry_kubernetes::api_group::ApiGroup;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::sleep;

use super::certificates::{self, Bundle};

/// The name of both webhook configurations.
pub const CONFIGURATION: &str = "kubefoundry";
/// The field manager of `caBundle`.
pub const MANAGER: &str = "kubefoundry-webhooks";
/// Time for which a bundle is left unchanged that contains this one and more: another replica may have written it for a
/// newer certificate.
const OTHER_BUNDLE_GRACE: Duration = Duration::from_secs(10);
/// The condition of readiness.
const CONDITION: &str = "caBundle";

/// Number of objects that must have the bundle before the process is ready: the two webhook configurations, which come
/// first.
const REQUIRED_HOLDERS: usize = 2;

/// An object that holds the bundle.
struct BundleHolder {
    resource: ApiResource,
    name: String,
}

/// Returns all objects that contain a CA bundle, the webhook configurations first.
fn bundle_holders(api_groups: &[&'static ApiGroup]) -> Vec<BundleHolder> {
    let resource = |group: &str, kind: &str| ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    let configurations = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"].map(|kind| BundleHolder {
        resource: resource("admissionregistration.k8s.io", kind),
        name: CONFIGURATION.to_owned(),
    });
    let definitions = api_groups.iter().flat_map(|api_group| {
        ["modeldeployments", "inferenceproviderconfigs"].map(|plural| BundleHolder {
            resource: resource("apiextensions.k8s.io", "CustomResourceDefinition"),
            name: format!("{plural}.{}", api_group.name),
        })
    });
    configurations.into_iter().chain(definitions).collect()
}

/// Returns the JSON patch that writes the bundle into an object, or `None` if there is nothing to write.
///
/// Before each write, the patch tests the webhook's name or the conversion strategy, so it fails if the webhooks were
/// reordered in the meantime. It overwrites any other `caBundle`.
fn patch(object: &Value, bundle: &str) -> Option<Value> {
    let encoded = json!(ByteString(bundle.as_bytes().to_vec()));
    let mut steps = Vec::new();
    let webhooks = object.get("webhooks").and_then(Value::as_array);
    for (index, webhook) in webhooks.into_iter().flatten().enumerate() {
        if webhook.pointer("/clientConfig/caBundle") != Some(&encoded) {
            steps.push(json!({"op": "test", "path": format!("/webhooks/{index}/name"), "value": webhook.get("name")}));
            let path = format!("/webhooks/{index}/clientConfig/caBundle");
            steps.push(json!({"op": "add", "path": path, "value": encoded}));
        }
    }
    let conversion = object.pointer("/spec/conversion");
    if conversion.and_then(|conversion| conversion.get("strategy")) == Some(&json!("Webhook"))
        && conversion.and_then(|it| it.pointer("/webhook/clientConfig")).is_some_and(Value::is_object)
        && conversion.and_then(|it| it.pointer("/webhook/clientConfig/caBundle")) != Some(&encoded)
    {
        steps.push(json!({"op": "test", "path": "/spec/conversion/strategy", "value": "Webhook"}));
        let path = "/spec/conversion/webhook/clientConfig/caBundle";
        steps.push(json!({"op": "add", "path": path, "value": encoded}));
    }
    (!steps.is_empty()).then(|| Value::Array(steps))
}

/// Whether every bundle of an object contains all certificates of this one.
fn covers(object: &Value, bundle: &str) -> bool {
    let expected = certificates::read(bundle);
    let has = |config: Option<&Value>| {
        let encoded = config.and_then(|config| config.get("caBundle")).cloned().unwrap_or_default();
        // What is not base64 contains no certificate.
        let present = serde_json::from_value(encoded).map_or_else(|_| Vec::new(), |ByteString(bytes)| bytes);
        let present = certificates::read(&String::from_utf8_lossy(&present));
        expected.iter().all(|certificate| present.contains(certificate))
    };
    let webhooks = object.get("webhooks").and_then(Value::as_array);
    let conversion = object.pointer("/spec/conversion");
    let is_converted = conversion.and_then(|it| it.get("strategy")) == Some(&json!("Webhook"));
    webhooks.into_iter().flatten().all(|webhook| has(webhook.get("clientConfig")))
        && (!is_converted || has(conversion.and_then(|it| it.pointer("/webhook/clientConfig"))))
}

/// Keeps the `caBundle` of all holders current.
pub(super) struct CaBundleWriter {
    pub(super) client: Client,
    pub(super) metrics: Arc<Metrics>,
    pub(super) api_groups: Vec<&'static ApiGroup>,
    pub(super) readiness: Readiness,
    /// The bundle that the apiserver has to trust.
    pub(super) bundle: watch::Receiver<Bundle>,
    /// The bundle that is written everywhere.
    pub(super) trusted: watch::Sender<Bundle>,
}

impl CaBundleWriter {
    /// Runs until the shutdown.
    pub(super) async fn run(self, shutdown: Shutdown) {
        self.readiness.set_pending(CONDITION, "not written yet");
        let holders = bundle_holders(&self.api_groups);
        let states = Mutex::new(vec![None; holders.len()]);
        join_all(
            holders.iter().enumerate().map(|(index, holder)| self.follow(holder, index, &states, shutdown.clone())),
        )
        .await;
    }

    /// Keeps the bundle of one object current, until the shutdown.
    async fn follow(&self, holder: &BundleHolder, index: usize, states: &Mutex<Vec<Bundle>>, shutdown: Shutdown) {
        let objects = Api::<DynamicObject>::all_with(self.client.clone(), &holder.resource);
        let what = format!("{}/{}", holder.resource.plural, holder.name);
        let mut events = pin!(watch_object(&what, &self.metrics, objects.clone(), &holder.name));
        let mut stopped = pin!(signaled(shutdown));
        let mut bundles = self.bundle.clone();
        let (mut latest, mut backoff) = (None, Backoff::default());
        let (kind, name) = (&holder.resource.kind, &holder.name);
        let (mut retry, mut covered): (Option<Duration>, Option<Instant>) = (None, None);
        loop {
            tokio::select! {
                () = &mut stopped => return,
                event = events.next() => match event {
                    Some(Ok(object)) => latest = Some(object),
                    Some(Err(error)) => {
                        tracing::warn!(kind, name, %error, "watching an object with a caBundle failed, retrying");
                        continue;
                    }
                    None => return,
                },
                changed = bundles.changed() => if changed.is_err() { return },
                () = sleep(retry.unwrap_or(Duration::from_secs(3600))) => {}
            }
            retry = None;
            let Some(bundle) = bundles.borrow_and_update().clone() else { continue };
            let Some(object) = &latest else { continue };
            let value = object.as_ref().map(|object: &DynamicObject| json!(object)).unwrap_or_default();
            let Some(steps) = patch(&value, &bundle) else {
                self.record_bundle(states, index, bundle);
                covered = None;
                continue;
            };
            if covers(&value, &bundle) {
                // Another replica has a newer certificate, or an older one that has not expired: the webhooks can be
                // called.
                self.record_bundle(states, index, Arc::clone(&bundle));
                let since = covered.get_or_insert_with(Instant::now);
                let left = OTHER_BUNDLE_GRACE.saturating_sub(since.elapsed());
                if !left.is_zero() {
                    retry = Some(left);
                    continue;
                }
            }
            covered = None;
            let wait = backoff.remaining(Instant::now());
            if !wait.is_zero() {
                retry = Some(wait);
                continue;
            }
            backoff.record_attempt(Instant::now());
            match self.write(&objects, name, steps).await {
                Ok(object) => {
                    tracing::info!(kind, name, "wrote the caBundle");
                    latest = Some(Some(object));
                    self.record_bundle(states, index, bundle);
                }
                Err(error) => {
                    tracing::warn!(kind, name, %error, "writing the caBundle failed, retrying");
                    if index < REQUIRED_HOLDERS {
                        self.readiness.update_pending(CONDITION, format!("{kind} {name}: {error}"));
                    }
                    retry = Some(backoff.remaining(Instant::now()));
                }
            }
        }
    }

    /// Sends the JSON patch, and returns the object after it.
    async fn write(
        &self,
        objects: &Api<DynamicObject>,
        name: &str,
        steps: Value,
    ) -> Result<DynamicObject, kube::Error> {
        let steps = serde_json::from_value(steps).map_err(kube::Error::SerdeError)?;
        let parameters = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        objects.patch(name, &parameters, &Patch::Json::<()>(steps)).await
    }

    /// Records that an object has a bundle, or no field for one. Once all objects have the same bundle, the apiserver
    /// trusts it.
    fn record_bundle(&self, states: &Mutex<Vec<Bundle>>, index: usize, bundle: Arc<str>) {
        let mut states = lock(states);
        if let Some(state) = states.get_mut(index) {
            *state = Some(bundle.clone());
        }
        let is_everywhere = |states: &[Bundle]| states.iter().all(|state| state.as_ref() == Some(&bundle));
        // Readiness depends on the configurations only: without them nothing calls the webhooks, and a CRD may be
        // outside of the operator's rights.
        if states.get(..REQUIRED_HOLDERS).is_some_and(is_everywhere) {
            self.readiness.set_ready(CONDITION);
        }
        if is_everywhere(&states) {
            self.trusted.send_replace(Some(bundle));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENCODED: &str = "UEVN";

    #[test]
    fn every_webhook_without_the_bundle_gets_it() {
        let mut configuration = json!({"webhooks": [
            {"name": "a", "clientConfig": {"url": "https://x", "caBundle": ENCODED}},
            {"name": "b", "clientConfig": {"service": {"name": "s", "namespace": "n"}}},
            {"name": "c", "clientConfig": {"url": "https://x", "caBundle": "b2xk"}},
        ]});
        let steps = patch(&configuration, "PEM").unwrap();
        json_patch::patch(&mut configuration, &serde_json::from_value::<json_patch::Patch>(steps).unwrap()).unwrap();
        for webhook in configuration["webhooks"].as_array().unwrap() {
            assert_eq!(webhook["clientConfig"]["caBundle"], ENCODED);
        }
        assert_eq!(patch(&configuration, "PEM"), None);
    }

    #[test]
    fn the_patch_fails_if_the_webhooks_changed() {
        let before = json!({"webhooks": [{"name": "a", "clientConfig": {"url": "https://x"}}]});
        let steps = patch(&before, "PEM").unwrap();
        let mut after = json!({"webhooks": [{"name": "b", "clientConfig": {"url": "https://x"}}]});
        let steps = serde_json::from_value::<json_patch::Patch>(steps).unwrap();
        assert!(json_patch::patch(&mut after, &steps).is_err());
    }

    #[test]
    fn a_crd_needs_the_bundle_only_with_a_conversion_webhook() {
        let crd = |conversion: Value| json!({"spec": {"conversion": conversion}});
        assert_eq!(patch(&crd(json!({"strategy": "None"})), "PEM"), None);
        assert_eq!(patch(&crd(json!({"strategy": "Webhook"})), "PEM"), None);
        let mut converted = crd(json!({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://x"}}}));
        let steps = patch(&converted, "PEM").unwrap();
        json_patch::patch(&mut converted, &serde_json::from_value::<json_patch::Patch>(steps).unwrap()).unwrap();
        assert_eq!(patch(&converted, "PEM"), None);
        assert_eq!(converted["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"], ENCODED);
    }

    #[test]
    fn the_holders_are_both_configurations_and_the_crds_of_every_group() {
        let api_group = ApiGroup::find("kubefoundry.ai").unwrap();
        let holders = bundle_holders(&[api_group]);
        let names: Vec<String> =
            holders.iter().map(|holder| format!("{} {}", holder.resource.plural, holder.name)).collect();
        assert_eq!(
            names,
            [
                "mutatingwebhookconfigurations kubefoundry",
                "validatingwebhookconfigurations kubefoundry",
                "customresourcedefinitions modeldeployments.kubefoundry.ai",
                "customresourcedefinitions inferenceproviderconfigs.kubefoundry.ai",
            ]
        );
    }
}
