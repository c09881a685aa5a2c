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
use kubefoundry_kubernetes::wire::{ConditionStatus, StringEnum as _};
use kubefoundry_transform::Endpoint;

/// The unified status of a provider's object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The phase; absent if the status of the object has a value that is unknown to this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "words::<Phase>"))]
    pub phase: Option<Phase>,
    /// The provider's message; empty if it has none.
    pub message: String,
    /// The replicas that serve. In disaggregated mode, those of both roles. A number that the provider does not report is
    /// absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<Replicas>,
    /// The Service that answers requests once the model runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// The unified conditions `ResourceCreated` and `Ready`.
    pub conditions: Vec<Condition>,
    /// The provider's own conditions, unchanged.
    pub provider_conditions: Vec<Condition>,
    /// The parts that the provider reports: components, clusters, applications. Of a LlamaStackDistribution, the external
    /// providers, the merge, the preflight and the server; of an AsyncActor, the workload and the failing pods.
    pub parts: Vec<StatusPart>,
    /// `metadata.generation` of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub generation: Option<i64>,
    /// The generation that the controller observed last, if it reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub observed_generation: Option<i64>,
    /// The values in the object's status that this version does not know.
    pub unrecognized: Vec<UnrecognizedValue>,
}

/// Describes an enum by its words.
#[cfg(feature = "schema")]
fn words<E: kubefoundry_kubernetes::wire::StringEnum>(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let words: Vec<&str> = E::VARIANTS.iter().map(|(word, _)| *word).collect();
    schemars::json_schema!({"type": "string", "enum": words})
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Replicas {
    /// The desired number of replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub desired: Option<i64>,
    /// The number of ready replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub ready: Option<i64>,
    /// The number of available replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub available: Option<i64>,
}

/// A condition (meta/v1 Condition).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The type, unique in a list of conditions.
    #[serde(rename = "type")]
    pub condition_type: String,
    /// Whether the condition holds.
    #[cfg_attr(feature = "schema", schemars(schema_with = "words::<ConditionStatus>"))]
    pub status: ConditionStatus,
    /// The reason, as one word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The reason, as text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The time when `status` changed last (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
    /// The generation that the condition describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub observed_generation: Option<i64>,
}

impl Condition {
    /// Reads a condition of an object; none if its status is unknown.
    pub fn read(condition: &Value) -> Option<Self> {
        let text = |field: &str| text_or_empty(condition, field).to_owned();
        let status = ConditionStatus::VARIANTS.iter().find(|(word, _)| *word == text_or_empty(condition, "/status"));
        Some(Self {
            condition_type: text("/type"),
            status: status?.1,
            reason: text("/reason"),
            message: text("/message"),
            last_transition_time: Some(text("/lastTransitionTime")).filter(|time| !time.is_empty()),
            observed_generation: integer_at(condition, "/observedGeneration"),
        })
    }
}

/// A part of a provider's object: a component, a cluster or an application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusPart {
    /// The role of the part, such as `prefill` or `active cluster`.
    pub role: String,
    /// The name of the part.
    pub name: String,
    /// The state as the provider writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The provider's message; absent if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The replicas of the part, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<Replicas>,
}

/// A value in the object's status that this version does not know.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
