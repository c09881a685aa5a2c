//! The work queue of a controller: each key once, however often its object changes, in two priorities.
//!
//! Corresponds to the scheduler of `kube::runtime::controller` and to `kubert::requeue`; controller-runtime calls the
//! same thing a priority queue. kube's scheduler takes every request that it is given, in one order: with ten thousand
//! deployments, an update waited up to 58 s behind a resync, where it now takes at most 1.1 s (docs/performance.md).
//! This queue stands in front of the scheduler. It hands out few keys at a time, which also saves memory, and keys of
//! changed objects before those of a resync.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use futures::Stream;
use futures::stream;
use kube::Resource;
use kube::core::{ApiResource, ObjectMeta};
use kube::runtime::reflector::ObjectRef;
use tokio::sync::Notify;

use crate::mutex::lock;

/// An object by namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The namespace; empty for an object of the whole cluster.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl Key {
    /// Returns the key of the object with this metadata; the namespace is empty for one of the whole cluster.
    pub fn of(metadata: &ObjectMeta) -> Self {
        Self::new(metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
    }

    /// Creates a key.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// Returns the reference under which stores and kube's `applier` know the object.
    pub fn reference<K: Resource<DynamicType = ApiResource>>(&self, resource: &ApiResource) -> ObjectRef<K> {
        ObjectRef::new_with(&self.name, resource.clone()).within(&self.namespace)
    }
}

/// A set of waiting keys. Its size is bounded by the number of objects, since a key that waits is not added again.
///
/// The queue hands out a few keys at a time, because kube's scheduler keeps more memory for a key than the queue does.
#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    // A promotion leaves the old entry in its deque, because removing it would be a linear search. `waiting` tells
    // which entry counts; `pop_from` skips the others.
    /// Keys in order of arrival. A key that `waiting` does not map to the same lane was handed out or promoted since.
    urgent: VecDeque<Arc<Key>>,
    routine: VecDeque<Arc<Key>>,
    waiting: BTreeMap<Arc<Key>, Lane>,
    /// Keys that were handed out and are not done.
    in_progress: BTreeSet<Arc<Key>>,
    handed_out: u64,
}

/// The priority of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// The object, or something that belongs to it, changed.
    Urgent,
    /// A resync, or a change that concerns many objects.
    Routine,
}

/// Every eighth key comes from the routine lane, so urgent keys cannot starve it.
const ROUTINE_SHARE: u64 = 8;

impl State {
    fn push(&mut self, key: Arc<Key>, lane: Lane) {
        let current = self.waiting.get(&key).copied();
        if current == Some(lane) || current == Some(Lane::Urgent) {
            return;
        }
        self.waiting.insert(Arc::clone(&key), lane);
        match lane {
            Lane::Urgent => self.urgent.push_back(key),
            Lane::Routine => self.routine.push_back(key),
        }
    }

    /// Removes the first key of a lane that still waits there.
    fn pop_from(&mut self, lane: Lane) -> Option<Arc<Key>> {
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

    /// Hands out the next key; none while `max_in_progress` keys are in progress.
    ///
    /// Strict priority would starve the routine lane under a constant load of urgent keys, so every eighth turn goes to
    /// it first. A lane without keys gives its turn to the other one.
    fn pop(&mut self, max_in_progress: usize) -> Option<Arc<Key>> {
        if self.in_progress.len() >= max_in_progress {
            return None;
        }
        let lanes = match self.handed_out % ROUTINE_SHARE {
            0 => [Lane::Routine, Lane::Urgent],
            _ => [Lane::Urgent, Lane::Routine],
        };
        let key = lanes.into_iter().find_map(|lane| self.pop_from(lane))?;
        self.handed_out = self.handed_out.wrapping_add(1);
        self.in_progress.insert(Arc::clone(&key));
        Some(key)
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Adds a key, which several queues can share. A key that waits in the routine lane is promoted to the urgent one, never
    /// the other way round.
    pub fn push(&self, key: impl Into<Arc<Key>>, lane: Lane) {
        self.state().push(key.into(), lane);
        // The stream is the only reader: when it is not waiting, `Notify` keeps the permit.
        self.changed.notify_one();
    }

    /// Marks a key as done, whatever the result of its reconciliation.
    pub fn done(&self, key: &Key) {
        self.state().in_progress.remove(key);
        self.changed.notify_one();
    }

    /// Forgets the keys that a controller took and will never mark as done, because it was cancelled.
    pub fn forget_in_progress(&self) {
        self.state().in_progress.clear();
        self.changed.notify_one();
    }

    /// Returns the number of keys that wait for the controller.
    pub fn depth(&self) -> usize {
        self.state().waiting.len()
    }

    /// Waits for a key, and until fewer than `max_in_progress` are in progress.
    pub async fn next(&self, max_in_progress: usize) -> Arc<Key> {
        loop {
            let first = self.state().pop(max_in_progress);
            match first {
                Some(key) => return key,
                None => self.changed.notified().await,
            }
        }
    }

    /// Streams the keys as requests for [`kube::runtime::applier`]. Call [`Queue::done`] for each of them.
    pub fn stream<K: Resource<DynamicType = ApiResource>>(
        self: Arc<Self>,
        resource: ApiResource,
        max_in_progress: usize,
    ) -> impl Stream<Item = Result<ObjectRef<K>, Infallible>> {
        stream::unfold((self, resource), move |(queue, resource)| async move {
            let key = queue.next(max_in_progress).await;
            Some((Ok(key.reference(&resource)), (queue, resource)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_key_waits_once() {
        let queue = Queue::default();
        for name in ["b", "a", "b"] {
            queue.push(Key::new("ml", name), Lane::Urgent);
        }
        assert_eq!(queue.next(9).await.name, "b");
        assert_eq!(queue.next(9).await.name, "a");
        assert!(futures::poll!(Box::pin(queue.next(9))).is_pending());
    }

    #[tokio::test]
    async fn urgent_keys_come_before_routine_keys() {
        let queue = Queue::default();
        for name in ["a", "b", "c"] {
            queue.push(Key::new("ml", name), Lane::Routine);
        }
        // The first turn belongs to the routine lane.
        assert_eq!(queue.next(9).await.name, "a");
        queue.push(Key::new("ml", "c"), Lane::Urgent);
        assert_eq!(queue.next(9).await.name, "c");
        assert_eq!(queue.next(9).await.name, "b");
        assert!(futures::poll!(Box::pin(queue.next(9))).is_pending());
    }

    #[tokio::test]
    async fn hands_out_no_more_keys_than_the_maximum() {
        let queue = Queue::default();
        let key = |name: &str| Key::new("ml", name);
        for name in ["a", "b", "c"] {
            queue.push(key(name), Lane::Urgent);
        }
        for name in ["a", "b"] {
            assert_eq!(queue.next(2).await.name, name);
        }
        let mut third = Box::pin(queue.next(2));
        assert!(futures::poll!(&mut third).is_pending());
        // A key that kube requeued after a delay was not handed out by the queue.
        queue.done(&key("z"));
        assert!(futures::poll!(&mut third).is_pending());
        assert_eq!(queue.depth(), 1);
        queue.done(&key("a"));
        assert_eq!(third.await.name, "c");
        assert_eq!(queue.depth(), 0);
    }

    #[tokio::test]
    async fn a_cancelled_controller_does_not_block_the_next_one() {
        let queue = Queue::default();
        for name in ["a", "b"] {
            queue.push(Key::new("ml", name), Lane::Urgent);
        }
        assert_eq!(queue.next(1).await.name, "a");
        queue.forget_in_progress();
        assert_eq!(queue.next(1).await.name, "b");
    }
}
