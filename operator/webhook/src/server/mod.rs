//! Routes the requests of the apiserver to `/mutate`, `/validate` and `/convert`.

use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt as _;
use futures::future::join_all;
use http::{Method, StatusCode};
use kubefoundry_compiler::verdict::AllowList;
use kubefoundry_controller_runtime::server::{Handler, Request, Response, method_not_allowed, response, text_response};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::cluster::{AdmissionContext, Availability, Evaluators};
use super::review::{AdmissionRequest, AdmissionResponse};
use super::validate::{Creates, Validation};
use super::{access_review, convert, default, validate};

/// Maximum number of requests that are evaluated at a time; further ones wait. An evaluation takes milliseconds.
const MAX_CONCURRENT_REQUESTS: usize = 8;

/// The webhook that a request is for.
#[derive(Clone, Copy, PartialEq)]
enum Task {
    Default,
    Validate,
}

/// The verdict on an object, as an extension of the response.
#[derive(Clone, Copy)]
struct IsAllowed(bool);

/// The verdict of a request that was not answered, or not with a review.
const ERROR: &str = "error";

/// Returns the value of the label `verdict` in metrics.
fn verdict(response: &Response) -> &'static str {
    match response.extensions().get::<IsAllowed>() {
        _ if !response.status().is_success() => ERROR,
        Some(IsAllowed(false)) => "refused",
        Some(IsAllowed(true)) | None => "allowed",
    }
}

/// Records a request when it ends: with an answer, with a panic, at the limit of the server, or because the client closed
/// the connection.
struct ObservedRequest<C: AdmissionContext> {
    cluster: Arc<C>,
    webhook: &'static str,
    started: Instant,
    verdict: &'static str,
}

impl<C: AdmissionContext> Drop for ObservedRequest<C> {
    fn drop(&mut self) {
        self.cluster.observe(self.webhook, self.verdict, self.started.elapsed());
    }
}

/// Answers the requests of the apiserver.
pub(super) fn handler<C: AdmissionContext>(cluster: Arc<C>) -> Handler {
    let permits = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
    Arc::new(move |request| {
        let (cluster, permits) = (Arc::clone(&cluster), Arc::clone(&permits));
        async move {
            let (webhook, task) = match request.path.as_str() {
                "/mutate" => ("mutate", Some(Task::Default)),
                "/validate" => ("validate", Some(Task::Validate)),
                "/convert" => ("convert", None),
                _ => return text_response(StatusCode::NOT_FOUND, "expected /mutate, /validate or /convert"),
            };
            let mut observed =
                ObservedRequest { cluster: Arc::clone(&cluster), webhook, started: Instant::now(), verdict: ERROR };
            let response = answer(&*cluster, &permits, task, request).await;
            observed.verdict = verdict(&response);
            response
        }
        .boxed()
    })
}

/// Answers a request to one of the webhooks; one without a task is for a conversion.
async fn answer<C: AdmissionContext>(
    cluster: &C,
    permits: &Semaphore,
    task: Option<Task>,
    request: Request,
) -> Response {
    if request.method != Method::POST {
        return method_not_allowed("POST");
    }
    let content_type = request.content_type.as_deref().unwrap_or_default();
    if content_type.split(';').next().unwrap_or_default().trim() != "application/json" {
        return text_response(StatusCode::UNSUPPORTED_MEDIA_TYPE, "expected application/json");
    }
    // Limited, because each request in progress holds its object as a tree in memory.
    let Ok(_permit) = permits.acquire().await else {
        return text_response(StatusCode::SERVICE_UNAVAILABLE, "stopping");
    };
    let body = request.body;
    let Some(task) = task else {
        return match run_blocking(move || convert::convert(&body)).await {
            Some(converted) => json(converted),
            None => internal_error(),
        };
    };
    let Some(parsed) = run_blocking(move || AdmissionRequest::parse(&body)).await else {
        return internal_error();
    };
    match parsed {
        Ok(request) => admit(cluster, task, request).await,
        Err(error) => text_response(StatusCode::BAD_REQUEST, error),
    }
}

/// Answers an admission request.
async fn admit<C: AdmissionContext>(cluster: &C, task: Task, request: AdmissionRequest) -> Response {
    let uid = request.uid.clone();
    let request = match scaled(cluster, task, request).await {
        Ok(request) => request,
        Err(refusal) => return json(Ok(refusal.into_review(&uid))),
    };
    let admission = if request.new_object().is_none() {
        AdmissionResponse::allow()
    } else {
        match (cluster.session(&request.kind.group), request.kind.kind.as_str()) {
            (Availability::Ready(evaluators), kubefoundry_deployment::wire::KIND) => {
                match review_deployment(cluster, task, evaluators, request).await {
                    Some(admission) => admission,
                    None => return internal_error(),
                }
            }
            (Availability::Starting, kubefoundry_deployment::wire::KIND) => {
                return text_response(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "the operator is starting: its caches are not filled yet",
                );
            }
            (Availability::Ready(_) | Availability::Starting, kubefoundry_deployment::wire::CONFIGURATION_KIND)
                if task == Task::Validate =>
            {
                match run_blocking(move || validate::configuration(&request)).await {
                    Some(outcome) => outcome.admission,
                    None => return internal_error(),
                }
            }
            _ => AdmissionResponse::allow(),
        }
    };
    let is_allowed = IsAllowed(admission.is_allowed());
    let mut response = json(Ok(admission.into_review(&uid)));
    response.extensions_mut().insert(is_allowed);
    response
}

/// Replaces a write of the scale subresource by the update of the ModelDeployment that it amounts to, and returns other
/// requests unchanged.
///
/// # Errors
/// The refusal of a write that has no effect, or of one whose deployment cannot be read.
async fn scaled<C: AdmissionContext>(
    cluster: &C,
    task: Task,
    request: AdmissionRequest,
) -> Result<AdmissionRequest, AdmissionResponse> {
    let group = request.scaled_group().filter(|_| task == Task::Validate).map(ToOwned::to_owned);
    let Some(group) = group else { return Ok(request) };
    match cluster.deployment(&group, &request.namespace, &request.name).await {
        Ok(Some(stored)) => match validate::refuse_scale(&request, &stored) {
            Some(refusal) => Err(refusal),
            None => Ok(request.scale(&group, stored)),
        },
        // The apiserver refuses it.
        Ok(None) => Ok(request),
        Err(error) => {
            Err(AdmissionResponse::forbid(&format!("cannot read ModelDeployment {:?}: {error}", request.name)))
        }
    }
}

/// Reviews a ModelDeployment; none when the review panicked.
async fn review_deployment<C: AdmissionContext>(
    cluster: &C,
    task: Task,
    evaluators: Evaluators,
    request: AdmissionRequest,
) -> Option<AdmissionResponse> {
    if task == Task::Default {
        return run_blocking(move || default::review(&request, &evaluators.session)).await;
    }
    let allowed = if request.changes_spec() {
        cluster.allow_list(&request.namespace).await
    } else {
        Ok(AllowList::parse(&request.namespace, None))
    };
    let allowed = match allowed {
        Ok(allowed) => allowed,
        Err(error) => {
            let message = format!("cannot read the allowed providers of namespace {:?}: {error}", request.namespace);
            return Some(AdmissionResponse::forbid(&message));
        }
    };
    let request = Arc::new(request);
    let shared = Arc::clone(&request);
    let Validation { admission, creates } =
        run_blocking(move || validate::deployment(&shared, &evaluators, &allowed)).await?;
    let refusal = match creates {
        Creates::Nothing => None,
        _ if !cluster.checks_access() => None,
        Creates::Unknown => Some("cannot check the access of the user: no provider can be selected yet".to_owned()),
        Creates::Kinds(kinds) => {
            let reviews =
                kinds.iter().map(|kind| access_review::create_review(&request.user_info, kind, &request.namespace));
            let refusals: Vec<String> =
                join_all(reviews.map(|review| cluster.check_access(review))).await.into_iter().flatten().collect();
            (!refusals.is_empty()).then(|| refusals.join("\n"))
        }
    };
    let admission = refusal.map_or(admission, |refusal| AdmissionResponse::forbid(&refusal));
    if !admission.is_allowed() {
        let (namespace, name) = (&request.namespace, &request.name);
        let user = request.user_info.username.as_deref().unwrap_or_default();
        tracing::info!(namespace, name, user, "refused a ModelDeployment");
    }
    Some(admission)
}

/// Runs work on a blocking thread, so that a large object does not delay other requests. None when it panicked.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

fn internal_error() -> Response {
    tracing::error!("an admission handler panicked; this is a bug");
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
