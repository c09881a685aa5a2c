//! What a controller observes, by the numbers of the objects.

use std::sync::Arc;
use std::time::Duration;

use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_composition::BUILTIN;
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_reconcile::cached_object::CachedObject;
use kubefoundry_reconcile::observation::UpstreamObject;
use kubefoundry_reconcile::observation::{Observation, colleagues};
use kubefoundry_reconcile::provider::{self, ProviderIdentity, ProviderObservation, ProviderSettings};
use kubefoundry_reconcile::recreation::RecreationPolicy;
use serde_json::json;

use super::caches::SimulatedCluster;
use super::{Controllers, MOMENT, Mistake, Observed, ROLES, Role};
use crate::simulation::cluster::Store;
use crate::simulation::server::NOW;

impl Controllers {
    pub(super) fn observe(&mut self, store: &Store, id: u32) -> Arc<Observed> {
        if let Some(observed) = self.observed.get(&id) {
            return Arc::clone(observed);
        }
        let key = self.keys.get(id);
        let api_group = ApiGroup::find("kubefoundry.ai").expect("the group of this project");
        let deployment = CachedObject::new((*store.object(key.deployment)).clone()).expect("metadata");
        let now = Time::parse(NOW).expect("a time");
        let base = Observation::new(Arc::new(deployment), api_group, now, MOMENT, colleagues(["kaito", "dynamo"]));
        let observed = match ROLES[key.role] {
            Role::Core | Role::Selector => Observed::Base(base),
            Role::Provider(name) => {
                let provider = BUILTIN.find_provider(name).expect("a built-in provider");
                let identity = ProviderIdentity::new(provider, api_group);
                let day = Duration::from_secs(86_400);
                let patience = if self.mistake == Some(Mistake::IsImpatient) { Duration::ZERO } else { day };
                let recreation = RecreationPolicy { max: 1, needs_approval: false, deadline: day };
                let settings = ProviderSettings { finalizer_timeout: patience, stale_after: day, recreation };
                let gives_up = base.deployment.is_terminating() || base.deployment.chosen() != Some(name);
                let forgets = gives_up && self.mistake == Some(Mistake::ForgetsObjects);
                let children =
                    key.children.iter().filter(|_| !forgets).map(|child| self.cached(store, *child)).collect();
                let cluster = SimulatedCluster { controllers: self, children };
                let observation = ProviderObservation::new(base, identity, settings, &cluster);
                Observed::Provider(Box::new(observation.rendered(&cluster)))
            }
        };
        let observed = Arc::new(observed);
        self.observed.insert(id, Arc::clone(&observed));
        observed
    }

    fn cached(&self, store: &Store, id: u32) -> Arc<UpstreamObject> {
        let mut object = (*store.object(id)).clone();
        if self.mistake == Some(Mistake::BelievesInReadiness) && object["kind"] == "Workspace" {
            object["status"] = json!({"state": "Ready"});
        }
        let resource = provider::resource(&object).into();
        Arc::new(UpstreamObject { resource, object: CachedObject::new(object).expect("metadata") })
    }
}
