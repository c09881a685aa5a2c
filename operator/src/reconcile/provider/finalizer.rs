//! The finalizer of a deployment: objects of the provider exist only while it is set.
//!
//! Corresponds to `kube::runtime::finalizer`, which calls one of two closures; the controller of a provider has more
//! states ([`super::ownership`]). Like kube's, it is a JSON patch that tests what it changes: server-side apply would
//! create a deployment that has been deleted.

use serde_json::{Value, json};

use super::Reconciliation;
use crate::cached_object::CachedObject;
use crate::error::Error;
use crate::reconcile::request::{DeploymentPatch, Measurement, Request};

/// The finalizer of the garbage collector while `kubectl delete --cascade=orphan` takes the owner from the objects.
pub(super) const ORPHAN: &str = "orphan";

/// Whether a deployment has this finalizer.
pub(super) fn has(deployment: &CachedObject, finalizer: &str) -> bool {
    deployment.metadata.finalizers.as_ref().is_some_and(|all| all.iter().any(|one| one == finalizer))
}

/// Creates the JSON patch that adds or removes a finalizer. The patch fails if the list of finalizers has changed in
/// the meantime.
fn patch(deployment: &CachedObject, finalizer: &str, add: bool) -> Value {
    let before = deployment.metadata.finalizers.clone();
    let mut after = before.clone().unwrap_or_default();
    after.retain(|one| one != finalizer);
    if add {
        after.push(finalizer.to_owned());
    }
    json!([
        {"op": "test", "path": "/metadata/uid", "value": deployment.uid()},
        // A test against null also passes where the field is absent.
        {"op": "test", "path": "/metadata/finalizers", "value": before},
        {"op": if before.is_some() { "replace" } else { "add" }, "path": "/metadata/finalizers", "value": after},
    ])
}

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
            self.exchange.send(Request::Record(Measurement::Gone)).await.ok();
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
        self.memory().record_write(&stored, self.moment());
        Ok(Some(stored))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINALIZER: &str = "kubefoundry.ai/kaito-provider";

    fn patch_finalizers(finalizers: Value, add: bool) -> Value {
        let mut deployment = json!({"metadata": {"name": "phi", "uid": "u"}});
        deployment["metadata"]["finalizers"] = finalizers;
        let patch = patch(&CachedObject::new(deployment).unwrap(), FINALIZER, add);
        assert_eq!(patch[0], json!({"op": "test", "path": "/metadata/uid", "value": "u"}));
        json!([patch[1]["value"], patch[2]["op"], patch[2]["value"]])
    }

    #[test]
    fn keeps_finalizers_of_other_controllers() {
        assert_eq!(patch_finalizers(Value::Null, true), json!([null, "add", [FINALIZER]]));
        assert_eq!(patch_finalizers(json!(["a/b"]), true), json!([["a/b"], "replace", ["a/b", FINALIZER]]));
        assert_eq!(patch_finalizers(json!(["a/b", FINALIZER]), false), json!([["a/b", FINALIZER], "replace", ["a/b"]]));
        assert_eq!(patch_finalizers(json!([FINALIZER]), false), json!([[FINALIZER], "replace", []]));
    }
}
