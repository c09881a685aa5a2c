//! Transforms a single object into the form that the caller asked for.

use std::sync::Arc;

use serde_json::Value;

use super::environment::{Environment, PatchedDeployment};
use super::output_form::OutputForm;
use super::output_role::OutputRole;
use crate::pipeline::checks::installed_crds::{PatchedName, check_change, check_objects};
use crate::pipeline::checks::{pod_policy, skeletons};
use crate::pipeline::documents::identity_hash::IdentityHash;
use crate::reading::report_failure;
use kubefoundry_diagnostics::{Findings, ObjectRef};
use kubefoundry_kubernetes::api_group;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::manifest;
use kubefoundry_kubernetes::manifest::{Identity, Manifest};
use kubefoundry_kubernetes::wire::metadata;
use kubefoundry_transform::{
    AllSettings, AnyTransform, ChangedObject, Decision, InputObject, ObjectPosition, ObjectSet, PatchedObject,
    ServedName, StepBudget, Thoroughness, TransformOutput, owner_reference,
};

/// The result of a successful transformation.
#[derive(Debug, Clone)]
pub(crate) struct TransformedObject<O> {
    /// The decision, which names the objects.
    pub(crate) decision: Arc<Decision>,
    /// The name that requests give for the model.
    pub(crate) served_name: Option<ServedName>,
    pub(crate) objects: Vec<GeneratedObject<O>>,
}

impl<O> TransformedObject<O> {
    pub(crate) fn new(mut decision: Decision, objects: Vec<GeneratedObject<O>>) -> Self {
        decision.objects = objects.iter().map(GeneratedObject::reference).collect();
        Self { decision: Arc::new(decision), served_name: None, objects }
    }
}

impl TransformedObject<Value> {
    /// Converts the objects to another form. The set may have changed them since the decision was made.
    pub(crate) fn into_form<O: OutputForm>(self) -> TransformedObject<O> {
        let objects = self.objects.into_iter().map(GeneratedObject::into_form).collect();
        let decision = Arc::unwrap_or_clone(self.decision);
        TransformedObject { served_name: self.served_name, ..TransformedObject::new(decision, objects) }
    }
}

/// A generated object before the linker checks the set.
#[derive(Debug, Clone)]
pub(crate) struct GeneratedObject<O> {
    pub(crate) api_version: Arc<str>,
    pub(crate) identity: Arc<Identity>,
    pub(crate) identity_hash: IdentityHash,
    pub(crate) object: O,
    pub(crate) role: OutputRole,
}

impl<O> GeneratedObject<O> {
    /// Returns a reference for messages.
    fn reference(&self) -> ObjectRef {
        ObjectRef {
            api_version: self.api_version.clone(),
            kind: self.identity.kind.clone(),
            namespace: self.identity.namespace.clone(),
            name: self.identity.name.clone(),
        }
    }

    /// Returns a document of the input as an output object.
    pub(crate) fn from_input(header: &Header, object: O, role: OutputRole) -> Self {
        let Header { api_version, kind, namespace, name } = header;
        Self::new(api_version.clone(), Identity::new(api_version, kind, namespace.as_deref(), name), object, role)
    }

    fn new(api_version: Arc<str>, identity: Identity, object: O, role: OutputRole) -> Self {
        let identity_hash = IdentityHash::from(&identity);
        Self { api_version, identity: Arc::new(identity), identity_hash, object, role }
    }
}

impl<O: OutputForm> GeneratedObject<O> {
    fn from_manifest(manifest: Manifest, role: OutputRole) -> Self {
        let (api_version, identity) = (manifest.api_version.as_str().into(), manifest.identity());
        Self::new(api_version, identity, O::from_manifest(manifest), role)
    }
}

impl GeneratedObject<Value> {
    /// Converts the object to another form.
    fn into_form<O: OutputForm>(self) -> GeneratedObject<O> {
        let Self { api_version, identity, identity_hash, object, role } = self;
        GeneratedObject { api_version, identity, identity_hash, object: O::from_value(object), role }
    }
}

/// The outcome of a transformation.
#[derive(Debug)]
pub(crate) struct TransformOutcome<'d, O> {
    /// The result; `None` if the object could not be read.
    pub(crate) mapped: Option<TransformedObject<O>>,
    /// Objects of the set that the transformation changes.
    pub(crate) changed: Vec<ChangedObject>,
    /// Generated objects that patches changed.
    pub(crate) patched: Vec<PatchedObject>,
    pub(crate) findings: Findings<'d>,
}

/// Transforms an object that needs no other objects. An object that was read only partly has no result.
pub(crate) fn transform<'d, O: OutputForm>(
    transform: &dyn AnyTransform,
    object: &InputObject<'_>,
    environment: &Environment<'_>,
    steps: &mut StepBudget,
    mut findings: Findings<'d>,
) -> TransformOutcome<'d, O> {
    object.problems.iter().for_each(|problem| report_failure(problem, &mut findings));
    if object.problems.iter().any(|problem| problem.kind.is_limit()) {
        // Only a part of the object was read, so findings about the rest would be wrong.
        return TransformOutcome { mapped: None, changed: Vec::new(), patched: Vec::new(), findings };
    }
    let context = environment.context_for(&object.header);
    let set = ObjectSet { inputs: &[], generated: &[], context: &context, settings: context.settings };
    let mut out = TransformOutput::new(object, findings);
    out.steps = std::mem::take(steps);
    transform.run(object, &set, &mut out);
    *steps = std::mem::take(&mut out.steps);
    finish(transform, object, out, &set, environment)
}

/// Adds ownership to the generated objects, checks them against CRDs, and completes the decision.
pub(crate) fn finish<'d, O: OutputForm>(
    transform: &dyn AnyTransform,
    object: &InputObject<'_>,
    out: TransformOutput<'d>,
    set: &ObjectSet<'_, '_, AllSettings>,
    environment: &Environment<'_>,
) -> TransformOutcome<'d, O> {
    let TransformOutput {
        mut findings,
        mut manifests,
        finished,
        patched,
        passed_on,
        mut shared,
        changed,
        pod_parts,
        decision,
        served_name,
        ..
    } = out;
    mark_owned(transform, object, &mut manifests, environment.options.owner_references, &mut findings);
    let namespace = object.header.namespace.as_deref();
    for manifest in &mut shared {
        manifest.metadata.namespace = namespace.map(str::to_owned);
        manifest::mark_owned(manifest, api_group::DEFAULT, transform.owner_annotation(), None, manifest::ALL_OWNERS);
    }
    for ChangedObject { position, .. } in &changed {
        if let ObjectPosition::Input(index) = position
            && let Some(original) = set.inputs.get(*index)
        {
            // Rewriting the object would lose parts that strict parsing refuses.
            original.problems.iter().for_each(|problem| report_failure(problem, &mut findings));
        }
    }
    if let Some(judge) = environment.patch_judge.filter(|_| !patched.is_empty()) {
        let provider = decision.as_ref().and_then(Decision::provider);
        judge(
            PatchedDeployment { object, provider, finished: &finished, patched: &patched },
            environment,
            &mut findings,
        );
    }
    for object in &patched {
        let Some(manifest) = finished.get(object.position) else { continue };
        let name = format!("{} {}", manifest.kind, manifest.metadata.name);
        PatchedName { object, name: &name }.check_serve_config(&manifest.clone().into_json(), &mut findings);
    }
    // From here on the objects are final: transformed, marked and patched. What is checked below is what is written.
    if let Some(schemas) = environment.schemas {
        let generated = shared.iter().chain(&manifests).cloned().map(Manifest::into_json);
        check_objects(&generated.collect::<Vec<_>>(), schemas, &mut findings);
        for changed in &changed {
            check_change(&unchanged_object(changed, set), &changed.object, schemas, &mut findings);
        }
    }
    let release = decision.as_ref().and_then(|decision| environment.options.composition.operator_release(decision));
    let mut misfits: Vec<usize> = Vec::new();
    if let Some(skeletons) = environment.patch_skeletons {
        // A patch is checked in every run, because nothing else reads its fields.
        let misfit = |object: &PatchedObject| {
            let manifest = finished.get(object.position)?;
            (!skeletons.check_patched(object, manifest, release, &mut findings)).then_some(object.position)
        };
        misfits.extend(patched.iter().filter_map(misfit));
    }
    if let Some(skeletons) = environment.skeletons {
        // What does not fit a pod does not fit the objects that contain it either, and is reported once.
        let all_fit = skeletons::check_pod_parts(&pod_parts, &mut findings);
        if all_fit && environment.thoroughness != Thoroughness::Needed {
            let finished = finished.iter().enumerate().filter(|(index, _)| !misfits.contains(index));
            for manifest in shared.iter().chain(&manifests).chain(finished.map(|(_, manifest)| manifest)) {
                skeletons.check(manifest, release, &mut findings);
            }
            for changed in &changed {
                skeletons.check_change(&unchanged_object(changed, set), &changed.object, &mut findings);
            }
        }
    }
    pod_policy::check_pods(
        shared.iter().chain(&manifests).chain(&finished),
        changed.iter().map(|changed| (&changed.object, || unchanged_object(changed, set))),
        &environment.options.policy,
        &mut findings,
    );
    let Some(decision) = decision else { return TransformOutcome { mapped: None, changed, patched, findings } };
    let object_count = shared.len() + manifests.len() + finished.len() + usize::from(passed_on.is_some());
    let mut objects = Vec::with_capacity(object_count);
    objects.extend(shared.into_iter().map(|manifest| GeneratedObject::from_manifest(manifest, OutputRole::Shared)));
    let generated = manifests.into_iter().chain(finished);
    objects.extend(generated.map(|manifest| GeneratedObject::from_manifest(manifest, OutputRole::Generated)));
    let passed_on = passed_on.map(O::from_value);
    objects
        .extend(passed_on.map(|document| GeneratedObject::from_input(&object.header, document, OutputRole::PassedOn)));
    let mapped = Some(TransformedObject { served_name, ..TransformedObject::new(decision, objects) });
    TransformOutcome { mapped, changed, patched, findings }
}

/// Returns an object of the set as it was before a change.
fn unchanged_object(changed: &ChangedObject, set: &ObjectSet<'_, '_, AllSettings>) -> Value {
    let before = match changed.position {
        ObjectPosition::Input(position) => set.inputs.get(position).map(InputObject::to_json),
        ObjectPosition::Generated(position) => set.generated.get(position).map(|generated| generated.object.clone()),
    };
    before.unwrap_or_default()
}

/// Adds the namespace and ownership to objects.
fn mark_owned(
    transform: &dyn AnyTransform,
    object: &InputObject<'_>,
    manifests: &mut [Manifest],
    owner_references: bool,
    findings: &mut Findings<'_>,
) {
    let header = &object.header;
    let owner = (owner_references && !manifests.is_empty()).then(|| {
        let uid = object.root.at(&metadata().uid()).and_then(|uid| uid.as_str());
        owner_reference(header.api_version.to_string(), &header.kind, &header.name, uid, findings)
    });
    let owner = owner.flatten();
    for manifest in manifests {
        manifest.metadata.namespace = header.namespace.as_deref().map(str::to_owned);
        let annotation = transform.owner_annotation();
        manifest::mark_owned(manifest, api_group::DEFAULT, annotation, header.namespace.as_deref(), &header.name);
        // The data of a claim outlives the deployment, so the garbage collector must not delete it.
        if manifest.kind != "PersistentVolumeClaim" {
            manifest.metadata.owner_references.extend(owner.clone());
        }
    }
}
