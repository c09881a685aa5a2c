//! The status of a ModelDeployment as the controllers write it, by server-side apply. Each controller has its own field
//! manager (docs/specification.md OP-6.1), and sends a request only if something changes.
//!
//! ```text
//! StatusUpdate (all fields of a manager) ─ compared with the cached status ─ no request, or one apply
//! ```
//! Server-side apply removes fields that a manager owns and leaves out. So a [`StatusUpdate`] always contains all
//! fields of its manager; [`StatusUpdate::default`] gives all of them up.

use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_controller_runtime::observed::{ConditionView, ObjectView};
use kubefoundry_kubernetes::wire::ConditionStatus;
use serde_json::{Map, Value, json};

use crate::conditions::is_documented;

/// A condition. `StatusUpdate::patch` fills in `lastTransitionTime` and `observedGeneration`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The `type`.
    pub name: &'static str,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// One word in CamelCase.
    pub reason: String,
    /// The explanation for users.
    pub message: String,
}

impl Condition {
    /// Creates a condition with a reason that docs/operator/reference.md explains.
    pub(crate) fn new(
        name: &'static str,
        status: impl Into<ConditionStatus>,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        let reason = reason.into();
        debug_assert!(is_documented(name, &reason), "{name}: {reason} is not documented");
        Self { name, status: status.into(), reason, message: message.into() }
    }
}

/// All status fields and conditions of a field manager.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatusUpdate {
    /// The fields of `status` except conditions.
    fields: Map<String, Value>,
    conditions: Vec<Condition>,
}

impl StatusUpdate {
    /// Sets a field, or a field one level deeper: `phase`, `provider.name`. A null value is left out.
    #[must_use]
    pub(crate) fn field(mut self, path: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        if value.is_null() {
            return self;
        }
        match path.split_once('.') {
            None => {
                self.fields.insert(path.to_owned(), value);
            }
            Some((outer, inner)) => {
                let outer = self.fields.entry(outer).or_insert_with(|| json!({}));
                if let Some(fields) = outer.as_object_mut() {
                    fields.insert(inner.to_owned(), value);
                }
            }
        }
        self
    }

    /// Adds a condition. It replaces an earlier one of the same name.
    #[must_use]
    pub(crate) fn condition(mut self, condition: Condition) -> Self {
        self.conditions.retain(|other| other.name != condition.name);
        self.conditions.push(condition);
        self
    }

    /// Whether the update has a value for a field, given as a JSON pointer below `status`.
    pub(crate) fn has_field(&self, pointer: &str) -> bool {
        let mut names = pointer.split('/').skip(1);
        let first = names.next().and_then(|name| self.fields.get(name));
        names.fold(first, |value, name| value?.get(name)).is_some()
    }

    /// Whether the update has a condition of this type.
    pub(crate) fn has_condition(&self, name: &str) -> bool {
        self.conditions.iter().any(|condition| condition.name == name)
    }

    /// Adds several conditions.
    #[must_use]
    pub(crate) fn conditions(self, conditions: impl IntoIterator<Item = Condition>) -> Self {
        conditions.into_iter().fold(self, Self::condition)
    }

    /// Returns the `status` to apply. None when the apply would change nothing: every value is there already, and the
    /// manager owns no field that this update leaves out.
    pub(crate) fn patch(&self, deployment: &Value, manager: &str, now: Time) -> Option<Value> {
        let live = &deployment["status"];
        let (status, generation) = (ObjectView(deployment).status(), ObjectView(deployment).generation());
        let mut differs = self.fields.iter().any(|(name, value)| !contains(&live[name], value));
        let conditions: Vec<Value> = self
            .conditions
            .iter()
            .map(|condition| {
                let before = status.condition(condition.name);
                let written = condition_to_write(condition, before, generation, now);
                differs |= before.is_none_or(|before| !contains(before.value(), &written));
                written
            })
            .collect();
        if !differs && !self.omits_some_of(&owned(deployment, manager)) {
            return None;
        }
        let mut status = self.fields.clone();
        if !conditions.is_empty() {
            status.insert("conditions".to_owned(), Value::Array(conditions));
        }
        Some(Value::Object(status))
    }

    /// Whether the update leaves out a field that a manager owns. `owned` is a tree of managed fields; conditions are
    /// keys such as `k:{"type":"Ready"}` in it.
    fn omits_some_of(&self, owned: &Value) -> bool {
        let contains_owned = |name: &str, below: &Value| match name {
            "conditions" => keys(below).all(|key| {
                let name = key.strip_prefix("k:").and_then(|key| serde_json::from_str::<Value>(key).ok());
                let name = name.as_ref().and_then(|key| key["type"].as_str());
                name.is_none_or(|name| self.conditions.iter().any(|condition| condition.name == name))
            }),
            name => match self.fields.get(name) {
                None => false,
                Some(Value::Object(fields)) => {
                    keys(below).all(|key| key.strip_prefix("f:").is_none_or(|key| fields.contains_key(key)))
                }
                Some(_) => true,
            },
        };
        let mut owned_fields = owned.as_object().into_iter().flatten();
        !owned_fields.all(|(key, below)| key.strip_prefix("f:").is_none_or(|name| contains_owned(name, below)))
    }
}

fn keys(tree: &Value) -> impl Iterator<Item = &str> {
    tree.as_object().into_iter().flat_map(Map::keys).map(String::as_str)
}

/// Returns the JSON of a condition. `lastTransitionTime` changes only with `status`, as the API conventions require.
pub fn condition_to_write(
    condition: &Condition,
    before: Option<ConditionView<'_>>,
    generation: Option<i64>,
    now: Time,
) -> Value {
    let status = condition.status.as_str();
    let since = before.filter(|before| before.status() == status).and_then(ConditionView::last_transition);
    let since = since.map_or_else(|| now.to_string(), str::to_owned);
    // The CRD refuses conditions whose message or reason is empty.
    let or_else = |text: &str, other: &str| if text.is_empty() { other.to_owned() } else { text.to_owned() };
    let reason = or_else(&condition.reason, condition.name);
    let mut written = json!({
        "type": condition.name,
        "status": status,
        "message": or_else(&condition.message, &reason),
        "reason": reason,
        "lastTransitionTime": since,
    });
    if let Some(generation) = generation {
        written["observedGeneration"] = Value::from(generation);
    }
    written
}

/// Whether a live value has every field of another one, with the same values.
fn contains(live: &Value, expected: &Value) -> bool {
    match expected {
        Value::Object(fields) => fields.iter().all(|(name, expected)| contains(&live[name], expected)),
        expected => live == expected,
    }
}

/// Returns the status fields that a manager owns, in the form of managed fields (`{"f:phase": {}}`); null when it owns
/// none.
pub(crate) fn owned(deployment: &Value, manager: &str) -> Value {
    let entry = owners(deployment).find(|owner| owner.applies && owner.manager == manager);
    // The apiserver keeps an empty entry of a manager whose fields were all taken over.
    let fields = entry.map(|owner| owner.fields).filter(|fields| keys(fields).next().is_some());
    fields.cloned().unwrap_or_default()
}

/// A field manager that owns parts of the status.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatusOwner<'d> {
    pub(crate) manager: &'d str,
    /// Whether it applies them server-side. Other clients write the whole status (`Update`), and never give a field up.
    pub(crate) applies: bool,
    /// The fields, as in `fieldsV1` below `f:status`.
    pub(crate) fields: &'d Value,
}

/// Returns the field managers that own parts of the status.
pub(crate) fn owners(deployment: &Value) -> impl Iterator<Item = StatusOwner<'_>> {
    ObjectView(deployment).managed_fields().into_iter().flatten().filter_map(|entry| {
        let applies = entry.is_applied() && entry.is_of_status();
        Some(StatusOwner { manager: entry.manager(), applies, fields: entry.status_fields()? })
    })
}

/// Whether an apply takes over fields of other managers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// The apiserver answers with a conflict when another manager owns a field.
    No,
    /// The fields of other managers are taken over.
    Yes,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::condition;

    const NOW: Time = Time(1_800_000_000);

    fn running() -> StatusUpdate {
        StatusUpdate::default()
            .field("phase", "Running")
            .field("provider.resourceName", "phi")
            .field("endpoint", Value::Null)
            .condition(Condition::new(condition::READY, true, "Serving", "all replicas serve"))
    }

    fn deployment(status: Value, managed: &Value) -> Value {
        let mut deployment = json!({"metadata": {"generation": 3, "managedFields": [
            {"manager": "kaito-provider", "operation": "Apply", "subresource": "status", "fieldsV1": {"f:status": managed}},
        ]}});
        deployment["status"] = status;
        deployment
    }

    fn running_status() -> Value {
        running().patch(&deployment(json!({}), &json!({})), "kaito-provider", Time(1_700_000_000)).unwrap()
    }

    #[test]
    fn an_update_without_a_change_is_not_sent() {
        let status = running_status();
        assert_eq!(status["provider"], json!({"resourceName": "phi"}));
        assert_eq!(
            status["conditions"],
            json!([{
                "type": "Ready", "status": "True", "message": "all replicas serve", "reason": "Serving",
                "lastTransitionTime": "2023-11-14T22:13:20Z", "observedGeneration": 3,
            }])
        );
        // Other managers may write more into the same objects and lists.
        let mut live = status.clone();
        live["provider"]["name"] = json!("kaito");
        live["conditions"].as_array_mut().unwrap().push(json!({"type": "Validated", "status": "True"}));
        assert_eq!(running().patch(&deployment(live, &json!({})), "kaito-provider", NOW), None);
    }

    #[test]
    fn the_transition_time_changes_only_with_the_status() {
        let time = |update: StatusUpdate, live: &Value| {
            let patch = update.patch(&deployment(live.clone(), &json!({})), "kaito-provider", NOW).unwrap();
            patch["conditions"][0]["lastTransitionTime"].as_str().unwrap().to_owned()
        };
        let ready =
            |truth, message| StatusUpdate::default().condition(Condition::new(condition::READY, truth, "R", message));
        assert_eq!(time(ready(ConditionStatus::True, "another message"), &running_status()), "2023-11-14T22:13:20Z");
        assert_eq!(time(ready(ConditionStatus::False, "all replicas serve"), &running_status()), NOW.to_string());
    }

    #[test]
    fn owned_fields_that_an_update_omits_are_removed() {
        let owned = json!({
            "f:phase": {}, "f:provider": {"f:resourceName": {}},
            "f:conditions": {"k:{\"type\":\"Ready\"}": {}},
        });
        let patch = |update: StatusUpdate, owned: &Value, manager: &str| {
            update.patch(&deployment(running_status(), owned), manager, NOW)
        };
        assert_eq!(patch(running(), &owned, "kaito-provider"), None);
        assert_eq!(patch(StatusUpdate::default(), &owned, "kaito-provider"), Some(json!({})));
        assert_eq!(patch(StatusUpdate::default(), &owned, "kuberay-provider"), None);
        for more in [
            json!({"f:message": {}}),
            json!({"f:provider": {"f:resourceKind": {}}}),
            json!({"f:conditions": {"k:{\"type\":\"StaleStatus\"}": {}}}),
        ] {
            assert!(patch(running(), &more, "kaito-provider").is_some(), "{more}");
        }
    }

    #[test]
    fn an_empty_entry_owns_nothing() {
        let fields = |managed: Value| owned(&deployment(json!({}), &managed), "kaito-provider");
        assert_eq!(fields(json!({})), Value::Null);
        assert_eq!(fields(json!({"f:phase": {}})), json!({"f:phase": {}}));
    }

    #[test]
    fn no_reason_or_message_is_empty() {
        let update =
            StatusUpdate::default().condition(Condition::new(condition::READY, ConditionStatus::Unknown, "", ""));
        let patch = update.patch(&json!({}), "kaito-provider", NOW).unwrap();
        assert_eq!(
            patch["conditions"],
            json!([{"type": "Ready", "status": "Unknown", "message": "Ready", "reason": "Ready",
                    "lastTransitionTime": NOW.to_string()}])
        );
    }
}
