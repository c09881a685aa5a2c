//! Values that are read at each scrape, because they change with the time or belong to something that exists anyway:
//! watches, queues, waiting deployments and heartbeats.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use super::{HEARTBEAT_AGE, Metric, OLDEST_WAIT, QUEUE_DEPTH, WATCH_UP, escape_label, lock, write_header};
use crate::queue::{Key, Queue};

/// A watch that reports no error for this long works again, also without an event: kube passes none on when a watch
/// of unchanged objects resumes. Longer than the time between two failed attempts, which is at most 10 s of back-off
/// and 30 s for a request (`client::REQUEST_TIMEOUT`).
const QUIET: Duration = Duration::from_secs(45);

/// The values of this process.
#[derive(Debug, Default)]
pub(super) struct Scraped {
    watches: Mutex<Watches>,
    queues: Mutex<Vec<(&'static str, Arc<Queue>)>>,
    /// By controller, then by deployment: since when its reconciliations have failed or waited.
    waits: Mutex<BTreeMap<&'static str, BTreeMap<Key, Instant>>>,
    heartbeats: Mutex<BTreeMap<&'static str, Instant>>,
    /// The roles that this process leads. The queues of the others fill, and are read once it does.
    led: Mutex<BTreeSet<String>>,
}

#[derive(Debug, Default)]
struct Watches {
    next: u64,
    known: BTreeMap<u64, (Arc<str>, WatchState)>,
}

/// Whether a watch works.
#[derive(Debug, Clone, Copy)]
pub(super) struct WatchState {
    /// Since when it does not work: from its start until the first list, and from an error until it is quiet.
    down_since: Instant,
    /// The last error since it worked.
    failed: Option<Instant>,
    /// Whether a list was ever received.
    is_listed: bool,
}

impl WatchState {
    pub(super) fn new(now: Instant) -> Self {
        Self { down_since: now, failed: None, is_listed: false }
    }

    pub(super) fn succeed(&mut self) {
        (self.is_listed, self.failed) = (true, None);
    }

    pub(super) fn fail(&mut self, now: Instant) {
        if self.down_for(now).is_none() {
            self.down_since = now;
        }
        self.failed = Some(now);
    }

    /// Returns for how long the watch has not worked; none while it works.
    pub(super) fn down_for(&self, now: Instant) -> Option<Duration> {
        let is_failing = self.failed.is_some_and(|at| now.duration_since(at) < QUIET);
        (is_failing || !self.is_listed).then(|| now.duration_since(self.down_since))
    }
}

impl Scraped {
    /// Adds a watch, and returns its number.
    pub(super) fn add_watch(&self, what: &str) -> u64 {
        let mut watches = lock(&self.watches);
        watches.next += 1;
        let number = watches.next;
        watches.known.insert(number, (what.into(), WatchState::new(Instant::now())));
        number
    }

    pub(super) fn change_watch(&self, number: u64, change: impl FnOnce(&mut WatchState)) {
        if let Some((_, state)) = lock(&self.watches).known.get_mut(&number) {
            change(state);
        }
    }

    pub(super) fn remove_watch(&self, number: u64) {
        lock(&self.watches).known.remove(&number);
    }

    /// Returns for how long a watch of this name has not worked, the longest of several; none if all work.
    pub(super) fn watch_down_for(&self, what: &str) -> Option<Duration> {
        let now = Instant::now();
        let watches = lock(&self.watches);
        let same = watches.known.values().filter(|(name, _)| &**name == what);
        same.filter_map(|(_, state)| state.down_for(now)).max()
    }

    pub(super) fn add_queue(&self, role: &'static str, queue: Arc<Queue>) {
        lock(&self.queues).push((role, queue));
    }

    pub(super) fn begin_wait(&self, controller: &'static str, namespace: &str, name: &str) {
        let mut waits = lock(&self.waits);
        waits.entry(controller).or_default().entry(Key::new(namespace, name)).or_insert_with(Instant::now);
    }

    pub(super) fn end_wait(&self, controller: &str, namespace: &str, name: &str) {
        if let Some(waits) = lock(&self.waits).get_mut(controller) {
            // Usually nothing waits, so no key is built.
            if !waits.is_empty() {
                waits.remove(&Key::new(namespace, name));
            }
        }
    }

    /// Drops the waits for a deleted deployment.
    pub(super) fn forget(&self, namespace: &str, name: &str) {
        for waits in lock(&self.waits).values_mut().filter(|waits| !waits.is_empty()) {
            waits.remove(&Key::new(namespace, name));
        }
    }

    pub(super) fn begin_role(&self, role: &str) {
        lock(&self.led).insert(role.to_owned());
    }

    /// Drops what belongs to a role that this process does not lead.
    pub(super) fn end_role(&self, role: &str) {
        lock(&self.led).remove(role);
        lock(&self.waits).remove(role);
        lock(&self.heartbeats).remove(role);
    }

    pub(super) fn beat(&self, provider: &'static str) {
        lock(&self.heartbeats).insert(provider, Instant::now());
    }

    /// Writes the families of [`WATCH_UP`], [`QUEUE_DEPTH`], [`OLDEST_WAIT`] and [`HEARTBEAT_AGE`].
    pub(super) fn write(&self, text: &mut String) -> std::fmt::Result {
        let now = Instant::now();
        let mut up: BTreeMap<Arc<str>, bool> = BTreeMap::new();
        for (what, state) in lock(&self.watches).known.values() {
            let all = up.entry(Arc::clone(what)).or_insert(true);
            *all &= state.down_for(now).is_none();
        }
        family(&WATCH_UP, text, up.iter().map(|(what, up)| (&**what, if *up { "1" } else { "0" }.to_owned())))?;

        let mut depths: BTreeMap<&str, usize> = BTreeMap::new();
        let led = lock(&self.led).clone();
        for (role, queue) in lock(&self.queues).iter().filter(|(role, _)| led.contains(*role)) {
            *depths.entry(role).or_default() += queue.depth();
        }
        family(&QUEUE_DEPTH, text, depths.iter().map(|(role, depth)| (*role, depth.to_string())))?;

        let waits = lock(&self.waits);
        let oldest = |controller: &str| {
            let since = waits.get(controller).and_then(|waits| waits.values().min());
            since.map_or(Duration::ZERO, |since| now.duration_since(*since))
        };
        // A controller that waits for nothing has a series too.
        let oldest = depths.keys().map(|role| (*role, format!("{:.3}", oldest(role).as_secs_f64())));
        family(&OLDEST_WAIT, text, oldest)?;

        let heartbeats = lock(&self.heartbeats);
        let ages = heartbeats.iter().map(|(provider, at)| (*provider, now.duration_since(*at).as_secs_f64()));
        family(&HEARTBEAT_AGE, text, ages.map(|(provider, age)| (provider, format!("{age:.3}"))))
    }
}

/// Writes a family with one label.
fn family<'l>(metric: &Metric, text: &mut String, series: impl Iterator<Item = (&'l str, String)>) -> std::fmt::Result {
    write_header(metric, text)?;
    for (value, number) in series {
        for label in metric.labels {
            writeln!(text, "{}{{{label}=\"{}\"}} {number}", metric.name, escape_label(value))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_is_down_until_its_first_list_and_while_it_fails() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut watch = WatchState::new(start);
        assert_eq!(watch.down_for(at(7)), Some(Duration::from_secs(7)));
        // A watch that never listed stays down, whether or not it reports errors.
        watch.fail(at(8));
        assert_eq!(watch.down_for(at(600)), Some(Duration::from_secs(600)));
        watch.succeed();
        assert_eq!(watch.down_for(at(600)), None);
        // Failed attempts follow each other; the time counts from the first of them.
        for seconds in [700, 710, 740] {
            watch.fail(at(seconds));
        }
        assert_eq!(watch.down_for(at(750)), Some(Duration::from_secs(50)));
        // A watch that resumes without an event reports no further error.
        assert_eq!(watch.down_for(at(740) + QUIET), None);
        watch.fail(at(800));
        assert_eq!(watch.down_for(at(801)), Some(Duration::from_secs(1)));
        watch.succeed();
        assert_eq!(watch.down_for(at(801)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_wait_ends_with_its_success_or_its_deployment() {
        let scraped = Scraped::default();
        scraped.add_queue("kaito", Arc::default());
        scraped.begin_role("kaito");
        let oldest = || {
            let mut text = String::new();
            scraped.write(&mut text).unwrap();
            let line = text.lines().find(|line| line.starts_with("kubefoundry_oldest_wait_seconds{")).unwrap();
            line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()
        };
        assert!(oldest() < 0.1);
        for name in ["a", "b", "c"] {
            scraped.begin_wait("kaito", "ml", name);
            // A repeated failure does not begin another wait.
            scraped.begin_wait("kaito", "ml", "a");
            tokio::time::advance(Duration::from_secs(10)).await;
        }
        assert!((29.9..30.1).contains(&oldest()), "{}", oldest());
        scraped.end_wait("kaito", "ml", "a");
        assert!((19.9..20.1).contains(&oldest()), "{}", oldest());
        scraped.forget("ml", "b");
        assert!((9.9..10.1).contains(&oldest()), "{}", oldest());
        scraped.end_role("kaito");
        let mut text = String::new();
        scraped.write(&mut text).unwrap();
        assert!(!text.contains("kaito"), "{text}");
        scraped.begin_role("kaito");
        assert!(oldest() < 0.1);
    }
}
