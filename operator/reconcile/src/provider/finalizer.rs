//! The finalizer of a deployment: objects of the provider exist only while it is set.

use kubefoundry_controller_runtime::error::Error;

use super::Reconciliation;
use crate::cached_object::CachedObject;
pub(super) use crate::finalizer::has;
use crate::finalizer::patch;
use crate::request::{DeploymentPatch, Measurement, Request};

/// The finalizer of the garbage collector while `kubectl delete --cascade=orphan` takes the owner from the objects.
pub(super) const ORPHAN: &str = "orphan";

impl Reconciliation<'_> {
    /// Adds the finalizer if it is missing.
    pub(super) async fn add_finalizer(&self) -> Result<(), Error> {
        if self.observation.has_finalizer() {
            return Ok(());
        }
        self.patch_finalizers(true).await.map(drop)
    }

    /// Removes the finalizer if it is set. The apiserver may delete the deployment with that.
    pub(super) async fn remove_finalizer(&self) -> Result<(), Error> {
        if !self.observation.has_finalizer() {
            return Ok(());
        }
        let is_gone = match self.patch_finalizers(false).await {
            Ok(after) => after.is_none_or(|after| {
                after.is_terminating() && after.metadata.finalizers.as_ref().is_none_or(Vec::is_empty)
            }),
            Err(error) if error.has_code(404) => true,
            Err(error) => return Err(error),
        };
        if is_gone {
            self.exchange.tell(Request::Record(Measurement::Gone)).await;
        }
        Ok(())
    }

    /// Sends the patch, and returns the deployment as stored.
    async fn patch_finalizers(&self, add: bool) -> Result<Option<CachedObject>, Error> {
        let patch = DeploymentPatch::Json(patch(self.deployment(), &self.observation.identity.finalizer, add));
        match self.patch_deployment(patch).await {
            // A test of the patch failed.
            Err(error) if error.has_code(422) => {
                Err(Error::Waiting("another client changed the deployment in the meantime".to_owned()))
            }
            answer => answer,
        }
    }

    /// Changes the deployment outside of its status, and remembers it as stored.
    pub(super) async fn patch_deployment(&self, patch: DeploymentPatch) -> Result<Option<CachedObject>, Error> {
        let request = Request::PatchDeployment { manager: self.manager().to_owned(), patch };
        let Some(stored) = self.exchange.send(request).await? else { return Ok(None) };
        let stored = super::request::read(stored)?;
        self.memory().record_write(stored.version(), self.moment());
        Ok(Some(stored))
    }
}
