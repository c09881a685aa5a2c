//! Passes changes to the queues of the controllers that they concern.

use std::sync::Arc;

use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_controller_runtime::queue::{Key, Lane, Queue};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_reconcile::cached_object::CachedObject;
use kubefoundry_reconcile::names;

use crate::role::Role;

/// The queues of the controllers of one API group.
#[derive(Debug)]
pub(crate) struct Queues {
    api_group: &'static ApiGroup,
    all: Vec<(Role, Arc<Queue>)>,
}

impl Queues {
    /// Creates one queue for each role with a controller.
    pub(crate) fn new(api_group: &'static ApiGroup, roles: &[Role]) -> Self {
        let with_controller = roles.iter().copied().filter(|role| *role != Role::Webhooks && role.serves_models());
        Self { api_group, all: with_controller.map(|role| (role, Arc::default())).collect() }
    }

    /// Adds the queues to the metrics.
    pub(crate) fn measure(&self, metrics: &Metrics) {
        self.all.iter().for_each(|(role, queue)| metrics.measure_queue(role.name(), Arc::clone(queue)));
    }

    /// Returns the queue of a role; none if the role has no controller in this process.
    pub(crate) fn get(&self, role: Role) -> Option<Arc<Queue>> {
        self.all.iter().find(|(other, _)| *other == role).map(|(_, queue)| Arc::clone(queue))
    }

    /// Queues a deployment that changed. `before` is its earlier state, if there was one.
    ///
    /// Only a provider has to act when a status changes. Core and the selector have decided, so they look at it when nothing
    /// waits for a decision: under load once for several changes, most of which are their own writes.
    pub(crate) fn push(&self, deployment: &CachedObject, before: Option<&CachedObject>) {
        let is_decided = before.is_some_and(|before| deployment.is_status_change_of(before));
        self.push_to_concerned(deployment, |role| match role {
            Role::Core | Role::Selector if is_decided => Lane::Routine,
            _ => Lane::Urgent,
        });
    }

    /// Queues deployments for a resync, or after a change that concerns many of them.
    pub(crate) fn extend<'d>(&self, deployments: impl Iterator<Item = &'d CachedObject>) {
        deployments.for_each(|deployment| self.push_to_concerned(deployment, |_| Lane::Routine));
    }

    fn push_to_concerned(&self, deployment: &CachedObject, lane: impl Fn(Role) -> Lane) {
        // A resync queues every deployment for several roles.
        let key = Arc::new(Key::of(&deployment.metadata));
        for (role, queue) in self.all.iter().filter(|(role, _)| self.concerns(*role, deployment)) {
            queue.push(Arc::clone(&key), lane(*role));
        }
    }

    /// Queues a deployment for its provider alone, after a change of an object that only the provider reads.
    pub(crate) fn push_to_providers(&self, deployment: &CachedObject) {
        let providers = self.all.iter().filter(|(role, _)| matches!(role, Role::Provider(_)));
        for (_, queue) in providers.filter(|(role, _)| self.concerns(*role, deployment)) {
            queue.push(Key::of(&deployment.metadata), Lane::Urgent);
        }
    }

    /// Queues a deployment for one provider, although the cached deployment may not name that provider yet: the watch
    /// of the provider's objects can be ahead of the watch of deployments.
    pub(crate) fn push_to_provider(&self, provider: &str, key: &Key) {
        for (_, queue) in
            self.all.iter().filter(|(role, _)| matches!(role, Role::Provider(_)) && role.name() == provider)
        {
            queue.push(key.clone(), Lane::Urgent);
        }
    }

    /// Whether a deployment concerns a role. It concerns a provider that is, or was, chosen for it.
    fn concerns(&self, role: Role, deployment: &CachedObject) -> bool {
        let Role::Provider(provider) = role else { return true };
        let finalizer = || names::finalizer(self.api_group, provider.name());
        deployment.chosen() == Some(provider.name())
            || deployment.metadata.finalizers.iter().flatten().any(|known| *known == finalizer())
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use kubefoundry_kubernetes::api_group::API_GROUPS;
    use serde_json::json;

    use super::*;

    /// Takes all keys of a role, and returns their names in the order in which they are handed out.
    fn order(queues: &Queues, role: &str) -> Vec<String> {
        let queue = queues.get(Role::parse(role).unwrap()).unwrap();
        std::iter::from_fn(|| queue.next(usize::MAX).now_or_never()).map(|key| key.name.clone()).collect()
    }

    fn deployment(name: &str, status: &serde_json::Value, finalizers: &[&str]) -> CachedObject {
        let metadata = json!({"name": name, "namespace": "ml", "finalizers": finalizers});
        CachedObject::new(json!({"metadata": metadata, "status": status})).unwrap()
    }

    #[test]
    fn a_provider_gets_only_deployments_that_are_or_were_its_own() {
        let queues = Queues::new(&API_GROUPS[0], &Role::all());
        let finalizers = ["kubefoundry.ai/kaito-provider"];
        let all = [
            deployment("new", &json!({}), &[]),
            deployment("own", &json!({"provider": {"name": "kaito"}}), &[]),
            deployment("moved", &json!({"provider": {"name": "dynamo"}}), &finalizers),
        ];
        queues.extend(all.iter());
        assert_eq!(order(&queues, "core"), ["new", "own", "moved"]);
        assert_eq!(order(&queues, "kaito"), ["own", "moved"]);
        assert_eq!(order(&queues, "dynamo"), ["moved"]);
        assert!(order(&queues, "kuberay").is_empty());
    }

    #[tokio::test]
    async fn core_looks_at_a_new_status_after_what_waits_for_a_decision() {
        let queues = Queues::new(&API_GROUPS[0], &Role::all());
        let changed = |name: &str, generation: i64, phase: &str| {
            let metadata = json!({"name": name, "namespace": "ml", "uid": name, "generation": generation});
            let status = json!({"phase": phase, "provider": {"name": "kaito"}});
            CachedObject::new(json!({"metadata": metadata, "status": status})).unwrap()
        };
        let before = changed("running", 1, "Pending");
        queues.push(&changed("running", 1, "Running"), Some(&before));
        queues.push(&changed("edited", 2, "Pending"), Some(&changed("edited", 1, "Pending")));
        queues.push(&changed("new", 1, ""), None);
        // The first turn belongs to the routine lane.
        queues.extend([changed("any", 1, "")].iter());
        for role in ["core", "selector"] {
            assert_eq!(order(&queues, role), ["running", "edited", "new", "any"], "{role}");
        }
        assert_eq!(order(&queues, "kaito"), ["any", "running", "edited", "new"]);
    }
}
