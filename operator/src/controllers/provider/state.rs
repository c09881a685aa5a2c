//! What the controller of a provider keeps of deployments between reconciliations: writes that the watches have not
//! delivered yet, numbers of failures, and requests that are known to be useless. It saves requests; nothing depends on
//! it, and it is lost with the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::cached_object::CachedObject;
use crate::runtime::backoff::Exponential;

/// Maximum time for which a watch is assumed to lag behind a write. Later its state is trusted again, since the written
/// object may have been deleted.
pub(super) const MAX_WATCH_LAG: Duration = Duration::from_secs(3);

/// The delay between corrections of an object that another client keeps changing. The first two corrections have none.
const CORRECTION: Exponential = Exponential { initial: Duration::from_millis(500), max: Duration::from_secs(60) };
/// Without a correction for this time, the delay starts from the beginning.
const CORRECTION_RESET: Duration = Duration::from_secs(300);
/// Time between two lookups of a Secret that is missing.
const MISSING_SECRET_RETRY: Duration = Duration::from_secs(60);
/// Maximum number of deployments with state; then all state is dropped.
const MAX_DEPLOYMENTS: usize = 20_000;

/// The state of deployments, by uid.
#[derive(Default)]
pub(super) struct ProviderReconcileState(Mutex<BTreeMap<String, DeploymentState>>);

/// The state of one deployment.
#[derive(Default)]
struct DeploymentState {
    /// The last write of the deployment.
    written: Option<Write>,
    /// The last write of each object: applied ones by kind and name, deleted ones by uid.
    objects: BTreeMap<String, Write>,
    failures: u32,
    corrections: u32,
    corrected: Option<Instant>,
    /// Objects that differ from what is rendered and that applying does not change, with a hash of both states.
    unchangeable: BTreeMap<String, String>,
    /// The generation for which Secrets were looked up, whether all exist, and when.
    secrets: Option<(i64, bool, Instant)>,
}

/// A write that the watch has to deliver.
struct Write {
    version: u64,
    at: Instant,
}

impl Write {
    /// Returns a write of this version at the current time. None when its resourceVersion is not a number: then the cache
    /// is not checked for lag.
    fn from_object(object: &CachedObject) -> Option<Self> {
        let version = object.version()?;
        Some(Self { version, at: Instant::now() })
    }

    fn is_behind(&self, known: Option<&CachedObject>) -> bool {
        let version = known.and_then(CachedObject::version);
        self.at.elapsed() < MAX_WATCH_LAG && version.unwrap_or_default() < self.version
    }
}

impl ProviderReconcileState {
    /// Changes the state of a deployment, which is created if it does not exist.
    fn update<R>(&self, uid: &str, change: impl FnOnce(&mut DeploymentState) -> R) -> R {
        let mut all = self.lock();
        if all.len() >= MAX_DEPLOYMENTS && !all.contains_key(uid) {
            all.clear();
        }
        change(all.entry(uid.to_owned()).or_default())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, DeploymentState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the state of a deployment that no longer exists.
    pub(super) fn forget(&self, uid: &str) {
        self.lock().remove(uid);
    }

    /// Records a deployment as the apiserver returned it after a write.
    pub(super) fn record_write(&self, deployment: &CachedObject) {
        self.update(deployment.uid(), |state| state.written = Write::from_object(deployment));
    }

    /// Whether the cached deployment is older than its last write.
    pub(super) fn is_behind(&self, deployment: &CachedObject) -> bool {
        let all = self.lock();
        let written = all.get(deployment.uid()).and_then(|state| state.written.as_ref());
        written.is_some_and(|written| written.is_behind(Some(deployment)))
    }

    /// Records an object as the apiserver returned it after an apply; `key` is its kind and name.
    pub(super) fn record_apply(&self, deployment: &CachedObject, key: &str, object: &CachedObject) {
        self.update(deployment.uid(), |state| {
            state.objects.retain(|_, write| write.at.elapsed() < MAX_WATCH_LAG);
            if let Some(write) = Write::from_object(object) {
                state.objects.insert(key.to_owned(), write);
            }
        });
    }

    /// Records the deletion of an object before its request. Returns whether it was requested a moment ago already.
    pub(super) fn begin_delete(&self, deployment: &CachedObject, uid: &str) -> bool {
        self.update(deployment.uid(), |state| {
            state.objects.retain(|_, write| write.at.elapsed() < MAX_WATCH_LAG);
            state.objects.insert(uid.to_owned(), Write { version: u64::MAX, at: Instant::now() }).is_some()
        })
    }

    /// Records that a deletion was accepted: the watch no longer needs to deliver the last apply.
    pub(super) fn record_deletion(&self, deployment: &CachedObject, key: &str) {
        self.update(deployment.uid(), |state| {
            state.objects.remove(key);
        });
    }

    /// Takes [`Self::begin_delete`] back after the request failed.
    pub(super) fn cancel_delete(&self, deployment: &CachedObject, uid: &str) {
        self.update(deployment.uid(), |state| {
            state.objects.remove(uid);
        });
    }

    /// Whether the cached object is older than its last apply.
    pub(super) fn is_object_behind(&self, deployment: &CachedObject, key: &str, known: Option<&CachedObject>) -> bool {
        let all = self.lock();
        let applied = all.get(deployment.uid()).and_then(|state| state.objects.get(key));
        applied.is_some_and(|applied| applied.is_behind(known))
    }

    /// Records a success, and drops what the watches have had time to deliver.
    pub(super) fn record_success(&self, uid: &str) {
        let mut all = self.lock();
        let Some(state) = all.get_mut(uid) else { return };
        state.failures = 0;
        state.objects.retain(|_, write| write.at.elapsed() < MAX_WATCH_LAG);
        state.written = state.written.take().filter(|write| write.at.elapsed() < MAX_WATCH_LAG);
        state.secrets = state.secrets.filter(|(_, found, _)| !found);
        let is_quiet = state.corrected.is_none_or(|corrected| corrected.elapsed() > CORRECTION_RESET);
        if is_quiet
            && state.written.is_none()
            && state.objects.is_empty()
            && state.unchangeable.is_empty()
            && state.secrets.is_none()
        {
            all.remove(uid);
        }
    }

    /// Records a failure, and returns the delay before the next attempt.
    pub(super) fn record_failure(&self, uid: &str, is_expected: bool) -> Duration {
        self.update(uid, |state| {
            let backoff = if is_expected { Exponential::WAITING } else { Exponential::FAILED };
            let delay = backoff.delay(state.failures);
            state.failures = state.failures.saturating_add(1);
            delay
        })
    }

    /// Returns the delay before an object may be corrected again; none when it may be now.
    pub(super) fn correction_delay(&self, uid: &str) -> Option<Duration> {
        self.update(uid, |state| {
            let since = state.corrected?.elapsed();
            if since > CORRECTION_RESET {
                state.corrections = 0;
            }
            let delay = CORRECTION.delay(state.corrections.checked_sub(2)?);
            delay.checked_sub(since).filter(|rest| !rest.is_zero())
        })
    }

    /// Records the correction of an object.
    pub(super) fn record_correction(&self, uid: &str) {
        self.update(uid, |state| {
            state.corrections = state.corrections.saturating_add(1);
            state.corrected = Some(Instant::now());
        });
    }

    /// Records that applying does not change an object; `hash` is [`comparison_hash`](super::objects::comparison_hash).
    pub(super) fn record_unchangeable(&self, uid: &str, key: &str, hash: String) {
        self.update(uid, |state| {
            state.unchangeable.insert(key.to_owned(), hash);
        });
    }

    /// Whether applying is known not to change an object in this state.
    pub(super) fn is_unchangeable(&self, uid: &str, key: &str, hash: &str) -> bool {
        let all = self.lock();
        all.get(uid).and_then(|state| state.unchangeable.get(key)).is_some_and(|known| known == hash)
    }

    /// Whether Secrets need not be looked up now: all were found, or one was reported missing a moment ago. `None` when
    /// they were not looked up for this generation.
    pub(super) fn knows_secrets(&self, uid: &str, generation: Option<i64>) -> Option<bool> {
        let all = self.lock();
        let (of, found, at) = all.get(uid)?.secrets?;
        (Some(of) == generation).then(|| found || at.elapsed() < MISSING_SECRET_RETRY)
    }

    /// Records a lookup of Secrets, and whether all exist.
    pub(super) fn record_secrets(&self, uid: &str, generation: Option<i64>, found: bool) {
        self.update(uid, |state| state.secrets = generation.map(|generation| (generation, found, Instant::now())));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(version: &str) -> CachedObject {
        CachedObject::new(json!({"metadata": {"name": "phi", "uid": "u", "resourceVersion": version}})).unwrap()
    }

    #[test]
    fn a_cached_object_is_behind_until_the_watch_delivers_the_last_write() {
        let state = ProviderReconcileState::default();
        assert!(!state.is_behind(&object("3")));
        state.record_write(&object("5"));
        assert!(state.is_behind(&object("4")));
        assert!(!state.is_behind(&object("5")));
        let deployment = object("5");
        state.record_apply(&deployment, "Workspace/phi", &object("9"));
        assert!(state.is_object_behind(&deployment, "Workspace/phi", None));
        assert!(state.is_object_behind(&deployment, "Workspace/phi", Some(&object("8"))));
        assert!(!state.is_object_behind(&deployment, "Workspace/phi", Some(&object("10"))));
        assert!(!state.is_object_behind(&deployment, "Service/phi", None));
        // A resourceVersion that is not a number is not compared.
        state.record_write(&object("x"));
        assert!(!state.is_behind(&object("4")));
    }

    #[test]
    fn state_is_dropped_once_it_has_no_use() {
        let state = ProviderReconcileState::default();
        state.record_write(&object("5"));
        state.record_apply(&object("5"), "Workspace/phi", &object("9"));
        state.record_success("u");
        assert!(state.is_behind(&object("4")));
        let past = |time: Duration| Instant::now().checked_sub(time).unwrap();
        state.update("u", |state| {
            let writes = state.objects.values_mut().chain(&mut state.written);
            writes.for_each(|write| write.at = past(MAX_WATCH_LAG));
        });
        assert!(!state.is_behind(&object("4")));
        state.record_success("u");
        assert!(state.lock().is_empty());
        // A missing Secret is still remembered.
        state.record_secrets("u", Some(1), false);
        state.record_success("u");
        assert_eq!((state.knows_secrets("u", Some(1)), state.knows_secrets("u", Some(2))), (Some(true), None));
        state.update("u", |state| state.secrets = Some((1, false, past(MISSING_SECRET_RETRY))));
        assert_eq!(state.knows_secrets("u", Some(1)), Some(false));
    }

    #[test]
    fn delays_grow_with_each_failure() {
        let state = ProviderReconcileState::default();
        let millis = |expected: bool| state.record_failure("u", expected).as_millis();
        assert_eq!([millis(false), millis(false), millis(false)], [200, 400, 800]);
        state.record_success("u");
        assert_eq!([millis(true), millis(true)], [100, 200]);
        (0..40).for_each(|_| {
            millis(false);
        });
        assert_eq!((millis(false), millis(true)), (60_000, 5_000));
    }

    #[test]
    fn delays_grow_with_each_correction_of_an_object() {
        let state = ProviderReconcileState::default();
        let corrected = || {
            state.record_correction("u");
            state.correction_delay("u").map(|rest| rest.as_millis().div_ceil(500) * 500)
        };
        assert_eq!([corrected(), corrected(), corrected(), corrected()], [None, Some(500), Some(1000), Some(2000)]);
    }
}
