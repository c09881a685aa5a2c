//! Injection of containers into an existing object, and its reversal. Injection does not change existing parts, apart
//! from a few scalars, and its reversal restores the original object.
//!
//! Two annotations record the injection. `asya.sh/managed-by` names the actor. `asya.sh/restore` records what cannot be
//! derived from names: which parts did not exist, and the changed scalars with their old values.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::layout::Layout;
use super::pod::{items, name_of};
use super::{MANAGED_BY, MODE, RESTORE, RUNTIME, SIDECAR};
use kubefoundry_kubernetes::manifest::is_bookkeeping;

/// The parts to add to an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Injection {
    pub(super) actor: String,
    /// The adapter, then the sidecar.
    pub(super) containers: Vec<Value>,
    pub(super) volumes: Vec<Value>,
    pub(super) labels: Vec<(&'static str, String)>,
    /// Minimum grace period of the pod, in seconds. `None` where the kind has no such field.
    pub(super) grace_period: Option<i32>,
    pub(super) service_account: Option<String>,
    /// Whether an autoscaler sets the replicas.
    pub(super) scales: bool,
}

/// Why parts cannot be added to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InjectionError {
    /// An existing part has the wrong type: its path, and the expected type.
    Shape(String, &'static str),
    /// A container has the name of one to add.
    Container(String),
    /// The pods have a label of the same key as one to add.
    Label(String),
    /// The pods have a service account already.
    ServiceAccount(String),
}

/// Adds the parts to a copy of an object. Returns an error if an existing part conflicts.
pub(super) fn inject(object: &Value, layout: &Layout, injection: &Injection) -> Result<Value, InjectionError> {
    check_fits(object, layout, injection)?;
    let mut object = object.clone();
    let mut record = Record::default();
    let edit = &mut Recorder { object: &mut object, record: &mut record };
    for (list, added) in [("containers", &injection.containers), ("volumes", &injection.volumes)] {
        if let Some(items) = edit.list(layout.pod_spec, list) {
            items.extend(added.iter().cloned());
        }
    }
    if let Some(grace) = injection.grace_period {
        let declared = edit.at(layout.pod_spec).and_then(|spec| spec.get(GRACE_PERIOD)?.as_i64());
        if declared.unwrap_or(30) < i64::from(grace) {
            edit.set(layout.pod_spec, GRACE_PERIOD, Some(json!(grace)));
        }
    }
    if let Some(account) = &injection.service_account {
        edit.set(layout.pod_spec, SERVICE_ACCOUNT, Some(json!(account)));
    }
    if injection.scales && layout.scales_by_replicas {
        edit.set(&["spec"], REPLICAS, None);
    }
    for (key, value) in &injection.labels {
        if let Some(labels) = edit.map(layout.pod_metadata, "labels") {
            labels.insert((*key).to_owned(), json!(value));
        }
    }
    if let Some(annotations) = edit.map(&["metadata"], "annotations") {
        annotations.insert(MANAGED_BY.to_owned(), json!(injection.actor));
        annotations.insert(MODE.to_owned(), json!("Binding"));
    }
    let record = record.to_annotation();
    if let (Some(text), Some(annotations)) = (record, at(&mut object, &["metadata", "annotations"])) {
        annotations.insert(RESTORE.to_owned(), Value::from(text));
    }
    Ok(object)
}

const GRACE_PERIOD: &str = "terminationGracePeriodSeconds";
const SERVICE_ACCOUNT: &str = "serviceAccountName";
const REPLICAS: &str = "replicas";

/// Checks that no existing part conflicts with the parts to add.
fn check_fits(object: &Value, layout: &Layout, injection: &Injection) -> Result<(), InjectionError> {
    let shape = |path: &[&str], expected| InjectionError::Shape(path.join("."), expected);
    let spec = get(object, layout.pod_spec).and_then(Value::as_object);
    let spec = spec.ok_or_else(|| shape(layout.pod_spec, "a mapping"))?;
    for list in ["containers", "initContainers", "volumes"] {
        if spec.get(list).is_some_and(|list| !list.is_array() && !list.is_null()) {
            return Err(shape(&[layout.pod_spec, &[list]].concat(), "a list"));
        }
    }
    for (parent, key) in [(layout.pod_metadata, "labels"), (&["metadata"][..], "annotations")] {
        let mut path = Vec::new();
        for part in parent.iter().copied().chain([key]) {
            path.push(part);
            if get(object, &path).is_some_and(|it| !it.is_object() && !it.is_null()) {
                return Err(shape(&path, "a mapping"));
            }
        }
    }
    let containers = ["containers", "initContainers"].into_iter().flat_map(|list| items(spec, list));
    if let Some(name) = containers.map(name_of).find(|name| [RUNTIME, SIDECAR].contains(name)) {
        return Err(InjectionError::Container(name.to_owned()));
    }
    let labels = get(object, layout.pod_metadata).and_then(|metadata| metadata.get("labels"));
    if let Some((key, _)) = injection.labels.iter().find(|(key, _)| labels.is_some_and(|it| it.get(*key).is_some())) {
        return Err(InjectionError::Label((*key).to_owned()));
    }
    let account = [SERVICE_ACCOUNT, "serviceAccount"].into_iter().filter_map(|key| spec.get(key)?.as_str());
    if let (Some(_), Some(account)) =
        (&injection.service_account, account.into_iter().find(|account| !account.is_empty()))
    {
        return Err(InjectionError::ServiceAccount(account.to_owned()));
    }
    Ok(())
}

/// Returns the actor whose parts were added to an object, according to its annotation (docs/specification.md AA-1.6).
pub(super) fn managed_by(object: &Value) -> Option<&str> {
    let annotation = get(object, &["metadata", "annotations"])?.get(MANAGED_BY)?.as_str();
    annotation.filter(|actor| !actor.is_empty())
}

/// Removes added parts from a copy of an object. An object without the annotation is returned unchanged.
pub(super) fn strip(object: &Value, layout: &Layout) -> Value {
    let mut object = object.clone();
    if managed_by(&object).is_none() {
        return object;
    }
    let record = Record::from_object(&object, layout);
    if let Some(spec) = at(&mut object, layout.pod_spec) {
        let is_own = |container: &Value| [RUNTIME, SIDECAR].contains(&name_of(container));
        let own = items(spec, "containers").filter(|container| is_own(container));
        let mounts = own.filter_map(|container| container.get("volumeMounts")?.as_array()).flatten();
        let volumes: BTreeSet<String> = mounts.map(name_of).map(str::to_owned).collect();
        if let Some(containers) = spec.get_mut("containers").and_then(Value::as_array_mut) {
            containers.retain(|container| !is_own(container));
        }
        if let Some(list) = spec.get_mut("volumes").and_then(Value::as_array_mut) {
            list.retain(|volume| !volumes.contains(name_of(volume)));
        }
    }
    for (path, keys) in [
        (layout.pod_metadata.to_vec(), &["asya.sh/asya", "asya.sh/workload"][..]),
        (vec!["metadata"], &[MANAGED_BY, MODE, RESTORE][..]),
    ] {
        let list = if path == ["metadata"] { "annotations" } else { "labels" };
        if let Some(map) = at(&mut object, &[path.as_slice(), &[list]].concat()) {
            for key in keys {
                map.shift_remove(*key);
            }
        }
    }
    record.restore(&mut object);
    object
}

/// Returns the mounts of containers whose volume the pod does not declare, as names of a container and a volume.
pub(super) fn mounts_without_volume(object: &Value, layout: &Layout) -> Vec<(String, String)> {
    let Some(spec) = get(object, layout.pod_spec).and_then(Value::as_object) else { return Vec::new() };
    // A StatefulSet declares volumes beside its pods, too.
    let claims = object.pointer("/spec/volumeClaimTemplates").and_then(Value::as_array).into_iter().flatten();
    let claims = claims.filter_map(|claim| claim.pointer("/metadata/name")?.as_str());
    let volumes: BTreeSet<&str> = items(spec, "volumes").map(name_of).chain(claims).collect();
    let containers = ["initContainers", "containers"].into_iter().flat_map(|list| items(spec, list));
    let mounts = containers.flat_map(|container| {
        let mounts = container.get("volumeMounts").and_then(Value::as_array).into_iter().flatten();
        mounts.map(move |mount| (name_of(container).to_owned(), name_of(mount)))
    });
    let missing = mounts.filter(|(_, volume)| !volumes.contains(volume));
    missing.map(|(container, volume)| (container, volume.to_owned())).collect()
}

/// The record of an injection, which its reversal needs.
#[derive(Debug, Default)]
struct Record {
    /// Paths of created mappings and lists, each with whether it was null before.
    created: Vec<(String, bool)>,
    /// Paths of changed scalars, with the old and the new value.
    changed: Vec<(String, Option<Value>, Option<Value>)>,
}

impl Record {
    /// Returns the text of the annotation, or `None` if the record is empty.
    fn to_annotation(&self) -> Option<String> {
        let mut record = Map::new();
        let paths_of =
            |null: bool| self.created.iter().filter(move |(_, was)| *was == null).map(|(path, _)| path.as_str());
        for (key, paths) in [("created", paths_of(false)), ("null", paths_of(true))] {
            let paths: Vec<&str> = paths.collect();
            if !paths.is_empty() {
                record.insert(key.to_owned(), json!(paths));
            }
        }
        let changed: Map<String, Value> =
            self.changed.iter().map(|(path, was, is)| (path.clone(), change(was.as_ref(), is.as_ref()))).collect();
        if !changed.is_empty() {
            record.insert("changed".to_owned(), Value::Object(changed));
        }
        (!record.is_empty()).then(|| Value::Object(record).to_string())
    }

    /// Reads the annotation of an object. Users can edit it, so paths that an injection never changes are ignored.
    fn from_object(object: &Value, layout: &Layout) -> Self {
        let text = get(object, &["metadata", "annotations"]).and_then(|it| it.get(RESTORE)?.as_str());
        let Some(record) = text.and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
            return Self::default();
        };
        let pod_spec = layout.pod_spec.join(".");
        let pod_metadata = layout.pod_metadata.join(".");
        let containers = [
            format!("{pod_spec}.containers"),
            format!("{pod_spec}.volumes"),
            format!("{pod_metadata}.labels"),
            pod_metadata,
            kubefoundry_kubernetes::wire::metadata().annotations().to_string(),
        ];
        let scalars =
            [format!("{pod_spec}.{GRACE_PERIOD}"), format!("{pod_spec}.{SERVICE_ACCOUNT}"), format!("spec.{REPLICAS}")];
        let paths = |key: &str| -> Vec<String> {
            let list = record.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            list.filter(|path| containers.iter().any(|known| known == path)).map(str::to_owned).collect()
        };
        // Restore in reverse order: a part that was null contains those that did not exist.
        let null = paths("null").into_iter().map(|path| (path, true));
        let created = null.chain(paths("created").into_iter().map(|path| (path, false))).collect();
        let changed = record.get("changed").and_then(Value::as_object).into_iter().flatten();
        let changed = changed
            .filter(|(path, _)| scalars.contains(path))
            .map(|(path, change)| (path.clone(), change.get("was").cloned(), change.get("is").cloned()));
        Self { created, changed: changed.collect() }
    }

    /// Restores the old values, except where the value has been changed since the injection.
    fn restore(&self, object: &mut Value) {
        for (path, was, is) in &self.changed {
            let Some((parent, key)) = path.rsplit_once('.') else { continue };
            let parent: Vec<&str> = parent.split('.').collect();
            let Some(map) = at(object, &parent) else { continue };
            if map.get(key) != is.as_ref() {
                continue;
            }
            match was {
                Some(was) if is.is_none() => drop(map.shift_insert(0, key.to_owned(), was.clone())),
                Some(was) => drop(map.insert(key.to_owned(), was.clone())),
                None => drop(map.shift_remove(key)),
            }
        }
        // Inner parts were created after the parts that contain them, so remove them first.
        for (path, was_null) in self.created.iter().rev() {
            let Some((parent, key)) = path.rsplit_once('.') else { continue };
            let parent: Vec<&str> = parent.split('.').collect();
            let Some(map) = at(object, &parent) else { continue };
            let is_empty = match map.get(key) {
                Some(Value::Object(it)) => it.is_empty(),
                Some(Value::Array(it)) => it.is_empty(),
                _ => false,
            };
            if is_empty && *was_null {
                map.insert(key.to_owned(), Value::Null);
            } else if is_empty {
                map.shift_remove(key);
            }
        }
    }
}

fn change(was: Option<&Value>, is: Option<&Value>) -> Value {
    let mut change = Map::new();
    for (key, value) in [("was", was), ("is", is)] {
        if let Some(value) = value {
            change.insert(key.to_owned(), value.clone());
        }
    }
    Value::Object(change)
}

/// An editor of an object that records its changes.
struct Recorder<'e> {
    object: &'e mut Value,
    record: &'e mut Record,
}

impl Recorder<'_> {
    fn at(&mut self, path: &[&str]) -> Option<&mut Map<String, Value>> {
        at(self.object, path)
    }

    /// Returns a list in an existing mapping. Creates the list if it is absent.
    fn list(&mut self, parent: &[&str], key: &str) -> Option<&mut Vec<Value>> {
        self.make(parent, key, || Value::Array(Vec::new()));
        at(self.object, parent)?.get_mut(key)?.as_array_mut()
    }

    /// Returns a mapping in a mapping. Creates both if they are absent.
    fn map(&mut self, parent: &[&str], key: &str) -> Option<&mut Map<String, Value>> {
        if let Some((last, before)) = parent.split_last() {
            self.make(before, last, || Value::Object(Map::new()));
        }
        self.make(parent, key, || Value::Object(Map::new()));
        at(self.object, parent)?.get_mut(key)?.as_object_mut()
    }

    fn make(&mut self, parent: &[&str], key: &str, new: fn() -> Value) {
        let Some(map) = at(self.object, parent) else { return };
        let was_null = match map.get(key) {
            None => false,
            Some(Value::Null) => true,
            // Clients such as kpt add these annotations to objects without annotations in the user's file. Record the
            // mapping as created, so that the output is the same as without the client.
            Some(Value::Object(notes)) if !notes.is_empty() && notes.keys().all(|note| is_bookkeeping(note)) => {
                self.record.created.push(([parent, &[key]].concat().join("."), false));
                return;
            }
            Some(_) => return,
        };
        map.insert(key.to_owned(), new());
        self.record.created.push(([parent, &[key]].concat().join("."), was_null));
    }

    /// Sets a scalar, or removes it if the value is `None`.
    fn set(&mut self, parent: &[&str], key: &str, value: Option<Value>) {
        let Some(map) = at(self.object, parent) else { return };
        let was = map.get(key).cloned();
        if was == value {
            return;
        }
        match &value {
            Some(value) => drop(map.insert(key.to_owned(), value.clone())),
            None => drop(map.shift_remove(key)),
        }
        self.record.changed.push(([parent, &[key]].concat().join("."), was, value));
    }
}

fn get<'v>(object: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(object, |value, key| value.get(*key))
}

fn at<'v>(object: &'v mut Value, path: &[&str]) -> Option<&'v mut Map<String, Value>> {
    path.iter().try_fold(object, |value, key| value.get_mut(*key))?.as_object_mut()
}
