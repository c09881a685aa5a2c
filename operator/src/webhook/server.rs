//! `/mutate`, `/validate` and `/convert`.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Method, StatusCode};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kubefoundry_compiler::session::Session;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::review::{Request, Verdict};
use super::validate::{Creates, Outcome};
use super::{access_review, convert, default, validate};
use crate::runtime::server::{Handler, Response, method_not_allowed, response, text_response};

/// Maximum number of requests that are evaluated at a time; further ones wait. An evaluation takes milliseconds.
const MAX_CONCURRENT_REQUESTS: usize = 8;

/// What the webhooks have to know of the cluster.
pub(super) trait Cluster: Send + Sync + 'static {
    /// The evaluator for an API group.
    fn session(&self, group: &str) -> Availability;
    /// The providers that a namespace allows; none means all.
    fn allowed<'c>(&'c self, namespace: &'c str) -> BoxFuture<'c, Result<Option<Vec<String>>, String>>;
    /// Whether access is checked at all.
    fn checks_access(&self) -> bool;
    /// The reason why a user may not do something; none when the user may.
    fn access(&self, question: SubjectAccessReview) -> BoxFuture<'_, Option<String>>;
}

/// The state of the evaluator for an API group.
pub(super) enum Availability {
    /// The operator does not serve the group.
    NotServed,
    /// The caches are still filling.
    Starting,
    Ready(Evaluators),
}

/// Evaluators for an API group.
#[derive(Clone)]
pub(super) struct Evaluators {
    /// The evaluator for all providers.
    pub(super) session: Session,
    /// Evaluators that select among some providers only.
    pub(super) among: Among,
}

/// Returns an evaluator that selects among these providers only.
pub(super) type Among = Arc<dyn Fn(&[String]) -> Session + Send + Sync>;

/// What a request asks for.
#[derive(Clone, Copy, PartialEq)]
enum Task {
    Default,
    Validate,
}

/// Answers the requests of the apiserver.
pub(super) fn handler<C: Cluster>(cluster: Arc<C>) -> Handler {
    let places = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
    Arc::new(move |request| {
        let (cluster, places) = (Arc::clone(&cluster), Arc::clone(&places));
        async move {
            let task = match request.path.as_str() {
                "/mutate" => Some(Task::Default),
                "/validate" => Some(Task::Validate),
                "/convert" => None,
                _ => return text_response(StatusCode::NOT_FOUND, "expected /mutate, /validate or /convert"),
            };
            if request.method != Method::POST {
                return method_not_allowed("POST");
            }
            let content_type = request.content_type.as_deref().unwrap_or_default();
            if content_type.split(';').next().unwrap_or_default().trim() != "application/json" {
                return text_response(StatusCode::UNSUPPORTED_MEDIA_TYPE, "expected application/json");
            }
            // Limited, because each request holds its object as a tree.
            let Ok(_place) = places.acquire().await else {
                return text_response(StatusCode::SERVICE_UNAVAILABLE, "stopping");
            };
            let body = request.body;
            let Some(task) = task else {
                return match run_blocking(move || convert::convert(&body)).await {
                    Some(converted) => json(converted),
                    None => internal_error(),
                };
            };
            let Some(read) = run_blocking(move || Request::read(&body)).await else { return internal_error() };
            match read {
                Ok(request) => admit(&*cluster, task, request).await,
                Err(error) => text_response(StatusCode::BAD_REQUEST, error),
            }
        }
        .boxed()
    })
}

/// Answers an admission request.
async fn admit<C: Cluster>(cluster: &C, task: Task, request: Request) -> Response {
    let uid = request.uid.clone();
    let verdict = if request.written().is_none() {
        Verdict::allow()
    } else {
        match (cluster.session(&request.kind.group), request.kind.kind.as_str()) {
            (Availability::Ready(evaluators), kubefoundry_model::wire::KIND) => {
                match deployment(cluster, task, evaluators, request).await {
                    Some(verdict) => verdict,
                    None => return internal_error(),
                }
            }
            (Availability::Starting, kubefoundry_model::wire::KIND) => {
                return text_response(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "the operator is starting: its caches are not filled yet",
                );
            }
            (Availability::Ready(_) | Availability::Starting, kubefoundry_model::wire::CONFIGURATION_KIND)
                if task == Task::Validate =>
            {
                match run_blocking(move || validate::configuration(&request)).await {
                    Some(outcome) => outcome.verdict,
                    None => return internal_error(),
                }
            }
            _ => Verdict::allow(),
        }
    };
    json(Ok(verdict.answer(&uid)))
}

/// Reviews a ModelDeployment; none when that panicked.
async fn deployment<C: Cluster>(cluster: &C, task: Task, evaluators: Evaluators, request: Request) -> Option<Verdict> {
    if task == Task::Default {
        return run_blocking(move || default::review(&request, &evaluators.session)).await;
    }
    let allowed = if request.changes_spec() { cluster.allowed(&request.namespace).await } else { Ok(None) };
    let allowed = match allowed {
        Ok(allowed) => allowed,
        Err(error) => {
            let message = format!("what namespace {:?} allows cannot be read: {error}", request.namespace);
            return Some(Verdict::forbid(&message));
        }
    };
    let request = Arc::new(request);
    let about = Arc::clone(&request);
    let Outcome { verdict, creates } =
        run_blocking(move || validate::deployment(&about, &evaluators, allowed.as_deref())).await?;
    let refusal = match creates {
        Creates::Nothing => None,
        _ if !cluster.checks_access() => None,
        Creates::Unknown => Some("the access of the user cannot be checked: no provider can be chosen yet".to_owned()),
        Creates::Kind(kind) => {
            cluster.access(access_review::question(&request.user_info, &kind, &request.namespace)).await
        }
    };
    let verdict = refusal.map_or(verdict, |refusal| Verdict::forbid(&refusal));
    if !verdict.is_allowed() {
        let (namespace, name) = (&request.namespace, &request.name);
        let user = request.user_info.username.as_deref().unwrap_or_default();
        tracing::info!(namespace, name, user, "refused a ModelDeployment");
    }
    Some(verdict)
}

/// Runs work on a blocking thread, so that a large object does not delay other requests. None when it panicked.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

fn internal_error() -> Response {
    tracing::error!("an admission request could not be answered; this is a bug");
    text_response(StatusCode::INTERNAL_SERVER_ERROR, "internal error")
}

fn json(body: Result<Value, String>) -> Response {
    match body {
        Ok(body) => response(StatusCode::OK, "application/json", body.to_string()),
        Err(error) => text_response(StatusCode::BAD_REQUEST, error),
    }
}

#[cfg(test)]
mod tests;
