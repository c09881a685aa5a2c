//! The finalizer of a deployment: objects of the provider exist only while it is set.
//!
//! Corresponds to `kube::runtime::finalizer`, which calls one of two closures; the controller of a provider has more
//! states ([`super::ownership`]). Like kube's, it is a JSON patch that tests what it changes: server-side apply would
//! create a deployment that has been deleted.

use std::sync::Arc;

use http::{Method, Request};
use kube::Api;
use serde_json::{Value, json};

use super::ReconcileRequest;
use crate::cached_object::CachedObject;
use crate::error::Error;

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

impl ReconcileRequest<'_> {
    /// Adds the finalizer if it is missing.
    pub(super) async fn add_finalizer(&self) -> Result<(), Error> {
        if self.has_finalizer() {
            return Ok(());
        }
        self.patch_finalizers(true).await.map(drop)
    }

    /// Removes the finalizer if it is set. The apiserver may delete the deployment with that, so its state is dropped.
    pub(super) async fn remove_finalizer(&self) -> Result<(), Error> {
        if !self.has_finalizer() {
            return Ok(());
        }
        let is_gone = match self.patch_finalizers(false).await {
            Ok(after) => after.is_terminating() && after.metadata.finalizers.as_ref().is_none_or(Vec::is_empty),
            Err(error) if error.has_code(404) => true,
            Err(error) => return Err(error),
        };
        if is_gone {
            self.context.state.forget(self.deployment.uid());
            self.shared().metrics.forget(self.deployment.namespace(), self.deployment.name());
        }
        Ok(())
    }

    async fn patch_finalizers(&self, add: bool) -> Result<Arc<CachedObject>, Error> {
        let shared = self.shared();
        let api: Api<CachedObject> =
            Api::namespaced_with(shared.client.clone(), self.deployment.namespace(), &shared.resource);
        let path = format!("{}/{}?fieldManager={}", api.resource_url(), self.deployment.name(), self.context.manager);
        let body = patch(self.deployment, &self.context.finalizer, add).to_string().into_bytes();
        let request = Request::builder()
            .method(Method::PATCH)
            .uri(path)
            .header(http::header::CONTENT_TYPE, "application/json-patch+json")
            .body(body)
            .map_err(kube::Error::HttpError)?;
        match shared.client.request::<CachedObject>(request).await.map_err(Error::from) {
            Ok(after) => {
                self.context.state.record_write(&after);
                Ok(Arc::new(after))
            }
            // A test of the patch failed.
            Err(error) if error.has_code(422) => {
                Err(Error::Waiting("another client changed the deployment in the meantime".to_owned()))
            }
            Err(error) => Err(error),
        }
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
