//! Ends the work of a provider on a deployment, when it is deleted or another provider takes over: objects are deleted
//! and waited for, then the status fields are given up, then the finalizer. Volume claims stay, with the data on them.

use std::sync::Arc;
use std::time::Duration;

use kube::runtime::controller::Action;
use kubefoundry_compiler::cluster_snapshot::time::Time;

use super::{ReconcileRequest, objects};
use crate::error::Error;
use crate::names::condition;
use crate::runtime::events::EventReason;
use crate::status::{self, Condition, Force, Statement};
use crate::watch::Owned;

/// The message of the event (docs/specification.md OP-8.2).
const TIMED_OUT: &str = "Finalizer removed after timeout, provider resource may be orphaned";

impl ReconcileRequest<'_> {
    /// Deletes the objects. Their watches requeue the deployment when they are gone; after the finalizer timeout it is
    /// requeued anyway.
    pub(super) async fn clear(&self) -> Result<Action, Error> {
        let owned = self.owned();
        let (mains, others): (Vec<&Arc<Owned>>, Vec<_>) =
            owned.iter().partition(|owned| objects::is_main_kind(owned, self.context.provider));
        for owned in mains.iter().chain(&others) {
            self.delete(owned, false).await?;
        }
        let waits_for: Vec<String> = owned.iter().map(|owned| objects::live_title(owned)).collect();
        let is_deleted = self.deployment.is_terminating();
        self.write_status(&farewell(is_deleted, &waits_for.join(", ")), Force::No).await?;
        Ok(self.deadline().map_or_else(Action::await_change, Action::requeue))
    }

    /// Gives up the status fields and the finalizer: no object is left.
    pub(super) async fn leave(&self) -> Result<Action, Error> {
        if !self.deployment.is_terminating() {
            self.write_status(&Statement::default(), Force::No).await?;
        }
        self.let_go().await?;
        Ok(Action::await_change())
    }

    /// Removes the finalizer after the timeout, and reports what may be left.
    pub(super) async fn abandon(&self) -> Result<Action, Error> {
        let (namespace, name) = (self.deployment.namespace(), self.deployment.name());
        let owned = self.owned();
        if owned.is_empty() {
            tracing::warn!(namespace, name, "the finalizer is removed, and what is left of the provider is not known");
        }
        for orphan in owned {
            let (kind, orphan) = (&orphan.resource.kind, orphan.object.name());
            tracing::warn!(namespace, name, %kind, orphan, "the finalizer is removed, and this object may stay");
        }
        self.let_go().await?;
        self.shared().events.publish(self.deployment, EventReason::FinalizerTimeout, TIMED_OUT).await;
        Ok(Action::await_change())
    }

    /// The time until the finalizer is overdue.
    fn deadline(&self) -> Option<Duration> {
        let deletion = Time::parse(&self.deployment.metadata.deletion_timestamp.as_ref()?.0.to_string())?;
        let gone = Duration::from_secs(status::now().seconds_since(deletion));
        // Deletion timestamps have whole seconds: one more, so that the timeout has passed by then.
        Some(self.shared().settings.finalizer_timeout.saturating_sub(gone) + Duration::from_secs(1))
    }
}

/// The status while objects are being deleted, for good or for another provider.
fn farewell(is_deleted: bool, waits_for: &str) -> Statement {
    let message = format!("waiting for {waits_for} to be gone");
    let (phase, reason) = if is_deleted { ("Terminating", "Terminating") } else { ("Pending", "Migrating") };
    Statement::default().field("phase", phase).field("message", message.as_str()).condition(Condition::new(
        condition::READY,
        false,
        reason,
        message,
    ))
}
