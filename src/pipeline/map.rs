//! One deployment on its own. No deployment sees another, so the order of documents changes nothing but the
//! order of what comes out.

use std::sync::Arc;

use serde_json::Value;

use super::conformance;
use super::document::Document;
use super::form::Form;
use super::{Decision, Field, Gpus, OutputRole, Thoroughness};
use crate::codes;
use crate::options::Options;
use kubefoundry_crd::Crds;
use kubefoundry_diagnostics::{Findings, ObjectRef, Severity};
use kubefoundry_kubernetes::api_group::Dialect;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::manifest;
use kubefoundry_kubernetes::manifest::{Identity, Manifest, OwnerReference};
use kubefoundry_kubernetes::wire::{Read as _, Reader};
use kubefoundry_model::catalog::Catalog;
use kubefoundry_model::ir::{Deployment, LeafEntry};
use kubefoundry_model::provider::{Context, SchemaQuery};
use kubefoundry_model::providers;
use kubefoundry_model::rule_types::Variables;
use kubefoundry_model::select;
use kubefoundry_model::select::{Chosen, Selection, Steps};
use kubefoundry_model::validate;
use kubefoundry_model::wire::{InferenceProviderConfig, ModelDeployment};
use kubefoundry_yaml::field_path::FieldPath;

/// What every deployment is mapped with.
#[derive(Debug)]
pub(super) struct Setting<'s> {
    pub(super) catalog: &'s Catalog,
    pub(super) crds: Option<&'s Crds<'s>>,
    pub(super) options: &'s Options,
    pub(super) thoroughness: Thoroughness,
    /// The choice that was made before, which is kept.
    pub(super) chosen: Option<&'s Chosen>,
    /// Whether objects are kept that transformations may need to see.
    pub(super) keeps_set: bool,
}

/// What a deployment became.
#[derive(Debug)]
pub(super) struct Mapped<O> {
    /// What was decided.
    pub(super) decision: Decision,
    /// Its objects.
    pub(super) objects: Vec<Made<O>>,
}

/// An object before the set is looked at.
#[derive(Debug)]
pub(super) struct Made<O> {
    pub(super) api_version: Arc<str>,
    pub(super) identity: Identity,
    pub(super) object: O,
    pub(super) role: OutputRole,
}

impl<O> Made<O> {
    /// The object in messages.
    pub(super) fn reference(&self) -> ObjectRef {
        ObjectRef {
            api_version: self.api_version.clone(),
            kind: self.identity.kind.clone(),
            namespace: self.identity.namespace.clone(),
            name: self.identity.name.clone(),
        }
    }
}

impl<O: Form> Made<O> {
    pub(super) fn generated(manifest: Manifest) -> Self {
        Self {
            api_version: manifest.api_version.as_str().into(),
            identity: manifest.identity(),
            object: O::generated(manifest),
            role: OutputRole::Generated,
        }
    }

    fn passed_on(header: &Header, object: Value) -> Self {
        let Header { api_version, kind, namespace, name } = header;
        let identity = Identity::new(api_version, kind, namespace.as_deref(), name);
        Self { api_version: api_version.clone(), identity, object: O::of(object), role: OutputRole::PassedOn }
    }
}

impl Made<Value> {
    /// The same in another form.
    pub(super) fn into_form<O: Form>(self) -> Made<O> {
        let Self { api_version, identity, object, role } = self;
        Made { api_version, identity, object: O::of(object), role }
    }
}

/// Reads a patch, a part of an object, for what is wrong with it.
pub(super) fn patch(document: &Document<'_>, findings: &mut Findings<'_>) {
    document.report_problems(findings);
    let (root, mut reader) = (FieldPath::root(), Reader::of_patch(findings));
    if &*document.header.kind == "ModelDeployment" {
        ModelDeployment::read(&document.root, &root, &mut reader);
    } else {
        InferenceProviderConfig::read(&document.root, &root, &mut reader);
    }
}

/// Maps a deployment; none when it could not be read.
pub(super) fn deployment<O: Form>(
    document: &Document<'_>,
    setting: &Setting<'_>,
    steps: &mut Steps,
    findings: &mut Findings<'_>,
) -> Option<Mapped<O>> {
    let (decision, objects) = one(document, setting, steps, findings)?;
    Some(Mapped { decision, objects })
}

fn one<O: Form>(
    document: &Document<'_>,
    setting: &Setting<'_>,
    steps: &mut Steps,
    findings: &mut Findings<'_>,
) -> Option<(Decision, Vec<Made<O>>)> {
    document.report_problems(findings);
    if document.is_partial() {
        // What was read of it is a part; anything said about the rest would be wrong.
        return None;
    }
    let dialect = Dialect::of_group(document.header.group())?;
    let wire = ModelDeployment::read(&document.root, &FieldPath::root(), &mut Reader::strict(findings))?;
    let engine = select::default_engine(&wire, dialect, setting.catalog);
    let deployment = validate::validate_for(&wire, dialect, engine, findings)?;
    if !findings.has_errors() {
        let (decision, objects) = select_and_translate(document, &deployment, setting, steps, findings);
        if let Some(name) = decision.provider()
            && objects.is_empty()
            && !findings.has_errors()
        {
            // A provider that gives up says why. One that does not must still not pass for a success.
            let display = providers::find(name).map_or(name, |provider| provider.display_name());
            let (engine, mode) = (deployment.engine.kind, deployment.workload.mode());
            let message = format!("{display} cannot render {engine} in {mode} mode");
            findings.report(&codes::ENGINE_NOT_SUPPORTED, "spec.engine.type", message);
        }
        return Some((decision, objects));
    }
    // Nothing will come out, but what else is wrong is found in the same run. Of a provider that was selected after an
    // error only errors are of use: with the error mended, it may be another.
    let mut later = Findings::new(document.scope());
    let (decision, _) = select_and_translate::<O>(document, &deployment, setting, steps, &mut later);
    let explicit = decision.selection.as_ref().is_some_and(|selection| selection.explicit);
    let least = if explicit { Severity::Warning } else { Severity::Error };
    // The provider's own word about GPUs stands beside the engine's (MD-2.1 and MD-2.7).
    findings.absorb(later, least, &codes::PROVIDER_REQUIRES_GPU);
    Some((decision, Vec::new()))
}

fn select_and_translate<O: Form>(
    document: &Document<'_>,
    deployment: &Deployment,
    setting: &Setting<'_>,
    steps: &mut Steps,
    findings: &mut Findings<'_>,
) -> (Decision, Vec<Made<O>>) {
    let Setting { catalog, crds, options, thoroughness, chosen, .. } = *setting;
    let dialect = deployment.dialect;
    let every_rule = thoroughness != Thoroughness::Needed;
    let kept = chosen.filter(|_| deployment.provider.name.is_none());
    let mut selection = kept.map_or_else(
        || {
            let variables = Variables::new(&document.root, deployment);
            select::select(deployment, catalog, variables, every_rule, steps, findings)
        },
        Selection::kept,
    );
    let keeps_all = thoroughness == Thoroughness::Everything;
    if !keeps_all {
        // Of many deployments and many rules, more than the rest of the run.
        selection.candidates = Vec::new();
    }
    let mut decision = Decision::new(document.header.object(), document.source, document.index);
    decision.gpus = gpus(deployment);
    if keeps_all {
        decision.fields = fields(deployment);
    }
    let selection = decision.selection.insert(selection);
    let Some(name) = selection.provider.clone() else { return (decision, Vec::new()) };
    let Some(provider) = providers::find(&name) else {
        select::check_claims(&name, deployment, catalog, findings);
        let passed_on = pass_on(document, dialect, selection, findings);
        return (decision, vec![Made::passed_on(&document.header, passed_on)]);
    };
    let before = findings.errors();
    select::check_compatibility(&name, deployment, catalog, selection.explicit, findings);
    if findings.errors() > before {
        return (decision, Vec::new());
    }
    let Some(target) = conformance::target(provider, options, crds, findings) else {
        return (decision, Vec::new());
    };
    let pinned = options.runtimes.get(&name).map(String::as_str);
    let runtime = pinned.or_else(|| provider.runtimes().first().copied()).unwrap_or_default().to_owned();
    let schemas = crds.map(conformance::Schemas);
    let context = Context {
        target: &target,
        runtime: &runtime,
        runtime_pinned: pinned.is_some(),
        images: &options.images,
        schemas: schemas.as_ref().map(|schemas| schemas as &dyn SchemaQuery),
        settings: &options.settings,
    };
    let translation = provider.translate(deployment, &context, findings);
    decision.target = Some(target);
    decision.runtime = (!runtime.is_empty()).then_some(runtime);
    let Some(translation) = translation else { return (decision, Vec::new()) };
    decision.endpoint = Some(translation.endpoint);
    let manifests = own(translation.manifests, deployment, decision.reason(), options, findings);
    if let Some(crds) = crds {
        decision.schema_fingerprint = conformance::check(&manifests, provider, crds, findings);
    }
    let mut objects: Vec<Made<O>> = manifests.into_iter().map(Made::generated).collect();
    // `collect` may have kept the room that the manifests took, which is many times what their texts' owners need.
    objects.shrink_to_fit();
    (decision, objects)
}

/// The GPUs that a deployment asks for, each type once, in the order of its workers.
fn gpus(deployment: &Deployment) -> Vec<Gpus> {
    let mut all: Vec<Gpus> = Vec::new();
    for worker in deployment.workload.workers() {
        let count = u64::from(worker.replicas.value) * u64::from(worker.gpu_count.value);
        let resource = worker.gpu_type.value.as_str();
        match all.iter_mut().find(|gpus| *gpus.resource == *resource) {
            Some(gpus) => gpus.count += count,
            None if count > 0 => all.push(Gpus { resource: resource.into(), count }),
            None => {}
        }
    }
    all
}

fn fields(deployment: &Deployment) -> Vec<Field> {
    let field = |leaf: LeafEntry| Field { path: leaf.path.to_string(), value: leaf.value, origin: leaf.origin };
    deployment.leaves().into_iter().map(field).collect()
}

/// Adds to every object what says whose it is: namespace, labels, annotations, owner.
fn own(
    mut manifests: Vec<Manifest>,
    deployment: &Deployment,
    reason: Option<&str>,
    options: &Options,
    findings: &mut Findings<'_>,
) -> Vec<Manifest> {
    let dialect = deployment.dialect;
    let metadata = &deployment.metadata;
    let owner = options.owner_references.then(|| {
        let (api_version, uid) = (dialect.api_version(), metadata.uid.as_deref());
        owner(api_version, "ModelDeployment", &metadata.name, uid, findings)
    });
    let owner = owner.flatten();
    let main = manifests.len().saturating_sub(1);
    for (position, manifest) in manifests.iter_mut().enumerate() {
        manifest.metadata.namespace.clone_from(&metadata.namespace);
        let labelled = dialect.labels_claims || manifest.kind != "PersistentVolumeClaim";
        let own = metadata.labels.iter().filter(|(key, _)| labelled && key.starts_with(dialect.label_prefix));
        for (key, value) in own {
            manifest.metadata.labels.insert(key.clone(), Value::from(value.as_str()));
        }
        let namespace = metadata.namespace.as_deref();
        manifest::mark_owned(manifest, dialect, manifest::MODEL_DEPLOYMENT, namespace, &metadata.name);
        if position == main
            && let Some(reason) = reason
        {
            manifest.metadata.annotations.insert(dialect.label("selected-reason"), Value::from(reason));
        }
        // A claim's data outlives us: it is not collected with the deployment.
        if manifest.kind != "PersistentVolumeClaim" {
            manifest.metadata.owner_references.extend(owner.clone());
        }
    }
    manifests
}

/// The owner, with the uid of the input: with a stale or made-up one the garbage collector would delete the workload.
pub(super) fn owner(
    api_version: String,
    kind: &str,
    name: &str,
    uid: Option<&str>,
    findings: &mut Findings<'_>,
) -> Option<OwnerReference> {
    let Some(uid) = uid else {
        findings
            .report(
                &codes::OWNER_WITHOUT_UID,
                "metadata",
                "ownerReferences need metadata.uid, and the input has none, expected an object read from the cluster",
            )
            .help("turn ownerReferences off where manifests are rendered from git");
        return None;
    };
    let (kind, name, uid) = (kind.to_owned(), name.to_owned(), uid.to_owned());
    Some(OwnerReference { api_version, kind, name, uid, controller: true, block_owner_deletion: true })
}

/// The document as JSON, with the apiVersion and kind that it may have from its list.
pub(super) fn with_header(document: &Document<'_>) -> Value {
    let header = [("apiVersion", &document.header.api_version), ("kind", &document.header.kind)];
    let mut object: serde_json::Map<String, Value> =
        header.into_iter().map(|(key, value)| (key.to_owned(), Value::from(&**value))).collect();
    if let Value::Object(fields) = document.root.to_json() {
        object.extend(fields);
    }
    Value::Object(object)
}

/// The ModelDeployment with the annotations that its provider's own function, further down a pipeline, takes it by.
fn pass_on(document: &Document<'_>, dialect: &Dialect, selection: &Selection, findings: &mut Findings<'_>) -> Value {
    let provider = selection.provider.as_deref().unwrap_or_default();
    findings
        .report(
            &codes::PASSED_ON,
            if selection.explicit { "spec.provider.name" } else { "spec" },
            format!("provider {provider:?} is not rendered here; the ModelDeployment is passed on to it"),
        )
        .help(format!(
            "its own controller, or its function in the pipeline, takes it by {}",
            dialect.label("provider")
        ));
    let mut object = with_header(document);
    let metadata = object.as_object_mut().and_then(|object| object.get_mut("metadata")).and_then(Value::as_object_mut);
    if let Some(metadata) = metadata {
        let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(serde_json::Map::new()));
        if annotations.is_null() {
            *annotations = Value::Object(serde_json::Map::new());
        }
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(dialect.label("provider"), Value::from(provider));
            let reason = selection.reason.as_deref().unwrap_or_default();
            annotations.insert(dialect.label("selected-reason"), Value::from(reason));
        }
    }
    object
}
