//! The pods of an actor, counted.

use serde_json::Value;

use super::objects::ActorObjects;
use kubefoundry_actor::status::is_ready;
use kubefoundry_compiler::cluster_snapshot::LiveObject;
use kubefoundry_provider::status::{integer_at, text_or_empty};

/// The pods of an actor, counted.
#[derive(Clone, Copy)]
pub(super) struct Counts {
    pub(super) ready: i64,
    pub(super) total: i64,
    pub(super) desired: i64,
}

impl Counts {
    /// Counts from the status of a workload that has replicas, or else from the pods.
    pub(super) fn of(found: &ActorObjects<'_>) -> Self {
        let is_live = |pod: &&&LiveObject| {
            let ended = ["Failed", "Succeeded"].contains(&text_or_empty(&pod.value, "/status/phase"));
            !ended && text_or_empty(&pod.value, "/metadata/deletionTimestamp").is_empty()
        };
        let total = count(found.pods.iter().filter(is_live).count());
        let ready = count(found.pods.iter().filter(is_live).filter(|pod| is_ready(&pod.value)).count());
        let Some(workload) = found.workloads.first().filter(|workload| workload.group() == "apps") else {
            return Self { ready, total, desired: if found.is_on_knative() { total } else { total.max(1) } };
        };
        let integer = |pointer: &str| integer_at(&workload.value, pointer).map(|count| count.max(0));
        // Go omits a count of zero.
        let has_status = integer("/status/observedGeneration").is_some();
        let reported = |pointer: &str, counted: i64| integer(pointer).unwrap_or(if has_status { 0 } else { counted });
        Self {
            ready: reported("/status/readyReplicas", ready),
            total: reported("/status/replicas", total),
            desired: integer("/spec/replicas").unwrap_or(1),
        }
    }

    /// Takes the counts that a controller wrote into the status of an actor.
    pub(super) fn or_reported(self, actor: &Value) -> Self {
        let count = |field: &str, counted| integer_at(actor, &format!("/status/{field}")).unwrap_or(counted).max(0);
        Self {
            ready: count("readyReplicas", self.ready),
            total: count("totalReplicas", self.total),
            desired: count("desiredReplicas", self.desired),
        }
    }
}

pub(super) fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a count of a dump, which may be any number.
pub(super) fn small(count: i64) -> i32 {
    i32::try_from(count.max(0)).unwrap_or(i32::MAX)
}
