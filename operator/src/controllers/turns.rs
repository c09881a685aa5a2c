//! The turns of a provider's recreations, from the conditions of all its deployments.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use kube::runtime::reflector::Store;
use kubefoundry_compiler::cluster_snapshot::time::Time;

use kubefoundry_controller_runtime::mutex::lock;
use kubefoundry_reconcile::cached_object::CachedObject;
use kubefoundry_reconcile::recreation::{
    RecreationMark, RecreationPolicy, RecreationState, Turn, failed_last, take_turn,
};

/// Hands out turns, one deployment after the other.
pub(crate) struct Turns {
    provider: &'static str,
    deployments: Vec<Store<CachedObject>>,
    policy: RecreationPolicy,
    state: Mutex<State>,
}

/// The marks of deployments by their names.
type Marks = BTreeMap<String, RecreationMark>;

#[derive(Debug, Default)]
struct State {
    /// Turns whose condition the watch has not delivered yet, by the name of the deployment.
    granted: BTreeMap<String, Grant>,
    /// The marks of the provider's deployments, and when they were read.
    read: Option<(Time, Arc<Marks>)>,
}

/// A turn that was handed out a moment ago.
#[derive(Debug, Clone, Copy)]
struct Grant {
    at: Time,
    /// What the condition recorded before.
    before: Option<RecreationMark>,
}

/// Maximum time for which a turn counts without its condition: its reconciliation failed, or is over.
const MAX_GRANT_SECONDS: u64 = 30;

impl Turns {
    /// Creates the turns of a provider among the deployments of all API groups.
    pub(crate) fn new(provider: &'static str, deployments: Vec<Store<CachedObject>>, policy: RecreationPolicy) -> Self {
        Self { provider, deployments, policy, state: Mutex::default() }
    }

    pub(super) fn policy(&self) -> RecreationPolicy {
        self.policy
    }

    /// Takes the turn of a deployment, if it has come.
    pub(super) fn take(&self, deployment: &CachedObject, is_approved: bool, now: Time) -> Turn {
        let mut state = self.state();
        let known = self.marks(&mut state, now);
        state.granted.retain(|name, grant| {
            let known = known.get(name).copied();
            let is_delivered = known != grant.before && known.is_some_and(|known| !known.state.is_waiting());
            !is_delivered && now.seconds_since(grant.at) < MAX_GRANT_SECONDS
        });
        let in_progress =
            |grant: &Grant| RecreationMark { state: RecreationState::Recreating, since: grant.at, generation: None };
        let (name, before) = (name_of(deployment), deployment.recreation());
        let mut marks = (*known).clone();
        marks.extend(state.granted.iter().map(|(name, grant)| (name.clone(), in_progress(grant))));
        let all = marks.iter().map(|(name, mark)| (name.as_str(), *mark));
        let turn = take_turn(all, &name, is_approved, self.policy, now);
        if turn == Turn::Now {
            state.granted.insert(name, Grant { at: now, before });
        }
        turn
    }

    /// Returns the deployments whose failed recreations keep others from being recreated; empty if none do.
    pub(crate) fn paused_by(&self, now: Time) -> Vec<String> {
        let marks = self.marks(&mut self.state(), now);
        failed_last(marks.iter().map(|(name, mark)| (name.as_str(), *mark)), self.policy, now)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Returns the marks of the provider's deployments. They are read at most once a second, the precision of their
    /// times: a changed option makes all deployments ask at the same time. What a watch has not delivered yet is as old.
    fn marks(&self, state: &mut State, now: Time) -> Arc<Marks> {
        if let Some((at, marks)) = &state.read
            && *at == now
        {
            return Arc::clone(marks);
        }
        let all = self.deployments.iter().flat_map(Store::state);
        let concerned =
            all.filter(|deployment| deployment.chosen() == Some(self.provider) && !deployment.is_terminating());
        let marks = concerned.filter_map(|deployment| Some((name_of(&deployment), deployment.recreation()?)));
        let marks: Arc<Marks> = Arc::new(marks.collect());
        state.read = Some((now, Arc::clone(&marks)));
        marks
    }
}

/// Returns the name of a deployment for messages: `namespace/name`.
fn name_of(deployment: &CachedObject) -> String {
    format!("{}/{}", deployment.namespace(), deployment.name())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kube::core::{ApiResource, GroupVersionKind};
    use kube::runtime::reflector::store::Writer;
    use kube::runtime::watcher::Event;
    use serde_json::json;

    use super::*;

    const NOW: Time = Time(1_800_000_000);

    fn deployment(name: &str, reason: Option<&str>, at: Time) -> CachedObject {
        let conditions = reason.map(|reason| {
            json!([{"type": "PendingRecreate", "status": "False", "reason": reason, "lastTransitionTime": at.to_string()}])
        });
        CachedObject::new(json!({
            "metadata": {"name": name, "namespace": "ml", "uid": name},
            "status": {"provider": {"name": "kaito"}, "conditions": conditions},
        }))
        .unwrap()
    }

    #[test]
    fn a_turn_counts_before_and_after_the_watch_delivers_it() {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("kubefoundry.ai", "v1alpha1", "ModelDeployment"));
        let mut writer = Writer::<CachedObject>::new(resource);
        let policy = RecreationPolicy { max: 1, needs_approval: false, deadline: Duration::from_secs(60) };
        let turns = Turns::new("kaito", vec![writer.as_reader()], policy);
        let mut deliver = |name: &str, reason: Option<&str>, at: i64| {
            writer.apply_watcher_event(&Event::Apply(deployment(name, reason, Time(NOW.0 + at))));
        };
        let take = |name: &str, after: i64| turns.take(&deployment(name, None, NOW), false, Time(NOW.0 + after));
        for name in ["a", "b", "c", "d"] {
            deliver(name, None, 0);
        }
        assert_eq!(take("a", 0), Turn::Now);
        assert_eq!(take("b", 0), Turn::Later { active: 1, ahead: 0 });
        deliver("a", Some("Recreating"), 0);
        assert_eq!(take("b", 1), Turn::Later { active: 1, ahead: 0 });
        // The end of a recreation is seen with the next second.
        deliver("a", Some("Recreated"), 1);
        assert_eq!(take("b", 2), Turn::Now);
        assert_eq!(take("c", 2), Turn::Later { active: 1, ahead: 0 });
        assert!(turns.paused_by(Time(NOW.0 + 2)).is_empty());
        for (name, at) in [("b", 2), ("c", 3), ("d", 4)] {
            deliver(name, Some("NotReady"), at);
        }
        assert_eq!(turns.paused_by(Time(NOW.0 + 5)), ["ml/d", "ml/c", "ml/b"]);
        deliver("d", Some("Recreated"), 6);
        assert!(turns.paused_by(Time(NOW.0 + 7)).is_empty());
    }
}
