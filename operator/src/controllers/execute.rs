//! Sends the requests of a reconciliation to the apiserver.

use http::{Method, Request as HttpRequest};
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions, PropagationPolicy};
use kube::core::{ApiResource, DynamicObject};
use serde::Serialize;
use serde_json::{Value, json};

use super::turns::Turns;
use crate::cached_object::CachedObject;
use crate::reconcile::provider;
use crate::reconcile::request::{Answer, DeploymentPatch, Measurement, Mode, Request, RequestError};
use crate::recreation::Turn;
use crate::runtime::events::Recorder;
use crate::runtime::metrics::Metrics;
use crate::status::{self, Force};
use crate::watch::Reading;

/// The deployment whose reconciliation asks, and where the requests go.
pub(crate) struct Executor<'e> {
    pub(crate) client: &'e kube::Client,
    /// The kind of the deployment.
    pub(crate) resource: &'e ApiResource,
    pub(crate) events: &'e Recorder,
    pub(crate) metrics: &'e Metrics,
    pub(crate) deployment: &'e CachedObject,
    /// The name of the controller, for metrics.
    pub(crate) controller: &'static str,
    /// The turns of recreations; none for a controller that never asks.
    pub(crate) turns: Option<&'e Turns>,
    /// Notes what is read, for a controller without a cache of it.
    pub(crate) reading: Option<&'e Reading>,
}

impl Executor<'_> {
    /// Sends a request, and returns the answer.
    pub(crate) async fn execute(&self, request: Request) -> Answer {
        match request {
            Request::Apply { manager, object, mode, force } => {
                let params = PatchParams { dry_run: mode == Mode::DryRun, ..apply_params(&manager, force) };
                let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
                let resource = provider::resource(&object);
                self.note_name(&resource, name);
                let api = self.api(&resource);
                answer(api.patch(name, &params, &Patch::Apply(&object)).await)
            }
            Request::Get { resource, name } => {
                self.note_name(&resource, &name);
                found(self.api(&resource).get_opt(&name).await)
            }
            Request::List { resource, labels } => {
                self.reading.iter().for_each(|reading| reading.note_label(&resource, &labels));
                let listed = self.api(&resource).list(&ListParams::default().labels(&labels)).await;
                answer(listed.map(|list| list.items))
            }
            Request::MergePatch { manager, resource, name, patch } => {
                let params = PatchParams { field_manager: Some(manager), ..PatchParams::default() };
                answer(self.api(&resource).patch(&name, &params, &Patch::Merge(&patch)).await)
            }
            Request::GetMetadata { resource, name } => found(self.api(&resource).get_metadata_opt(&name).await),
            Request::Delete { resource, name, uid, version } => {
                let params = DeleteParams {
                    propagation_policy: Some(PropagationPolicy::Background),
                    preconditions: Some(Preconditions { uid: Some(uid), resource_version: version }),
                    ..DeleteParams::default()
                };
                self.api(&resource).delete(&name, &params).await.map(|_| None).map_err(RequestError::from)
            }
            Request::PatchDeployment { manager, patch } => self.patch_deployment("", &manager, patch).await,
            Request::PatchStatus { manager, patch } => {
                self.patch_deployment("/status", &manager, DeploymentPatch::Json(patch)).await
            }
            Request::ApplyStatus { manager, status, force } => self.apply_status(&manager, &status, force).await,
            Request::Publish { reason, message } => {
                self.events.publish(self.deployment, reason, &message).await;
                Ok(None)
            }
            Request::TakeTurn { is_approved } => {
                let now = status::now();
                let turn = self.turns.map_or(Turn::Now, |turns| turns.take(self.deployment, is_approved, now));
                serde_json::to_value(turn).map(Some).map_err(|error| RequestError::Failed(error.to_string()))
            }
            Request::Record(measurement) => {
                self.record(measurement);
                Ok(None)
            }
        }
    }

    fn api(&self, resource: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), self.deployment.namespace(), resource)
    }

    fn note_name(&self, resource: &ApiResource, name: &str) {
        self.reading.iter().for_each(|reading| reading.note_name(resource, name));
    }

    fn deployments(&self) -> Api<DynamicObject> {
        self.api(self.resource)
    }

    /// Applies the status. The uid makes the apply fail if the deployment was deleted or replaced by one of the same
    /// name. Without it, the apply would create a deployment.
    async fn apply_status(&self, manager: &str, status: &Value, force: Force) -> Answer {
        let object = json!({
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {
                "name": self.deployment.name(),
                "namespace": self.deployment.namespace(),
                "uid": self.deployment.uid(),
            },
            "status": status,
        });
        // The CRD of a claimed object may be that of another operator, which knows fewer fields.
        let params = match self.reading {
            Some(_) => PatchParams { force: force == Force::Yes, ..PatchParams::apply(manager) },
            None => apply_params(manager, force),
        };
        answer(self.deployments().patch_status(self.deployment.name(), &params, &Patch::Apply(&object)).await)
    }

    /// Changes the deployment or a subresource of it. kube's `Api` types JSON patches with a crate of its own, which the
    /// patches here do not need.
    async fn patch_deployment(&self, subresource: &str, manager: &str, patch: DeploymentPatch) -> Answer {
        let (content_type, body) = match patch {
            DeploymentPatch::Json(patch) => ("application/json-patch+json", patch),
            DeploymentPatch::Merge(patch) => ("application/merge-patch+json", patch),
        };
        let (url, name) = (self.deployments().resource_url().to_owned(), self.deployment.name());
        let request = HttpRequest::builder()
            .method(Method::PATCH)
            .uri(format!("{url}/{name}{subresource}?fieldManager={manager}"))
            .header(http::header::CONTENT_TYPE, content_type)
            .body(body.to_string().into_bytes())
            .map_err(kube::Error::HttpError)?;
        answer(self.client.request::<Value>(request).await)
    }

    fn record(&self, measurement: Measurement) {
        let metrics = self.metrics;
        let (namespace, name) = (self.deployment.namespace(), self.deployment.name());
        match measurement {
            Measurement::Deployment { phase, replicas } => metrics.set_deployment(namespace, name, &phase, replicas),
            Measurement::Selection { provider, reason } => metrics.count_selection(&provider, &reason),
            Measurement::Gone => metrics.forget(namespace, name),
            Measurement::Recreation { is_ready } => metrics.count_recreation(self.controller, is_ready),
            Measurement::Conflict => metrics.record_failure(self.controller, namespace, name, "conflict"),
            Measurement::Takeover => {
                tracing::info!(
                    controller = self.controller,
                    namespace,
                    deployment = name,
                    "took over status fields that another client wrote"
                );
                metrics.count_takeover(self.controller);
            }
            Measurement::BindingConflict => metrics.count_binding_conflict(self.controller),
        }
    }
}

/// Returns the parameters of a server-side apply, with strict field validation.
fn apply_params(manager: &str, force: Force) -> PatchParams {
    PatchParams { force: force == Force::Yes, ..PatchParams::apply(manager).validation_strict() }
}

fn answer<T: Serialize>(result: Result<T, kube::Error>) -> Answer {
    let object = result?;
    serde_json::to_value(&object).map(Some).map_err(|error| RequestError::Failed(error.to_string()))
}

fn found<T: Serialize>(result: Result<Option<T>, kube::Error>) -> Answer {
    result?.map_or(Ok(None), |object| answer(Ok(object)))
}
