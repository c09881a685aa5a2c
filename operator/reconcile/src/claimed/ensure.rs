//! Applies what belongs to a claimed object, and deletes what it no longer renders. Never adopts an object: one that
//! another client created is reported, and left as it is.

use std::time::Duration;

use kubefoundry_analysis::drift::{FieldDrift, drift};
use kubefoundry_composition::BUILTIN;
use kubefoundry_controller_runtime::error::Error;
use kubefoundry_controller_runtime::hash::short_hex;
use kubefoundry_kubernetes::api_group::ApiGroup;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::rendering::Rendered;
use super::{Reconciliation, text};
use crate::event::EventReason;
use crate::names::{OWNER_UID, RENDERED_HASH};
use crate::provider::{annotate, desired_fields, resource};
use crate::request::{Mode, Request};
use crate::status::Force;

/// What prevents a write.
pub(super) enum Obstacle {
    /// An object of the same name that another client created.
    NotOwned(String),
    Error(Error),
}

impl<E: Into<Error>> From<E> for Obstacle {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// Whether an object belongs to the claimed object alone, or outlives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tie {
    Owned,
    Kept,
}

impl Reconciliation<'_> {
    /// Applies what is missing or differs. `live` receives the objects as they are afterwards. Returns the time after
    /// which an object that another client keeps changing is corrected, if there is one.
    pub(super) async fn ensure_all(
        &self,
        rendered: &Rendered,
        live: &mut Vec<Value>,
    ) -> Result<Option<Duration>, Obstacle> {
        let kept = rendered.kept.iter().map(|object| (object, Tie::Kept));
        let all: Vec<(&Value, Tie)> = kept.chain(rendered.owned.iter().map(|object| (object, Tie::Owned))).collect();
        let mut known = Vec::new();
        for (object, tie) in &all {
            let found = self.get(&resource(object), text(object, "/metadata/name")).await?;
            // All names are checked before anything is written, so that an obstacle leaves no half behind.
            if *tie == Tie::Owned
                && let Some(found) = found.as_ref().filter(|found| !self.is_ours(found))
            {
                return Err(Obstacle::NotOwned(format!(
                    "{} exists but was not applied for this {}, so the operator does not change it",
                    title(found),
                    self.kind().resource().kind
                )));
            }
            known.push(found);
        }
        let mut deferred = None;
        for ((object, tie), found) in all.into_iter().zip(known) {
            match self.ensure(object, tie, found).await? {
                Ensured::Live(object) => live.push(object),
                Ensured::Deferred(object, delay) => {
                    live.push(object);
                    deferred = Some(delay);
                }
            }
        }
        Ok(deferred)
    }

    async fn ensure(&self, object: &Value, tie: Tie, found: Option<Value>) -> Result<Ensured, Obstacle> {
        let desired = self.marked(object, tie);
        let Some(found) = found else {
            let stored = self.apply(&desired, Force::No).await?;
            self.publish(EventReason::ResourceCreated, format!("Created {}", title(object))).await;
            return Ok(Ensured::Live(stored));
        };
        if tie == Tie::Kept && !self.is_kept_by_us(&found) {
            // It does what it is for, also if another client created it.
            return Ok(Ensured::Live(found));
        }
        if !text(&found, "/metadata/deletionTimestamp").is_empty() {
            return Err(Error::Waiting(format!("{} is being deleted", title(object))).into());
        }
        let key = key(object);
        let has_owner = tie == Tie::Kept || controller(&found) == Some(self.object().uid());
        let differs = || !differences(&desired, &found).is_empty();
        let is_known = || self.memory().is_unchangeable(&key, &state_hash(&desired, &found));
        if has_owner && (!differs() || is_known()) {
            return Ok(Ensured::Live(found));
        }
        let annotation = self.api_group().label(RENDERED_HASH);
        let hash = |object: &Value| annotation_of(object, &annotation).map(str::to_owned);
        // What is rendered is what was applied last, so another client changed the object.
        let is_drift = hash(&found) == hash(&desired);
        if is_drift && let Some(delay) = self.memory().correction_delay(self.observation.base.moment) {
            return Ok(Ensured::Deferred(found, delay));
        }
        let stored = self.apply(&desired, Force::Yes).await?;
        if !differences(&desired, &stored).is_empty() {
            // The apiserver stores a value in another form than it was written.
            self.memory().record_unchangeable(&key, state_hash(&desired, &stored));
        }
        if is_drift && desired_fields(&stored) != desired_fields(&found) {
            self.memory().record_correction(self.observation.base.moment);
            let message = format!("{} was changed by another client, and is restored", title(object));
            self.publish(EventReason::DriftDetected, message).await;
        }
        Ok(Ensured::Live(stored))
    }

    /// Deletes what was applied for the object and is no longer rendered.
    pub(super) async fn prune(&self, rendered: &Rendered) -> Result<(), Error> {
        let all = || rendered.owned.iter().chain(&rendered.kept);
        for owned in self.observation.owned.iter().filter(|owned| !owned.is_terminating) {
            let is_it = |object: &Value| {
                let wanted = resource(object);
                wanted.group == owned.resource.group
                    && wanted.kind == owned.resource.kind
                    && text(object, "/metadata/name") == owned.name
            };
            if all().any(is_it) || self.memory().begin_delete(&owned.uid, self.observation.base.moment) {
                continue;
            }
            let request = Request::Delete {
                resource: (*owned.resource).clone(),
                name: owned.name.clone(),
                uid: owned.uid.clone(),
                version: owned.version.clone(),
            };
            match self.exchange.send(request).await {
                Ok(_) => {
                    let (namespace, claimed) = (self.object().namespace(), self.object().name());
                    tracing::info!(namespace, claimed, kind = owned.resource.kind, name = owned.name, "deleted");
                }
                Err(error) if error.has_code(404) => {}
                Err(error) => {
                    self.memory().cancel_delete(&owned.uid);
                    if !error.has_code(409) {
                        return Err(error.into());
                    }
                    return Err(Error::Waiting(format!(
                        "{} '{}' changed in the meantime",
                        owned.resource.kind, owned.name
                    )));
                }
            }
        }
        Ok(())
    }

    /// Applies an object, and returns it as stored.
    async fn apply(&self, object: &Value, force: Force) -> Result<Value, Error> {
        let manager = self.kind().manager().to_owned();
        let request = Request::Apply { manager, object: object.clone(), mode: Mode::Real, force };
        let stored = match self.exchange.ask(request).await {
            // Without force: another client created the object in the meantime.
            Err(error) if error.has_code(409) => {
                return Err(Error::Waiting(format!("another client wrote {} in the meantime", title(object))));
            }
            answer => answer?,
        };
        let (namespace, claimed) = (self.object().namespace(), self.object().name());
        let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
        tracing::info!(namespace, claimed, kind, name, "applied");
        Ok(stored)
    }

    /// Adds the marks by which an object is recognized as applied for this one.
    fn marked(&self, object: &Value, tie: Tie) -> Value {
        let mut marked = object.clone();
        if tie == Tie::Owned {
            annotate(&mut marked, self.api_group().label(OWNER_UID), self.object().uid());
        }
        annotate(&mut marked, self.api_group().label(RENDERED_HASH), &hash(&[object]));
        marked
    }

    /// Whether an object was applied for this very claimed object: it is its controller, or another client took the owner
    /// from what our manager applied.
    fn is_ours(&self, found: &Value) -> bool {
        match controller(found) {
            Some(owner) => owner == self.object().uid(),
            None => {
                annotation_of(found, &self.api_group().label(OWNER_UID)) == Some(self.object().uid())
                    && self.is_managed(found)
            }
        }
    }

    /// Whether our manager created an object that outlives the claimed ones.
    fn is_kept_by_us(&self, found: &Value) -> bool {
        annotation_of(found, &self.api_group().label(RENDERED_HASH)).is_some() && self.is_managed(found)
    }

    /// Whether our manager has fields of an object.
    fn is_managed(&self, found: &Value) -> bool {
        managed_fields(found, self.kind().manager()).next().is_some()
    }

    fn api_group(&self) -> &'static ApiGroup {
        self.observation.base.api_group
    }
}

/// An object after it was ensured.
enum Ensured {
    Live(Value),
    /// Another client keeps changing it; it is corrected after this time.
    Deferred(Value, Duration),
}

/// Returns the desired fields that have another value in a live object. A live object lacks fields that were written with the
/// zero value of their type.
pub(super) fn differences(desired: &Value, live: &Value) -> Vec<FieldDrift> {
    let is_zero = |value: &Value| match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    };
    // Without the managed fields, by which `drift` would look for fields that other managers do not render any more.
    let mut fields = drift(&BUILTIN, desired, &desired_fields(live), None);
    fields.retain(|field| field.difference.found.is_some() || !field.difference.expected.as_ref().is_none_or(is_zero));
    fields
}

/// Returns the managed fields of a manager outside of the status.
pub(super) fn managed_fields<'o>(object: &'o Value, manager: &'o str) -> impl Iterator<Item = &'o Value> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let is_own = move |entry: &&Value| entry["manager"] == manager && entry.get("subresource").is_none();
    entries.into_iter().flatten().filter(is_own).map(|entry| &entry["fieldsV1"])
}

/// Returns an annotation of an object.
pub(super) fn annotation_of<'o>(object: &'o Value, key: &str) -> Option<&'o str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

/// Returns the uid of the owner that is marked as the controller.
fn controller(object: &Value) -> Option<&str> {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array)?;
    owners.iter().find(|owner| owner["controller"] == true)?["uid"].as_str()
}

/// Formats an object for messages: `Deployment 'triton'`.
pub(super) fn title(object: &Value) -> String {
    format!("{} '{}'", text(object, "/kind"), text(object, "/metadata/name"))
}

fn key(object: &Value) -> String {
    format!("{}/{}", text(object, "/kind"), text(object, "/metadata/name"))
}

/// Hashes the desired object, and the live fields that a client could set.
fn state_hash(desired: &Value, live: &Value) -> String {
    hash(&[desired, &desired_fields(live)])
}

fn hash(objects: &[&Value]) -> String {
    let mut hash = Sha256::new();
    for object in objects {
        hash.update(object.to_string());
        hash.update([0]);
    }
    short_hex(&hash.finalize())
}
