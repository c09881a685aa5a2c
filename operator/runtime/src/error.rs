//! The errors of requests and reconciliations. Each is retried with exponential back-off.

use thiserror::Error;

/// The failure of a reconciliation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// The apiserver refused a request, or could not be reached.
    #[error(transparent)]
    Api(#[from] RequestError),
    /// Something has to happen first: a cache has to fill, or another controller has to act.
    #[error("waiting: {0}")]
    Waiting(String),
}

impl Error {
    /// Returns the value of the label `error_type` in metrics (docs/operator/reference.md).
    pub fn kind(&self) -> &'static str {
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
    pub fn has_code(&self, code: u16) -> bool {
        matches!(self, Self::Api(error) if error.has_code(code))
    }

    /// Whether normal operation causes the error: something has to happen first, or nothing can be created because the
    /// namespace is being deleted.
    pub fn is_waiting(&self) -> bool {
        matches!(self, Self::Waiting(_) | Self::Api(RequestError::NamespaceTerminating(_)))
    }
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    /// The apiserver refused it, with this HTTP status code.
    #[error("{message}")]
    Refused {
        /// The HTTP status code.
        code: u16,
        /// What the apiserver says.
        message: String,
    },
    /// Nothing can be created, because the namespace is being deleted.
    #[error("{0}")]
    NamespaceTerminating(String),
    /// The apiserver could not be reached, or its answer could not be read.
    #[error("{0}")]
    Failed(String),
}

impl From<kube::Error> for RequestError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => {
                let message = if status.message.is_empty() { status.to_string() } else { status.message.clone() };
                // It comes as 403, with a cause of its own.
                let causes = status.details.iter().flat_map(|details| &details.causes);
                if status.code == 403 && causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating") {
                    return Self::NamespaceTerminating(message);
                }
                Self::Refused { code: status.code, message }
            }
            other => Self::Failed(other.to_string()),
        }
    }
}

impl RequestError {
    /// Whether the apiserver answered with this HTTP status code.
    pub fn has_code(&self, expected: u16) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == expected)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_terminating_namespace_is_not_a_lost_permission() {
        let refused = |causes: Value| {
            let status =
                json!({"status": "Failure", "code": 403, "reason": "Forbidden", "details": {"causes": causes}});
            Error::from(RequestError::from(kube::Error::Api(Box::new(serde_json::from_value(status).unwrap()))))
        };
        let terminating =
            refused(json!([{"reason": "NamespaceTerminating", "message": "namespace m is being terminated"}]));
        assert!(terminating.is_waiting());
        assert_eq!(terminating.kind(), "waiting");
        assert!(!refused(json!([])).is_waiting());
        assert_eq!(refused(json!([])).kind(), "forbidden");
    }
}
