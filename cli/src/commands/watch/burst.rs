//! Changes that follow each other without a pause: which files are read while they go on, and which at the end.
//!
//! A burst is what a checkout, a formatter or a generator does. Each file is read at most twice in it: once as soon as
//! it changes, and once at the end, if it has changed again. So a burst costs at most two readings of everything,
//! however many changes it has.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A burst that does not end is divided after this time, so that a file that is written all the time is still read.
const MAX_BURST: Duration = Duration::from_secs(5);

/// What changed, and is to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ChangedPaths {
    pub(super) paths: BTreeSet<PathBuf>,
    /// Whether there may be other changes, so that everything must be read.
    pub(super) is_everything: bool,
}

impl ChangedPaths {
    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.is_everything
    }

    fn append(&mut self, mut later: Self) {
        self.paths.append(&mut later.paths);
        self.is_everything |= later.is_everything;
    }
}

/// The changes of a burst.
#[derive(Debug, Default)]
pub(super) struct Burst {
    /// When it began: with the first change after a pause.
    began: Option<Instant>,
    /// What waits to be read.
    waiting: ChangedPaths,
    /// What was read in this burst.
    read: ChangedPaths,
}

impl Burst {
    pub(super) fn add(&mut self, changed: ChangedPaths, now: Instant) {
        if !changed.is_empty() {
            self.began.get_or_insert(now);
            self.waiting.append(changed);
        }
    }

    /// Whether changes go on, as far as is known.
    pub(super) fn is_going_on(&self) -> bool {
        self.began.is_some()
    }

    /// Returns what is read although the burst goes on: nothing that was read in it before. A burst that is too long
    /// ends here. `is_alone` tells whether a path is a file that is read alone; for any other, everything is read.
    pub(super) fn take_early(&mut self, now: Instant, is_alone: impl Fn(&PathBuf) -> bool) -> ChangedPaths {
        if self.began.is_some_and(|began| now.saturating_duration_since(began) > MAX_BURST) {
            return self.end();
        }
        let waiting = &mut self.waiting;
        waiting.is_everything |= !waiting.paths.iter().all(is_alone);
        if self.read.is_everything || (waiting.is_everything && !self.read.is_empty()) {
            return ChangedPaths::default();
        }
        let mut early = std::mem::take(waiting);
        if !early.is_everything {
            let (again, first) = early.paths.into_iter().partition(|path| self.read.paths.contains(path));
            (self.waiting.paths, early.paths) = (again, first);
        }
        self.read.append(early.clone());
        early
    }

    /// Ends the burst, and returns what waits.
    pub(super) fn end(&mut self) -> ChangedPaths {
        std::mem::take(self).waiting
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn changed(file: usize) -> ChangedPaths {
        ChangedPaths { paths: [PathBuf::from(format!("{file}.yaml"))].into(), is_everything: false }
    }

    /// Counts how often each file is read in a burst of `changes`, with a chance to read after every `pace` of them.
    fn readings(changes: impl Iterator<Item = ChangedPaths>, files: usize, pace: usize) -> (Vec<usize>, usize) {
        let (mut burst, now) = (Burst::default(), Instant::now());
        let (mut counts, mut runs) = (BTreeMap::new(), 0);
        let mut count = |taken: ChangedPaths| {
            let all = (0..files).map(|file| PathBuf::from(format!("{file}.yaml")));
            let paths: Vec<PathBuf> =
                if taken.is_everything { all.collect() } else { taken.paths.into_iter().collect() };
            runs += usize::from(!paths.is_empty());
            for path in paths {
                *counts.entry(path).or_insert(0) += 1;
            }
        };
        for (number, change) in changes.enumerate() {
            burst.add(change, now);
            if number % pace == 0 {
                count(burst.take_early(now, |_| true));
            }
        }
        count(burst.end());
        assert!(!burst.is_going_on() && burst.end().is_empty());
        (counts.into_values().collect(), runs)
    }

    /// The last change of every file is read, and no file more than twice.
    #[test]
    fn a_burst_reads_each_file_at_most_twice() {
        for pace in [1, 7, 500, 100_000] {
            let (counts, runs) = readings((0..4_000).map(|number| changed(number * 7 % 200)), 200, pace);
            assert!(counts.len() == 200 && counts.iter().all(|count| *count <= 2), "{pace}: {counts:?}");
            assert!(runs <= 202, "{pace}: {runs}");
            let everything = |number: usize| ChangedPaths { is_everything: number % 40 == 3, ..changed(number % 30) };
            let (counts, runs) = readings((0..4_000).map(everything), 30, pace);
            assert!(counts.len() == 30 && counts.iter().all(|count| *count <= 2), "{pace}: {counts:?}");
            assert!(runs <= 32, "{pace}: {runs}");
        }
    }

    #[test]
    fn a_file_that_changes_again_is_read_at_the_end() {
        let (mut burst, now) = (Burst::default(), Instant::now());
        burst.add(changed(1), now);
        assert_eq!(burst.take_early(now, |_| true), changed(1));
        burst.add(changed(1), now);
        assert!(burst.take_early(now, |_| true).is_empty());
        burst.add(changed(2), now);
        assert_eq!(burst.take_early(now, |_| true), changed(2));
        assert_eq!(burst.end(), changed(1));
        burst.add(changed(1), now);
        assert_eq!(burst.take_early(now, |_| true), changed(1), "this is another burst");
        burst.add(changed(3), now);
        assert!(burst.take_early(now, |_| false).is_empty(), "everything would read the first file again");
        assert!(burst.end().is_everything);
    }

    #[test]
    fn a_burst_without_an_end_is_divided() {
        let (mut burst, began) = (Burst::default(), Instant::now());
        burst.add(changed(1), began);
        assert_eq!(burst.take_early(began, |_| true), changed(1));
        burst.add(changed(1), began + MAX_BURST);
        assert!(burst.take_early(began + MAX_BURST, |_| true).is_empty());
        assert_eq!(burst.take_early(began + MAX_BURST + Duration::from_millis(1), |_| true), changed(1));
        assert!(!burst.is_going_on());
    }
}
