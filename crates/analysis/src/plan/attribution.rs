//! Attributes output changes to input changes: each input change is applied alone, and the result is rendered.

use serde_json::Value;

use super::class::classify;
use super::difference::{JsonDifference, with_value_at};
use super::rendered_change::{Object, RenderedChange, diff_outputs};
use super::report::{Cause, Change, OutputChange};
use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::pipeline::{Engine, EnginePart};
use kubefoundry_provider::Behavior;
use kubefoundry_yaml::field_path::FieldPath;

/// The old and the new state of a deployment.
pub(super) struct StatePair<'p, 's> {
    pub(super) old: DeploymentState<'p, 's>,
    pub(super) new: DeploymentState<'p, 's>,
    /// The engine of the old state in its original CRD version. `old` may be rendered in the new one.
    pub(super) original_engine: &'p Engine<'s>,
    /// The reaction table of the provider after the change.
    pub(super) behaviors: Option<&'static [Behavior]>,
}

/// A deployment document, its engine and its rendered objects.
#[derive(Clone, Copy)]
pub(super) struct DeploymentState<'p, 's> {
    pub(super) engine: &'p Engine<'s>,
    pub(super) document: &'p Value,
    pub(super) objects: &'p [Object],
}

/// An input change that can be applied alone.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AtomicChange {
    Field(Box<JsonDifference>),
    Options,
    Providers,
    Crds,
}

impl AtomicChange {
    /// Returns the engine and document of a state with only this change applied, in the direction of the other state.
    fn apply_alone<'s>(
        &self,
        from: &DeploymentState<'_, 's>,
        to: &DeploymentState<'_, 's>,
        forward: bool,
    ) -> (Engine<'s>, Value) {
        let engine = match self {
            Self::Field(_) => from.engine.clone(),
            Self::Options => from.engine.with(EnginePart::Options, to.engine),
            Self::Providers => from.engine.with(EnginePart::Providers, to.engine),
            Self::Crds => from.engine.with(EnginePart::Crds, to.engine),
        };
        let document = match self {
            Self::Field(difference) => {
                let JsonDifference { path, before, after } = &**difference;
                let value = if forward { after } else { before };
                with_value_at(from.document.clone(), path, value.as_ref(), to.document)
            }
            _ => from.document.clone(),
        };
        (engine, document)
    }

    /// Returns how much of each output change this input change explains. It is applied alone to the old state, and
    /// reverted alone in the new state; the larger contribution counts. `None` if neither rendering gives an answer,
    /// because one fails and the other shows no effect.
    fn contributions(
        &self,
        states: &StatePair<'_, '_>,
        output_changes: &[RenderedChange],
    ) -> Option<Vec<Contribution>> {
        let StatePair { old, new, .. } = states;
        let contributions = |own_changes: &[RenderedChange], forward: bool| -> Vec<Contribution> {
            let largest =
                |change: &RenderedChange| own_changes.iter().map(|own| contribution(own, change, forward)).max();
            output_changes.iter().map(|change| largest(change).unwrap_or(Contribution::None)).collect()
        };
        // Both directions are needed: a change inside something that another change adds has no effect on the old
        // state, but reverting it in the new state shows its part.
        let (engine, document) = self.apply_alone(old, new, true);
        let forward = engine.render(&document, Thoroughness::Needed);
        let forward = forward.map(|rendered| contributions(&diff_outputs(old.objects, &rendered.objects), true));
        let (engine, document) = self.apply_alone(new, old, false);
        let backward = engine.render(&document, Thoroughness::Needed);
        let backward = backward.map(|rendered| contributions(&diff_outputs(&rendered.objects, new.objects), false));
        match (forward, backward) {
            (Some(forward), Some(backward)) => {
                Some(forward.into_iter().zip(backward).map(|(forward, backward)| forward.max(backward)).collect())
            }
            (forward, backward) => forward
                .or(backward)
                .filter(|contributions| contributions.iter().any(|contribution| *contribution != Contribution::None)),
        }
    }

    /// Returns whether this change alone switches the main object to the new CRD version.
    fn switches_version(&self, states: &StatePair<'_, '_>) -> bool {
        let version = |objects: &[Object]| objects.last().map(|(object, _)| object.api_version.clone());
        let old = DeploymentState { engine: states.original_engine, ..states.old };
        let (engine, document) = self.apply_alone(&old, &states.new, true);
        let rendered = engine.render(&document, Thoroughness::Needed);
        rendered.is_some_and(|rendered| version(&rendered.objects) == version(states.new.objects))
    }

    fn into_cause(self) -> Cause {
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

/// How much of an output change one input change explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Contribution {
    None,
    /// It changes something inside an object or field that other changes add.
    Part,
    /// It changes all of it, or something in it next to other changes.
    All,
    /// Alone, it produces exactly the final value.
    Exact,
}

/// Compares the effect of one input change with an overall output change. A change inside an object does not explain
/// why the object is created or deleted.
fn contribution(own: &RenderedChange, change: &RenderedChange, forward: bool) -> Contribution {
    let is_deeper = own.path.segments().len() > change.path.segments().len();
    match (&change.before, &change.after) {
        _ if !own.overlaps(change) => Contribution::None,
        (before, after) if own.path == change.path && (&own.before, &own.after) == (before, after) => {
            Contribution::Exact
        }
        (Some(_), Some(_)) => Contribution::All,
        _ if !is_deeper => Contribution::All,
        (None, Some(_)) if !forward => Contribution::Part,
        _ => Contribution::None,
    }
}

/// Returns the input changes, each with the output changes that it explains. Field changes without effect are included;
/// changes of options, providers and CRDs without effect are not.
pub(super) fn attribute(
    states: &StatePair<'_, '_>,
    input_changes: Vec<AtomicChange>,
    output_changes: &[RenderedChange],
) -> Vec<Change> {
    let is_version = |change: &RenderedChange| !change.is_whole() && change.path == FieldPath::parse("apiVersion");
    // Objects of other kinds, such as an AsyncActor, may have changed the output too. Attribution compares what the
    // deployment alone renders to.
    let render_alone = |state: &DeploymentState<'_, '_>| {
        let rendered = state.engine.render(state.document, Thoroughness::Needed);
        rendered.map_or_else(|| state.objects.to_vec(), |rendered| rendered.objects)
    };
    let (old_alone, new_alone) = (render_alone(&states.old), render_alone(&states.new));
    // What the deployments alone do not explain comes from the other objects.
    let has_other_influences =
        input_changes.is_empty() || old_alone != states.old.objects || new_alone != states.new.objects;
    let alone_states = StatePair {
        old: DeploymentState { objects: &old_alone, ..states.old },
        new: DeploymentState { objects: &new_alone, ..states.new },
        ..*states
    };
    let contributions: Vec<Option<Vec<Contribution>>> = match input_changes.as_slice() {
        _ if output_changes.is_empty() => input_changes.iter().map(|_| Some(Vec::new())).collect(),
        // With a single input change there is nothing to measure.
        [_] if !has_other_influences => vec![Some(vec![Contribution::All; output_changes.len()])],
        _ => input_changes
            .iter()
            .map(|input_change| {
                let mut contributions = input_change.contributions(&alone_states, output_changes)?;
                // The old state is already rendered in the new CRD version, so its switch has to be measured
                // separately.
                for (contribution, _) in
                    contributions.iter_mut().zip(output_changes).filter(|(_, change)| is_version(change))
                {
                    *contribution =
                        if input_change.switches_version(states) { Contribution::All } else { Contribution::None };
                }
                Some(contributions)
            })
            .collect(),
    };
    // An output change that no single input change explains is attributed to those whose effect is unknown, or else to
    // all of them together.
    let largest = |position: usize| {
        contributions.iter().flatten().filter_map(|contributions| contributions.get(position)).max().copied()
    };
    let unexplained: Vec<bool> =
        (0..output_changes.len()).map(|position| largest(position) < Some(Contribution::All)).collect();
    // An output change with several partial explanations may also be explained by the changes whose effect is unknown.
    let inexact: Vec<bool> =
        (0..output_changes.len()).map(|position| largest(position) < Some(Contribution::Exact)).collect();
    let has_unknown_effects = contributions.iter().any(Option::is_none);
    let changes = input_changes.into_iter().zip(contributions).map(|(input_change, contributions)| {
        let joint = match contributions {
            None => Some(&inexact),
            Some(_) => Some(&unexplained).filter(|_| !has_unknown_effects && !has_other_influences),
        };
        let mut outputs = Vec::new();
        for (position, change) in output_changes.iter().enumerate() {
            let together = joint.is_some_and(|joint| joint.get(position) == Some(&true));
            let contribution = contributions
                .as_ref()
                .and_then(|contributions| contributions.get(position))
                .copied()
                .unwrap_or(Contribution::None);
            let together = together || contribution == Contribution::Part;
            if together || contribution != Contribution::None {
                outputs.push(output_change(change, states.behaviors, together));
            }
        }
        let is_shared_input = !matches!(input_change, AtomicChange::Field(_));
        (is_shared_input, Change::new(input_change.into_cause(), outputs))
    });
    let relevant = changes.filter(|(is_shared_input, change)| !(*is_shared_input && change.outputs.is_empty()));
    let mut changes: Vec<Change> = relevant.map(|(_, change)| change).collect();
    if has_other_influences && !has_unknown_effects && unexplained.contains(&true) {
        let remaining_changes = output_changes.iter().zip(&unexplained).filter(|(_, is_unexplained)| **is_unexplained);
        let outputs = remaining_changes.map(|(change, _)| output_change(change, states.behaviors, false)).collect();
        changes.push(Change::new(Cause::Objects, outputs));
    }
    changes
}

/// Converts a rendered change to its form in the report, with its class.
fn output_change(change: &RenderedChange, behaviors: Option<&[Behavior]>, together: bool) -> OutputChange {
    let classification = classify(change, behaviors);
    let is_whole = change.is_whole();
    OutputChange {
        object: change.object.clone(),
        is_main: change.is_main,
        path: change.path.to_string(),
        // A whole object is shown as text elsewhere.
        before: change.before.clone().filter(|_| !is_whole),
        after: change.after.clone().filter(|_| !is_whole),
        class: classification.class,
        source: classification.source.into(),
        together,
    }
}
