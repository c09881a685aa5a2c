//! The client for the apiserver, which counts every request.

use std::sync::Arc;

use http::{Method, Request};
use kube::client::{Body, ClientBuilder};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use tower::util::MapRequestLayer;

use crate::args::Cluster;
use crate::runtime::metrics::Metrics;

/// Creates a client with the kubeconfig of the flags, or with the pod's service account.
///
/// # Errors
/// The reason why there is no usable configuration.
pub(crate) async fn connect(cluster: &Cluster, metrics: Arc<Metrics>) -> Result<kube::Client, String> {
    let config = config(cluster).await?;
    let count = MapRequestLayer::new(move |request: Request<Body>| {
        let (verb, resource) = request_labels(&request);
        metrics.count_request(verb, &resource);
        request
    });
    let builder = ClientBuilder::try_from(config).map_err(|error| format!("cannot create a client: {error}"))?;
    Ok(builder.with_layer(&count).build())
}

async fn config(cluster: &Cluster) -> Result<Config, String> {
    let options = KubeConfigOptions { context: cluster.context.clone(), ..KubeConfigOptions::default() };
    let config = match &cluster.kubeconfig {
        Some(path) => {
            let kubeconfig = Kubeconfig::read_from(path).map_err(|error| error.to_string())?;
            Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| error.to_string())
        }
        None if cluster.context.is_some() => Config::from_kubeconfig(&options).await.map_err(|error| error.to_string()),
        None => Config::infer().await.map_err(|error| error.to_string()),
    };
    config.map_err(|error| format!("no usable cluster configuration: {error}"))
}

/// Returns the labels of a request in metrics: its verb, and the resource with the subresource (`apply`,
/// `modeldeployments/status`).
fn request_labels(request: &Request<Body>) -> (&'static str, String) {
    let segments: Vec<&str> = request.uri().path().split('/').filter(|segment| !segment.is_empty()).collect();
    let (["api", _, rest @ ..] | ["apis", _, _, rest @ ..]) = segments.as_slice() else {
        return (verb(request, false), "discovery".to_owned());
    };
    // A path below `namespaces/<name>` is about a resource in it, unless only a subresource of the namespace follows.
    let path = match rest {
        ["namespaces", _, resource, path @ ..] if !matches!(*resource, "status" | "finalize") => (*resource, path),
        [resource, path @ ..] => (*resource, path),
        [] => return (verb(request, false), "discovery".to_owned()),
    };
    let (resource, is_named) = match path {
        (resource, [_, subresource, ..]) => (format!("{resource}/{subresource}"), true),
        (resource, path) => (resource.to_owned(), !path.is_empty()),
    };
    (verb(request, is_named), resource)
}

/// Returns the verb of a request as RBAC names it; `apply` for server-side apply. `is_named` tells `get` from `list`.
fn verb(request: &Request<Body>, is_named: bool) -> &'static str {
    let query = request.uri().query().unwrap_or_default();
    let is_apply = || {
        let content = request.headers().get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        content.is_some_and(|content| content.starts_with("application/apply-patch"))
    };
    match *request.method() {
        Method::GET if query.split('&').any(|part| part == "watch=true") => "watch",
        Method::GET if is_named => "get",
        Method::GET => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH if is_apply() => "apply",
        Method::PATCH => "patch",
        Method::DELETE if is_named => "delete",
        Method::DELETE => "deletecollection",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_counted_by_verb_and_resource() {
        let labels_of = |method: &str, uri: &str, content: &str| {
            let request = Request::builder().method(method).uri(uri).header("content-type", content);
            let (verb, resource) = request_labels(&request.body(Body::empty()).unwrap());
            format!("{verb} {resource}")
        };
        let ml = "/apis/kubefoundry.ai/v1alpha1/namespaces/ml/modeldeployments";
        assert_eq!(labels_of("GET", ml, ""), "list modeldeployments");
        assert_eq!(labels_of("GET", &format!("{ml}?&watch=true&x=1"), ""), "watch modeldeployments");
        assert_eq!(labels_of("GET", &format!("{ml}/phi"), ""), "get modeldeployments");
        let apply = "application/apply-patch+yaml";
        assert_eq!(labels_of("PATCH", &format!("{ml}/phi/status?force=true"), apply), "apply modeldeployments/status");
        assert_eq!(labels_of("PATCH", &format!("{ml}/phi"), "application/json-patch+json"), "patch modeldeployments");
        assert_eq!(labels_of("GET", "/api/v1/namespaces", ""), "list namespaces");
        assert_eq!(labels_of("GET", "/api/v1/namespaces/ml", ""), "get namespaces");
        assert_eq!(labels_of("DELETE", "/api/v1/namespaces/ml/configmaps/a", ""), "delete configmaps");
        assert_eq!(labels_of("PUT", "/api/v1/namespaces/ml/status", ""), "update namespaces/status");
        assert_eq!(labels_of("GET", "/version", ""), "list discovery");
    }
}
