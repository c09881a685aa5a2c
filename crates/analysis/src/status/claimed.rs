//! What the statuses of actors and distributions share: the key of an object, its entry, and texts of its conditions.

use std::sync::Arc;

use serde_json::Value;

use super::deployment_status;
use super::staleness::Observation;
use super::{Status, StatusEntry};
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_kubernetes::wire::ConditionStatus;
use kubefoundry_provider::status::Condition;

/// Returns why a Deployment cannot create pods, if its status says so.
pub(super) fn replica_failure(deployment: &Value) -> Option<Condition> {
    let conditions = deployment_status::conditions(deployment);
    let failed = |condition: &Condition| {
        condition.condition_type == "ReplicaFailure" && condition.status == ConditionStatus::True
    };
    conditions.into_iter().find(failed)
}

/// Joins a reason and a message, either of which may be empty.
pub(super) fn joined(reason: &str, message: &str) -> String {
    join_nonempty(&[reason, message], ": ")
}

pub(super) fn join_nonempty(parts: &[&str], separator: &str) -> String {
    parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(separator)
}

/// Namespace and name of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(pub(super) Option<Arc<str>>, pub(super) Arc<str>);

impl Key {
    pub(super) fn new(namespace: Option<&Arc<str>>, name: &str) -> Self {
        Self(namespace.cloned(), name.into())
    }

    /// Returns a reference to an object that need not be in the snapshot.
    pub(super) fn object(&self, api_version: &str, kind: &str) -> ObjectRef {
        let Self(namespace, name) = self.clone();
        ObjectRef { api_version: api_version.into(), kind: kind.into(), namespace, name }
    }
}

impl StatusEntry {
    /// Returns the entry of an object that runs no ModelDeployment.
    pub(super) fn of_object(resource: ObjectRef, state: &str, status: Status) -> Self {
        Self {
            deployment: None,
            deployment_in_dump: false,
            resource: Some(resource),
            provider: None,
            joined_by: None,
            state: Some(state.to_owned()),
            status,
            reported: None,
            observation: Observation::default(),
            notes: Vec::new(),
        }
    }
}
