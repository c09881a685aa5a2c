//! What runs: the state of a provider's object in the words of a ModelDeployment (docs/specification.md, MD-7).
//!
//! ```text
//! object as the apiserver gives it ─ ObservedObject ─ provider (phase, message, replicas, endpoint, parts) ─ Status
//! ```
//! A word that a provider's controller is not known to write is never guessed at: then there is no phase, and the word
//! stands in [`Status::unrecognized`].

mod observed;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value;

pub use observed::{ObservedObject, ProviderState, StatusSource, integer_at, text_or_empty};

use crate::wire::Phase;
use kubefoundry_kubernetes::wire::ConditionStatus;
use kubefoundry_transform::Endpoint;

/// The unified status of a provider's object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Where it is in its life; absent when what the object says is not known here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// What the provider says about it; empty when it says nothing.
    pub message: String,
    /// Replicas that serve; in disaggregated mode those of both roles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<Replicas>,
    /// Where the model answers once it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// The unified conditions, of those a ModelDeployment has: `ResourceCreated` and `Ready`.
    pub conditions: Vec<Condition>,
    /// The provider's own conditions, as they are.
    pub provider_conditions: Vec<Condition>,
    /// What it consists of, where the provider says so: components, clusters, applications.
    pub parts: Vec<StatusPart>,
    /// The generation of the object's specification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The generation that the controller saw last, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Words that are not known here.
    pub unrecognized: Vec<UnrecognizedValue>,
}

impl Status {
    /// Whether the controller has not yet seen the object's last change.
    ///
    /// ```
    /// use kubefoundry_model::providers;
    /// use serde_json::json;
    /// let dynamo = providers::find("dynamo").unwrap();
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

/// How many replicas there are; a number that the provider does not say is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Replicas {
    /// How many are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired: Option<i64>,
    /// How many are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<i64>,
    /// How many are available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<i64>,
}

/// A condition (meta/v1 Condition).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Its type.
    #[serde(rename = "type")]
    pub condition_type: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, as one word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When `status` changed last, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
    /// The generation that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// A part of what runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatusPart {
    /// What it is to the whole: `prefill`, `active cluster`, `Workspace`.
    pub role: String,
    /// Its name.
    pub name: String,
    /// Its state, in the provider's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// What the provider says about it; empty when it says nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Its replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<Replicas>,
}

/// A word that is not known here, as it stands in the object.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnrecognizedValue {
    /// The field, such as `status.state`.
    pub path: String,
    /// Its value.
    pub value: Value,
}

impl std::fmt::Display for UnrecognizedValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is {}, which this version does not know", self.path, self.value)
    }
}

/// Why the status of an object could not be read.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatusError {
    /// The object is none whose status says how a model runs.
    #[error("{found} is no object of {provider} that runs a model, expected {expected}")]
    UnexpectedKind {
        /// The provider's name in messages.
        provider: &'static str,
        /// Version and kind of the object.
        found: String,
        /// The kinds that are read.
        expected: String,
    },
    /// The object is of a version that is not known here.
    #[error("{found} is of a version that is not read, expected {expected}")]
    UnsupportedVersion {
        /// Version and kind of the object.
        found: String,
        /// The versions that are read.
        expected: String,
    },
}
