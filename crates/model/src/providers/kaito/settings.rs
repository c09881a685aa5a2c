//! What a `Render` document may say about the cluster's KAITO.

use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::wire_object;
use kubefoundry_transform::TransformSettings;

wire_object! {
    /// What is true of the cluster's KAITO.
    pub struct KaitoSettings {
        /// Whether it provisions nodes: with `true` an instance type is required, with `false` it is refused.
        node_auto_provisioning: bool = "nodeAutoProvisioning",
    }
}

/// What is known of the cluster's KAITO.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Kaito {
    /// Whether it provisions nodes; absent when not known.
    pub(super) node_auto_provisioning: Option<bool>,
}

impl TransformSettings for Kaito {
    type Section = KaitoSettings;

    const KEY: &'static str = "kaito";

    const DOC: &'static str = "What is known of the cluster's KAITO.\n";

    fn apply(&mut self, section: KaitoSettings, _: &mut Findings<'_>) {
        self.node_auto_provisioning = section.node_auto_provisioning.or(self.node_auto_provisioning);
    }
}
