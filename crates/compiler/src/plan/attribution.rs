//! Which change moves which part of the output: each change is made alone, and the result rendered.

use serde_json::Value;

use super::class::judge;
use super::difference::{JsonDifference, with};
use super::rendered_change::{Object, RenderedChange, between};
use super::report::{Cause, Change, OutputChange};
use crate::Thoroughness;
use crate::pipeline::Renderer;
use kubefoundry_model::provider::Behavior;
use kubefoundry_yaml::field_path::FieldPath;

/// Everything that differs between two states of a deployment.
pub(super) struct StatePair<'p, 's> {
    pub(super) old: DeploymentState<'p, 's>,
    pub(super) new: DeploymentState<'p, 's>,
    /// What rendered the old state, in the version in which it is written there.
    pub(super) plain: &'p Renderer<'s>,
    /// The table of the provider that writes the objects after the change.
    pub(super) behaviors: Option<&'static [Behavior]>,
}

/// A deployment, what renders it, and what it renders to.
#[derive(Clone, Copy)]
pub(super) struct DeploymentState<'p, 's> {
    pub(super) renderer: &'p Renderer<'s>,
    pub(super) document: &'p Value,
    pub(super) objects: &'p [Object],
}

/// A change that can be made alone.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AtomicChange {
    Field(Box<JsonDifference>),
    Options,
    Providers,
    Crds,
}

impl AtomicChange {
    /// A state with only this change made to it, in the direction of another state.
    fn made<'s>(
        &self,
        from: &DeploymentState<'_, 's>,
        to: &DeploymentState<'_, 's>,
        forward: bool,
    ) -> (Renderer<'s>, Value) {
        let renderer = match self {
            Self::Field(_) => from.renderer.clone(),
            Self::Options => from.renderer.with_options_of(to.renderer),
            Self::Providers => from.renderer.with_providers_of(to.renderer),
            Self::Crds => from.renderer.with_crds_of(to.renderer),
        };
        let document = match self {
            Self::Field(difference) => {
                let JsonDifference { path, before, after } = &**difference;
                let value = if forward { after } else { before };
                with(from.document.clone(), path, value.as_ref(), to.document)
            }
            _ => from.document.clone(),
        };
        (renderer, document)
    }

    /// Which of all movements it moves: made alone to the old state, and taken back alone from the new one. None when that is
    /// not known, for a state cannot be rendered, and the other says nothing.
    fn moves(&self, states: &StatePair<'_, '_>, movements: &[RenderedChange]) -> Option<Vec<Contribution>> {
        let StatePair { old, new, .. } = states;
        let shares = |mine: &[RenderedChange], forward: bool| -> Vec<Contribution> {
            let share = |movement: &RenderedChange| mine.iter().map(|own| share(own, movement, forward)).max();
            movements.iter().map(|movement| share(movement).unwrap_or(Contribution::None)).collect()
        };
        let (renderer, document) = self.made(old, new, true);
        let forward = renderer.render(&document, Thoroughness::Needed);
        let forward = forward.map(|rendered| shares(&between(old.objects, &rendered.objects), true));
        let (renderer, document) = self.made(new, old, false);
        let backward = renderer.render(&document, Thoroughness::Needed);
        let backward = backward.map(|rendered| shares(&between(&rendered.objects, new.objects), false));
        match (forward, backward) {
            (Some(forward), Some(backward)) => {
                Some(forward.into_iter().zip(backward).map(|(forward, backward)| forward.max(backward)).collect())
            }
            (one, other) => one.or(other).filter(|moved| moved.iter().any(|share| *share != Contribution::None)),
        }
    }

    /// Whether it alone makes the main object be written in the version of the new state.
    fn moves_version(&self, states: &StatePair<'_, '_>) -> bool {
        let version = |objects: &[Object]| objects.last().map(|(object, _)| object.api_version.clone());
        let old = DeploymentState { renderer: states.plain, ..states.old };
        let (renderer, document) = self.made(&old, &states.new, true);
        let rendered = renderer.render(&document, Thoroughness::Needed);
        rendered.is_some_and(|rendered| version(&rendered.objects) == version(states.new.objects))
    }

    fn cause(self) -> Cause {
        match self {
            Self::Field(difference) => {
                let JsonDifference { path, before, after } = *difference;
                Cause::Field { path: path.to_string(), before, after }
            }
            Self::Options => Cause::Options,
            Self::Providers => Cause::Providers,
            Self::Crds => Cause::Crds,
        }
    }
}

/// How much of what moved in the end a single change moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Contribution {
    None,
    /// Something in what comes with other changes.
    Part,
    /// All of it, or something in it beside other changes.
    All,
    /// It alone makes it what it is in the end.
    Exact,
}

/// What comes or goes as a whole is not moved by what changes something in it.
fn share(own: &RenderedChange, movement: &RenderedChange, forward: bool) -> Contribution {
    let is_deeper = own.path.segments().len() > movement.path.segments().len();
    match (&movement.before, &movement.after) {
        _ if !own.overlaps(movement) => Contribution::None,
        (before, after) if own.path == movement.path && (&own.before, &own.after) == (before, after) => {
            Contribution::Exact
        }
        (Some(_), Some(_)) => Contribution::All,
        _ if !is_deeper => Contribution::All,
        (None, Some(_)) if !forward => Contribution::Part,
        _ => Contribution::None,
    }
}

/// The changes with what each of them moves, of all that moved. A change of a field that moves nothing is among them; one
/// of a setting is not.
pub(super) fn attribute(
    states: &StatePair<'_, '_>,
    singles: Vec<AtomicChange>,
    movements: &[RenderedChange],
) -> Vec<Change> {
    let is_version =
        |movement: &RenderedChange| !movement.is_whole() && movement.path == FieldPath::parse("apiVersion");
    // Objects of other kinds may have added to what the deployment alone renders to.
    let alone = |state: &DeploymentState<'_, '_>| {
        let rendered = state.renderer.render(state.document, Thoroughness::Needed);
        rendered.map_or_else(|| state.objects.to_vec(), |rendered| rendered.objects)
    };
    let (old_alone, new_alone) = (alone(&states.old), alone(&states.new));
    let is_touched = singles.is_empty() || old_alone != states.old.objects || new_alone != states.new.objects;
    let lone = StatePair {
        old: DeploymentState { objects: &old_alone, ..states.old },
        new: DeploymentState { objects: &new_alone, ..states.new },
        ..*states
    };
    let moved: Vec<Option<Vec<Contribution>>> = match singles.as_slice() {
        _ if movements.is_empty() => singles.iter().map(|_| Some(Vec::new())).collect(),
        [_] if !is_touched => vec![Some(vec![Contribution::All; movements.len()])],
        _ => singles
            .iter()
            .map(|single| {
                let mut moved = single.moves(&lone, movements)?;
                for (moved, _) in moved.iter_mut().zip(movements).filter(|(_, movement)| is_version(movement)) {
                    *moved = if single.moves_version(states) { Contribution::All } else { Contribution::None };
                }
                Some(moved)
            })
            .collect(),
    };
    // What none of them moves alone is moved by those of which it is not known, or by all of them together.
    let most = |position: usize| moved.iter().flatten().filter_map(|moved| moved.get(position)).max().copied();
    let rest: Vec<bool> = (0..movements.len()).map(|position| most(position) < Some(Contribution::All)).collect();
    // What is moved by several changes may be moved by those of which it is not known, too.
    let open: Vec<bool> = (0..movements.len()).map(|position| most(position) < Some(Contribution::Exact)).collect();
    let any_unknown = moved.iter().any(Option::is_none);
    let changes = singles.into_iter().zip(moved).map(|(single, moved)| {
        let shared = match moved {
            None => Some(&open),
            Some(_) => Some(&rest).filter(|_| !any_unknown && !is_touched),
        };
        let mut outputs = Vec::new();
        for (position, movement) in movements.iter().enumerate() {
            let together = shared.is_some_and(|shared| shared.get(position) == Some(&true));
            let own = moved.as_ref().and_then(|moved| moved.get(position)).copied().unwrap_or(Contribution::None);
            let together = together || own == Contribution::Part;
            let own = own != Contribution::None;
            if together || own {
                outputs.push(output(movement, states.behaviors, together));
            }
        }
        let is_setting = !matches!(single, AtomicChange::Field(_));
        (is_setting, Change::new(single.cause(), outputs))
    });
    let kept = changes.filter(|(is_setting, change)| !(*is_setting && change.outputs.is_empty()));
    let mut changes: Vec<Change> = kept.map(|(_, change)| change).collect();
    if is_touched && !any_unknown && rest.contains(&true) {
        let unexplained = movements.iter().zip(&rest).filter(|(_, rest)| **rest);
        let outputs = unexplained.map(|(movement, _)| output(movement, states.behaviors, false)).collect();
        changes.push(Change::new(Cause::Objects, outputs));
    }
    changes
}

fn output(movement: &RenderedChange, behaviors: Option<&[Behavior]>, together: bool) -> OutputChange {
    let verdict = judge(movement, behaviors);
    let whole = movement.is_whole();
    OutputChange {
        object: movement.object.clone(),
        is_main: movement.is_main,
        path: movement.path.to_string(),
        // A whole object is its text's to show.
        before: movement.before.clone().filter(|_| !whole),
        after: movement.after.clone().filter(|_| !whole),
        class: verdict.class,
        source: verdict.source.into(),
        together,
    }
}
