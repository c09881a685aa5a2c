//! The errors of reconciliations. Each is retried with exponential back-off.

use thiserror::Error;

use crate::reconcile::request::RequestError;

/// The failure of a reconciliation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Error {
    /// The apiserver refused a request, or could not be reached.
    #[error(transparent)]
    Api(#[from] RequestError),
    /// Something has to happen first: a cache has to fill, or another controller has to act.
    #[error("waiting: {0}")]
    Waiting(String),
}

impl Error {
    /// Returns the value of the label `error_type` in metrics (docs/operator/reference.md).
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Waiting(_) | Self::Api(RequestError::NamespaceTerminating(_)) => "waiting",
            Self::Api(RequestError::Refused { code, .. }) => match code {
                403 => "forbidden",
                404 => "not_found",
                409 => "conflict",
                422 => "invalid",
                429 => "throttled",
                500.. => "server",
                _ => "refused",
            },
            Self::Api(RequestError::Failed(_)) => "connection",
        }
    }

    /// Whether the apiserver answered with this HTTP status code.
    pub(crate) fn has_code(&self, code: u16) -> bool {
        matches!(self, Self::Api(error) if error.has_code(code))
    }

    /// Whether normal operation causes the error: something has to happen first, or nothing can be created because the
    /// namespace is being deleted.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self, Self::Waiting(_) | Self::Api(RequestError::NamespaceTerminating(_)))
    }
}
