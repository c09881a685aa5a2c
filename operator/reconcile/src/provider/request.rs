//! Requests for objects of providers.

use std::sync::Arc;

use kube::core::ApiResource;
use kubefoundry_controller_runtime::error::Error;
use serde_json::Value;

use super::{Reconciliation, objects};
use crate::cached_object::CachedObject;
use crate::observation::UpstreamObject;
use crate::request::{Mode, Request, RequestError};
use crate::status::Force;

impl Reconciliation<'_> {
    /// Applies an object server-side. Returns it as stored.
    pub(super) async fn apply(&self, object: &Value, mode: Mode, force: Force) -> Result<CachedObject, Error> {
        let request = Request::Apply { manager: self.manager().to_owned(), object: object.clone(), mode, force };
        read(self.exchange.ask(request).await?)
    }

    /// Reads an object; none when it does not exist.
    pub(super) async fn get(&self, resource: ApiResource, name: &str) -> Result<Option<Value>, Error> {
        Ok(self.exchange.send(Request::Get { resource, name: name.to_owned() }).await?)
    }

    /// Reads the metadata of an object; none when it does not exist.
    pub(super) async fn get_metadata(&self, resource: ApiResource, name: &str) -> Result<Option<CachedObject>, Error> {
        let answer = self.exchange.send(Request::GetMetadata { resource, name: name.to_owned() }).await?;
        answer.map(read).transpose()
    }

    /// Deletes an object and its dependents, unless it changed since it was cached: the decision to delete depends on
    /// its content, and on its owner.
    pub(super) async fn delete(&self, owned: &Arc<UpstreamObject>) -> Result<(), Error> {
        let (uid, name) = (owned.object.uid(), owned.object.name());
        if owned.object.is_terminating() || self.memory().begin_delete(uid, self.moment()) {
            return Ok(());
        }
        let request = Request::Delete {
            resource: (*owned.resource).clone(),
            name: name.to_owned(),
            uid: uid.to_owned(),
            version: owned.object.metadata.resource_version.clone(),
        };
        match self.exchange.send(request).await {
            Ok(_) => {
                self.memory().record_deletion(&format!("{}/{name}", owned.resource.kind));
                tracing::info!(
                    namespace = self.deployment().namespace(),
                    deployment = self.deployment().name(),
                    kind = owned.resource.kind,
                    name,
                    "deleted"
                );
                Ok(())
            }
            // The object was deleted, or replaced by one of the same name.
            Err(error) if error.has_code(404) => Ok(()),
            Err(error) => {
                self.memory().cancel_delete(uid);
                match error {
                    // The watch delivers what changed it.
                    error if error.has_code(409) => {
                        Err(Error::Waiting(format!("{} changed in the meantime", objects::live_title(owned))))
                    }
                    error => Err(error.into()),
                }
            }
        }
    }
}

/// Reads an object from an answer.
pub(super) fn read(object: Value) -> Result<CachedObject, Error> {
    CachedObject::new(object).map_err(|error| RequestError::Failed(error.to_string()).into())
}

/// Returns the message with which the apiserver, a webhook or a CRD validation rule refuses an object; none for other
/// errors. A webhook that cannot be reached results in 500, and so does a conversion that fails.
pub(super) fn refusal(error: &Error) -> Option<String> {
    let Error::Api(RequestError::Refused { code, message }) = error else { return None };
    matches!(code, 400 | 403 | 413 | 422 | 500).then(|| message.clone())
}

/// Replaces the trial name in an error by the name of the object.
pub(super) fn with_real_name(error: Error, trial: &str, name: &str) -> Error {
    match error {
        Error::Api(RequestError::Refused { code, message }) => {
            RequestError::Refused { code, message: message.replace(trial, name) }.into()
        }
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_refusals_of_an_object_from_other_errors() {
        let refused =
            |code: u16, message: &str| refusal(&RequestError::Refused { code, message: message.to_owned() }.into());
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
