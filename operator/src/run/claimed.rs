//! Starts the watches and the controllers of the kinds that can be handed to this operator.

use std::sync::Arc;

use kube::runtime::reflector::store::Writer;
use kubefoundry_controller_runtime::controller::Controller;
use kubefoundry_controller_runtime::events::Recorder;
use kubefoundry_controller_runtime::limiter::ConcurrencyLimiter;
use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_controller_runtime::queue::{Key, Lane, Queue};
use kubefoundry_reconcile::cached_object::CachedObject;
use kubefoundry_reconcile::claimed::ClaimedKind;
use tokio::task::JoinSet;

use crate::args::Run;
use crate::controllers::{ClaimedContext, ClaimedReconciler};
use crate::evaluator::Snapshots;
use crate::role::Role;
use crate::run::rights::{Right, RightsChecker};
use crate::watch::{Related, filled, follow_claimed};

/// A kind of claimed objects, and the queue of its controller.
pub(super) struct ClaimedGroup {
    pub(super) context: ClaimedContext,
    queue: Arc<Queue>,
}

/// Returns the kinds among these roles.
fn kinds(roles: &[Role]) -> impl Iterator<Item = &'static dyn ClaimedKind> {
    roles.iter().filter_map(|role| match role {
        Role::Claimed(kind) => Some(*kind),
        _ => None,
    })
}

/// Returns the kinds with CRDs, as group and kind, that the roles look at.
pub(super) fn crd_kinds(roles: &[Role]) -> Vec<(&'static str, &'static str)> {
    let related = |kind: &'static dyn ClaimedKind| {
        let with_crd = kind.related().iter().filter(|related| !related.is_built_in());
        with_crd.map(|related| (related.group, related.kind)).chain([kind.group_kind()])
    };
    kinds(roles).flat_map(related).collect()
}

/// Starts the watches of every kind among the roles of the process.
pub(super) fn start(
    run: &Arc<Run>,
    client: &kube::Client,
    metrics: &Arc<Metrics>,
    snapshots: &Snapshots,
    events: &Recorder,
    background: &mut JoinSet<()>,
) -> Vec<ClaimedGroup> {
    let start = |kind: &'static dyn ClaimedKind| {
        let queue: Arc<Queue> = Arc::default();
        metrics.measure_queue(kind.name(), Arc::clone(&queue));
        let writer = Writer::<CachedObject>::new(kind.resource());
        let related = Related::new(client.clone(), Arc::clone(metrics), kind, Arc::clone(&queue));
        let context = ClaimedContext {
            kind,
            client: client.clone(),
            settings: Arc::clone(run),
            snapshots: snapshots.clone(),
            objects: writer.as_reader(),
            related,
            events: events.clone(),
            metrics: Arc::clone(metrics),
        };
        background.spawn(follow_when_installed(context.clone(), writer, Arc::clone(&queue)));
        background.spawn(follow_changes(context.clone(), Arc::clone(&queue)));
        ClaimedGroup { context, queue }
    };
    kinds(&run.roles).map(start).collect()
}

/// Watches the objects of a kind as soon as its CRD is installed. Never returns.
async fn follow_when_installed(context: ClaimedContext, writer: Writer<CachedObject>, queue: Arc<Queue>) {
    let ClaimedContext { kind, client, mut snapshots, metrics, .. } = context;
    let (group, name) = kind.group_kind();
    if snapshots.borrow().definition(group, name).is_none() {
        tracing::warn!(role = kind.name(), "the CRD of {name} is not installed; waiting for it");
    }
    if snapshots.wait_for(|snapshot| snapshot.definition(group, name).is_some()).await.is_err() {
        // The sender was dropped: the process ends.
        std::future::pending::<()>().await;
    }
    follow_claimed(client, kind.resource(), writer, queue, metrics).await;
}

/// Watches related kinds while they are installed, and queues all objects when options or CRDs change, and at each resync.
/// Never returns.
async fn follow_changes(context: ClaimedContext, queue: Arc<Queue>) {
    let ClaimedContext { settings, mut snapshots, objects, related, .. } = context;
    loop {
        let snapshot = Arc::clone(&snapshots.borrow_and_update());
        related.watch_installed(|group, kind| snapshot.definition(group, kind));
        objects.state().iter().for_each(|object| queue.push(Key::of(&object.metadata), Lane::Routine));
        tokio::select! {
            changed = snapshots.changed() => if changed.is_err() {
                // The sender was dropped: the process ends.
                std::future::pending::<()>().await;
            },
            () = tokio::time::sleep(settings.resync) => {}
        }
    }
}

/// Measures at each heartbeat interval how many rights the role lacks. Never returns.
async fn check_rights(context: ClaimedContext) {
    let ClaimedContext { kind, client, settings, snapshots, metrics, .. } = context;
    let mut rights = RightsChecker::new(client, Role::Claimed(kind), &[], &settings.cluster.namespace);
    let mut known: Vec<String> = Vec::new();
    loop {
        let snapshot = Arc::clone(&snapshots.borrow());
        let is_missing_kind = |right: &Right| {
            let related = kind.related().iter().filter(|related| !related.is_built_in());
            let mut named = related.filter(|related| related.group == right.group && related.plural == right.resource);
            named.any(|related| snapshot.definition(related.group, related.kind).is_none())
        };
        match rights.missing(|right| !is_missing_kind(right)).await {
            Ok(missing) => {
                metrics.set_missing_rights(kind.name(), missing.len());
                let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
                if missing != known && !missing.is_empty() {
                    tracing::warn!(role = kind.name(), missing = missing.join(", "), "the role lacks rights");
                }
                known = missing;
            }
            // What was known before holds until the apiserver answers.
            Err(error) => tracing::debug!(role = kind.name(), %error, "checking the rights failed"),
        }
        tokio::time::sleep(settings.heartbeat_interval).await;
    }
}

impl ClaimedGroup {
    /// Starts the controller, once this process leads its role.
    pub(super) fn start(&self, limiter: &Arc<ConcurrencyLimiter>, concurrency: u16, tasks: &mut JoinSet<()>) {
        let Self { context, queue } = self;
        tasks.spawn(check_rights(context.clone()));
        // Reconciliations that were cancelled when this process last lost the role.
        queue.forget_in_progress();
        let controller = Controller {
            resource: context.kind.resource(),
            store: context.objects.clone(),
            queue: Arc::clone(queue),
            limiter: Arc::clone(limiter),
            stage: Role::Claimed(context.kind).stage(),
            concurrency,
        };
        // Another process may have led while objects changed, so all of them are queued.
        context.objects.state().iter().for_each(|object| queue.push(Key::of(&object.metadata), Lane::Routine));
        let context = context.clone();
        tasks.spawn(async move {
            filled(&controller.store).await;
            controller.run(ClaimedReconciler::new(context)).await;
        });
    }
}
