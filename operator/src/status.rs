//! What a controller says in the status of a ModelDeployment: by server-side apply, each under its own manager
//! (docs/specification.md OP-6.1), and only when it is not said already.
//!
//! ```text
//! Statement (all that a manager says) ─ against the status as it is kept ─ nothing to do, or one apply
//! ```
//! What a manager leaves out of an apply and owned before is taken away. So a [`Statement`] is always the whole of what
//! it says; [`Statement::default`] gives everything up.

use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kubefoundry_compiler::cluster_snapshot::time::Time;
use serde_json::{Map, Value, json};

use crate::cached::Cached;
use crate::context::Context;
use crate::error::Error;

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    True,
    False,
    Unknown,
}

impl Holds {
    fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for Holds {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// A condition; the time of its transition and its generation are filled in when it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    /// One of [`condition`](crate::names::condition).
    pub(crate) name: &'static str,
    pub(crate) holds: Holds,
    /// One word in CamelCase.
    pub(crate) reason: String,
    /// For people.
    pub(crate) message: String,
}

impl Condition {
    pub(crate) fn new(
        name: &'static str,
        holds: impl Into<Holds>,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        let reason = reason.into();
        debug_assert!(crate::reference::is_documented(name, &reason), "{name}: {reason} is not documented");
        Self { name, holds: holds.into(), reason, message: message.into() }
    }
}

/// All that a manager says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Statement {
    /// Fields of `status` but for conditions.
    fields: Map<String, Value>,
    conditions: Vec<Condition>,
}

impl Statement {
    /// Sets a field, or a field of one: `phase`, `provider.name`. What is null is not said.
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

    /// Adds a condition; the last one of a name counts.
    #[must_use]
    pub(crate) fn condition(mut self, condition: Condition) -> Self {
        self.conditions.retain(|other| other.name != condition.name);
        self.conditions.push(condition);
        self
    }

    /// The same for any number of them.
    #[must_use]
    pub(crate) fn conditions(self, conditions: impl IntoIterator<Item = Condition>) -> Self {
        conditions.into_iter().fold(self, Self::condition)
    }

    /// The `status` to apply, when it is not what is there already: a value that is said and not there, or one that the
    /// manager owns and does not say any more.
    pub(crate) fn patch(&self, deployment: &Value, manager: &str, now: Time) -> Option<Value> {
        let live = &deployment["status"];
        let generation = deployment.pointer("/metadata/generation").and_then(Value::as_i64);
        let mut differs = self.fields.iter().any(|(name, said)| !contains(&live[name], said));
        let conditions: Vec<Value> = self
            .conditions
            .iter()
            .map(|condition| {
                let before = find(live, condition.name);
                let written = written(condition, before, generation, now);
                differs |= before.is_none_or(|before| !contains(before, &written));
                written
            })
            .collect();
        if !differs && !self.leaves_out(&owned(deployment, manager)) {
            return None;
        }
        let mut status = self.fields.clone();
        if !conditions.is_empty() {
            status.insert("conditions".to_owned(), Value::Array(conditions));
        }
        Some(Value::Object(status))
    }

    /// Whether something of what a manager owns is not said.
    fn leaves_out(&self, owned: &Value) -> bool {
        let says = |name: &str, below: &Value| match name {
            "conditions" => keys(below).all(|key| {
                let name = key.strip_prefix("k:").and_then(|key| serde_json::from_str::<Value>(key).ok());
                let name = name.as_ref().and_then(|key| key["type"].as_str());
                name.is_none_or(|name| self.conditions.iter().any(|condition| condition.name == name))
            }),
            name => match self.fields.get(name) {
                None => false,
                Some(Value::Object(said)) => {
                    keys(below).all(|key| key.strip_prefix("f:").is_none_or(|key| said.contains_key(key)))
                }
                Some(_) => true,
            },
        };
        let mut fields = owned.as_object().into_iter().flatten();
        !fields.all(|(key, below)| key.strip_prefix("f:").is_none_or(|name| says(name, below)))
    }
}

fn keys(tree: &Value) -> impl Iterator<Item = &str> {
    tree.as_object().into_iter().flat_map(Map::keys).map(String::as_str)
}

/// A condition as it is written: its time changes only with its status.
fn written(condition: &Condition, before: Option<&Value>, generation: Option<i64>, now: Time) -> Value {
    let status = condition.holds.as_str();
    let since =
        before.filter(|before| before["status"] == status).and_then(|before| before["lastTransitionTime"].as_str());
    let since = since.map_or_else(|| now.to_string(), str::to_owned);
    // None of these may be empty.
    let or = |text: &str, other: &str| if text.is_empty() { other.to_owned() } else { text.to_owned() };
    let reason = or(&condition.reason, condition.name);
    let mut written = json!({
        "type": condition.name,
        "status": status,
        "message": or(&condition.message, &reason),
        "reason": reason,
        "lastTransitionTime": since,
    });
    if let Some(generation) = generation {
        written["observedGeneration"] = Value::from(generation);
    }
    written
}

/// A condition of a status.
pub(crate) fn find<'s>(status: &'s Value, name: &str) -> Option<&'s Value> {
    status["conditions"].as_array()?.iter().find(|condition| condition["type"] == name)
}

/// Whether everything that is said is there.
fn contains(live: &Value, said: &Value) -> bool {
    match said {
        Value::Object(fields) => fields.iter().all(|(name, said)| contains(&live[name], said)),
        said => live == said,
    }
}

/// What of the status a manager owns, as managed fields have it (`{"f:phase": {}}`); null when nothing.
pub(crate) fn owned(deployment: &Value, manager: &str) -> Value {
    let entry = managers(deployment).find(|(name, _)| *name == manager);
    entry.map(|(_, fields)| fields.clone()).unwrap_or_default()
}

/// Those who applied something of the status, and what.
pub(crate) fn managers(deployment: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let entries = deployment.pointer("/metadata/managedFields").and_then(Value::as_array);
    entries.into_iter().flatten().filter_map(|entry| {
        let is_apply = entry["operation"] == "Apply" && entry["subresource"] == "status";
        Some((entry["manager"].as_str().filter(|_| is_apply)?, entry.pointer("/fieldsV1/f:status")?))
    })
}

/// How a status is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Force {
    /// Who owns a field already keeps it: the apiserver answers with a conflict.
    No,
    /// Fields of others are taken over.
    Yes,
}

/// Says it, when it is not said already. Gives what the apiserver made of it, or nothing when nothing was sent.
///
/// # Errors
/// What the apiserver says; `409` when another manager still owns a field.
pub(crate) async fn write(
    context: &Context,
    deployment: &Cached,
    manager: &str,
    statement: &Statement,
    force: Force,
) -> Result<Option<Cached>, Error> {
    let Some(status) = statement.patch(&deployment.value(), manager, now()) else { return Ok(None) };
    // With the uid, a deployment of the same name that was made since is not written to, and none is made.
    let object = json!({
        "apiVersion": context.resource.api_version,
        "kind": context.resource.kind,
        "metadata": {"name": deployment.name(), "namespace": deployment.namespace(), "uid": deployment.uid()},
        "status": status,
    });
    let api: Api<Cached> = Api::namespaced_with(context.client.clone(), deployment.namespace(), &context.resource);
    let mut how = PatchParams::apply(manager).validation_strict();
    how.force = force == Force::Yes;
    Ok(Some(api.patch_status(deployment.name(), &how, &Patch::Apply(&object)).await?))
}

/// What time it is, to the second.
pub(crate) fn now() -> Time {
    Time(Timestamp::now().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::condition;

    const NOW: Time = Time(1_800_000_000);

    fn running() -> Statement {
        Statement::default()
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

    fn said() -> Value {
        running().patch(&deployment(json!({}), &json!({})), "kaito-provider", Time(1_700_000_000)).unwrap()
    }

    #[test]
    fn what_is_said_already_is_not_said_again() {
        let said = said();
        assert_eq!(said["provider"], json!({"resourceName": "phi"}));
        assert_eq!(
            said["conditions"],
            json!([{
                "type": "Ready", "status": "True", "message": "all replicas serve", "reason": "Serving",
                "lastTransitionTime": "2023-11-14T22:13:20Z", "observedGeneration": 3,
            }])
        );
        // Others say more in the same fields.
        let mut live = said.clone();
        live["provider"]["name"] = json!("kaito");
        live["conditions"].as_array_mut().unwrap().push(json!({"type": "Validated", "status": "True"}));
        assert_eq!(running().patch(&deployment(live, &json!({})), "kaito-provider", NOW), None);
    }

    #[test]
    fn a_transition_is_a_change_of_the_status_alone() {
        let time = |statement: Statement, live: &Value| {
            let patch = statement.patch(&deployment(live.clone(), &json!({})), "kaito-provider", NOW).unwrap();
            patch["conditions"][0]["lastTransitionTime"].as_str().unwrap().to_owned()
        };
        let ready =
            |holds, message| Statement::default().condition(Condition::new(condition::READY, holds, "R", message));
        assert_eq!(time(ready(Holds::True, "another message"), &said()), "2023-11-14T22:13:20Z");
        assert_eq!(time(ready(Holds::False, "all replicas serve"), &said()), NOW.to_string());
    }

    #[test]
    fn what_is_owned_and_not_said_any_more_is_taken_away() {
        let owned = json!({
            "f:phase": {}, "f:provider": {"f:resourceName": {}},
            "f:conditions": {"k:{\"type\":\"Ready\"}": {}},
        });
        let patch = |statement: Statement, owned: &Value, manager: &str| {
            statement.patch(&deployment(said(), owned), manager, NOW)
        };
        assert_eq!(patch(running(), &owned, "kaito-provider"), None);
        assert_eq!(patch(Statement::default(), &owned, "kaito-provider"), Some(json!({})));
        assert_eq!(patch(Statement::default(), &owned, "kuberay-provider"), None);
        for more in [
            json!({"f:message": {}}),
            json!({"f:provider": {"f:resourceKind": {}}}),
            json!({"f:conditions": {"k:{\"type\":\"StaleStatus\"}": {}}}),
        ] {
            assert!(patch(running(), &more, "kaito-provider").is_some(), "{more}");
        }
    }

    /// The CRD refuses conditions whose message or reason is empty.
    #[test]
    fn no_condition_is_empty() {
        let statement = Statement::default().condition(Condition::new(condition::READY, Holds::Unknown, "", ""));
        let patch = statement.patch(&json!({}), "kaito-provider", NOW).unwrap();
        assert_eq!(
            patch["conditions"],
            json!([{"type": "Ready", "status": "Unknown", "message": "Ready", "reason": "Ready",
                    "lastTransitionTime": NOW.to_string()}])
        );
    }
}
