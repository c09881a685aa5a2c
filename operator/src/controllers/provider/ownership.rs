//! Decides, from who owns a deployment, the next step of a provider's controller.

use crate::status::Force;

/// The provider that is chosen for a deployment, as seen by one provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// None yet, or the status was lost. Existing objects stay until a provider is chosen again.
    None,
    /// This provider.
    Us,
    /// This provider still; the specification names another one that is not chosen yet.
    UsUntilNow,
    /// Another provider.
    Another,
}

impl Choice {
    pub(super) fn of(provider: &str, chosen: &str, asked: &str) -> Self {
        match chosen {
            "" => Self::None,
            chosen if chosen != provider => Self::Another,
            _ if asked.is_empty() || asked == provider => Self::Us,
            _ => Self::UsUntilNow,
        }
    }
}

/// The facts about a deployment that decide the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Situation {
    /// An annotation pauses reconciliation.
    pub(super) is_paused: bool,
    /// It is being deleted.
    pub(super) is_deleted: bool,
    /// Its deletion has taken longer than the finalizer may stay.
    pub(super) is_overdue: bool,
    pub(super) choice: Choice,
    /// The cache is older than the last write.
    pub(super) is_behind: bool,
    /// The caches of the provider's kinds are filled.
    pub(super) is_ready: bool,
    /// It has the finalizer of this provider.
    pub(super) has_finalizer: bool,
    /// This provider owns fields of its status.
    pub(super) has_said: bool,
    /// Objects of this provider exist.
    pub(super) remains: bool,
    /// The provider that has not finished its handover yet.
    pub(super) predecessor: Option<String>,
    /// The predecessor has taken longer than the finalizer may stay.
    pub(super) predecessor_is_overdue: bool,
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// The deployment does not concern this provider now.
    Nothing,
    /// Wait until the watch delivers the last write.
    CatchUp,
    /// Retry soon; says what has to happen first.
    Wait(String),
    /// Delete the objects, and wait until they are gone.
    Clear,
    /// No object is left: give up the status fields, and remove the finalizer.
    Leave,
    /// Remove the finalizer although objects may be left.
    Abandon,
    /// Apply the desired objects.
    Work { force: Force },
}

/// The next step in a situation.
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
        Choice::None | Choice::UsUntilNow => Step::Nothing,
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
    fn each_situation_has_its_step() {
        let another = || Situation { choice: Choice::Another, ..ours() };
        let deleted = || Situation { is_deleted: true, ..ours() };
        let work = Step::Work { force: Force::No };
        let unknown = Step::Wait("the provider's objects are not known yet".to_owned());
        let predecessor = || Some("kuberay-provider".to_owned());
        let waiting = Step::Wait("kuberay-provider has not let go of it yet".to_owned());
        for (situation, expected) in [
            (ours(), work.clone()),
            // At the first reconciliation nothing of this provider exists.
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
            // The choice was lost, or is about to change: existing objects stay.
            (Situation { choice: Choice::None, ..ours() }, Step::Nothing),
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
            (Situation { choice: Choice::None, ..deleted() }, Step::Clear),
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
    fn a_choice_follows_from_status_and_specification() {
        for (chosen, asked, expected) in [
            ("", "", Choice::None),
            ("", "kaito", Choice::None),
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
