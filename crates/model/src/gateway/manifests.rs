//! `HTTPRoute` and `InferencePool`, as far as they are written. Fields are emitted in the order of their declaration.
//!
//! Sources: config/crd/standard/gateway.networking.k8s.io_httproutes.yaml of kubernetes-sigs/gateway-api, and
//! config/crd/bases/inference.networking.k8s.io_inferencepools.yaml of
//! kubernetes-sigs/gateway-api-inference-extension.

use serde::Serialize;

use super::settings::Parent;
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::pod::{SpecBody, StringMap};

/// The kind of the route.
pub const HTTP_ROUTE: &str = "HTTPRoute";
/// The kind of the pool.
pub const INFERENCE_POOL: &str = "InferencePool";
const ROUTE_VERSION: &str = "gateway.networking.k8s.io/v1";
pub(super) const POOL_VERSION: &str = "inference.networking.k8s.io/v1";
const POOL_GROUP: &str = "inference.networking.k8s.io";

/// The header into which a body-based router copies the name of the model from the request (pkg/bbr/README.md of
/// kubernetes-sigs/gateway-api-inference-extension).
const MODEL_HEADER: &str = "X-Gateway-Model-Name";
/// The time for a whole response, as in airunway. The default of many Gateways is shorter than a long answer takes.
const TIMEOUT: &str = "300s";

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct HttpRouteSpec {
    parent_refs: [ParentRef; 1],
    rules: [Rule; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ParentRef {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    section_name: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    matches: [Match; 1],
    backend_refs: [BackendRef; 1],
    timeouts: Timeouts,
}

#[derive(Debug, Serialize)]
struct Match {
    path: PathMatch,
    headers: [HeaderMatch; 1],
}

#[derive(Debug, Serialize)]
struct PathMatch {
    r#type: &'static str,
    value: &'static str,
}

#[derive(Debug, Serialize)]
struct HeaderMatch {
    r#type: &'static str,
    name: &'static str,
    value: String,
}

#[derive(Debug, Serialize)]
struct BackendRef {
    group: &'static str,
    kind: &'static str,
    name: String,
}

#[derive(Debug, Serialize)]
struct Timeouts {
    request: &'static str,
}

/// Creates the route from a Gateway to the pool of the same name, for requests that name the model.
pub(super) fn http_route(name: &str, parent: Parent<'_>, model_name: &str) -> Manifest {
    let path = PathMatch { r#type: "PathPrefix", value: "/" };
    let header = HeaderMatch { r#type: "Exact", name: MODEL_HEADER, value: model_name.to_owned() };
    let spec = HttpRouteSpec {
        parent_refs: [ParentRef {
            name: parent.name.to_owned(),
            namespace: parent.namespace.map(str::to_owned),
            section_name: parent.section_name.map(str::to_owned),
        }],
        rules: [Rule {
            matches: [Match { path, headers: [header] }],
            backend_refs: [BackendRef { group: POOL_GROUP, kind: INFERENCE_POOL, name: name.to_owned() }],
            timeouts: Timeouts { request: TIMEOUT },
        }],
    };
    Manifest::new(ROUTE_VERSION, HTTP_ROUTE, name, SpecBody { spec })
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct InferencePoolSpec {
    selector: Selector,
    target_ports: [Port; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint_picker_ref: Option<EndpointPickerRef>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Selector {
    match_labels: StringMap,
}

#[derive(Debug, Serialize)]
struct Port {
    number: u16,
}

#[derive(Debug, Serialize)]
struct EndpointPickerRef {
    name: String,
    port: Port,
}

/// Creates the pool of the pods with these labels. `picker` is the name and the port of a Service.
pub(super) fn inference_pool(name: &str, labels: StringMap, port: u16, picker: Option<(String, u16)>) -> Manifest {
    let endpoint_picker_ref = picker.map(|(name, number)| EndpointPickerRef { name, port: Port { number } });
    let spec = InferencePoolSpec {
        selector: Selector { match_labels: labels },
        target_ports: [Port { number: port }],
        endpoint_picker_ref,
    };
    Manifest::new(POOL_VERSION, INFERENCE_POOL, name, SpecBody { spec })
}
