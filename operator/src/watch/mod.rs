//! Watches: what is in the cluster, as it changes.
//!
//! Each watch fills a cache and says what changed. A watch that breaks is tried again for as long as the process runs; one
//! line in the log says that it broke, and another that it works again.

mod configs;
mod definitions;
mod deployments;
mod namespaces;
mod queues;
mod upstream;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::utils::ResetTimerBackoff;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

pub(crate) use configs::Configs;
pub(crate) use definitions::{Definition, Definitions};
pub(crate) use deployments::{filled, follow_deployments};
pub(crate) use namespaces::Namespaces;
pub(crate) use queues::Queues;
pub(crate) use upstream::{Owned, Owners, Upstream, WatchedKind};

use crate::runtime::backoff::WatchBackoff;

/// Follows all objects of a kind, forever.
async fn follow<K>(what: &str, api: Api<K>, config: watcher::Config, mut handle: impl FnMut(Event<K>))
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    // The first step of each try succeeds, so only time tells that it works.
    let backoff = ResetTimerBackoff::new(WatchBackoff::default(), Duration::from_secs(30));
    let mut events = pin!(watcher(api, config).backoff(backoff));
    let mut is_broken = false;
    while let Some(event) = events.next().await {
        match event {
            // The first step of a list sends nothing yet, so it says nothing of the apiserver.
            Ok(Event::Init) => handle(Event::Init),
            Ok(event) => {
                if is_broken {
                    tracing::info!(watch = what, "the watch works again");
                    is_broken = false;
                }
                handle(event);
            }
            Err(error) if is_too_old(&error) => {
                tracing::debug!(watch = what, "the watch was too far behind: listing anew");
            }
            Err(error) => {
                if !is_broken {
                    tracing::warn!(watch = what, %error, "the watch broke, and is tried again");
                    is_broken = true;
                }
            }
        }
    }
}

/// 410 Gone, which a new list mends.
fn is_too_old(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::WatchError(status)
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status)) => status.code == 410,
        _ => false,
    }
}

/// How lists are asked for: pages small enough that reading one takes little memory. Watches are opened anew often enough
/// that one whose other end is gone without a word does not stay unnoticed for long.
fn pages() -> watcher::Config {
    watcher::Config::default().page_size(200).timeout(WATCH_SECONDS)
}

/// How long one watch is open.
const WATCH_SECONDS: u32 = 120;

/// What is known of a kind, and whether it is all there is.
#[derive(Debug)]
struct Known<V> {
    all: BTreeMap<String, V>,
    listed: BTreeMap<String, V>,
    is_complete: bool,
}

impl<V> Default for Known<V> {
    fn default() -> Self {
        Self { all: BTreeMap::new(), listed: BTreeMap::new(), is_complete: false }
    }
}

impl<V: PartialEq> Known<V> {
    /// Takes an event over objects of which `read` makes a name and what is to be known. Gives the names of those that are
    /// not as they were.
    fn take<K>(&mut self, event: Event<K>, read: impl Fn(&K) -> (String, Option<V>)) -> Vec<String> {
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
                let came = self.all.iter().filter(|(name, value)| before.get(*name) != Some(*value));
                let went = before.keys().filter(|name| !self.all.contains_key(*name));
                return came.map(|(name, _)| name).chain(went).cloned().collect();
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

/// Says that something may be different now; who listens looks for itself.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    raised: Notify,
}

impl Signal {
    pub(crate) fn raise(&self) {
        self.raised.notify_one();
    }

    pub(crate) async fn wait(&self) {
        self.raised.notified().await;
    }
}

/// Whether a cache was filled once.
#[derive(Debug, Default)]
struct Filled(AtomicBool, Notify);

impl Filled {
    fn set(&self) {
        self.0.store(true, Ordering::Release);
        self.1.notify_waiters();
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    async fn wait(&self) {
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

    fn take(known: &mut Known<u8>, event: Event<(&str, u8)>) -> Vec<String> {
        known.take(event, |(name, value)| ((*name).to_owned(), Some(*value)))
    }

    #[test]
    fn what_changed_while_a_watch_was_broken_is_told() {
        let mut known = Known::default();
        for event in [Event::Init, Event::InitApply(("a", 1)), Event::InitApply(("b", 1))] {
            assert!(take(&mut known, event).is_empty());
        }
        assert!(!known.is_complete);
        assert_eq!(take(&mut known, Event::InitDone), ["a", "b"]);
        assert!(known.is_complete);
        assert!(take(&mut known, Event::Apply(("a", 1))).is_empty());
        assert_eq!(take(&mut known, Event::Apply(("a", 2))), ["a"]);
        // It breaks: until the list is whole, what was known holds.
        take(&mut known, Event::Init);
        take(&mut known, Event::InitApply(("a", 2)));
        take(&mut known, Event::Init);
        take(&mut known, Event::InitApply(("c", 1)));
        assert_eq!(known.all.len(), 2);
        assert_eq!(take(&mut known, Event::InitDone), ["c", "a", "b"]);
        assert_eq!(take(&mut known, Event::Delete(("c", 1))), ["c"]);
        assert!(known.all.is_empty());
    }
}
