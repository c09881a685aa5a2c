//! Decides whether a status is stale.
//!
//! Controllers write a status when it changes. A settled status (`Running` or `Failed` for the current generation)
//! therefore does not become stale with age. One that should change does, after five minutes without a write
//! (docs/specification.md MD-7.5).

use serde::Serialize;
use serde_json::Value;

use super::StalenessPolicy;
use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_deployment::wire::Phase;
use kubefoundry_provider::Status;
use kubefoundry_provider::status::text_or_empty;

/// Seconds without a write after which a status that should change counts as stale (docs/specification.md MD-7.5).
pub const DEFAULT_STALE_AFTER_SECONDS: u64 = 300;

/// When a status was written, and whether it is stale.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    /// The last write of the status, as far as the object records it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_write: Option<LastWrite>,
    /// With `--now`: whether the status is stale; absent if the snapshot does not show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<bool>,
}

/// The time of a write, and where the time comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastWrite {
    /// The time (RFC 3339).
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    #[serde(serialize_with = "as_text")]
    pub time: Time,
    /// The source of the time: `managedFields` (the write itself), `status` (the newest time in it, which is its last
    /// change) or `creation` (the status was never written).
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["managedFields", "status", "creation"])))]
    pub from: &'static str,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn as_text<S: serde::Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

/// Determines when the status of a live object was written, and whether it is stale. `status` is the provider's
/// translation of it.
///
/// ```
/// use kubefoundry_compiler::cluster_snapshot::time::Time;
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_analysis::status::{StalenessPolicy, observe};
/// let workspace = serde_json::json!({
///     "apiVersion": "kaito.sh/v1beta1", "kind": "Workspace",
///     "metadata": {"name": "phi", "creationTimestamp": "2026-01-30T09:59:00Z"},
/// });
/// let status = BUILTIN.find_provider("kaito").unwrap().translate_status(&workspace).unwrap();
/// let at = |now: &str| StalenessPolicy { now: Time::parse(now), ..StalenessPolicy::default() };
/// assert_eq!(observe(&workspace, &status, at("2026-01-30T10:00:00Z")).stale, Some(false));
/// assert_eq!(observe(&workspace, &status, at("2026-01-30T11:00:00Z")).stale, Some(true));
/// assert_eq!(observe(&workspace, &status, StalenessPolicy::default()).stale, None);
/// ```
pub fn observe(object: &Value, status: &Status, policy: StalenessPolicy) -> Observation {
    let last_write = last_write(object);
    let Some(now) = policy.now else { return Observation { last_write, stale: None } };
    let is_settled = matches!(status.phase, Some(Phase::Running | Phase::Failed));
    let stale = if status.is_outdated() {
        // Only managed fields record when the specification changed. The controller has the same time to react to that.
        last_change(object).map(|change| now.seconds_since(change) > policy.stale_after)
    } else if is_settled {
        Some(false)
    } else {
        last_write.map(|write| now.seconds_since(write.time) > policy.stale_after)
    };
    Observation { last_write, stale }
}

/// Returns when the status was last written, from the most reliable time there is: managedFields, then the newest time
/// in the status, then the creation time. `None` if the object has none of these.
fn last_write(object: &Value) -> Option<LastWrite> {
    let status_write = writes(object).filter(|(is_status, _)| *is_status).map(|(_, time)| time).max();
    let newest_in_status = || object.get("status").and_then(newest_time);
    let creation = || Time::parse(text_or_empty(object, "/metadata/creationTimestamp"));
    status_write
        .map(|time| LastWrite { time, from: "managedFields" })
        .or_else(|| newest_in_status().map(|time| LastWrite { time, from: "status" }))
        .or_else(|| creation().map(|time| LastWrite { time, from: "creation" }))
}

/// Returns the last write of anything except the status.
fn last_change(object: &Value) -> Option<Time> {
    writes(object).filter(|(is_status, _)| !is_status).map(|(_, time)| time).max()
}

/// Returns the times of managed writes, each with whether it wrote the status.
fn writes(object: &Value) -> impl Iterator<Item = (bool, Time)> {
    let managers = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    managers.into_iter().flatten().filter_map(|entry| {
        let is_status =
            text_or_empty(entry, "/subresource") == "status" || entry.pointer("/fieldsV1/f:status").is_some();
        Some((is_status, Time::parse(text_or_empty(entry, "/time"))?))
    })
}

/// Returns the newest time in a status: in its conditions, and in fields that upstreams add to them.
fn newest_time(status: &Value) -> Option<Time> {
    const TIMES: [&str; 4] = ["lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime", "lastTrafficMigratedTime"];
    match status {
        Value::Object(fields) => {
            let time_in = |(name, value): (&String, &Value)| {
                if TIMES.contains(&name.as_str()) { value.as_str().and_then(Time::parse) } else { newest_time(value) }
            };
            fields.iter().filter_map(time_in).max()
        }
        Value::Array(items) => items.iter().filter_map(newest_time).max(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use kubefoundry_composition::BUILTIN;

    const NOW: &str = "2026-01-30T10:00:00Z";

    fn observed(status: &Value, more: &Value) -> (Option<&'static str>, Option<bool>) {
        let mut object = json!({
            "apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment",
            "metadata": {"name": "m", "generation": 2, "creationTimestamp": "2026-01-30T09:00:00Z"}, "status": status,
        });
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.extend(more.as_object().unwrap().clone());
        let status = BUILTIN.find_provider("dynamo").unwrap().translate_status(&object).unwrap();
        let policy = StalenessPolicy { now: Time::parse(NOW), ..StalenessPolicy::default() };
        let Observation { last_write, stale } = observe(&object, &status, policy);
        (last_write.map(|write| write.from), stale)
    }

    fn status(state: &str, seen: i64, time: &str) -> Value {
        let time = format!("2026-01-30T{time}:00Z");
        json!({"state": state, "observedGeneration": seen,
               "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": time}]})
    }

    fn managed(times: &[(&str, &str)]) -> Value {
        let entry = |(subresource, time): &(&str, &str)| json!({"manager": "m", "subresource": subresource, "time": format!("2026-01-30T{time}:00Z")});
        json!({"managedFields": times.iter().map(entry).collect::<Vec<_>>()})
    }

    #[test]
    fn an_unsettled_status_becomes_stale() {
        let plain = json!({});
        for (status, more, expected) in [
            (status("pending", 2, "09:54"), &plain, (Some("status"), Some(true))),
            (status("pending", 2, "09:55"), &plain, (Some("status"), Some(false))),
            // The transition is old, but the last write is recent.
            (
                status("pending", 2, "09:10"),
                &managed(&[("status", "09:58"), ("", "09:00")]),
                (Some("managedFields"), Some(false)),
            ),
            // A settled status needs no further write.
            (status("successful", 2, "09:01"), &plain, (Some("status"), Some(false))),
            (status("failed", 2, "09:01"), &plain, (Some("status"), Some(false))),
            // A change that the controller has not observed: only managed fields record its time.
            (status("successful", 1, "09:01"), &plain, (Some("status"), None)),
            (
                status("successful", 1, "09:01"),
                &managed(&[("status", "09:01"), ("", "09:59")]),
                (Some("managedFields"), Some(false)),
            ),
            (
                status("successful", 1, "09:01"),
                &managed(&[("status", "09:01"), ("", "09:50")]),
                (Some("managedFields"), Some(true)),
            ),
            // No controller has written a status in an hour.
            (json!(null), &plain, (Some("creation"), Some(true))),
            (json!(null), &json!({"creationTimestamp": "2026-01-30T09:59:00Z"}), (Some("creation"), Some(false))),
            (json!(null), &json!({"creationTimestamp": null}), (None, None)),
        ] {
            assert_eq!(observed(&status, more), expected, "{status} {more}");
        }
    }
}
