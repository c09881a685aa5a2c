//! The address of a rendered deployment.

use serde::Serialize;

/// The Service and port under which a deployment answers requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Endpoint {
    /// The name of the Service.
    pub service: String,
    /// The port of the Service.
    pub port: u16,
}
