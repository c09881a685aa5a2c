//! What a deployment says about the Gateway through which clients reach its model.

use super::{Deployment, Leaf};

/// The settings of `spec.gateway`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// Whether the model should be reachable through a Gateway.
    pub enabled: Leaf<bool>,
    /// The name of the HTTPRoute that the user writes. `None` if the route is to be rendered.
    pub http_route_ref: Option<String>,
    /// The name of the model by which the route is chosen. `None` for the name to which the model answers.
    pub model_name: Option<String>,
}

impl Deployment {
    /// Returns the settings of the gateway, if the model should be reachable through one.
    pub fn wanted_gateway(&self) -> Option<&Gateway> {
        self.gateway.as_ref().filter(|gateway| gateway.enabled.value)
    }
}
