//! The address of a rendered deployment.

use serde::Serialize;

/// The Service and port that answer requests once the model runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Endpoint {
    /// The name of the Service.
    pub service: String,
    /// The port of the Service.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub port: u16,
}
