//! The caches and the registry from which the controllers observe.

use std::sync::Arc;

use kube::core::ApiResource;
use kubefoundry_composition::BUILTIN;
use kubefoundry_model::select::PriorChoice;
use kubefoundry_reconcile::decision::{Decision, Rendering};
use kubefoundry_reconcile::observation::UpstreamObject;
use kubefoundry_reconcile::provider::ProviderCluster;
use kubefoundry_reconcile::selector::Registry;
use serde_json::Value;

use super::Controllers;

/// What a controller knows of providers: two built-in ones with a live controller.
pub(super) struct SimulatedRegistry<'c> {
    pub(super) controllers: &'c Controllers,
}

impl Registry for SimulatedRegistry<'_> {
    fn decide(&self, deployment: &Value) -> Decision {
        Decision::new(self.controllers.decide(deployment, None))
    }

    fn is_known(&self, provider: &str) -> bool {
        BUILTIN.find_provider(provider).is_some()
    }

    fn has_selector(&self) -> bool {
        true
    }
}

/// The caches of a provider's controller.
pub(super) struct SimulatedCluster<'c> {
    pub(super) controllers: &'c Controllers,
    pub(super) children: Vec<Arc<UpstreamObject>>,
}

impl ProviderCluster for SimulatedCluster<'_> {
    fn is_ready(&self, _: &str) -> bool {
        true
    }

    fn owned(&self, uid: &str) -> Vec<Arc<UpstreamObject>> {
        self.children.iter().filter(|child| child.object.deployment_uid() == Some(uid)).cloned().collect()
    }

    fn find(&self, resource: &ApiResource, _: &str, name: &str) -> Option<Arc<UpstreamObject>> {
        let is_it = |child: &&Arc<UpstreamObject>| {
            (&child.resource.group, &child.resource.kind) == (&resource.group, &resource.kind)
                && child.object.name() == name
        };
        self.children.iter().find(is_it).cloned()
    }

    fn render(&self, deployment: &Value, prior: &PriorChoice) -> Rendering {
        Rendering::new(self.controllers.decide(deployment, Some(prior)))
    }

    fn identity_hash(&self, deployment: &Value, provider: &str) -> Option<String> {
        self.controllers.session.identity_hash(deployment, provider)
    }
}
