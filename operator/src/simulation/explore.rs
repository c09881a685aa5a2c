//! Visits every state that the controllers, the cluster, the user, one crash and one foreign write can lead to.

use std::collections::VecDeque;
use std::sync::Arc;

use super::cluster::{Slots, Store};
use super::controller::{Controller, Controllers, Mistake, Pace, ROLES};
use super::interner::{Interner, Memo};
use super::invariants::{self, Custody};
use super::scenario::{FOREIGN_WRITES, ForeignWrite, NAME, Scenario, UserStep};

/// How far the adversaries may go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The number of versions by which a watch may lag behind.
    pub(super) lag: usize,
    pub(super) crashes: u8,
    pub(super) foreign_writes: u8,
    pub(super) states: usize,
}

/// A state of everything: all parts by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    slots: u32,
    controllers: [u32; ROLES.len()],
    /// The number of steps that the user has taken.
    step: u8,
    crashes: u8,
    foreign_writes: u8,
    is_disowned: bool,
}

/// The result of an exploration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exploration {
    pub(super) states: usize,
    pub(super) transitions: usize,
    /// Distinct states of the cluster alone.
    pub(super) clusters: usize,
    /// States at rest.
    pub(super) resting: usize,
}

/// A violation, with the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) what: String,
    pub(super) trace: Vec<String>,
}

#[derive(Debug, Clone)]
struct Move {
    label: u32,
    slots: u32,
    controller: u32,
    reports_falsely: bool,
    is_fair: bool,
}

/// Steps of another client: label, slots, and whether an object lost its owner.
type ForeignSteps = Arc<[(u32, u32, bool)]>;
/// A role at a pace, the slots, and the state of its controller.
type MoveKey = (usize, Pace, u32, u32);

/// An explorer keeps what it has computed for the next scenario.
pub(super) struct Explorer {
    limits: Limits,
    store: Store,
    controllers: Controllers,
    slots: Interner<Slots>,
    controller_states: Interner<Controller>,
    labels: Interner<String>,
    moves: Memo<MoveKey, Arc<[Move]>>,
    environment: Memo<u32, Arc<[(u32, u32)]>>,
    foreign: Memo<u32, ForeignSteps>,
    violations: Memo<(u32, Custody), Option<String>>,
    shortcomings: Memo<(u32, Custody), Option<String>>,
}

impl Explorer {
    pub(super) fn new(limits: Limits, mistake: Option<Mistake>) -> Self {
        let mut explorer = Self {
            limits,
            store: Store::new(NAME, limits.lag),
            controllers: Controllers::new(limits.lag, mistake),
            slots: Interner::default(),
            controller_states: Interner::default(),
            labels: Interner::default(),
            moves: Memo::default(),
            environment: Memo::default(),
            foreign: Memo::default(),
            violations: Memo::default(),
            shortcomings: Memo::default(),
        };
        explorer.controller_states.intern(Controller::default());
        explorer
    }

    fn moves(&mut self, role: usize, pace: Pace, slots: u32, controller: u32) -> Arc<[Move]> {
        if let Some(moves) = self.moves.get(&(role, pace, slots, controller)) {
            return moves;
        }
        let (before, known) = (self.slots.get(slots), self.controller_states.get(controller));
        let transitions = self.controllers.transitions(&mut self.store, &before, role, &known, pace);
        let moves = transitions.into_iter().map(|transition| Move {
            label: self.labels.intern(transition.label),
            slots: self.slots.intern(transition.slots),
            controller: self.controller_states.intern(transition.controller),
            reports_falsely: transition.reports_falsely,
            is_fair: transition.is_fair,
        });
        let moves: Arc<[Move]> = moves.collect();
        self.moves.set((role, pace, slots, controller), moves)
    }

    fn environment(&mut self, slots: u32) -> Arc<[(u32, u32)]> {
        if let Some(steps) = self.environment.get(&slots) {
            return steps;
        }
        let before = self.slots.get(slots);
        let steps = self.store.environment_steps(&before).into_iter();
        let steps = steps.map(|(label, after)| (self.labels.intern(label), self.slots.intern(after))).collect();
        self.environment.set(slots, steps)
    }

    fn foreign(&mut self, slots: u32) -> Arc<[(u32, u32, bool)]> {
        if let Some(steps) = self.foreign.get(&slots) {
            return steps;
        }
        let before = self.slots.get(slots);
        let mut steps = Vec::new();
        for write in FOREIGN_WRITES {
            for after in write.outcomes(&mut self.store, &before) {
                let label = self.labels.intern(format!("another client: {write:?}"));
                steps.push((label, self.slots.intern(after), write == ForeignWrite::Disown));
            }
        }
        self.foreign.set(slots, steps.into())
    }

    /// Returns what the controllers, the cluster and the user can do next. With `false` for what happens only if
    /// a controller crashes or a client interferes.
    fn successors(&mut self, state: State, scenario: &Scenario) -> Vec<(State, u32, bool, bool)> {
        let mut successors = Vec::new();
        for role in 0..ROLES.len() {
            let pace = scenario.pace(role);
            for next in &*self.moves(role, pace, state.slots, state.controllers[role]) {
                let mut after = State { slots: next.slots, ..state };
                after.controllers[role] = next.controller;
                successors.push((after, next.label, next.is_fair, next.reports_falsely));
            }
        }
        for (label, slots) in &*self.environment(state.slots) {
            successors.push((State { slots: *slots, ..state }, *label, true, false));
        }
        if let Some(step) = scenario.steps.get(usize::from(state.step)) {
            let before = self.slots.get(state.slots);
            let slots = step.take(&mut self.store, &before);
            let slots = self.slots.intern(slots);
            let is_disowned = state.is_disowned || *step == UserStep::Orphan;
            let label = self.labels.intern(format!("user: {step:?}"));
            successors.push((State { slots, step: state.step + 1, is_disowned, ..state }, label, true, false));
        }
        if state.crashes < self.limits.crashes {
            for role in (0..ROLES.len()).filter(|role| scenario.pace(*role) == Pace::Slow) {
                let (slots, known) = (self.slots.get(state.slots), self.controller_states.get(state.controllers[role]));
                let crashed = self.controllers.crashed(&self.store, &slots, role, &known);
                let Some(crashed) = crashed else { continue };
                let mut after = State { crashes: state.crashes + 1, ..state };
                after.controllers[role] = self.controller_states.intern(crashed);
                let label = self.labels.intern(format!("{} crashes", ROLES[role].name()));
                successors.push((after, label, false, false));
            }
        }
        if state.foreign_writes < self.limits.foreign_writes {
            for (label, slots, disowns) in &*self.foreign(state.slots) {
                let foreign_writes = state.foreign_writes + 1;
                let is_disowned = state.is_disowned || *disowns;
                successors.push((State { slots: *slots, foreign_writes, is_disowned, ..state }, *label, false, false));
            }
        }
        successors.retain(|(after, ..)| *after != state);
        successors
    }

    fn violation(&mut self, state: State) -> Option<String> {
        let custody = if state.is_disowned { Custody::Disowned } else { Custody::Ours };
        if let Some(known) = self.violations.get(&(state.slots, custody)) {
            return known;
        }
        let found = invariants::violation(&self.store, &self.slots.get(state.slots), custody);
        self.violations.set((state.slots, custody), found)
    }

    fn shortcoming(&mut self, state: State) -> Option<String> {
        let custody = if state.is_disowned { Custody::Disowned } else { Custody::Ours };
        if let Some(known) = self.shortcomings.get(&(state.slots, custody)) {
            return known;
        }
        let found = invariants::shortcoming(&self.store, &self.slots.get(state.slots), &self.controllers, custody);
        self.shortcomings.set((state.slots, custody), found)
    }

    /// Returns the state in which a scenario begins: with a deployment that runs, or with an empty cluster.
    fn start(&mut self, scenario: &Scenario) -> Result<State, Violation> {
        let slots = self.slots.intern(Slots::default());
        let empty =
            State { slots, controllers: [0; ROLES.len()], step: 0, crashes: 0, foreign_writes: 0, is_disowned: false };
        let create = UserStep::Create.take(&mut self.store, &Slots::default());
        let mut state = State { slots: self.slots.intern(create), ..empty };
        if !scenario.runs_before {
            return Ok(state);
        }
        let idle = Scenario { name: "start", runs_before: false, steps: Vec::new(), slow: &[] };
        let mut trace = Vec::new();
        // The first step of each is one with the latest versions.
        for round in 0..400 {
            let mut fair = self.successors(state, &idle);
            fair.retain(|(_, _, is_fair, _)| *is_fair);
            let count = fair.len();
            let Some((next, label, ..)) = fair.into_iter().nth(round % count.max(1)) else { break };
            trace.push((*self.labels.get(label)).clone());
            state = next;
        }
        match self.shortcoming(state) {
            None => Ok(state),
            Some(what) => Err(Violation { what, trace }),
        }
    }

    /// Visits all states of a scenario.
    ///
    /// # Errors
    /// The first violation, or a state from which the system does not come to the desired one.
    pub(super) fn explore(&mut self, scenario: &Scenario) -> Result<Exploration, Violation> {
        let start = self.start(scenario)?;
        let mut states: Interner<State> = Interner::default();
        let mut parents = vec![(0, 0)];
        let mut fair_edges: Vec<(u32, u32)> = Vec::new();
        let mut resting = Vec::new();
        let mut queue = VecDeque::from([states.intern(start)]);
        let mut transitions = 0;
        while let Some(id) = queue.pop_front() {
            let state = *states.get(id);
            if let Some(what) = self.violation(state) {
                return Err(Violation { what, trace: self.trace(&parents, id) });
            }
            let successors = self.successors(state, scenario);
            let mut is_resting = true;
            for (next, label, is_fair, reports_falsely) in successors {
                transitions += 1;
                let known = states.len();
                let next = states.intern(next);
                if states.len() > known {
                    parents.push((id, label));
                    queue.push_back(next);
                }
                if reports_falsely {
                    let mut trace = self.trace(&parents, id);
                    trace.push((*self.labels.get(label)).clone());
                    return Err(Violation { what: "a false Running".to_owned(), trace });
                }
                if is_fair {
                    is_resting = false;
                    fair_edges.push((next, id));
                }
            }
            if is_resting {
                if let Some(what) = self.shortcoming(state) {
                    return Err(Violation { what, trace: self.trace(&parents, id) });
                }
                resting.push(id);
            }
            if states.len() > self.limits.states {
                return Err(Violation {
                    what: format!("more than {} states", self.limits.states),
                    trace: self.trace(&parents, id),
                });
            }
        }
        if let Some(trapped) = find_trapped(states.len(), &mut fair_edges, &resting) {
            return Err(Violation {
                what: "the system never comes to rest".to_owned(),
                trace: self.trace(&parents, trapped),
            });
        }
        Ok(Exploration { states: states.len(), transitions, clusters: self.slots.len(), resting: resting.len() })
    }

    fn trace(&self, parents: &[(u32, u32)], mut id: u32) -> Vec<String> {
        let mut trace = Vec::new();
        while id != 0 {
            let (parent, label) = parents[id as usize];
            trace.push((*self.labels.get(label)).clone());
            id = parent;
        }
        trace.reverse();
        trace
    }
}

/// Returns a state from which no state at rest can be reached without an adversary. `edges` lead backwards.
fn find_trapped(states: usize, edges: &mut [(u32, u32)], resting: &[u32]) -> Option<u32> {
    edges.sort_unstable();
    let mut reaches = vec![false; states];
    let mut stack = resting.to_vec();
    for id in resting {
        reaches[*id as usize] = true;
    }
    while let Some(id) = stack.pop() {
        let from = edges.partition_point(|(to, _)| *to < id);
        for (_, before) in edges[from..].iter().take_while(|(to, _)| *to == id) {
            if !std::mem::replace(&mut reaches[*before as usize], true) {
                stack.push(*before);
            }
        }
    }
    let trapped = reaches.iter().position(|reaches| !reaches)?;
    u32::try_from(trapped).ok()
}
