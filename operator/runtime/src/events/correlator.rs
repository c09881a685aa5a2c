//! Limits how many events an object causes, as the correlator of client-go does (`k8s.io/client-go/tools/record`), with
//! its numbers: many different messages for one reason become one event, and each object has a token bucket.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::{Duration, Instant};

/// From this number of different messages on, those for one reason of an object are combined.
const MAX_MESSAGES: usize = 10;
/// Without an event for this long, the messages of a reason are counted from zero.
const WINDOW: Duration = Duration::from_secs(600);
/// The number of events that an object may cause at once.
const BURST: f64 = 25.0;
/// The time after which an object may cause another one.
const REFILL: Duration = Duration::from_secs(300);
/// Maximum number of entries of each kind. Then the oldest half is dropped: an object that comes back has a full bucket.
const MAX_ENTRIES: usize = 4096;

/// What to do with an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is published.
    Publish,
    /// It counts as one of the combined event of its reason.
    Combine,
    /// The object has caused too many events.
    Drop,
}

/// The events that were published lately.
#[derive(Debug, Default)]
pub(super) struct Correlator {
    /// By the uid of an object and the reason.
    messages: BTreeMap<(String, &'static str), Messages>,
    /// By the uid of an object.
    buckets: BTreeMap<String, Bucket>,
}

#[derive(Debug)]
struct Messages {
    /// At most [`MAX_MESSAGES`].
    distinct: BTreeSet<String>,
    last: Instant,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    last: Instant,
}

impl Correlator {
    /// Decides about an event, and records it.
    pub(super) fn decide(&mut self, uid: &str, reason: &'static str, message: &str, now: Instant) -> Verdict {
        let is_combined = self.count_message(uid, reason, message, now) >= MAX_MESSAGES;
        if !self.take_token(uid, now) {
            return Verdict::Drop;
        }
        if is_combined { Verdict::Combine } else { Verdict::Publish }
    }

    /// Records a message, and returns the number of different ones.
    fn count_message(&mut self, uid: &str, reason: &'static str, message: &str, now: Instant) -> usize {
        let key = (uid.to_owned(), reason);
        make_room(&mut self.messages, &key, |messages| messages.last);
        let messages = self.messages.entry(key).or_insert_with(|| Messages { distinct: BTreeSet::new(), last: now });
        if now.duration_since(messages.last) > WINDOW {
            messages.distinct.clear();
        }
        messages.last = now;
        // A message that is known is a repetition of its event, unless the limit was reached.
        if messages.distinct.len() < MAX_MESSAGES {
            messages.distinct.insert(message.to_owned());
        }
        messages.distinct.len()
    }

    /// Takes a token from the bucket of an object; false if there is none.
    fn take_token(&mut self, uid: &str, now: Instant) -> bool {
        make_room(&mut self.buckets, &uid.to_owned(), |bucket| bucket.last);
        let bucket = self.buckets.entry(uid.to_owned()).or_insert(Bucket { tokens: BURST, last: now });
        let refilled = now.duration_since(bucket.last).as_secs_f64() / REFILL.as_secs_f64();
        bucket.tokens = (bucket.tokens + refilled).min(BURST);
        bucket.last = now;
        let has_token = bucket.tokens >= 1.0;
        if has_token {
            bucket.tokens -= 1.0;
        }
        has_token
    }
}

/// Drops the older half of a full map, unless it has the key.
fn make_room<K: Ord, V>(map: &mut BTreeMap<K, V>, key: &K, last: impl Fn(&V) -> Instant) {
    if map.len() < MAX_ENTRIES || map.contains_key(key) {
        return;
    }
    let mut times: Vec<Instant> = map.values().map(&last).collect();
    times.sort_unstable();
    let Some(median) = times.get(times.len() / 2).copied() else { return };
    map.retain(|_, value| last(value) > median);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_messages_for_a_reason_become_one_event() {
        let (mut correlator, now) = (Correlator::default(), Instant::now());
        let mut decide = |message: usize, seconds: u64| {
            correlator.decide("1", "ProviderError", &format!("flap {message}"), now + Duration::from_secs(seconds))
        };
        for message in 0..9 {
            assert_eq!(decide(message, 0), Verdict::Publish);
        }
        // A repetition does not count as a different message.
        assert_eq!(decide(3, 1), Verdict::Publish);
        for message in 9..12 {
            assert_eq!(decide(message, 2), Verdict::Combine);
        }
        // After a quiet time each has its own event again.
        assert_eq!(decide(20, 603), Verdict::Publish);
        // Another reason, and another object.
        assert_eq!(correlator.decide("1", "DriftDetected", "a", now), Verdict::Publish);
        assert_eq!(correlator.decide("2", "ProviderError", "a", now), Verdict::Publish);
    }

    #[test]
    fn an_object_causes_a_burst_of_events_and_then_one_in_five_minutes() {
        let (mut correlator, now) = (Correlator::default(), Instant::now());
        let mut count = |seconds: u64, attempts: usize| {
            let at = now + Duration::from_secs(seconds);
            let verdicts = (0..attempts).map(|_| correlator.decide("1", "DriftDetected", "drift", at));
            verdicts.filter(|verdict| *verdict != Verdict::Drop).count()
        };
        assert_eq!(count(0, 100), 25);
        assert_eq!(count(299, 100), 0);
        assert_eq!(count(301, 100), 1);
        assert_eq!(count(301 + 600, 100), 2);
        assert_eq!(count(1_000_000, 100), 25);
        assert_eq!(correlator.decide("2", "DriftDetected", "drift", now), Verdict::Publish);
    }

    #[test]
    fn memory_is_bounded() {
        let (mut correlator, now) = (Correlator::default(), Instant::now());
        for number in 0..10_000_u64 {
            let at = now + Duration::from_secs(number);
            correlator.decide(&number.to_string(), "ResourceCreated", "created", at);
            assert!(correlator.buckets.len() <= MAX_ENTRIES && correlator.messages.len() <= MAX_ENTRIES);
        }
        assert!(correlator.buckets.contains_key("9999") && correlator.buckets.len() >= MAX_ENTRIES / 2);
    }
}
