//! Binds an actor to a workload of another owner, and takes the additions out again (docs/specification.md AA-1.12).
//!
//! Containers, volumes and labels are list and map items, which server-side apply adds under a field manager of its own:
//! the owner of the workload applies its own items as before, and neither removes those of the other. Where the lists of a
//! kind have no keys, the whole list is patched.
//!
//! ```text
//! intent in the status (resolvedTarget) ─ apply with the resourceVersion ─ Bound
//! Bound, but fields are gone that our manager no longer owns ─ conflict: count, wait 1 s, 2 s, … ─ apply again
//! more than five conflicts ─ Stopped, until the specification changes or the actor is handed over again
//! ```
//! The status names the workload before it is changed, so that a process that ends in between leaves nothing behind.

use std::time::Duration;

use kube::core::{ApiResource, GroupVersionKind};
use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_controller_runtime::backoff::Exponential;
use kubefoundry_controller_runtime::error::Error;
use kubefoundry_controller_runtime::observed::ConditionView;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use serde_json::{Map, Value, json};

use super::ensure::{annotation_of, differences, managed_fields, title};
use super::{Outcome, Reconciliation, is_same, rendering, text};
use crate::Next;
use crate::conditions::{APPLIED, BOUND};
use crate::event::EventReason;
use crate::provider::desired_fields;
use crate::request::{Measurement, Mode, Request, RequestError};
use crate::status::{Condition, Force};

/// The annotation of a workload that names the actor whose containers were added (AA-1.6).
const MANAGED_BY: &str = "asya.sh/managed-by";
/// Number of conflicts that are answered by adding the containers again (ADR-001, MUST 2).
const MAX_CONFLICTS: u32 = 5;
/// The delay before that.
const REPAIR: Exponential = Exponential { initial: Duration::from_secs(1), max: Duration::from_secs(60) };
/// Seconds without a conflict after which they are counted from the beginning.
const CONFLICT_RESET_SECONDS: u64 = 3600;

/// A workload, as `status.resolvedTarget` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetReference {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
}

impl TargetReference {
    pub(super) fn of(object: &Value) -> Self {
        let text = |pointer: &str| text(object, pointer).to_owned();
        Self { api_version: text("/apiVersion"), kind: text("/kind"), name: text("/metadata/name") }
    }

    fn resource(&self) -> ApiResource {
        let (group, version) = self.api_version.rsplit_once('/').unwrap_or(("", &self.api_version));
        ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &self.kind))
    }

    /// Returns the API group.
    pub(super) fn group(&self) -> &str {
        self.api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }

    /// Returns the value of `status.resolvedTarget`.
    pub(super) fn to_json(&self, namespace: &str) -> Value {
        json!({"apiVersion": self.api_version, "kind": self.kind, "name": self.name, "namespace": namespace})
    }
}

/// The conflicts about a binding, as the status keeps them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Conflicts {
    pub(super) count: u32,
    /// The time of the last one.
    pub(super) last: Option<String>,
}

impl Conflicts {
    fn seconds_since_last(&self, now: Time) -> Option<u64> {
        Some(now.seconds_since(Time::parse(self.last.as_deref()?)?))
    }

    /// Returns the rest of the delay before the additions are made again.
    fn delay(&self, now: Time) -> Option<Duration> {
        let delay = REPAIR.delay(self.count.saturating_sub(1));
        let elapsed = Duration::from_secs(self.seconds_since_last(now)?);
        delay.checked_sub(elapsed).filter(|rest| !rest.is_zero())
    }
}

impl Reconciliation<'_> {
    /// Returns the workload that the status names.
    pub(super) fn recorded_target(&self) -> Option<TargetReference> {
        let [api_version, kind, name] = self.observation.base.status().resolved_target().map(str::to_owned);
        let target = TargetReference { api_version, kind, name };
        (!target.kind.is_empty() && !target.name.is_empty()).then_some(target)
    }

    /// Returns the conflicts that still count: those about this generation, unless the last one was long ago.
    pub(super) fn conflicts(&self) -> Conflicts {
        let status = self.observation.base.status();
        let (count, last) = (status.conflict_count(), status.last_conflict());
        let conflicts = Conflicts { count, last: last.map(str::to_owned) };
        let is_of_generation = status.observed_generation() == self.observation.base.generation();
        let is_stopped = self.has_reason("Stopped");
        let is_long_ago = conflicts.seconds_since_last(self.now()).is_none_or(|age| age > CONFLICT_RESET_SECONDS);
        if !is_of_generation || is_long_ago && !is_stopped { Conflicts::default() } else { conflicts }
    }

    fn has_reason(&self, reason: &str) -> bool {
        self.observation.base.status().condition(BOUND).is_some_and(|bound| bound.reason() == reason)
    }

    /// Returns why the object cannot be bound before it is rendered; none if it can, or does not bind.
    pub(super) fn binding_obstacle(&self, inputs: &[Value]) -> Option<Condition> {
        let object = &self.observation.base.value;
        if !self.kind().binds(object) {
            return None;
        }
        let target = inputs.iter().rfind(|input| self.kind().means(object, &TargetReference::of(input)));
        let Some(target) = target else {
            let reference = &object["spec"]["workloadRef"];
            let message = format!(
                "{} '{}' does not exist, or its workload does not yet",
                text(reference, "/kind"),
                text(reference, "/name")
            );
            return Some(Condition::new(APPLIED, false, "TargetMissing", message));
        };
        let other = annotation_of(target, MANAGED_BY).filter(|other| !other.is_empty())?;
        let exists = self.observation.siblings.iter().any(|sibling| sibling == other);
        if other == self.object().name() || !exists {
            return None;
        }
        let message = format!("{} is the target of AsyncActor '{other}'", title(target));
        Some(Condition::new(APPLIED, false, "TargetShared", message))
    }

    /// Adds what was rendered to the workload.
    pub(super) async fn bind(
        &self,
        changed: &Value,
        inputs: &[Value],
        outcome: &mut Outcome,
        live: &mut Vec<Value>,
    ) -> Result<(), Error> {
        let Some(found) = inputs.iter().find(|input| is_same(input, changed)) else { return Ok(()) };
        let target = TargetReference::of(found);
        let bound = |truth: bool, reason: &str, message: String| Some(Condition::new(BOUND, truth, reason, message));
        outcome.target = Some(target.clone());
        let original = rendering::strip(self.observation.options.as_deref(), found).ok().flatten();
        let additions = Additions::new(original.as_ref().unwrap_or(found), changed);
        let wanted = &additions.0;
        let status = self.observation.base.status();
        let was_bound = status.condition(BOUND).is_some_and(ConditionView::is_true);
        let is_recorded = self.recorded_target().as_ref() == Some(&target);
        let drifted = differences(wanted, found);
        let state = format!("{}{}", text(found, "/metadata/uid"), wanted);
        let is_known = self.memory().is_unchangeable(&title(found), &state);
        if is_recorded && self.has_finalizer() && (drifted.is_empty() || is_known) {
            outcome.bound = bound(true, "Bound", format!("the actor is added to {}", title(found)));
            return Ok(());
        }
        // A workload that was created again was not reverted.
        let since = status.condition(BOUND).and_then(|bound| Time::parse(bound.last_transition()?));
        let created = Time::parse(text(found, "/metadata/creationTimestamp"));
        let is_recreated = created.zip(since).is_some_and(|(created, since)| created > since);
        if !is_recorded || was_bound && is_recreated {
            self.add_finalizer().await?;
            let intent = format!("the actor is about to be added to {}", title(found));
            outcome.bound = bound(false, "Binding", intent);
            // The write of the status brings the next reconciliation.
            return Ok(());
        }
        self.add_finalizer().await?;
        let own: Vec<&Value> = managed_fields(found, self.kind().manager()).collect();
        let is_lost = drifted.iter().any(|field| {
            let path = FieldPath::try_parse(&field.path);
            path.is_none_or(|path| !own.iter().any(|owned| owns(owned, wanted, path.segments())))
        });
        if was_bound && is_lost {
            self.record_conflict(found, outcome).await;
            return Ok(());
        }
        if outcome.conflicts.count > MAX_CONFLICTS {
            outcome.bound = bound(false, "Stopped", stopped(found));
            return Ok(());
        }
        if let (Some(delay), true) = (outcome.conflicts.delay(self.now()), self.has_reason("Reverted")) {
            outcome.bound = bound(false, "Reverted", reverted(found));
            outcome.next = Next::After(delay + Duration::from_millis(50));
            return Ok(());
        }
        match self.write_additions(&additions, found).await {
            Ok(stored) => {
                if !differences(wanted, &stored).is_empty() {
                    // The apiserver stores a value in another form than it was written.
                    self.memory().record_unchangeable(&title(found), state);
                }
                if !was_bound {
                    self.publish(EventReason::Bound, format!("Added to {}", title(found))).await;
                }
                outcome.bound = bound(true, "Bound", format!("the actor is added to {}", title(found)));
                live.push(stored);
            }
            Err(RequestError::Refused { code: 409, .. }) => {
                return Err(Error::Waiting(format!("{} changed in the meantime", title(found))));
            }
            Err(RequestError::Refused { code, message }) if matches!(code, 400 | 403 | 413 | 422 | 500) => {
                outcome.bound = bound(false, "Refused", message.clone());
                outcome.failure = Some(RequestError::Refused { code, message }.into());
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Counts a conflict. The additions are made again after a while, or no more.
    async fn record_conflict(&self, found: &Value, outcome: &mut Outcome) {
        let conflicts = &mut outcome.conflicts;
        conflicts.count = conflicts.count.saturating_add(1);
        conflicts.last = Some(self.now().to_string());
        self.exchange.tell(Request::Record(Measurement::BindingConflict)).await;
        if conflicts.count > MAX_CONFLICTS {
            self.publish(EventReason::BindingStopped, stopped(found)).await;
            outcome.bound = Some(Condition::new(BOUND, false, "Stopped", stopped(found)));
        } else {
            let delay = REPAIR.delay(conflicts.count - 1);
            self.publish(EventReason::BindingConflict, reverted(found)).await;
            outcome.bound = Some(Condition::new(BOUND, false, "Reverted", reverted(found)));
            outcome.next = Next::After(delay);
        }
    }

    /// Writes the additions into the workload as it was read.
    async fn write_additions(&self, additions: &Additions, found: &Value) -> Result<Value, RequestError> {
        let manager = self.kind().manager().to_owned();
        let target = TargetReference::of(found);
        let request = if target.group() == "apps" {
            let object = additions.to_apply(found);
            Request::Apply { manager, object, mode: Mode::Real, force: Force::Yes }
        } else {
            let patch = merge_patch(&desired_fields(found), &merged(found, &additions.0), Removal::Keep);
            let patch = with_version(patch, found);
            Request::MergePatch { manager, resource: target.resource(), name: target.name, patch }
        };
        let stored = self.exchange.ask(request).await?;
        let (namespace, claimed) = (self.object().namespace(), self.object().name());
        tracing::info!(namespace, claimed, workload = title(found), "bound");
        Ok(stored)
    }

    /// Takes the additions out of a workload, if our manager made them. Does nothing if the workload is gone.
    pub(super) async fn unbind(&self, target: &TargetReference) -> Result<(), Error> {
        let Some(found) = self.get(&target.resource(), &target.name).await? else { return Ok(()) };
        let is_own = managed_fields(&found, self.kind().manager()).next().is_some();
        if !is_own || annotation_of(&found, MANAGED_BY) != Some(self.object().name()) {
            return Ok(());
        }
        let stripped = rendering::strip(self.observation.options.as_deref(), &found);
        let stripped = stripped.map_err(|error| Error::Waiting(format!("cannot unbind {}: {error}", title(&found))))?;
        let Some(stripped) = stripped else { return Ok(()) };
        let patch = merge_patch(&desired_fields(&found), &desired_fields(&stripped), Removal::Remove);
        let request = Request::MergePatch {
            manager: self.kind().manager().to_owned(),
            resource: target.resource(),
            name: target.name.clone(),
            patch: with_version(patch, &found),
        };
        match self.exchange.send(request).await {
            Ok(_) => {
                let (namespace, claimed) = (self.object().namespace(), self.object().name());
                tracing::info!(namespace, claimed, workload = title(&found), "unbound");
                self.publish(EventReason::Unbound, format!("Removed from {}", title(&found))).await;
                Ok(())
            }
            Err(error) if error.has_code(404) => Ok(()),
            Err(error) if error.has_code(409) => {
                Err(Error::Waiting(format!("{} changed in the meantime", title(&found))))
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn reverted(found: &Value) -> String {
    format!("another client removed or changed what was added to {}; it is added again", title(found))
}

fn stopped(found: &Value) -> String {
    format!(
        "another client removed or changed what was added to {} more than {MAX_CONFLICTS} times, so it is not added again until \
         the specification changes or the actor is handed over again",
        title(found)
    )
}

/// The fields that a binding adds to a workload, as a partial object. Items of lists are found by their names.
#[derive(Debug, Clone, PartialEq)]
struct Additions(Value);

impl Additions {
    fn new(original: &Value, changed: &Value) -> Self {
        let mut added = added(&desired_fields(original), &desired_fields(changed)).unwrap_or_else(|| json!({}));
        if let Some(fields) = added.as_object_mut() {
            for field in ["apiVersion", "kind"] {
                fields.insert(field.to_owned(), changed[field].clone());
            }
        }
        added["metadata"]["name"] = changed["metadata"]["name"].clone();
        Self(added)
    }

    /// Returns the object to apply, which changes nothing but this state of the workload.
    fn to_apply(&self, found: &Value) -> Value {
        with_version(self.0.clone(), found)
    }
}

/// Adds the uid and the version of a live object, without which a write would create it or overwrite a change.
fn with_version(mut object: Value, found: &Value) -> Value {
    for field in ["uid", "resourceVersion"] {
        object["metadata"][field] = found["metadata"][field].clone();
    }
    object
}

/// Whether all items of a list have a name.
fn has_names(list: &[Value]) -> bool {
    !list.is_empty() && list.iter().all(|item| item.get("name").is_some_and(Value::is_string))
}

/// Returns what one value has and the other has not, or has with another value; none if there is nothing.
fn added(before: &Value, after: &Value) -> Option<Value> {
    match (before, after) {
        (before, after) if before == after => None,
        (Value::Object(before), Value::Object(after)) => {
            let fields: Map<String, Value> = after
                .iter()
                .filter_map(|(name, after)| {
                    let found = match before.get(name) {
                        Some(before) => added(before, after)?,
                        None => after.clone(),
                    };
                    Some((name.clone(), found))
                })
                .collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        (Value::Array(before), Value::Array(after)) if has_names(after) => {
            let named = |name: &Value| before.iter().find(|item| item["name"] == *name);
            let items = after.iter().filter_map(|item| match named(&item["name"]) {
                Some(known) => added(known, item).map(|mut changes| {
                    changes["name"] = item["name"].clone();
                    changes
                }),
                None => Some(item.clone()),
            });
            let items: Vec<Value> = items.collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        (_, after) => Some(after.clone()),
    }
}

/// Returns a workload with additions, in the form of [`desired_fields`].
fn merged(found: &Value, additions: &Value) -> Value {
    fn merge(into: &mut Value, additions: &Value) {
        match (into, additions) {
            (Value::Object(fields), Value::Object(additions)) => {
                for (name, addition) in additions {
                    match fields.get_mut(name) {
                        Some(field) => merge(field, addition),
                        None => drop(fields.insert(name.clone(), addition.clone())),
                    }
                }
            }
            (Value::Array(items), Value::Array(additions)) if has_names(additions) => {
                for addition in additions {
                    match items.iter_mut().find(|item| item["name"] == addition["name"]) {
                        Some(item) => merge(item, addition),
                        None => items.push(addition.clone()),
                    }
                }
            }
            (into, addition) => *into = addition.clone(),
        }
    }
    let mut object = desired_fields(found);
    merge(&mut object, additions);
    object
}

/// Whether a merge patch removes what the second value lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Removal {
    Keep,
    Remove,
}

/// Returns the JSON merge patch (RFC 7386) that turns one value into another.
fn merge_patch(before: &Value, after: &Value, removal: Removal) -> Value {
    let (Value::Object(before), Value::Object(after)) = (before, after) else { return after.clone() };
    let mut patch = Map::new();
    for (name, after) in after {
        match before.get(name) {
            Some(before) if before == after => {}
            Some(before) => drop(patch.insert(name.clone(), merge_patch(before, after, removal))),
            None => drop(patch.insert(name.clone(), after.clone())),
        }
    }
    if removal == Removal::Remove {
        let removed = before.keys().filter(|name| !after.contains_key(*name));
        patch.extend(removed.map(|name| (name.clone(), Value::Null)));
    }
    Value::Object(patch)
}

/// Whether managed fields contain a field of an object. A list without keys, and a value without fields, count as a whole.
fn owns(owned: &Value, object: &Value, path: &[Segment]) -> bool {
    let (mut owned, mut object) = (owned, object);
    for segment in path {
        let is_whole = owned.as_object().is_some_and(Map::is_empty);
        if is_whole {
            return true;
        }
        let below = match segment {
            Segment::Key(key) => {
                object = object.get(&**key).unwrap_or(&Value::Null);
                owned.get(format!("f:{key}"))
            }
            Segment::Index(index) => {
                object = object.get(*index).unwrap_or(&Value::Null);
                item_fields(owned, object)
            }
        };
        let Some(below) = below else { return false };
        owned = below;
    }
    true
}

/// Returns the managed fields of an item of a list: `k:{"name":"asya-sidecar"}`.
fn item_fields<'o>(owned: &'o Value, item: &Value) -> Option<&'o Value> {
    let mut keys = owned
        .as_object()?
        .iter()
        .filter_map(|(key, below)| Some((serde_json::from_str::<Value>(key.strip_prefix("k:")?).ok()?, below)));
    let is_it = |key: &Value| {
        let fields = key.as_object().into_iter().flatten();
        fields.into_iter().all(|(name, value)| item.get(name) == Some(value))
    };
    keys.find(|(key, _)| is_it(key)).map(|(_, below)| below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(containers: &[&str]) -> Value {
        let containers: Vec<Value> = containers.iter().map(|name| json!({"name": name, "image": "i:1"})).collect();
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "triton", "labels": {"a": "b"}},
            "spec": {"replicas": 1, "template": {"spec": {"containers": containers}}},
        })
    }

    #[test]
    fn additions_are_the_items_and_keys_that_only_the_changed_object_has() {
        let mut changed = pod(&["triton", "asya-sidecar"]);
        changed["metadata"]["annotations"] = json!({"asya.sh/managed-by": "echo"});
        changed["spec"].as_object_mut().unwrap().remove("replicas");
        let Additions(additions) = Additions::new(&pod(&["triton"]), &changed);
        assert_eq!(
            additions,
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "triton", "annotations": {"asya.sh/managed-by": "echo"}},
                "spec": {"template": {"spec": {"containers": [{"name": "asya-sidecar", "image": "i:1"}]}}},
            })
        );
        let whole = merged(&pod(&["triton"]), &additions);
        assert_eq!(whole["spec"]["template"], changed["spec"]["template"]);
    }

    #[test]
    fn a_merge_patch_restores_what_was_there() {
        let (before, mut after) = (json!({"a": {"b": 1, "c": 2}, "d": [1, 2]}), json!({"a": {"b": 1}, "d": [1]}));
        let patch = merge_patch(&before, &after, Removal::Remove);
        assert_eq!(patch, json!({"a": {"c": null}, "d": [1]}));
        after["e"] = json!(5);
        assert_eq!(merge_patch(&before, &after, Removal::Keep), json!({"a": {}, "d": [1], "e": 5}));
    }

    #[test]
    fn a_field_belongs_to_its_item_by_the_key_of_the_list() {
        let object = pod(&["asya-sidecar"]);
        let owned = json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {
            "k:{\"name\":\"asya-sidecar\"}": {".": {}, "f:name": {}, "f:image": {}},
        }}}}});
        let is_owned = |path: &str| owns(&owned, &object, FieldPath::try_parse(path).unwrap().segments());
        assert!(is_owned("spec.template.spec.containers[0].image"));
        assert!(is_owned("spec.template.spec.containers[0]"));
        assert!(!is_owned("spec.template.spec.containers[0].command"));
        assert!(!is_owned("spec.replicas"));
        // A list without keys.
        let whole = json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {}}}}});
        assert!(owns(&whole, &object, FieldPath::parse("spec.template.spec.containers").index(0).segments()));
    }
}
