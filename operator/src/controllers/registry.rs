//! The caches of the process, in the form in which reconciliations ask them.

use std::sync::Arc;

use kube::core::ApiResource;
use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::verdict::{AllowList, Cluster, Verdict};
use kubefoundry_model::providers;
use kubefoundry_model::select::PriorChoice;
use serde_json::Value;

use crate::context::Context;
use crate::evaluator::Snapshot;
use crate::reconcile::provider::ProviderCluster;
use crate::reconcile::selector::Registry;
use crate::watch::UpstreamObject;

/// Options, providers, CRDs and objects as a reconciliation of one namespace sees them. The snapshot stays the same
/// while it lasts.
pub(super) struct ClusterRegistry<'r> {
    context: &'r Context,
    snapshot: Arc<Snapshot>,
    allowed: AllowList,
    has_selector: bool,
}

impl<'r> ClusterRegistry<'r> {
    pub(super) fn new(context: &'r Context, namespace: &str) -> Self {
        Self {
            context,
            snapshot: Arc::clone(&context.snapshots.borrow()),
            allowed: context.namespaces.allow_list(namespace),
            has_selector: *context.has_selector.borrow(),
        }
    }

    /// Returns the providers whose controllers are alive.
    pub(super) fn alive(&self) -> impl Iterator<Item = &str> {
        let candidates = self.snapshot.session.catalog().candidates().iter();
        candidates.filter(|candidate| candidate.ready != Some(false)).map(|candidate| candidate.name.as_str())
    }

    fn decide(&self, deployment: &Value, prior: Option<&PriorChoice>) -> Verdict {
        let restrict = |allowed: &[String]| self.snapshot.restricted_to(allowed);
        let cluster = Cluster {
            session: &self.snapshot.session,
            restrict: &restrict,
            allowed: &self.allowed,
            thoroughness: Thoroughness::Needed,
        };
        cluster.decide(deployment, prior)
    }
}

impl Registry for ClusterRegistry<'_> {
    fn decide(&self, deployment: &Value, prior: Option<&PriorChoice>) -> Verdict {
        self.decide(deployment, prior)
    }

    fn is_known(&self, provider: &str) -> bool {
        providers::find(provider).is_some() || self.snapshot.session.catalog().get(provider).is_some()
    }

    fn has_selector(&self) -> bool {
        self.has_selector
    }
}

impl ProviderCluster for ClusterRegistry<'_> {
    fn is_ready(&self, provider: &str) -> bool {
        self.context.upstream.is_ready(provider)
    }

    fn owned(&self, uid: &str) -> Vec<Arc<UpstreamObject>> {
        self.context.upstream.owned(uid)
    }

    fn find(&self, resource: &ApiResource, namespace: &str, name: &str) -> Option<Arc<UpstreamObject>> {
        self.context.upstream.find(resource, namespace, name)
    }

    fn decide(&self, deployment: &Value, prior: &PriorChoice) -> Verdict {
        self.decide(deployment, Some(prior))
    }

    fn identity_hash(&self, deployment: &Value, provider: &str) -> Option<String> {
        self.snapshot.session.identity_hash(deployment, provider)
    }
}
