//! The objects around the pod.

use serde::Serialize;
use serde_json::Value;

use super::LabelSelector;
use crate::model::providers::pod::StringMap;

/// core/v1 ServiceSpec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::llamastack) struct ServiceSpec {
    #[serde(rename = "type")]
    pub(in crate::llamastack) kind: &'static str,
    pub(in crate::llamastack) selector: StringMap,
    pub(in crate::llamastack) ports: [ServicePort; 1],
}

/// core/v1 ServicePort.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::llamastack) struct ServicePort {
    pub(in crate::llamastack) name: &'static str,
    pub(in crate::llamastack) protocol: &'static str,
    pub(in crate::llamastack) port: u16,
    pub(in crate::llamastack) target_port: u16,
}

/// core/v1 PersistentVolumeClaimSpec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::llamastack) struct ClaimSpec {
    pub(in crate::llamastack) access_modes: [&'static str; 1],
    pub(in crate::llamastack) resources: ClaimResources,
}

/// How much a claim asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::llamastack) struct ClaimResources {
    pub(in crate::llamastack) requests: StringMap,
}

/// The body of a ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::llamastack) struct ConfigMapBody {
    pub(in crate::llamastack) data: StringMap,
}

/// The body of an object that is nothing but its metadata.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::llamastack) struct NoBody {}

/// The body of a RoleBinding (rbac.authorization.k8s.io/v1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::llamastack) struct RoleBindingBody {
    pub(in crate::llamastack) subjects: [Subject; 1],
    pub(in crate::llamastack) role_ref: RoleRef,
}

/// Who is bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::llamastack) struct Subject {
    pub(in crate::llamastack) kind: &'static str,
    pub(in crate::llamastack) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::llamastack) namespace: Option<String>,
}

/// What to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::llamastack) struct RoleRef {
    pub(in crate::llamastack) api_group: &'static str,
    pub(in crate::llamastack) kind: &'static str,
    pub(in crate::llamastack) name: String,
}

/// networking.k8s.io/v1 NetworkPolicySpec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::llamastack) struct NetworkPolicySpec {
    pub(in crate::llamastack) pod_selector: LabelSelector,
    pub(in crate::llamastack) policy_types: [&'static str; 1],
    pub(in crate::llamastack) ingress: [IngressRule; 1],
}

/// networking.k8s.io/v1 NetworkPolicyIngressRule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::llamastack) struct IngressRule {
    pub(in crate::llamastack) from: Vec<Peer>,
    pub(in crate::llamastack) ports: [PolicyPort; 1],
}

/// networking.k8s.io/v1 NetworkPolicyPeer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::llamastack) enum Peer {
    #[serde(rename = "podSelector")]
    Pods(LabelSelector),
    #[serde(rename = "namespaceSelector")]
    Namespaces(LabelSelector),
}

/// networking.k8s.io/v1 NetworkPolicyPort.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::llamastack) struct PolicyPort {
    pub(in crate::llamastack) protocol: &'static str,
    pub(in crate::llamastack) port: u16,
}

/// networking.k8s.io/v1 IngressSpec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::llamastack) struct IngressSpec {
    pub(in crate::llamastack) rules: [HttpRule; 1],
}

/// A rule without a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::llamastack) struct HttpRule {
    pub(in crate::llamastack) http: HttpPaths,
}

/// networking.k8s.io/v1 HTTPIngressRuleValue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::llamastack) struct HttpPaths {
    pub(in crate::llamastack) paths: [HttpPath; 1],
}

/// networking.k8s.io/v1 HTTPIngressPath.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::llamastack) struct HttpPath {
    pub(in crate::llamastack) path: &'static str,
    pub(in crate::llamastack) path_type: &'static str,
    pub(in crate::llamastack) backend: Backend,
}

/// networking.k8s.io/v1 IngressBackend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::llamastack) struct Backend {
    pub(in crate::llamastack) service: BackendService,
}

/// networking.k8s.io/v1 IngressServiceBackend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::llamastack) struct BackendService {
    pub(in crate::llamastack) name: String,
    pub(in crate::llamastack) port: BackendPort,
}

/// networking.k8s.io/v1 ServiceBackendPort.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::llamastack) struct BackendPort {
    pub(in crate::llamastack) number: u16,
}

/// policy/v1 PodDisruptionBudgetSpec.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::llamastack) struct BudgetSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::llamastack) min_available: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::llamastack) max_unavailable: Option<Value>,
    pub(in crate::llamastack) selector: LabelSelector,
}

/// autoscaling/v2 HorizontalPodAutoscalerSpec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::llamastack) struct AutoscalerSpec {
    pub(in crate::llamastack) scale_target_ref: ScaleTarget,
    pub(in crate::llamastack) min_replicas: i32,
    pub(in crate::llamastack) max_replicas: i32,
    pub(in crate::llamastack) metrics: Vec<Metric>,
}

/// autoscaling/v2 CrossVersionObjectReference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::llamastack) struct ScaleTarget {
    pub(in crate::llamastack) api_version: &'static str,
    pub(in crate::llamastack) kind: &'static str,
    pub(in crate::llamastack) name: String,
}

/// autoscaling/v2 MetricSpec of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::llamastack) struct Metric {
    #[serde(rename = "type")]
    pub(in crate::llamastack) kind: &'static str,
    pub(in crate::llamastack) resource: ResourceMetric,
}

/// autoscaling/v2 ResourceMetricSource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::llamastack) struct ResourceMetric {
    pub(in crate::llamastack) name: &'static str,
    pub(in crate::llamastack) target: MetricTarget,
}

/// autoscaling/v2 MetricTarget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::llamastack) struct MetricTarget {
    #[serde(rename = "type")]
    pub(in crate::llamastack) kind: &'static str,
    pub(in crate::llamastack) average_utilization: i32,
}
