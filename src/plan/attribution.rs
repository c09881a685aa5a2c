//! Which change moves which part of the output: each change is made alone, and the result rendered.

use serde_json::Value;

use super::class::judge;
use super::difference::{Difference, with};
use super::movement::{Movement, Object, between};
use super::report::{Cause, Change, OutputChange};
use crate::Thoroughness;
use crate::compile::Renderer;
use crate::model::provider::Behavior;

/// Everything that differs between two states of a deployment.
pub(super) struct States<'p, 's> {
    pub(super) old: State<'p, 's>,
    pub(super) new: State<'p, 's>,
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

    /// What it moves when it is made alone to the old state; when that cannot be rendered, what taking it back from the new
    /// state moves. None when neither can be rendered.
    fn moves(&self, states: &States<'_, '_>) -> Option<Vec<Movement>> {
        let States { old, new, .. } = states;
        let (renderer, document) = self.made(old, new, true);
        if let Some(rendered) = renderer.render(&document, Thoroughness::Needed) {
            return Some(between(old.objects, &rendered.objects));
        }
        let (renderer, document) = self.made(new, old, false);
        let rendered = renderer.render(&document, Thoroughness::Needed)?;
        Some(between(&rendered.objects, new.objects))
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

/// The changes with what each of them moves, of all that moved. A change of a field that moves nothing is among them; one
/// of a setting is not.
pub(super) fn attribute(states: &States<'_, '_>, singles: Vec<Single>, movements: &[Movement]) -> Vec<Change> {
    let moved: Vec<Option<Vec<Movement>>> = match singles.as_slice() {
        _ if movements.is_empty() => singles.iter().map(|_| Some(Vec::new())).collect(),
        [_] => vec![Some(movements.to_vec())],
        _ => singles.iter().map(|single| single.moves(states)).collect(),
    };
    let moves = |mine: &[Movement], movement: &Movement| mine.iter().any(|own| own.overlaps(movement));
    let is_explained = |movement: &&Movement| moved.iter().flatten().any(|mine| moves(mine, movement));
    // What none of them moves alone is moved by those that cannot be made alone, or by all of them together.
    let rest: Vec<&Movement> = movements.iter().filter(|movement| !is_explained(movement)).collect();
    let any_unknown = moved.iter().any(Option::is_none);
    let changes = singles.into_iter().zip(moved).map(|(single, mine)| {
        let shares = mine.is_none() || !any_unknown;
        let own = movements.iter().filter(|movement| mine.as_ref().is_some_and(|mine| moves(mine, movement)));
        let own = own.map(|movement| output(movement, states.behaviors, false));
        let together = rest.iter().filter(|_| shares).map(|movement| output(movement, states.behaviors, true));
        let outputs: Vec<OutputChange> = own.chain(together).collect();
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
