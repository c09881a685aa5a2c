//! Decides whether raw patches change only what no field decides.
//!
//! A field decides a value if another value of the field changes it. That is measured, as in a trace: the deployment is
//! rendered without its patches, once for each other value of each field, and the outputs are compared. This happens
//! only if a patch changes or removes a generated value; most patches add fields.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::compare_outputs;
use super::field_change::{FieldChange, apply_edits, variants};
use super::output_difference::{OutputDifference, OutputPlace, leaves};
use crate::codes;
use crate::pipeline::documents::document::Document;
use crate::pipeline::rendering::attempt::{Attempt, InputDeployment};
use crate::pipeline::rendering::environment::{Environment, PatchedDeployment};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_model::patches::patch_paths;
use kubefoundry_provider::Provider;
use kubefoundry_transform::{PatchWrite, PatchedObject, StepBudget, Thoroughness};
use kubefoundry_yaml::field_path::FieldPath;

/// Approximate budget of values over all renderings of one deployment.
const MAX_TRIED_VALUES: usize = 250_000;

/// Step budget of the selection rules for all renderings, as a multiple of the budget of one.
const RULE_STEPS_FACTOR: u64 = 16;

/// Reports every value that a patch changes although a field decides it.
pub(crate) fn judge(subject: PatchedDeployment<'_>, environment: &Environment<'_>, findings: &mut Findings<'_>) {
    let mut contested = BTreeSet::new();
    let mut generated = BTreeMap::new();
    for object in subject.patched {
        let Some(manifest) = subject.finished.get(object.position) else { continue };
        let mut difference = OutputDifference::default();
        let after = manifest.clone().into_json();
        difference.compare(&object.before, &after, &OutputPlace::root(object.position));
        generated.extend(leaves(&object.before, &OutputPlace::root(object.position)));
        contested.extend(difference.changed);
    }
    if contested.is_empty() {
        return;
    }
    let Some(without_patches) = remove_patches(subject) else { return };
    let Some(deployment) = InputDeployment::new(&without_patches, environment) else { return };
    let steps = environment.options.rule_limits.steps.saturating_mul(RULE_STEPS_FACTOR);
    let steps = &mut StepBudget::new(steps);
    let base = deployment.run(Thoroughness::Needed, steps);
    let fields = deployment.deployment().map(|deployment| deployment.leaves()).unwrap_or_default();
    if base.is_refused() {
        report_undecided(subject, &contested, "the deployment has errors without its patches", findings);
        return;
    }
    if fields.len().saturating_mul(fields.len()) > MAX_TRIED_VALUES {
        report_undecided(subject, &contested, "the deployment has too many fields to try them all", findings);
        return;
    }
    let provider = subject.provider.and_then(|name| environment.options.composition.find_provider(name));
    let trial = Trial { deployment, base: &base, provider, contested: &contested };
    let mut owners: Vec<(FieldPath, BTreeSet<OutputPlace>)> = Vec::new();
    for field in fields.into_iter().filter(|field| may_decide(&field.path)) {
        // A value that is nested too deeply to be read back cannot be changed as a whole.
        let Ok(value) = serde_json::from_str(&field.value) else { continue };
        let decided = trial.decided_places(&field.path, &value, steps);
        if !decided.is_empty() {
            owners.push((field.path, decided));
        }
    }
    // The field with the fewest effects says most precisely what to change instead.
    owners.sort_by_key(|(_, decided)| decided.len());
    let mut reported = BTreeSet::new();
    for place in &contested {
        let Some((field, _)) = owners.iter().find(|(_, decided)| decided.contains(place)) else { continue };
        let Some((patch, value)) = describe(subject, place) else { continue };
        // A removal may concern many values.
        if reported.insert(patch.clone()) {
            let message = format!("{value} cannot be patched: {field} decides it");
            let help = match generated.get(place).filter(|_| is_written_alone(subject, place)) {
                Some(value) => format!("change {field}; in the patch, use the same value ({value}) or omit it"),
                None => format!("change {field}, and omit it in the patch"),
            };
            findings.report(&codes::PATCH_OF_OWNED_VALUE, &patch, message).help(help);
        }
    }
}

/// Returns the deployment without its patches and with its provider by name, so that no other one is selected.
fn remove_patches(subject: PatchedDeployment<'_>) -> Option<Document<'_>> {
    let mut root = subject.object.root.clone();
    let overrides = root.at(&FieldPath::from(ModelDeployment::path().spec().provider().overrides())).cloned();
    if let Some(api_group) = ApiGroup::find(subject.object.header.group()) {
        for path in patch_paths(overrides.as_ref(), api_group) {
            FieldChange::remove(path).apply(&mut root);
        }
    }
    let provider = FieldChange::set(ModelDeployment::path().spec().provider().name(), subject.provider?.to_owned());
    provider.apply(&mut root);
    let mut document = Document::without_text(subject.object.source, root);
    document.object.header = subject.object.header.clone();
    Some(document)
}

/// Returns whether a field can decide single values. The identity of the kind and the provider decide which objects there
/// are, and the serving mode cannot change without the fields of the other mode.
fn may_decide(path: &FieldPath) -> bool {
    let deployment = ModelDeployment::path;
    let others: [FieldPath; 4] = [
        deployment().api_version().into(),
        deployment().kind().into(),
        deployment().spec().provider().name().into(),
        deployment().spec().serving().mode().into(),
    ];
    !others.contains(path)
}

/// Returns whether another value of a field gives components other names, so that values in them vanish that it
/// does not decide.
fn renames_components(path: &FieldPath) -> bool {
    *path == FieldPath::from(ModelDeployment::path().spec().engine().engine_type())
}

/// A deployment without patches, whose fields get other values.
struct Trial<'t, 'p> {
    deployment: InputDeployment<'p>,
    base: &'t Attempt,
    provider: Option<&'static dyn Provider>,
    /// The values that patches change.
    contested: &'t BTreeSet<OutputPlace>,
}

impl Trial<'_, '_> {
    /// Returns the contested values that another value of a field changes.
    fn decided_places(&self, path: &FieldPath, value: &Value, steps: &mut StepBudget) -> BTreeSet<OutputPlace> {
        let root = self.deployment.root();
        for variant in variants(path, value, root, &[], self.provider).into_iter().filter(|it| !it.removes_parent) {
            let Some(changed) = apply_edits(root, &variant.edits) else { continue };
            let other = self.deployment.attempt(changed, Thoroughness::Needed, steps);
            if other.is_refused() {
                continue;
            }
            let (difference, _) = compare_outputs(self.base, &other);
            // An object of another kind says nothing about the values in it.
            if difference.is_empty() || difference.replaces_object() {
                continue;
            }
            let remaining = renames_components(path).then(|| places(&other.objects));
            let is_decided = |place: &OutputPlace| {
                self.contested.contains(place) && remaining.as_ref().is_none_or(|places| places.contains(place))
            };
            return difference.changed.into_iter().filter(is_decided).collect();
        }
        BTreeSet::new()
    }
}

/// Returns the places of all values of an output.
fn places(objects: &[Value]) -> BTreeSet<OutputPlace> {
    let places = objects.iter().enumerate().flat_map(|(position, object)| leaves(object, &OutputPlace::root(position)));
    places.map(|(place, _)| place).collect()
}

/// Returns whether a patch writes exactly this value, and not something that contains it.
fn is_written_alone(subject: PatchedDeployment<'_>, place: &OutputPlace) -> bool {
    let mut objects = subject.patched.iter().filter(|object| object.position == place.object);
    let is_place = |write: &PatchWrite| write.path == place.path && write.inside == place.inside;
    objects.any(|object| object.writes.iter().any(is_place))
}

/// Reports changed values of a deployment for which the deciding fields cannot be found.
fn report_undecided(
    subject: PatchedDeployment<'_>,
    contested: &BTreeSet<OutputPlace>,
    reason: &str,
    findings: &mut Findings<'_>,
) {
    let Some((patch, value)) = contested.first().and_then(|place| describe(subject, place)) else { return };
    let message = format!("{value} cannot be patched, because the field that decides it is not known: {reason}");
    findings
        .report(&codes::PATCH_OF_OWNED_VALUE, &patch, message)
        .help("patch only fields that are not generated without the patch");
}

/// Returns the field of the patch that changes a value, and the name of the value in messages.
fn describe(subject: PatchedDeployment<'_>, place: &OutputPlace) -> Option<(FieldPath, String)> {
    let is_object = |object: &&PatchedObject| object.position == place.object;
    let object = subject.patched.iter().find(is_object)?;
    let Manifest { kind, metadata, .. } = subject.finished.get(place.object)?;
    let patch = object.patch_of(&place.path, place.inside.as_ref());
    let inside = place.inside.as_ref().map(|inside| format!("{inside} in ")).unwrap_or_default();
    let patch = patch.unwrap_or_else(|| object.patches.clone());
    Some((patch, format!("{inside}{} of {kind} {}", place.path, metadata.name)))
}
