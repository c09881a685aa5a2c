//! How often something is written that others write, too: quickly at first, then ever less, so that nobody is fought.

use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_secs(1);
const LAST: Duration = Duration::from_secs(60);
/// After so many pauses without an attempt the next one is as good as the first.
const CALM: u32 = 5;

/// When the next attempt may be made.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    last: Option<(Instant, Duration)>,
}

impl Pace {
    /// How long to wait from now on; nothing when an attempt may be made.
    pub(crate) fn wait(&self, now: Instant) -> Duration {
        self.last.map_or(Duration::ZERO, |(at, pause)| pause.saturating_sub(now.saturating_duration_since(at)))
    }

    /// An attempt is made. The pause doubles when it comes soon, and is short again after a calm.
    pub(crate) fn attempt(&mut self, now: Instant) {
        let pause = match self.last {
            Some((at, pause)) if now.saturating_duration_since(at) < pause * CALM => (pause * 2).min(LAST),
            _ => FIRST,
        };
        self.last = Some((now, pause));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fight_is_slow_and_a_calm_is_forgiven() {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        let mut pauses = Vec::new();
        for _ in 0..9 {
            assert_eq!(pace.wait(now), Duration::ZERO);
            pace.attempt(now);
            pauses.push(pace.wait(now).as_secs());
            now += pace.wait(now);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        now += LAST * CALM;
        pace.attempt(now);
        assert_eq!(pace.wait(now), FIRST);
    }
}
