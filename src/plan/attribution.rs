//! Which change moves which part of the output: each change is made alone, and the result rendered.

use serde_json::Value;

use super::class::judge;
use super::difference::{Difference, with};
use super::movement::{Movement, Object, between};
use super::report::{Cause, Change, OutputChange};
use crate::Thoroughness;
use crate::compile::Renderer;
use crate::model::provider::Behavior;
use crate::path::FieldPath;

/// Everything that differs between two states of a deployment.
pub(super) struct States<'p, 's> {
    pub(super) old: State<'p, 's>,
    pub(super) new: State<'p, 's>,
    /// What rendered the old state, in the version in which it is written there.
    pub(super) plain: &'p Renderer<'s>,
    /// The table of the provider that writes the objects after the change.
    pub(super) behaviors: Option<&'static [Behavior]>,
}

/// A deployment, what renders it, and what it renders to.
#[derive(Clone, Copy)]
pub(super) struct State<'p, 's> {
    pub(super) renderer: &'p Renderer<'s>,
    pub(super) document: &'p Value,
    pub(super) objects: &'p [Object],
}

/// A change that can be made alone.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Single {
    Field(Difference),
    Options,
    Providers,
    Crds,
}

impl Single {
    /// A state with only this change made to it, in the direction of another state.
    fn made<'s>(&self, from: &State<'_, 's>, to: &State<'_, 's>, forward: bool) -> (Renderer<'s>, Value) {
        let renderer = match self {
            Self::Field(_) => from.renderer.clone(),
            Self::Options => from.renderer.with_options_of(to.renderer),
            Self::Providers => from.renderer.with_providers_of(to.renderer),
            Self::Crds => from.renderer.with_crds_of(to.renderer),
        };
        let document = match self {
            Self::Field(Difference { path, before, after }) => {
                let value = if forward { after } else { before };
                with(from.document.clone(), path, value.as_ref(), to.document)
            }
            _ => from.document.clone(),
        };
        (renderer, document)
    }

    /// Which of all movements it moves. Made alone to the old state it moves them from there; when that moves none of them,
    /// what taking it back from the new state moves. None when that is not known, for a state cannot be rendered.
    fn moves(&self, states: &States<'_, '_>, movements: &[Movement]) -> Option<Vec<bool>> {
        let States { old, new, .. } = states;
        let of = |mine: &[Movement], forward: bool| -> Vec<bool> {
            movements.iter().map(|movement| mine.iter().any(|own| is_part(own, movement, forward))).collect()
        };
        let (renderer, document) = self.made(old, new, true);
        let forward = renderer.render(&document, Thoroughness::Needed);
        let forward = forward.map(|rendered| of(&between(old.objects, &rendered.objects), true));
        if let Some(moved) = forward.as_ref().filter(|moved| moved.contains(&true)) {
            return Some(moved.clone());
        }
        let (renderer, document) = self.made(new, old, false);
        let backward = renderer.render(&document, Thoroughness::Needed);
        let backward = backward.map(|rendered| of(&between(&rendered.objects, new.objects), false));
        match backward {
            Some(moved) if moved.contains(&true) => Some(moved),
            backward => forward.and(backward),
        }
    }

    /// Whether it alone makes the main object be written in the version of the new state.
    fn moves_version(&self, states: &States<'_, '_>) -> bool {
        let version = |objects: &[Object]| objects.last().map(|(object, _)| object.api_version.clone());
        let old = State { renderer: states.plain, ..states.old };
        let (renderer, document) = self.made(&old, &states.new, true);
        let rendered = renderer.render(&document, Thoroughness::Needed);
        rendered.is_some_and(|rendered| version(&rendered.objects) == version(states.new.objects))
    }

    fn cause(self) -> Cause {
        match self {
            Self::Field(Difference { path, before, after }) => Cause::Field { path: path.to_string(), before, after },
            Self::Options => Cause::Options,
            Self::Providers => Cause::Providers,
            Self::Crds => Cause::Crds,
        }
    }
}

/// Whether what a single change moves is a part of what moved in the end. What comes or goes as a whole is not moved by
/// what changes something in it, but for what is in it when it comes.
fn is_part(own: &Movement, movement: &Movement, forward: bool) -> bool {
    let is_deeper = own.path.segments().len() > movement.path.segments().len();
    let counts = match (&movement.before, &movement.after) {
        (Some(_), Some(_)) => true,
        (None, Some(_)) => !forward,
        _ => false,
    };
    own.overlaps(movement) && (!is_deeper || counts)
}

/// The changes with what each of them moves, of all that moved. A change of a field that moves nothing is among them; one
/// of a setting is not.
pub(super) fn attribute(states: &States<'_, '_>, singles: Vec<Single>, movements: &[Movement]) -> Vec<Change> {
    let is_version = |movement: &Movement| !movement.is_whole() && movement.path == FieldPath::parse("apiVersion");
    let moved: Vec<Option<Vec<bool>>> = match singles.as_slice() {
        _ if movements.is_empty() => singles.iter().map(|_| Some(Vec::new())).collect(),
        [_] => vec![Some(vec![true; movements.len()])],
        _ => singles
            .iter()
            .map(|single| {
                let mut moved = single.moves(states, movements)?;
                for (moved, _) in moved.iter_mut().zip(movements).filter(|(_, movement)| is_version(movement)) {
                    *moved = single.moves_version(states);
                }
                Some(moved)
            })
            .collect(),
    };
    // What none of them moves alone is moved by those of which it is not known, or by all of them together.
    let is_explained =
        |position: usize| moved.iter().flatten().any(|moved| moved.get(position).copied().unwrap_or_default());
    let rest: Vec<bool> = (0..movements.len()).map(|position| !is_explained(position)).collect();
    let any_unknown = moved.iter().any(Option::is_none);
    let changes = singles.into_iter().zip(moved).map(|(single, moved)| {
        let shares = moved.is_none() || !any_unknown;
        let mut outputs = Vec::new();
        for (position, movement) in movements.iter().enumerate() {
            let at = |flags: &[bool]| flags.get(position).copied().unwrap_or_default();
            let together = shares && at(&rest);
            if together || moved.as_deref().is_some_and(at) {
                outputs.push(output(movement, states.behaviors, together));
            }
        }
        let is_setting = !matches!(single, Single::Field(_));
        (is_setting, Change::new(single.cause(), outputs))
    });
    changes.filter(|(is_setting, change)| !(*is_setting && change.outputs.is_empty())).map(|(_, change)| change).collect()
}

fn output(movement: &Movement, behaviors: Option<&[Behavior]>, together: bool) -> OutputChange {
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
        source: verdict.source,
        together,
    }
}
