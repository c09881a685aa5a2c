//! What the controllers of core and the selector keep of deployments between reconciliations. It saves requests and log
//! lines; nothing depends on it, and it is lost with the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::cached_object::CachedObject;
use crate::error::Error;
use crate::runtime::backoff::Exponential;
use crate::runtime::queue::Key;

/// The state of each deployment whose last reconciliation failed, or whose last write the watch has not delivered yet.
#[derive(Debug, Default)]
pub(crate) struct ReconcileState(Mutex<BTreeMap<Key, DeploymentState>>);

#[derive(Debug, Default)]
struct DeploymentState {
    /// Number of failures in a row.
    failures: u32,
    /// The error that was logged last.
    logged: String,
    /// The uid of the deployment that was written, and the resourceVersion after the write.
    written: Option<(String, u64)>,
}

impl ReconcileState {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, DeploymentState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a deployment as the apiserver returned it after a write.
    pub(crate) fn record_write(&self, written: &CachedObject) {
        let Some(version) = written.version() else { return };
        self.lock().entry(Key::from_object(written)).or_default().written = Some((written.uid().to_owned(), version));
    }

    /// Whether the cached deployment is older than the last write. The watch will deliver that write, and queue it
    /// again.
    pub(crate) fn is_behind(&self, deployment: &CachedObject) -> bool {
        let mut all = self.lock();
        let Some(state) = all.get_mut(&Key::from_object(deployment)) else { return false };
        let is_behind = state.written.as_ref().is_some_and(|(uid, written)| {
            *uid == deployment.uid() && deployment.version().is_some_and(|version| version < *written)
        });
        if !is_behind {
            state.written = None;
        }
        is_behind
    }

    /// Records a success.
    pub(super) fn record_success(&self, deployment: &CachedObject) {
        let mut all = self.lock();
        let key = Key::from_object(deployment);
        if let Some(state) = all.get_mut(&key) {
            if state.written.is_none() {
                all.remove(&key);
            } else {
                (state.failures, state.logged) = (0, String::new());
            }
        }
    }

    /// Drops the state of a deployment that no longer exists.
    pub(super) fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    /// Records a failure. Returns the delay before the next attempt, and whether the last failure was the same.
    pub(super) fn record_failure(&self, deployment: &CachedObject, error: &Error) -> (Duration, bool) {
        let mut all = self.lock();
        let state = all.entry(Key::from_object(deployment)).or_default();
        let backoff = if matches!(error, Error::Waiting(_)) { Exponential::WAITING } else { Exponential::FAILED };
        let delay = backoff.delay(state.failures);
        state.failures = state.failures.saturating_add(1);
        let message = error.to_string();
        let is_known = state.logged == message;
        state.logged = message;
        (delay, is_known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cached_deployment_is_behind_until_the_watch_delivers_the_last_write() {
        let deployment = |uid: &str, version: &str| {
            let metadata =
                serde_json::json!({"name": "phi", "namespace": "ml", "uid": uid, "resourceVersion": version});
            CachedObject::new(serde_json::json!({"metadata": metadata})).unwrap()
        };
        let state = ReconcileState::default();
        assert!(!state.is_behind(&deployment("1", "9")));
        state.record_write(&deployment("1", "10"));
        state.record_success(&deployment("1", "9"));
        assert!(state.is_behind(&deployment("1", "9")));
        assert!(!state.is_behind(&deployment("2", "9")));
        state.record_write(&deployment("1", "10"));
        assert!(!state.is_behind(&deployment("1", "10")));
        state.record_success(&deployment("1", "10"));
        assert!(state.lock().is_empty());
    }
}
