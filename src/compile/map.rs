//! Phase 2: each deployment on its own. No deployment sees another, so the order of documents changes nothing but the
//! order of what comes out.

use serde_json::Value;

use super::document::Document;
use super::index::Index;
use super::{Decision, Field, Thoroughness};
use crate::diagnostic::{Diagnostic, Findings, Severity, codes};
use crate::dialect::Dialect;
use crate::manifest::{self, Manifest, OwnerReference};
use crate::model::catalog::Catalog;
use crate::model::ir::{Deployment, LeafEntry};
use crate::model::provider::Context;
use crate::model::providers;
use crate::model::rule_types;
use crate::model::select::{self, Selection};
use crate::model::validate;
use crate::options::Options;
use crate::path::FieldPath;
use crate::wire::{InferenceProviderConfig, ModelDeployment, Read as _, Reader};

/// One deployment and what it became.
#[derive(Debug)]
pub(super) struct Mapped {
    /// Its position among the index's deployments.
    pub(super) deployment: usize,
    /// What was decided.
    pub(super) decision: Decision,
    /// Its objects.
    pub(super) objects: Vec<Mark>,
}

/// An object before the set is looked at.
#[derive(Debug)]
pub(super) enum Mark {
    /// A generated object.
    Generated(Box<Manifest>),
    /// The ModelDeployment itself, annotated.
    PassedOn(Value),
}

/// Maps every deployment; patches are only read.
pub(super) fn map(
    index: &Index<'_>,
    catalog: &Catalog,
    options: &Options,
    thoroughness: Thoroughness,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Mapped> {
    for patch in &index.patches {
        let mut findings = Findings::new(patch.scope());
        patch.report_problems(&mut findings);
        let (root, mut reader) = (FieldPath::root(), Reader::of_patch(&mut findings));
        if patch.header.kind == "ModelDeployment" {
            ModelDeployment::read(&patch.root, &root, &mut reader);
        } else {
            InferenceProviderConfig::read(&patch.root, &root, &mut reader);
        }
        diagnostics.extend(findings.into_diagnostics());
    }
    let mut all = Vec::new();
    for (position, document) in index.deployments.iter().enumerate() {
        let mut findings = Findings::new(document.scope());
        if let Some((decision, objects)) = one(document, catalog, options, thoroughness, &mut findings) {
            all.push(Mapped { deployment: position, decision, objects });
        }
        diagnostics.extend(findings.into_diagnostics());
    }
    all
}

fn one(
    document: &Document<'_>,
    catalog: &Catalog,
    options: &Options,
    thoroughness: Thoroughness,
    findings: &mut Findings<'_>,
) -> Option<(Decision, Vec<Mark>)> {
    document.report_problems(findings);
    if document.is_partial() {
        // What was read of it is a part; anything said about the rest would be wrong.
        return None;
    }
    let dialect = Dialect::of_group(document.header.group())?;
    let wire = ModelDeployment::read(&document.root, &FieldPath::root(), &mut Reader::strict(findings))?;
    let deployment = validate::validate(&wire, dialect, findings)?;
    if !findings.has_errors() {
        return Some(select_and_translate(document, &deployment, catalog, options, thoroughness, findings));
    }
    // Nothing will come out, but what else is wrong is found in the same run. Of a provider that was selected after an
    // error only errors are of use: with the error mended, it may be another.
    let mut later = Findings::new(document.scope());
    let (decision, _) = select_and_translate(document, &deployment, catalog, options, thoroughness, &mut later);
    let least = if decision.selection.explicit { Severity::Warning } else { Severity::Error };
    // The provider's own word about GPUs stands beside the engine's (spec/1 §8 has both).
    findings.absorb(later, least, &codes::PROVIDER_REQUIRES_GPU);
    Some((decision, Vec::new()))
}

fn select_and_translate(
    document: &Document<'_>,
    deployment: &Deployment,
    catalog: &Catalog,
    options: &Options,
    thoroughness: Thoroughness,
    findings: &mut Findings<'_>,
) -> (Decision, Vec<Mark>) {
    let dialect = deployment.dialect;
    let every_rule = thoroughness == Thoroughness::Everything;
    let variables = || rule_types::variables(&document.root, deployment);
    let selection = select::select(deployment, catalog, variables, every_rule, findings);
    let mut decision = Decision {
        object: document.header.object(),
        source: document.source,
        document: document.index,
        selection,
        target: None,
        runtime: None,
        endpoint: None,
        objects: Vec::new(),
        fields: if every_rule { fields(deployment) } else { Vec::new() },
    };
    let Some(name) = decision.selection.provider.clone() else { return (decision, Vec::new()) };
    let Some(provider) = providers::find(&name) else {
        select::check_claims(&name, deployment, catalog, findings);
        let passed_on = pass_on(document, dialect, &decision.selection, findings);
        return (decision, vec![Mark::PassedOn(passed_on)]);
    };
    let before = findings.errors();
    select::check_compatibility(&name, deployment, catalog, decision.selection.explicit, findings);
    if findings.errors() > before {
        return (decision, Vec::new());
    }
    let target = options.target(provider).to_owned();
    let pinned = options.runtimes.get(&name).map(String::as_str);
    let runtime = pinned.or_else(|| provider.runtimes().first().copied()).unwrap_or_default().to_owned();
    let context = Context {
        target: &target,
        runtime: &runtime,
        runtime_pinned: pinned.is_some(),
        images: &options.images,
        kaito_node_auto_provisioning: options.kaito_node_auto_provisioning,
    };
    let translation = provider.translate(deployment, &context, findings);
    decision.target = Some(target);
    decision.runtime = (!runtime.is_empty()).then_some(runtime);
    let Some(translation) = translation else {
        if findings.errors() == before {
            // A provider that gives up says why. One that does not must still not pass for a success.
            let (engine, mode) = (deployment.engine.kind, deployment.workload.mode());
            let message = format!("{} cannot render {engine} in {mode} mode", provider.display_name());
            findings.report(&codes::ENGINE_NOT_SUPPORTED, "spec.engine.type", message);
        }
        return (decision, Vec::new());
    };
    decision.endpoint = Some(translation.endpoint);
    let manifests = own(translation.manifests, deployment, &decision.selection, options, findings);
    (decision, manifests.into_iter().map(Box::new).map(Mark::Generated).collect())
}

fn fields(deployment: &Deployment) -> Vec<Field> {
    let field = |leaf: LeafEntry| Field { path: leaf.path.to_string(), value: leaf.value, origin: leaf.origin };
    deployment.leaves().into_iter().map(field).collect()
}

/// Adds to every object what says whose it is: namespace, labels, annotations, owner.
fn own(
    mut manifests: Vec<Manifest>,
    deployment: &Deployment,
    selection: &Selection,
    options: &Options,
    findings: &mut Findings<'_>,
) -> Vec<Manifest> {
    let dialect = deployment.dialect;
    let metadata = &deployment.metadata;
    let owner = options.owner_references.then(|| owner(deployment, findings)).flatten();
    let main = manifests.len().saturating_sub(1);
    for (position, manifest) in manifests.iter_mut().enumerate() {
        manifest.metadata.namespace.clone_from(&metadata.namespace);
        for (key, value) in metadata.labels.iter().filter(|(key, _)| key.starts_with(dialect.label_prefix)) {
            manifest.metadata.labels.insert(key.clone(), Value::from(value.as_str()));
        }
        manifest::mark_owned(manifest, dialect, metadata.namespace.as_deref(), &metadata.name);
        if position == main
            && let Some(reason) = &selection.reason
        {
            manifest.metadata.annotations.insert(dialect.label("selected-reason"), Value::from(reason.as_str()));
        }
        // A claim's data outlives us: it is not collected with the deployment.
        if manifest.kind != "PersistentVolumeClaim" {
            manifest.metadata.owner_references.extend(owner.clone());
        }
    }
    manifests
}

/// The owner, with the uid of the input: with a stale or made-up one the garbage collector would delete the workload.
fn owner(deployment: &Deployment, findings: &mut Findings<'_>) -> Option<OwnerReference> {
    let metadata = &deployment.metadata;
    let Some(uid) = &metadata.uid else {
        findings
            .report(
                &codes::OWNER_WITHOUT_UID,
                "metadata",
                "ownerReferences need metadata.uid, and the input has none, expected an object read from the cluster",
            )
            .help("turn ownerReferences off where manifests are rendered from git");
        return None;
    };
    Some(OwnerReference {
        api_version: deployment.dialect.api_version(),
        kind: "ModelDeployment".to_owned(),
        name: metadata.name.clone(),
        uid: uid.clone(),
        controller: true,
        block_owner_deletion: true,
    })
}

/// The document as JSON, with the apiVersion and kind that it may have from its list.
fn with_header(document: &Document<'_>) -> Value {
    let header = [("apiVersion", &document.header.api_version), ("kind", &document.header.kind)];
    let mut object: serde_json::Map<String, Value> =
        header.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value.as_str()))).collect();
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
