//! The objects of a server other than its pod, as the upstream operator creates them.
//!
//! Source: `controllers/manifests/base`, `pkg/deploy/plugins/networkpolicy_transformer.go`,
//! `controllers/network_resources.go` and `buildHPASpec` of `github.com/llamastack/llama-stack-k8s-operator`.

use serde_json::Value;

use super::pod::selector;
use super::server::{Budget, Network, Server};
use super::types::{
    AutoscalerSpec, Backend, BackendPort, BackendService, BudgetSpec, ClaimResources, ClaimSpec, ConfigMapBody,
    DeploymentSpec, EmptyBody, HttpPath, HttpPaths, HttpRule, IngressRule, IngressSpec, LabelExists, LabelSelector,
    Metric, MetricTarget, NetworkPolicySpec, Peer, PodSpec, PodTemplate, PolicyPort, ResourceMetric, RoleBindingBody,
    RoleRef, ScaleTarget, ServicePort, ServiceSpec, Strategy, Subject,
};
use crate::options::Options;
use kubefoundry_kubernetes::manifest::{Body, Manifest};
use kubefoundry_kubernetes::pod::{PodMetadata, SpecBody, StringMap};

/// Creates an object with the operator's labels.
fn object(api_version: &str, kind: &str, name: String, body: impl Body + 'static) -> Manifest {
    Manifest::new(api_version, kind, name, body)
        .with_label("app.kubernetes.io/managed-by", "llama-stack-operator")
        .with_label("app.kubernetes.io/part-of", "llama-stack")
        .with_label("llamastack.io/watch", "true")
}

/// Adds the labels that some objects have in addition to those of their pods.
fn of_instance(manifest: Manifest, server: &Server) -> Manifest {
    let labels = selector(server).0;
    labels.into_iter().fold(manifest, |manifest, (key, value)| manifest.with_label(key, value))
}

fn pods(server: &Server) -> LabelSelector {
    LabelSelector { match_labels: selector(server), ..LabelSelector::default() }
}

/// Creates a ConfigMap.
pub(super) fn config_map(name: String, data: Vec<(String, String)>) -> Manifest {
    object("v1", "ConfigMap", name, ConfigMapBody { data: StringMap(data) })
}

/// Returns the claim for models and data, if the server has storage.
pub(super) fn claim(server: &Server) -> Option<Manifest> {
    let size = server.storage.as_ref()?;
    let spec = ClaimSpec {
        access_modes: ["ReadWriteOnce"],
        resources: ClaimResources { requests: StringMap::from_entry("storage", size) },
    };
    Some(object("v1", "PersistentVolumeClaim", server.object_name("pvc"), SpecBody { spec }))
}

/// Returns the ServiceAccount, unless the user names an existing one.
pub(super) fn service_account(server: &Server) -> Option<Manifest> {
    server.service_account.is_none().then(|| object("v1", "ServiceAccount", server.object_name("sa"), EmptyBody {}))
}

/// Returns the binding of the ServiceAccount to a ClusterRole, if the options name one.
pub(super) fn role_binding(server: &Server, options: &Options<'_>) -> Option<Manifest> {
    let role = options.settings.cluster_role.clone()?;
    let namespace = server.namespace.clone();
    let body = RoleBindingBody {
        subjects: [Subject { kind: "ServiceAccount", name: server.service_account(), namespace }],
        role_ref: RoleRef { api_group: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    };
    Some(object("rbac.authorization.k8s.io/v1", "RoleBinding", server.object_name("rb"), body))
}

/// Returns the Service, if the server has one.
pub(super) fn service(server: &Server) -> Option<Manifest> {
    let port = server.port();
    let spec = ServiceSpec {
        kind: "ClusterIP",
        selector: selector(server),
        ports: [ServicePort { name: "http", protocol: "TCP", port, target_port: port }],
    };
    server.has_service().then(|| object("v1", "Service", server.object_name("service"), SpecBody { spec }))
}

/// Returns the NetworkPolicy, if the options enable it.
pub(super) fn network_policy(server: &Server, options: &Options<'_>) -> Option<Manifest> {
    let settings = &options.settings;
    if !settings.network_policy {
        return None;
    }
    let spec = NetworkPolicySpec {
        pod_selector: pods(server),
        policy_types: ["Ingress"],
        ingress: [IngressRule {
            from: peers(server.network.as_ref(), &settings.operator_namespace),
            ports: [PolicyPort { protocol: "TCP", port: server.port() }],
        }],
    };
    Some(object("networking.k8s.io/v1", "NetworkPolicy", server.object_name("network-policy"), SpecBody { spec }))
}

/// Returns the peers that may reach the server: its own namespace, the operator's, those that are named or labeled,
/// and the routers of OpenShift if the distribution has a section `network`.
fn peers(network: Option<&Network>, operator_namespace: &str) -> Vec<Peer> {
    let labeled = |key: &str, value: &str| {
        Peer::Namespaces(LabelSelector { match_labels: StringMap::from_entry(key, value), ..LabelSelector::default() })
    };
    let named = |name: &str| labeled("kubernetes.io/metadata.name", name);
    if network.is_some_and(|network| network.namespaces.iter().any(|name| name == "*")) {
        return vec![Peer::Namespaces(LabelSelector::default())];
    }
    let mut peers = vec![Peer::Pods(LabelSelector::default()), named(operator_namespace)];
    if let Some(network) = network {
        peers.extend(network.namespaces.iter().map(|name| named(name)));
        peers.extend(network.labels.iter().map(|key| {
            let exists = LabelExists { key: key.clone(), operator: "Exists" };
            Peer::Namespaces(LabelSelector { match_expressions: vec![exists], ..LabelSelector::default() })
        }));
        peers.push(labeled("network.openshift.io/policy-group", "ingress"));
    }
    peers
}

/// Returns the Ingress, if the distribution exposes a route.
pub(super) fn ingress(server: &Server) -> Option<Manifest> {
    let exposed = server.network.as_ref().is_some_and(|network| network.expose_route);
    let service = BackendService { name: server.object_name("service"), port: BackendPort { number: server.port() } };
    let path = HttpPath { path: "/", path_type: "Prefix", backend: Backend { service } };
    let spec = IngressSpec { rules: [HttpRule { http: HttpPaths { paths: [path] } }] };
    exposed.then(|| {
        Manifest::new("networking.k8s.io/v1", "Ingress", server.object_name("ingress"), SpecBody { spec })
            .with_label("app.kubernetes.io/managed-by", "llama-stack-operator")
            .with_label("app.kubernetes.io/instance", &server.name)
    })
}

/// Returns the disruption budget: the requested one, or at most one unavailable server of several.
pub(super) fn disruption_budget(server: &Server) -> Option<Manifest> {
    let settings = server.budget.clone().or_else(|| (server.replicas > 1).then(Budget::default))?;
    let Budget { min_available, mut max_unavailable } = settings;
    if min_available.is_none() && max_unavailable.is_none() {
        max_unavailable = Some(Value::from(1));
    }
    let spec = BudgetSpec { min_available, max_unavailable, selector: pods(server) };
    let manifest = object("policy/v1", "PodDisruptionBudget", server.object_name("pdb"), SpecBody { spec });
    Some(of_instance(manifest, server))
}

/// Returns the autoscaler, if the distribution has one.
pub(super) fn autoscaler(server: &Server) -> Option<Manifest> {
    let settings = server.autoscaling.as_ref()?;
    let metric = |name: &'static str, average_utilization: i32| Metric {
        kind: "Resource",
        resource: ResourceMetric { name, target: MetricTarget { kind: "Utilization", average_utilization } },
    };
    let cpu = settings.cpu.or_else(|| settings.memory.is_none().then_some(80));
    let metrics = [cpu.map(|it| metric("cpu", it)), settings.memory.map(|it| metric("memory", it))];
    let spec = AutoscalerSpec {
        scale_target_ref: ScaleTarget { api_version: "apps/v1", kind: "Deployment", name: server.name.clone() },
        min_replicas: settings.min,
        max_replicas: settings.max,
        metrics: metrics.into_iter().flatten().collect(),
    };
    let manifest = object("autoscaling/v2", "HorizontalPodAutoscaler", server.object_name("hpa"), SpecBody { spec });
    Some(of_instance(manifest, server))
}

/// Returns the Deployment. Its strategy stops the old pod first, because only one pod at a time can mount the claim.
pub(super) fn deployment(server: &Server, pod: PodSpec, annotations: StringMap) -> Manifest {
    let template = PodTemplate { metadata: PodMetadata { labels: selector(server), annotations }, spec: pod };
    let spec = DeploymentSpec {
        replicas: server.autoscaling.is_none().then_some(server.replicas),
        selector: pods(server),
        strategy: server.storage.is_some().then_some(Strategy { kind: "Recreate" }),
        template,
    };
    object("apps/v1", "Deployment", server.name.clone(), SpecBody { spec })
}
