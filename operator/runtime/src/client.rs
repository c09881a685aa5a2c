//! The client for the apiserver, which counts every request and limits the time of each.

use std::path::Path;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt as _, TryFutureExt as _};
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::{Body as HttpBody, Bytes};
use kube::client::{Body, ClientBuilder};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use tower::util::MapRequestLayer;
use tower::{BoxError, Layer, Service};

use crate::metrics::Metrics;

/// Creates a client with the given kubeconfig and context, or with the pod's service account.
///
/// # Errors
/// The reason why there is no usable configuration.
pub async fn connect(
    kubeconfig: Option<&Path>,
    context: Option<&str>,
    metrics: Arc<Metrics>,
) -> Result<kube::Client, String> {
    let config = config(kubeconfig, context).await?;
    let count = MapRequestLayer::new(move |request: Request<Body>| {
        let (verb, resource) = request_labels(&request);
        metrics.count_request(verb, &resource);
        request
    });
    let builder = ClientBuilder::try_from(config).map_err(|error| format!("cannot create a client: {error}"))?;
    Ok(builder.with_layer(&TimeoutLayer(REQUEST_TIMEOUT)).with_layer(&count).build())
}

/// Time for the whole response to a request, and for the head of the response to a watch. A connection that is dead
/// without an error otherwise holds its request for ever: TCP itself reports nothing while it waits to read.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Limits the time of requests. A watch that has begun has a limit of its own
/// ([`crate::watch`]).
///
/// `tower::timeout` covers neither the body of a response, nor does it tell watches apart.
struct TimeoutLayer(Duration);

impl<S> Layer<S> for TimeoutLayer {
    type Service = WithTimeout<S>;

    fn layer(&self, inner: S) -> WithTimeout<S> {
        WithTimeout { inner, limit: self.0 }
    }
}

struct WithTimeout<S> {
    inner: S,
    limit: Duration,
}

impl<S, B> Service<Request<Body>> for WithTimeout<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Error: Into<BoxError> + 'static,
    S::Future: Send + 'static,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Either<B, Full<Bytes>>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut task::Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let is_watch = verb(&request, true) == "watch";
        let (response, limit) = (self.inner.call(request).map_err(Into::into), self.limit);
        let whole = async move {
            let response = response.await?;
            if is_watch {
                return Ok(response.map(Either::Left));
            }
            let (head, body) = response.into_parts();
            // The client reads the body into memory as well.
            let body = body.collect().await.map_err(Into::into)?.to_bytes();
            Ok(Response::from_parts(head, Either::Right(Full::new(body))))
        };
        async move {
            let timed_out = |_| BoxError::from(format!("the apiserver did not answer within {limit:?}"));
            tokio::time::timeout(limit, whole).await.map_err(timed_out)?
        }
        .boxed()
    }
}

async fn config(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Config, String> {
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    let config = match kubeconfig {
        Some(path) => {
            let kubeconfig = Kubeconfig::read_from(path).map_err(|error| error.to_string())?;
            Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| error.to_string())
        }
        None if context.is_some() => Config::from_kubeconfig(&options).await.map_err(|error| error.to_string()),
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

    /// Answers the head of a response, and the body as well unless the path is `/stalls`.
    async fn answer(request: Request<Body>) -> Result<Response<Either<Full<Bytes>, Stalled>>, BoxError> {
        match request.uri().path() {
            "/never" => std::future::pending().await,
            "/stalls" => Ok(Response::new(Either::Right(Stalled))),
            _ => Ok(Response::new(Either::Left(Full::new(Bytes::from_static(b"whole"))))),
        }
    }

    /// A body of which no byte arrives.
    struct Stalled;

    impl HttpBody for Stalled {
        type Data = Bytes;
        type Error = BoxError;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut task::Context<'_>,
        ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, BoxError>>> {
            Poll::Pending
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_without_a_response_ends_at_its_limit() {
        let mut client = TimeoutLayer(Duration::from_secs(30)).layer(tower::service_fn(answer));
        let mut ask = |uri: &str| client.call(Request::get(uri).body(Body::empty()).unwrap());
        let whole = ask("/").await.unwrap().into_body().collect().await.unwrap().to_bytes();
        assert_eq!(&*whole, b"whole");
        for uri in ["/never", "/stalls", "/never?watch=true"] {
            let started = tokio::time::Instant::now();
            let error = ask(uri).await.err().unwrap().to_string();
            assert_eq!(error, "the apiserver did not answer within 30s", "{uri}");
            assert_eq!(started.elapsed().as_secs(), 30);
        }
        // The events of a watch may take as long as it lasts.
        assert!(ask("/stalls?watch=true").await.is_ok());
    }

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
