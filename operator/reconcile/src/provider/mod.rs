//! Reconciles a deployment for one provider: applies its objects, and reports their state (OP-2.1).
//!
//! ```text
//! deployment ─ ownership (next step) ─┬─ desired ─ converge (create, update, recreate, drift) ─ report ─ status
//!                                     └─ handover (delete, wait) ─ finalizer
//! ```
//! Every decision follows from the state of the cluster alone: the process may end at any request, and the next one
//! resumes.

mod compare;
mod converge;
mod desired;
mod dry_run;
mod finalizer;
mod handover;
mod history;
mod objects;
mod observation;
mod ownership;
mod recreate;
mod report;
mod request;
mod secrets;
mod update;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use kubefoundry_controller_runtime::error::Error;
use kubefoundry_controller_runtime::metrics::Replicas;
use kubefoundry_controller_runtime::observed::StatusView;

pub use self::objects::{annotate, desired_fields, resource};
pub use self::observation::{ProviderCluster, ProviderIdentity, ProviderObservation, ProviderSettings};
use super::Next;
use super::exchange::Exchange;
use super::memory::{MAX_WATCH_LAG, Memory, Moment};
use super::request::{Measurement, Request};
use super::status_writer::{Authority, StatusWriter};
use crate::cached_object::CachedObject;
use crate::event::EventReason;
use crate::names::{DRY_RUN, DRY_RUN_RESULT};
use crate::observation::UpstreamObject;
use crate::status::{Condition, Force, StatusUpdate};
use converge::ReconcileOutcome;
use desired::{Desired, RenderResult};
use ownership::Step;
use report::StatusReport;

/// Interval of checks whether an object with another owner still blocks a name.
const FOREIGN_OBJECT_INTERVAL: Duration = Duration::from_secs(30);

/// Brings the objects of a deployment one step closer to their desired state.
///
/// # Errors
/// The error of the apiserver, or what has to happen first.
pub async fn reconcile(
    observation: &ProviderObservation,
    memory: &Mutex<Memory>,
    exchange: &Exchange,
) -> Result<Next, Error> {
    Reconciliation { observation, memory, exchange, began: OnceLock::new() }.run().await
}

/// The reconciliation of one deployment.
struct Reconciliation<'r> {
    observation: &'r ProviderObservation,
    memory: &'r Mutex<Memory>,
    exchange: &'r Exchange,
    /// The condition `PendingRecreate`, if the turn of the deployment came in this reconciliation.
    began: OnceLock<Condition>,
}

impl Reconciliation<'_> {
    fn deployment(&self) -> &CachedObject {
        &self.observation.base.deployment
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        super::lock(self.memory)
    }

    fn moment(&self) -> Moment {
        self.observation.base.moment
    }

    fn manager(&self) -> &str {
        &self.observation.identity.manager
    }

    /// Returns the cached objects of this provider's kinds that the deployment owns.
    fn owned(&self) -> &[Arc<UpstreamObject>] {
        &self.observation.owned
    }

    async fn publish(&self, reason: EventReason, message: String) {
        self.exchange.tell(Request::Publish { reason, message }).await;
    }

    async fn run(&self) -> Result<Next, Error> {
        let is_behind = self.observation.is_behind(&mut self.memory());
        match self.observation.step(is_behind) {
            Step::Nothing => Ok(Next::OnChange),
            Step::CatchUp => Ok(Next::After(MAX_WATCH_LAG)),
            Step::Wait(reason) => Err(Error::Waiting(reason)),
            Step::DeleteObjects => self.delete_objects().await,
            Step::Release => self.release().await,
            Step::ForceRelease => self.force_release().await,
            Step::Apply { force } => self.render_and_apply(force).await,
            Step::Hold => self.render_and_apply(Force::No).await,
        }
    }

    /// Applies the rendered objects, and reports the result.
    async fn render_and_apply(&self, force: Force) -> Result<Next, Error> {
        // The caches were behind a moment ago.
        let Some(rendered) = &self.observation.rendered else { return Ok(Next::After(MAX_WATCH_LAG)) };
        if let RenderResult::Rendered(_) = rendered {
            self.check_secrets().await?;
        }
        let base = &self.observation.base;
        let is_dry = base.has_annotation(DRY_RUN);
        if !is_dry && base.deployment.annotation(&base.api_group.label(DRY_RUN_RESULT)).is_some() {
            self.write_result(None).await?;
        }
        let mut failure = None;
        let (outcome, desired) = match rendered {
            RenderResult::Rendered(desired) if is_dry => (self.dry_run(desired).await?, Some(desired)),
            RenderResult::Rendered(desired) => {
                let outcome = self.converge(desired).await;
                let outcome = outcome.or_else(|error| match request::refusal(&error) {
                    Some(message) => {
                        failure = Some(error);
                        Ok(ReconcileOutcome::Refused(message))
                    }
                    None => Err(error),
                })?;
                (outcome, Some(desired))
            }
            // The rendering has another form than the running object.
            _ if self.observation.holds() && objects::main(self.owned(), None).is_some() => {
                (ReconcileOutcome::Held, None)
            }
            RenderResult::NotAllowed(message) => (ReconcileOutcome::NotAllowed(message.clone()), None),
            RenderResult::Incompatible(reason, message) => {
                (ReconcileOutcome::Incompatible(reason, message.clone()), None)
            }
            RenderResult::Invalid(message) => (ReconcileOutcome::Invalid(message.clone()), None),
        };
        if let ReconcileOutcome::CatchUp = outcome {
            return Ok(Next::After(MAX_WATCH_LAG));
        }
        let stale_in = self.report(&outcome, desired, force).await?;
        match (failure, outcome) {
            // The error policy retries it.
            (Some(error), _) => Err(error),
            // The watch of a built-in kind selects by label, so it does not report when such an object is gone.
            (None, ReconcileOutcome::NotOwned(_)) => Ok(Next::After(FOREIGN_OBJECT_INTERVAL).or_after(stale_in)),
            (None, ReconcileOutcome::Deferred(delay)) => Ok(Next::After(delay).or_after(stale_in)),
            _ => Ok(Next::OnChange.or_after(stale_in)),
        }
    }

    /// Writes the state into the status and publishes events. Returns the time after which the deployment is
    /// requeued: when the provider's status counts as stale, or a recreation has to go on.
    async fn report(
        &self,
        outcome: &ReconcileOutcome,
        desired: Option<&Desired>,
        force: Force,
    ) -> Result<Option<Duration>, Error> {
        let base = &self.observation.base;
        let main = desired.map(Desired::main);
        let live = objects::main(self.owned(), main);
        let stale_after = self.observation.settings.stale_after;
        let provider = self.observation.identity.provider;
        let mut report = StatusReport::new(provider, outcome, main, live.as_deref(), base.now, stale_after);
        let (recreation, next_look) = self.follow_recreation(outcome, report.is_running()).await;
        report.recreation = recreation;
        let update = report.status_update(&base.value);
        let before = base.status();
        let error = report.new_error(before);
        self.exchange.tell(Request::Record(measurement(&report, before))).await;
        if matches!(outcome, ReconcileOutcome::Deferred(_)) && before.phase() == Some(report.phase(before)) {
            // Another client keeps changing the object. A write for each round would add to the fight.
            return Ok(None);
        }
        self.write_status(&update, force, Authority::Chosen).await?;
        if let Some(message) = error {
            self.publish(EventReason::ProviderError, message).await;
        }
        Ok(report.stale_in.into_iter().chain(next_look).min())
    }

    /// Writes the status if it differs.
    async fn write_status(&self, update: &StatusUpdate, force: Force, authority: Authority) -> Result<(), Error> {
        let writer = StatusWriter {
            observation: &self.observation.base,
            memory: self.memory,
            exchange: self.exchange,
            manager: self.manager(),
            authority,
        };
        writer.write(update, force).await.map(drop)
    }
}

/// Returns what the metrics record: phase and replicas.
fn measurement(report: &StatusReport<'_>, before: StatusView<'_>) -> Measurement {
    let replicas = report.replicas().unwrap_or_default();
    let replicas = Replicas { desired: replicas.desired, ready: replicas.ready, available: replicas.available };
    Measurement::Deployment { phase: report.phase(before).to_owned(), replicas }
}
