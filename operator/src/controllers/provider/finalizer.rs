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
use crate::cached::Cached;
use crate::error::Error;

/// Whether a deployment has a finalizer.
pub(super) fn has(deployment: &Cached, finalizer: &str) -> bool {
    deployment.metadata.finalizers.as_ref().is_some_and(|all| all.iter().any(|one| one == finalizer))
}

/// The patch that adds or removes a finalizer, and does nothing when the list is another one by now.
fn patch(deployment: &Cached, finalizer: &str, add: bool) -> Value {
    let before = deployment.metadata.finalizers.clone();
    let mut after = before.clone().unwrap_or_default();
    after.retain(|one| one != finalizer);
    if add {
        after.push(finalizer.to_owned());
    }
    json!([
        {"op": "test", "path": "/metadata/uid", "value": deployment.uid()},
        // Null where there is none.
        {"op": "test", "path": "/metadata/finalizers", "value": before},
        {"op": if before.is_some() { "replace" } else { "add" }, "path": "/metadata/finalizers", "value": after},
    ])
}

impl ReconcileRequest<'_> {
    /// Adds the finalizer.
    pub(super) async fn hold(&self) -> Result<(), Error> {
        if self.has_finalizer() {
            return Ok(());
        }
        self.patch_finalizers(true).await.map(drop)
    }

    /// Removes the finalizer. Afterwards the deployment may be gone.
    pub(super) async fn let_go(&self) -> Result<(), Error> {
        if !self.has_finalizer() {
            return Ok(());
        }
        let is_gone = match self.patch_finalizers(false).await {
            Ok(after) => after.is_terminating() && after.metadata.finalizers.as_ref().is_none_or(Vec::is_empty),
            Err(error) if error.is(404) => true,
            Err(error) => return Err(error),
        };
        if is_gone {
            self.context.state.forget(self.deployment.uid());
            self.shared().metrics.forget(self.deployment.namespace(), self.deployment.name());
        }
        Ok(())
    }

    async fn patch_finalizers(&self, add: bool) -> Result<Arc<Cached>, Error> {
        let shared = self.shared();
        let api: Api<Cached> =
            Api::namespaced_with(shared.client.clone(), self.deployment.namespace(), &shared.resource);
        let path = format!("{}/{}?fieldManager={}", api.resource_url(), self.deployment.name(), self.context.manager);
        let body = patch(self.deployment, &self.context.finalizer, add).to_string().into_bytes();
        let request = Request::builder()
            .method(Method::PATCH)
            .uri(path)
            .header(http::header::CONTENT_TYPE, "application/json-patch+json")
            .body(body)
            .map_err(kube::Error::HttpError)?;
        match shared.client.request::<Cached>(request).await.map_err(Error::from) {
            Ok(after) => {
                self.context.state.record_write(&after);
                Ok(Arc::new(after))
            }
            // A test failed.
            Err(error) if error.is(422) => Err(Error::Waiting("the deployment was changed meanwhile".to_owned())),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "kubefoundry.ai/kaito-provider";

    fn change(finalizers: Value, add: bool) -> Value {
        let mut deployment = json!({"metadata": {"name": "phi", "uid": "u"}});
        deployment["metadata"]["finalizers"] = finalizers;
        let patch = patch(&Cached::new(deployment).unwrap(), OURS, add);
        assert_eq!(patch[0], json!({"op": "test", "path": "/metadata/uid", "value": "u"}));
        json!([patch[1]["value"], patch[2]["op"], patch[2]["value"]])
    }

    #[test]
    fn others_stay() {
        assert_eq!(change(Value::Null, true), json!([null, "add", [OURS]]));
        assert_eq!(change(json!(["a/b"]), true), json!([["a/b"], "replace", ["a/b", OURS]]));
        assert_eq!(change(json!(["a/b", OURS]), false), json!([["a/b", OURS], "replace", ["a/b"]]));
        assert_eq!(change(json!([OURS]), false), json!([[OURS], "replace", []]));
    }
}
