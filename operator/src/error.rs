//! Why a reconciliation did not come to its end. It is tried again, later each time.

use thiserror::Error;

/// What stopped a reconciliation.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// The apiserver refused, or could not be reached.
    #[error("{}", said(.0))]
    Api(#[from] kube::Error),
    /// Something is not as far as is needed yet: the caches are filling, another controller must go first.
    #[error("waiting: {0}")]
    Waiting(String),
}

/// What the apiserver said, without the rest of its answer.
fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        other => other.to_string(),
    }
}

impl Error {
    /// The `error_type` in metrics (docs/operator/reference.md).
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Waiting(_) => "waiting",
            Self::Api(kube::Error::Api(status)) => match status.code {
                403 => "forbidden",
                404 => "not_found",
                409 => "conflict",
                422 => "invalid",
                429 => "throttled",
                500.. => "server",
                _ => "refused",
            },
            Self::Api(_) => "connection",
        }
    }

    /// Whether the apiserver answered with this code.
    pub(crate) fn is(&self, code: u16) -> bool {
        matches!(self, Self::Api(kube::Error::Api(status)) if status.code == code)
    }
}
