//! What a controller has to look at: each deployment once, however often it changed.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use futures::Stream;
use futures::stream;
use kube::core::ApiResource;
use kube::runtime::reflector::ObjectRef;
use kubefoundry::dialect::Dialect;
use tokio::sync::Notify;

use crate::cached::Cached;
use crate::names;
use crate::role::Role;

/// A deployment by namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn of(object: &Cached) -> Self {
        Self::new(object.namespace(), object.name())
    }

    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// As stores and controllers name it.
    pub(crate) fn reference(&self, resource: &ApiResource) -> ObjectRef<Cached> {
        ObjectRef::new_with(&self.name, resource.clone()).within(&self.namespace)
    }
}

/// Keys that wait; a key that waits already is not put in again, so that it never holds more than there are deployments.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<BTreeSet<Key>>,
    filled: Notify,
}

impl Queue {
    pub(crate) fn push(&self, key: Key) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
        // One reader: a permit is kept when it is not waiting.
        self.filled.notify_one();
    }

    /// Waits for a key.
    async fn next(&self) -> Key {
        loop {
            let first = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_first();
            match first {
                Some(key) => return key,
                None => self.filled.notified().await,
            }
        }
    }

    /// The keys as they come, for [`kube::runtime::applier`].
    pub(crate) fn stream(
        self: Arc<Self>,
        resource: ApiResource,
    ) -> impl Stream<Item = Result<ObjectRef<Cached>, Infallible>> {
        stream::unfold((self, resource), |(queue, resource)| async move {
            let key = queue.next().await;
            Some((Ok(key.reference(&resource)), (queue, resource)))
        })
    }
}

/// The queues of the controllers of one API group.
#[derive(Debug)]
pub(crate) struct Queues {
    dialect: &'static Dialect,
    all: Vec<(Role, Arc<Queue>)>,
}

impl Queues {
    /// One for each role that looks at deployments.
    pub(crate) fn new(dialect: &'static Dialect, roles: &[Role]) -> Self {
        let with_controller = roles.iter().copied().filter(|role| *role != Role::Webhooks);
        Self { dialect, all: with_controller.map(|role| (role, Arc::default())).collect() }
    }

    pub(crate) fn of(&self, role: Role) -> Option<Arc<Queue>> {
        self.all.iter().find(|(other, _)| *other == role).map(|(_, queue)| Arc::clone(queue))
    }

    /// A deployment changed, or something that decides over it.
    pub(crate) fn push(&self, deployment: &Cached) {
        for (_, queue) in self.all.iter().filter(|(role, _)| self.concerns(*role, deployment)) {
            queue.push(Key::of(deployment));
        }
    }

    /// The same for many.
    pub(crate) fn extend<'d>(&self, deployments: impl Iterator<Item = &'d Cached>) {
        deployments.for_each(|deployment| self.push(deployment));
    }

    /// Something beside a deployment changed, which only its provider looks at.
    pub(crate) fn push_to_providers(&self, deployment: &Cached) {
        let providers = self.all.iter().filter(|(role, _)| matches!(role, Role::Provider(_)));
        for (_, queue) in providers.filter(|(role, _)| self.concerns(*role, deployment)) {
            queue.push(Key::of(deployment));
        }
    }

    /// The same for the controller of one provider, whether or not it seems to concern it.
    pub(crate) fn push_to_provider(&self, provider: &str, key: &Key) {
        for (_, queue) in
            self.all.iter().filter(|(role, _)| matches!(role, Role::Provider(_)) && role.name() == provider)
        {
            queue.push(key.clone());
        }
    }

    /// Whether a controller has anything to do with a deployment: a provider's has when it was chosen, or was before.
    fn concerns(&self, role: Role, deployment: &Cached) -> bool {
        let Role::Provider(provider) = role else { return true };
        let finalizer = || names::finalizer(self.dialect, provider.name());
        deployment.chosen() == Some(provider.name())
            || deployment.metadata.finalizers.iter().flatten().any(|known| *known == finalizer())
    }
}

#[cfg(test)]
mod tests {
    use kubefoundry::dialect::DIALECTS;
    use serde_json::json;

    use super::*;

    fn deployment(name: &str, status: &serde_json::Value, finalizers: &[&str]) -> Cached {
        let metadata = json!({"name": name, "namespace": "ml", "finalizers": finalizers});
        Cached::new(json!({"metadata": metadata, "status": status})).unwrap()
    }

    #[tokio::test]
    async fn a_key_waits_once() {
        let queue = Queue::default();
        for name in ["b", "a", "b"] {
            queue.push(Key::new("ml", name));
        }
        assert_eq!(queue.next().await.name, "a");
        assert_eq!(queue.next().await.name, "b");
        assert!(futures::poll!(Box::pin(queue.next())).is_pending());
    }

    #[test]
    fn a_provider_is_not_asked_for_what_is_not_its_own() {
        let queues = Queues::new(&DIALECTS[0], &Role::all());
        let finalizers = ["kubefoundry.ai/kaito-provider"];
        let all = [
            deployment("new", &json!({}), &[]),
            deployment("mine", &json!({"provider": {"name": "kaito"}}), &[]),
            deployment("moved", &json!({"provider": {"name": "dynamo"}}), &finalizers),
        ];
        queues.extend(all.iter());
        let waiting = |role: &str| {
            let queue = queues.of(Role::parse(role).unwrap()).unwrap();
            let waiting = queue.waiting.lock().unwrap();
            waiting.iter().map(|key| key.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(waiting("core"), ["mine", "moved", "new"]);
        assert_eq!(waiting("kaito"), ["mine", "moved"]);
        assert_eq!(waiting("dynamo"), ["moved"]);
        assert!(waiting("kuberay").is_empty());
    }
}
