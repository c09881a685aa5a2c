//! Ends the work of a provider on a deployment, when it is deleted or another provider takes over: objects are deleted
//! and waited for, then the status fields are given up, then the finalizer. Volume claims stay, with the data on them.

use std::sync::Arc;
use std::time::Duration;

use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_controller_runtime::error::Error;

use super::{Reconciliation, objects};
use crate::Next;
use crate::event::EventReason;
use crate::names::condition;
use crate::observation::UpstreamObject;
use crate::status::{Condition, Force, StatusUpdate};
use crate::status_writer::Authority;

/// The message of the event (docs/specification.md OP-8.2).
const TIMED_OUT: &str = "Finalizer removed after timeout, provider resource may be orphaned";

impl Reconciliation<'_> {
    /// Deletes the objects. Their watches requeue the deployment when they are gone; after the finalizer timeout it is
    /// requeued anyway.
    pub(super) async fn delete_objects(&self) -> Result<Next, Error> {
        let owned = self.owned();
        let (mains, others): (Vec<&Arc<UpstreamObject>>, Vec<_>) =
            owned.iter().partition(|owned| objects::is_main_kind(owned, self.observation.identity.provider));
        // The main objects first: what they refer to must outlive them.
        for owned in mains.iter().chain(&others) {
            self.delete(owned).await?;
        }
        let waits_for: Vec<String> = owned.iter().map(|owned| objects::live_title(owned)).collect();
        let is_deleted = self.deployment().is_terminating();
        let authority = if is_deleted { Authority::Own } else { Authority::Leaving };
        self.write_status(&handover_status(is_deleted, &waits_for.join(", ")), Force::No, authority).await?;
        Ok(Next::OnChange.or_after(self.deadline()))
    }

    /// Gives up the status fields and the finalizer, once no object is left.
    pub(super) async fn release(&self) -> Result<Next, Error> {
        if self.deployment().is_terminating() {
            if let Some(left) = self.observation.left_behind() {
                let message = format!(
                    "{} no longer names this ModelDeployment as its owner, so it is not deleted",
                    objects::live_title(left)
                );
                self.publish(EventReason::ObjectLeft, message).await;
            }
        } else {
            self.write_status(&StatusUpdate::default(), Force::No, Authority::Leaving).await?;
        }
        self.remove_finalizer().await?;
        Ok(Next::OnChange)
    }

    /// Removes the finalizer after the timeout, and reports what may be left.
    pub(super) async fn force_release(&self) -> Result<Next, Error> {
        let (namespace, name) = (self.deployment().namespace(), self.deployment().name());
        let owned = self.owned();
        if owned.is_empty() {
            tracing::warn!(
                namespace,
                name,
                "finalizer removed after the timeout; objects of the provider may be orphaned"
            );
        }
        for orphan in owned {
            let (kind, orphan) = (&orphan.resource.kind, orphan.object.name());
            tracing::warn!(namespace, name, %kind, orphan, "finalizer removed after the timeout; this object may be orphaned");
        }
        self.remove_finalizer().await?;
        self.publish(EventReason::FinalizerTimeout, TIMED_OUT.to_owned()).await;
        Ok(Next::OnChange)
    }

    /// Returns the time until the finalizer is overdue; none if the deployment is not being deleted.
    fn deadline(&self) -> Option<Duration> {
        let deletion = Time::parse(&self.deployment().metadata.deletion_timestamp.as_ref()?.0.to_string())?;
        let elapsed = Duration::from_secs(self.observation.base.now.seconds_since(deletion));
        // Deletion timestamps are rounded to whole seconds. Adding one guarantees that the timeout has passed.
        Some(self.observation.settings.finalizer_timeout.saturating_sub(elapsed) + Duration::from_secs(1))
    }
}

/// Returns the status while objects are being deleted: because the deployment is, or because another provider takes
/// over.
fn handover_status(is_deleted: bool, waits_for: &str) -> StatusUpdate {
    let message = format!("waiting for {waits_for} to be deleted");
    let (phase, reason) = if is_deleted { ("Terminating", "Terminating") } else { ("Pending", "Migrating") };
    StatusUpdate::default().field("phase", phase).field("message", message.as_str()).condition(Condition::new(
        condition::READY,
        false,
        reason,
        message,
    ))
}
