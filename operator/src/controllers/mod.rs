//! Controllers: what is done about a deployment when it, or something that decides over it, changes.

pub(crate) mod core;
pub(crate) mod provider;
pub(crate) mod selector;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use kube::core::ApiResource;
use kube::runtime::applier;
use kube::runtime::controller::{self, Action};
use kube::runtime::reflector::Store;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::cached::Cached;
use crate::error::Error;
use crate::metrics::Metrics;
use crate::names;
use crate::watch::{Key, Namespaces, Queue};

/// Where reconciliations go through, so that the process can wait for them before it ends.
pub(crate) struct Gate {
    permits: Semaphore,
    total: u32,
    is_closed: AtomicBool,
}

impl Gate {
    /// For at most so many at a time.
    pub(crate) fn new(total: u32) -> Self {
        Self { permits: Semaphore::new(total as usize), total, is_closed: AtomicBool::new(false) }
    }

    /// Nothing once it is closed.
    async fn enter(&self) -> Option<SemaphorePermit<'_>> {
        let permit = self.permits.acquire().await.ok()?;
        (!self.is_closed.load(Ordering::Acquire)).then_some(permit)
    }

    /// Lets nobody in any more, and waits for those who are, for a time at most. Says whether all are out.
    pub(crate) async fn close(&self, most: Duration) -> bool {
        self.is_closed.store(true, Ordering::Release);
        tokio::time::timeout(most, self.permits.acquire_many(self.total)).await.is_ok()
    }
}

/// What a controller runs with.
pub(crate) struct Controller {
    /// `core`, `selector`, or a provider.
    pub(crate) name: &'static str,
    pub(crate) resource: ApiResource,
    pub(crate) deployments: Store<Cached>,
    pub(crate) namespaces: Arc<Namespaces>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) gate: Arc<Gate>,
    /// How many deployments at a time.
    pub(crate) concurrency: u16,
}

/// How often in a row something failed, and how.
#[derive(Debug, Default)]
struct Failures {
    count: u32,
    last: String,
}

/// Failures of deployments that have not succeeded since.
type AllFailures = Mutex<BTreeMap<Key, Failures>>;

/// A reconciliation under way.
pub(crate) type Reconciliation = Pin<Box<dyn Future<Output = Result<Action, Error>> + Send>>;

/// Reconciles what the queue says, forever.
pub(crate) async fn run(controller: Controller, reconcile: impl Fn(Arc<Cached>) -> Reconciliation + Send) {
    let Controller { name, resource, deployments, namespaces, queue, metrics, gate, concurrency } = controller;
    let failures = Arc::new(AllFailures::default());
    let reconciler = |deployment: Arc<Cached>, failures: Arc<AllFailures>| {
        let (gate, metrics, namespaces) = (Arc::clone(&gate), Arc::clone(&metrics), Arc::clone(&namespaces));
        let reconciliation = reconcile(Arc::clone(&deployment));
        Box::pin(async move {
            let Some(_permit) = gate.enter().await else { return Ok(Action::await_change()) };
            if !deployment.is_terminating() && !namespaces.is_known(deployment.namespace()) {
                return Err(Error::Waiting(format!("namespace {} is not known yet", deployment.namespace())));
            }
            let started = Instant::now();
            let result = reconciliation.await;
            metrics.reconciled(name, started.elapsed());
            match &result {
                Ok(_) => drop(lock(&failures).remove(&Key::of(&deployment))),
                Err(Error::Waiting(_)) => {}
                Err(error) => metrics.failed(name, error.kind()),
            }
            result
        })
    };
    let policy = |deployment: Arc<Cached>, error: &Error, failures: Arc<AllFailures>| {
        let mut failures = lock(&failures);
        let failures = failures.entry(Key::of(&deployment)).or_default();
        let wait = delay(error, failures.count);
        failures.count = failures.count.saturating_add(1);
        let said = error.to_string();
        let (namespace, deployment) = (deployment.namespace(), deployment.name());
        if matches!(error, Error::Waiting(_)) || failures.last == said {
            tracing::debug!(controller = name, namespace, deployment, said, ?wait, "tried again later");
        } else {
            tracing::warn!(controller = name, namespace, deployment, error = said, ?wait, "failed, and tried again later");
            failures.last = said;
        }
        Action::requeue(wait)
    };
    let config = controller::Config::default().concurrency(concurrency);
    let requests = queue.stream(resource);
    let results = applier(reconciler, policy, Arc::clone(&failures), deployments, requests, config);
    results
        .for_each(|result| {
            // What is gone needs nothing any more.
            if let Err(controller::Error::ObjectNotFound(gone)) = result {
                lock(&failures).remove(&Key::new(gone.namespace.as_deref().unwrap_or_default(), &gone.name));
            }
            std::future::ready(())
        })
        .await;
}

fn lock(failures: &AllFailures) -> std::sync::MutexGuard<'_, BTreeMap<Key, Failures>> {
    failures.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long to wait after a number of failures before this one: twice as long each time.
fn delay(error: &Error, failures: u32) -> Duration {
    let (first, most) = match error {
        Error::Waiting(_) => (Duration::from_millis(100), Duration::from_secs(5)),
        Error::Api(_) => (Duration::from_millis(200), Duration::from_secs(60)),
    };
    first.saturating_mul(1 << failures.min(12)).min(most)
}

/// Whether a controller is to leave a deployment alone: somebody asked for it (spec/1 §4.6).
pub(crate) fn is_paused(deployment: &Cached, dialect: &kubefoundry::dialect::Dialect) -> bool {
    deployment.annotation(&dialect.label(names::PAUSED)) == Some("true")
}

/// The provider that the user names.
pub(crate) fn explicit(object: &Value) -> Option<&str> {
    object.pointer("/spec/provider/name").and_then(Value::as_str).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_come_later_each_time() {
        let refused = || Error::Api(kube::Error::LinesCodecMaxLineLengthExceeded);
        let delays: Vec<_> = [0, 1, 2, 8, 9, 1000].map(|count| delay(&refused(), count).as_millis()).into();
        assert_eq!(delays, [200, 400, 800, 51_200, 60_000, 60_000]);
        assert_eq!(delay(&Error::Waiting(String::new()), 0).as_millis(), 100);
        assert_eq!(delay(&Error::Waiting(String::new()), 1000).as_millis(), 5000);
    }

    #[tokio::test]
    async fn a_gate_waits_for_those_inside_and_lets_nobody_in() {
        let gate = Gate::new(2);
        let inside = gate.enter().await.unwrap();
        assert!(!gate.close(Duration::from_millis(5)).await);
        assert!(gate.enter().await.is_none());
        drop(inside);
        assert!(gate.close(Duration::from_secs(5)).await);
    }
}
