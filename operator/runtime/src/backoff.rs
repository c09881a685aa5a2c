//! Delays between attempts: of reconciliations, of watches, and of writes to objects that other controllers also write.
//!
//! Corresponds to `kube::runtime::utils::Backoff` and its `DefaultBackoff`. That one is an iterator with state, made
//! for one stream. A controller counts the failures of thousands of objects, so [`Exponential`] computes the delay from
//! the count and keeps nothing. There is no jitter, since only the leader of a role retries.

use std::time::{Duration, Instant};

/// A delay that doubles with each attempt.
#[derive(Debug, Clone, Copy)]
pub struct Exponential {
    /// The first delay.
    pub initial: Duration,
    /// The longest delay.
    pub max: Duration,
}

impl Exponential {
    /// The delay after a failure of a reconciliation.
    pub const FAILED: Self = Self { initial: Duration::from_millis(200), max: Duration::from_secs(60) };
    /// The delay while a reconciliation waits for another controller. Shorter, since that is expected to pass soon.
    pub const WAITING: Self = Self { initial: Duration::from_millis(100), max: Duration::from_secs(5) };
    const WATCH: Self = Self { initial: Duration::from_millis(200), max: Duration::from_secs(10) };

    /// Returns the delay before the next attempt, after a number of earlier attempts.
    pub fn delay(self, attempts: u32) -> Duration {
        self.initial.saturating_mul(2_u32.saturating_pow(attempts)).min(self.max)
    }
}

/// The delays of a watch that breaks: from 200 ms to 10 s. They are shorter than those of kube's `DefaultBackoff` (800
/// ms to 30 s), because deployments wait for the watch after a restart of the apiserver.
#[derive(Debug, Default)]
pub struct WatchBackoff(u32);

impl Iterator for WatchBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let delay = Exponential::WATCH.delay(self.0);
        self.0 = self.0.saturating_add(1);
        Some(delay)
    }
}

impl kube::runtime::utils::Backoff for WatchBackoff {
    fn reset(&mut self) {
        self.0 = 0;
    }
}

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Without an attempt for this many pauses, the next pause is the first again.
const RESET_AFTER_PAUSES: u32 = 5;

/// Exponential back-off for writes to an object that other controllers also write: two controllers that disagree must
/// not overwrite each other as fast as they can.
#[derive(Debug, Default)]
pub struct Backoff {
    /// The last attempt and the pause after it.
    last: Option<(Instant, Duration)>,
}

impl Backoff {
    /// Returns the time until the next attempt is allowed; zero when it is allowed now.
    pub fn remaining(&self, now: Instant) -> Duration {
        self.last.map_or(Duration::ZERO, |(at, pause)| pause.saturating_sub(now.saturating_duration_since(at)))
    }

    /// Records an attempt, and sets the pause after it.
    pub fn record_attempt(&mut self, now: Instant) {
        let pause = match self.last {
            Some((at, pause)) if now.saturating_duration_since(at) < pause * RESET_AFTER_PAUSES => {
                (pause * 2).min(MAX_PAUSE)
            }
            _ => FIRST_PAUSE,
        };
        self.last = Some((now, pause));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exponential_delay_doubles_up_to_its_maximum() {
        let delays: Vec<_> =
            [0, 1, 2, 8, 9, 1000].map(|attempts| Exponential::FAILED.delay(attempts).as_millis()).into();
        assert_eq!(delays, [200, 400, 800, 51_200, 60_000, 60_000]);
        assert_eq!(Exponential::WAITING.delay(0).as_millis(), 100);
        assert_eq!(Exponential::WAITING.delay(1000).as_millis(), 5000);
    }

    #[test]
    fn a_watch_is_retried_after_200_milliseconds_to_10_seconds() {
        use kube::runtime::utils::Backoff as _;

        let mut backoff = WatchBackoff::default();
        let delays: Vec<_> = backoff.by_ref().take(8).map(|delay| delay.as_millis()).collect();
        assert_eq!(delays, [200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        backoff.reset();
        assert_eq!(backoff.next(), Some(Duration::from_millis(200)));
    }

    #[test]
    fn pauses_between_writes_double_and_are_reset_after_a_quiet_time() {
        let (mut backoff, mut now) = (Backoff::default(), Instant::now());
        let mut pauses = Vec::new();
        for _ in 0..9 {
            assert_eq!(backoff.remaining(now), Duration::ZERO);
            backoff.record_attempt(now);
            pauses.push(backoff.remaining(now).as_secs());
            now += backoff.remaining(now);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        now += MAX_PAUSE * RESET_AFTER_PAUSES;
        backoff.record_attempt(now);
        assert_eq!(backoff.remaining(now), FIRST_PAUSE);
    }
}
