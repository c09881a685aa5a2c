//! What a controller has to look at: each deployment once, however often it changed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
///
/// What happened to a deployment goes before a look at all of them. A controller is given a few keys at a time: what it
/// keeps of each takes more room than the key.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Keys in the order in which they came. Those that `waiting` does not have in the same lane were handed out, or moved up.
    urgent: VecDeque<Arc<Key>>,
    routine: VecDeque<Arc<Key>>,
    waiting: BTreeMap<Arc<Key>, Lane>,
    /// Handed out, and no result yet.
    in_hand: BTreeSet<Arc<Key>>,
    handed_out: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lane {
    Urgent,
    Routine,
}

/// Of so many keys one is a routine one: those who are urgent all the time do not hold up the others.
const ROUTINE_SHARE: u64 = 8;

impl State {
    fn push(&mut self, key: Key, lane: Lane) {
        let known = self.waiting.get(&key).copied();
        if known == Some(lane) || known == Some(Lane::Urgent) {
            return;
        }
        let key = Arc::new(key);
        self.waiting.insert(Arc::clone(&key), lane);
        match lane {
            Lane::Urgent => self.urgent.push_back(key),
            Lane::Routine => self.routine.push_back(key),
        }
    }

    fn first_of(&mut self, lane: Lane) -> Option<Arc<Key>> {
        let keys = match lane {
            Lane::Urgent => &mut self.urgent,
            Lane::Routine => &mut self.routine,
        };
        while let Some(key) = keys.pop_front() {
            if self.waiting.get(&key) == Some(&lane) {
                self.waiting.remove(&key);
                return Some(key);
            }
        }
        None
    }

    fn pop(&mut self, limit: usize) -> Option<Arc<Key>> {
        if self.in_hand.len() >= limit {
            return None;
        }
        let lanes = match self.handed_out % ROUTINE_SHARE {
            0 => [Lane::Routine, Lane::Urgent],
            _ => [Lane::Urgent, Lane::Routine],
        };
        let key = lanes.into_iter().find_map(|lane| self.first_of(lane))?;
        self.handed_out = self.handed_out.wrapping_add(1);
        self.in_hand.insert(Arc::clone(&key));
        Some(key)
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happened to a deployment.
    pub(crate) fn push(&self, key: Key) {
        self.put(key, Lane::Urgent);
    }

    fn put(&self, key: Key, lane: Lane) {
        self.state().push(key, lane);
        // One reader: a permit is kept when it is not waiting.
        self.changed.notify_one();
    }

    /// A key that was handed out came to a result.
    pub(crate) fn done(&self, key: &Key) {
        self.state().in_hand.remove(key);
        self.changed.notify_one();
    }

    /// Waits for a key, and until fewer than `limit` are in hand.
    async fn next(&self, limit: usize) -> Arc<Key> {
        loop {
            let first = self.state().pop(limit);
            match first {
                Some(key) => return key,
                None => self.changed.notified().await,
            }
        }
    }

    /// The keys as they come, for [`kube::runtime::applier`]; each is to come back by [`Queue::done`].
    pub(crate) fn stream(
        self: Arc<Self>,
        resource: ApiResource,
        limit: usize,
    ) -> impl Stream<Item = Result<ObjectRef<Cached>, Infallible>> {
        stream::unfold((self, resource), move |(queue, resource)| async move {
            let key = queue.next(limit).await;
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

    /// A deployment changed.
    pub(crate) fn push(&self, deployment: &Cached) {
        self.put(deployment, Lane::Urgent);
    }

    /// Something changed that decides over many, or nothing did and it is time for a look.
    pub(crate) fn extend<'d>(&self, deployments: impl Iterator<Item = &'d Cached>) {
        deployments.for_each(|deployment| self.put(deployment, Lane::Routine));
    }

    fn put(&self, deployment: &Cached, lane: Lane) {
        for (_, queue) in self.all.iter().filter(|(role, _)| self.concerns(*role, deployment)) {
            queue.put(Key::of(deployment), lane);
        }
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
        assert_eq!(queue.next(9).await.name, "b");
        assert_eq!(queue.next(9).await.name, "a");
        assert!(futures::poll!(Box::pin(queue.next(9))).is_pending());
    }

    #[tokio::test]
    async fn what_happened_goes_before_a_look_at_all() {
        let queue = Queue::default();
        for name in ["a", "b", "c"] {
            queue.put(Key::new("ml", name), Lane::Routine);
        }
        // The first is a routine one: they have their share.
        assert_eq!(queue.next(9).await.name, "a");
        queue.push(Key::new("ml", "c"));
        assert_eq!(queue.next(9).await.name, "c");
        assert_eq!(queue.next(9).await.name, "b");
        assert!(futures::poll!(Box::pin(queue.next(9))).is_pending());
    }

    #[tokio::test]
    async fn no_more_are_in_hand_than_may_be() {
        let queue = Queue::default();
        let key = |name: &str| Key::new("ml", name);
        for name in ["a", "b", "c"] {
            queue.push(key(name));
        }
        for name in ["a", "b"] {
            assert_eq!(queue.next(2).await.name, name);
        }
        let mut third = Box::pin(queue.next(2));
        assert!(futures::poll!(&mut third).is_pending());
        // One that came back by itself, after a delay, was not in hand.
        queue.done(&key("z"));
        assert!(futures::poll!(&mut third).is_pending());
        queue.done(&key("a"));
        assert_eq!(third.await.name, "c");
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
            let state = queue.state();
            state.waiting.keys().map(|key| key.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(waiting("core"), ["mine", "moved", "new"]);
        assert_eq!(waiting("kaito"), ["mine", "moved"]);
        assert_eq!(waiting("dynamo"), ["moved"]);
        assert!(waiting("kuberay").is_empty());
    }
}
