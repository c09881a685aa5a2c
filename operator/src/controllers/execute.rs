//! Sends the requests of a reconciliation to the apiserver.

use http::{Method, Request as HttpRequest};
use kube::api::{DeleteParams, GetParams, ListParams, Patch, PatchParams, Preconditions, PropagationPolicy};
use kube::core::{self, ApiResource, DynamicObject};
use kube::{Api, Resource as _};
use kubefoundry_controller_runtime::events::Recorder;
use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_deployment::wire::Phase;
use kubefoundry_kubernetes::wire::StringEnum as _;
use kubefoundry_reconcile::cached_object::CachedObject;
use kubefoundry_reconcile::provider;
use kubefoundry_reconcile::recreation::Turn;
use kubefoundry_reconcile::request::{Answer, DeploymentPatch, Measurement, Mode, Request, RequestError, Stored};
use kubefoundry_reconcile::status::Force;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::now;
use super::turns::Turns;
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
                self.send(self.requests(&resource).patch(name, &params, &Patch::Apply(&object))).await
            }
            Request::Get { resource, name } => {
                self.note_name(&resource, &name);
                found(self.send(self.requests(&resource).get(&name, &GetParams::default())).await)
            }
            Request::List { resource, labels } => {
                self.reading.iter().for_each(|reading| reading.note_label(&resource, &labels));
                let listed = self.api(&resource).list(&ListParams::default().labels(&labels)).await?;
                to_answer(&listed.items)
            }
            Request::MergePatch { manager, resource, name, patch } => {
                let params = PatchParams { field_manager: Some(manager), ..PatchParams::default() };
                self.send(self.requests(&resource).patch(&name, &params, &Patch::Merge(&patch))).await
            }
            Request::GetMetadata { resource, name } => {
                found(self.send(self.requests(&resource).get_metadata(&name, &GetParams::default())).await)
            }
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
                self.events.publish(&self.deployment.object_ref(self.resource), reason.kind(), &message).await;
                Ok(None)
            }
            Request::TakeTurn { is_approved } => {
                let now = now();
                let turn = self.turns.map_or(Turn::Now, |turns| turns.take(self.deployment, is_approved, now));
                to_answer(&turn)
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

    /// Returns the builder of requests for objects of a kind in the deployment's namespace.
    fn requests(&self, resource: &ApiResource) -> core::Request {
        core::Request::new(DynamicObject::url_path(resource, Some(self.deployment.namespace())))
    }

    /// Sends a request, and returns the answer as it was sent: kube's `Api` would read it into a typed object, which would
    /// have to be written and read again.
    async fn send(&self, request: Result<HttpRequest<Vec<u8>>, core::request::Error>) -> Answer {
        self.request(request).await.map(Some)
    }

    /// Sends a write of the deployment.
    async fn write(&self, request: Result<HttpRequest<Vec<u8>>, core::request::Error>) -> Answer {
        to_answer(&self.request::<Stored>(request).await?)
    }

    async fn request<T: DeserializeOwned>(
        &self,
        request: Result<HttpRequest<Vec<u8>>, core::request::Error>,
    ) -> Result<T, RequestError> {
        Ok(self.client.request(request.map_err(kube::Error::BuildRequest)?).await?)
    }

    fn note_name(&self, resource: &ApiResource, name: &str) {
        self.reading.iter().for_each(|reading| reading.note_name(resource, name));
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
        let (requests, name) = (self.requests(self.resource), self.deployment.name());
        self.write(requests.patch_subresource("status", name, &params, &Patch::Apply(&object))).await
    }

    /// Changes the deployment or a subresource of it. kube's `Api` types JSON patches with a crate of its own, which the
    /// patches here do not need.
    async fn patch_deployment(&self, subresource: &str, manager: &str, patch: DeploymentPatch) -> Answer {
        let (content_type, body) = match patch {
            DeploymentPatch::Json(patch) => ("application/json-patch+json", patch),
            DeploymentPatch::Merge(patch) => ("application/merge-patch+json", patch),
        };
        let url = DynamicObject::url_path(self.resource, Some(self.deployment.namespace()));
        let request = HttpRequest::builder()
            .method(Method::PATCH)
            .uri(format!("{url}/{}{subresource}?fieldManager={manager}", self.deployment.name()))
            .header(http::header::CONTENT_TYPE, content_type)
            .body(body.to_string().into_bytes());
        self.write(request.map_err(core::request::Error::BuildRequest)).await
    }

    fn record(&self, measurement: Measurement) {
        let metrics = self.metrics;
        let (namespace, name) = (self.deployment.namespace(), self.deployment.name());
        match measurement {
            Measurement::Deployment { phase, replicas } => {
                metrics.set_deployment(namespace, name, known_phase(&phase), replicas);
            }
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

/// Returns the static string of a phase; an unknown phase becomes `Unknown`.
fn known_phase(phase: &str) -> &'static str {
    Phase::VARIANTS.iter().map(|(word, _)| *word).find(|word| *word == phase).unwrap_or("Unknown")
}

/// Returns the parameters of a server-side apply, with strict field validation.
fn apply_params(manager: &str, force: Force) -> PatchParams {
    PatchParams { force: force == Force::Yes, ..PatchParams::apply(manager).validation_strict() }
}

fn to_answer(found: &impl Serialize) -> Answer {
    serde_json::to_value(found).map(Some).map_err(|error| RequestError::Failed(error.to_string()))
}

/// Returns the answer to a read: none for an object that does not exist.
fn found(answer: Answer) -> Answer {
    match answer {
        Err(error) if error.has_code(404) => Ok(None),
        answer => answer,
    }
}
