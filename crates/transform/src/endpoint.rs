//! Where what was rendered answers.

use serde::Serialize;

/// A Service and its port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Endpoint {
    /// The Service's name.
    pub service: String,
    /// Its port.
    pub port: u16,
}
