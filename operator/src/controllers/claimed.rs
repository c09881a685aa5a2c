//! The controller of a kind of claimed objects.

use std::sync::Arc;
use std::time::Duration;

use kube::runtime::controller::Action;
use kube::runtime::reflector::Store;
use kubefoundry_controller_runtime::controller::{Reconciler, Reconciliation};
use kubefoundry_controller_runtime::error::Error;
use kubefoundry_controller_runtime::events::Recorder;
use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_controller_runtime::mutex::lock;
use kubefoundry_controller_runtime::queue::Key;
use kubefoundry_reconcile::Next;
use kubefoundry_reconcile::cached_object::CachedObject;
use kubefoundry_reconcile::claimed::{self, ClaimedKind, ClaimedObservation};
use kubefoundry_reconcile::exchange::{Coroutine, Exchange};
use kubefoundry_reconcile::memory::Moment;
use kubefoundry_reconcile::names::MARKS;
use kubefoundry_reconcile::observation::Observation;
use tokio::time::Instant;

use super::execute::Executor;
use super::{Memories, execute, now, trace_reconciled};
use crate::args::Run;
use crate::evaluator::Snapshots;
use crate::watch::Related;

/// The state of the controller of a kind.
#[derive(Clone)]
pub(crate) struct ClaimedContext {
    pub(crate) kind: &'static dyn ClaimedKind,
    pub(crate) client: kube::Client,
    /// The flags of the process.
    pub(crate) settings: Arc<Run>,
    pub(crate) snapshots: Snapshots,
    pub(crate) objects: Store<CachedObject>,
    pub(crate) related: Arc<Related>,
    pub(crate) events: Recorder,
    pub(crate) metrics: Arc<Metrics>,
}

/// The controller of a kind of claimed objects.
pub(crate) struct ClaimedReconciler(Arc<Controller>);

struct Controller {
    context: ClaimedContext,
    memories: Memories,
    /// The start of the process, from which its moments count.
    started: Instant,
}

impl ClaimedReconciler {
    pub(crate) fn new(context: ClaimedContext) -> Self {
        Self(Arc::new(Controller { context, memories: Memories::default(), started: Instant::now() }))
    }
}

impl Controller {
    fn moment(&self) -> Moment {
        Moment(self.started.elapsed())
    }

    /// Observes an object and reconciles it.
    async fn reconcile(&self, object: Arc<CachedObject>) -> Result<Action, Error> {
        let ClaimedContext { kind, client, settings, snapshots, objects, related, events, metrics } = &self.context;
        let memory = self.memories.of(&object);
        let options = snapshots.borrow().options_text().map(str::to_owned);
        let is_sibling = |other: &Arc<CachedObject>| other.namespace() == object.namespace();
        let siblings = objects.state().into_iter().filter(is_sibling).map(|other| other.name().to_owned()).collect();
        let observation = ClaimedObservation {
            base: Observation::new(Arc::clone(&object), MARKS, now(), self.moment(), [].into()),
            kind: *kind,
            options,
            is_ready: related.is_ready(),
            owned: related.owned(object.uid()),
            siblings,
            finalizer_timeout: settings.finalizer_timeout,
        };
        let reading = related.read_for(Key::of(&object.metadata));
        let resource = kind.resource();
        let executor = Executor {
            client,
            resource: &resource,
            events,
            metrics,
            deployment: &object,
            controller: kind.name(),
            turns: None,
            reading: Some(&reading),
        };
        let exchange = Exchange::default();
        let run = claimed::reconcile(&observation, &memory, &exchange);
        Ok(match execute(Coroutine::new(&exchange, run), &executor).await? {
            Next::OnChange => Action::await_change(),
            Next::After(delay) => Action::requeue(delay),
        })
    }
}

impl Reconciler for ClaimedReconciler {
    type Object = CachedObject;

    fn check_ready(&self, _object: &CachedObject) -> Result<(), Error> {
        Ok(())
    }

    fn reconcile(&self, object: Arc<CachedObject>) -> Reconciliation {
        let controller = Arc::clone(&self.0);
        Box::pin(async move { controller.reconcile(object).await })
    }

    fn reconciled(&self, object: &CachedObject, result: &Result<Action, Error>, took: Duration, _is_known: bool) {
        let Controller { context: ClaimedContext { kind, metrics, .. }, memories, .. } = &*self.0;
        metrics.observe_reconciliation(kind.name(), took);
        if result.is_ok() {
            if !lock(&memories.of(object)).record_success(object, self.0.moment()) {
                memories.forget(&Key::of(&object.metadata));
            }
            metrics.record_success(kind.name(), object.namespace(), object.name());
            trace_reconciled(kind.name(), object);
        }
    }

    fn error_policy(&self, object: &CachedObject, error: &Error) -> Action {
        let Controller { context: ClaimedContext { kind, metrics, .. }, memories, .. } = &*self.0;
        let (delay, is_known) = lock(&memories.of(object)).record_failure(error);
        let (controller, namespace, name) = (kind.name(), object.namespace(), object.name());
        metrics.record_failure(controller, namespace, name, error.kind());
        if error.is_waiting() || is_known {
            tracing::debug!(controller, namespace, name, %error, ?delay, "requeued");
        } else {
            tracing::warn!(controller, namespace, name, %error, ?delay, "reconciliation failed, requeued");
        }
        Action::requeue(delay)
    }

    fn forget(&self, key: &Key) {
        let ClaimedContext { kind, related, metrics, .. } = &self.0.context;
        self.0.memories.forget(key);
        related.forget(key);
        metrics.record_success(kind.name(), &key.namespace, &key.name);
    }
}
