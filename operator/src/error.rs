//! The errors of reconciliations. Each is retried with exponential back-off.

use thiserror::Error;

/// The failure of a reconciliation.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// The apiserver refused a request, or could not be reached.
    #[error("{}", api_message(.0))]
    Api(#[from] kube::Error),
    /// Something has to happen first: a cache has to fill, or another controller has to act.
    #[error("waiting: {0}")]
    Waiting(String),
}

/// Returns the message of the apiserver from an error, without the rest of the response.
fn api_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        other => other.to_string(),
    }
}

impl Error {
    /// Returns the value of the label `error_type` in metrics (docs/operator/reference.md).
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

    /// Whether the apiserver answered with this HTTP status code.
    pub(crate) fn has_code(&self, code: u16) -> bool {
        matches!(self, Self::Api(kube::Error::Api(status)) if status.code == code)
    }
}
