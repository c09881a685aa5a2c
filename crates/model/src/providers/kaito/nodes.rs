//! The nodes of a workload: instance type and node labels, and checks of them against the cluster's KAITO.

use super::codes::{INSTANCE_TYPE_MISSING, INSTANCE_TYPE_REFUSED, INSTANCE_TYPE_REQUIRED, SELECTS_EVERY_NODE};
use super::manifests::LabelSelector;
use super::overrides::{self, Overrides};
use super::settings::KaitoInstallation;
use crate::codes;
use crate::ir::Deployment;
use crate::provider::TranslationContext;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::pod::StringMap;

/// The labels that KAITO sets on nodes and removes from selectors (api/v1beta1/labels.go, SanitizedMatchLabels).
const RESERVED_LABELS: &[&str] =
    &["kaito.sh/workspace", "kaito.sh/workspacenamespace", "kaito.sh/ragengine", "kaito.sh/ragenginenamespace"];

/// The nodes of a workload.
#[derive(Debug)]
pub(super) struct Nodes {
    /// The instance type to provision.
    pub(super) instance_type: Option<String>,
    /// The labels that nodes must have.
    pub(super) label_selector: LabelSelector,
}

impl Nodes {
    /// Chooses the nodes of a deployment (docs/design/0011): the instance type of the overrides, and the labels of
    /// `nodeSelector`, or else every Linux node.
    pub(super) fn choose(
        deployment: &Deployment,
        overrides: &Overrides,
        is_preset: bool,
        context: &TranslationContext<'_>,
        findings: &mut Findings<'_>,
    ) -> Self {
        let instance_type = overrides.instance_type.clone();
        // An invalid instance type has been reported and is not missing.
        let is_missing = !overrides::is_written(deployment, "instanceType");
        check_instance_type(instance_type.as_deref(), is_missing, context, findings);
        let provisions = node_auto_provisioning(context) == Some(true);
        if is_preset && deployment.node_selector.is_empty() && is_missing && !provisions {
            findings
                .report(
                    &SELECTS_EVERY_NODE,
                    ModelDeployment::path().spec().node_selector(),
                    "without spec.nodeSelector a KAITO preset selects every Linux node, and KAITO rejects it unless \
                     all of them have the same NVIDIA GPU",
                )
                .help("select the GPU nodes, for example with spec.nodeSelector: {apps: llm}");
        }
        for (key, _) in deployment.node_selector.iter().filter(|(key, _)| RESERVED_LABELS.contains(&key.as_str())) {
            let path = ModelDeployment::path().spec().node_selector().key(key.clone());
            findings
                .report(
                    &codes::FIELD_IGNORED,
                    FieldRef::key(&path),
                    format!("{path} has no effect: KAITO sets this label itself"),
                )
                .help("remove it, and select nodes by your own labels");
        }
        let match_labels = if deployment.node_selector.is_empty() {
            StringMap::from_entry("kubernetes.io/os", "linux")
        } else {
            deployment.node_selector.as_slice().into()
        };
        Self { instance_type, label_selector: LabelSelector { match_labels } }
    }
}

/// Checks the instance type, or its absence, as KAITO's webhook does (api/v1beta1/workspace_validation.go,
/// validateCreate): it is required if KAITO provisions nodes, which is the default, and refused otherwise.
fn check_instance_type(
    instance_type: Option<&str>,
    is_missing: bool,
    context: &TranslationContext<'_>,
    findings: &mut Findings<'_>,
) {
    let path = overrides::path().instance_type();
    match (node_auto_provisioning(context), instance_type) {
        (Some(true), None) if is_missing => {
            let message = format!("{path} is required when KAITO provisions nodes (kaito.nodeAutoProvisioning: true)");
            findings.report(&INSTANCE_TYPE_REQUIRED, &path, message).help(
                "set it to an instance type, such as \
                                                                           Standard_NC24ads_A100_v4",
            );
        }
        (Some(false), Some(given)) => {
            let message =
                format!("{path} is {given:?}, but KAITO provisions no nodes (kaito.nodeAutoProvisioning: false)");
            findings
                .report(&INSTANCE_TYPE_REFUSED, &path, message)
                .help("remove it, and select nodes with spec.nodeSelector");
        }
        (None, None) if is_missing => {
            let message = format!("{path} is required when KAITO provisions nodes, which is its default");
            findings.report(&INSTANCE_TYPE_MISSING, &path, message).help(
                "set it to an instance type, or, if the cluster has the nodes, add to kubefoundry.yaml: kaito: \
                       {nodeAutoProvisioning: false}",
            );
        }
        _ => {}
    }
}

/// Returns whether the cluster's KAITO provisions nodes, or `None` if the options do not say.
fn node_auto_provisioning(context: &TranslationContext<'_>) -> Option<bool> {
    context.settings.with(|kaito: &KaitoInstallation| kaito.node_auto_provisioning)
}
