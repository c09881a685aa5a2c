//! The settings of a `Render` document about the cluster's KAITO.

use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::wire_object;
use kubefoundry_transform::TransformSettings;

wire_object! {
    /// Facts about the KAITO in your cluster.
    pub struct KaitoSettings {
        /// Whether KAITO provisions nodes. With `true`, an instance type is required; with `false`, it is refused.
        node_auto_provisioning: bool = "nodeAutoProvisioning",
        /// Whether KAITO's feature gate `gatewayAPIInferenceExtension` is on, so that KAITO creates the InferencePool of
        /// an InferenceSet. Off by default, as in KAITO.
        gateway_api_inference_extension: bool = "gatewayAPIInferenceExtension",
    }
}

/// The known facts about the cluster's KAITO.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct KaitoInstallation {
    /// Whether KAITO provisions nodes. `None` if unknown.
    pub(super) node_auto_provisioning: Option<bool>,
    /// Whether KAITO creates the InferencePools of InferenceSets.
    pub(super) creates_inference_pools: bool,
}

impl TransformSettings for KaitoInstallation {
    type Section = KaitoSettings;

    const KEY: &'static str = "kaito";

    const DOC: &'static str = "Facts about the KAITO in your cluster.\n";

    fn apply(&mut self, section: KaitoSettings, _: &mut Findings<'_>) {
        self.node_auto_provisioning = section.node_auto_provisioning.or(self.node_auto_provisioning);
        self.creates_inference_pools = section.gateway_api_inference_extension.unwrap_or(self.creates_inference_pools);
    }
}
