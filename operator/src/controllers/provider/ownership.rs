//! Whose turn it is, and what for: a table.

use crate::status::Force;

/// Who runs a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// Nobody yet: also when a status was lost. Then what runs stays until it is chosen again.
    Nobody,
    /// This provider.
    Us,
    /// This provider until now: another one is asked for, and not chosen yet.
    UsUntilNow,
    /// Another one.
    Another,
}

impl Choice {
    pub(super) fn of(provider: &str, chosen: &str, asked: &str) -> Self {
        match chosen {
            "" => Self::Nobody,
            chosen if chosen != provider => Self::Another,
            _ if asked.is_empty() || asked == provider => Self::Us,
            _ => Self::UsUntilNow,
        }
    }
}

/// What is known of a deployment before it is evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Situation {
    /// It says that it is to be left alone.
    pub(super) is_paused: bool,
    /// It is being deleted.
    pub(super) is_deleted: bool,
    /// It has been waiting for its end for too long.
    pub(super) is_overdue: bool,
    pub(super) choice: Choice,
    /// What is known of it is older than what was written last.
    pub(super) is_behind: bool,
    /// The provider's objects are known.
    pub(super) is_ready: bool,
    /// It bears this provider's finalizer.
    pub(super) has_finalizer: bool,
    /// Something in its status is of this provider.
    pub(super) has_said: bool,
    /// There are objects of this provider.
    pub(super) remains: bool,
    /// Another provider has not let go of it yet.
    pub(super) predecessor: Option<String>,
    /// It had its time.
    pub(super) predecessor_is_overdue: bool,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// It is somebody else's.
    Nothing,
    /// Wait for the watch.
    CatchUp,
    /// Try again soon.
    Wait(String),
    /// Delete the objects, and wait for them to be gone.
    Clear,
    /// Give up what was said, and take the finalizer off: nothing is left.
    Leave,
    /// Take the finalizer off, whatever is left.
    Abandon,
    /// Bring it to where it should be.
    Work { force: Force },
}

/// What to do in a situation.
pub(super) fn next(situation: &Situation) -> Step {
    let at_stake = situation.has_finalizer || situation.has_said;
    let wait = |what: &str| Step::Wait(what.to_owned());
    if situation.is_paused {
        return Step::Nothing;
    }
    if situation.is_deleted {
        return match situation {
            Situation { has_finalizer: false, .. } => Step::Nothing,
            Situation { is_behind: true, .. } => Step::CatchUp,
            Situation { is_ready: true, remains: false, .. } => Step::Leave,
            Situation { is_overdue: true, .. } => Step::Abandon,
            Situation { is_ready: false, .. } => wait("the provider's objects are not known yet"),
            _ => Step::Clear,
        };
    }
    match situation.choice {
        Choice::Nobody | Choice::UsUntilNow => Step::Nothing,
        Choice::Another if !at_stake => Step::Nothing,
        _ if situation.is_behind => Step::CatchUp,
        _ if !situation.is_ready => wait("the provider's objects are not known yet"),
        Choice::Another if situation.remains => Step::Clear,
        Choice::Another => Step::Leave,
        Choice::Us => match &situation.predecessor {
            None => Step::Work { force: Force::No },
            Some(_) if situation.predecessor_is_overdue => Step::Work { force: Force::Yes },
            Some(other) => Step::Wait(format!("{other} has not let go of it yet")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> Situation {
        Situation {
            is_paused: false,
            is_deleted: false,
            is_overdue: false,
            choice: Choice::Us,
            is_behind: false,
            is_ready: true,
            has_finalizer: true,
            has_said: true,
            remains: true,
            predecessor: None,
            predecessor_is_overdue: false,
        }
    }

    #[test]
    fn every_row() {
        let another = || Situation { choice: Choice::Another, ..ours() };
        let deleted = || Situation { is_deleted: true, ..ours() };
        let work = Step::Work { force: Force::No };
        let unknown = Step::Wait("the provider's objects are not known yet".to_owned());
        let predecessor = || Some("kuberay-provider".to_owned());
        let waiting = Step::Wait("kuberay-provider has not let go of it yet".to_owned());
        for (situation, expected) in [
            (ours(), work.clone()),
            // The first time there is nothing of ours.
            (Situation { has_finalizer: false, has_said: false, remains: false, ..ours() }, work),
            (Situation { is_paused: true, ..ours() }, Step::Nothing),
            (Situation { is_paused: true, is_overdue: true, ..deleted() }, Step::Nothing),
            (Situation { is_behind: true, ..ours() }, Step::CatchUp),
            (Situation { is_ready: false, remains: false, ..ours() }, unknown.clone()),
            (Situation { predecessor: predecessor(), ..ours() }, waiting),
            (
                Situation { predecessor: predecessor(), predecessor_is_overdue: true, ..ours() },
                Step::Work { force: Force::Yes },
            ),
            // What was chosen is lost, or about to change: what runs stays.
            (Situation { choice: Choice::Nobody, ..ours() }, Step::Nothing),
            (Situation { choice: Choice::UsUntilNow, ..ours() }, Step::Nothing),
            // Another provider.
            (another(), Step::Clear),
            (Situation { remains: false, ..another() }, Step::Leave),
            (Situation { remains: false, has_finalizer: false, ..another() }, Step::Leave),
            (Situation { has_finalizer: false, has_said: false, remains: false, ..another() }, Step::Nothing),
            (Situation { is_ready: false, remains: false, ..another() }, unknown.clone()),
            (Situation { is_behind: true, ..another() }, Step::CatchUp),
            // Deleted, whoever was chosen.
            (deleted(), Step::Clear),
            (Situation { choice: Choice::Nobody, ..deleted() }, Step::Clear),
            (Situation { choice: Choice::Another, ..deleted() }, Step::Clear),
            (Situation { remains: false, ..deleted() }, Step::Leave),
            (Situation { is_overdue: true, ..deleted() }, Step::Abandon),
            (Situation { is_overdue: true, remains: false, ..deleted() }, Step::Leave),
            // The CRD's watch does not come up any more.
            (Situation { is_ready: false, remains: false, ..deleted() }, unknown),
            (Situation { is_ready: false, remains: false, is_overdue: true, ..deleted() }, Step::Abandon),
            (Situation { has_finalizer: false, ..deleted() }, Step::Nothing),
            (Situation { is_behind: true, ..deleted() }, Step::CatchUp),
        ] {
            assert_eq!(next(&situation), expected, "{situation:?}");
        }
    }

    #[test]
    fn whose_it_is() {
        for (chosen, asked, expected) in [
            ("", "", Choice::Nobody),
            ("", "kaito", Choice::Nobody),
            ("kaito", "", Choice::Us),
            ("kaito", "kaito", Choice::Us),
            ("kaito", "dynamo", Choice::UsUntilNow),
            ("dynamo", "kaito", Choice::Another),
            ("dynamo", "", Choice::Another),
        ] {
            assert_eq!(Choice::of("kaito", chosen, asked), expected, "{chosen} {asked}");
        }
    }
}
