//! An exhaustive simulation of reconciliation: the functions of [`kubefoundry_reconcile`], with every interleaving of their
//! requests.
//!
//! ```text
//! scenario (user, other clients) ─┐
//! cluster (objects, upstream, GC) ─┼─ explore (every state) ─ invariants
//! controller (the real functions) ─┘
//! ```
//! The requests are answered by `server`, which `differential` compares with a real apiserver.
//! What neither changes the cluster nor depends on it (events, metrics) is not a step. Two controllers run request by request
//! with caches that lag behind; the others run each reconciliation in one step. A reconciliation that asks for nothing
//! leaves its controller as it was: it may observe again, also an older version, which allows more than a watch does.
//!
//! Bounds: an observation is at most one version of each object old, and no older than the one that the controller acted
//! on last; a new process lists the present; a watch delivers within `MAX_WATCH_LAG`; deadlines are not reached.

mod cluster;
mod controller;
mod differential;
mod explore;
mod fields;
mod interner;
mod invariants;
mod scenario;
mod server;

use controller::{Mistake, Role};
use explore::{Exploration, Explorer, Limits, Violation};
use scenario::{Scenario, UserStep};

/// A watch may be one version of each object behind, one controller may crash, and another client may write once, each
/// at any moment.
const FULL: Limits = Limits { lag: 1, crashes: 1, foreign_writes: 1, states: 3_000_000 };
/// Nothing but the controllers, the cluster and the user.
const CALM: Limits = Limits { lag: 1, crashes: 0, foreign_writes: 0, states: 300_000 };

const KAITO: Role = Role::Provider("kaito");
const DYNAMO: Role = Role::Provider("dynamo");

/// Explores a scenario with each pair of controllers, and checks that it had at least this many states.
fn explore_all(name: &'static str, runs_before: bool, steps: &[UserStep], pairs: &[&'static [Role]], at_least: usize) {
    let mut explorer = Explorer::new(FULL, None);
    let mut states = 0;
    for slow in pairs {
        let scenario = Scenario { name, runs_before, steps: steps.to_vec(), slow };
        match explorer.explore(&scenario) {
            Ok(explored) => {
                let Exploration { states: count, transitions, clusters, resting } = explored;
                println!(
                    "{name}, {slow:?}: {count} states, {transitions} transitions, {clusters} states of the cluster so far, {resting} at rest"
                );
                states += count;
            }
            Err(Violation { what, trace }) => {
                panic!("{}, {slow:?}: {what}, after\n{}", scenario.name, trace.join("\n"))
            }
        }
    }
    assert!(states >= at_least, "{name}: only {states} states");
}

#[test]
fn creations_keep_the_invariants() {
    explore_all("create", false, &[], &[&[Role::Selector, KAITO], &[KAITO, DYNAMO]], 45_000);
}

#[test]
fn updates_keep_the_invariants() {
    explore_all("update", true, &[UserStep::Update], &[&[Role::Core, KAITO], &[KAITO, DYNAMO]], 10_000);
    let pairs: &[&'static [Role]] = &[&[Role::Selector, KAITO], &[KAITO, DYNAMO]];
    explore_all("recreate", true, &[UserStep::ChangeModel], pairs, 100_000);
}

#[test]
fn migrations_keep_the_invariants() {
    explore_all("migrate", true, &[UserStep::Migrate], &[&[KAITO, DYNAMO]], 300_000);
}

#[test]
fn deletions_keep_the_invariants() {
    explore_all("delete", true, &[UserStep::Delete], &[&[Role::Core, KAITO], &[KAITO, DYNAMO]], 5_000);
    explore_all("orphan", true, &[UserStep::Orphan], &[&[KAITO, DYNAMO]], 7_000);
}

/// What the exploration could not find, it would not prove the absence of.
#[test]
fn mistakes_are_found() {
    for (mistake, steps, expected) in [
        (Mistake::ForgetsObjects, &[UserStep::Migrate][..], "an orphan"),
        (Mistake::IsImpatient, &[UserStep::Migrate], "two owners"),
        (Mistake::ForgetsObjects, &[UserStep::Delete], "an orphan"),
        (Mistake::IsImpatient, &[UserStep::Delete], "an orphan"),
        (Mistake::BelievesInReadiness, &[UserStep::ChangeModel], "a false Running"),
        (Mistake::SkipsFinalizer, &[], "an orphan"),
    ] {
        let mut explorer = Explorer::new(CALM, Some(mistake));
        let scenario = Scenario { name: "mistake", runs_before: false, steps: steps.to_vec(), slow: &[KAITO, DYNAMO] };
        let violation = explorer.explore(&scenario).expect_err("a violation");
        assert!(violation.what.starts_with(expected), "{mistake:?}: {violation:?}");
    }
}
