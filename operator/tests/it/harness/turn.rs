//! Decides which tests run at the same time.
//!
//! libtest runs as many tests at once as the machine has cores. A test that kills the apiserver, counts requests or
//! measures how soon a lease is taken over must not share the cores with another one, so it runs alone. Tests that only
//! use a cluster form a group, and run beside each other: each has a namespace of its own, or a cluster of its own.
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
    /// What the tests of the group share.
    shared: Option<Arc<OnceCell<Start>>>,
    /// The numbers of those that wait, in the order of their arrival.
    waiting: VecDeque<u64>,
    arrived: u64,
}

/// The result of starting what a group shares.
enum Start {
    Done(Arc<dyn Any + Send + Sync>),
    /// There is nothing to start here.
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
pub async fn beside(group: &'static str) -> Turn {
    enter(Some(group)).await
}

async fn enter(group: Option<&'static str>) -> Turn {
    let place = Place::last();
    loop {
        if let Some(turn) = try_enter(group, place.0) {
            return turn;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A place among those that wait, until it is dropped.
struct Place(u64);

impl Place {
    fn last() -> Self {
        let mut stage = stage();
        stage.arrived += 1;
        let number = stage.arrived;
        stage.waiting.push_back(number);
        Self(number)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        stage().waiting.retain(|number| *number != self.0);
    }
}

fn try_enter(group: Option<&'static str>, place: u64) -> Option<Turn> {
    let mut stage = stage();
    // A test of the current group joins it, whoever waits. A test may take several turns of its group, and would wait
    // forever behind another one that waits for the group to end.
    let joins = group.is_some() && stage.group == group;
    if !joins && (stage.running > 0 || stage.waiting.front() != Some(&place)) {
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

/// What the tests of the current group share, started by the first of them; none when there is nothing to start. The
/// caller has a turn of its group.
///
/// # Panics
/// When the start failed, for this test or an earlier one.
pub async fn shared<T: Send + Sync + 'static>(start: impl Future<Output = Option<T>>) -> Option<Arc<T>> {
    let cell = stage().shared.clone().expect("the caller has a turn");
    let start = async {
        match AssertUnwindSafe(start).catch_unwind().await {
            Ok(Some(value)) => Start::Done(Arc::new(value)),
            Ok(None) => Start::Skipped,
            Err(_) => Start::Failed,
        }
    };
    match cell.get_or_init(|| start).await {
        Start::Done(value) => Some(Arc::clone(value).downcast().expect("a group shares one thing")),
        Start::Skipped => None,
        Start::Failed => panic!("what the tests of this group share did not start: the first of them says why"),
    }
}

mod tests {
    use super::*;

    /// Like its neighbour it takes turns with all other tests, so it may only assert what holds whatever they do.
    #[tokio::test]
    async fn a_test_alone_waits_for_a_group_and_the_group_waits_for_it() {
        let first = beside("turns").await;
        // A test may take several turns of its group.
        let second = beside("turns").await;
        let place = Place::last();
        assert!(try_enter(None, place.0).is_none() && try_enter(Some("others"), place.0).is_none());
        drop(first);
        assert!(try_enter(None, place.0).is_none());
        drop((second, place));
        let turn = alone().await;
        let place = Place::last();
        assert!(try_enter(Some("turns"), place.0).is_none() && try_enter(None, place.0).is_none());
        drop((turn, place));
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
        let turn = beside("sharing").await;
        let flag = shared(async { Some(Flag(Arc::clone(&ended))) }).await.unwrap();
        let again = shared(async { panic!("it is started once") as Option<Flag> }).await.unwrap();
        assert!(Arc::ptr_eq(&flag.0, &again.0));
        drop((flag, again));
        let next = beside("sharing").await;
        drop(turn);
        assert!(!*ended.lock().unwrap(), "the group goes on");
        drop(next);
        drop(alone().await);
        assert!(*ended.lock().unwrap());
    }
}
