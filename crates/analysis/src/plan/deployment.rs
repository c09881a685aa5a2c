//! Plans one ModelDeployment from its state in the old and the new run.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::attribution::{AtomicChange, DeploymentState, StatePair, attribute};
use super::class::{Applier, ChangeClass};
use super::difference::{Granularity, JsonDifference, coarsen, differences};
use super::images;
use super::rendered_change::{Object, RenderedChange, diff_outputs, is_same};
use super::report::{Action, Capacity, CapacityChange, Cause, Change, DeploymentPlan, ObjectPlan, OutputChange};
use super::run_deployment::{PlanContext, PlanSide, RunDeployment};
use super::summary::{PlannedDeployment, gpu_changes};
use super::{interface, kept, selection};
use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::pipeline::{Engine, EnginePart, GpuCount};
use kubefoundry_deployment::ir::Role;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_facts::fit::WorkerFit;
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_kubernetes::wire::{Describe as _, FieldShape, Shape};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::secret::mask_at;

/// Maximum number of input changes that are applied one by one; beyond it, fields are merged into their parents. Each
/// costs two renderings, so a large document gets fewer.
const MAX_CHANGES: usize = 64;
const MAX_CHANGES_OF_LARGE_DOCUMENT: usize = 4;
/// Size in bytes from which a document counts as large.
const LARGE_DOCUMENT_BYTES: usize = 64 * 1024;

/// Plans a deployment that one run or both have.
pub(super) fn plan(
    old: Option<RunDeployment<'_>>,
    new: Option<RunDeployment<'_>>,
    context: &PlanContext<'_>,
) -> Option<PlannedDeployment> {
    match (old, new) {
        (Some(old), Some(new)) => {
            let mut planned = plan_pair(&old, &new, context);
            if let Some(kustomization) = new.unbuilt().or(old.unbuilt()) {
                mark_unbuilt(&mut planned, kustomization);
            }
            Some(planned)
        }
        (Some(side), None) => Some(plan_single(&side, Action::Deleted, context)),
        (None, Some(side)) => Some(plan_single(&side, Action::Created, context)),
        (None, None) => None,
    }
}

/// Says of a plan that a kustomization may change more than is known. Such a deployment is never unchanged.
fn mark_unbuilt(planned: &mut PlannedDeployment, kustomization: &str) {
    let cause = Cause::Unbuilt { kustomization: kustomization.to_owned() };
    let change = Change { cause, class: ChangeClass::Unknown, outputs: Vec::new() };
    let deployment = &mut planned.deployment;
    deployment.action = Action::Changed;
    deployment.class = deployment.class.max(Some(change.class));
    deployment.changes.push(change);
}

/// Plans a created or deleted deployment.
fn plan_single(side: &RunDeployment<'_>, action: Action, context: &PlanContext<'_>) -> PlannedDeployment {
    let is_new = action == Action::Created;
    let (no_objects, objects) = (Vec::new(), side.objects());
    let (before, after) = if is_new { (&no_objects, &objects) } else { (&objects, &no_objects) };
    let gpus: &[GpuCount] = &side.decision.gpus;
    let object_plan = |(position, object): (usize, &ObjectRef)| {
        let position = Some(side.first + position);
        let (old, new) = if is_new { (None, position) } else { (position, None) };
        ObjectPlan { object: object.clone(), action, old, new }
    };
    let PlanSide { engine, values } = if is_new { &context.new } else { &context.old };
    let sequences = side.knows_gpus().then(|| capacity(side, &side.document(values).0, engine)).flatten();
    let (old_sequences, new_sequences) = if is_new { (None, sequences) } else { (sequences, None) };
    let deployment = DeploymentPlan {
        capacity: CapacityChange::between(old_sequences, new_sequences),
        gpus: if is_new { gpu_changes(&[], gpus) } else { gpu_changes(gpus, &[]) },
        objects: side.decision.objects.iter().enumerate().map(object_plan).collect(),
        old: Some(side.position).filter(|_| !is_new),
        new: Some(side.position).filter(|_| is_new),
        ..empty_plan(side, action)
    };
    let gpus = if is_new { (0, side.gpus()) } else { (side.gpus(), 0) };
    PlannedDeployment { deployment, gpus, objects_class: None, images: images::image_changes(before, after, &[]) }
}

/// Creates a plan without any changes.
fn empty_plan(side: &RunDeployment<'_>, action: Action) -> DeploymentPlan {
    DeploymentPlan {
        object: side.decision.object.clone(),
        environment: side.decision.environment.clone(),
        action,
        class: None,
        provider: side.provider(),
        selection: None,
        endpoint: None,
        model_name: None,
        kept: None,
        gpus: Vec::new(),
        capacity: None,
        changes: Vec::new(),
        objects: Vec::new(),
        old: None,
        new: None,
    }
}

/// Plans a deployment that both runs have: finds its changes, attributes the effects to them, and classifies each
/// effect.
fn plan_pair(old: &RunDeployment<'_>, new: &RunDeployment<'_>, context: &PlanContext<'_>) -> PlannedDeployment {
    let kept = || kept::kept_provider(new, || new.document(&context.new.values).0, context);
    let unchanged = || PlannedDeployment {
        deployment: DeploymentPlan {
            kept: kept(),
            old: Some(old.position),
            new: Some(new.position),
            ..empty_plan(new, Action::Unchanged)
        },
        gpus: (old.gpus(), new.gpus()),
        objects_class: None,
        images: Vec::new(),
    };
    let renders_as_before = old.renders_as(new);
    if renders_as_before && old.text() == new.text() {
        return unchanged();
    }
    let (before, old_is_live) = old.document(&context.old.values);
    let (after, _) = new.document(&context.new.values);
    let max_changes = match old.text().into_iter().chain(new.text()).map(str::len).max() {
        Some(LARGE_DOCUMENT_BYTES..) => MAX_CHANGES_OF_LARGE_DOCUMENT,
        _ => MAX_CHANGES,
    };
    let fields = coarsen(differences(&before, &after, Granularity::Leaves), max_changes, &before, &after);
    if renders_as_before && fields.is_empty() {
        return unchanged();
    }
    let baseline = choose_baseline(old, new, &before, context);
    let new_objects = new.objects();
    let mut output_changes = diff_outputs(&baseline.objects, &new_objects);
    if let Some(version_change) = baseline.version {
        output_changes.insert(0, version_change);
    }
    if fields.is_empty() && output_changes.is_empty() {
        // Only the order of keys differs.
        return unchanged();
    }
    let secrets = SecretValues::find(&fields, [&before, &after], &output_changes, [&baseline.objects, &new_objects]);
    let input_changes =
        fields.into_iter().map(Box::new).map(AtomicChange::Field).chain(context.changes.iter().cloned()).collect();
    let states = StatePair {
        old: DeploymentState { engine: &baseline.engine, document: &before, objects: &baseline.objects },
        new: DeploymentState { engine: &context.new.engine, document: &after, objects: &new_objects },
        original_engine: &context.old.engine,
        behaviors: context
            .new
            .engine
            .options()
            .composition
            .find_provider(&new.provider())
            .map(|provider| provider.info().behaviors),
    };
    let mut changes = attribute(&states, input_changes, &output_changes);
    if old_is_live {
        changes.retain(|change| !leaves_out_default(change));
    }
    if changes.is_empty() && renders_as_before {
        return unchanged();
    }
    // Each step overrides the classes of the previous ones, so the order matters: a rejected field starts no second
    // cluster, and the operator replaces an object whose change would be rejected.
    apply_crd_rules(&mut changes, &states);
    merge_into_blue_green(&mut changes);
    if context.applier == Applier::Operator {
        if changes_identity(old, new, &changes) {
            mark_recreated(&mut changes, IDENTITY_CHANGED);
        } else if changes.iter().flat_map(|change| &change.outputs).any(is_stuck) {
            let is_edit = changes.iter().any(|change| matches!(change.cause, Cause::Field { .. }));
            mark_recreated(&mut changes, if is_edit { NOT_PATCHABLE } else { NOT_PATCHABLE_IN_TURN });
        }
    }
    if context.applier == Applier::Operator && is_paused(&after) {
        mark_paused(&mut changes);
    }
    changes.sort_by_key(|change| std::cmp::Reverse(change.class));
    secrets.mask(&mut changes);
    let images = images::image_changes(&baseline.objects, &new_objects, &output_changes);
    let mut gpus = gpu_changes(&old.decision.gpus, &new.decision.gpus);
    gpus.retain(|change| {
        change.before != change.after || change.memory.is_some_and(|memory| memory.before != memory.after)
    });
    let objects_class = changes.iter().map(|change| change.class).max().unwrap_or(ChangeClass::None);
    let [endpoint, model_name] = interface::changes(
        context.new.engine.options().composition,
        (old.decision, &baseline.objects),
        (new.decision, &new_objects),
        objects_class,
    );
    let deployment = DeploymentPlan {
        class: [&endpoint, &model_name].into_iter().flatten().map(|change| change.class).max().max(Some(objects_class)),
        selection: selection::selection_change(
            (old.decision, &before, &context.old.engine),
            (new.decision, &after, &context.new.engine),
        ),
        endpoint,
        model_name,
        kept: kept(),
        gpus,
        capacity: CapacityChange::between(
            capacity(old, &before, &context.old.engine),
            capacity(new, &after, &context.new.engine),
        ),
        changes,
        objects: object_plans(old, new),
        old: Some(old.position),
        new: Some(new.position),
        ..empty_plan(new, Action::Changed)
    };
    PlannedDeployment { deployment, gpus: (old.gpus(), new.gpus()), objects_class: Some(objects_class), images }
}

/// Returns for how many sequences of the full context a deployment has place. Runs do not keep what that depends on, so a
/// deployment whose GPUs are known is rendered once more.
fn capacity(side: &RunDeployment<'_>, document: &Value, engine: &Engine<'_>) -> Option<Capacity> {
    if !side.knows_gpus() {
        return None;
    }
    let rendered = engine.render(document, Thoroughness::Everything)?;
    let generating = rendered.decision.workers.iter().filter(|worker| worker.role != Role::Prefill.as_str());
    let capacities = generating.map(WorkerFit::capacity);
    let sum = |sum: Capacity, (fewest, most): (u64, u64)| Capacity {
        min: sum.min.saturating_add(fewest),
        max: sum.max.saturating_add(most),
    };
    capacities.collect::<Option<Vec<_>>>().map(|all| all.into_iter().fold(Capacity { min: 0, max: 0 }, sum))
}

/// The values of a plan that are secrets by the names of their fields, with what the report shows instead.
struct SecretValues {
    /// By the path of a field of the ModelDeployment.
    fields: BTreeMap<String, [Option<Value>; 2]>,
    /// By the object and the path in it.
    outputs: BTreeMap<(ObjectRef, String), [Option<Value>; 2]>,
}

impl SecretValues {
    fn find(
        fields: &[JsonDifference],
        documents: [&Value; 2],
        outputs: &[RenderedChange],
        objects: [&[Object]; 2],
    ) -> Self {
        let mask = |roots: [Option<&Value>; 2], path: &FieldPath, [before, after]: [&Option<Value>; 2]| {
            let [old_root, new_root] = roots.map(|root| root.unwrap_or(&Value::Null));
            let mask = |root: &Value, value: &Option<Value>| Some(mask_at(root, path, value.clone()?));
            let (old, new) = (mask(old_root, before), mask(new_root, after));
            (old != *before || new != *after).then_some([old, new])
        };
        let of_field = |it: &JsonDifference| {
            Some((it.path.to_string(), mask(documents.map(Some), &it.path, [&it.before, &it.after])?))
        };
        let of_output = |it: &RenderedChange| {
            let find = |objects: &'_ [Object]| objects.iter().position(|(object, _)| *object == it.object);
            let roots = objects.map(|objects| find(objects).and_then(|at| objects.get(at)).map(|(_, value)| value));
            let masked = mask(roots, &it.path, [&it.before, &it.after])?;
            Some(((it.object.clone(), it.path.to_string()), masked))
        };
        Self {
            fields: fields.iter().filter_map(of_field).collect(),
            outputs: outputs.iter().filter(|change| !change.is_whole()).filter_map(of_output).collect(),
        }
    }

    fn mask(&self, changes: &mut [Change]) {
        for change in changes {
            if let Cause::Field { path, before, after } = &mut change.cause
                && let Some([old, new]) = self.fields.get(path)
            {
                before.clone_from(old);
                after.clone_from(new);
            }
            for output in &mut change.outputs {
                if let Some([old, new]) = self.outputs.get(&(output.object.clone(), output.path.clone())) {
                    output.before.clone_from(old);
                    output.after.clone_from(new);
                }
            }
        }
    }
}

/// Returns whether a change only leaves out a declared default, which API servers write into an object.
fn leaves_out_default(change: &Change) -> bool {
    let Cause::Field { path, before: Some(value), after: None } = &change.cause else { return false };
    if *path == ModelDeployment::path().spec().scaling().replicas().to_string() {
        // A default of some groups only, so that it is not declared with the field.
        return change.outputs.is_empty() && *value == 1;
    }
    let default = declared_field(path).and_then(|field| field.facets.default);
    change.outputs.is_empty()
        && default
            .is_some_and(|default| kubefoundry_yaml::infallible::parse_builtin("default of a field", default) == *value)
}

/// The old state in the form that is compared with the new one.
struct Baseline<'s> {
    engine: Engine<'s>,
    objects: Vec<Object>,
    /// The change of the main object's CRD version, if there is one.
    version: Option<RenderedChange>,
}

/// Chooses the old state to compare with. Fields of different CRD versions are not comparable, so after a version
/// change the old deployment is rendered in the new version, as the API server would convert it.
fn choose_baseline<'s>(
    old: &RunDeployment<'_>,
    new: &RunDeployment<'_>,
    before: &Value,
    context: &PlanContext<'s>,
) -> Baseline<'s> {
    let main = |side: &RunDeployment<'_>| side.decision.objects.last().cloned();
    let old_engine = &context.old.engine;
    let unconverted = || Baseline { engine: old_engine.clone(), objects: old.objects(), version: None };
    let (Some(old_main), Some(new_main)) = (main(old), main(new)) else { return unconverted() };
    if !is_same(&old_main, &new_main) || old_main.api_version == new_main.api_version {
        return unconverted();
    }
    let in_new_version = old_engine.with_options(|options| {
        options.crd_versions.insert(old.provider(), new_main.api_version.to_string());
    });
    // The CRDs of the old run may lack the new version, so those of the new run are tried next.
    let with_new_crds = in_new_version.with(EnginePart::Crds, &context.new.engine);
    for engine in [in_new_version, with_new_crds] {
        if let Some(rendered) = engine.render(before, Thoroughness::Needed) {
            let version = RenderedChange {
                object: new_main.clone(),
                is_main: true,
                path: FieldPath::parse("apiVersion"),
                before: Some(Value::from(&*old_main.api_version)),
                after: Some(Value::from(&*new_main.api_version)),
            };
            return Baseline { engine, objects: rendered.objects, version: Some(version) };
        }
    }
    unconverted()
}

/// Returns the declaration of a field of a ModelDeployment.
fn declared_field(path: &str) -> Option<&'static FieldShape> {
    let (Shape::Object(deployment), Some(path)) = (ModelDeployment::SHAPE, FieldPath::try_parse(path)) else {
        return None;
    };
    deployment.field_at(&path)
}

/// Returns whether a field is declared as part of the deployment's identity.
fn is_identity(path: &str) -> bool {
    declared_field(path).is_some_and(|field| field.facets.identity)
}

/// Returns whether the identity of the deployment changes.
fn changes_identity(old: &RunDeployment<'_>, new: &RunDeployment<'_>, changes: &[Change]) -> bool {
    let group = |side: &RunDeployment<'_>| side.decision.object.api_version.clone();
    let changes_identity = |change: &Change| {
        matches!(&change.cause, Cause::Field { path, .. } if is_identity(path))
            && change.outputs.iter().any(|output| output.class != ChangeClass::None)
    };
    old.provider() != new.provider() || group(old) != group(new) || changes.iter().any(changes_identity)
}

/// Applies the CRD validation rules of the cluster. A change that they reject is refused, even if the provider's table
/// has another reaction.
fn apply_crd_rules(changes: &mut [Change], states: &StatePair<'_, '_>) {
    let Some(crds) = states.new.engine.crds() else { return };
    for (object, new) in states.new.objects {
        let Some((_, old)) = states.old.objects.iter().find(|(other, _)| is_same(object, other)) else { continue };
        if old == new {
            continue;
        }
        for (path, message) in crds.check_change(old, new) {
            let path = path.to_string();
            let affected = changes.iter_mut().flat_map(|change| &mut change.outputs);
            let affected = affected.filter(|output| output.object == *object && overlap(&output.path, &path));
            for output in affected {
                output.class = ChangeClass::Refused;
                output.source = format!("a rule of the CRD: {message}").into();
            }
        }
    }
    changes.iter_mut().for_each(Change::update_class);
}

/// Returns whether one of two paths contains the other.
fn overlap(one: &str, other: &str) -> bool {
    let contains = |outer: &str, inner: &str| {
        outer.is_empty()
            || inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    contains(one, other) || contains(other, one)
}

/// Merges other changes into a blue-green rollout. The second cluster is created from the whole object, so it also
/// applies fields that would be ignored or applied to the first cluster.
fn merge_into_blue_green(changes: &mut [Change]) {
    let is_blue_green = |output: &&OutputChange| output.class == ChangeClass::BlueGreen;
    let outputs = changes.iter().flat_map(|change| &change.outputs).filter(is_blue_green);
    let blue_green_objects: BTreeSet<ObjectRef> = outputs.map(|output| output.object.clone()).collect();
    for change in changes {
        for output in change.outputs.iter_mut().filter(|output| blue_green_objects.contains(&output.object)) {
            if matches!(output.class, ChangeClass::InPlace | ChangeClass::RollingRestart | ChangeClass::NoEffect) {
                output.class = ChangeClass::BlueGreen;
                output.source = "the second cluster, which other fields start, is made from all of the object".into();
            }
        }
        change.update_class();
    }
}

const IDENTITY_CHANGED: &str =
    "specification OP-3.1: on a change of identity the operator deletes and recreates the object";
const NOT_PATCHABLE: &str =
    "the provider refuses or ignores a part of the change: the operator deletes and recreates the object";

const NOT_PATCHABLE_IN_TURN: &str = "the provider refuses or ignores a part of the change: the operator deletes and recreates the object, one deployment of the provider after the other (PendingRecreate)";

/// Returns whether patching would leave part of a main object unchanged.
fn is_stuck(output: &OutputChange) -> bool {
    output.is_main && matches!(output.class, ChangeClass::Refused | ChangeClass::NoEffect)
}

/// Marks every change of the main object as a recreation: the operator replaces the object and patches nothing.
fn mark_recreated(changes: &mut [Change], reason: &'static str) {
    for change in changes {
        for output in change.outputs.iter_mut().filter(|output| output.is_main && output.class != ChangeClass::None) {
            output.class = ChangeClass::Recreate;
            output.source = reason.into();
        }
        change.update_class();
    }
}

/// Returns whether the deployment pauses the operator by annotation (docs/specification.md OP-4.2).
fn is_paused(document: &Value) -> bool {
    let annotations = document.pointer("/metadata/annotations");
    let annotation = |api_group: &ApiGroup| annotations?.get(api_group.label("reconcile-paused"))?.as_str();
    API_GROUPS.iter().any(|api_group| annotation(api_group) == Some("true"))
}

/// Marks every change as having no effect, because the operator does not apply it.
fn mark_paused(changes: &mut [Change]) {
    for change in changes {
        for output in change.outputs.iter_mut().filter(|output| output.class != ChangeClass::None) {
            output.class = ChangeClass::NoEffect;
            output.source =
                "specification OP-4.2: the annotation reconcile-paused keeps the operator from applying it".into();
        }
        change.update_class();
    }
}

/// Lists the objects that are created, deleted or changed.
fn object_plans(old: &RunDeployment<'_>, new: &RunDeployment<'_>) -> Vec<ObjectPlan> {
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
