//! Limits how many reconciliations run at once, over all controllers of the process.
//!
//! Corresponds to `Config::concurrency` of `kube::runtime::Controller`, which limits one controller. A tokio semaphore
//! would hand out permits in the order of arrival. Here the later stage comes first, so that objects which were begun are
//! finished before others are begun.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use crate::mutex::lock;

/// The stage in which a controller processes an object, in the order in which an object passes through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Validation, and the selection of a provider.
    Decision,
    /// The objects that are applied.
    Application,
}

/// Limits the reconciliations of all controllers together, and lets the process wait for them before it ends.
pub struct ConcurrencyLimiter {
    max: u32,
    state: Mutex<State>,
    /// A permit was given back, for which a closed limiter waits.
    returned: Notify,
}

struct State {
    free: u32,
    /// The reconciliations that wait, by stage and in the order of arrival. None waits while a permit is free.
    waiting: [VecDeque<oneshot::Sender<Permit>>; 2],
    granted: u64,
    is_closed: bool,
}

/// Every eighth permit goes to the first stage that waits for one, so that a constant load of the later stages cannot
/// starve it.
const FIRST_STAGE_SHARE: u64 = 8;

impl State {
    /// Removes the reconciliation that runs next.
    fn next(&mut self) -> Option<oneshot::Sender<Permit>> {
        let next = if self.granted.is_multiple_of(FIRST_STAGE_SHARE) {
            self.waiting.iter_mut().find_map(VecDeque::pop_front)
        } else {
            self.waiting.iter_mut().rev().find_map(VecDeque::pop_front)
        };
        if next.is_some() {
            self.granted = self.granted.wrapping_add(1);
        }
        next
    }
}

/// The permit to run one reconciliation, until it is dropped.
pub struct Permit(Arc<ConcurrencyLimiter>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl ConcurrencyLimiter {
    /// Creates a limiter that allows at most `max` reconciliations at a time.
    pub fn new(max: u32) -> Arc<Self> {
        let state = State { free: max, waiting: Default::default(), granted: 0, is_closed: false };
        Arc::new(Self { max, state: Mutex::new(state), returned: Notify::new() })
    }

    /// Waits for a permit. Returns `None` once the limiter is closed.
    pub(super) async fn acquire(self: &Arc<Self>, stage: Stage) -> Option<Permit> {
        let granted = {
            let mut state = lock(&self.state);
            if state.is_closed {
                return None;
            }
            if state.free > 0 {
                state.free -= 1;
                return Some(Permit(Arc::clone(self)));
            }
            let (grant, granted) = oneshot::channel();
            state.waiting[stage as usize].push_back(grant);
            granted
        };
        granted.await.ok()
    }

    /// Hands a permit to the next reconciliation, or keeps it for a later one.
    fn release(self: &Arc<Self>) {
        let refused = {
            let mut state = lock(&self.state);
            if let Some(waiting) = state.next() {
                waiting.send(Permit(Arc::clone(self))).err()
            } else {
                state.free += 1;
                None
            }
        };
        // The reconciliation was cancelled while it waited. Dropping the permit hands it on, which needs the lock.
        drop(refused);
        self.returned.notify_one();
    }

    /// Closes the limiter and waits up to `timeout` for running reconciliations; returns whether all finished.
    pub async fn close(&self, timeout: Duration) -> bool {
        let waiting = {
            let mut state = lock(&self.state);
            state.is_closed = true;
            std::mem::take(&mut state.waiting)
        };
        drop(waiting);
        let all_returned = async {
            while lock(&self.state).free < self.max {
                self.returned.notified().await;
            }
        };
        tokio::time::timeout(timeout, all_returned).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::{FutureExt as _, poll};

    use super::*;

    #[tokio::test]
    async fn a_closed_limiter_waits_for_running_reconciliations_and_admits_no_other() {
        let limiter = ConcurrencyLimiter::new(2);
        let running = limiter.acquire(Stage::Decision).await.unwrap();
        let other = limiter.acquire(Stage::Decision).await.unwrap();
        let mut waiting = pin!(limiter.acquire(Stage::Application));
        assert!(poll!(waiting.as_mut()).is_pending());
        assert!(!limiter.close(Duration::from_millis(5)).await);
        assert!(waiting.await.is_none());
        assert!(limiter.acquire(Stage::Decision).await.is_none());
        drop(other);
        assert!(!limiter.close(Duration::from_millis(5)).await);
        drop(running);
        assert!(limiter.close(Duration::from_secs(5)).await);
    }

    #[tokio::test]
    async fn an_object_that_is_nearly_finished_comes_first_but_not_always() {
        let limiter = ConcurrencyLimiter::new(1);
        let mut permit = limiter.acquire(Stage::Application).await;
        let stages = [Stage::Decision, Stage::Application].into_iter().flat_map(|stage| std::iter::repeat_n(stage, 9));
        let mut waiting: Vec<_> = stages.map(|stage| (stage, Box::pin(limiter.acquire(stage)))).collect();
        for (_, waiting) in &mut waiting {
            assert!(poll!(waiting).is_pending());
        }
        let mut order = Vec::new();
        while !waiting.is_empty() {
            drop(permit.take());
            let granted = waiting.iter_mut().enumerate();
            let mut granted = granted.filter_map(|(at, it)| Some((at, it.1.as_mut().now_or_never()?)));
            let (at, next) = granted.next().unwrap();
            assert!(granted.next().is_none());
            permit = next;
            order.push(waiting.remove(at).0);
        }
        let mut expected = vec![Stage::Decision; 18];
        expected[1..8].fill(Stage::Application);
        expected[9..11].fill(Stage::Application);
        assert_eq!(order, expected);
    }

    #[tokio::test]
    async fn a_cancelled_reconciliation_passes_its_permit_on() {
        let limiter = ConcurrencyLimiter::new(1);
        let running = limiter.acquire(Stage::Decision).await;
        let mut cancelled = Box::pin(limiter.acquire(Stage::Decision));
        // It is granted the permit before it is cancelled.
        let mut late = Box::pin(limiter.acquire(Stage::Application));
        let mut last = Box::pin(limiter.acquire(Stage::Decision));
        for waiting in [&mut cancelled, &mut late, &mut last] {
            assert!(poll!(waiting).is_pending());
        }
        drop(cancelled);
        // The eighth permit, counted from zero, goes to the first stage.
        lock(&limiter.state).granted = 1;
        drop(running);
        drop(late);
        let permit = last.now_or_never().unwrap().unwrap();
        drop(permit);
        assert!(limiter.close(Duration::from_secs(5)).await);
    }
}
