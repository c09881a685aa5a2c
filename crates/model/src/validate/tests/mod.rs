//! Tests from text to findings: each case is a part of a `spec` with all its findings.

mod engine;
mod leaves;
mod metadata;
mod model;
mod pod;
mod storage;
mod workload;

use super::validate;
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::render::LineIndex;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{Diagnostic, DocumentScope, Findings};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::wire::{Read as _, Reader};
use kubefoundry_yaml::edit::apply_groups;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Limits, parse};

/// Reads and validates the one document of a text.
fn run(text: &str) -> (Option<Deployment>, Vec<Diagnostic>) {
    let parsed = parse(text, &Limits::default());
    assert!(parsed.failure.is_none(), "{text}");
    let document = parsed.documents.first().unwrap();
    let api_group = document.root.get("apiVersion").and_then(|node| node.as_str()).unwrap();
    let api_group = ApiGroup::find(api_group.split('/').next().unwrap()).unwrap();
    let scope = DocumentScope { source: SourceId(0), text, document: 0, root: &document.root, object: None };
    let mut findings = Findings::new(scope);
    let wire = ModelDeployment::read(
        &document.root,
        &FieldPath::root(),
        &mut Reader::strict(&mut findings).in_group(api_group),
    )
    .unwrap();
    let deployment = validate(&wire, api_group, &mut findings);
    let mut diagnostics = findings.into_diagnostics();
    diagnostics.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
    (deployment, diagnostics)
}

/// Returns the document around fields of a `spec`, and its deployment. Panics on any finding.
pub(crate) fn deployment_of(fields: &str) -> (String, Deployment) {
    let text = document(fields);
    let (deployment, diagnostics) = run(&text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    (text, deployment.unwrap())
}

/// Formats a finding as `KF0208 5:3 spec.model.id`. The goldens of the codes cover the wording.
fn summary(text: &str, diagnostic: &Diagnostic) -> String {
    let location = diagnostic.location.as_ref().unwrap();
    let at = LineIndex::new(text).position(location.span.start);
    format!("{} {}:{} {}", diagnostic.code.id, at.line, at.column, location.path)
}

/// Returns a document around fields of a `spec`, which start on line 5. A missing model or engine is added.
fn document(fields: &str) -> String {
    let mut text =
        String::from("apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: m}\nspec:\n");
    for line in fields.lines() {
        text.extend(["  ", line, "\n"]);
    }
    let has = |field: &str| fields.lines().any(|line| line.starts_with(field));
    if !has("model:") {
        text.push_str("  model: {id: org/name}\n");
    }
    if !has("engine:") {
        text.push_str("  engine: {type: llamacpp}\n");
    }
    text
}

/// Asserts all findings of each text, in order.
fn assert_texts(cases: &[(&str, &[&str])]) {
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let (deployment, diagnostics) = run(text);
        let actual: Vec<String> = diagnostics.iter().map(|diagnostic| summary(text, diagnostic)).collect();
        if &actual != expected {
            wrong.push(format!("{text}found:    {actual:#?}\nexpected: {expected:#?}\n"));
        }
        let errors =
            diagnostics.iter().any(|diagnostic| diagnostic.severity == kubefoundry_diagnostics::Severity::Error);
        assert!(deployment.is_some() || errors, "no deployment, and no error says why\n{text}");
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Asserts all findings about fields of a `spec`, which start on line 5.
fn assert_fields(cases: &[(&str, &[&str])]) {
    let texts: Vec<String> = cases.iter().map(|(fields, _)| document(fields)).collect();
    let cases: Vec<(&str, &[&str])> =
        texts.iter().zip(cases).map(|(text, (_, expected))| (text.as_str(), *expected)).collect();
    assert_texts(&cases);
}

/// Asserts the text after applying every fix, and that it has no findings.
fn assert_fixed(text: &str, expected: &str) {
    let (_, diagnostics) = run(text);
    let fixes = diagnostics.iter().filter_map(|diagnostic| diagnostic.fix.as_ref());
    let (fixed, _) = apply_groups(text, fixes.map(|fix| fix.edits.as_slice()));
    assert_eq!(fixed, expected);
    assert_eq!(run(&fixed).1, [], "{fixed}");
}

/// Asserts that there are findings and that none has a fix.
fn assert_no_fix(fields: &str) {
    let (_, diagnostics) = run(&document(fields));
    assert!(!diagnostics.is_empty(), "{fields}");
    assert!(diagnostics.iter().all(|diagnostic| diagnostic.fix.is_none()), "{fields}");
}

/// Returns the deployment of a `spec` without errors.
fn valid(fields: &str) -> Deployment {
    let text = document(fields);
    let (deployment, diagnostics) = run(&text);
    deployment.unwrap_or_else(|| panic!("{diagnostics:#?}\n{text}"))
}

#[test]
fn reports_every_missing_field_of_an_empty_deployment() {
    assert_texts(&[(
        "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\n",
        &["KF0115 1:1 metadata.name", "KF0207 1:1 spec.engine.type", "KF0208 1:1 spec.model.id"],
    )]);
}

#[test]
fn reports_an_unreadable_field_once() {
    assert_texts(&[
        (
            "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: []\nspec: 5\n",
            &["KF0112 3:11 metadata", "KF0112 4:7 spec"],
        ),
        (
            "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: 8}\nspec: {engine: {type: vlm}, model: {id: true}}\n",
            &["KF0112 3:18 metadata.name", "KF0114 4:23 spec.engine.type", "KF0112 4:41 spec.model.id"],
        ),
    ]);
    assert_fields(&[
        ("model: {source: hf}", &["KF0114 5:19 spec.model.source"]),
        ("engine: {type: vllm}\nresources: {gpu: {count: \"1\"}}", &["KF0112 6:28 spec.resources.gpu.count"]),
        (
            "engine: {type: vllm}\nserving: {mode: split}\nscaling: {prefill: {}, replicas: 2}",
            &["KF0114 6:19 spec.serving.mode"],
        ),
        (
            "serving: {mode: disaggregated}\nscaling: {prefill: 1, decode: {gpu: 1, memory: 2}}",
            &[
                "KF0112 6:22 spec.scaling.prefill",
                "KF0112 6:39 spec.scaling.decode.gpu",
                "KF0112 6:50 spec.scaling.decode.memory",
            ],
        ),
        ("model: {source: custom}\nimage: 1", &["KF0112 6:10 spec.image"]),
        ("model: {id: /w/m, storage: {volumes: 1}}", &["KF0112 5:40 spec.model.storage.volumes"]),
        (
            "model: {id: /w/m, storage: {volumes: [{name: w, claimName: c, mountPath: 1}]}}",
            &["KF0112 5:76 spec.model.storage.volumes[0].mountPath"],
        ),
        ("scaling: 1\nresources: 2", &["KF0112 5:12 spec.scaling", "KF0112 6:14 spec.resources"]),
        (
            "tolerations: [{operator: 1}, {effect: 2, key: k, tolerationSeconds: 3}]",
            &["KF0112 5:28 spec.tolerations[0].operator", "KF0112 5:41 spec.tolerations[1].effect"],
        ),
        ("env: [{name: A, valueFrom: {secretKeyRef: 1}}]", &["KF0112 5:45 spec.env[0].valueFrom.secretKeyRef"]),
    ]);
}

#[test]
fn treats_null_and_empty_text_as_absent() {
    let text = document(
        "image: \"\"\nprovider: {name: \"\", overrides: null}\nresources: {memory: \"\", cpu: null}\nsecrets: {huggingFaceToken: \"\"}\ngateway: null",
    );
    let (deployment, diagnostics) = run(&text);
    assert_eq!(diagnostics, []);
    let deployment = deployment.unwrap();
    assert_eq!(deployment.image, None);
    assert_eq!(deployment.provider, kubefoundry_deployment::ir::ProviderRequest::default());
    assert_eq!(deployment.hugging_face_token, None);
    assert!(deployment.workload.workers().iter().all(|worker| worker.memory.is_none() && worker.cpu.is_none()));
}

#[test]
fn refuses_fields_that_are_not_rendered() {
    assert_fields(&[("provider: {name: \"a\\tb\"}", &["KF0114 5:20 spec.provider.name"])]);
}
