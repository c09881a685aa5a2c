//! The controller of a provider: applies the objects of a deployment, and reports their state (OP-2.1).
//!
//! ```text
//! deployment ─ ownership (next step) ─┬─ desired ─ converge (create, update, recreate, drift) ─ report ─ status
//!                                     └─ handover (delete, wait) ─ finalizer
//! ```
//! Every decision follows from the state of the cluster alone: the process may end at any request, and the next one
//! resumes. [`state`] saves requests, and nothing depends on it.

mod compare;
mod converge;
mod desired;
mod dry_run;
mod finalizer;
mod handover;
mod objects;
mod ownership;
mod report;
mod request;
mod secrets;
mod state;
mod update;

use std::sync::Arc;
use std::time::Duration;

use kube::runtime::controller::Action;
use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_model::provider::Provider;
use serde_json::Value;
use tokio::time::Instant;

use crate::cached_object::CachedObject;
use crate::context::Context;
use crate::error::Error;
use crate::names::{self, DRY_RUN, DRY_RUN_RESULT, PAUSED};
use crate::runtime::events::EventReason;
use crate::runtime::metrics::Replicas;
use crate::status::{self, Force, StatusUpdate};
use crate::watch::UpstreamObject;
use converge::ReconcileOutcome;
use desired::{Desired, RenderResult};
use ownership::{Situation, Step};
use report::StatusReport;
use state::ProviderReconcileState;

/// Interval of checks whether an object with another owner still blocks a name.
const FOREIGN_OBJECT_INTERVAL: Duration = Duration::from_secs(30);

/// The context of a provider's controller.
pub(crate) struct ProviderContext {
    shared: Context,
    provider: &'static dyn Provider,
    /// The field manager of the controller.
    manager: String,
    /// The finalizer of the controller.
    finalizer: String,
    state: ProviderReconcileState,
}

impl ProviderContext {
    pub(crate) fn new(shared: Context, provider: &'static dyn Provider) -> Self {
        let manager = names::provider_manager(provider.name());
        let finalizer = names::finalizer(shared.api_group, provider.name());
        Self { shared, provider, manager, finalizer, state: ProviderReconcileState::default() }
    }
}

/// Brings the objects of a deployment one step closer to their desired state.
///
/// # Errors
/// The error of the apiserver, or what has to happen first; [`error_policy`] decides when it is retried.
pub(crate) async fn reconcile(deployment: Arc<CachedObject>, context: Arc<ProviderContext>) -> Result<Action, Error> {
    let started = Instant::now();
    let request = ReconcileRequest { value: deployment.value(), deployment: &deployment, context: &context };
    let step = request.next_step();
    if matches!(step, Step::Nothing) {
        return Ok(Action::await_change());
    }
    let result = request.execute(step).await;
    let provider = context.provider.name();
    context.shared.metrics.observe_reconciliation(provider, started.elapsed());
    if result.is_ok() {
        context.state.record_success(deployment.uid());
    }
    result
}

/// Decides when a deployment is reconciled again after an error: with growing delays, shorter ones while it only waits.
pub(crate) fn error_policy(deployment: &CachedObject, error: &Error, context: &ProviderContext) -> Action {
    let (namespace, name, provider) = (deployment.namespace(), deployment.name(), context.provider.name());
    let is_expected = matches!(error, Error::Waiting(_)) || error.has_code(409);
    let delay = context.state.record_failure(deployment.uid(), is_expected);
    let reason = request::error_text(error);
    if is_expected {
        tracing::debug!(controller = provider, namespace, deployment = name, reason, ?delay, "requeued");
    } else {
        context.shared.metrics.count_error(provider, error.kind());
        tracing::warn!(
            controller = provider,
            namespace,
            deployment = name,
            reason,
            ?delay,
            "reconciliation failed, requeued"
        );
    }
    Action::requeue(delay)
}

/// The reconciliation of one deployment.
struct ReconcileRequest<'t> {
    deployment: &'t CachedObject,
    /// The deployment as JSON.
    value: Value,
    context: &'t ProviderContext,
}

impl ReconcileRequest<'_> {
    fn shared(&self) -> &Context {
        &self.context.shared
    }

    /// Returns the cached objects of this provider's kinds that the deployment owns.
    fn owned(&self) -> Vec<Arc<UpstreamObject>> {
        let mut owned = self.shared().upstream.owned(self.deployment.uid());
        owned.retain(|owned| objects::belongs_to(owned, self.context.provider, &self.context.manager));
        owned
    }

    /// Whether an annotation of the deployment is `"true"`; `name` is its name without the API group's prefix.
    fn has_annotation(&self, name: &str) -> bool {
        self.deployment.annotation(&self.shared().api_group.label(name)) == Some("true")
    }

    fn has_finalizer(&self) -> bool {
        finalizer::has(self.deployment, &self.context.finalizer)
    }

    /// Collects the facts about the deployment, and decides what to do.
    fn next_step(&self) -> Step {
        let limit = self.shared().settings.finalizer_timeout;
        let now = status::now();
        let is_overdue =
            |time: Option<Time>| time.is_some_and(|time| Duration::from_secs(now.seconds_since(time)) >= limit);
        let deletion = self.deployment.metadata.deletion_timestamp.as_ref();
        let deletion = deletion.and_then(|time| Time::parse(&time.0.to_string()));
        let name = self.context.provider.name();
        let chosen = self.value.pointer("/status/provider/name").and_then(Value::as_str).unwrap_or_default();
        let named = self.value.pointer("/spec/provider/name").and_then(Value::as_str).unwrap_or_default();
        let ready = self.shared().upstream.is_ready(name);
        ownership::next(&Situation {
            is_paused: self.has_annotation(PAUSED),
            is_deleted: self.deployment.is_terminating(),
            is_overdue: is_overdue(deletion),
            choice: ownership::ChosenProvider::new(name, chosen, named),
            is_behind: self.context.state.is_behind(self.deployment),
            is_ready: ready,
            has_finalizer: self.has_finalizer(),
            owns_status: !status::owned(&self.value, &self.context.manager).is_null(),
            has_objects: ready && !self.owned().is_empty(),
            predecessor: report::predecessor(
                &self.value,
                self.deployment,
                self.shared().api_group,
                &self.context.manager,
            ),
            predecessor_is_overdue: is_overdue(report::chosen_at(&self.value)),
        })
    }

    async fn execute(&self, step: Step) -> Result<Action, Error> {
        match step {
            Step::Nothing => Ok(Action::await_change()),
            Step::CatchUp => Ok(Action::requeue(state::MAX_WATCH_LAG)),
            Step::Wait(reason) => Err(Error::Waiting(reason)),
            Step::DeleteObjects => self.delete_objects().await,
            Step::Release => self.release().await,
            Step::ForceRelease => self.force_release().await,
            Step::Apply { force } => self.render_and_apply(force).await,
        }
    }

    /// Evaluates the deployment, applies its objects, and reports the result.
    async fn render_and_apply(&self, force: Force) -> Result<Action, Error> {
        let session = self.shared().snapshots.borrow().session.clone();
        let rendered = self.evaluate(&session);
        if let RenderResult::Rendered(_) = rendered {
            self.check_secrets().await?;
        }
        let is_dry = self.has_annotation(DRY_RUN);
        if !is_dry && self.deployment.annotation(&self.shared().api_group.label(DRY_RUN_RESULT)).is_some() {
            self.write_result(None).await?;
        }
        let mut failure = None;
        let (outcome, desired) = match rendered {
            RenderResult::Rendered(desired) if is_dry => (self.dry_run(&desired).await?, Some(desired)),
            RenderResult::Rendered(desired) => {
                let outcome = self.converge(&desired).await;
                let outcome = outcome.or_else(|error| match request::refusal(&error) {
                    Some(message) => {
                        failure = Some(error);
                        Ok(ReconcileOutcome::Refused(message))
                    }
                    None => Err(error),
                })?;
                (outcome, Some(desired))
            }
            RenderResult::NotAllowed(message) => (ReconcileOutcome::NotAllowed(message), None),
            RenderResult::Incompatible(reason, message) => (ReconcileOutcome::Incompatible(reason, message), None),
            RenderResult::Invalid(message) => (ReconcileOutcome::Invalid(message), None),
        };
        if let ReconcileOutcome::CatchUp = outcome {
            return Ok(Action::requeue(state::MAX_WATCH_LAG));
        }
        let stale_in = self.report(&outcome, desired.as_ref(), force).await?;
        match (failure, outcome) {
            // The error policy retries it.
            (Some(error), _) => Err(error),
            // The watch of a built-in kind selects by label, so it does not report when such an object is gone.
            (None, ReconcileOutcome::NotOwned(_)) => Ok(Action::requeue(
                stale_in.map_or(FOREIGN_OBJECT_INTERVAL, |delay| delay.min(FOREIGN_OBJECT_INTERVAL)),
            )),
            (None, ReconcileOutcome::Deferred(delay)) => {
                Ok(Action::requeue(stale_in.map_or(delay, |stale_in| stale_in.min(delay))))
            }
            _ => Ok(stale_in.map_or_else(Action::await_change, Action::requeue)),
        }
    }

    /// Writes the state into the status and publishes events. Returns the time after which the provider's status counts
    /// as stale, so that the deployment is requeued then.
    async fn report(
        &self,
        outcome: &ReconcileOutcome,
        desired: Option<&Desired>,
        force: Force,
    ) -> Result<Option<Duration>, Error> {
        let owned = self.owned();
        let main = desired.map(Desired::main);
        let live = objects::main(&owned, main);
        let stale_after = self.shared().settings.stale_after;
        let report =
            StatusReport::new(self.context.provider, outcome, main, live.as_deref(), status::now(), stale_after);
        let update = report.status_update(&self.value);
        let before = &self.value["status"];
        let error = report.new_error(before);
        self.measure(&report);
        if matches!(outcome, ReconcileOutcome::Deferred(_)) && before["phase"] == report.phase(before) {
            // Another client keeps changing the object. A write for each round would add to the fight.
            return Ok(None);
        }
        self.write_status(&update, force).await?;
        if let Some(message) = error {
            self.shared().events.publish(self.deployment, EventReason::ProviderError, &message).await;
        }
        Ok(report.stale_in)
    }

    /// Records phase and replicas in the metrics.
    fn measure(&self, report: &StatusReport) {
        let phase = report.phase(&self.value["status"]);
        let replicas = report.replicas().unwrap_or_default();
        let replicas = Replicas { desired: replicas.desired, ready: replicas.ready, available: replicas.available };
        let (namespace, name) = (self.deployment.namespace(), self.deployment.name());
        self.shared().metrics.set_deployment(namespace, name, phase, replicas);
    }

    /// Writes the status if it differs.
    async fn write_status(&self, update: &StatusUpdate, force: Force) -> Result<(), Error> {
        let written = status::write(self.shared(), self.deployment, &self.context.manager, update, force).await;
        match written {
            Ok(Some(written)) => {
                self.context.state.record_write(&written);
                Ok(())
            }
            Ok(None) => Ok(()),
            // A conflict: another controller has to give up its fields first.
            Err(error) if error.has_code(409) => {
                Err(Error::Waiting("another controller still owns status fields".to_owned()))
            }
            // The deployment was deleted, or replaced by one of the same name. Nothing is left to report.
            Err(error) if error.has_code(404) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
