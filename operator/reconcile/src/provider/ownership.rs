//! Decides the next step of a provider's controller from the facts about a deployment.
//!
//! Two providers must never run the same model. The finalizer is the lock: a provider acts only while no other one has
//! a finalizer on the deployment, and removes its own after its objects are gone. [`next`] is a pure function, so the
//! table in its test covers every case without a cluster.

use crate::status::Force;

/// The provider that is chosen for a deployment, as seen by one provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChosenProvider {
    /// None yet, or the status was lost. Existing objects stay until a provider is chosen again.
    None,
    /// This provider.
    This,
    /// Still this provider, but the specification names another one, which the selector has not considered yet.
    ThisUntilReselected,
    /// Still this provider, because the one that the specification names cannot be chosen.
    ThisForLack,
    /// Another provider.
    Other,
}

impl ChosenProvider {
    /// Compares a provider with `status.provider.name` and `spec.provider.name`; both are empty where absent.
    /// `is_settled`: the selector cannot choose the named one.
    pub(super) fn new(provider: &str, chosen: &str, named: &str, is_settled: bool) -> Self {
        match chosen {
            "" => Self::None,
            chosen if chosen != provider => Self::Other,
            _ if named.is_empty() || named == provider => Self::This,
            _ if is_settled => Self::ThisForLack,
            _ => Self::ThisUntilReselected,
        }
    }
}

/// The facts about a deployment that decide the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Situation {
    /// An annotation pauses reconciliation.
    pub(super) is_paused: bool,
    /// The deployment is being deleted.
    pub(super) is_deleted: bool,
    /// The garbage collector takes the owner from the objects, which shall outlive the deployment.
    pub(super) is_orphaning: bool,
    /// The deletion has taken longer than `--finalizer-timeout`.
    pub(super) is_overdue: bool,
    pub(super) choice: ChosenProvider,
    /// The cache is older than the last write.
    pub(super) is_behind: bool,
    /// The caches of the provider's kinds are filled.
    pub(super) is_ready: bool,
    /// The deployment has the finalizer of this provider.
    pub(super) has_finalizer: bool,
    /// This provider's field manager owns fields of the status.
    pub(super) owns_status: bool,
    /// Objects of this provider exist.
    pub(super) has_objects: bool,
    /// The provider that has not finished its handover yet.
    pub(super) predecessor: Option<String>,
    /// The handover has taken longer than `--finalizer-timeout`.
    pub(super) predecessor_is_overdue: bool,
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// The deployment does not concern this provider now.
    Nothing,
    /// Wait until the watch delivers the last write.
    CatchUp,
    /// Retry soon. The text says what has to happen first.
    Wait(String),
    /// Delete the objects, and wait until they are gone.
    DeleteObjects,
    /// No object is left: give up the status fields, and remove the finalizer.
    Release,
    /// Remove the finalizer although objects may be left.
    ForceRelease,
    /// Apply the desired objects.
    Apply { force: Force },
    /// Keep the objects as they are: report their state and restore what another client changed, but carry out no
    /// change of the specification.
    Hold,
}

/// Returns the next step in this situation.
pub(super) fn next(situation: &Situation) -> Step {
    // Without a finalizer and status fields of its own, a provider that is not chosen has nothing to give up.
    let has_claims = situation.has_finalizer || situation.owns_status;
    let wait = |what: &str| Step::Wait(what.to_owned());
    if situation.is_paused {
        return Step::Nothing;
    }
    if situation.is_deleted {
        return match situation {
            Situation { has_finalizer: false, .. } | Situation { is_orphaning: true, .. } => Step::Nothing,
            // The cache may still show an object that is gone, or miss one that was just created.
            Situation { is_behind: true, .. } => Step::CatchUp,
            Situation { is_ready: true, has_objects: false, .. } => Step::Release,
            Situation { is_overdue: true, .. } => Step::ForceRelease,
            Situation { is_ready: false, .. } => wait("the provider's objects are not known yet"),
            _ => Step::DeleteObjects,
        };
    }
    match situation.choice {
        ChosenProvider::None | ChosenProvider::ThisUntilReselected => Step::Nothing,
        ChosenProvider::Other if !has_claims => Step::Nothing,
        _ if situation.is_behind => Step::CatchUp,
        _ if !situation.is_ready => wait("the provider's objects are not known yet"),
        ChosenProvider::Other if situation.has_objects => Step::DeleteObjects,
        ChosenProvider::Other => Step::Release,
        ChosenProvider::ThisForLack => Step::Hold,
        ChosenProvider::This => match &situation.predecessor {
            None => Step::Apply { force: Force::No },
            Some(_) if situation.predecessor_is_overdue => Step::Apply { force: Force::Yes },
            Some(other) => Step::Wait(format!("{other} has not released the deployment yet")),
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
            is_orphaning: false,
            is_overdue: false,
            choice: ChosenProvider::This,
            is_behind: false,
            is_ready: true,
            has_finalizer: true,
            owns_status: true,
            has_objects: true,
            predecessor: None,
            predecessor_is_overdue: false,
        }
    }

    #[test]
    fn each_situation_has_its_step() {
        let another = || Situation { choice: ChosenProvider::Other, ..ours() };
        let deleted = || Situation { is_deleted: true, ..ours() };
        let work = Step::Apply { force: Force::No };
        let unknown = Step::Wait("the provider's objects are not known yet".to_owned());
        let predecessor = || Some("kuberay-provider".to_owned());
        let waiting = Step::Wait("kuberay-provider has not released the deployment yet".to_owned());
        for (situation, expected) in [
            (ours(), work.clone()),
            // At the first reconciliation nothing of this provider exists.
            (Situation { has_finalizer: false, owns_status: false, has_objects: false, ..ours() }, work),
            (Situation { is_paused: true, ..ours() }, Step::Nothing),
            (Situation { is_paused: true, is_overdue: true, ..deleted() }, Step::Nothing),
            (Situation { is_behind: true, ..ours() }, Step::CatchUp),
            (Situation { is_ready: false, has_objects: false, ..ours() }, unknown.clone()),
            (Situation { predecessor: predecessor(), ..ours() }, waiting),
            (
                Situation { predecessor: predecessor(), predecessor_is_overdue: true, ..ours() },
                Step::Apply { force: Force::Yes },
            ),
            // The choice was lost, or is about to change: existing objects stay.
            (Situation { choice: ChosenProvider::None, ..ours() }, Step::Nothing),
            (Situation { choice: ChosenProvider::ThisUntilReselected, ..ours() }, Step::Nothing),
            (Situation { choice: ChosenProvider::ThisForLack, ..ours() }, Step::Hold),
            (Situation { choice: ChosenProvider::ThisForLack, is_behind: true, ..ours() }, Step::CatchUp),
            // Another provider.
            (another(), Step::DeleteObjects),
            (Situation { has_objects: false, ..another() }, Step::Release),
            (Situation { has_objects: false, has_finalizer: false, ..another() }, Step::Release),
            (Situation { has_finalizer: false, owns_status: false, has_objects: false, ..another() }, Step::Nothing),
            (Situation { is_ready: false, has_objects: false, ..another() }, unknown.clone()),
            (Situation { is_behind: true, ..another() }, Step::CatchUp),
            // A deletion does not depend on the chosen provider.
            (deleted(), Step::DeleteObjects),
            (Situation { choice: ChosenProvider::None, ..deleted() }, Step::DeleteObjects),
            (Situation { choice: ChosenProvider::Other, ..deleted() }, Step::DeleteObjects),
            (Situation { has_objects: false, ..deleted() }, Step::Release),
            (Situation { is_overdue: true, ..deleted() }, Step::ForceRelease),
            (Situation { is_overdue: true, has_objects: false, ..deleted() }, Step::Release),
            // The CRD is gone, so its watch never becomes ready.
            (Situation { is_ready: false, has_objects: false, ..deleted() }, unknown),
            (Situation { is_ready: false, has_objects: false, is_overdue: true, ..deleted() }, Step::ForceRelease),
            (Situation { has_finalizer: false, ..deleted() }, Step::Nothing),
            // `kubectl delete --cascade=orphan`: the objects stay.
            (Situation { is_orphaning: true, ..deleted() }, Step::Nothing),
            (Situation { is_orphaning: true, is_overdue: true, ..deleted() }, Step::Nothing),
            (Situation { is_behind: true, ..deleted() }, Step::CatchUp),
        ] {
            assert_eq!(next(&situation), expected, "{situation:?}");
        }
    }

    #[test]
    fn a_choice_follows_from_status_and_specification() {
        for (chosen, named, expected) in [
            ("", "", ChosenProvider::None),
            ("", "kaito", ChosenProvider::None),
            ("kaito", "", ChosenProvider::This),
            ("kaito", "kaito", ChosenProvider::This),
            ("kaito", "dynamo", ChosenProvider::ThisUntilReselected),
            ("dynamo", "kaito", ChosenProvider::Other),
            ("dynamo", "", ChosenProvider::Other),
        ] {
            assert_eq!(ChosenProvider::new("kaito", chosen, named, false), expected, "{chosen} {named}");
        }
        assert_eq!(ChosenProvider::new("kaito", "kaito", "nope", true), ChosenProvider::ThisForLack);
        assert_eq!(ChosenProvider::new("kaito", "kaito", "kaito", true), ChosenProvider::This);
    }
}
