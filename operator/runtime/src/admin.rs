//! Answers to probes and to Prometheus: `/healthz`, `/readyz` and `/metrics`.
//!
//! Corresponds to `kubert::admin` (`/live`, `/ready`). kubert's `Readiness` is one boolean; this one names what is
//! missing and why, and `/readyz` prints that.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Method, StatusCode};

use super::metrics::Metrics;
use super::server::{Handler, Request, Response, method_not_allowed, response, text_response};
use crate::mutex::lock;

/// The conditions that hold before the program can do its work. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Readiness(Arc<Mutex<BTreeMap<&'static str, Option<String>>>>);

impl Readiness {
    /// Marks a condition as not met, and says why. Until [`Readiness::set_ready`] the program is not ready.
    pub fn set_pending(&self, condition: &'static str, reason: impl Into<String>) {
        self.lock().insert(condition, Some(reason.into()));
    }

    /// Updates the reason of a condition that is not met; a condition that was met once stays met.
    pub fn update_pending(&self, condition: &'static str, reason: impl Into<String>) {
        let mut conditions = self.lock();
        if !matches!(conditions.get(condition), Some(None)) {
            conditions.insert(condition, Some(reason.into()));
        }
    }

    /// Marks a condition as met.
    pub fn set_ready(&self, condition: &'static str) {
        self.lock().insert(condition, None);
    }

    /// Lists the conditions that are not met, one on each line: `caches: listing the cluster`.
    pub fn pending(&self) -> Vec<String> {
        let conditions = self.lock();
        conditions.iter().filter_map(|(name, reason)| Some(format!("{name}: {}", reason.as_deref()?))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Option<String>>> {
        lock(&self.0)
    }
}

/// Answers `/healthz` as soon as the process runs, and `/readyz` once nothing is pending.
pub fn health_handler(readiness: Readiness) -> Handler {
    Arc::new(move |request| {
        ready(match request.path.as_str() {
            "/healthz" | "/readyz" if !is_read(&request) => method_not_allowed("GET, HEAD"),
            "/healthz" => text_response(StatusCode::OK, "ok"),
            "/readyz" => {
                let pending = readiness.pending();
                if pending.is_empty() {
                    text_response(StatusCode::OK, "ok")
                } else {
                    text_response(StatusCode::SERVICE_UNAVAILABLE, pending.join("\n"))
                }
            }
            _ => text_response(StatusCode::NOT_FOUND, "expected /healthz or /readyz"),
        })
    })
}

/// Answers `/metrics`.
pub fn metrics_handler(metrics: Arc<Metrics>) -> Handler {
    Arc::new(move |request| {
        ready(match request.path.as_str() {
            "/metrics" if is_read(&request) => {
                response(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", metrics.text())
            }
            "/metrics" => method_not_allowed("GET, HEAD"),
            _ => text_response(StatusCode::NOT_FOUND, "expected /metrics"),
        })
    })
}

fn is_read(request: &Request) -> bool {
    request.method == Method::GET || request.method == Method::HEAD
}

fn ready(response: Response) -> BoxFuture<'static, Response> {
    std::future::ready(response).boxed()
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    async fn request(handler: &Handler, method: Method, path: &str) -> (u16, String) {
        let message = Request { method, path: path.to_owned(), content_type: None, body: bytes() };
        let response = handler(message).await;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    fn bytes() -> hyper::body::Bytes {
        hyper::body::Bytes::new()
    }

    #[tokio::test]
    async fn readyz_lists_pending_conditions() {
        let readiness = Readiness::default();
        readiness.set_pending("caches", "filling");
        let handler = health_handler(readiness.clone());
        let get = async |path: &str| request(&handler, Method::GET, path).await;
        assert_eq!(get("/healthz").await, (200, "ok\n".to_owned()));
        assert_eq!(get("/readyz").await, (503, "caches: filling\n".to_owned()));
        readiness.set_ready("caches");
        readiness.update_pending("caches", "cleared before");
        assert_eq!(get("/readyz").await, (200, "ok\n".to_owned()));
        assert_eq!(get("/").await.0, 404);
        assert_eq!(request(&handler, Method::POST, "/readyz").await.0, 405);
    }

    #[tokio::test]
    async fn metrics_are_read_only() {
        let handler = metrics_handler(Arc::default());
        let (status, text) = request(&handler, Method::GET, "/metrics").await;
        assert_eq!(status, 200);
        assert!(text.contains("kubefoundry_build_info{"), "{text}");
        assert_eq!(request(&handler, Method::POST, "/metrics").await.0, 405);
        assert_eq!(request(&handler, Method::GET, "/").await.0, 404);
    }
}
