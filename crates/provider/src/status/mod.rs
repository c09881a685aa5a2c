//! The status of a provider's object in the terms of a ModelDeployment (docs/specification.md, MD-7).
//!
//! ```text
//! object from the API server ─ ObservedObject ─ provider (phase, message, replicas, endpoint, parts) ─ Status
//! ```
//! A value that a provider's controller is not known to write is never interpreted. The status then has no phase, and
//! [`Status::unrecognized`] contains the value.

mod observed;

use serde::Serialize;
use serde_json::Value;

pub use observed::{ObservedObject, ProviderState, StatusSource, deletion_message, integer_at, text_or_empty};

use kubefoundry_deployment::wire::Phase;
use kubefoundry_kubernetes::wire::ConditionStatus;
use kubefoundry_transform::Endpoint;

/// The unified status of a provider's object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The phase. Absent if the object's state is unknown to this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// The provider's message. Empty if it has none.
    pub message: String,
    /// The replicas that serve. In disaggregated mode, those of both roles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<Replicas>,
    /// The Service that answers requests once the model runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// The unified conditions `ResourceCreated` and `Ready`.
    pub conditions: Vec<Condition>,
    /// The provider's own conditions, unchanged.
    pub provider_conditions: Vec<Condition>,
    /// The parts that the provider reports: components, clusters, applications.
    pub parts: Vec<StatusPart>,
    /// `metadata.generation` of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The generation that the controller observed last, if it reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The values in the object's status that this version does not know.
    pub unrecognized: Vec<UnrecognizedValue>,
}

impl Status {
    /// Returns whether the controller has not yet observed the last change of the object.
    ///
    /// ```
    /// use kubefoundry_composition::BUILTIN;
    /// use serde_json::json;
    /// let dynamo = BUILTIN.find_provider("dynamo").unwrap();
    /// let status = dynamo.translate_status(&json!({
    ///     "apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment",
    ///     "metadata": {"name": "m", "generation": 3},
    ///     "status": {"state": "successful", "observedGeneration": 2},
    /// })).unwrap();
    /// assert!(status.is_outdated());
    /// assert_eq!(status.phase.unwrap().as_str(), "Deploying");
    /// ```
    pub fn is_outdated(&self) -> bool {
        matches!((self.generation, self.observed_generation), (Some(now), Some(seen)) if seen < now)
    }
}

/// Replica counts. A count that the provider does not report is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Replicas {
    /// The desired number of replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired: Option<i64>,
    /// The number of ready replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<i64>,
    /// The number of available replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<i64>,
}

/// A condition (meta/v1 Condition).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The type, unique in a list of conditions.
    #[serde(rename = "type")]
    pub condition_type: String,
    /// `True`, `False` or `Unknown`.
    pub status: ConditionStatus,
    /// The machine-readable reason.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The human-readable message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The time of the last change of `status`, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
    /// The generation that the condition describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// A part of a provider's object: a component, a cluster or an application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatusPart {
    /// The role of the part: `prefill`, `active cluster`.
    pub role: String,
    /// The name of the part.
    pub name: String,
    /// The state as the provider writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The provider's message. Empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The replicas of the part, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<Replicas>,
}

/// A value in the object's status that this version does not know.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnrecognizedValue {
    /// The path of the field, such as `status.state`.
    pub path: String,
    /// The value of the field.
    pub value: Value,
}

impl std::fmt::Display for UnrecognizedValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is {}, which this version does not know", self.path, self.value)
    }
}

/// The reason why the status of an object could not be read.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatusError {
    /// The object is not a main object of the provider.
    #[error("{found} is not an object of {provider} that runs a model, expected {expected}")]
    UnexpectedKind {
        /// The provider's name in messages.
        provider: &'static str,
        /// The API version and the kind of the object.
        found: String,
        /// The supported kinds.
        expected: String,
    },
    /// The API version of the object is unknown.
    #[error("{found} is of a version that is not read, expected {expected}")]
    UnsupportedVersion {
        /// The API version and the kind of the object.
        found: String,
        /// The supported versions.
        expected: String,
    },
}
