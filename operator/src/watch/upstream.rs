//! Caches the objects that providers' controllers wrote, by kind. The watch of a kind starts when its CRD is installed,
//! and ends when the CRD is removed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use kube::core::ApiResource;
use kube::runtime::reflector::Store;
use kube::runtime::watcher::Event;
use kube::{Api, Client};
use kubefoundry_composition::BUILTIN;
use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_controller_runtime::queue::Key;
use kubefoundry_controller_runtime::watch::{follow, watch_config};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_model::gateway;
use kubefoundry_provider::Behavior;
use kubefoundry_reconcile::cached_object::CachedObject;
use kubefoundry_reconcile::observation::UpstreamObject;
use tokio::task::JoinHandle;

use super::Queues;

/// A kind to watch, and the provider for which it is watched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WatchedKind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    /// The uid of the CRD: another one after the CRD was deleted and created again.
    pub(crate) definition: String,
    /// The provider that writes it; none for built-in kinds and those of a Gateway, which any provider writes.
    pub(crate) provider: Option<&'static str>,
    /// The label selector of a kind that any provider writes.
    pub(crate) labels: Option<String>,
}

impl WatchedKind {
    /// Returns the name of the watch in logs and metrics, such as `workspaces.kaito.sh`.
    fn watch_name(&self) -> String {
        [&*self.plural, &*self.group].join(".").trim_end_matches('.').to_owned()
    }

    fn resource(&self) -> ApiResource {
        let api_version =
            if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) };
        ApiResource {
            group: self.group.clone(),
            version: self.version.clone(),
            api_version,
            kind: self.kind.clone(),
            plural: self.plural.clone(),
        }
    }
}

/// The deployments of an API group, and the queues to which events about them go.
#[derive(Clone)]
pub(crate) struct DeploymentGroup {
    pub(crate) api_group: &'static ApiGroup,
    pub(crate) resource: ApiResource,
    pub(crate) deployments: Store<CachedObject>,
    pub(crate) queues: Arc<Queues>,
}

/// The cached objects of the kinds that the providers of this process write.
pub(crate) struct Upstream {
    client: Client,
    metrics: Arc<Metrics>,
    providers: Vec<&'static str>,
    groups: Vec<DeploymentGroup>,
    kinds: RwLock<Option<BTreeMap<WatchedKind, KindCache>>>,
}

/// The cache of a kind.
struct KindCache {
    resource: Arc<ApiResource>,
    objects: ObjectIndex,
    is_complete: bool,
    task: JoinHandle<()>,
}

impl Drop for KindCache {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Objects by namespace and name, and by owner.
#[derive(Default)]
struct ObjectIndex {
    all: BTreeMap<Key, Arc<UpstreamObject>>,
    /// The uids of owners, each with an object. One set takes less memory than a set for each owner.
    by_owner: BTreeSet<(String, Key)>,
}

impl ObjectIndex {
    /// Adds or replaces an object, and returns the one before it. An object may change its owner.
    fn insert(&mut self, owned: UpstreamObject) -> Option<Arc<UpstreamObject>> {
        let key = Key::of(&owned.object.metadata);
        let owner = owned.object.deployment_uid().map(str::to_owned);
        let before = self.all.insert(key.clone(), Arc::new(owned));
        let old = before.as_ref().and_then(|before| before.object.deployment_uid());
        if old != owner.as_deref() {
            self.disown(old, &key);
        }
        self.by_owner.extend(owner.map(|owner| (owner, key)));
        before
    }

    fn remove(&mut self, key: &Key) -> Option<Arc<UpstreamObject>> {
        let before = self.all.remove(key)?;
        self.disown(before.object.deployment_uid(), key);
        Some(before)
    }

    /// Removes an object from the index of its owner.
    fn disown(&mut self, owner: Option<&str>, key: &Key) {
        if let Some(owner) = owner {
            self.by_owner.remove(&(owner.to_owned(), key.clone()));
        }
    }

    fn owned<'u>(&self, uid: &'u str) -> impl Iterator<Item = Arc<UpstreamObject>> + use<'_, 'u> {
        let from = (uid.to_owned(), Key::new("", ""));
        let of_owner = self.by_owner.range(from..).take_while(move |(owner, _)| owner == uid);
        of_owner.filter_map(|(_, key)| self.all.get(key)).cloned()
    }
}

/// Whether a provider writes objects of a kind.
fn writes(provider: &str, kind: &str) -> bool {
    let has_row = |behaviors: &[Behavior]| behaviors.iter().any(|row| row.kind == kind);
    BUILTIN
        .find_provider(provider)
        .is_some_and(|provider| has_row(provider.info().behaviors) || has_row(gateway::BEHAVIORS))
}

impl Upstream {
    /// Watches nothing until [`Self::watch_kinds`] is called.
    pub(crate) fn new(
        client: Client,
        metrics: Arc<Metrics>,
        providers: Vec<&'static str>,
        groups: Vec<DeploymentGroup>,
    ) -> Arc<Self> {
        Arc::new(Self { client, metrics, providers, groups, kinds: RwLock::new(None) })
    }

    /// Returns the watches that a provider needs and that have not worked for at least this long.
    pub(crate) fn watches_down(&self, provider: &str, at_least: Duration) -> BTreeSet<String> {
        let kinds = self.read();
        let all = kinds.iter().flat_map(BTreeMap::keys);
        let needed =
            all.filter(|kind| kind.provider.map_or_else(|| writes(provider, &kind.kind), |owner| owner == provider));
        let is_down = |what: &String| self.metrics.watch_down_for(what).is_some_and(|time| time >= at_least);
        needed.map(WatchedKind::watch_name).filter(is_down).collect()
    }

    /// Whether the caches of all installed kinds of a provider are filled. False before the first call of
    /// [`Self::watch_kinds`], when it is not known which kinds are installed.
    pub(crate) fn is_ready(&self, provider: &str) -> bool {
        let kinds = self.read();
        let is_of_provider = |wanted: &WatchedKind| wanted.provider.is_none_or(|name| name == provider);
        kinds
            .as_ref()
            .is_some_and(|kinds| kinds.iter().all(|(wanted, kind)| kind.is_complete || !is_of_provider(wanted)))
    }

    /// Returns the objects whose controller is the deployment with this uid.
    pub(crate) fn owned(&self, uid: &str) -> Vec<Arc<UpstreamObject>> {
        self.read().iter().flatten().flat_map(|(_, kind)| kind.objects.owned(uid)).collect()
    }

    /// Returns an object by kind and name, independent of its owner. An object of a built-in kind is found only if it
    /// has the labels of the operator.
    pub(crate) fn find(&self, resource: &ApiResource, namespace: &str, name: &str) -> Option<Arc<UpstreamObject>> {
        let key = Key::new(namespace, name);
        let kinds = self.read();
        let same = |kind: &&KindCache| kind.resource.group == resource.group && kind.resource.kind == resource.kind;
        kinds.iter().flatten().map(|(_, kind)| kind).filter(same).find_map(|kind| kind.objects.all.get(&key).cloned())
    }

    /// Watches exactly these kinds from now on, and ConfigMaps and Services. Of a kind without a provider, only objects
    /// with the labels of the operator are watched.
    pub(crate) fn watch_kinds(self: &Arc<Self>, kinds: impl IntoIterator<Item = WatchedKind>) {
        let is_here = |wanted: &WatchedKind| wanted.provider.is_some_and(|provider| self.providers.contains(&provider));
        let (shared, of_providers): (Vec<WatchedKind>, Vec<_>) =
            kinds.into_iter().partition(|wanted| wanted.provider.is_none());
        let mut wanted: BTreeSet<WatchedKind> = of_providers.into_iter().filter(is_here).collect();
        // A process may watch only what its providers write (manifests/permissions.rs).
        let written = |kind: &str| self.providers.iter().any(|provider| writes(provider, kind));
        let built_in =
            [("ConfigMap", "configmaps"), ("Service", "services")].into_iter().map(|(kind, plural)| WatchedKind {
                group: String::new(),
                version: "v1".to_owned(),
                kind: kind.to_owned(),
                plural: plural.to_owned(),
                definition: String::new(),
                provider: None,
                labels: None,
            });
        for kind in built_in.chain(shared).filter(|kind| written(&kind.kind)) {
            for group in &self.groups {
                let labels = format!("{}={}", group.api_group.label("managed-by"), group.api_group.manager);
                wanted.insert(WatchedKind { labels: Some(labels), ..kind.clone() });
            }
        }
        let mut kinds = self.write();
        let kinds = kinds.get_or_insert_default();
        kinds.retain(|known, _| wanted.contains(known));
        for wanted in wanted {
            let start = || KindCache {
                resource: Arc::new(wanted.resource()),
                objects: ObjectIndex::default(),
                is_complete: false,
                task: tokio::spawn(Arc::clone(self).follow(wanted.clone())),
            };
            kinds.entry(wanted.clone()).or_insert_with(start);
        }
    }

    /// Keeps the cache of a kind up to date, until the kind is no longer watched.
    async fn follow(self: Arc<Self>, wanted: WatchedKind) {
        let resource = Arc::new(wanted.resource());
        let what = &*wanted.watch_name();
        let config = match &wanted.labels {
            Some(labels) => watch_config().labels(labels),
            None => watch_config(),
        };
        let mut listed = Vec::new();
        let to_cache = |object: CachedObject| {
            // An object without an owning deployment only blocks its name, so its metadata are enough.
            let object = if wanted.group.is_empty() { object.with_kind(&resource) } else { object };
            let object = if self.owner(&object).is_some() { object } else { object.without_contents() };
            UpstreamObject { resource: Arc::clone(&resource), object: object.compressed() }
        };
        let api = Api::<CachedObject>::all_with(self.client.clone(), &resource);
        follow(what, &self.metrics, api, config, |event| {
            let touched = match event {
                Event::Init => {
                    listed.clear();
                    return;
                }
                Event::InitApply(object) => {
                    listed.push(to_cache(object));
                    return;
                }
                Event::InitDone => {
                    tracing::info!(watch = what, known = listed.len(), "listed");
                    self.replace(&wanted, std::mem::take(&mut listed))
                }
                Event::Apply(object) => {
                    let owned = to_cache(object);
                    let key = Key::of(&owned.object.metadata);
                    self.change(&wanted, |objects| {
                        let before = objects.insert(owned);
                        before.into_iter().chain(objects.all.get(&key).cloned()).collect()
                    })
                }
                Event::Delete(object) => {
                    let key = Key::of(&object.metadata);
                    self.change(&wanted, |objects| objects.remove(&key).into_iter().collect())
                }
            };
            for owned in touched {
                self.queue_owner(&wanted, &owned.object);
            }
        })
        .await;
    }

    fn change(
        &self,
        wanted: &WatchedKind,
        change: impl FnOnce(&mut ObjectIndex) -> Vec<Arc<UpstreamObject>>,
    ) -> Vec<Arc<UpstreamObject>> {
        let mut kinds = self.write();
        let kind = kinds.as_mut().and_then(|kinds| kinds.get_mut(wanted));
        kind.map(|kind| change(&mut kind.objects)).unwrap_or_default()
    }

    /// Replaces the cache by a list. Returns the changed objects; after the first list all owners are queued.
    fn replace(&self, wanted: &WatchedKind, listed: Vec<UpstreamObject>) -> Vec<Arc<UpstreamObject>> {
        let mut objects = ObjectIndex::default();
        for owned in listed {
            objects.insert(owned);
        }
        let touched = self.change(wanted, |known| {
            let before = std::mem::replace(known, objects);
            let version = |owned: &UpstreamObject| owned.object.metadata.resource_version.clone();
            let came = known
                .all
                .iter()
                .filter(|(key, owned)| before.all.get(*key).is_none_or(|before| version(before) != version(owned)));
            let went = before.all.iter().filter(|(key, _)| !known.all.contains_key(*key));
            came.chain(went).map(|(_, owned)| Arc::clone(owned)).collect()
        });
        let was_complete = {
            let mut kinds = self.write();
            let kind = kinds.as_mut().and_then(|kinds| kinds.get_mut(wanted));
            kind.is_none_or(|kind| std::mem::replace(&mut kind.is_complete, true))
        };
        if !was_complete {
            for group in &self.groups {
                let deployments = group.deployments.state();
                group.queues.extend(deployments.iter().map(|deployment| &**deployment));
            }
        }
        touched
    }

    /// Returns the deployment that owns an object, and its group.
    fn owner(&self, object: &CachedObject) -> Option<(&DeploymentGroup, Key)> {
        let references = object.metadata.owner_references.as_deref()?;
        let owner = references
            .iter()
            .find(|owner| owner.controller == Some(true) && owner.kind == kubefoundry_deployment::wire::KIND)?;
        let (group, _) = owner.api_version.split_once('/')?;
        let group = self.groups.iter().find(|known| known.api_group.name == group)?;
        Some((group, Key::new(object.namespace(), &owner.name)))
    }

    /// Queues the deployment that an object concerns.
    fn queue_owner(&self, wanted: &WatchedKind, object: &CachedObject) {
        if let Some((group, key)) = self.owner(object) {
            match wanted.provider {
                Some(provider) => group.queues.push_to_provider(provider, &key),
                None => push_if_known(group, &key),
            }
        } else {
            // The object may occupy the name of one that a deployment needs, and main objects have the deployment's
            // name.
            let key = Key::of(&object.metadata);
            self.groups.iter().for_each(|group| push_if_known(group, &key));
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Option<BTreeMap<WatchedKind, KindCache>>> {
        self.kinds.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Option<BTreeMap<WatchedKind, KindCache>>> {
        self.kinds.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Queues the deployment of this key for its providers, if it exists.
fn push_if_known(group: &DeploymentGroup, key: &Key) {
    if let Some(deployment) = group.deployments.get(&key.reference(&group.resource)) {
        group.queues.push_to_providers(&deployment);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn owned(name: &str, owner: Option<&str>) -> UpstreamObject {
        let owners = owner.map(|uid| {
            json!([{"apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "name": "d", "uid": uid, "controller": true}])
        });
        let object = json!({"metadata": {"name": name, "namespace": "ml", "ownerReferences": owners}});
        let resource = ApiResource {
            group: "kaito.sh".to_owned(),
            version: "v1beta1".to_owned(),
            api_version: "kaito.sh/v1beta1".to_owned(),
            kind: "Workspace".to_owned(),
            plural: "workspaces".to_owned(),
        };
        UpstreamObject { resource: Arc::new(resource), object: CachedObject::new(object).unwrap() }
    }

    #[test]
    fn objects_are_found_by_their_owner_while_it_owns_them() {
        let mut objects = ObjectIndex::default();
        let names = |objects: &ObjectIndex, uid: &str| {
            objects.owned(uid).map(|owned| owned.object.name().to_owned()).collect::<Vec<_>>()
        };
        objects.insert(owned("a", Some("1")));
        objects.insert(owned("b", Some("1")));
        objects.insert(owned("c", None));
        assert_eq!(names(&objects, "1"), ["a", "b"]);
        objects.insert(owned("a", Some("2")));
        objects.insert(owned("b", None));
        assert_eq!((names(&objects, "1"), names(&objects, "2")), (vec![], vec!["a".to_owned()]));
        objects.remove(&Key::new("ml", "a"));
        assert!(names(&objects, "2").is_empty() && objects.by_owner.is_empty());
        assert_eq!(objects.all.len(), 2);
    }
}
