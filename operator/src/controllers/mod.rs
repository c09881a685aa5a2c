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
use crate::context::Context;
use crate::error::Error;
use crate::names;
use crate::runtime::metrics::Metrics;
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

/// How long a reconciliation may take: it keeps others from its place. What it left half done, the next one goes on with.
const LONGEST: Duration = Duration::from_secs(60);

/// A reconciliation under way.
type Reconciliation = Pin<Box<dyn Future<Output = Result<Action, Error>> + Send>>;

/// What a controller does.
#[derive(Clone)]
pub(crate) enum Reconciler {
    Core(Arc<Context>, Arc<Memory>),
    Selector(Arc<Context>, Arc<Memory>),
    /// It measures itself, and says itself when it is tried again.
    Provider(Arc<provider::ProviderContext>),
}

impl Reconciler {
    pub(crate) fn core(context: Context) -> Self {
        Self::Core(Arc::new(context), Arc::default())
    }

    pub(crate) fn selector(context: Context) -> Self {
        Self::Selector(Arc::new(context), Arc::default())
    }

    fn reconcile(&self, deployment: Arc<Cached>) -> Reconciliation {
        match self.clone() {
            Self::Core(context, memory) => Box::pin(core::reconcile(deployment, context, memory)),
            Self::Selector(context, memory) => Box::pin(selector::reconcile(deployment, context, memory)),
            Self::Provider(context) => Box::pin(provider::reconcile(deployment, context)),
        }
    }

    fn memory(&self) -> Option<(&Memory, &Metrics)> {
        match self {
            Self::Core(context, memory) | Self::Selector(context, memory) => Some((memory, &context.metrics)),
            Self::Provider(_) => None,
        }
    }
}

/// What core and selector remember of deployments: nothing that anything depends on.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<BTreeMap<Key, Remembered>>);

/// What is remembered of a deployment until it succeeds and is seen as it was written.
#[derive(Debug, Default)]
struct Remembered {
    /// How often in a row it failed.
    failures: u32,
    said: String,
    /// The version that was written last, of the object with this uid.
    written: Option<(String, u64)>,
}

impl Memory {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Key, Remembered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what the apiserver made of a status.
    pub(crate) fn wrote(&self, written: &Cached) {
        let Some(version) = written.version() else { return };
        self.lock().entry(Key::of(written)).or_default().written = Some((written.uid().to_owned(), version));
    }

    /// Whether a deployment is older than what was written: what was written comes, and then it is looked at.
    pub(crate) fn is_behind(&self, deployment: &Cached) -> bool {
        let mut all = self.lock();
        let Some(remembered) = all.get_mut(&Key::of(deployment)) else { return false };
        let is_behind = remembered.written.as_ref().is_some_and(|(uid, written)| {
            *uid == deployment.uid() && deployment.version().is_some_and(|version| version < *written)
        });
        if !is_behind {
            remembered.written = None;
        }
        is_behind
    }

    fn succeeded(&self, deployment: &Cached) {
        let mut all = self.lock();
        let key = Key::of(deployment);
        if let Some(remembered) = all.get_mut(&key) {
            if remembered.written.is_none() {
                all.remove(&key);
            } else {
                (remembered.failures, remembered.said) = (0, String::new());
            }
        }
    }

    fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    /// When to try again, and whether the same was said of it before.
    fn failed(&self, deployment: &Cached, error: &Error) -> (Duration, bool) {
        let mut all = self.lock();
        let remembered = all.entry(Key::of(deployment)).or_default();
        let wait = delay(matches!(error, Error::Waiting(_)), remembered.failures);
        remembered.failures = remembered.failures.saturating_add(1);
        let said = error.to_string();
        let is_known = remembered.said == said;
        remembered.said = said;
        (wait, is_known)
    }
}

/// Reconciles what the queue says, forever.
pub(crate) async fn run(controller: Controller, reconciler: Reconciler) {
    let Controller { name, resource, deployments, namespaces, queue, metrics, gate, concurrency } = controller;
    let work = |deployment: Arc<Cached>, reconciler: Arc<Reconciler>| {
        let (gate, metrics, namespaces) = (Arc::clone(&gate), Arc::clone(&metrics), Arc::clone(&namespaces));
        let (store, key) = (deployments.clone(), Key::of(&deployment).reference(&resource));
        Box::pin(async move {
            let Some(_permit) = gate.enter().await else { return Ok(Action::await_change()) };
            if !deployment.is_terminating() && !namespaces.is_known(deployment.namespace()) {
                return Err(Error::Waiting(format!("namespace {} is not known yet", deployment.namespace())));
            }
            let started = Instant::now();
            let result = tokio::time::timeout(LONGEST, reconciler.reconcile(Arc::clone(&deployment))).await;
            let result = result.unwrap_or_else(|_| Err(Error::Waiting("the apiserver does not answer".to_owned())));
            if let Some((memory, _)) = reconciler.memory() {
                metrics.reconciled(name, started.elapsed());
                if result.is_ok() {
                    memory.succeeded(&deployment);
                }
            }
            if store.get(&key).is_none() {
                // It went meanwhile, and what was measured of it since was too late.
                metrics.forget(deployment.namespace(), deployment.name());
            }
            result
        })
    };
    let policy = |deployment: Arc<Cached>, error: &Error, reconciler: Arc<Reconciler>| {
        let (memory, metrics) = match &*reconciler {
            Reconciler::Provider(context) => return provider::error_policy(&deployment, error, context),
            Reconciler::Core(context, memory) | Reconciler::Selector(context, memory) => (memory, &context.metrics),
        };
        let (wait, is_known) = memory.failed(&deployment, error);
        let (namespace, deployment) = (deployment.namespace(), deployment.name());
        let is_expected = matches!(error, Error::Waiting(_));
        if !is_expected {
            metrics.failed(name, error.kind());
        }
        if is_expected || is_known {
            tracing::debug!(controller = name, namespace, deployment, %error, ?wait, "tried again later");
        } else {
            tracing::warn!(controller = name, namespace, deployment, %error, ?wait, "failed, and tried again later");
        }
        Action::requeue(wait)
    };
    let reconciler = Arc::new(reconciler);
    let config = controller::Config::default().concurrency(concurrency);
    // Enough that nobody waits for the next, and little of ten thousand.
    let in_hand = usize::from(concurrency) * 4;
    let requests = Box::pin(Arc::clone(&queue).stream(resource.clone(), in_hand));
    let results = applier(work, policy, Arc::clone(&reconciler), deployments.clone(), requests, config);
    results
        .for_each(|result| {
            let key = match &result {
                Ok((done, _)) => Key::new(done.namespace.as_deref().unwrap_or_default(), &done.name),
                Err(controller::Error::ObjectNotFound(of) | controller::Error::ReconcilerFailed(_, of)) => {
                    Key::new(of.namespace.as_deref().unwrap_or_default(), &of.name)
                }
                // There is no queue that fails, and a runner that ends takes all with it.
                Err(_) => return std::future::ready(()),
            };
            queue.done(&key);
            // What is gone needs nothing any more.
            if let Err(controller::Error::ObjectNotFound(_)) = result
                && let Some((memory, _)) = reconciler.memory()
            {
                memory.forget(&key);
            }
            std::future::ready(())
        })
        .await;
}

/// The first and the longest delay after a failure.
const FAILED: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(60));
/// The same where something is waited for that others do.
const EXPECTED: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// How long to wait after a number of failures before this one: twice as long each time.
fn delay(is_expected: bool, failures: u32) -> Duration {
    doubled(if is_expected { EXPECTED } else { FAILED }, failures)
}

/// A delay that doubles.
fn doubled((first, longest): (Duration, Duration), times: u32) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(times)).min(longest)
}

/// Whether a controller is to leave a deployment alone: somebody asked for it (docs/specification.md OP-4.2).
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
        let delays: Vec<_> = [0, 1, 2, 8, 9, 1000].map(|count| delay(false, count).as_millis()).into();
        assert_eq!(delays, [200, 400, 800, 51_200, 60_000, 60_000]);
        assert_eq!(delay(true, 0).as_millis(), 100);
        assert_eq!(delay(true, 1000).as_millis(), 5000);
    }

    #[test]
    fn what_was_written_is_waited_for() {
        let deployment = |uid: &str, version: &str| {
            let metadata =
                serde_json::json!({"name": "phi", "namespace": "ml", "uid": uid, "resourceVersion": version});
            Cached::new(serde_json::json!({"metadata": metadata})).unwrap()
        };
        let memory = Memory::default();
        assert!(!memory.is_behind(&deployment("1", "9")));
        memory.wrote(&deployment("1", "10"));
        memory.succeeded(&deployment("1", "9"));
        assert!(memory.is_behind(&deployment("1", "9")));
        assert!(!memory.is_behind(&deployment("2", "9")));
        memory.wrote(&deployment("1", "10"));
        assert!(!memory.is_behind(&deployment("1", "10")));
        memory.succeeded(&deployment("1", "10"));
        assert!(memory.lock().is_empty());
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
