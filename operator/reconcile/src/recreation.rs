//! Paces recreations that no user asked for.
//!
//! A changed option, another version of the operator or of a provider can make it necessary to delete and create the
//! main objects of many deployments. At most a few are recreated at a time; the others wait with the condition
//! `PendingRecreate`. The queue consists of these conditions alone, so it survives a restart of the operator:
//!
//! ```text
//! True:  Queued, AwaitingApproval, Paused      the object runs on, unchanged
//! False: Recreating ─┬─ Recreated              it was ready in time
//!                    └─ NotReady               it was not: the next one may start, and after three in a row none
//! ```

use std::time::Duration;

use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_controller_runtime::observed::StatusView;
use serde::{Deserialize, Serialize};

use crate::names::condition;

/// The number of recreations in a row that may fail before no other one starts.
const MAX_FAILURES: usize = 3;

/// The flags of the operator for recreations.
#[derive(Debug, Clone, Copy)]
pub struct RecreationPolicy {
    /// `--max-recreating`: how many deployments of a provider are recreated at a time.
    pub max: usize,
    /// `--recreate=approve`: each one waits for an annotation.
    pub needs_approval: bool,
    /// `--recreate-deadline`: the time within which a recreated object has to be ready.
    pub deadline: Duration,
}

/// The progress of a recreation: the reason of the condition `PendingRecreate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecreationState {
    /// Others are recreated first.
    Queued,
    /// An annotation has to approve it.
    AwaitingApproval,
    /// The last recreations failed.
    Paused,
    /// It has begun, and has to become ready.
    Recreating,
    /// It was ready in time.
    Recreated,
    /// It was not ready in time.
    NotReady,
}

impl RecreationState {
    const ALL: [Self; 6] =
        [Self::Queued, Self::AwaitingApproval, Self::Paused, Self::Recreating, Self::Recreated, Self::NotReady];

    /// Returns the reason of the condition.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "Queued",
            Self::AwaitingApproval => "AwaitingApproval",
            Self::Paused => "Paused",
            Self::Recreating => "Recreating",
            Self::Recreated => "Recreated",
            Self::NotReady => "NotReady",
        }
    }

    /// Whether the object still has to be recreated.
    pub const fn is_waiting(self) -> bool {
        matches!(self, Self::Queued | Self::AwaitingApproval | Self::Paused)
    }
}

/// What the condition `PendingRecreate` of a deployment records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecreationMark {
    /// How far the recreation is.
    pub state: RecreationState,
    /// When the deployment began to wait, or its recreation began.
    pub since: Time,
    /// The generation of the deployment at that time.
    pub generation: Option<i64>,
}

impl RecreationMark {
    /// Reads the condition of a status; none where there is none.
    pub(crate) fn read(status: StatusView<'_>) -> Option<Self> {
        let found = status.condition(condition::PENDING_RECREATE)?;
        let state = RecreationState::ALL.into_iter().find(|state| found.reason() == state.as_str())?;
        let since = Time::parse(found.last_transition()?)?;
        Some(Self { state, since, generation: found.observed_generation() })
    }

    /// Whether the recreation began, and has not reached its deadline.
    pub(crate) fn is_active(&self, now: Time, deadline: Duration) -> bool {
        self.state == RecreationState::Recreating && Duration::from_secs(now.seconds_since(self.since)) < deadline
    }

    /// Whether the recreation has failed, also if its deployment does not say so yet.
    fn has_failed(&self, now: Time, deadline: Duration) -> bool {
        match self.state {
            RecreationState::NotReady => true,
            RecreationState::Recreating => !self.is_active(now, deadline),
            _ => false,
        }
    }
}

/// Whether a deployment may be recreated now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Turn {
    /// It may.
    Now,
    /// Others are recreated now, or began to wait earlier.
    Later {
        /// The number of those that are recreated now.
        active: usize,
        /// The number of those that began to wait earlier.
        ahead: usize,
    },
    /// The last recreations failed; the names of their deployments.
    Paused(Vec<String>),
}

/// Decides whether a deployment may be recreated now. `marks` are those of all deployments of its provider, `name` the
/// name of this one among them. An approved one neither waits for others in the queue nor for a paused queue.
pub fn take_turn<'m>(
    marks: impl IntoIterator<Item = (&'m str, RecreationMark)>,
    name: &str,
    is_approved: bool,
    policy: RecreationPolicy,
    now: Time,
) -> Turn {
    let (own, others): (Vec<_>, Vec<_>) = marks.into_iter().partition(|(other, _)| *other == name);
    let active = others.iter().filter(|(_, mark)| mark.is_active(now, policy.deadline)).count();
    if is_approved {
        return if active < policy.max { Turn::Now } else { Turn::Later { active, ahead: 0 } };
    }
    let failed = failed_last(others.iter().chain(&own).copied(), policy, now);
    if !failed.is_empty() {
        return Turn::Paused(failed);
    }
    let waits = |mark: &RecreationMark| matches!(mark.state, RecreationState::Queued | RecreationState::Paused);
    // A deployment that does not wait yet is the last.
    let place = own.iter().find(|(_, mark)| waits(mark)).map(|(name, mark)| (mark.since, *name));
    let is_ahead = |name: &str, mark: &RecreationMark| place.is_none_or(|place| (mark.since, name) < place);
    let ahead = others.iter().filter(|(name, mark)| waits(mark) && is_ahead(name, mark)).count();
    if active + ahead < policy.max { Turn::Now } else { Turn::Later { active, ahead } }
}

/// Returns the deployments whose recreations failed last, if no other one starts because of them.
pub fn failed_last<'m>(
    marks: impl IntoIterator<Item = (&'m str, RecreationMark)>,
    policy: RecreationPolicy,
    now: Time,
) -> Vec<String> {
    let has_failed = |mark: &RecreationMark| mark.has_failed(now, policy.deadline);
    let has_ended = |mark: &RecreationMark| mark.state == RecreationState::Recreated || has_failed(mark);
    let mut ended: Vec<_> = marks.into_iter().filter(|(_, mark)| has_ended(mark)).collect();
    ended.sort_by_key(|(name, mark)| (std::cmp::Reverse(mark.since), *name));
    let last = ended.get(..MAX_FAILURES).unwrap_or_default();
    let pauses = last.iter().all(|(_, mark)| has_failed(mark));
    last.iter().filter(|_| pauses).map(|(name, _)| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Time = Time(1_800_000_000);
    const POLICY: RecreationPolicy =
        RecreationPolicy { max: 1, needs_approval: false, deadline: Duration::from_secs(1800) };

    fn mark(state: RecreationState, seconds_ago: i64) -> RecreationMark {
        RecreationMark { state, since: Time(NOW.0 - seconds_ago), generation: Some(1) }
    }

    fn turn(marks: &[(&str, RecreationMark)], name: &str) -> Turn {
        take_turn(marks.iter().copied(), name, false, POLICY, NOW)
    }

    #[test]
    fn one_at_a_time_in_the_order_of_waiting() {
        use RecreationState::{Queued, Recreating};
        let mut marks = vec![("a", mark(Queued, 20)), ("b", mark(Queued, 30)), ("c", mark(Queued, 20))];
        assert_eq!(turn(&marks, "b"), Turn::Now);
        assert_eq!(turn(&marks, "a"), Turn::Later { active: 0, ahead: 1 });
        assert_eq!(turn(&marks, "c"), Turn::Later { active: 0, ahead: 2 });
        assert_eq!(turn(&marks, "new"), Turn::Later { active: 0, ahead: 3 });
        marks[1].1 = mark(Recreating, 10);
        assert_eq!(turn(&marks, "a"), Turn::Later { active: 1, ahead: 0 });
        assert_eq!(turn(&[], "a"), Turn::Now);
    }

    #[test]
    fn a_recreation_that_is_not_ready_in_time_frees_its_place() {
        use RecreationState::{Queued, Recreating};
        let marks = [("a", mark(Queued, 20)), ("b", mark(Recreating, 1800))];
        assert_eq!(turn(&marks, "a"), Turn::Now);
    }

    #[test]
    fn the_queue_pauses_after_three_failures_in_a_row() {
        use RecreationState::{NotReady, Queued, Recreated, Recreating};
        let mut marks = vec![
            ("a", mark(Queued, 9000)),
            ("b", mark(Recreating, 1900)),
            ("c", mark(NotReady, 4000)),
            ("d", mark(NotReady, 6000)),
            ("e", mark(Recreated, 8000)),
        ];
        let paused = Turn::Paused(vec!["b".to_owned(), "c".to_owned(), "d".to_owned()]);
        assert_eq!(turn(&marks, "a"), paused);
        assert_eq!(take_turn(marks.iter().copied(), "a", true, POLICY, NOW), Turn::Now);
        // One of them is ready after all.
        marks[2].1 = mark(Recreated, 4000);
        assert_eq!(turn(&marks, "a"), Turn::Now);
        // Two failures do not make a rule.
        assert_eq!(turn(&[("b", mark(NotReady, 10)), ("c", mark(NotReady, 20))], "a"), Turn::Now);
    }

    #[test]
    fn approvals_do_not_exceed_the_budget() {
        use RecreationState::{AwaitingApproval, Recreating};
        let marks = [("a", mark(AwaitingApproval, 20)), ("b", mark(AwaitingApproval, 30)), ("c", mark(Recreating, 1))];
        let approved = |marks: &[(&str, RecreationMark)]| take_turn(marks.iter().copied(), "a", true, POLICY, NOW);
        assert_eq!(approved(&marks), Turn::Later { active: 1, ahead: 0 });
        assert_eq!(approved(&marks[..2]), Turn::Now);
    }

    #[test]
    fn a_mark_is_read_from_the_condition() {
        let status = |reason: &str| {
            json!({"conditions": [{"type": "PendingRecreate", "status": "True", "reason": reason, "observedGeneration": 4,
                "lastTransitionTime": NOW.to_string()}]})
        };
        let expected = RecreationMark { state: RecreationState::Queued, since: NOW, generation: Some(4) };
        let read = |status| RecreationMark::read(StatusView(&status));
        assert_eq!(read(status("Queued")), Some(expected));
        assert_eq!(read(status("Unheard")), None);
        assert_eq!(read(json!({})), None);
    }
}
