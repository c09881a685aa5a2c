//! One ModelDeployment, before and after.

use std::collections::BTreeSet;

use serde_json::Value;

use super::attribution::{AtomicChange, DeploymentState, StatePair, attribute};
use super::class::{Applier, ChangeClass};
use super::difference::{Granularity, coarsen, differences};
use super::images::{self, ImageChange};
use super::rendered_change::{Object, RenderedChange, between, is_same};
use super::report::{Action, Cause, Change, DeploymentPlan, ObjectPlan, OutputChange, gpu_changes};
use super::{PlanInput, selection};
use crate::Thoroughness;
use crate::pipeline::{Decision, GpuCount, InputDocument, ListItems, Output, Renderer, YamlText};
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_kubernetes::wire::{Describe as _, Shape};
use kubefoundry_model::providers;
use kubefoundry_model::wire::ModelDeployment;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;

/// Changes of a document that are made one by one; more are put together. Of a large document, fewer are.
const MAX_CHANGES: usize = 64;
const MAX_CHANGES_OF_LARGE_DOCUMENT: usize = 4;
/// Bytes from which on a document is large.
const LARGE_DOCUMENT_BYTES: usize = 64 * 1024;

/// What every pair is looked at with.
pub(super) struct PlanContext<'s> {
    pub(super) old: Renderer<'s>,
    pub(super) new: Renderer<'s>,
    /// Items of lists on both sides.
    pub(super) old_items: ListItems,
    pub(super) new_items: ListItems,
    /// What besides the documents is not the same.
    pub(super) changes: Vec<AtomicChange>,
    pub(super) applier: Applier,
}

/// A deployment in a run.
#[derive(Clone, Copy)]
pub(super) struct RunDeployment<'r> {
    pub(super) run: PlanInput<'r>,
    pub(super) position: usize,
    pub(super) decision: &'r Decision,
    pub(super) input: Option<&'r InputDocument>,
    /// Its objects, and the position of the first of them among all.
    pub(super) outputs: &'r [Output<YamlText>],
    pub(super) first: usize,
}

/// What becomes of a deployment, and what is summed up.
#[derive(Debug)]
pub(super) struct PlannedDeployment {
    pub(super) deployment: DeploymentPlan,
    /// Its GPUs of all types, before and after.
    pub(super) gpus: (u64, u64),
    pub(super) images: Vec<ImageChange>,
}

impl<'r> RunDeployment<'r> {
    /// Its own bytes.
    pub(super) fn text(&self) -> Option<&'r str> {
        let input = self.input?;
        self.run.sources.get(input.source).text.get(input.span.start..input.span.end)
    }

    /// Its objects as they were printed.
    fn objects(&self) -> Vec<Object> {
        let references = self.decision.objects.iter().cloned();
        let value = |output: &Output<YamlText>| {
            let document = yaml::documents(output.object.as_str(), &self.run.compilation.options.limits).next();
            document.map(|document| document.root.to_json()).unwrap_or_default()
        };
        references.zip(self.outputs.iter().map(value)).collect()
    }

    fn renders_as(&self, other: &Self) -> bool {
        let text = |side: &Self| side.outputs.iter().map(|it| it.object.as_str()).collect::<Vec<_>>();
        self.outputs.len() == other.outputs.len() && text(self) == text(other)
    }

    fn gpus(&self) -> u64 {
        self.decision.gpus.iter().map(|gpus| gpus.count).sum()
    }

    fn provider(&self) -> String {
        self.decision.provider().unwrap_or_default().to_owned()
    }
}

/// What becomes of a deployment that is on one side or on both.
pub(super) fn plan(
    old: Option<RunDeployment<'_>>,
    new: Option<RunDeployment<'_>>,
    setting: &PlanContext<'_>,
) -> Option<PlannedDeployment> {
    match (old, new) {
        (Some(old), Some(new)) => Some(both(&old, &new, setting)),
        (Some(side), None) => Some(one(&side, Action::Deleted)),
        (None, Some(side)) => Some(one(&side, Action::Created)),
        (None, None) => None,
    }
}

/// A deployment that comes or goes.
fn one(side: &RunDeployment<'_>, action: Action) -> PlannedDeployment {
    let is_new = action == Action::Created;
    let (none, objects) = (Vec::new(), side.objects());
    let (before, after) = if is_new { (&none, &objects) } else { (&objects, &none) };
    let gpus: &[GpuCount] = &side.decision.gpus;
    let plan_of = |(position, object): (usize, &ObjectRef)| {
        let position = Some(side.first + position);
        let (old, new) = if is_new { (None, position) } else { (position, None) };
        ObjectPlan { object: object.clone(), action, old, new }
    };
    let deployment = DeploymentPlan {
        gpus: if is_new { gpu_changes(&[], gpus) } else { gpu_changes(gpus, &[]) },
        objects: side.decision.objects.iter().enumerate().map(plan_of).collect(),
        old: Some(side.position).filter(|_| !is_new),
        new: Some(side.position).filter(|_| is_new),
        ..empty(side, action)
    };
    let gpus = if is_new { (0, side.gpus()) } else { (side.gpus(), 0) };
    PlannedDeployment { deployment, gpus, images: images::changed(before, after, &[]) }
}

/// A plan in which nothing is said yet.
fn empty(side: &RunDeployment<'_>, action: Action) -> DeploymentPlan {
    DeploymentPlan {
        object: side.decision.object.clone(),
        action,
        class: None,
        provider: side.provider(),
        selection: None,
        gpus: Vec::new(),
        changes: Vec::new(),
        objects: Vec::new(),
        old: None,
        new: None,
    }
}

fn both(old: &RunDeployment<'_>, new: &RunDeployment<'_>, setting: &PlanContext<'_>) -> PlannedDeployment {
    let unchanged = || PlannedDeployment {
        deployment: DeploymentPlan {
            old: Some(old.position),
            new: Some(new.position),
            ..empty(new, Action::Unchanged)
        },
        gpus: (old.gpus(), new.gpus()),
        images: Vec::new(),
    };
    let renders_as_before = old.renders_as(new);
    if renders_as_before && old.text() == new.text() {
        return unchanged();
    }
    let (before, after) =
        (document(old, &setting.old, &setting.old_items), document(new, &setting.new, &setting.new_items));
    let most = match old.text().into_iter().chain(new.text()).map(str::len).max() {
        Some(LARGE_DOCUMENT_BYTES..) => MAX_CHANGES_OF_LARGE_DOCUMENT,
        _ => MAX_CHANGES,
    };
    let fields = coarsen(differences(&before, &after, Granularity::Leaves), most, &before, &after);
    if renders_as_before && fields.is_empty() {
        return unchanged();
    }
    let base = base(old, new, &before, setting);
    let new_objects = new.objects();
    let mut movements = between(&base.objects, &new_objects);
    if let Some(moved) = base.version {
        movements.insert(0, moved);
    }
    if fields.is_empty() && movements.is_empty() {
        // The same keys in another order.
        return unchanged();
    }
    let singles =
        fields.into_iter().map(Box::new).map(AtomicChange::Field).chain(setting.changes.iter().cloned()).collect();
    let states = StatePair {
        old: DeploymentState { renderer: &base.renderer, document: &before, objects: &base.objects },
        new: DeploymentState { renderer: &setting.new, document: &after, objects: &new_objects },
        plain: &setting.old,
        behaviors: providers::find(&new.provider()).map(|provider| provider.info().behaviors),
    };
    let mut changes = attribute(&states, singles, &movements);
    refuse(&mut changes, &states);
    join_second_cluster(&mut changes);
    if setting.applier == Applier::Operator {
        if changes_identity(old, new, &changes) {
            recreate(&mut changes, OTHER_IDENTITY);
        } else if changes.iter().flat_map(|change| &change.outputs).any(is_stuck) {
            recreate(&mut changes, STUCK);
        }
    }
    if setting.applier == Applier::Operator && is_paused(&after) {
        pause(&mut changes);
    }
    changes.sort_by_key(|change| std::cmp::Reverse(change.class));
    let images = images::changed(&base.objects, &new_objects, &movements);
    let mut gpus = gpu_changes(&old.decision.gpus, &new.decision.gpus);
    gpus.retain(|change| change.before != change.after);
    let deployment = DeploymentPlan {
        class: Some(changes.iter().map(|change| change.class).max().unwrap_or(ChangeClass::None)),
        selection: selection::changed((old.decision, &before, &setting.old), (new.decision, &after, &setting.new)),
        gpus,
        changes,
        objects: objects(old, new),
        old: Some(old.position),
        new: Some(new.position),
        ..empty(new, Action::Changed)
    };
    PlannedDeployment { deployment, gpus: (old.gpus(), new.gpus()), images }
}

fn document(side: &RunDeployment<'_>, renderer: &Renderer<'_>, items: &ListItems) -> Value {
    side.input.and_then(|input| renderer.document(input, items)).unwrap_or_default()
}

/// The old state as it can be compared with the new one.
struct Baseline<'s> {
    renderer: Renderer<'s>,
    objects: Vec<Object>,
    /// The main object's version, when it is another one.
    version: Option<RenderedChange>,
}

/// When the main object is written in another version, fields of the one say nothing about fields of the other: the old
/// deployment is rendered in the new version, as the apiserver converts it.
fn base<'s>(
    old: &RunDeployment<'_>,
    new: &RunDeployment<'_>,
    before: &Value,
    setting: &PlanContext<'s>,
) -> Baseline<'s> {
    let main = |side: &RunDeployment<'_>| side.decision.objects.last().cloned();
    let as_it_was = || Baseline { renderer: setting.old.clone(), objects: old.objects(), version: None };
    let (Some(old_main), Some(new_main)) = (main(old), main(new)) else { return as_it_was() };
    if !is_same(&old_main, &new_main) || old_main.api_version == new_main.api_version {
        return as_it_was();
    }
    let with_crd_version = |renderer: Renderer<'s>| renderer.with_crd_version(&old.provider(), &new_main.api_version);
    for renderer in [with_crd_version(setting.old.clone()), with_crd_version(setting.old.with_crds_of(&setting.new))] {
        if let Some(rendered) = renderer.render(before, Thoroughness::Needed) {
            let version = RenderedChange {
                object: new_main.clone(),
                is_main: true,
                path: FieldPath::parse("apiVersion"),
                before: Some(Value::from(&*old_main.api_version)),
                after: Some(Value::from(&*new_main.api_version)),
            };
            return Baseline { renderer, objects: rendered.objects, version: Some(version) };
        }
    }
    as_it_was()
}

/// Whether a field is declared as one that says what the deployment is.
fn is_identity(path: &str) -> bool {
    let (Shape::Object(deployment), Some(path)) = (ModelDeployment::SHAPE, FieldPath::try_parse(path)) else {
        return false;
    };
    deployment.field_at(&path).is_some_and(|field| field.facets.identity)
}

/// Whether what the deployment is changes, and not only how it is set up.
fn changes_identity(old: &RunDeployment<'_>, new: &RunDeployment<'_>, changes: &[Change]) -> bool {
    let group = |side: &RunDeployment<'_>| side.decision.object.api_version.clone();
    let is_other = |change: &Change| {
        matches!(&change.cause, Cause::Field { path, .. } if is_identity(path))
            && change.outputs.iter().any(|output| output.class != ChangeClass::None)
    };
    old.provider() != new.provider() || group(old) != group(new) || changes.iter().any(is_other)
}

/// What the rules of a cluster's own CRDs refuse is refused, whatever the provider's table knows.
fn refuse(changes: &mut [Change], states: &StatePair<'_, '_>) {
    for (object, new) in states.new.objects {
        let Some((_, old)) = states.old.objects.iter().find(|(other, _)| is_same(object, other)) else { continue };
        if old == new {
            continue;
        }
        for (path, message) in states.new.renderer.check_change(old, new) {
            let path = path.to_string();
            let of_it = changes.iter_mut().flat_map(|change| &mut change.outputs);
            let of_it = of_it.filter(|output| output.object == *object && is_within(&output.path, &path));
            for output in of_it {
                output.class = ChangeClass::Refused;
                output.source = format!("a rule of the CRD: {message}").into();
            }
        }
    }
    changes.iter_mut().for_each(Change::settle);
}

/// Whether one of two fields is a part of the other.
fn is_within(one: &str, other: &str) -> bool {
    let below = |outer: &str, inner: &str| {
        outer.is_empty()
            || inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    below(one, other) || below(other, one)
}

/// A second cluster is made from all of the object: what would be ignored, or done to the first cluster, is a part of it.
fn join_second_cluster(changes: &mut [Change]) {
    let of_class = |output: &&OutputChange| output.class == ChangeClass::BlueGreen;
    let outputs = changes.iter().flat_map(|change| &change.outputs).filter(of_class);
    let started: BTreeSet<ObjectRef> = outputs.map(|output| output.object.clone()).collect();
    for change in changes {
        for output in change.outputs.iter_mut().filter(|output| started.contains(&output.object)) {
            if matches!(output.class, ChangeClass::InPlace | ChangeClass::RollingRestart | ChangeClass::NoEffect) {
                output.class = ChangeClass::BlueGreen;
                output.source = "the second cluster, which other fields start, is made from all of the object".into();
            }
        }
        change.settle();
    }
}

/// Why the operator makes an object anew.
const OTHER_IDENTITY: &str =
    "specification OP-3.1: on a change of identity the operator deletes the object and makes it anew";
const STUCK: &str =
    "the provider refuses or ignores a part of the change: the operator deletes the object and makes it anew";

/// Whether a part of a main object would stay as it was if it were patched.
fn is_stuck(output: &OutputChange) -> bool {
    output.is_main && matches!(output.class, ChangeClass::Refused | ChangeClass::NoEffect)
}

/// Under the operator the main object is made anew: nothing in it is patched.
fn recreate(changes: &mut [Change], why: &'static str) {
    for change in changes {
        for output in change.outputs.iter_mut().filter(|output| output.is_main && output.class != ChangeClass::None) {
            output.class = ChangeClass::Recreate;
            output.source = why.into();
        }
        change.settle();
    }
}

/// Whether a deployment says that the operator shall leave its objects alone (docs/specification.md OP-4.2).
fn is_paused(document: &Value) -> bool {
    let annotations = document.pointer("/metadata/annotations");
    let said = |api_group: &ApiGroup| annotations?.get(api_group.label("reconcile-paused"))?.as_str();
    API_GROUPS.iter().any(|api_group| said(api_group) == Some("true"))
}

fn pause(changes: &mut [Change]) {
    for change in changes {
        for output in change.outputs.iter_mut().filter(|output| output.class != ChangeClass::None) {
            output.class = ChangeClass::NoEffect;
            output.source =
                "specification OP-4.2: the annotation reconcile-paused keeps the operator from applying it".into();
        }
        change.settle();
    }
}

/// The objects that come, go or change.
fn objects(old: &RunDeployment<'_>, new: &RunDeployment<'_>) -> Vec<ObjectPlan> {
    let mut plans = Vec::new();
    for (position, object) in new.decision.objects.iter().enumerate() {
        let before = old.decision.objects.iter().position(|other| is_same(object, other));
        let text = |side: &RunDeployment<'_>, at: usize| side.outputs.get(at).map(|output| output.object.clone());
        let action = match before {
            None => Action::Created,
            Some(before) if text(old, before) == text(new, position) => continue,
            Some(_) => Action::Changed,
        };
        let (old, new) = (before.map(|before| old.first + before), Some(new.first + position));
        plans.push(ObjectPlan { object: object.clone(), action, old, new });
    }
    for (position, object) in old.decision.objects.iter().enumerate() {
        if !new.decision.objects.iter().any(|other| is_same(object, other)) {
            let old = Some(old.first + position);
            plans.push(ObjectPlan { object: object.clone(), action: Action::Deleted, old, new: None });
        }
    }
    plans
}
