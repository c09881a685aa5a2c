//! What the controller of a provider knows of a deployment and its objects when it reconciles it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::core::{ApiResource, GroupVersionKind};
use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_model::select::PriorChoice;
use kubefoundry_provider::Provider;
use serde_json::Value;

use super::desired::RenderResult;
use super::ownership::{self, ChosenProvider, Situation, Step};
use super::{finalizer, history, objects};
use crate::cached_object::CachedObject;
use crate::decision::Rendering;
use crate::memory::Memory;
use crate::names;
use crate::observation::Observation;
use crate::observation::UpstreamObject;
use crate::recreation::RecreationPolicy;
use crate::status;

/// A provider, and the names under which its controller writes.
#[derive(Clone)]
pub struct ProviderIdentity {
    /// The provider.
    pub provider: &'static dyn Provider,
    /// The field manager of the controller.
    pub manager: String,
    /// The finalizer of the controller.
    pub finalizer: String,
}

impl ProviderIdentity {
    /// Returns the names for the deployments of an API group.
    pub fn new(provider: &'static dyn Provider, api_group: &ApiGroup) -> Self {
        let manager = names::provider_manager(provider.name());
        Self { provider, manager, finalizer: names::finalizer(api_group, provider.name()) }
    }
}

/// The flags of the operator that change what a provider's controller does.
#[derive(Debug, Clone, Copy)]
pub struct ProviderSettings {
    /// `--finalizer-timeout`.
    pub finalizer_timeout: Duration,
    /// `--stale-after`.
    pub stale_after: Duration,
    /// The flags about recreations.
    pub recreation: RecreationPolicy,
}

/// The caches and the registry from which an observation is made.
pub trait ProviderCluster {
    /// Whether the caches of the provider's kinds are filled.
    fn is_ready(&self, provider: &str) -> bool;

    /// Returns the cached objects that were applied for the deployment with this uid, also those that lost their owner.
    fn owned(&self, uid: &str) -> Vec<Arc<UpstreamObject>>;

    /// Returns a cached object, independent of its owner.
    fn find(&self, resource: &ApiResource, namespace: &str, name: &str) -> Option<Arc<UpstreamObject>>;

    /// Renders a deployment with a provider that was chosen before.
    fn render(&self, deployment: &Value, prior: &PriorChoice) -> Rendering;

    /// Returns the hash of the fields whose change requires a new main object.
    fn identity_hash(&self, deployment: &Value, provider: &str) -> Option<String>;
}

/// An observation for one provider. Nothing in it changes while the deployment is reconciled.
pub struct ProviderObservation {
    /// The deployment, the time, and who else writes its status.
    pub base: Observation,
    /// The provider that reconciles.
    pub identity: ProviderIdentity,
    /// The flags of the operator.
    pub settings: ProviderSettings,
    /// What decides the next step.
    situation: Situation,
    /// The cached objects of this provider's kinds that the deployment owns.
    pub(super) owned: Vec<Arc<UpstreamObject>>,
    /// The rendered deployment, if this provider is chosen.
    pub(super) rendered: Option<RenderResult>,
    /// The main object of a deleted deployment that lost its owner.
    left_behind: Option<Arc<UpstreamObject>>,
    /// The cached objects with the names of the rendered ones, by kind and name, independent of their
    /// owners.
    found: BTreeMap<String, Arc<UpstreamObject>>,
}

impl ProviderObservation {
    /// Collects what the caches contain. [`Self::rendered`] adds the rendered objects.
    pub fn new(
        base: Observation,
        identity: ProviderIdentity,
        settings: ProviderSettings,
        cluster: &dyn ProviderCluster,
    ) -> Self {
        let is_ready = cluster.is_ready(identity.provider.name());
        let mut owned = cluster.owned(base.deployment.uid());
        // A deletion leaves what has lost its owner. In a migration it would run the same model as its successor.
        let may_lack_owner = !base.deployment.is_terminating();
        let is_ours = |object: &CachedObject| {
            // An owner is in the namespace of its objects, whatever uid an object of another namespace bears.
            if object.namespace() != base.deployment.namespace() {
                return false;
            }
            object.controller_uid().is_some()
                || may_lack_owner
                    && objects::has_lost_owner(object, &base.deployment, &identity.manager, base.api_group)
        };
        owned
            .retain(|owned| objects::belongs_to(owned, identity.provider, &identity.manager) && is_ours(&owned.object));
        let situation = assess(&base, &identity, settings, is_ready, !owned.is_empty());
        let mut observation = Self {
            base,
            identity,
            settings,
            situation,
            owned,
            rendered: None,
            left_behind: None,
            found: BTreeMap::new(),
        };
        if observation.base.deployment.is_terminating() {
            observation.left_behind = observation.find_left_behind(cluster);
        }
        observation
    }

    /// Renders the deployment if its next step needs that.
    #[must_use]
    pub fn rendered(mut self, cluster: &dyn ProviderCluster) -> Self {
        let rendered = match self.step(false) {
            Step::Apply { .. } => self.render(&self.base.value, cluster),
            // The specification names another provider, which cannot be chosen: what runs, runs on.
            Step::Hold => {
                let mut held = Value::clone(&self.base.value);
                // The recorded choice takes its place, with the reason that the running object bears.
                if let Some(provider) = held.pointer_mut("/spec/provider").and_then(Value::as_object_mut) {
                    provider.remove("name");
                }
                self.render(&held, cluster)
            }
            _ => return self,
        };
        if let RenderResult::Rendered(desired) = &rendered {
            let namespace = self.base.deployment.namespace();
            for object in desired.objects() {
                let found = cluster.find(&objects::resource(object), namespace, objects::name(object));
                self.found.extend(found.map(|found| (objects::key(object), found)));
            }
        }
        Self { rendered: Some(rendered), ..self }
    }

    /// Whether the caches are older than the last writes: the deployment, or an object that was just applied. A deployment
    /// that is deleted or given up now would seem to have no objects.
    pub fn is_behind(&self, memory: &mut Memory) -> bool {
        let find = |key: &str| {
            let mut owned = self.owned.iter();
            owned.find(|owned| objects::live_key(owned) == key).map(|owned| &owned.object)
        };
        let moment = self.base.moment;
        memory.is_behind(&self.base.deployment, moment) || memory.misses_objects(find, moment)
    }

    /// Finds the main object that the status names, if this controller applied it and it has no owner any more.
    fn find_left_behind(&self, cluster: &dyn ProviderCluster) -> Option<Arc<UpstreamObject>> {
        let (kind, name) = self.base.status().main_object()?;
        let versions = self.identity.provider.info().crd_versions.iter();
        let groups = versions.filter_map(|version| version.split_once('/'));
        let deployment = &self.base.deployment;
        groups
            .map(|(group, version)| ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind)))
            .find_map(|resource| cluster.find(&resource, deployment.namespace(), name))
            .filter(|found| {
                objects::has_lost_owner(&found.object, deployment, &self.identity.manager, self.base.api_group)
            })
    }

    /// Returns the main object of a deleted deployment that is not deleted with it, because it lost its owner.
    pub(super) fn left_behind(&self) -> Option<&UpstreamObject> {
        self.left_behind.as_deref()
    }

    fn render(&self, deployment: &Value, cluster: &dyn ProviderCluster) -> RenderResult {
        let provider = self.identity.provider.name();
        let reason = self.base.status().selected_reason().unwrap_or_default().to_owned();
        let rendering = cluster.render(deployment, &PriorChoice { provider: provider.to_owned(), reason });
        let identity = cluster.identity_hash(deployment, provider).unwrap_or_default();
        RenderResult::new(rendering, identity, self.base.deployment.uid(), self.base.api_group)
    }

    /// Returns the cached object with the kind and name of a desired one.
    pub(super) fn find(&self, desired: &Value) -> Option<&Arc<UpstreamObject>> {
        self.found.get(&objects::key(desired))
    }

    pub(super) fn has_finalizer(&self) -> bool {
        self.situation.has_finalizer
    }

    /// Decides what to do. `is_behind`: the cached deployment is older than its last write.
    pub(super) fn step(&self, is_behind: bool) -> Step {
        ownership::next(&Situation { is_behind, ..self.situation.clone() })
    }

    /// Whether what runs is kept as it is, because the provider that the specification names cannot be chosen.
    pub(super) fn holds(&self) -> bool {
        self.situation.choice == ChosenProvider::ThisForLack
    }
}

/// Collects the facts that decide the next step, as far as the caches tell.
fn assess(
    base: &Observation,
    identity: &ProviderIdentity,
    settings: ProviderSettings,
    is_ready: bool,
    has_objects: bool,
) -> Situation {
    let Observation { deployment, value, now, .. } = base;
    let is_overdue = |time: Option<Time>| {
        let elapsed = time.map(|time| Duration::from_secs(now.seconds_since(time)));
        elapsed.is_some_and(|elapsed| elapsed >= settings.finalizer_timeout)
    };
    let deletion = deployment.metadata.deletion_timestamp.as_ref();
    let deletion = deletion.and_then(|time| Time::parse(&time.0.to_string()));
    Situation {
        is_paused: base.is_paused(),
        is_deleted: deployment.is_terminating(),
        is_orphaning: finalizer::has(deployment, finalizer::ORPHAN),
        is_overdue: is_overdue(deletion),
        choice: ChosenProvider::new(
            identity.provider.name(),
            deployment.chosen().unwrap_or_default(),
            base.named().unwrap_or_default(),
            is_choice_settled(base),
        ),
        is_behind: false,
        is_ready,
        has_finalizer: finalizer::has(deployment, &identity.finalizer),
        owns_status: !status::owned(value, &identity.manager).is_null(),
        has_objects: is_ready && has_objects,
        predecessor: history::predecessor(base, &identity.manager),
        predecessor_is_overdue: is_overdue(history::chosen_at(value)),
    }
}

/// Whether the selector has decided about this generation that the named provider cannot be chosen.
fn is_choice_settled(observation: &Observation) -> bool {
    let selected = observation.status().condition(names::condition::PROVIDER_SELECTED);
    selected.is_some_and(|selected| selected.is_false() && selected.observed_generation() == observation.generation())
}
