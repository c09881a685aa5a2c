//! The state of the cluster: each object with its last versions, and what happens in it without the operator.

use kubefoundry_reconcile::request::{Answer, Request};
use serde_json::{Value, json};

use super::interner::Interner;
use super::server::{self, Effect, Identity, NOW, Part};

/// The index of the deployment among the slots.
pub(super) const DEPLOYMENT: usize = 0;
/// The kinds of main objects.
pub(super) const MAIN_KINDS: [&str; 2] = ["Workspace", "DynamoGraphDeployment"];
/// The finalizer of the upstream operators.
const UPSTREAM_FINALIZER: &str = "upstream/finalizer";
/// The finalizer of the garbage collector for `--cascade=orphan`.
const ORPHAN: &str = "orphan";

/// The versions of the object with one kind and name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Slot {
    pub(super) version: u32,
    incarnations: u32,
    /// The object as interned; none while it does not exist.
    pub(super) current: Option<u32>,
    /// The states before, the last one first, at most as many as the watches may lag behind.
    pub(super) past: Vec<(u32, Option<u32>)>,
}

/// What becomes of the object in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Nothing,
    Stored(u32),
    Removed,
}

/// All slots, by the number of their key.
pub(super) type Slots = Vec<Slot>;

/// The objects and keys of all states.
#[derive(Debug)]
pub(super) struct Store {
    objects: Interner<String, Value>,
    keys: Vec<String>,
    max_lag: usize,
}

impl Store {
    pub(super) fn new(deployment: &str, max_lag: usize) -> Self {
        Self { objects: Interner::default(), keys: vec![format!("ModelDeployment/{deployment}")], max_lag }
    }

    pub(super) fn object(&self, id: u32) -> std::sync::Arc<Value> {
        self.objects.get(id)
    }

    pub(super) fn current(&self, slots: &Slots, index: usize) -> Option<std::sync::Arc<Value>> {
        Some(self.object(slots.get(index)?.current?))
    }

    pub(super) fn deployment(&self, slots: &Slots) -> Option<std::sync::Arc<Value>> {
        self.current(slots, DEPLOYMENT)
    }

    /// Returns the existing objects other than the deployment, with the index of their slot.
    pub(super) fn children(&self, slots: &Slots) -> Vec<(usize, std::sync::Arc<Value>)> {
        (1..slots.len()).filter_map(|index| Some((index, self.current(slots, index)?))).collect()
    }

    pub(super) fn key(&self, index: usize) -> &str {
        &self.keys[index]
    }

    /// Whether the slot is one of a main object.
    pub(super) fn is_main(&self, index: usize) -> bool {
        MAIN_KINDS.iter().any(|kind| self.keys[index].starts_with(kind))
    }

    fn index(&mut self, key: &str) -> usize {
        self.keys.iter().position(|known| known == key).unwrap_or_else(|| {
            self.keys.push(key.to_owned());
            self.keys.len() - 1
        })
    }

    /// Returns the key and the slot of the object that a request is about.
    pub(super) fn target(&self, slots: &Slots, request: &Request) -> (String, Slot) {
        let key = server::key_of(request, &self.keys[DEPLOYMENT]);
        let index = self.keys.iter().position(|known| *known == key);
        (key, index.and_then(|index| slots.get(index)).cloned().unwrap_or_default())
    }

    /// Executes a request of the reconciliation of the deployment with this uid, about the object in a slot.
    pub(super) fn execute(&mut self, key: &str, slot: &Slot, request: &Request, uid: &str) -> (Change, Answer) {
        let live = slot.current.map(|id| self.object(id));
        let identity = Identity { key, incarnations: slot.incarnations, version: slot.version };
        let (effect, answer) = server::execute(live.as_deref(), identity, request, uid);
        (self.change(effect), answer)
    }

    fn change(&mut self, effect: Effect) -> Change {
        match effect {
            Effect::Nothing => Change::Nothing,
            Effect::Removed => Change::Removed,
            Effect::Stored(object) => Change::Stored(self.objects.intern_as(object.to_string(), object)),
        }
    }

    /// Writes an object as another client does: with `Update`. None where nothing changes.
    pub(super) fn update(
        &mut self,
        slots: &Slots,
        index: usize,
        manager: &str,
        part: Part,
        object: Value,
    ) -> Option<Slots> {
        self.try_update(slots, index, manager, part, object).0
    }

    /// Like [`Self::update`], and returns the answer too.
    pub(super) fn try_update(
        &mut self,
        slots: &Slots,
        index: usize,
        manager: &str,
        part: Part,
        object: Value,
    ) -> (Option<Slots>, Answer) {
        let key = self.keys[index].clone();
        let slot = slots.get(index).cloned().unwrap_or_default();
        let live = slot.current.map(|id| self.object(id));
        let identity = Identity { key: &key, incarnations: slot.incarnations, version: slot.version };
        let (effect, answer) = server::update(live.as_deref(), identity, manager, object, part);
        ((effect != Effect::Nothing).then(|| self.store(slots, &key, effect)), answer)
    }

    /// Deletes an object. None where nothing changes.
    pub(super) fn delete(&mut self, slots: &Slots, index: usize) -> Option<Slots> {
        let key = self.keys[index].clone();
        let slot = &slots[index];
        let live = slot.current.map(|id| self.object(id));
        let identity = Identity { key: &key, incarnations: slot.incarnations, version: slot.version };
        let (effect, _) = server::delete(live.as_deref(), identity, None, None);
        (effect != Effect::Nothing).then(|| self.store(slots, &key, effect))
    }

    fn store(&mut self, slots: &Slots, key: &str, effect: Effect) -> Slots {
        let change = self.change(effect);
        self.with(slots, key, change)
    }

    /// Returns the slots after a change of the object with this key.
    pub(super) fn with(&mut self, slots: &Slots, key: &str, change: Change) -> Slots {
        let mut slots = slots.clone();
        let current = match change {
            Change::Nothing => return slots,
            Change::Removed => None,
            Change::Stored(object) => Some(object),
        };
        let index = self.index(key);
        if slots.len() <= index {
            slots.resize(index + 1, Slot::default());
        }
        let slot = &mut slots[index];
        slot.past.insert(0, (slot.version, slot.current));
        slot.past.truncate(self.max_lag);
        slot.version += 1;
        if slot.current.is_none() {
            slot.incarnations += 1;
        }
        slot.current = current;
        slots
    }

    /// Returns what can happen next without the operator: the upstream operators start and stop models, and the garbage
    /// collector deletes what has lost its owner, or takes the owner from what shall outlive it.
    pub(super) fn environment_steps(&mut self, slots: &Slots) -> Vec<(String, Slots)> {
        let mut steps = Vec::new();
        let deployment = self.deployment(slots);
        let uid = deployment.as_ref().map(|deployment| deployment["metadata"]["uid"].clone());
        let is_orphaning = deployment.as_ref().is_some_and(|deployment| {
            server::is_terminating(deployment) && server::finalizers(deployment).contains(&ORPHAN)
        });
        let children = self.children(slots);
        let mut owned = 0;
        for (index, object) in children {
            let title = self.keys[index].clone();
            let is_owned = owner(&object).is_some() && owner(&object) == uid.as_ref();
            if owner(&object).is_some() && !is_owned && !server::is_terminating(&object) {
                steps.extend(
                    self.delete(slots, index).map(|after| (format!("garbage collector deletes {title}"), after)),
                );
            }
            if is_owned && is_orphaning {
                owned += 1;
                let after = self.update(slots, index, "kube-controller-manager", Part::Object, without_owner(&object));
                steps.extend(after.map(|after| (format!("garbage collector orphans {title}"), after)));
            }
            if !self.is_main(index) {
                continue;
            }
            let step = if server::is_terminating(&object) {
                let mut stopped = (*object).clone();
                retain_finalizers(&mut stopped, |finalizer| finalizer != UPSTREAM_FINALIZER);
                self.update(slots, index, "upstream", Part::Object, stopped)
            } else if server::finalizers(&object).is_empty() {
                let mut claimed = (*object).clone();
                claimed["metadata"]["finalizers"] = json!([UPSTREAM_FINALIZER]);
                self.update(slots, index, "upstream", Part::Object, claimed)
            } else {
                let mut ready = (*object).clone();
                ready["status"] = ready_status(&object);
                self.update(slots, index, "upstream", Part::Status, ready)
            };
            steps.extend(step.map(|after| (format!("upstream operator acts on {title}"), after)));
        }
        if let Some(deployment) = deployment.filter(|_| is_orphaning && owned == 0) {
            let mut released = (*deployment).clone();
            retain_finalizers(&mut released, |finalizer| finalizer != ORPHAN);
            let after = self.update(slots, DEPLOYMENT, "kube-controller-manager", Part::Object, released);
            steps.extend(after.map(|after| ("garbage collector releases the deployment".to_owned(), after)));
        }
        steps
    }
}

/// Returns the uid of the controller of an object.
pub(super) fn owner(object: &Value) -> Option<&Value> {
    let owners = object.pointer("/metadata/ownerReferences")?.as_array()?;
    owners.iter().find(|owner| owner["controller"] == true).map(|owner| &owner["uid"])
}

/// Returns the object without owners.
pub(super) fn without_owner(object: &Value) -> Value {
    let mut orphan = object.clone();
    if let Some(metadata) = orphan["metadata"].as_object_mut() {
        metadata.remove("ownerReferences");
    }
    orphan
}

fn retain_finalizers(object: &mut Value, keep: impl Fn(&str) -> bool) {
    if let Some(finalizers) = object.pointer_mut("/metadata/finalizers").and_then(Value::as_array_mut) {
        finalizers.retain(|finalizer| finalizer.as_str().is_none_or(&keep));
    }
}

/// Returns the status that the upstream operator reports for a main object that serves.
fn ready_status(object: &Value) -> Value {
    let condition = |kind: &str, reason: &str| json!({"type": kind, "status": "True", "reason": reason, "message": "it serves", "lastTransitionTime": NOW});
    if object["kind"] == "Workspace" {
        return json!({
            "state": "Ready",
            "conditions": [condition("InferenceReady", "ready"), condition("WorkspaceSucceeded", "workspaceSucceeded")],
        });
    }
    json!({
        "state": "successful", "observedGeneration": object["metadata"]["generation"],
        "conditions": [condition("Ready", "all_resources_are_ready")],
    })
}

/// Whether a main object serves, by its own words about its present specification.
pub(super) fn is_ready(object: &Value) -> bool {
    let status = &object["status"];
    match object["kind"].as_str() {
        Some("Workspace") => status["state"] == "Ready",
        _ => status["state"] == "successful" && status["observedGeneration"] == object["metadata"]["generation"],
    }
}
