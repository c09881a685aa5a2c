//! Watches the ModelDeployments of an API group: fills the store, and queues changes for every controller.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use kube::core::ApiResource;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher::Event;
use kube::{Api, Client};
use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_controller_runtime::watch::{follow, watch_config};
use kubefoundry_reconcile::cached_object::CachedObject;

use super::{Queues, compressed};

/// Waits until a store has been filled once.
///
/// It polls, because a store wakes only one of several waiting tasks (kube 5.0, `DelayedInit`), and all controllers
/// wait for the same store.
pub(crate) async fn filled(store: &Store<CachedObject>) {
    while store.wait_until_ready().now_or_never().is_none() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Keeps the store up to date, and queues changed deployments. Never returns.
pub(crate) async fn follow_deployments(
    client: Client,
    resource: ApiResource,
    mut writer: Writer<CachedObject>,
    queues: Arc<Queues>,
    metrics: Arc<Metrics>,
) {
    let store = writer.as_reader();
    let what = format!("{}.{}", resource.plural, resource.group);
    let api = Api::all_with(client, &resource);
    follow(&what, &metrics, api, watch_config(), |event| {
        let event = compressed(event);
        let mut keep = || writer.apply_watcher_event(&event);
        match &event {
            Event::Apply(deployment) => {
                let before = store.get(&reference(deployment, &resource));
                keep();
                queues.push(deployment, before.as_deref());
            }
            Event::Delete(deployment) => {
                keep();
                metrics.forget(deployment.namespace(), deployment.name());
            }
            Event::InitDone => {
                let before = store.state();
                keep();
                let known = relist(&store, &before, &resource, &queues, &metrics);
                tracing::info!(watch = what, known, "listed");
            }
            Event::Init | Event::InitApply(_) => keep(),
        }
    })
    .await;
}

fn reference(object: &CachedObject, resource: &ApiResource) -> ObjectRef<CachedObject> {
    ObjectRef::new_with(object.name(), resource.clone()).within(object.namespace())
}

/// Queues the deployments that a new list shows as changed. Returns the number of deployments.
fn relist(
    store: &Store<CachedObject>,
    before: &[Arc<CachedObject>],
    resource: &ApiResource,
    queues: &Queues,
    metrics: &Metrics,
) -> usize {
    let version = |object: &CachedObject| (object.metadata.uid.clone(), object.metadata.resource_version.clone());
    let mut old: BTreeMap<(&str, &str), _> = BTreeMap::new();
    for object in before {
        old.insert((object.namespace(), object.name()), version(object));
        if store.get(&reference(object, resource)).is_none() {
            metrics.forget(object.namespace(), object.name());
        }
    }
    let now = store.state();
    let is_new = |object: &&Arc<CachedObject>| old.get(&(object.namespace(), object.name())) != Some(&version(object));
    let changed: Vec<&CachedObject> = now.iter().filter(is_new).map(|object| &**object).collect();
    queues.extend(changed.into_iter());
    now.len()
}
