//! Watches the objects that controllers of claimed objects read and write, by their metadata alone.
//!
//! A reconciliation reads whole objects when it needs them, and what it reads is noted ([`Reading`]). A change of such an
//! object queues the claimed object again, whatever kind it is: so a workload that was not there, a ConfigMap and a pod need
//! no code of their own, and workloads of others cost their metadata only (ADR-001, MUST 1). Of the objects that were
//! applied for claimed ones, an index tells what may have to be deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use kube::core::{ApiResource, DynamicObject, ObjectMeta, PartialObjectMeta};
use kube::runtime::watcher::Event;
use kube::{Api, Client};
use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_controller_runtime::mutex::lock;
use kubefoundry_controller_runtime::queue::{Key, Lane, Queue};
use kubefoundry_controller_runtime::watch::{follow, watch_config};
use kubefoundry_reconcile::claimed::{ClaimedKind, OwnedObject, RelatedKind};
use kubefoundry_reconcile::names::{MARKS, OWNER_UID};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::Definition;

/// The related objects of the claimed objects of one kind.
pub(crate) struct Related {
    client: Client,
    metrics: Arc<Metrics>,
    kind: &'static dyn ClaimedKind,
    queue: Arc<Queue>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// None until it is known which kinds are installed.
    watched: Option<BTreeMap<WatchedVersion, KindCache>>,
    interests: Interests,
}

/// A kind in the version in which it is watched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct WatchedVersion {
    group: &'static str,
    kind: &'static str,
    version: String,
    /// The uid of the CRD: another one after the CRD was deleted and created again.
    definition: String,
}

struct KindCache {
    /// What was applied for claimed objects, by the uid of these.
    owned: BTreeMap<String, BTreeMap<Key, OwnedObject>>,
    owners: BTreeMap<Key, String>,
    is_complete: bool,
    task: JoinHandle<()>,
}

impl Drop for KindCache {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl KindCache {
    fn remove(&mut self, key: &Key) {
        let Some(owner) = self.owners.remove(key) else { return };
        if let Some(owned) = self.owned.get_mut(&owner) {
            owned.remove(key);
            if owned.is_empty() {
                self.owned.remove(&owner);
            }
        }
    }

    fn insert(&mut self, key: Key, owner: String, object: OwnedObject) {
        self.remove(&key);
        self.owners.insert(key.clone(), owner.clone());
        self.owned.entry(owner).or_default().insert(key, object);
    }
}

/// Which claimed objects read an object.
#[derive(Default)]
struct Interests {
    by_subject: BTreeMap<Subject, BTreeSet<Key>>,
    by_key: BTreeMap<Key, BTreeSet<Subject>>,
}

/// What a claimed object read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Subject {
    group: String,
    kind: String,
    namespace: String,
    selector: Selector,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Selector {
    Name(String),
    /// `key=value`.
    Label(String),
}

impl Interests {
    fn add(&mut self, key: &Key, subject: Subject) {
        self.by_subject.entry(subject).or_default().insert(key.clone());
    }

    /// Keeps exactly these subjects of a claimed object.
    fn replace(&mut self, key: &Key, subjects: &BTreeSet<Subject>) {
        let before = if subjects.is_empty() {
            self.by_key.remove(key)
        } else {
            self.by_key.insert(key.clone(), subjects.clone())
        };
        for stale in before.unwrap_or_default().difference(subjects) {
            if let Some(keys) = self.by_subject.get_mut(stale) {
                keys.remove(key);
                if keys.is_empty() {
                    self.by_subject.remove(stale);
                }
            }
        }
    }

    fn concerned(&self, group: &str, kind: &str, metadata: &ObjectMeta) -> BTreeSet<Key> {
        let labels = metadata.labels.iter().flatten().map(|(key, value)| Selector::Label(format!("{key}={value}")));
        let names = metadata.name.iter().cloned().map(Selector::Name);
        let subjects = names.chain(labels).map(|selector| Subject {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: metadata.namespace.clone().unwrap_or_default(),
            selector,
        });
        subjects.filter_map(|subject| self.by_subject.get(&subject)).flatten().cloned().collect()
    }

    fn concerned_by_kind(&self, group: &str, kind: &str) -> BTreeSet<Key> {
        let of_kind = self.by_subject.iter().filter(|(subject, _)| subject.group == group && subject.kind == kind);
        of_kind.flat_map(|(_, keys)| keys).cloned().collect()
    }
}

/// Notes what the reconciliation of a claimed object reads. When it is dropped, what was read before and no longer is does
/// not queue the object any more.
pub(crate) struct Reading {
    related: Arc<Related>,
    key: Key,
    subjects: Mutex<BTreeSet<Subject>>,
}

impl Reading {
    /// Notes that an object of this name is read.
    pub(crate) fn note_name(&self, resource: &ApiResource, name: &str) {
        self.note(resource, Selector::Name(name.to_owned()));
    }

    /// Notes that all objects with this label are read.
    pub(crate) fn note_label(&self, resource: &ApiResource, label: &str) {
        self.note(resource, Selector::Label(label.to_owned()));
    }

    fn note(&self, resource: &ApiResource, selector: Selector) {
        let (group, kind) = (resource.group.clone(), resource.kind.clone());
        let subject = Subject { group, kind, namespace: self.key.namespace.clone(), selector };
        // Before the request, so that no change after it is missed.
        self.related.lock().interests.add(&self.key, subject.clone());
        lock(&self.subjects).insert(subject);
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let subjects = std::mem::take(&mut *lock(&self.subjects));
        self.related.lock().interests.replace(&self.key, &subjects);
    }
}

impl Related {
    /// Watches nothing until [`Self::watch_installed`] is called.
    pub(crate) fn new(
        client: Client,
        metrics: Arc<Metrics>,
        kind: &'static dyn ClaimedKind,
        queue: Arc<Queue>,
    ) -> Arc<Self> {
        Arc::new(Self { client, metrics, kind, queue, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Begins to note what the reconciliation of an object reads.
    pub(crate) fn read_for(self: &Arc<Self>, key: Key) -> Reading {
        Reading { related: Arc::clone(self), key, subjects: Mutex::default() }
    }

    /// Drops what was noted for an object that no longer exists.
    pub(crate) fn forget(&self, key: &Key) {
        self.lock().interests.replace(key, &BTreeSet::new());
    }

    /// Whether the caches of all installed kinds are filled.
    pub(crate) fn is_ready(&self) -> bool {
        self.lock().watched.as_ref().is_some_and(|watched| watched.values().all(|cache| cache.is_complete))
    }

    /// Returns what was applied for the object with this uid.
    pub(crate) fn owned(&self, uid: &str) -> Vec<OwnedObject> {
        let state = self.lock();
        let caches = state.watched.iter().flat_map(BTreeMap::values);
        caches.filter_map(|cache| cache.owned.get(uid)).flat_map(BTreeMap::values).cloned().collect()
    }

    /// Watches exactly the installed kinds; `find` returns the CRD of a group and kind.
    pub(crate) fn watch_installed<'d>(self: &Arc<Self>, find: impl Fn(&str, &str) -> Option<&'d Definition>) {
        let wanted: Vec<(WatchedVersion, &'static RelatedKind)> = self
            .kind
            .related()
            .iter()
            .filter_map(|related| {
                let (version, definition) = if related.is_built_in() {
                    (related.version.to_owned(), String::new())
                } else {
                    let definition = find(related.group, related.kind)?;
                    (served_version(definition, related.version)?, definition.uid.clone())
                };
                Some((WatchedVersion { group: related.group, kind: related.kind, version, definition }, related))
            })
            .collect();
        let mut state = self.lock();
        let watched = state.watched.get_or_insert_default();
        watched.retain(|known, _| wanted.iter().any(|(version, _)| version == known));
        for (version, related) in wanted {
            let start = || KindCache {
                owned: BTreeMap::new(),
                owners: BTreeMap::new(),
                is_complete: false,
                task: tokio::spawn(Arc::clone(self).follow(version.clone(), related)),
            };
            watched.entry(version.clone()).or_insert_with(start);
        }
    }

    /// Keeps the cache of a kind up to date, until the kind is no longer watched.
    async fn follow(self: Arc<Self>, version: WatchedVersion, related: &'static RelatedKind) {
        let resource = Arc::new(related.resource(&version.version));
        let what = format!("{}/{}.{}", self.kind.name(), related.plural, related.group);
        let what = what.trim_end_matches('.');
        let config = match related.labels {
            "" => watch_config(),
            labels => watch_config().labels(labels),
        };
        let api = Api::<PartialObjectMeta<DynamicObject>>::all_with(self.client.clone(), &resource);
        let mut listed: Vec<ObjectMeta> = Vec::new();
        follow(what, &self.metrics, api, config, |event| match event {
            Event::Init => listed.clear(),
            Event::InitApply(object) => listed.push(object.metadata),
            Event::InitDone => self.replace(&version, &resource, &std::mem::take(&mut listed)),
            Event::Apply(object) => self.change(&version, &resource, &object.metadata, true),
            Event::Delete(object) => self.change(&version, &resource, &object.metadata, false),
        })
        .await;
    }

    fn change(&self, version: &WatchedVersion, resource: &Arc<ApiResource>, metadata: &ObjectMeta, exists: bool) {
        let mut state = self.lock();
        let mut concerned = state.interests.concerned(version.group, version.kind, metadata);
        if let Some(cache) = state.watched.as_mut().and_then(|watched| watched.get_mut(version)) {
            match owned_object(metadata, resource).filter(|_| exists) {
                Some((owner, object)) => cache.insert(Key::of(metadata), owner, object),
                None => cache.remove(&Key::of(metadata)),
            }
        }
        drop(state);
        concerned.extend(self.owner(metadata));
        for key in concerned {
            self.queue.push(key, Lane::Urgent);
        }
    }

    /// Replaces the cache by a list. All objects that read something of the kind are queued, since it is not known what
    /// changed while the watch was broken.
    fn replace(&self, version: &WatchedVersion, resource: &Arc<ApiResource>, listed: &[ObjectMeta]) {
        let mut state = self.lock();
        let mut concerned = state.interests.concerned_by_kind(version.group, version.kind);
        if let Some(cache) = state.watched.as_mut().and_then(|watched| watched.get_mut(version)) {
            cache.owned.clear();
            cache.owners.clear();
            for metadata in listed {
                if let Some((owner, object)) = owned_object(metadata, resource) {
                    cache.insert(Key::of(metadata), owner, object);
                }
            }
            cache.is_complete = true;
        }
        drop(state);
        concerned.extend(listed.iter().filter_map(|metadata| self.owner(metadata)));
        for key in concerned {
            self.queue.push(key, Lane::Routine);
        }
    }

    /// Returns the claimed object that owns an object.
    fn owner(&self, metadata: &ObjectMeta) -> Option<Key> {
        let resource = self.kind.resource();
        let owners = metadata.owner_references.as_deref()?;
        let owner = owners.iter().find(|owner| {
            let group = owner.api_version.rsplit_once('/').map_or("", |(group, _)| group);
            owner.controller == Some(true) && owner.kind == resource.kind && group == resource.group
        })?;
        Some(Key::new(metadata.namespace.as_deref().unwrap_or_default(), &owner.name))
    }
}

/// Returns an object that was applied for a claimed one, and the uid of that.
fn owned_object(metadata: &ObjectMeta, resource: &Arc<ApiResource>) -> Option<(String, OwnedObject)> {
    let marked = metadata.annotations.as_ref()?.get(&MARKS.label(OWNER_UID))?;
    // Another client may copy annotations: what has another owner is not ours.
    let controller = metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
    if controller.is_none_or(|owner| owner.uid != *marked) {
        return None;
    }
    let object = OwnedObject {
        resource: Arc::clone(resource),
        name: metadata.name.clone().unwrap_or_default(),
        uid: metadata.uid.clone().unwrap_or_default(),
        version: metadata.resource_version.clone(),
        is_terminating: metadata.deletion_timestamp.is_some(),
    };
    Some((marked.clone(), object))
}

/// Returns the version to watch: the preferred one if the CRD serves it, and otherwise the first that it serves.
fn served_version(definition: &Definition, preferred: &str) -> Option<String> {
    let definition: Value = serde_json::from_str(&definition.text).ok()?;
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array)?;
    let served = versions.iter().filter(|version| version["served"] == true);
    let names: Vec<&str> = served.filter_map(|version| version["name"].as_str()).collect();
    names.iter().find(|name| **name == preferred).or(names.first()).map(|name| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metadata(value: Value) -> ObjectMeta {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_was_read_concerns_its_reader_until_it_is_no_longer_read() {
        let mut interests = Interests::default();
        let (reader, other) = (Key::new("ml", "echo"), Key::new("ml", "other"));
        let subject = |selector| Subject {
            group: "apps".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: "ml".to_owned(),
            selector,
        };
        let (named, labeled) =
            (subject(Selector::Name("triton".to_owned())), subject(Selector::Label("a=b".to_owned())));
        for (key, subject) in [(&reader, &named), (&other, &labeled)] {
            interests.add(key, subject.clone());
            interests.replace(key, &BTreeSet::from([subject.clone()]));
        }
        let triton = metadata(json!({"name": "triton", "namespace": "ml", "labels": {"a": "b", "c": "d"}}));
        let concerned = |interests: &Interests| interests.concerned("apps", "Deployment", &triton);
        assert_eq!(concerned(&interests), BTreeSet::from([reader.clone(), other.clone()]));
        assert!(interests.concerned("apps", "StatefulSet", &triton).is_empty());
        let elsewhere = metadata(json!({"name": "triton", "namespace": "vision"}));
        assert!(interests.concerned("apps", "Deployment", &elsewhere).is_empty());
        interests.replace(&other, &BTreeSet::new());
        assert_eq!(concerned(&interests), BTreeSet::from([reader.clone()]));
        assert_eq!(interests.concerned_by_kind("apps", "Deployment"), BTreeSet::from([reader]));
        assert_eq!(interests.by_subject.len(), 1);
    }

    #[test]
    fn only_an_object_whose_owner_bears_the_same_uid_is_owned() {
        let resource = Arc::new(ApiResource::erase::<k8s_openapi::api::apps::v1::Deployment>(&()));
        let owned = |uid: &str, owner: Value| {
            let annotations = json!({(MARKS.label(OWNER_UID)): uid});
            let metadata = metadata(json!({"name": "a", "annotations": annotations, "ownerReferences": owner}));
            owned_object(&metadata, &resource).map(|(owner, _)| owner)
        };
        let by = |uid: &str| json!([{"apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor", "name": "a", "uid": uid, "controller": true}]);
        assert_eq!(owned("u", by("u")), Some("u".to_owned()));
        assert_eq!(owned("u", by("other")), None);
        assert_eq!(owned("u", json!([])), None);
    }
}
