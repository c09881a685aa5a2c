//! Watches of a kind or of one object, and caches that they fill.
//!
//! A watch that breaks is retried for the life of the process; one line in the log says that it broke, and another that it
//! works again.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::utils::ResetTimerBackoff;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

use crate::backoff::WatchBackoff;
use crate::metrics::Metrics;

/// Passes the events of all objects of a kind to `handle`. Never returns.
pub async fn follow<K>(
    what: &str,
    metrics: &Arc<Metrics>,
    api: Api<K>,
    config: watcher::Config,
    mut handle: impl FnMut(Event<K>),
) where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let mut events = pin!(watcher(api, config).backoff(backoff()));
    let mut is_broken = false;
    let meter = metrics.measure_watch(what);
    while let Some(event) = events.next().await {
        match event {
            // `Init` comes before the request, so it does not show that the apiserver answers.
            Ok(Event::Init) => handle(Event::Init),
            Ok(event) => {
                trace_delivered(what, &event);
                if is_broken {
                    tracing::info!(watch = what, "the watch works again");
                    is_broken = false;
                }
                // The pages of an incomplete list are not a state to work with.
                if !matches!(event, Event::InitApply(_)) {
                    meter.succeed();
                }
                handle(event);
            }
            Err(error) if is_too_old(&error) => {
                tracing::debug!(watch = what, "the watch was too far behind: listing again");
            }
            Err(error) => {
                meter.fail();
                if !is_broken {
                    tracing::warn!(watch = what, %error, "the watch broke, retrying");
                    is_broken = true;
                }
            }
        }
    }
}

/// Logs which object a watch delivered, and in which version: the tests of the operator wait for it.
fn trace_delivered<K: Resource>(what: &str, event: &Event<K>) {
    let (Event::Apply(object) | Event::InitApply(object) | Event::Delete(object)) = event else { return };
    let metadata = object.meta();
    tracing::trace!(
        watch = what,
        namespace = metadata.namespace.as_deref().unwrap_or_default(),
        name = metadata.name.as_deref().unwrap_or_default(),
        version = metadata.resource_version.as_deref().unwrap_or_default(),
        "delivered"
    );
}

/// Watches one object: yields it as it is, none while it does not exist, and the errors of attempts, which are retried.
pub fn watch_object<K>(
    what: &str,
    metrics: &Arc<Metrics>,
    api: Api<K>,
    name: &str,
) -> impl Stream<Item = Result<Option<K>, watcher::Error>> + Send + use<K>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let meter = metrics.measure_watch(what);
    watcher::watch_object(api, name).backoff(backoff()).filter_map(move |event| {
        let is_passed_on = match &event {
            Ok(_) => {
                meter.succeed();
                true
            }
            Err(error) if is_too_old(error) => false,
            Err(_) => {
                meter.fail();
                true
            }
        };
        std::future::ready(is_passed_on.then_some(event))
    })
}

/// Returns the delays between the attempts of a watch. The first event of each attempt always succeeds, so only a watch
/// that lasts resets them.
fn backoff() -> ResetTimerBackoff<WatchBackoff> {
    ResetTimerBackoff::new(WatchBackoff::default(), Duration::from_secs(30))
}

/// Whether the error is 410 Gone, after which the watcher lists again.
fn is_too_old(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::WatchError(status)
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status)) => status.code == 410,
        _ => false,
    }
}

/// Returns the configuration of lists and watches: pages small enough to need little memory, and watches short enough
/// that a connection which is dead without an error is noticed soon.
pub fn watch_config() -> watcher::Config {
    watcher::Config::default().page_size(50).timeout(WATCH_SECONDS)
}

/// Duration of one watch request.
const WATCH_SECONDS: u32 = 120;

/// The objects of a kind by name, each reduced to the value that the operator needs. kubert calls this an index.
///
/// During a list, the old objects stay in `all` until the list is complete. So a broken watch never makes objects look
/// deleted.
#[derive(Debug)]
pub struct Index<V> {
    /// The objects of the last complete list, with the changes since.
    pub all: BTreeMap<String, V>,
    /// The objects of a list that is not complete yet.
    listed: BTreeMap<String, V>,
    /// Whether a list was ever complete.
    pub is_complete: bool,
}

impl<V> Default for Index<V> {
    fn default() -> Self {
        Self { all: BTreeMap::new(), listed: BTreeMap::new(), is_complete: false }
    }
}

impl<V: PartialEq> Index<V> {
    /// Applies an event. `read` returns the name of an object, and its value if the index should contain it. Returns
    /// the names whose values changed.
    pub fn apply<K>(&mut self, event: Event<K>, read: impl Fn(&K) -> (String, Option<V>)) -> Vec<String> {
        let (name, value) = match event {
            Event::Init => {
                self.listed.clear();
                return Vec::new();
            }
            Event::InitApply(object) => {
                if let (name, Some(value)) = read(&object) {
                    self.listed.insert(name, value);
                }
                return Vec::new();
            }
            Event::InitDone => {
                let before = std::mem::replace(&mut self.all, std::mem::take(&mut self.listed));
                self.is_complete = true;
                let changed = self.all.iter().filter(|(name, value)| before.get(*name) != Some(*value));
                let removed = before.keys().filter(|name| !self.all.contains_key(*name));
                return changed.map(|(name, _)| name).chain(removed).cloned().collect();
            }
            Event::Apply(object) => read(&object),
            Event::Delete(object) => (read(&object).0, None),
        };
        if self.all.get(&name) == value.as_ref() {
            return Vec::new();
        }
        match value {
            Some(value) => self.all.insert(name.clone(), value),
            None => self.all.remove(&name),
        };
        vec![name]
    }
}

/// Wakes one listener after a change. It carries no data: the listener reads the caches.
#[derive(Debug, Default)]
pub struct Signal {
    raised: Notify,
}

impl Signal {
    /// Wakes the listener, or the next one.
    pub fn raise(&self) {
        self.raised.notify_one();
    }

    /// Waits for the next change.
    pub async fn wait(&self) {
        self.raised.notified().await;
    }
}

/// Whether a cache has been filled once, as `kubert::initialized`.
#[derive(Debug, Default)]
pub struct Initialized(AtomicBool, Notify);

impl Initialized {
    /// Records that the cache is filled.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
        self.1.notify_waiters();
    }

    /// Whether the cache has been filled.
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Waits until the cache has been filled once.
    pub async fn wait(&self) {
        // Enabled before the check, so that a `set` between the check and the await is not missed.
        let filled = self.1.notified();
        let mut filled = pin!(filled);
        filled.as_mut().enable();
        if !self.get() {
            filled.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(known: &mut Index<u8>, event: Event<(&str, u8)>) -> Vec<String> {
        known.apply(event, |(name, value)| ((*name).to_owned(), Some(*value)))
    }

    #[test]
    fn a_relist_reports_what_changed_while_the_watch_was_broken() {
        let mut known = Index::default();
        for event in [Event::Init, Event::InitApply(("a", 1)), Event::InitApply(("b", 1))] {
            assert!(apply(&mut known, event).is_empty());
        }
        assert!(!known.is_complete);
        assert_eq!(apply(&mut known, Event::InitDone), ["a", "b"]);
        assert!(known.is_complete);
        assert!(apply(&mut known, Event::Apply(("a", 1))).is_empty());
        assert_eq!(apply(&mut known, Event::Apply(("a", 2))), ["a"]);
        // The watch breaks: the old objects stay until a list is complete.
        apply(&mut known, Event::Init);
        apply(&mut known, Event::InitApply(("a", 2)));
        apply(&mut known, Event::Init);
        apply(&mut known, Event::InitApply(("c", 1)));
        assert_eq!(known.all.len(), 2);
        assert_eq!(apply(&mut known, Event::InitDone), ["c", "a", "b"]);
        assert_eq!(apply(&mut known, Event::Delete(("c", 1))), ["c"]);
        assert!(known.all.is_empty());
    }
}
