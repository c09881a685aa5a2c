//! The requests that a reconciliation asks for, and the answers to them. Requests are plain data: the controllers send
//! them to an apiserver (`operator/src/controllers`), the simulation to one in memory.

use kube::core::ApiResource;
pub use kubefoundry_controller_runtime::error::RequestError;
use kubefoundry_controller_runtime::metrics::Replicas;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::EventReason;
use crate::status::Force;

/// Whether a request changes the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The apiserver validates the request, and stores nothing.
    DryRun,
    /// The apiserver stores the result.
    Real,
}

/// A request about the deployment that is reconciled, or about an object in its namespace.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the documentation of a variant says what its fields are")]
pub enum Request {
    /// Applies an object server-side, with strict field validation: an unknown field is a refusal, not a silent drop.
    /// Answered with the object as stored.
    Apply { manager: String, object: Value, mode: Mode, force: Force },
    /// Reads an object; answered with none when it does not exist.
    Get { resource: ApiResource, name: String },
    /// Lists the objects with a label (`key=value`) in the namespace. Answered with an array.
    List { resource: ApiResource, labels: String },
    /// Reads the metadata of an object, so that the contents of a Secret never reach the operator.
    GetMetadata { resource: ApiResource, name: String },
    /// Deletes the object with this uid and its dependents, only in this `resourceVersion`.
    Delete { resource: ApiResource, name: String, uid: String, version: Option<String> },
    /// Changes an object by a JSON merge patch, which names the version that it changes. Answered with the object as
    /// stored.
    MergePatch { manager: String, resource: ApiResource, name: String, patch: Value },
    /// Changes the deployment outside of its status. Answered with [`Stored`].
    PatchDeployment { manager: String, patch: DeploymentPatch },
    /// Applies the status of the deployment server-side. Answered with [`Stored`].
    ApplyStatus { manager: String, status: Value, force: Force },
    /// Changes the status of the deployment by a JSON patch. Answered with [`Stored`].
    PatchStatus { manager: String, patch: Value },
    /// Publishes an event about the deployment. Never fails: an event is a courtesy.
    Publish { reason: EventReason, message: String },
    /// Asks whether the deployment may be recreated now ([`Turn`](crate::recreation::Turn)); with [`Turn::Now`] its place
    /// is taken.
    ///
    /// [`Turn::Now`]: crate::recreation::Turn::Now
    TakeTurn { is_approved: bool },
    /// Records a measurement in the metrics. Never fails.
    Record(Measurement),
}

/// A change of the deployment outside of its status.
#[derive(Debug, Clone, PartialEq)]
pub enum DeploymentPatch {
    /// A JSON patch. Its tests make it fail when the deployment changed in the meantime.
    Json(Value),
    /// A merge patch.
    Merge(Value),
}

/// A measurement of a reconciliation.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the documentation of a variant says what its fields are")]
pub enum Measurement {
    /// Phase and replicas of the deployment.
    Deployment { phase: String, replicas: Replicas },
    /// A provider was selected.
    Selection { provider: String, reason: String },
    /// The deployment is gone, or no longer concerns the controller.
    Gone,
    /// A recreation that no user asked for ended, ready in time or not.
    Recreation { is_ready: bool },
    /// A write of the status met a conflict with a colleague.
    Conflict,
    /// Status fields of another client were taken over.
    Takeover,
    /// Another client removed or changed what a binding added to a workload.
    BindingConflict,
}

/// The part of a written deployment that a reconciliation reads. The watch delivers the rest: to read the whole answer would
/// take more time than to send the request.
#[derive(Debug, Serialize, Deserialize)]
pub struct Stored {
    metadata: StoredMetadata,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredMetadata {
    uid: String,
    resource_version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deletion_timestamp: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    finalizers: Vec<String>,
}

/// The answer to a request: an object, none when the request returns none, or why the request failed.
pub type Answer = Result<Option<Value>, RequestError>;
