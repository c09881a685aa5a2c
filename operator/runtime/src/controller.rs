//! Runs reconciliations: keys from a [`Queue`], a limit on how many run at once, a timeout, and a retry policy.
//!
//! Corresponds to `kube::runtime::Controller`, and is built on its `applier`, which never runs two reconciliations of
//! one object at a time and requeues by [`Action`]. `Controller` itself does not fit: it starts a watch for each
//! controller, where here the controllers of all roles share one store of deployments, and it has no priorities
//! ([`super::queue`]). [`Reconciler`] takes the place of its closures, [`ConcurrencyLimiter`] that of
//! `Config::concurrency`.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use kube::Resource;
use kube::core::ApiResource;
use kube::runtime::applier;
use kube::runtime::controller::{self, Action};
use kube::runtime::reflector::Store;
use tokio::time::Instant;

use super::limiter::{ConcurrencyLimiter, Stage};
use super::queue::{Key, Queue};
use crate::error::Error;

/// A running reconciliation.
pub type Reconciliation = Pin<Box<dyn Future<Output = Result<Action, Error>> + Send>>;

/// The callbacks of a controller.
pub trait Reconciler: Send + Sync + 'static {
    /// The objects that are reconciled.
    type Object: Resource<DynamicType = ApiResource> + Clone + Send + Sync + 'static;

    /// Whether the object can be reconciled now.
    ///
    /// # Errors
    /// [`Error::Waiting`] with what has to be there first.
    fn check_ready(&self, object: &Self::Object) -> Result<(), Error>;

    /// Brings an object one step closer to its desired state.
    fn reconcile(&self, object: Arc<Self::Object>) -> Reconciliation;

    /// Records the result of a reconciliation, also of one that timed out. `is_known` is false when the object was
    /// deleted in the meantime.
    fn reconciled(&self, object: &Self::Object, result: &Result<Action, Error>, took: Duration, is_known: bool);

    /// Decides when an object is reconciled again after an error.
    fn error_policy(&self, object: &Self::Object, error: &Error) -> Action;

    /// Drops the state of an object that no longer exists.
    fn forget(&self, key: &Key);
}

/// A controller that is ready to run.
pub struct Controller<K: Resource<DynamicType = ApiResource> + Clone + 'static> {
    /// The kind of the objects.
    pub resource: ApiResource,
    /// The objects as they were seen last.
    pub store: Store<K>,
    /// The objects that wait.
    pub queue: Arc<Queue>,
    /// The limit that all controllers of the process share.
    pub limiter: Arc<ConcurrencyLimiter>,
    /// The stage of an object's processing that the controller is responsible for.
    pub stage: Stage,
    /// Maximum number of objects that this controller reconciles at a time.
    pub concurrency: u16,
}

/// Timeout of one reconciliation. The next one resumes from the state in the cluster.
const RECONCILE_TIMEOUT: Duration = Duration::from_secs(60);

/// Polls a future only after it was woken itself. kube's runner polls all its futures when one of them was woken, and a poll
/// of a reconciliation goes down to the HTTP client.
fn woken_alone<F: Future>(future: F) -> impl Future<Output = F::Output> + Unpin {
    let mut alone = FuturesUnordered::from_iter([future]);
    Box::pin(async move {
        loop {
            if let Some(output) = alone.next().await {
                return output;
            }
        }
    })
}

impl<K: Resource<DynamicType = ApiResource> + Clone + Send + Sync + 'static> Controller<K> {
    /// Reconciles the keys of the queue. Never returns.
    pub async fn run<R: Reconciler<Object = K>>(self, reconciler: R) {
        let Self { resource, store, queue, limiter, stage, concurrency } = self;
        let reconcile = |object: Arc<K>, reconciler: Arc<R>| {
            let (limiter, store) = (Arc::clone(&limiter), store.clone());
            let reference = Key::of(object.meta()).reference(&resource);
            woken_alone(async move {
                // During shutdown nothing is reconciled; the next leader does it.
                let Some(_permit) = limiter.acquire(stage).await else { return Ok(Action::await_change()) };
                reconciler.check_ready(&object)?;
                let started = Instant::now();
                let result = tokio::time::timeout(RECONCILE_TIMEOUT, reconciler.reconcile(Arc::clone(&object))).await;
                let result = result.unwrap_or_else(|_| Err(Error::Waiting("the apiserver does not answer".to_owned())));
                reconciler.reconciled(&object, &result, started.elapsed(), store.get(&reference).is_some());
                result
            })
        };
        let policy = |object: Arc<K>, error: &Error, reconciler: Arc<R>| reconciler.error_policy(&object, error);
        let reconciler = Arc::new(reconciler);
        let config = controller::Config::default().concurrency(concurrency);
        // Enough that no reconciliation waits for the next key, and few compared to ten thousand.
        let max_in_progress = usize::from(concurrency) * 4;
        let requests = Box::pin(Arc::clone(&queue).stream(resource.clone(), max_in_progress));
        applier(reconcile, policy, Arc::clone(&reconciler), store.clone(), requests, config)
            .for_each(|result| {
                let key = match &result {
                    Ok((object, _)) => Key::new(object.namespace.as_deref().unwrap_or_default(), &object.name),
                    Err(controller::Error::ObjectNotFound(object) | controller::Error::ReconcilerFailed(_, object)) => {
                        Key::new(object.namespace.as_deref().unwrap_or_default(), &object.name)
                    }
                    // The stream of the queue does not fail, and the end of the runner ends the process.
                    Err(_) => return std::future::ready(()),
                };
                queue.done(&key);
                if let Err(controller::Error::ObjectNotFound(_)) = result {
                    reconciler.forget(&key);
                }
                std::future::ready(())
            })
            .await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::task::Poll;

    use futures::channel::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_future_is_not_polled_because_of_another_one() {
        let (sender, mut receiver) = oneshot::channel();
        let polls = Cell::new(0);
        let mut alone = woken_alone(poll_fn(|context| {
            polls.set(polls.get() + 1);
            Pin::new(&mut receiver).poll(context)
        }));
        for _ in 0..3 {
            assert_eq!(futures::poll!(&mut alone), Poll::Pending);
        }
        assert_eq!(polls.get(), 1);
        sender.send(7).unwrap();
        assert_eq!(alone.await, Ok(7));
        assert_eq!(polls.get(), 2);
    }
}
