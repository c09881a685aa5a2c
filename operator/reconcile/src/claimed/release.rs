//! Ends the work on a claimed object: it is deleted, or no longer handed to this operator.
//!
//! What was added to workloads of other owners is taken out, because nothing else would. What was applied for the object
//! stays: the garbage collector deletes it together with the object, which is still its owner.

use std::time::Duration;

use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_controller_runtime::error::Error;
use kubefoundry_controller_runtime::observed::ObjectView;
use serde_json::{Value, json};

use super::Reconciliation;
use crate::Next;
use crate::event::EventReason;
use crate::finalizer;
use crate::request::{DeploymentPatch, Request};
use crate::status::{self, StatusUpdate};

impl Reconciliation<'_> {
    /// Releases a deleted object, and after the timeout in any case.
    pub(super) async fn release_deleted(&self) -> Result<Next, Error> {
        let Err(error) = self.unbind_recorded().await else { return self.remove_finalizer().await };
        if !self.is_overdue() {
            return Err(error);
        }
        let (namespace, name) = (self.object().namespace(), self.object().name());
        tracing::warn!(namespace, name, %error, "finalizer removed after the timeout; a workload may still be bound");
        let next = self.remove_finalizer().await?;
        let message = format!("Finalizer removed after timeout, the workload may still be bound: {error}");
        self.publish(EventReason::FinalizerTimeout, message).await;
        Ok(next)
    }

    /// Releases an object that is no longer handed to this operator.
    pub(super) async fn release_given_up(&self) -> Result<Next, Error> {
        self.unbind_recorded().await?;
        self.give_up_status().await?;
        self.publish(EventReason::Released, "The operator no longer runs this object".to_owned()).await;
        self.remove_finalizer().await
    }

    /// Removes the status fields of this operator.
    async fn give_up_status(&self) -> Result<(), Error> {
        let value = &self.observation.base.value;
        let manager = self.kind().manager();
        if !status::owners(value).all(|owner| owner.manager == manager) {
            return self.write_status(&StatusUpdate::default()).await.map(drop);
        }
        if value.get("status").is_none() {
            return Ok(());
        }
        // A status without any field would be null after an apply, which the CRD refuses.
        let test =
            |name: &str| json!({"op": "test", "path": format!("/metadata/{name}"), "value": value["metadata"][name]});
        let patch = json!([test("uid"), test("resourceVersion"), {"op": "remove", "path": "/status"}]);
        match self.exchange.send(Request::PatchStatus { manager: manager.to_owned(), patch }).await {
            Err(error) if error.has_code(404) => Ok(()),
            // A test of the patch failed.
            Err(error) if error.has_code(422) || error.has_code(409) => {
                Err(Error::Waiting("another client changed the object in the meantime".to_owned()))
            }
            answer => {
                self.remember(answer?.as_ref());
                Ok(())
            }
        }
    }

    /// Remembers the object as stored, so that an older cached state is not taken for the present.
    fn remember(&self, stored: Option<&Value>) {
        if let Some(stored) = stored {
            self.memory().record_write(ObjectView(stored).version(), self.observation.base.moment);
        }
    }

    async fn unbind_recorded(&self) -> Result<(), Error> {
        match self.recorded_target() {
            Some(target) => self.unbind(&target).await,
            None => Ok(()),
        }
    }

    fn is_overdue(&self) -> bool {
        let deletion = self.object().metadata.deletion_timestamp.as_ref();
        let deletion = deletion.and_then(|time| Time::parse(&time.0.to_string()));
        deletion
            .is_some_and(|at| Duration::from_secs(self.now().seconds_since(at)) >= self.observation.finalizer_timeout)
    }

    fn finalizer(&self) -> Option<String> {
        self.kind().finalizer().map(|name| self.observation.base.api_group.label(name))
    }

    pub(super) fn has_finalizer(&self) -> bool {
        self.finalizer().is_some_and(|finalizer| finalizer::has(self.object(), &finalizer))
    }

    /// Adds the finalizer if it is missing.
    pub(super) async fn add_finalizer(&self) -> Result<(), Error> {
        if self.has_finalizer() {
            return Ok(());
        }
        self.patch_finalizers(true).await.map(drop)
    }

    async fn remove_finalizer(&self) -> Result<Next, Error> {
        if self.has_finalizer() {
            match self.patch_finalizers(false).await {
                Err(error) if error.has_code(404) => {}
                answer => drop(answer?),
            }
        }
        Ok(Next::OnChange)
    }

    async fn patch_finalizers(&self, add: bool) -> Result<Option<Value>, Error> {
        let Some(finalizer) = self.finalizer() else { return Ok(None) };
        let patch = DeploymentPatch::Json(finalizer::patch(self.object(), &finalizer, add));
        let request = Request::PatchDeployment { manager: self.kind().manager().to_owned(), patch };
        match self.exchange.send(request).await {
            // A test of the patch failed.
            Err(error) if error.has_code(422) => {
                Err(Error::Waiting("another client changed the object in the meantime".to_owned()))
            }
            answer => {
                let stored = answer?;
                self.remember(stored.as_ref());
                Ok(stored)
            }
        }
    }
}
