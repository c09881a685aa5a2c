//! The pods of a Workspace or an InferenceSet that serve.

use super::settings::KaitoInstallation;
use super::start_command::PORT;
use super::workload::KaitoKind;
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_kubernetes::pod::StringMap;
use kubefoundry_provider::status::text_or_empty;
use kubefoundry_provider::{GatewayBackend, TranslationContext};
use serde_json::Value;

/// Returns the labels of the pods that serve: the first of each Workspace, because the others of a model on several
/// nodes are its workers. KAITO labels pods with their Workspace and with their InferenceSet
/// (`GenerateStatefulSetManifest` and `GenerateManifestWithPodTemplate` in pkg/workspace/manifests/manifests.go), and
/// Kubernetes with their index in the StatefulSet.
pub(super) fn labels(kind: KaitoKind, name: &str) -> StringMap {
    let key = match kind {
        KaitoKind::Workspace => "kaito.sh/workspace",
        KaitoKind::InferenceSet => "inferenceset.kaito.sh/created-by",
    };
    let mut labels = StringMap::from_entry(key, name);
    labels.push("apps.kubernetes.io/pod-index", "0");
    labels
}

/// Returns the label selector of the pods that serve a live Workspace or InferenceSet.
pub(super) fn selector(object: &Value) -> Option<String> {
    let kind = match text_or_empty(object, "/kind") {
        "Workspace" => KaitoKind::Workspace,
        "InferenceSet" => KaitoKind::InferenceSet,
        _ => return None,
    };
    let labels = labels(kind, text_or_empty(object, "/metadata/name"));
    Some(labels.0.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(","))
}

/// Returns what a Gateway can send requests to. With its feature gate, KAITO creates the InferencePool of an InferenceSet
/// with a preset for vLLM, as a release of the chart of the Gateway API Inference Extension
/// (`ensureGatewayAPIInferenceExtension` in pkg/inferenceset/inferenceset_controller.go,
/// `GenerateInferencePoolHelmRelease` in pkg/workspace/manifests/manifests.go).
pub(super) fn gateway_backend(
    deployment: &Deployment,
    kind: KaitoKind,
    is_preset: bool,
    context: &TranslationContext<'_>,
) -> GatewayBackend {
    let name = &deployment.metadata.name;
    let creates_pools = context.settings.with(|settings: &KaitoInstallation| settings.creates_inference_pools);
    if creates_pools && is_preset && kind == KaitoKind::InferenceSet {
        return GatewayBackend::UpstreamPool {
            name: format!("{name}-inferencepool"),
            why: "with the feature gate gatewayAPIInferenceExtension, KAITO creates the InferencePool and the endpoint \
                  picker of an InferenceSet",
        };
    }
    GatewayBackend::Pods { labels: labels(kind, name), port: PORT }
}
