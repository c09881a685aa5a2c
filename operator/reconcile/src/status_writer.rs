//! Writes the status fields of one controller, and takes back what other clients wrote into them.
//!
//! Server-side apply refuses to change a field of another manager (409). That protects colleagues from each other: a
//! provider waits until the one before it has given up its fields. But a client that writes the status with `Update`
//! (kubectl edit, a controller built on client-go) owns its fields for ever, and so does a controller that is gone. The
//! contract of the API assigns each field to one of our managers, so those are not colleagues, and are overruled.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};

use kubefoundry_controller_runtime::error::Error;
use kubefoundry_controller_runtime::observed::ObjectView;
use serde_json::{Value, json};

use super::exchange::Exchange;
use super::memory::Memory;
use super::observation::Observation;
use super::request::{Answer, Measurement, Request};
use crate::names::condition;
use crate::status::{self, Force, StatusOwner, StatusUpdate};

/// The fields of a provider's controller, as JSON pointers below `status`.
const PROVIDER_FIELDS: [&str; 8] = [
    "/phase",
    "/message",
    "/provider/resourceKind",
    "/provider/resourceName",
    "/endpoint",
    "/replicas",
    "/selector",
    "/observedGeneration",
];
/// The conditions of a provider's controller.
const PROVIDER_CONDITIONS: [&str; 5] = [
    condition::PROVIDER_COMPATIBLE,
    condition::RESOURCE_CREATED,
    condition::READY,
    condition::STALE_STATUS,
    condition::PENDING_RECREATE,
];

/// What a controller may do with status fields that another client wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Authority {
    /// The provider that is chosen: all fields of a provider are its own, also those that it does not write now.
    Chosen,
    /// Core and the selector: the fields that they write are their own.
    Own,
    /// A provider that is no longer chosen: its successor may write already.
    Leaving,
}

impl Authority {
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Chosen => &PROVIDER_FIELDS,
            Self::Own | Self::Leaving => &[],
        }
    }

    fn conditions(self) -> &'static [&'static str] {
        match self {
            Self::Chosen => &PROVIDER_CONDITIONS,
            Self::Own | Self::Leaving => &[],
        }
    }
}

/// Writes the status of a deployment as one field manager.
pub(crate) struct StatusWriter<'r> {
    pub(crate) observation: &'r Observation,
    pub(crate) memory: &'r Mutex<Memory>,
    pub(crate) exchange: &'r Exchange,
    pub(crate) manager: &'r str,
    pub(crate) authority: Authority,
}

impl StatusWriter<'_> {
    /// Writes an update if it changes the status. Returns whether a request was needed.
    ///
    /// # Errors
    /// [`Error::Waiting`] while a colleague owns a field, and what the apiserver refuses.
    pub(crate) async fn write(&self, update: &StatusUpdate, force: Force) -> Result<bool, Error> {
        let Observation { value, now, colleagues, .. } = self.observation;
        let Some(status) = update.patch(value, self.manager, *now) else {
            self.remove_leftovers(update).await?;
            return Ok(false);
        };
        let may_overrule = self.authority != Authority::Leaving;
        let strangers = may_overrule && overrules(value, &status, self.manager, colleagues);
        let is_lasting = may_overrule && self.memory().has_lasting_conflict();
        let force = if strangers || is_lasting { Force::Yes } else { force };
        let request = Request::ApplyStatus { manager: self.manager.to_owned(), status, force };
        let answer = self.exchange.send(request).await;
        let is_conflict = matches!(&answer, Err(error) if error.has_code(409));
        self.memory().record_conflict(is_conflict);
        if is_conflict {
            self.exchange.tell(Request::Record(Measurement::Conflict)).await;
        }
        if self.accept(answer)? && (strangers || is_lasting) {
            self.exchange.tell(Request::Record(Measurement::Takeover)).await;
        }
        // The watch delivers this write, and what is left over is removed then.
        Ok(true)
    }

    /// Removes fields of this controller that another client wrote, and that the update leaves out: server-side apply
    /// removes only what the manager itself owned.
    async fn remove_leftovers(&self, update: &StatusUpdate) -> Result<(), Error> {
        let Observation { value, colleagues, .. } = self.observation;
        let Some(patch) = removal(value, update, self.authority, colleagues, self.manager) else { return Ok(()) };
        let request = Request::PatchStatus { manager: self.manager.to_owned(), patch };
        let answer = match self.exchange.send(request).await {
            // A test of the patch failed.
            Err(error) if error.has_code(422) || error.has_code(409) => {
                return Err(Error::Waiting("another client changed the deployment in the meantime".to_owned()));
            }
            answer => answer,
        };
        self.accept(answer)?;
        self.exchange.tell(Request::Record(Measurement::Takeover)).await;
        Ok(())
    }

    /// Remembers the deployment as stored. Returns whether it still exists.
    fn accept(&self, answer: Answer) -> Result<bool, Error> {
        match answer {
            Ok(Some(stored)) => {
                self.memory().record_write(ObjectView(&stored).version(), self.observation.moment);
                Ok(true)
            }
            // The deployment was deleted, or replaced by one of the same name. Nothing is left to report.
            Ok(None) => Ok(false),
            Err(error) if error.has_code(404) => Ok(false),
            // The successor reports already.
            Err(error) if error.has_code(409) && self.authority == Authority::Leaving => Ok(false),
            // A conflict: another controller has to give up its fields first.
            Err(error) if error.has_code(409) => {
                Err(Error::Waiting("another controller still owns status fields".to_owned()))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        super::lock(self.memory)
    }
}

/// Whether a manager is a controller that gives up its fields in time.
fn is_colleague(owner: StatusOwner<'_>, colleagues: &BTreeSet<String>) -> bool {
    owner.applies && colleagues.contains(owner.manager)
}

/// Whether an apply of this status changes fields of other managers, and none of them is a colleague.
fn overrules(deployment: &Value, status: &Value, manager: &str, colleagues: &BTreeSet<String>) -> bool {
    let live = &deployment["status"];
    let others = status::owners(deployment).filter(|owner| !(owner.applies && owner.manager == manager));
    let conflicting: Vec<StatusOwner<'_>> = others.filter(|owner| has_conflict(owner.fields, live, status)).collect();
    !conflicting.is_empty() && !conflicting.iter().any(|owner| is_colleague(*owner, colleagues))
}

/// Whether an owner's fields have another value in the status that is applied.
fn has_conflict(owned: &Value, live: &Value, applied: &Value) -> bool {
    let fields = owned.as_object().into_iter().flatten();
    fields.into_iter().any(|(key, below)| {
        let Some(name) = key.strip_prefix("f:") else { return false };
        let (Some(applied), live) = (applied.get(name), &live[name]) else { return false };
        if name == "conditions" {
            let types = condition_types(below);
            return types.into_iter().any(|kind| {
                let of = |list: &Value| {
                    let list = list.as_array().into_iter().flatten();
                    list.into_iter().find(|condition| condition["type"] == kind.as_str()).cloned()
                };
                of(applied).is_some_and(|applied| Some(applied) != of(live))
            });
        }
        match below.as_object() {
            Some(fields) if fields.keys().any(|key| key.starts_with("f:")) => has_conflict(below, live, applied),
            _ => live != applied,
        }
    })
}

/// Returns the types of conditions in managed fields: keys such as `k:{"type":"Ready"}`.
fn condition_types(owned: &Value) -> Vec<String> {
    let keys = owned.as_object().into_iter().flatten();
    keys.into_iter()
        .filter_map(|(key, _)| serde_json::from_str::<Value>(key.strip_prefix("k:")?).ok())
        .filter_map(|key| key["type"].as_str().map(str::to_owned))
        .collect()
}

/// Returns the JSON patch that removes fields of a controller which only strangers own; none if there are none.
fn removal(
    deployment: &Value,
    update: &StatusUpdate,
    authority: Authority,
    colleagues: &BTreeSet<String>,
    manager: &str,
) -> Option<Value> {
    let live = &deployment["status"];
    let owners: Vec<StatusOwner<'_>> = status::owners(deployment).collect();
    let held_by_strangers = |owns: &dyn Fn(&StatusOwner<'_>) -> bool| {
        let mut holders = owners.iter().filter(|owner| owns(owner)).peekable();
        holders.peek().is_some() && holders.all(|owner| owner.manager != manager && !is_colleague(*owner, colleagues))
    };
    let is_leftover = |pointer: &str| {
        let managed = pointer.replace('/', "/f:");
        held_by_strangers(&|owner| owner.fields.pointer(&managed).is_some())
    };
    let mut removals: Vec<Value> = authority
        .fields()
        .iter()
        .filter(|pointer| live.pointer(pointer).is_some() && !update.has_field(pointer) && is_leftover(pointer))
        .map(|pointer| json!({"op": "remove", "path": format!("/status{pointer}")}))
        .collect();
    let conditions = live["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_foreign_condition = |kind: &str| {
        held_by_strangers(&|owner| condition_types(&owner.fields["f:conditions"]).iter().any(|owned| owned == kind))
    };
    // From the end, so that an index still holds after a removal.
    for (index, condition) in conditions.iter().enumerate().rev() {
        let kind = condition["type"].as_str().unwrap_or_default();
        if authority.conditions().contains(&kind) && !update.has_condition(kind) && is_foreign_condition(kind) {
            removals.push(json!({"op": "remove", "path": format!("/status/conditions/{index}")}));
        }
    }
    if removals.is_empty() {
        return None;
    }
    let metadata = &deployment["metadata"];
    let test = |name: &str| json!({"op": "test", "path": format!("/metadata/{name}"), "value": metadata[name]});
    Some(Value::Array([test("uid"), test("resourceVersion")].into_iter().chain(removals).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Condition;

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({"manager": manager, "operation": operation, "subresource": "status", "fieldsV1": {"f:status": fields}})
    }

    fn deployment(entries: &[Value]) -> Value {
        json!({
            "metadata": {"uid": "u", "resourceVersion": "7", "managedFields": entries},
            "status": {
                "phase": "Failed", "endpoint": {"service": "tp", "port": 9000}, "provider": {"name": "kaito", "resourceKind": "T"},
                "conditions": [{"type": "Validated", "status": "True"}, {"type": "Ready", "status": "True"}],
            },
        })
    }

    fn colleagues() -> BTreeSet<String> {
        ["kubefoundry-core", "provider-selector", "kaito-provider", "dynamo-provider"].map(str::to_owned).into()
    }

    #[test]
    fn clients_that_update_and_unknown_managers_are_overruled() {
        let phase = || json!({"f:phase": {}, "f:conditions": {"k:{\"type\":\"Ready\"}": {".": {}}}});
        let overruled = |entries: &[Value], status: &Value| {
            overrules(&deployment(entries), status, "kaito-provider", &colleagues())
        };
        let running = json!({"phase": "Running"});
        assert!(overruled(&[entry("kubectl-patch", "Update", &phase())], &running));
        assert!(overruled(&[entry("former-controller", "Apply", &phase())], &running));
        assert!(!overruled(&[entry("dynamo-provider", "Apply", &phase())], &running));
        // A colleague among strangers is waited for.
        let both = [entry("kubectl-patch", "Update", &phase()), entry("dynamo-provider", "Apply", &phase())];
        assert!(!overruled(&both, &running));
        // An equal value, or one of our fields, is not a conflict.
        assert!(!overruled(&[entry("kubectl-patch", "Update", &phase())], &json!({"phase": "Failed"})));
        assert!(!overruled(&[entry("kaito-provider", "Apply", &phase())], &running));
        // Nor is a condition that another controller owns in the same list.
        let ready = json!({"conditions": [{"type": "Ready", "status": "False"}]});
        let validated = json!({"conditions": [{"type": "Validated", "status": "False"}]});
        assert!(overruled(&[entry("kubectl-patch", "Update", &phase())], &ready));
        assert!(!overruled(&[entry("kubectl-patch", "Update", &phase())], &validated));
    }

    #[test]
    fn what_a_stranger_left_behind_is_removed() {
        let all = json!({
            "f:phase": {}, "f:endpoint": {"f:service": {}, "f:port": {}}, "f:provider": {"f:resourceKind": {}},
            "f:conditions": {"k:{\"type\":\"Ready\"}": {}, "k:{\"type\":\"Validated\"}": {}},
        });
        let update = StatusUpdate::default().field("phase", "Running").condition(Condition::new(
            condition::RESOURCE_CREATED,
            true,
            "ResourceCreated",
            "so",
        ));
        let patch = |entries: &[Value], authority| {
            removal(&deployment(entries), &update, authority, &colleagues(), "kaito-provider")
        };
        let stranger = entry("manager", "Update", &all);
        let paths = |patch: Option<Value>| -> Vec<String> {
            let steps = patch.unwrap();
            let steps = steps.as_array().unwrap();
            steps.iter().map(|step| format!("{} {}", step["op"], step["path"]).replace('"', "")).collect()
        };
        assert_eq!(
            paths(patch(std::slice::from_ref(&stranger), Authority::Chosen)),
            [
                "test /metadata/uid",
                "test /metadata/resourceVersion",
                "remove /status/provider/resourceKind",
                "remove /status/endpoint",
                "remove /status/conditions/1",
            ]
        );
        assert_eq!(patch(std::slice::from_ref(&stranger), Authority::Own), None);
        // A colleague that owns them too gives them up on its own.
        assert_eq!(patch(&[stranger, entry("dynamo-provider", "Apply", &all)], Authority::Chosen), None);
    }
}
