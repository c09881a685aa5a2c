//! Runs transformations that look at other objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::pipeline::rendering::environment::Environment;
use crate::pipeline::rendering::output_role::OutputRole;
use crate::pipeline::rendering::transform_object::{self, GeneratedObject, TransformOutcome, TransformedObject};
use crate::pipeline::results::document_results::{DocumentResults, ObjectResult, SetObject};
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::manifest::Identity;
use kubefoundry_model::composition::Composition;
use kubefoundry_transform::{
    AnyTransform, ChangedObject, GeneratedResource, InputObject, ObjectPosition, ObjectSet, TransformOutput,
};

/// Runs the transformations, one after the other, each over its objects in input order.
pub(crate) fn transform(results: &mut DocumentResults<'_, Value>, environment: &Environment<'_>) {
    let mut set_objects = std::mem::take(&mut results.set);
    remove_copies(environment.options.composition, &mut set_objects);
    let (objects, positions): (Vec<InputObject<'_>>, Vec<SetPosition>) =
        set_objects.into_iter().map(SetPosition::split).unzip();
    let (generated, generated_positions) = generated_resources(results);
    let context = environment.context();
    let set = ObjectSet { inputs: &objects, generated: &generated, context: &context, settings: context.settings };
    let mut all_changed = Vec::new();
    for transform in environment.options.composition.transforms().iter().filter(|transform| transform.needs_set()) {
        for (object, set_position) in objects.iter().zip(&positions) {
            let own_result = set_position.transformed.filter(|(owner, _)| owner.kind() == transform.kind());
            let Some((_, position)) = own_result else { continue };
            let mut out = TransformOutput::new(object, Findings::new(object.scope()));
            transform.run(object, &set, &mut out);
            let TransformOutcome { mapped, changed, findings, .. } =
                transform_object::finish(*transform, object, out, &set, environment);
            for finding in findings.into_diagnostics() {
                results.findings.add(finding);
            }
            if let Some(result) = results.transformed.get_mut(position) {
                result.mapped = mapped.map(Arc::new);
            }
            all_changed.extend(changed.into_iter().map(|changed| (Some(position), changed)));
        }
    }
    // Which earlier changes still have a cause is known only after the first pass, so a second one revisits all
    // objects.
    for (index, object) in objects.iter().enumerate() {
        for transform in environment.options.composition.transforms().iter().filter(|transform| transform.needs_set()) {
            let mut out = TransformOutput::new(object, Findings::new(object.scope()));
            transform.revisit(index, &set, &mut out);
            let outcome: TransformOutcome<'_, Value> =
                transform_object::finish(*transform, object, out, &set, environment);
            for finding in outcome.findings.into_diagnostics() {
                results.findings.add(finding);
            }
            all_changed.extend(outcome.changed.into_iter().map(|changed| (None, changed)));
        }
    }
    deduplicate_shared(results);
    apply_changes(results, all_changed, &objects, &positions, &generated_positions);
}

/// Removes changed copies of input objects from an earlier run: `--out-dir` may be below the input. A copy has the
/// annotation of the transformation that changed it, and its original does not.
fn remove_copies(composition: &Composition, set_objects: &mut Vec<SetObject<'_>>) {
    let is_changed = |set_object: &SetObject<'_>| {
        let annotations = set_object.object.root.get("metadata").and_then(|metadata| metadata.get("annotations"));
        set_object.transformed.is_none()
            && composition
                .change_annotations()
                .any(|key| annotations.is_some_and(|annotations| annotations.get(key).is_some()))
    };
    if !set_objects.iter().any(is_changed) {
        return;
    }
    let identity = |set_object: &SetObject<'_>| {
        let Header { api_version, kind, namespace, name } = &set_object.object.header;
        Identity::new(api_version, kind, namespace.as_deref(), name)
    };
    let originals: BTreeSet<Identity> =
        set_objects.iter().filter(|set_object| !is_changed(set_object)).map(identity).collect();
    set_objects.retain(|set_object| !is_changed(set_object) || !originals.contains(&identity(set_object)));
}

/// The position of an object of the set among the results.
#[derive(Clone, Copy)]
struct SetPosition {
    input: usize,
    transformed: Option<(&'static dyn AnyTransform, usize)>,
}

impl SetPosition {
    fn split(set_object: SetObject<'_>) -> (InputObject<'_>, Self) {
        let SetObject { input, object, transformed } = set_object;
        (object, Self { input, transformed })
    }
}

/// Returns the objects that models generated, each with the position of its result and its own position there.
fn generated_resources(results: &DocumentResults<'_, Value>) -> (Vec<GeneratedResource>, Vec<(usize, usize)>) {
    let resources_of_result = |(index, result): (usize, &ObjectResult<Value>)| {
        let objects = result.mapped.as_deref().map(|mapped| mapped.objects.as_slice()).unwrap_or_default();
        let objects = objects.iter().enumerate().filter(|(_, generated)| generated.role == OutputRole::Generated);
        let generated = objects.map(|(position, generated)| {
            let GeneratedObject { api_version, identity, object, .. } = generated;
            let (api_version, identity, object) = (api_version.to_string(), Identity::clone(identity), object.clone());
            (GeneratedResource { api_version, identity, object }, (index, position))
        });
        generated.collect::<Vec<_>>()
    };
    results.transformed.iter().enumerate().flat_map(resources_of_result).unzip()
}

/// Removes shared objects that equal an earlier one. Different ones with one identity are a collision, which the linker
/// reports.
fn deduplicate_shared(results: &mut DocumentResults<'_, Value>) {
    let mut first_objects: BTreeMap<Arc<Identity>, Value> = BTreeMap::new();
    let has_shared = |mapped: &&mut Arc<TransformedObject<Value>>| {
        mapped.objects.iter().any(|generated| generated.role == OutputRole::Shared)
    };
    let all_mapped = results.transformed.iter_mut().filter_map(|result| result.mapped.as_mut());
    for mapped in all_mapped.filter(has_shared) {
        Arc::make_mut(mapped).objects.retain(|generated| {
            if generated.role != OutputRole::Shared {
                return true;
            }
            if let Some(first) = first_objects.get(&generated.identity) {
                return *first != generated.object;
            }
            first_objects.insert(generated.identity.clone(), generated.object.clone());
            true
        });
    }
}

/// Replaces changed objects, or adds them to the output of the transformation that changed them.
fn apply_changes(
    results: &mut DocumentResults<'_, Value>,
    all_changed: Vec<(Option<usize>, ChangedObject)>,
    objects: &[InputObject<'_>],
    positions: &[SetPosition],
    generated_positions: &[(usize, usize)],
) {
    for (changed_by, ChangedObject { position, object }) in all_changed {
        match position {
            ObjectPosition::Generated(position) => {
                let generated = generated_positions.get(position).and_then(|(result, position)| {
                    let mapped = results.transformed.get_mut(*result)?.mapped.as_mut()?;
                    Arc::make_mut(mapped).objects.get_mut(*position)
                });
                if let Some(generated) = generated {
                    generated.object = object;
                }
            }
            ObjectPosition::Input(position) => {
                let (Some(original), Some(set_position)) = (objects.get(position), positions.get(position)) else {
                    continue;
                };
                let header = &original.header;
                let generated = GeneratedObject::from_input(header, object, OutputRole::Changed);
                let mapped = changed_by.and_then(|result| results.transformed.get_mut(result)?.mapped.as_mut());
                if let Some(mapped) = mapped {
                    Arc::make_mut(mapped).objects.push(generated);
                } else {
                    let changed = TransformedObject::new(original.undecided(), vec![generated]);
                    results.add_changed(set_position.input, changed);
                }
            }
        }
    }
}
