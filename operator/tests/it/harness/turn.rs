//! Decides which tests run at the same time.
//!
//! libtest runs as many tests at once as the machine has cores. A test that kills the apiserver, counts requests or
//! measures how soon a lease is taken over must not share the cores with another one, so it runs alone. Tests that only
//! use a cluster form a group, and run at the same time: each has its own namespace or its own cluster.
//!
//! Tests of one module are contiguous in libtest's order, so the cluster that a group shares ([`shared`]) is started
//! once. It ends when the turn passes to another group or to a test that runs alone: an idle apiserver would take
//! memory and CPU time from what they measure.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::OnceCell;

static STAGE: Mutex<Stage> =
    Mutex::new(Stage { group: None, running: 0, shared: None, waiting: VecDeque::new(), arrived: 0 });

/// What runs now, or ran last.
struct Stage {
    /// The group whose turn it is; none while a test runs alone.
    group: Option<&'static str>,
    running: usize,
    /// The value that the tests of the group share.
    shared: Option<Arc<OnceCell<SharedStart>>>,
    /// The numbers of waiting tests, in the order of their arrival.
    waiting: VecDeque<u64>,
    arrived: u64,
}

/// The result of starting the shared value of a group.
enum SharedStart {
    Done(Arc<dyn Any + Send + Sync>),
    /// The tests of the group are skipped.
    Skipped,
    Failed,
}

/// The permission to run, until it is dropped.
#[derive(Debug)]
pub struct Turn(());

impl Drop for Turn {
    fn drop(&mut self) {
        stage().running -= 1;
    }
}

/// Waits until no other test runs.
pub async fn alone() -> Turn {
    enter(None).await
}

/// Waits until only tests of this group run.
pub async fn in_group(group: &'static str) -> Turn {
    enter(Some(group)).await
}

async fn enter(group: Option<&'static str>) -> Turn {
    let ticket = QueueTicket::take();
    loop {
        if let Some(turn) = try_enter(group, ticket.0) {
            return turn;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A position in the queue of waiting tests, until it is dropped.
struct QueueTicket(u64);

impl QueueTicket {
    /// Takes a position at the end of the queue.
    fn take() -> Self {
        let mut stage = stage();
        stage.arrived += 1;
        let number = stage.arrived;
        stage.waiting.push_back(number);
        Self(number)
    }
}

impl Drop for QueueTicket {
    fn drop(&mut self) {
        stage().waiting.retain(|number| *number != self.0);
    }
}

fn try_enter(group: Option<&'static str>, ticket: u64) -> Option<Turn> {
    let mut stage = stage();
    // A test of the current group joins it, even if other groups wait. A test may take several turns of its group, and would wait
    // forever behind another one that waits for the group to end.
    let joins = group.is_some() && stage.group == group;
    if !joins && (stage.running > 0 || stage.waiting.front() != Some(&ticket)) {
        return None;
    }
    stage.running += 1;
    let mut ended = None;
    if !joins {
        stage.group = group;
        ended = stage.shared.replace(Arc::default());
    }
    drop(stage);
    // Kills the programs of the group before.
    drop(ended);
    Some(Turn(()))
}

fn stage() -> MutexGuard<'static, Stage> {
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The shared value of the current group, which its first test starts; none if the tests are skipped. The caller must have a
/// turn of its group.
///
/// # Panics
/// When the start failed, for this test or an earlier one.
pub async fn shared<T: Send + Sync + 'static>(start: impl Future<Output = Option<T>>) -> Option<Arc<T>> {
    let cell = stage().shared.clone().expect("the caller has a turn");
    let start = async {
        match AssertUnwindSafe(start).catch_unwind().await {
            Ok(Some(value)) => SharedStart::Done(Arc::new(value)),
            Ok(None) => SharedStart::Skipped,
            Err(_) => SharedStart::Failed,
        }
    };
    match cell.get_or_init(|| start).await {
        SharedStart::Done(value) => Some(Arc::clone(value).downcast().expect("a group shares one thing")),
        SharedStart::Skipped => None,
        SharedStart::Failed => {
            panic!("the shared cluster of this group did not start; the first test of the group reports why")
        }
    }
}

mod tests {
    use super::*;

    /// Like its neighbor it takes turns with all other tests, so it may only assert what holds whatever they do.
    #[tokio::test]
    async fn a_test_alone_waits_for_a_group_and_the_group_waits_for_it() {
        let first = in_group("turns").await;
        // A test may take several turns of its group.
        let second = in_group("turns").await;
        let ticket = QueueTicket::take();
        assert!(try_enter(None, ticket.0).is_none() && try_enter(Some("others"), ticket.0).is_none());
        drop(first);
        assert!(try_enter(None, ticket.0).is_none());
        drop((second, ticket));
        let turn = alone().await;
        let ticket = QueueTicket::take();
        assert!(try_enter(Some("turns"), ticket.0).is_none() && try_enter(None, ticket.0).is_none());
        drop((turn, ticket));
    }

    #[tokio::test]
    async fn a_group_shares_what_it_started_until_another_turn() {
        struct Flag(Arc<Mutex<bool>>);
        impl Drop for Flag {
            fn drop(&mut self) {
                *self.0.lock().unwrap() = true;
            }
        }
        let ended = Arc::new(Mutex::new(false));
        let turn = in_group("sharing").await;
        let flag = shared(async { Some(Flag(Arc::clone(&ended))) }).await.unwrap();
        let again = shared(async { panic!("it is started once") as Option<Flag> }).await.unwrap();
        assert!(Arc::ptr_eq(&flag.0, &again.0));
        drop((flag, again));
        let next = in_group("sharing").await;
        drop(turn);
        assert!(!*ended.lock().unwrap(), "the group goes on");
        drop(next);
        drop(alone().await);
        assert!(*ended.lock().unwrap());
    }
}
