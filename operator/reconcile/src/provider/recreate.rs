//! Recreates a main object whose change the provider does not carry out in place. What the user's own edit causes is
//! recreated at once; the rest waits for its turn ([`crate::recreation`]).

use std::sync::Arc;
use std::time::Duration;

use kubefoundry_compiler::cluster_snapshot::time::format_age;
use kubefoundry_controller_runtime::error::Error;
use kubefoundry_controller_runtime::observed::ConditionView;
use serde_json::Value;

use super::converge::{self, Obstacle, ReconcileOutcome};
use super::desired::Desired;
use super::report::StatusReport;
use super::{Reconciliation, objects, request, secrets};
use crate::event::EventReason;
use crate::names::{APPROVE_RECREATE, condition};
use crate::observation::UpstreamObject;
use crate::recreation::{RecreationMark, RecreationState, Turn};
use crate::request::{Measurement, Mode, Request, RequestError};
use crate::status::{Condition, Force};
use crate::status_writer::Authority;

/// Interval at which the first deployment of the queue asks again; those behind it ask less often.
const TURN_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum of that interval.
const MAX_TURN_INTERVAL: Duration = Duration::from_secs(60);

impl Reconciliation<'_> {
    /// Deletes the main object if it may be recreated now. The next reconciliation creates it again once the old one is
    /// gone.
    pub(super) async fn recreate(
        &self,
        desired: &Desired,
        live: &Arc<UpstreamObject>,
        reason: &str,
    ) -> Result<ReconcileOutcome, Obstacle> {
        if !self.is_caused_by_edit() && !self.has_turn() {
            if let Some(waits) = self.wait_for_turn(desired, live, reason).await? {
                return Ok(waits);
            }
            // Before the deletion, so that the place stays taken if the process ends here.
            self.record_turn(desired, live, reason).await?;
        }
        // The new main object refers to these. A Service or a route keeps its name, so the running model still uses it:
        // it is updated together with the new main object.
        for object in desired.supporting().iter().filter(|object| !objects::sends_requests(object)) {
            self.ensure(object).await?;
        }
        // A running object is deleted only if the apiserver accepts its successor, which is tried under another name.
        let mut trial = desired.main().clone();
        if let Some(name) = trial.pointer_mut("/metadata/name") {
            *name = Value::from(objects::trial_name(live.object.uid()));
        }
        let tried = self.apply(&trial, Mode::DryRun, Force::No).await;
        tried.map_err(|error| request::with_real_name(error, objects::name(&trial), live.object.name()))?;
        let (namespace, name) = (self.deployment().namespace(), self.deployment().name());
        tracing::info!(namespace, name, reason, "recreating the provider's object");
        let title = objects::live_title(live);
        self.publish(EventReason::Recreating, format!("{title} is deleted and created again: {reason}")).await;
        self.delete(live).await?;
        Ok(ReconcileOutcome::Recreating(converge::waiting_for_deletion(&title)))
    }

    fn mark(&self) -> Option<RecreationMark> {
        self.deployment().recreation()
    }

    /// Whether the user changed the specification since the objects were last as rendered. A deployment that waits for
    /// its turn has not been changed since it began to wait.
    fn is_caused_by_edit(&self) -> bool {
        let base = &self.observation.base;
        let generation = base.generation();
        if self.mark().is_some_and(|mark| mark.state.is_waiting() && mark.generation == generation) {
            return false;
        }
        let created = base.status().condition(condition::RESOURCE_CREATED);
        secrets::reported_generation(&base.value, self.manager()) != generation
            || created.is_none_or(|created| !created.is_true())
    }

    /// Whether the turn of the deployment has come before, and has not passed.
    fn has_turn(&self) -> bool {
        let deadline = self.observation.settings.recreation.deadline;
        self.mark().is_some_and(|mark| mark.is_active(self.observation.base.now, deadline))
    }

    /// Asks for a turn. Returns the outcome if the deployment has to wait.
    async fn wait_for_turn(
        &self,
        desired: &Desired,
        live: &UpstreamObject,
        reason: &str,
    ) -> Result<Option<ReconcileOutcome>, Error> {
        let base = &self.observation.base;
        let key = base.api_group.label(APPROVE_RECREATE);
        let is_approved = base.deployment.annotation(&key) == Some(desired.hash.as_str());
        let approval = format!("the annotation {key}={}", desired.hash);
        let pending = |state, place: &str, again| {
            let title = objects::live_title(live);
            let message =
                format!("{title} has to be deleted and created again, though not for an edit ({reason}); {place}");
            Some(ReconcileOutcome::PendingRecreate { state, message, again })
        };
        if self.observation.settings.recreation.needs_approval && !is_approved {
            return Ok(pending(RecreationState::AwaitingApproval, &format!("approve it with {approval}"), None));
        }
        let answer = self.exchange.ask(Request::TakeTurn { is_approved }).await?;
        let turn: Turn = serde_json::from_value(answer).map_err(|error| RequestError::Failed(error.to_string()))?;
        Ok(match turn {
            Turn::Now => None,
            Turn::Later { active, ahead } => {
                let place = format!("{active} are recreated now, and {ahead} are ahead of it");
                let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
                let again = TURN_INTERVAL.saturating_mul(ahead.saturating_add(1)).min(MAX_TURN_INTERVAL);
                pending(RecreationState::Queued, &place, Some(again))
            }
            Turn::Paused(failed) => {
                let deadline = format_age(self.observation.settings.recreation.deadline.as_secs());
                let failed = failed.join(", ");
                let place = format!(
                    "the last recreations were not ready within {deadline} ({failed}); it waits until one of them is, or for {approval}"
                );
                if self.mark().is_none_or(|mark| mark.state != RecreationState::Paused) {
                    self.publish(EventReason::RecreationPaused, place.clone()).await;
                }
                pending(RecreationState::Paused, &place, Some(MAX_TURN_INTERVAL))
            }
        })
    }

    /// Writes that the turn has come.
    async fn record_turn(&self, desired: &Desired, live: &UpstreamObject, reason: &str) -> Result<(), Error> {
        let base = &self.observation.base;
        let (provider, settings) = (self.observation.identity.provider, self.observation.settings);
        let outcome = ReconcileOutcome::Settled;
        let mut report =
            StatusReport::new(provider, &outcome, Some(desired.main()), Some(live), base.now, settings.stale_after);
        let began = recreation_condition(RecreationState::Recreating, reason.to_owned());
        report.recreation = Some(self.began.get_or_init(|| began).clone());
        self.write_status(&report.status_update(&base.value), Force::No, Authority::Chosen).await
    }

    /// Returns the condition after a reconciliation, and the time after which the deployment has to be looked at again.
    pub(super) async fn follow_recreation(
        &self,
        outcome: &ReconcileOutcome,
        is_running: bool,
    ) -> (Option<Condition>, Option<Duration>) {
        if let ReconcileOutcome::PendingRecreate { state, message, again } = outcome {
            return (Some(recreation_condition(*state, message.clone())), *again);
        }
        let deadline = self.observation.settings.recreation.deadline;
        if let Some(began) = self.began.get() {
            return (Some(began.clone()), Some(deadline));
        }
        let Some(mark) = self.mark().filter(|mark| !mark.state.is_waiting()) else { return (None, None) };
        let RecreationMark { state, since, .. } = mark;
        let base = &self.observation.base;
        let recorded = base.status().condition(condition::PENDING_RECREATE);
        let message = recorded.map(ConditionView::message).unwrap_or_default();
        match state {
            RecreationState::Recreating | RecreationState::NotReady if is_running => {
                self.exchange.tell(Request::Record(Measurement::Recreation { is_ready: true })).await;
                (Some(recreation_condition(RecreationState::Recreated, message.to_owned())), None)
            }
            RecreationState::Recreating if !mark.is_active(base.now, deadline) => {
                self.exchange.tell(Request::Record(Measurement::Recreation { is_ready: false })).await;
                (Some(recreation_condition(RecreationState::NotReady, message.to_owned())), None)
            }
            state => {
                let rest = deadline.saturating_sub(Duration::from_secs(base.now.seconds_since(since)));
                // Times are whole seconds.
                let rest = (state == RecreationState::Recreating).then(|| rest + Duration::from_secs(1));
                (Some(recreation_condition(state, message.to_owned())), rest)
            }
        }
    }
}

fn recreation_condition(state: RecreationState, message: String) -> Condition {
    Condition::new(condition::PENDING_RECREATE, state.is_waiting(), state.as_str(), message)
}
