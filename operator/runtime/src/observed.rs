//! Typed views of observed objects: the JSON that the apiserver stores, by the names and types of its parts. So one module
//! knows where in an object something is.
//!
//! A view borrows the object, which keeps fields that this version does not know. What has the wrong type counts as absent:
//! an object may be of an older or a newer version of its CRD.

use std::collections::BTreeSet;

use serde_json::Value;

/// Any object.
#[derive(Debug, Clone, Copy)]
pub struct ObjectView<'o>(pub &'o Value);

/// An entry of the managed fields of an object.
#[derive(Debug, Clone, Copy)]
pub struct ManagedFields<'o>(&'o Value);

/// The status of a ModelDeployment, or the part that other kinds have in common with it.
#[derive(Debug, Clone, Copy)]
pub struct StatusView<'s>(pub &'s Value);

/// A condition of a status.
#[derive(Debug, Clone, Copy)]
pub struct ConditionView<'s>(pub &'s Value);

/// The specification of a ModelDeployment.
#[derive(Debug, Clone, Copy)]
pub struct SpecView<'s>(&'s Value);

/// Returns a text; empty if it is absent.
fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// Returns the items of a list; none if it is absent.
fn items<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value[name].as_array().into_iter().flatten()
}

impl<'o> ObjectView<'o> {
    /// Returns `apiVersion`.
    pub fn api_version(self) -> &'o str {
        text(self.0, "apiVersion")
    }

    /// Returns the API group; empty for the core group.
    pub fn group(self) -> &'o str {
        self.api_version().rsplit_once('/').map_or("", |(group, _)| group)
    }

    /// Returns `kind`.
    pub fn kind(self) -> &'o str {
        text(self.0, "kind")
    }

    /// Returns the name.
    pub fn name(self) -> &'o str {
        text(&self.0["metadata"], "name")
    }

    /// Returns the `resourceVersion` as a number; none where it is not a number.
    pub fn version(self) -> Option<u64> {
        text(&self.0["metadata"], "resourceVersion").parse().ok()
    }

    /// Returns the generation, which counts changes of the specification.
    pub fn generation(self) -> Option<i64> {
        self.0["metadata"]["generation"].as_i64()
    }

    /// Whether the object has a deletion timestamp.
    pub fn is_terminating(self) -> bool {
        !self.0["metadata"]["deletionTimestamp"].is_null()
    }

    /// Returns who wrote the object; none where the apiserver has not recorded it.
    pub fn managed_fields(self) -> Option<impl Iterator<Item = ManagedFields<'o>>> {
        Some(self.0["metadata"]["managedFields"].as_array()?.iter().map(ManagedFields))
    }

    /// Returns the specification.
    pub fn spec(self) -> SpecView<'o> {
        SpecView(&self.0["spec"])
    }

    /// Returns the status.
    pub fn status(self) -> StatusView<'o> {
        StatusView(&self.0["status"])
    }
}

impl<'o> ManagedFields<'o> {
    /// Returns the field manager.
    pub fn manager(self) -> &'o str {
        text(self.0, "manager")
    }

    /// Whether the fields were applied server-side. Other clients update the whole object.
    pub fn is_applied(self) -> bool {
        self.0["operation"] == "Apply"
    }

    /// Whether they were written by the status subresource.
    pub fn is_of_status(self) -> bool {
        self.0["subresource"] == "status"
    }

    /// Returns the time of the last write, as it is written.
    pub fn time(self) -> Option<&'o str> {
        self.0["time"].as_str()
    }

    /// Returns the fields of the status among them, as in `fieldsV1` below `f:status`.
    pub fn status_fields(self) -> Option<&'o Value> {
        self.0.get("fieldsV1")?.get("f:status")
    }
}

impl<'s> StatusView<'s> {
    /// Returns the phase; none where it is absent.
    pub fn phase(self) -> Option<&'s str> {
        self.0["phase"].as_str()
    }

    /// Returns the message; none where it is absent.
    pub fn message(self) -> Option<&'s str> {
        self.0["message"].as_str()
    }

    /// Returns the generation that was observed.
    pub fn observed_generation(self) -> Option<i64> {
        self.0["observedGeneration"].as_i64()
    }

    /// Returns the chosen provider; none where it is absent or empty.
    pub fn provider(self) -> Option<&'s str> {
        self.0["provider"]["name"].as_str().filter(|name| !name.is_empty())
    }

    /// Returns why the provider was chosen; none where it is absent or empty.
    pub fn selected_reason(self) -> Option<&'s str> {
        self.0["provider"]["selectedReason"].as_str().filter(|reason| !reason.is_empty())
    }

    /// Returns the kind and the name of the main object.
    pub fn main_object(self) -> Option<(&'s str, &'s str)> {
        let provider = &self.0["provider"];
        Some((provider["resourceKind"].as_str()?, provider["resourceName"].as_str()?))
    }

    /// Returns a number of replicas: `desired`, `ready` or `available`.
    pub fn replicas(self, which: &str) -> Option<i64> {
        self.0["replicas"][which].as_i64()
    }

    /// Finds a condition by its type.
    pub fn condition(self, name: &str) -> Option<ConditionView<'s>> {
        items(self.0, "conditions").find(|condition| condition["type"] == name).map(ConditionView)
    }

    /// Returns `apiVersion`, kind and name of the workload to which an AsyncActor was added; empty where they are absent.
    pub fn resolved_target(self) -> [&'s str; 3] {
        ["apiVersion", "kind", "name"].map(|name| text(&self.0["resolvedTarget"], name))
    }

    /// Returns how often another client reverted what an AsyncActor added to its workload.
    pub fn conflict_count(self) -> u32 {
        self.0["conflictCount"].as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or(0)
    }

    /// Returns the time of the last of these conflicts, as it is written.
    pub fn last_conflict(self) -> Option<&'s str> {
        self.0["lastConflictTime"].as_str()
    }

    /// Returns whether a provider reports that it is ready; the value of an InferenceProviderConfig.
    pub fn ready(self) -> Option<&'s Value> {
        self.0.get("ready")
    }

    /// Returns the last heartbeat of a provider.
    pub fn last_heartbeat(self) -> Option<&'s str> {
        self.0["lastHeartbeat"].as_str()
    }
}

impl<'s> ConditionView<'s> {
    /// Returns the condition as JSON.
    pub fn value(self) -> &'s Value {
        self.0
    }

    /// Returns `True`, `False` or `Unknown`.
    pub fn status(self) -> &'s str {
        text(self.0, "status")
    }

    /// Whether the status is `True`.
    pub fn is_true(self) -> bool {
        self.status() == "True"
    }

    /// Whether the status is `False`.
    pub fn is_false(self) -> bool {
        self.status() == "False"
    }

    /// Returns the reason, a word.
    pub fn reason(self) -> &'s str {
        text(self.0, "reason")
    }

    /// Returns the message.
    pub fn message(self) -> &'s str {
        text(self.0, "message")
    }

    /// Returns the time of the last change of the status, as it is written.
    pub fn last_transition(self) -> Option<&'s str> {
        self.0["lastTransitionTime"].as_str()
    }

    /// Returns the generation that was observed.
    pub fn observed_generation(self) -> Option<i64> {
        self.0["observedGeneration"].as_i64()
    }
}

impl<'s> SpecView<'s> {
    /// Whether prefill and decode run in pods of their own.
    pub fn is_disaggregated(self) -> bool {
        self.0["serving"]["mode"] == "disaggregated"
    }

    /// Returns the names of the Secrets that a deployment needs; optional references do not count.
    pub fn required_secrets(self) -> BTreeSet<&'s str> {
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
