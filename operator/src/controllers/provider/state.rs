//! What saves requests, and nothing more: how far the watches have to be, how often something failed, what is known to be of
//! no use. It is lost with the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::cached::Cached;
use crate::controllers::{delay, doubled};

/// How long a watch may be behind what was written. After that what it says is believed again: what was written may be gone.
pub(super) const LAG: Duration = Duration::from_secs(3);

/// The first and the longest delay between corrections of an object that somebody else keeps changing; the first two come at once.
const CORRECTED: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));
/// After this time without a correction, nobody keeps changing it any more.
const QUIET: Duration = Duration::from_secs(300);
/// How long a Secret that is missing is not looked for again.
const MISSING: Duration = Duration::from_secs(60);
/// How many deployments are remembered.
const MOST: usize = 20_000;

/// Of all deployments, by uid.
#[derive(Default)]
pub(super) struct Memory(Mutex<BTreeMap<String, Remembered>>);

/// Of one deployment.
#[derive(Default)]
struct Remembered {
    /// Its version after the last write.
    written: Option<Seen>,
    /// The versions of objects after they were applied, and those that were deleted, by uid.
    objects: BTreeMap<String, Seen>,
    failures: u32,
    corrections: u32,
    corrected: Option<Instant>,
    /// Objects that differ from what is rendered, and that applying does not change, with a hash of what is wanted of them.
    unmoved: BTreeMap<String, String>,
    /// The generation for which Secrets were looked for, whether all were found, and when.
    secrets: Option<(i64, bool, Instant)>,
}

struct Seen {
    version: u64,
    at: Instant,
}

impl Seen {
    /// The version after a write; none when it is no number: then the watch is believed.
    fn of(object: &Cached) -> Option<Self> {
        let version = object.version()?;
        Some(Self { version, at: Instant::now() })
    }

    fn is_behind(&self, known: Option<&Cached>) -> bool {
        let version = known.and_then(Cached::version);
        self.at.elapsed() < LAG && version.unwrap_or_default() < self.version
    }
}

impl Memory {
    fn with<R>(&self, uid: &str, change: impl FnOnce(&mut Remembered) -> R) -> R {
        let mut all = self.lock();
        if all.len() >= MOST && !all.contains_key(uid) {
            all.clear();
        }
        change(all.entry(uid.to_owned()).or_default())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Remembered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is gone.
    pub(super) fn forget(&self, uid: &str) {
        self.lock().remove(uid);
    }

    /// A deployment was written.
    pub(super) fn wrote(&self, deployment: &Cached) {
        self.with(deployment.uid(), |it| it.written = Seen::of(deployment));
    }

    /// Whether a deployment is known as it was before it was written last.
    pub(super) fn is_behind(&self, deployment: &Cached) -> bool {
        let all = self.lock();
        let written = all.get(deployment.uid()).and_then(|it| it.written.as_ref());
        written.is_some_and(|written| written.is_behind(Some(deployment)))
    }

    /// An object was applied.
    pub(super) fn applied(&self, deployment: &Cached, key: &str, object: &Cached) {
        self.with(deployment.uid(), |it| {
            it.objects.retain(|_, seen| seen.at.elapsed() < LAG);
            if let Some(seen) = Seen::of(object) {
                it.objects.insert(key.to_owned(), seen);
            }
        });
    }

    /// An object is about to be deleted; whether that was asked for a moment ago already.
    pub(super) fn deletes(&self, deployment: &Cached, uid: &str) -> bool {
        self.with(deployment.uid(), |it| {
            it.objects.retain(|_, seen| seen.at.elapsed() < LAG);
            it.objects.insert(uid.to_owned(), Seen { version: u64::MAX, at: Instant::now() }).is_some()
        })
    }

    /// An object is being deleted: what was applied is not waited for any more.
    pub(super) fn deleted(&self, deployment: &Cached, key: &str) {
        self.with(deployment.uid(), |it| {
            it.objects.remove(key);
        });
    }

    /// A deletion did not come about.
    pub(super) fn kept(&self, deployment: &Cached, uid: &str) {
        self.with(deployment.uid(), |it| {
            it.objects.remove(uid);
        });
    }

    /// Whether an object is known as it was before it was applied last.
    pub(super) fn is_object_behind(&self, deployment: &Cached, key: &str, known: Option<&Cached>) -> bool {
        let all = self.lock();
        let applied = all.get(deployment.uid()).and_then(|it| it.objects.get(key));
        applied.is_some_and(|applied| applied.is_behind(known))
    }

    /// It came to its end. What the watches have had time to say is forgotten.
    pub(super) fn succeeded(&self, uid: &str) {
        let mut all = self.lock();
        let Some(it) = all.get_mut(uid) else { return };
        it.failures = 0;
        it.objects.retain(|_, seen| seen.at.elapsed() < LAG);
        it.written = it.written.take().filter(|seen| seen.at.elapsed() < LAG);
        it.secrets = it.secrets.filter(|(_, found, _)| !found);
        let is_quiet = it.corrected.is_none_or(|corrected| corrected.elapsed() > QUIET);
        if is_quiet && it.written.is_none() && it.objects.is_empty() && it.unmoved.is_empty() && it.secrets.is_none() {
            all.remove(uid);
        }
    }

    /// It did not; how long to wait.
    pub(super) fn failed(&self, uid: &str, is_expected: bool) -> Duration {
        self.with(uid, |it| {
            let delay = delay(is_expected, it.failures);
            it.failures = it.failures.saturating_add(1);
            delay
        })
    }

    /// How long to wait before an object is corrected again.
    pub(super) fn patience(&self, uid: &str) -> Option<Duration> {
        self.with(uid, |it| {
            let since = it.corrected?.elapsed();
            if since > QUIET {
                it.corrections = 0;
            }
            let delay = doubled(CORRECTED, it.corrections.checked_sub(2)?);
            delay.checked_sub(since).filter(|rest| !rest.is_zero())
        })
    }

    /// An object was corrected.
    pub(super) fn corrected(&self, uid: &str) {
        self.with(uid, |it| {
            it.corrections = it.corrections.saturating_add(1);
            it.corrected = Some(Instant::now());
        });
    }

    /// Applying does not change an object that is like this: `state` is a hash of it.
    pub(super) fn unmoved(&self, uid: &str, key: &str, state: String) {
        self.with(uid, |it| {
            it.unmoved.insert(key.to_owned(), state);
        });
    }

    /// Whether applying does not change an object, as far as is known.
    pub(super) fn is_unmoved(&self, uid: &str, key: &str, state: &str) -> bool {
        let all = self.lock();
        all.get(uid).and_then(|it| it.unmoved.get(key)).is_some_and(|known| known == state)
    }

    /// Whether Secrets need not be looked for now: all were found, or that one is missing was said a moment ago. `None` when
    /// they were not looked for, or for another generation.
    pub(super) fn knows_secrets(&self, uid: &str, generation: Option<i64>) -> Option<bool> {
        let all = self.lock();
        let (of, found, at) = all.get(uid)?.secrets?;
        (Some(of) == generation).then(|| found || at.elapsed() < MISSING)
    }

    /// Secrets were looked for: whether all are there.
    pub(super) fn found_secrets(&self, uid: &str, generation: Option<i64>, found: bool) {
        self.with(uid, |it| it.secrets = generation.map(|generation| (generation, found, Instant::now())));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(version: &str) -> Cached {
        Cached::new(json!({"metadata": {"name": "phi", "uid": "u", "resourceVersion": version}})).unwrap()
    }

    #[test]
    fn a_watch_may_be_behind_what_was_written() {
        let memory = Memory::default();
        assert!(!memory.is_behind(&object("3")));
        memory.wrote(&object("5"));
        assert!(memory.is_behind(&object("4")));
        assert!(!memory.is_behind(&object("5")));
        let deployment = object("5");
        memory.applied(&deployment, "Workspace/phi", &object("9"));
        assert!(memory.is_object_behind(&deployment, "Workspace/phi", None));
        assert!(memory.is_object_behind(&deployment, "Workspace/phi", Some(&object("8"))));
        assert!(!memory.is_object_behind(&deployment, "Workspace/phi", Some(&object("10"))));
        assert!(!memory.is_object_behind(&deployment, "Service/phi", None));
        // What is no number is believed.
        memory.wrote(&object("x"));
        assert!(!memory.is_behind(&object("4")));
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let memory = Memory::default();
        memory.wrote(&object("5"));
        memory.applied(&object("5"), "Workspace/phi", &object("9"));
        memory.succeeded("u");
        assert!(memory.is_behind(&object("4")));
        let past = |time: Duration| Instant::now().checked_sub(time).unwrap();
        memory.with("u", |it| {
            let seen = it.objects.values_mut().chain(&mut it.written);
            seen.for_each(|seen| seen.at = past(LAG));
        });
        assert!(!memory.is_behind(&object("4")));
        memory.succeeded("u");
        assert!(memory.lock().is_empty());
        // That something is missing is still of use.
        memory.found_secrets("u", Some(1), false);
        memory.succeeded("u");
        assert_eq!((memory.knows_secrets("u", Some(1)), memory.knows_secrets("u", Some(2))), (Some(true), None));
        memory.with("u", |it| it.secrets = Some((1, false, past(MISSING))));
        assert_eq!(memory.knows_secrets("u", Some(1)), Some(false));
    }

    #[test]
    fn failures_take_longer_each_time() {
        let memory = Memory::default();
        let millis = |expected: bool| memory.failed("u", expected).as_millis();
        assert_eq!([millis(false), millis(false), millis(false)], [200, 400, 800]);
        memory.succeeded("u");
        assert_eq!([millis(true), millis(true)], [100, 200]);
        (0..40).for_each(|_| {
            millis(false);
        });
        assert_eq!((millis(false), millis(true)), (60_000, 5_000));
    }

    #[test]
    fn somebody_who_keeps_changing_an_object_is_answered_later_each_time() {
        let memory = Memory::default();
        let corrected = || {
            memory.corrected("u");
            memory.patience("u").map(|rest| rest.as_millis().div_ceil(500) * 500)
        };
        assert_eq!([corrected(), corrected(), corrected(), corrected()], [None, Some(500), Some(1000), Some(2000)]);
    }
}
