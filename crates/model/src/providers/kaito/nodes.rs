//! Where a workload runs: instance type and node labels, and what the cluster's KAITO accepts of them.

use super::codes::{INSTANCE_TYPE_MISSING, INSTANCE_TYPE_REFUSED, INSTANCE_TYPE_REQUIRED, SELECTS_EVERY_NODE};
use super::overrides::{self, Overrides};
use super::settings::Kaito;
use super::target::LabelSelector;
use crate::codes;
use crate::ir::Deployment;
use crate::provider::TranslationContext;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::pod::StringMap;

/// Labels that KAITO puts on nodes itself and takes out of a selector (api/v1beta1/labels.go, SanitizedMatchLabels).
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
    /// The nodes of a deployment (docs/design/0011): `overrides.instanceType`; labels from `nodeSelector`, else
    /// every Linux node.
    pub(super) fn of(
        deployment: &Deployment,
        overrides: &Overrides,
        is_preset: bool,
        context: &TranslationContext<'_>,
        findings: &mut Findings<'_>,
    ) -> Self {
        let instance_type = overrides.instance_type.clone();
        // An instance type that was given and is wrong has been reported.
        let missing = !overrides::is_written(deployment, "instanceType");
        check_instance_type(instance_type.as_deref(), missing, context, findings);
        let provisions = node_auto_provisioning(context) == Some(true);
        if is_preset && deployment.node_selector.is_empty() && missing && !provisions {
            findings
                .report(
                    &SELECTS_EVERY_NODE,
                    ModelDeployment::path().spec().node_selector(),
                    "without spec.nodeSelector a KAITO preset selects every Linux node, and KAITO rejects it unless \
                     all of them have the same NVIDIA GPU",
                )
                .help("select the GPU nodes, for example with nodeSelector: {apps: llm}");
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

/// Whether KAITO's webhook takes the instance type, or its absence (api/v1beta1/workspace_validation.go,
/// validateCreate): it is required where nodes are provisioned, which is KAITO's default, and refused elsewhere.
fn check_instance_type(
    given: Option<&str>,
    missing: bool,
    context: &TranslationContext<'_>,
    findings: &mut Findings<'_>,
) {
    let path = overrides::path().instance_type();
    match (node_auto_provisioning(context), given) {
        (Some(true), None) if missing => {
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
        (None, None) if missing => {
            let message = format!("{path} is required when KAITO provisions nodes, which is its default");
            findings.report(&INSTANCE_TYPE_MISSING, &path, message).help(
                "set it to an instance type, or, if the cluster has the nodes, add to kubefoundry.yaml: kaito: \
                       {nodeAutoProvisioning: false}",
            );
        }
        _ => {}
    }
}

/// Whether the cluster's KAITO provisions nodes, when the options say.
fn node_auto_provisioning(context: &TranslationContext<'_>) -> Option<bool> {
    context.settings.with(|kaito: &Kaito| kaito.node_auto_provisioning)
}
