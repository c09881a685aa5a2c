//! The controllers of the roles. Each reconciles deployments when they, or something that decides about them, change.
//!
//! What has to be done is decided in [`kubefoundry_reconcile`]; here it is observed, executed, and retried.

mod claimed;
mod execute;
mod registry;
mod turns;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::runtime::controller::Action;
use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_controller_runtime::controller::{Reconciler, Reconciliation};
use kubefoundry_controller_runtime::error::Error;
use kubefoundry_controller_runtime::mutex::lock;
use kubefoundry_controller_runtime::queue::Key;
use kubefoundry_reconcile::cached_object::CachedObject;
use kubefoundry_reconcile::exchange::{Coroutine, Exchange, Progress};
use kubefoundry_reconcile::memory::{Memory, Moment};
use kubefoundry_reconcile::observation::{Observation, colleagues};
use kubefoundry_reconcile::provider::{ProviderIdentity, ProviderObservation, ProviderSettings};
use kubefoundry_reconcile::{Next, core, provider, selector};
use tokio::time::Instant;

pub(crate) use self::claimed::{ClaimedContext, ClaimedReconciler};
pub(crate) use self::execute::Executor;
use self::registry::ClusterRegistry;
pub(crate) use self::turns::Turns;
use crate::context::Context;
use crate::role::Role;

/// Returns the current time in whole seconds, the precision of condition times.
pub(crate) fn now() -> Time {
    Time(Timestamp::now().as_second())
}

/// The controller of a role in one API group.
pub(crate) struct RoleReconciler(Arc<Controller>);

struct Controller {
    /// `core`, `selector`, or the name of a provider.
    name: &'static str,
    context: Context,
    kind: ControllerKind,
    memories: Memories,
    turns: Arc<Turns>,
    /// The start of the process, from which its moments count.
    started: Instant,
}

enum ControllerKind {
    Core,
    Selector,
    Provider(ProviderIdentity),
}

/// The memory of each deployment that has one.
#[derive(Default)]
struct Memories(Mutex<BTreeMap<Key, Arc<Mutex<Memory>>>>);

impl Memories {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Arc<Mutex<Memory>>>> {
        lock(&self.0)
    }

    /// Returns the memory of a deployment, which is created if it does not exist.
    fn of(&self, deployment: &CachedObject) -> Arc<Mutex<Memory>> {
        let memory = Arc::clone(self.lock().entry(Key::of(&deployment.metadata)).or_default());
        lock(&memory).begin(deployment.uid());
        memory
    }

    fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }
}

impl RoleReconciler {
    /// Creates the controller. `turns` are shared by the controllers of a role.
    pub(crate) fn new(role: Role, context: Context, turns: Arc<Turns>) -> Self {
        let kind = match role {
            Role::Provider(provider) => ControllerKind::Provider(ProviderIdentity::new(provider, context.api_group)),
            Role::Selector => ControllerKind::Selector,
            Role::Core | Role::Webhooks | Role::Claimed(_) => ControllerKind::Core,
        };
        let (name, memories, started) = (role.name(), Memories::default(), Instant::now());
        Self(Arc::new(Controller { name, context, kind, memories, turns, started }))
    }
}

impl Controller {
    fn moment(&self) -> Moment {
        Moment(self.started.elapsed())
    }

    /// Observes a deployment and reconciles it.
    async fn reconcile(&self, deployment: Arc<CachedObject>) -> Result<Action, Error> {
        let memory = self.memories.of(&deployment);
        let registry = ClusterRegistry::new(&self.context, self.name, deployment.namespace());
        let observation = Observation::new(
            Arc::clone(&deployment),
            self.context.api_group,
            now(),
            self.moment(),
            colleagues(registry.alive()),
        );
        let executor = Executor {
            client: &self.context.client,
            resource: &self.context.resource,
            events: &self.context.events,
            metrics: &self.context.metrics,
            deployment: &deployment,
            controller: self.name,
            turns: Some(&self.turns),
            reading: None,
        };
        let exchange = Exchange::default();
        let (memory, exchange) = (&*memory, &exchange);
        let next = match &self.kind {
            ControllerKind::Core => {
                let run = core::reconcile(&observation, &registry, memory, exchange);
                execute(Coroutine::new(exchange, run), &executor).await
            }
            ControllerKind::Selector => {
                let run = selector::reconcile(&observation, &registry, memory, exchange);
                execute(Coroutine::new(exchange, run), &executor).await
            }
            ControllerKind::Provider(identity) => {
                let settings = ProviderSettings {
                    finalizer_timeout: self.context.settings.finalizer_timeout,
                    stale_after: self.context.settings.stale_after,
                    recreation: self.turns.policy(),
                };
                let observation = ProviderObservation::new(observation, identity.clone(), settings, &registry);
                // A busy apiserver delivers its watches seconds late, and until then nothing is applied.
                let is_behind = observation.is_behind(&mut lock(memory));
                let observation = if is_behind { observation } else { observation.rendered(&registry) };
                let run = provider::reconcile(&observation, memory, exchange);
                execute(Coroutine::new(exchange, run), &executor).await
            }
        };
        Ok(match next? {
            Next::OnChange => Action::await_change(),
            Next::After(delay) => Action::requeue(delay),
        })
    }
}

/// Logs which version of an object a controller has reconciled: the tests of the operator wait for it.
fn trace_reconciled(controller: &str, object: &CachedObject) {
    let version = object.metadata.resource_version.as_deref().unwrap_or_default();
    tracing::trace!(controller, namespace = object.namespace(), name = object.name(), version, "reconciled");
}

/// Executes the requests of a reconciliation until it finishes.
async fn execute<T>(mut coroutine: Coroutine<'_, T>, executor: &Executor<'_>) -> T {
    let mut answer = None;
    loop {
        match coroutine.resume(answer) {
            Progress::Request(request) => answer = Some(executor.execute(request).await),
            Progress::Finished(result) => return result,
        }
    }
}

impl Reconciler for RoleReconciler {
    type Object = CachedObject;

    fn check_ready(&self, deployment: &CachedObject) -> Result<(), Error> {
        if !deployment.is_terminating() && !self.0.context.namespaces.is_known(deployment.namespace()) {
            return Err(Error::Waiting(format!("namespace {} is not known yet", deployment.namespace())));
        }
        Ok(())
    }

    fn reconcile(&self, deployment: Arc<CachedObject>) -> Reconciliation {
        let controller = Arc::clone(&self.0);
        Box::pin(async move { controller.reconcile(deployment).await })
    }

    fn reconciled(&self, deployment: &CachedObject, result: &Result<Action, Error>, took: Duration, is_known: bool) {
        let Controller { name, context, memories, .. } = &*self.0;
        context.metrics.observe_reconciliation(name, took);
        if result.is_ok() && !lock(&memories.of(deployment)).record_success(deployment, self.0.moment()) {
            memories.forget(&Key::of(&deployment.metadata));
        }
        if result.is_ok() {
            context.metrics.record_success(name, deployment.namespace(), deployment.name());
            trace_reconciled(name, deployment);
        }
        if !is_known {
            // The watch removed the deployment from the metrics, and then the reconciliation added it again.
            context.metrics.forget(deployment.namespace(), deployment.name());
        }
    }

    /// Decides when a deployment is reconciled again after an error: with growing delays, shorter ones while it only
    /// waits. The first failure of a kind is logged as a warning.
    fn error_policy(&self, deployment: &CachedObject, error: &Error) -> Action {
        let Controller { name: controller, context, memories, .. } = &*self.0;
        let (delay, is_known) = lock(&memories.of(deployment)).record_failure(error);
        let (namespace, deployment) = (deployment.namespace(), deployment.name());
        context.metrics.record_failure(controller, namespace, deployment, error.kind());
        if error.is_waiting() || is_known {
            tracing::debug!(controller, namespace, deployment, %error, ?delay, "requeued");
        } else {
            tracing::warn!(controller, namespace, deployment, %error, ?delay, "reconciliation failed, requeued");
        }
        Action::requeue(delay)
    }

    fn forget(&self, key: &Key) {
        self.0.memories.forget(key);
    }
}
