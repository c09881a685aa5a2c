//! Watches: caches of the cluster, and the changes in them. Each watch fills a cache and queues what a change concerns.

mod claimed;
mod configs;
mod definitions;
mod deployments;
mod namespaces;
mod queues;
mod related;
mod upstream;

use kube::runtime::watcher::Event;

pub(crate) use claimed::follow_claimed;
pub(crate) use configs::Configs;
pub(crate) use definitions::{Definition, Definitions};
pub(crate) use deployments::{filled, follow_deployments};
pub(crate) use namespaces::Namespaces;
pub(crate) use queues::Queues;
pub(crate) use related::{Reading, Related};
pub(crate) use upstream::{DeploymentGroup, Upstream, WatchedKind};

use kubefoundry_reconcile::cached_object::CachedObject;

/// Compresses the object of an event for a store, which keeps it.
fn compressed(event: Event<CachedObject>) -> Event<CachedObject> {
    match event {
        Event::Apply(object) => Event::Apply(object.compressed()),
        Event::InitApply(object) => Event::InitApply(object.compressed()),
        event @ (Event::Init | Event::InitDone | Event::Delete(_)) => event,
    }
}
