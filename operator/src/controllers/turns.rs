//! The turns of a provider's recreations, from the conditions of all its deployments.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use kube::runtime::reflector::Store;
use kubefoundry_compiler::cluster_snapshot::time::Time;

use crate::cached_object::CachedObject;
use crate::recreation::{RecreationMark, RecreationPolicy, RecreationState, Turn, take_turn};

/// Hands out turns, one deployment after the other.
pub(crate) struct Turns {
    provider: &'static str,
    deployments: Vec<Store<CachedObject>>,
    policy: RecreationPolicy,
    /// Turns whose condition the watch has not delivered yet, by the name of the deployment.
    granted: Mutex<BTreeMap<String, Grant>>,
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
        Self { provider, deployments, policy, granted: Mutex::default() }
    }

    pub(super) fn policy(&self) -> RecreationPolicy {
        self.policy
    }

    /// Takes the turn of a deployment, if it has come.
    pub(super) fn take(&self, deployment: &CachedObject, is_approved: bool, now: Time) -> Turn {
        let mut granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut marks: BTreeMap<String, RecreationMark> = self.marks().collect();
        granted.retain(|name, grant| {
            let known = marks.get(name).copied();
            let is_delivered = known != grant.before && known.is_some_and(|known| !known.state.is_waiting());
            !is_delivered && now.seconds_since(grant.at) < MAX_GRANT_SECONDS
        });
        let in_progress =
            |grant: &Grant| RecreationMark { state: RecreationState::Recreating, since: grant.at, generation: None };
        let name = name_of(deployment);
        let before = marks.get(&name).copied();
        marks.extend(granted.iter().map(|(name, grant)| (name.clone(), in_progress(grant))));
        let all = marks.iter().map(|(name, mark)| (name.as_str(), *mark));
        let turn = take_turn(all, &name, is_approved, self.policy, now);
        if turn == Turn::Now {
            granted.insert(name, Grant { at: now, before });
        }
        turn
    }

    /// Returns the marks of the provider's deployments.
    fn marks(&self) -> impl Iterator<Item = (String, RecreationMark)> {
        let all = self.deployments.iter().flat_map(Store::state);
        all.filter(|deployment| deployment.chosen() == Some(self.provider) && !deployment.is_terminating())
            .filter_map(|deployment| Some((name_of(&deployment), deployment.recreation()?)))
    }
}

/// Returns the name of a deployment for messages: `namespace/name`.
fn name_of(deployment: &CachedObject) -> String {
    format!("{}/{}", deployment.namespace(), deployment.name())
}
