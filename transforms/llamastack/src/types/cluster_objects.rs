//! Bodies of the generated objects other than the Deployment.

use serde::Serialize;
use serde_json::Value;

use super::LabelSelector;
use kubefoundry_kubernetes::pod::StringMap;

/// core/v1 ServiceSpec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ServiceSpec {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) selector: StringMap,
    pub(crate) ports: [ServicePort; 1],
}

/// core/v1 ServicePort.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServicePort {
    pub(crate) name: &'static str,
    pub(crate) protocol: &'static str,
    pub(crate) port: u16,
    pub(crate) target_port: u16,
}

/// core/v1 PersistentVolumeClaimSpec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClaimSpec {
    pub(crate) access_modes: [&'static str; 1],
    pub(crate) resources: ClaimResources,
}

/// The requested size of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ClaimResources {
    pub(crate) requests: StringMap,
}

/// The body of a ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ConfigMapBody {
    pub(crate) data: StringMap,
}

/// The body of an object that has only metadata.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct EmptyBody {}

/// The body of a RoleBinding (rbac.authorization.k8s.io/v1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RoleBindingBody {
    pub(crate) subjects: [Subject; 1],
    pub(crate) role_ref: RoleRef,
}

/// The subject of a RoleBinding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Subject {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
}

/// The role that a RoleBinding grants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RoleRef {
    pub(crate) api_group: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) name: String,
}

/// networking.k8s.io/v1 NetworkPolicySpec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NetworkPolicySpec {
    pub(crate) pod_selector: LabelSelector,
    pub(crate) policy_types: [&'static str; 1],
    pub(crate) ingress: [IngressRule; 1],
}

/// networking.k8s.io/v1 NetworkPolicyIngressRule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct IngressRule {
    pub(crate) from: Vec<Peer>,
    pub(crate) ports: [PolicyPort; 1],
}

/// networking.k8s.io/v1 NetworkPolicyPeer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) enum Peer {
    #[serde(rename = "podSelector")]
    Pods(LabelSelector),
    #[serde(rename = "namespaceSelector")]
    Namespaces(LabelSelector),
}

/// networking.k8s.io/v1 NetworkPolicyPort.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PolicyPort {
    pub(crate) protocol: &'static str,
    pub(crate) port: u16,
}

/// networking.k8s.io/v1 IngressSpec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct IngressSpec {
    pub(crate) rules: [HttpRule; 1],
}

/// An Ingress rule for all hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct HttpRule {
    pub(crate) http: HttpPaths,
}

/// networking.k8s.io/v1 HTTPIngressRuleValue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct HttpPaths {
    pub(crate) paths: [HttpPath; 1],
}

/// networking.k8s.io/v1 HTTPIngressPath.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HttpPath {
    pub(crate) path: &'static str,
    pub(crate) path_type: &'static str,
    pub(crate) backend: Backend,
}

/// networking.k8s.io/v1 IngressBackend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Backend {
    pub(crate) service: BackendService,
}

/// networking.k8s.io/v1 IngressServiceBackend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BackendService {
    pub(crate) name: String,
    pub(crate) port: BackendPort,
}

/// networking.k8s.io/v1 ServiceBackendPort.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BackendPort {
    pub(crate) number: u16,
}

/// policy/v1 PodDisruptionBudgetSpec.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BudgetSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) min_available: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_unavailable: Option<Value>,
    pub(crate) selector: LabelSelector,
}

/// autoscaling/v2 HorizontalPodAutoscalerSpec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AutoscalerSpec {
    pub(crate) scale_target_ref: ScaleTarget,
    pub(crate) min_replicas: i32,
    pub(crate) max_replicas: i32,
    pub(crate) metrics: Vec<Metric>,
}

/// autoscaling/v2 CrossVersionObjectReference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScaleTarget {
    pub(crate) api_version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) name: String,
}

/// autoscaling/v2 MetricSpec of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Metric {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) resource: ResourceMetric,
}

/// autoscaling/v2 ResourceMetricSource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ResourceMetric {
    pub(crate) name: &'static str,
    pub(crate) target: MetricTarget,
}

/// autoscaling/v2 MetricTarget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MetricTarget {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) average_utilization: i32,
}
