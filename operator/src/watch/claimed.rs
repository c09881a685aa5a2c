//! Watches the objects of a kind that can be handed to this operator: fills the store, and queues changes.

use std::sync::Arc;

use kube::core::ApiResource;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::Event;
use kube::{Api, Client};
use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_controller_runtime::queue::{Key, Lane, Queue};
use kubefoundry_controller_runtime::watch::{follow, watch_config};
use kubefoundry_reconcile::cached_object::CachedObject;

use super::compressed;

/// Keeps the store up to date, and queues changed objects. Never returns.
pub(crate) async fn follow_claimed(
    client: Client,
    resource: ApiResource,
    mut writer: Writer<CachedObject>,
    queue: Arc<Queue>,
    metrics: Arc<Metrics>,
) {
    let store = writer.as_reader();
    let what = format!("{}.{}", resource.plural, resource.group);
    follow(&what, &metrics, Api::all_with(client, &resource), watch_config(), |event| {
        let event = compressed(event);
        writer.apply_watcher_event(&event);
        match &event {
            // A deleted object is queued, so that its controller forgets it.
            Event::Apply(object) | Event::Delete(object) => queue.push(Key::of(&object.metadata), Lane::Urgent),
            Event::InitDone => {
                let all = store.state();
                for object in &all {
                    queue.push(Key::of(&object.metadata), Lane::Routine);
                }
                tracing::info!(watch = what, known = all.len(), "listed");
            }
            Event::Init | Event::InitApply(_) => {}
        }
    })
    .await;
}
