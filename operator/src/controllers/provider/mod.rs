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

use crate::cached::Cached;
use crate::context::Context;
use crate::error::Error;
use crate::names::{self, DRY_RUN, DRY_RUN_RESULT, PAUSED};
use crate::runtime::events::EventReason;
use crate::runtime::metrics::Replicas;
use crate::status::{self, Force, Statement};
use crate::watch::Owned;
use converge::Outcome;
use desired::{Desired, Verdict};
use ownership::{Situation, Step};
use report::Report;
use state::ProviderReconcileState;

/// Interval at which an object that belongs to somebody else is checked again.
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
pub(crate) async fn reconcile(deployment: Arc<Cached>, context: Arc<ProviderContext>) -> Result<Action, Error> {
    let started = Instant::now();
    let request = ReconcileRequest { value: deployment.value(), deployment: &deployment, context: &context };
    let step = request.step();
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
pub(crate) fn error_policy(deployment: &Cached, error: &Error, context: &ProviderContext) -> Action {
    let (namespace, name, provider) = (deployment.namespace(), deployment.name(), context.provider.name());
    let is_expected = matches!(error, Error::Waiting(_)) || error.is(409);
    let delay = context.state.record_failure(deployment.uid(), is_expected);
    let reason = request::described(error);
    if is_expected {
        tracing::debug!(controller = provider, namespace, deployment = name, reason, ?delay, "tried again later");
    } else {
        context.shared.metrics.count_error(provider, error.kind());
        tracing::warn!(
            controller = provider,
            namespace,
            deployment = name,
            reason,
            ?delay,
            "failed, and tried again later"
        );
    }
    Action::requeue(delay)
}

/// The reconciliation of one deployment.
struct ReconcileRequest<'t> {
    deployment: &'t Cached,
    /// The deployment as JSON.
    value: Value,
    context: &'t ProviderContext,
}

impl ReconcileRequest<'_> {
    fn shared(&self) -> &Context {
        &self.context.shared
    }

    /// The cached objects of this provider that the deployment owns.
    fn owned(&self) -> Vec<Arc<Owned>> {
        let mut owned = self.shared().upstream.owned(self.deployment.uid());
        owned.retain(|owned| objects::is_of(owned, self.context.provider, &self.context.manager));
        owned
    }

    fn annotated(&self, name: &str) -> bool {
        self.deployment.annotation(&self.shared().api_group.label(name)) == Some("true")
    }

    fn has_finalizer(&self) -> bool {
        finalizer::has(self.deployment, &self.context.finalizer)
    }

    fn step(&self) -> Step {
        let limit = self.shared().settings.finalizer_timeout;
        let now = status::now();
        let since = |time: Option<Time>| time.is_some_and(|time| Duration::from_secs(now.seconds_since(time)) >= limit);
        let deletion = self.deployment.metadata.deletion_timestamp.as_ref();
        let deletion = deletion.and_then(|time| Time::parse(&time.0.to_string()));
        let name = self.context.provider.name();
        let chosen = self.value.pointer("/status/provider/name").and_then(Value::as_str).unwrap_or_default();
        let asked = self.value.pointer("/spec/provider/name").and_then(Value::as_str).unwrap_or_default();
        let ready = self.shared().upstream.is_ready(name);
        ownership::next(&Situation {
            is_paused: self.annotated(PAUSED),
            is_deleted: self.deployment.is_terminating(),
            is_overdue: since(deletion),
            choice: ownership::Choice::of(name, chosen, asked),
            is_behind: self.context.state.is_behind(self.deployment),
            is_ready: ready,
            has_finalizer: self.has_finalizer(),
            has_said: !status::owned(&self.value, &self.context.manager).is_null(),
            remains: ready && !self.owned().is_empty(),
            predecessor: report::predecessor(
                &self.value,
                self.deployment,
                self.shared().api_group,
                &self.context.manager,
            ),
            predecessor_is_overdue: since(report::chosen_at(&self.value)),
        })
    }

    async fn execute(&self, step: Step) -> Result<Action, Error> {
        match step {
            Step::Nothing => Ok(Action::await_change()),
            Step::CatchUp => Ok(Action::requeue(state::MAX_WATCH_LAG)),
            Step::Wait(why) => Err(Error::Waiting(why)),
            Step::Clear => self.clear().await,
            Step::Leave => self.leave().await,
            Step::Abandon => self.abandon().await,
            Step::Work { force } => self.work(force).await,
        }
    }

    /// Evaluates the deployment, applies its objects, and reports the result.
    async fn work(&self, force: Force) -> Result<Action, Error> {
        let session = self.shared().snapshots.borrow().session.clone();
        let verdict = self.evaluate(&session);
        if let Verdict::Fine(_) = verdict {
            self.look_for_secrets().await?;
        }
        let is_dry = self.annotated(DRY_RUN);
        if !is_dry && self.deployment.annotation(&self.shared().api_group.label(DRY_RUN_RESULT)).is_some() {
            self.write_result(None).await?;
        }
        let mut failure = None;
        let (outcome, desired) = match verdict {
            Verdict::Fine(desired) if is_dry => (self.dry_run(&desired).await?, Some(desired)),
            Verdict::Fine(desired) => {
                let outcome = self.converge(&desired).await;
                let outcome = outcome.or_else(|error| match request::refusal(&error) {
                    Some(message) => {
                        failure = Some(error);
                        Ok(Outcome::Refused(message))
                    }
                    None => Err(error),
                })?;
                (outcome, Some(desired))
            }
            Verdict::NotAllowed(message) => (Outcome::NotAllowed(message), None),
            Verdict::Incompatible(reason, message) => (Outcome::Incompatible(reason, message), None),
            Verdict::Invalid(message) => (Outcome::Invalid(message), None),
        };
        if let Outcome::CatchUp = outcome {
            return Ok(Action::requeue(state::MAX_WATCH_LAG));
        }
        let again = self.report(&outcome, desired.as_ref(), force).await?;
        match (failure, outcome) {
            // The error policy retries it.
            (Some(error), _) => Err(error),
            // Objects that belong to somebody else are not all watched.
            (None, Outcome::NotOwned(_)) => {
                Ok(Action::requeue(again.map_or(FOREIGN_OBJECT_INTERVAL, |again| again.min(FOREIGN_OBJECT_INTERVAL))))
            }
            (None, Outcome::Deferred(delay)) => Ok(Action::requeue(again.map_or(delay, |again| again.min(delay)))),
            _ => Ok(again.map_or_else(Action::await_change, Action::requeue)),
        }
    }

    /// Reports the state in the status and in events. Returns the time after which the report gets stale.
    async fn report(
        &self,
        outcome: &Outcome,
        desired: Option<&Desired>,
        force: Force,
    ) -> Result<Option<Duration>, Error> {
        let owned = self.owned();
        let main = desired.map(Desired::main);
        let live = objects::main(&owned, main);
        let stale_after = self.shared().settings.stale_after;
        let report = Report::of(self.context.provider, outcome, main, live.as_deref(), status::now(), stale_after);
        let statement = report.statement(&self.value);
        let before = &self.value["status"];
        let error = report.error(before);
        self.measure(&report);
        if matches!(outcome, Outcome::Deferred(_)) && before["phase"] == report.phase(before) {
            // An object that another client keeps changing is not reported each time.
            return Ok(None);
        }
        self.write_status(&statement, force).await?;
        if let Some(message) = error {
            self.shared().events.publish(self.deployment, EventReason::ProviderError, &message).await;
        }
        Ok(report.again)
    }

    fn measure(&self, report: &Report) {
        let phase = report.phase(&self.value["status"]);
        let replicas = report.replicas().unwrap_or_default();
        let replicas = Replicas { desired: replicas.desired, ready: replicas.ready, available: replicas.available };
        let (namespace, name) = (self.deployment.namespace(), self.deployment.name());
        self.shared().metrics.set_deployment(namespace, name, phase, replicas);
    }

    /// Writes the status if it differs.
    async fn write_status(&self, statement: &Statement, force: Force) -> Result<(), Error> {
        let written = status::write(self.shared(), self.deployment, &self.context.manager, statement, force).await;
        match written {
            Ok(Some(written)) => {
                self.context.state.record_write(&written);
                Ok(())
            }
            Ok(None) => Ok(()),
            // Another controller has to give up its fields first.
            Err(error) if error.is(409) => Err(Error::Waiting("another controller still speaks for it".to_owned())),
            // The deployment was deleted, or replaced by one of the same name.
            Err(error) if error.is(404) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
