//! Typed views of observed objects: the JSON that the apiserver stores, by the names and types of its parts. So one module
//! knows where in an object something is.
//!
//! A view borrows the object, which keeps fields that this version does not know. What has the wrong type counts as absent:
//! an object may be of an older or a newer version of its CRD.

use std::collections::BTreeSet;

use kubefoundry_compiler::cluster_snapshot::time::Time;
use serde_json::Value;

/// Any object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectView<'o>(pub(crate) &'o Value);

/// An entry of the managed fields of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ManagedFields<'o>(&'o Value);

/// The status of a ModelDeployment, or the part that other kinds have in common with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatusView<'s>(pub(crate) &'s Value);

/// A condition of a status.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConditionView<'s>(&'s Value);

/// The specification of a ModelDeployment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpecView<'s>(&'s Value);

/// Returns a text; empty if it is absent.
fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// Returns the items of a list; none if it is absent.
fn items<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value[name].as_array().into_iter().flatten()
}

impl<'o> ObjectView<'o> {
    pub(crate) fn api_version(self) -> &'o str {
        text(self.0, "apiVersion")
    }

    /// Returns the API group; empty for the core group.
    pub(crate) fn group(self) -> &'o str {
        self.api_version().rsplit_once('/').map_or("", |(group, _)| group)
    }

    pub(crate) fn kind(self) -> &'o str {
        text(self.0, "kind")
    }

    pub(crate) fn name(self) -> &'o str {
        text(&self.0["metadata"], "name")
    }

    /// Returns the `resourceVersion` as a number; none where it is not a number.
    pub(crate) fn version(self) -> Option<u64> {
        text(&self.0["metadata"], "resourceVersion").parse().ok()
    }

    pub(crate) fn generation(self) -> Option<i64> {
        self.0["metadata"]["generation"].as_i64()
    }

    /// Whether the object has a deletion timestamp.
    pub(crate) fn is_terminating(self) -> bool {
        !self.0["metadata"]["deletionTimestamp"].is_null()
    }

    /// Returns who wrote the object; none where the apiserver has not recorded it.
    pub(crate) fn managed_fields(self) -> Option<impl Iterator<Item = ManagedFields<'o>>> {
        Some(self.0["metadata"]["managedFields"].as_array()?.iter().map(ManagedFields))
    }

    pub(crate) fn spec(self) -> SpecView<'o> {
        SpecView(&self.0["spec"])
    }

    pub(crate) fn status(self) -> StatusView<'o> {
        StatusView(&self.0["status"])
    }
}

impl<'o> ManagedFields<'o> {
    pub(crate) fn manager(self) -> &'o str {
        text(self.0, "manager")
    }

    /// Whether the fields were applied server-side. Other clients update the whole object.
    pub(crate) fn is_applied(self) -> bool {
        self.0["operation"] == "Apply"
    }

    /// Whether they were written by the status subresource.
    pub(crate) fn is_of_status(self) -> bool {
        self.0["subresource"] == "status"
    }

    /// Returns the time of the last write.
    pub(crate) fn time(self) -> Option<Time> {
        Time::parse(self.0["time"].as_str()?)
    }

    /// Returns the fields of the status among them, as in `fieldsV1` below `f:status`.
    pub(crate) fn status_fields(self) -> Option<&'o Value> {
        self.0.get("fieldsV1")?.get("f:status")
    }
}

impl<'s> StatusView<'s> {
    /// Returns the phase; none where it is absent.
    pub(crate) fn phase(self) -> Option<&'s str> {
        self.0["phase"].as_str()
    }

    pub(crate) fn message(self) -> Option<&'s str> {
        self.0["message"].as_str()
    }

    pub(crate) fn observed_generation(self) -> Option<i64> {
        self.0["observedGeneration"].as_i64()
    }

    /// Returns the chosen provider; none where it is absent or empty.
    pub(crate) fn provider(self) -> Option<&'s str> {
        self.0["provider"]["name"].as_str().filter(|name| !name.is_empty())
    }

    /// Returns why the provider was chosen; none where it is absent or empty.
    pub(crate) fn selected_reason(self) -> Option<&'s str> {
        self.0["provider"]["selectedReason"].as_str().filter(|reason| !reason.is_empty())
    }

    /// Returns the kind and the name of the main object.
    pub(crate) fn main_object(self) -> Option<(&'s str, &'s str)> {
        let provider = &self.0["provider"];
        Some((provider["resourceKind"].as_str()?, provider["resourceName"].as_str()?))
    }

    /// Returns a number of replicas: `desired`, `ready` or `available`.
    pub(crate) fn replicas(self, which: &str) -> Option<i64> {
        self.0["replicas"][which].as_i64()
    }

    /// Finds a condition by its type.
    pub(crate) fn condition(self, name: &str) -> Option<ConditionView<'s>> {
        items(self.0, "conditions").find(|condition| condition["type"] == name).map(ConditionView)
    }

    /// Returns `apiVersion`, kind and name of the workload to which an AsyncActor was added; empty where they are absent.
    pub(crate) fn resolved_target(self) -> [&'s str; 3] {
        ["apiVersion", "kind", "name"].map(|name| text(&self.0["resolvedTarget"], name))
    }

    /// Returns how often another client reverted what an AsyncActor added to its workload.
    pub(crate) fn conflict_count(self) -> u32 {
        self.0["conflictCount"].as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or(0)
    }

    /// Returns the time of the last of these conflicts, as it is written.
    pub(crate) fn last_conflict(self) -> Option<&'s str> {
        self.0["lastConflictTime"].as_str()
    }

    /// Returns whether a provider reports that it is ready; the value of an InferenceProviderConfig.
    pub(crate) fn ready(self) -> Option<&'s Value> {
        self.0.get("ready")
    }

    /// Returns the last heartbeat of a provider.
    pub(crate) fn last_heartbeat(self) -> Option<&'s str> {
        self.0["lastHeartbeat"].as_str()
    }
}

impl<'s> ConditionView<'s> {
    /// Returns the condition as JSON.
    pub(crate) fn value(self) -> &'s Value {
        self.0
    }

    /// Returns `True`, `False` or `Unknown`.
    pub(crate) fn status(self) -> &'s str {
        text(self.0, "status")
    }

    pub(crate) fn is_true(self) -> bool {
        self.status() == "True"
    }

    pub(crate) fn is_false(self) -> bool {
        self.status() == "False"
    }

    pub(crate) fn reason(self) -> &'s str {
        text(self.0, "reason")
    }

    pub(crate) fn message(self) -> &'s str {
        text(self.0, "message")
    }

    /// Returns the time of the last change of the status, as it is written.
    pub(crate) fn last_transition(self) -> Option<&'s str> {
        self.0["lastTransitionTime"].as_str()
    }

    pub(crate) fn observed_generation(self) -> Option<i64> {
        self.0["observedGeneration"].as_i64()
    }
}

impl<'s> SpecView<'s> {
    /// Whether prefill and decode run in pods of their own.
    pub(crate) fn is_disaggregated(self) -> bool {
        self.0["serving"]["mode"] == "disaggregated"
    }

    /// Returns the names of the Secrets that a deployment needs; optional references do not count.
    pub(crate) fn required_secrets(self) -> BTreeSet<&'s str> {
        let mut names = BTreeSet::from([text(&self.0["secrets"], "huggingFaceToken")]);
        names.extend(items(self.0, "imagePullSecrets").map(|secret| text(secret, "name")));
        let env = items(self.0, "env").map(|variable| &variable["valueFrom"]["secretKeyRef"]);
        let env_from = items(self.0, "envFrom").map(|source| &source["secretRef"]);
        let needed = env.chain(env_from).filter(|reference| reference["optional"] != true);
        names.extend(needed.map(|reference| text(reference, "name")));
        names.remove("");
        names
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_has_another_type_is_absent() {
        for value in [json!(null), json!(7), json!({"status": 7, "metadata": [], "spec": "x"})] {
            let view = ObjectView(&value);
            assert_eq!((view.kind(), view.name(), view.group(), view.generation()), ("", "", "", None));
            assert!(view.managed_fields().is_none() && !view.is_terminating() && !view.spec().is_disaggregated());
            let status = view.status();
            assert_eq!((status.phase(), status.provider(), status.main_object()), (None, None, None));
            assert!(status.condition("Ready").is_none());
            assert!(view.spec().required_secrets().is_empty());
        }
    }

    #[test]
    fn optional_secrets_are_not_required() {
        let reference = |name: &str, optional: bool| json!({"name": name, "key": "k", "optional": optional});
        let deployment = json!({"spec": {
            "secrets": {"huggingFaceToken": "hf"},
            "imagePullSecrets": [{"name": "registry"}, {"name": "hf"}],
            "env": [
                {"name": "A", "value": "x"},
                {"name": "B", "valueFrom": {"secretKeyRef": reference("needed", false)}},
                {"name": "C", "valueFrom": {"secretKeyRef": reference("optional", true)}},
                {"name": "D", "valueFrom": {"configMapKeyRef": {"name": "map", "key": "k"}}},
            ],
            "envFrom": [{"secretRef": {"name": "all"}}, {"configMapRef": {"name": "map"}}],
        }});
        let secrets = ObjectView(&deployment).spec().required_secrets();
        assert_eq!(secrets, BTreeSet::from(["all", "hf", "needed", "registry"]));
        let none = json!({"spec": {"secrets": {"huggingFaceToken": ""}}});
        assert!(ObjectView(&none).spec().required_secrets().is_empty());
    }
}
