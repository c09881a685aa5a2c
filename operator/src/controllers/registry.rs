//! The caches of the process, in the form in which reconciliations ask them.

use std::sync::Arc;

use kube::core::ApiResource;
use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::verdict::{AllowList, Cluster, Verdict};
use kubefoundry_composition::BUILTIN;
use kubefoundry_model::select::PriorChoice;
use kubefoundry_reconcile::decision::{Decision, Rendering};
use kubefoundry_reconcile::observation::UpstreamObject;
use kubefoundry_reconcile::provider::ProviderCluster;
use kubefoundry_reconcile::selector::Registry;
use serde_json::Value;

use crate::context::Context;
use crate::evaluator::Snapshot;

/// Options, providers, CRDs and objects as a reconciliation of one namespace sees them. The snapshot stays the same
/// while it lasts.
pub(super) struct ClusterRegistry<'r> {
    context: &'r Context,
    /// The name of the controller, for metrics.
    controller: &'static str,
    snapshot: Arc<Snapshot>,
    allowed: AllowList,
    has_selector: bool,
}

impl<'r> ClusterRegistry<'r> {
    pub(super) fn new(context: &'r Context, controller: &'static str, namespace: &str) -> Self {
        Self {
            context,
            controller,
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

    /// Evaluates a deployment, which no controller did in a moment before.
    fn evaluate(&self, deployment: &Value, prior: Option<&PriorChoice>) -> Verdict {
        self.context.metrics.count_evaluation(self.controller);
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
    fn decide(&self, deployment: &Value) -> Decision {
        self.snapshot.verdicts.decide(deployment, &self.allowed, |prior| self.evaluate(deployment, prior))
    }

    fn is_known(&self, provider: &str) -> bool {
        BUILTIN.find_provider(provider).is_some() || self.snapshot.session.catalog().get(provider).is_some()
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

    fn render(&self, deployment: &Value, prior: &PriorChoice) -> Rendering {
        self.snapshot.verdicts.render(deployment, &self.allowed, prior, |prior| self.evaluate(deployment, prior))
    }

    fn identity_hash(&self, deployment: &Value, provider: &str) -> Option<String> {
        self.snapshot.session.identity_hash(deployment, provider)
    }
}

#[cfg(test)]
mod tests {
    use kube::core::GroupVersionKind;
    use kubefoundry_kubernetes::api_group::ApiGroup;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn core_and_the_selector_share_one_evaluation() {
        let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Err::<http::Response<kube::client::Body>, tower::BoxError>("no apiserver".into())
        });
        let client = kube::Client::new(service, "default");
        let api_group = ApiGroup::find("kubefoundry.ai").unwrap();
        let kind = GroupVersionKind::gvk(api_group.name, api_group.version, kubefoundry_deployment::wire::KIND);
        let context = Context::for_tests(client, api_group, ApiResource::from_gvk(&kind));
        let mut phi = json!({
            "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment",
            "metadata": {"name": "phi", "namespace": "ml", "uid": "u"},
            "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}},
        });
        let decide = |controller, phi: &Value| Registry::decide(&ClusterRegistry::new(&context, controller, "ml"), phi);
        let by_core = decide("core", &phi);
        // Core has written its status by the time at which the selector decides.
        phi["status"] = json!({"conditions": [{"type": "Validated", "status": "True"}]});
        phi["metadata"]["resourceVersion"] = json!("2");
        assert_eq!(by_core.choice(), decide("selector", &phi).choice());
        let counted = |controller: &str| format!("kubefoundry_evaluations_total{{provider=\"{controller}\"}} 1");
        let metrics = context.metrics.text();
        assert!(metrics.contains(&counted("core")) && !metrics.contains(&counted("selector")), "{metrics}");
    }
}
