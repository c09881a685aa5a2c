//! Plans a change: compares two runs and predicts, per ModelDeployment, what upstream controllers will do.
//!
//! ```text
//! OLD ─ compile ─┐                      ┌─ the same bytes: unchanged
//! NEW ─ compile ─┴─ pair by name ─ each ┴─ changed ─ differences of input ─ each alone, rendered ─ what it moves ─ class
//! ```
//! Each changed input field is applied alone and rendered again, to measure which output fields it changes. The
//! attribution therefore holds for every provider and cannot go out of date. The reaction of the upstream controller
//! comes from the provider's own table
//! ([`ProviderInfo::behaviors`](kubefoundry_provider::ProviderInfo::behaviors)).

mod attribution;
mod class;
mod deployment;
mod difference;
mod images;
mod interface;
mod kept;
mod rendered_change;
mod report;
mod run_deployment;
mod runtimes;
mod selection;
mod summary;
mod upstream;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;

use attribution::AtomicChange;
use kubefoundry_compiler::pipeline::{Compilation, Engine, EnginePart, GpuCount, InputDocument, InputValues, YamlText};
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_diagnostics::source::{Purpose, Source, SourceId, SourceSet};
use run_deployment::{PlanContext, PlanSide, RunDeployment};
use summary::PlannedDeployment;

pub use class::{Applier, ChangeClass};
pub use images::ImageChange;
pub use kept::{choices_made, stored_choices};
pub use report::{
    Action, Capacity, CapacityChange, Cause, Change, ClassCounts, DeploymentPlan, GpuChange, InterfaceChange,
    KeptProvider, MemoryChange, ObjectPlan, OutputChange, Plan, ProviderChoice, RemovedFlag, RemovedFlags,
    RuntimeChange, SelectionChange, Summary, WinningRule,
};
pub use upstream::{UpstreamChange, upstream_changes};

/// The reason why two runs cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The old state cannot be rendered.
    #[error("OLD has errors: it renders nothing, so there is nothing to compare NEW with")]
    OldHasErrors,
    /// The new state cannot be rendered.
    #[error("NEW has errors: it renders nothing, so it changes nothing")]
    NewHasErrors,
}

/// One of the two runs of a plan.
#[derive(Debug, Clone, Copy)]
pub struct PlanInput<'r> {
    /// The input of the run.
    pub sources: &'r SourceSet,
    /// The result of compiling it.
    pub compilation: &'r Compilation<YamlText>,
}

/// Compares two runs and plans the change from one to the other.
///
/// The operator keeps the provider of a deployment, so for [`Applier::Operator`] the runs should be those of
/// [`compile_keeping`](kubefoundry_compiler::pipeline::compile_keeping): OLD with its [`stored_choices`], and NEW with the
/// [`choices_made`] by OLD.
///
/// # Errors
/// Returns [`PlanError`] if either run found errors, because it then rendered nothing.
///
/// ```
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_compiler::pipeline::compile_as;
/// use kubefoundry_analysis::plan::{Applier, ChangeClass, PlanInput, plan};
/// use kubefoundry_diagnostics::source::SourceSet;
/// use kubefoundry_compiler::Thoroughness;
///
/// let text = "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ";
/// let (mut old, mut new) = (SourceSet::default(), SourceSet::default());
/// old.add("phi.yaml", text);
/// new.add("phi.yaml", text.replace("count: 1", "count: 2"));
/// let (before, after) = (compile_as(&BUILTIN, &old, Thoroughness::Needed), compile_as(&BUILTIN, &new, Thoroughness::Needed));
/// let old = PlanInput { sources: &old, compilation: &before };
/// let new = PlanInput { sources: &new, compilation: &after };
///
/// let plan = plan(old, new, Applier::Apply).unwrap();
/// assert_eq!(plan.deployments[0].class, Some(ChangeClass::RollingRestart));
/// assert_eq!(plan.summary.to_string(), "1 restart; GPUs 1 → 2");
/// ```
pub fn plan(old: PlanInput<'_>, new: PlanInput<'_>, applier: Applier) -> Result<Plan, PlanError> {
    if old.compilation.has_errors() {
        return Err(PlanError::OldHasErrors);
    }
    if new.compilation.has_errors() {
        return Err(PlanError::NewHasErrors);
    }
    let (before, after) = (run_deployments(old), run_deployments(new));
    let (mut planned, mut pairs) = (Vec::new(), Vec::new());
    for environment in environment_sides(old.sources, new.sources) {
        let label = environment.label.as_ref();
        let environment_pairs = pair_deployments(&in_environment(&before, label), &in_environment(&after, label));
        planned.extend(plan_environment(&environment, old, new, &environment_pairs, applier));
        pairs.extend(environment_pairs);
    }
    let uses_image = |run: PlanInput<'_>, image: &str| {
        run.compilation.outputs.iter().any(|output| images::is_named_in(output.object.as_str(), image))
    };
    let mut plan =
        summary::summarize(applier, planned, summary::gpu_changes(gpus(old.compilation), gpus(new.compilation)));
    plan.runtimes = runtimes::runtime_changes(
        new.compilation.options.composition,
        pairs.iter().filter_map(|(old, new)| old.as_ref().zip(new.as_ref())),
    );
    // An image new to one deployment may already be used by another; a dropped one may still be. Only images that
    // appear or disappear in the whole output count.
    plan.images.retain(|image| match (&image.before, &image.after) {
        (None, Some(added)) => !uses_image(old, added),
        (Some(removed), None) => !uses_image(new, removed),
        _ => true,
    });
    Ok(plan)
}

fn in_environment<'r>(deployments: &[RunDeployment<'r>], label: Option<&Arc<str>>) -> Vec<RunDeployment<'r>> {
    deployments.iter().filter(|side| side.decision.environment.as_ref() == label).copied().collect()
}

/// One environment in both runs. A run that does not have it has no text in it.
struct EnvironmentSides {
    /// The name that reports show.
    label: Option<Arc<str>>,
    old: SourceSet,
    new: SourceSet,
}

/// Pairs the environments of the two inputs by name: those of the new input in its order, then those that it no longer
/// has.
fn environment_sides(old: &SourceSet, new: &SourceSet) -> Vec<EnvironmentSides> {
    let mut old_views = old.views();
    let mut sides: Vec<EnvironmentSides> = Vec::new();
    for (label, new) in new.views() {
        let position = old_views.iter().position(|(old_label, _)| *old_label == label);
        let old = position.map(|position| old_views.remove(position).1).unwrap_or_default();
        sides.push(EnvironmentSides { label, old, new });
    }
    sides.extend(old_views.into_iter().map(|(label, old)| EnvironmentSides { label, old, new: SourceSet::default() }));
    sides
}

/// Plans the deployments of one environment.
fn plan_environment<'r, 'e>(
    environment: &'e EnvironmentSides,
    old: PlanInput<'r>,
    new: PlanInput<'r>,
    pairs: &[Pair<'r>],
    applier: Applier,
) -> Vec<PlannedDeployment> {
    let label = environment.label.as_deref();
    let new_engine = Engine::of_run(&environment.new, new.compilation, label);
    // What the new state keeps is what the old state has, so that a provider that is no longer named stays as well.
    let old_engine =
        Engine::of_run(&environment.old, old.compilation, label).with(EnginePart::KeptChoices, &new_engine);
    let differing = || {
        pairs.iter().filter(|(old, new)| match (old, new) {
            (Some(old), Some(new)) => old.text() != new.text() || new.keeps_provider(),
            (one, other) => one.or(*other).is_some_and(|side| side.knows_gpus()),
        })
    };
    let side = |engine: Engine<'e>, view, input: &dyn Fn(&Pair<'r>) -> Option<&'r Arc<InputDocument>>| PlanSide {
        values: InputValues::new(view, engine.options(), differing().filter_map(input)),
        engine,
    };
    let (old_view, new_view) =
        (PlanInput { sources: &environment.old, ..old }, PlanInput { sources: &environment.new, ..new });
    let context = PlanContext {
        old: side(old_engine, &environment.old, &|(old, _)| old.and_then(|side| side.input)),
        new: side(new_engine, &environment.new, &|(_, new)| new.and_then(|side| side.input)),
        changes: shared_input_changes(old_view, new_view),
        applier,
    };
    pairs.par_iter().filter_map(|(old, new)| deployment::plan(*old, *new, &context)).collect()
}

/// Returns the deployments of a run in decision order, each with its input document and its outputs.
fn run_deployments(run: PlanInput<'_>) -> Vec<RunDeployment<'_>> {
    let Compilation { inputs, decisions, outputs, .. } = run.compilation;
    let rendered = inputs.iter().filter(|input| input.rendered);
    let inputs: BTreeMap<(SourceId, usize, ObjectRef), &Arc<InputDocument>> =
        rendered.map(|input| ((input.source, input.index, input.header.object()), input)).collect();
    // Outputs are sorted by decision, so those of one deployment are a slice.
    let mut rest = outputs.as_slice();
    let side = |(position, decision): (usize, _)| {
        let decision: &Arc<kubefoundry_compiler::Decision> = decision;
        let first = outputs.len() - rest.len();
        let (own, later) = rest.split_at(rest.partition_point(|output| output.decision <= position));
        rest = later;
        let input = inputs.get(&(decision.source, decision.document, decision.object.clone())).copied();
        RunDeployment { run, position, decision, input, outputs: own, first }
    };
    decisions.iter().enumerate().map(side).collect()
}

type Pair<'r> = (Option<RunDeployment<'r>>, Option<RunDeployment<'r>>);

/// Pairs the deployments of the two runs: those of the new run in its order, then those that were deleted.
fn pair_deployments<'r>(old: &[RunDeployment<'r>], new: &[RunDeployment<'r>]) -> Vec<Pair<'r>> {
    let key = |side: &RunDeployment<'r>| {
        let ObjectRef { api_version, kind, namespace, name } = &side.decision.object;
        (kind.clone(), namespace.clone(), name.clone(), api_version.clone())
    };
    let by_key: BTreeMap<_, &RunDeployment<'r>> = old.iter().map(|side| (key(side), side)).collect();
    // Exact matches of group, namespace and name come first. Only then are the rest paired by namespace and name across
    // API groups, so that a deployment that moved to another group never takes the partner of one that stayed.
    let mut paired = BTreeSet::new();
    let mut partners: Vec<Option<&RunDeployment<'r>>> =
        new.iter().map(|side| by_key.get(&key(side)).copied()).collect();
    paired.extend(partners.iter().flatten().map(|side| side.position));
    // The API group is the last part of the key, so the deployments of one name are neighbors in the map.
    for (side, partner) in new.iter().zip(&mut partners).filter(|(_, partner)| partner.is_none()) {
        let (kind, namespace, name, _) = key(side);
        let identity = (&kind, &namespace, &name);
        let start = (kind.clone(), namespace.clone(), name.clone(), "".into());
        let namesakes = by_key.range(start..).take_while(|((kind, space, name, _), _)| (kind, space, name) == identity);
        *partner = namesakes.map(|(_, side)| *side).find(|side| !paired.contains(&side.position));
        paired.extend(partner.map(|side| side.position));
    }
    let mut pairs: Vec<Pair<'r>> =
        new.iter().zip(partners).map(|(side, partner)| (partner.copied(), Some(*side))).collect();
    pairs.extend(old.iter().filter(|side| !paired.contains(&side.position)).map(|side| (Some(*side), None)));
    pairs
}

/// Returns the shared inputs that differ: options, provider configurations, CRDs.
fn shared_input_changes(old: PlanInput<'_>, new: PlanInput<'_>) -> Vec<AtomicChange> {
    let texts = |run: PlanInput<'_>, is_input: &dyn Fn(SourceId, &Source) -> bool| -> Vec<String> {
        run.sources.iter().filter(|(id, source)| is_input(*id, source)).map(|(_, source)| source.text.clone()).collect()
    };
    let differ = |is_input: &dyn Fn(PlanInput<'_>, SourceId, &Source) -> bool| {
        texts(old, &|id, source| is_input(old, id, source)) != texts(new, &|id, source| is_input(new, id, source))
    };
    let is_options =
        |_: PlanInput<'_>, _, source: &Source| matches!(source.purpose, Purpose::Options | Purpose::ModelConfig);
    let is_config = |run: PlanInput<'_>, id, _: &Source| run.compilation.configured.contains(&id);
    let is_crds = |_: PlanInput<'_>, _, source: &Source| source.purpose == Purpose::Crds;
    let changes = [
        (AtomicChange::Options, differ(&is_options)),
        (AtomicChange::Providers, differ(&is_config)),
        (AtomicChange::Crds, differ(&is_crds)),
    ];
    changes.into_iter().filter(|(_, differs)| *differs).map(|(change, _)| change).collect()
}

/// Returns the GPUs of all deployments.
fn gpus(compilation: &Compilation<YamlText>) -> impl Iterator<Item = &GpuCount> {
    compilation.decisions.iter().flat_map(|decision| &decision.gpus)
}
