//! What a controller keeps of a deployment between reconciliations: writes that the watches have not delivered yet,
//! numbers of failures, and requests that are known to be useless. It saves requests and log lines; nothing depends on
//! it, and it is lost with the process.

use std::collections::BTreeMap;
use std::time::Duration;

use kubefoundry_controller_runtime::backoff::Exponential;

use crate::cached_object::CachedObject;

/// Maximum time for which a watch is assumed to lag behind a write. Later its state is trusted again, since the written
/// object may have been deleted.
pub const MAX_WATCH_LAG: Duration = Duration::from_secs(3);

/// The delay between corrections of an object that another client keeps changing. The first two corrections have none.
const CORRECTION: Exponential = Exponential { initial: Duration::from_millis(500), max: Duration::from_secs(60) };
/// Without a correction for this time, the delay starts from the beginning.
const CORRECTION_RESET: Duration = Duration::from_secs(300);
/// Time between two lookups of a Secret that is missing.
const MISSING_SECRET_RETRY: Duration = Duration::from_secs(60);
/// The number of conflicts in a row after which the fields of any other manager are taken over. Until then the other
/// manager may be a colleague that gives them up in a moment.
const MAX_CONFLICTS: u32 = 5;

/// A moment of a process: the time since its start, by a clock that is never set back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub Duration);

impl Moment {
    /// Returns the time that has passed since an earlier moment.
    fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// The memory of one controller about one deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Memory {
    /// The uid of the deployment; another one of the same name starts without a memory.
    uid: String,
    /// The last write of the deployment.
    written: Option<Write>,
    /// The last write of each object: applied ones by kind and name, deleted ones by uid.
    objects: BTreeMap<String, Write>,
    /// Number of failures in a row.
    failures: u32,
    /// The error that was logged last.
    logged: String,
    /// Number of conflicts in a row at writes of the status.
    conflicts: u32,
    corrections: u32,
    corrected: Option<Moment>,
    /// Objects that differ from what is rendered and that applying does not change, with a hash of both states.
    unchangeable: BTreeMap<String, String>,
    /// The generation for which Secrets were looked up, whether all exist, and when.
    secrets: Option<(i64, bool, Moment)>,
}

/// Stands for the version of an object that is deleted.
const DELETED: u64 = u64::MAX;

/// A write that the watch has to deliver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Write {
    version: u64,
    at: Moment,
}

impl Write {
    fn is_recent(&self, now: Moment) -> bool {
        now.since(self.at) < MAX_WATCH_LAG
    }

    fn is_behind(&self, known: Option<&CachedObject>, now: Moment) -> bool {
        let version = known.and_then(CachedObject::version);
        self.is_recent(now) && version.unwrap_or_default() < self.version
    }
}

impl Memory {
    /// Drops everything about an earlier deployment of the same name.
    pub fn begin(&mut self, uid: &str) {
        if self.uid != uid {
            *self = Self { uid: uid.to_owned(), ..Self::default() };
        }
    }

    /// Records the `resourceVersion` of the deployment as the apiserver returned it after a write. Where it is not a number,
    /// the cache is not checked for lag.
    pub(crate) fn record_write(&mut self, version: Option<u64>, now: Moment) {
        self.written = version.map(|version| Write { version, at: now });
    }

    /// Whether the cached deployment is older than its last write.
    pub(crate) fn is_behind(&self, deployment: &CachedObject, now: Moment) -> bool {
        self.written.is_some_and(|written| written.is_behind(Some(deployment), now))
    }

    /// Records an object as the apiserver returned it after an apply; `key` is its kind and name.
    pub(crate) fn record_apply(&mut self, key: &str, object: &CachedObject, now: Moment) {
        self.objects.retain(|_, write| write.is_recent(now));
        if let Some(version) = object.version() {
            self.objects.insert(key.to_owned(), Write { version, at: now });
        }
    }

    /// Records the deletion of an object before its request. Returns whether it was requested a moment ago already.
    pub(crate) fn begin_delete(&mut self, uid: &str, now: Moment) -> bool {
        self.objects.retain(|_, write| write.is_recent(now));
        self.objects.insert(uid.to_owned(), Write { version: DELETED, at: now }).is_some()
    }

    /// Records that a deletion was accepted: the watch no longer needs to deliver the last apply.
    pub(crate) fn record_deletion(&mut self, key: &str) {
        self.objects.remove(key);
    }

    /// Takes [`Self::begin_delete`] back after the request failed.
    pub(crate) fn cancel_delete(&mut self, uid: &str) {
        self.objects.remove(uid);
    }

    /// Whether the cached object is older than its last apply.
    pub(crate) fn is_object_behind(&self, key: &str, known: Option<&CachedObject>, now: Moment) -> bool {
        self.objects.get(key).is_some_and(|applied| applied.is_behind(known, now))
    }

    /// Whether one of the objects that were applied last is not known yet, or is known in an older state. `known` finds an
    /// object by kind and name. Forgets what is known by now.
    pub(crate) fn misses_objects<'o>(&mut self, known: impl Fn(&str) -> Option<&'o CachedObject>, now: Moment) -> bool {
        self.objects.retain(|key, write| match write.version {
            DELETED => write.is_recent(now),
            _ => write.is_behind(known(key), now),
        });
        self.objects.values().any(|write| write.version != DELETED)
    }

    /// Records a success, and drops what the watches have delivered, or have had time to. `deployment` is the cached one.
    /// Returns whether anything is left to remember: with ten thousand deployments, few have a memory at a time.
    pub fn record_success(&mut self, deployment: &CachedObject, now: Moment) -> bool {
        self.failures = 0;
        self.logged.clear();
        self.objects.retain(|_, write| write.is_recent(now));
        self.written = self.written.filter(|write| write.is_behind(Some(deployment), now));
        self.secrets = self.secrets.filter(|(_, found, _)| !found);
        let is_quiet = self.corrected.is_none_or(|corrected| now.since(corrected) > CORRECTION_RESET);
        !is_quiet
            || self.written.is_some()
            || !self.objects.is_empty()
            || !self.unchangeable.is_empty()
            || self.secrets.is_some()
    }

    /// Records a failure. Returns the delay before the next attempt, and whether the last failure was the same.
    pub fn record_failure(&mut self, error: &kubefoundry_controller_runtime::error::Error) -> (Duration, bool) {
        let backoff = if error.is_waiting() { Exponential::WAITING } else { Exponential::FAILED };
        let delay = backoff.delay(self.failures);
        self.failures = self.failures.saturating_add(1);
        let message = error.to_string();
        let is_known = self.logged == message;
        self.logged = message;
        (delay, is_known)
    }

    /// Records whether a write of the status met a conflict.
    pub(crate) fn record_conflict(&mut self, is_conflict: bool) {
        self.conflicts = if is_conflict { self.conflicts.saturating_add(1) } else { 0 };
    }

    /// Whether writes of the status met more conflicts than a colleague can cause.
    pub(crate) fn has_lasting_conflict(&self) -> bool {
        self.conflicts >= MAX_CONFLICTS
    }

    /// Returns the delay before an object may be corrected again; none when it may be now.
    pub(crate) fn correction_delay(&mut self, now: Moment) -> Option<Duration> {
        let since = now.since(self.corrected?);
        if since > CORRECTION_RESET {
            self.corrections = 0;
        }
        let delay = CORRECTION.delay(self.corrections.checked_sub(2)?);
        delay.checked_sub(since).filter(|rest| !rest.is_zero())
    }

    /// Records the correction of an object.
    pub(crate) fn record_correction(&mut self, now: Moment) {
        self.corrections = self.corrections.saturating_add(1);
        self.corrected = Some(now);
    }

    /// Records that applying does not change an object; `hash` covers the desired and the live object.
    pub(crate) fn record_unchangeable(&mut self, key: &str, hash: String) {
        self.unchangeable.insert(key.to_owned(), hash);
    }

    /// Whether applying is known not to change an object in this state.
    pub(crate) fn is_unchangeable(&self, key: &str, hash: &str) -> bool {
        self.unchangeable.get(key).is_some_and(|known| known == hash)
    }

    /// Whether Secrets need not be looked up now: all were found, or one was reported missing a moment ago. `None` when
    /// they were not looked up for this generation.
    pub(crate) fn knows_secrets(&self, generation: Option<i64>, now: Moment) -> Option<bool> {
        let (of, found, at) = self.secrets?;
        (Some(of) == generation).then(|| found || now.since(at) < MISSING_SECRET_RETRY)
    }

    /// Records a lookup of Secrets, and whether all exist.
    pub(crate) fn record_secrets(&mut self, generation: Option<i64>, found: bool, now: Moment) {
        self.secrets = generation.map(|generation| (generation, found, now));
    }
}

#[cfg(test)]
mod tests {
    use kubefoundry_controller_runtime::error::Error;
    use kubefoundry_controller_runtime::error::RequestError;
    use serde_json::json;

    use super::*;

    const NOW: Moment = Moment(Duration::from_secs(1000));

    fn object(version: &str) -> CachedObject {
        CachedObject::new(json!({"metadata": {"name": "phi", "uid": "u", "resourceVersion": version}})).unwrap()
    }

    fn later(seconds: u64) -> Moment {
        Moment(NOW.0 + Duration::from_secs(seconds))
    }

    #[test]
    fn a_cached_object_is_behind_until_the_watch_delivers_the_last_write() {
        let mut memory = Memory::default();
        assert!(!memory.is_behind(&object("3"), NOW));
        memory.record_write(Some(5), NOW);
        assert!(memory.is_behind(&object("4"), NOW));
        assert!(!memory.is_behind(&object("5"), NOW));
        assert!(!memory.is_behind(&object("4"), later(3)));
        memory.record_apply("Workspace/phi", &object("9"), NOW);
        let is_behind = |known: Option<&str>| memory.is_object_behind("Workspace/phi", known.map(object).as_ref(), NOW);
        assert_eq!([None, Some("8"), Some("10")].map(is_behind), [true, true, false]);
        assert!(!memory.is_object_behind("Service/phi", None, NOW));
        // What was deleted need not be known.
        let misses = |known: Option<&str>| {
            let known = known.map(object);
            memory.clone().misses_objects(|key| known.as_ref().filter(|_| key == "Workspace/phi"), NOW)
        };
        assert_eq!([None, Some("8"), Some("10")].map(misses), [true, true, false]);
        // A resourceVersion that is not a number is not compared.
        memory.record_write(object("x").version(), NOW);
        assert!(!memory.is_behind(&object("4"), NOW));
    }

    #[test]
    fn nothing_is_left_once_it_has_no_use() {
        let mut memory = Memory::default();
        memory.record_write(Some(5), NOW);
        memory.record_apply("Workspace/phi", &object("9"), NOW);
        assert!(memory.record_success(&object("4"), NOW));
        assert!(!memory.clone().record_success(&object("4"), later(3)));
        // The watches deliver both writes.
        let applied = object("9");
        assert!(!memory.misses_objects(|_| Some(&applied), NOW));
        assert!(!memory.record_success(&object("5"), NOW));
        // A missing Secret is still remembered.
        memory.record_secrets(Some(1), false, NOW);
        assert!(memory.record_success(&object("5"), NOW));
        assert_eq!((memory.knows_secrets(Some(1), NOW), memory.knows_secrets(Some(2), NOW)), (Some(true), None));
        assert_eq!(memory.knows_secrets(Some(1), later(60)), Some(false));
        // Another deployment of the same name has no memory.
        memory.begin("another");
        assert_eq!(memory, Memory { uid: "another".to_owned(), ..Memory::default() });
    }

    #[test]
    fn delays_grow_with_each_failure() {
        let mut memory = Memory::default();
        let failed = || Error::Api(RequestError::Failed("no answer".to_owned()));
        let waiting = || Error::Waiting("a colleague".to_owned());
        let mut millis = |error: Error| memory.record_failure(&error).0.as_millis();
        assert_eq!([millis(failed()), millis(failed()), millis(failed())], [200, 400, 800]);
        memory.record_success(&object("5"), NOW);
        assert_eq!(memory.record_failure(&waiting()), (Duration::from_millis(100), false));
        assert_eq!(memory.record_failure(&waiting()), (Duration::from_millis(200), true));
        for _ in 0..40 {
            memory.record_failure(&failed());
        }
        assert_eq!(memory.record_failure(&failed()).0, Duration::from_secs(60));
        assert_eq!(memory.record_failure(&waiting()).0, Duration::from_secs(5));
    }

    #[test]
    fn delays_grow_with_each_correction_of_an_object() {
        let mut memory = Memory::default();
        let mut corrected = || {
            memory.record_correction(NOW);
            memory.correction_delay(NOW).map(|rest| rest.as_millis())
        };
        assert_eq!([corrected(), corrected(), corrected(), corrected()], [None, Some(500), Some(1000), Some(2000)]);
    }

    #[test]
    fn a_conflict_lasts_after_five_in_a_row() {
        let mut memory = Memory::default();
        for _ in 0..4 {
            memory.record_conflict(true);
        }
        assert!(!memory.has_lasting_conflict());
        memory.record_conflict(true);
        assert!(memory.has_lasting_conflict());
        memory.record_conflict(false);
        assert!(!memory.has_lasting_conflict());
    }
}
