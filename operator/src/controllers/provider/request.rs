//! Requests to the apiserver for objects of providers.

use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions, PropagationPolicy};
use serde_json::Value;

use super::{ReconcileRequest, objects};
use crate::cached_object::CachedObject;
use crate::error::Error;
use crate::status::Force;
use crate::watch::UpstreamObject;

/// Whether a request changes the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// The apiserver validates the request, and stores nothing.
    DryRun,
    Real,
}

impl ReconcileRequest<'_> {
    /// Creates the client for the kind of an object, in the namespace of the deployment.
    pub(super) fn api(&self, object: &Value) -> Api<CachedObject> {
        let resource = objects::resource(object);
        Api::namespaced_with(self.shared().client.clone(), self.deployment.namespace(), &resource)
    }

    /// Applies an object server-side, with strict field validation: an unknown field is a refusal, not a silent drop.
    pub(super) async fn apply(&self, object: &Value, mode: Mode, force: Force) -> Result<CachedObject, Error> {
        let mut params = PatchParams::apply(&self.context.manager).validation_strict();
        params.dry_run = mode == Mode::DryRun;
        params.force = force == Force::Yes;
        Ok(self.api(object).patch(objects::name(object), &params, &Patch::Apply(object)).await?)
    }

    /// Deletes an object and its dependents. With `if_unchanged`, nothing is deleted when the object changed since it
    /// was cached: the decision to delete depends on its content.
    pub(super) async fn delete(&self, owned: &UpstreamObject, if_unchanged: bool) -> Result<(), Error> {
        let (uid, name) = (owned.object.uid(), owned.object.name());
        if owned.object.is_terminating() || self.context.state.begin_delete(self.deployment, uid) {
            return Ok(());
        }
        let version = owned.object.metadata.resource_version.clone().filter(|_| if_unchanged);
        let params = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            preconditions: Some(Preconditions { uid: Some(uid.to_owned()), resource_version: version }),
            ..DeleteParams::default()
        };
        let client = self.shared().client.clone();
        let api: Api<CachedObject> = Api::namespaced_with(client, self.deployment.namespace(), &*owned.resource);
        match api.delete(name, &params).await {
            Ok(_) => {
                let key = format!("{}/{name}", owned.resource.kind);
                self.context.state.record_deletion(self.deployment, &key);
                tracing::info!(
                    namespace = self.deployment.namespace(),
                    deployment = self.deployment.name(),
                    kind = owned.resource.kind,
                    name,
                    "deleted"
                );
                Ok(())
            }
            // The object was deleted, or replaced by one of the same name.
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => {
                self.context.state.cancel_delete(self.deployment, uid);
                Err(error.into())
            }
        }
    }
}

/// Returns the message with which the apiserver, a webhook or a CRD validation rule refuses an object; none for other
/// errors. A webhook that cannot be reached results in 500, and so does a conversion that fails.
pub(super) fn refusal(error: &Error) -> Option<String> {
    let Error::Api(kube::Error::Api(status)) = error else { return None };
    matches!(status.code, 400 | 403 | 413 | 422 | 500).then(|| status.message.clone())
}

/// Replaces the trial name in an error by the name of the object.
pub(super) fn with_real_name(error: Error, trial: &str, name: &str) -> Error {
    match error {
        Error::Api(kube::Error::Api(mut status)) => {
            status.message = status.message.replace(trial, name);
            Error::Api(kube::Error::Api(status))
        }
        error => error,
    }
}

/// Returns the text of an error for logs: the message of the apiserver, if it is one.
pub(super) fn error_text(error: &Error) -> String {
    match error {
        Error::Api(kube::Error::Api(status)) if !status.message.is_empty() => status.message.clone(),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn tells_refusals_of_an_object_from_other_errors() {
        let refused = |code: u16, message: &str| {
            let status = Status { code, message: message.to_owned(), ..Status::failure(message, "") };
            refusal(&Error::Api(kube::Error::Api(Box::new(status))))
        };
        let webhook = "failed calling webhook \"validation.workspace.kaito.sh\": connection refused";
        assert_eq!(
            refused(403, "admission webhook denied the request"),
            Some("admission webhook denied the request".into())
        );
        assert_eq!(refused(422, "invalid").as_deref(), Some("invalid"));
        assert_eq!(refused(500, webhook).as_deref(), Some(webhook));
        for code in [404, 409, 429, 503, 504] {
            assert_eq!(refused(code, "not now"), None, "{code}");
        }
        assert_eq!(refusal(&Error::Waiting("not now".to_owned())), None);
    }
}
