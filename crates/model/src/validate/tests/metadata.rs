//! Names, labels and annotations of the deployment.

use super::{assert_fixed, assert_texts, run};

const REST: &str = "spec: {model: {id: org/name}, engine: {type: llamacpp}}\n";

fn document(group: &str, metadata: &str) -> String {
    format!("apiVersion: {group}/v1alpha1\nkind: ModelDeployment\nmetadata: {metadata}\n{REST}")
}

fn assert_metadata(cases: &[(&str, &[&str])]) {
    let texts: Vec<String> = cases.iter().map(|(metadata, _)| document("kubefoundry.ai", metadata)).collect();
    let cases: Vec<(&str, &[&str])> =
        texts.iter().zip(cases).map(|(text, (_, expected))| (text.as_str(), *expected)).collect();
    assert_texts(&cases);
}

#[test]
fn checks_names() {
    let long = format!("{{name: {}}}", "a".repeat(64));
    assert_metadata(&[
        ("{name: 3-llama}", &[]),
        ("{name: a, namespace: \"\"}", &[]),
        ("{name: llama-3.1}", &["KF0117 3:18 metadata.name"]),
        (&long, &["KF0117 3:18 metadata.name"]),
        ("{name: m,     namespace: Team}", &["KF0117 3:36 metadata.namespace"]),
        ("{name: \"\"}", &["KF0115 3:18 metadata.name"]),
        ("{generateName: m-}", &["KF0115 3:1 metadata.name"]),
        ("{name: m, uid: \"a\\nb\"}", &["KF0114 3:26 metadata.uid"]),
    ]);
    let (_, diagnostics) = run(&document("kubefoundry.ai", "{generateName: m-}"));
    assert!(diagnostics[0].help.as_deref().unwrap().starts_with("set metadata.name"));
}

#[test]
fn fixes_a_name_by_lower_case_where_that_is_enough() {
    for (before, after) in [
        ("{name: Llama-3}", "{name: llama-3}"),
        ("{name: \"Llama-3\"}", "{name: \"llama-3\"}"),
        ("{name: 'Llama-3'}", "{name: \"llama-3\"}"),
        ("{name: nULL}", "{name: \"null\"}"),
        ("{name: yeS, namespace: A1}", "{name: \"yes\", namespace: a1}"),
        ("{name: 1A}", "{name: \"1a\"}"),
    ] {
        assert_fixed(&document("kubefoundry.ai", before), &document("kubefoundry.ai", after));
    }
    let json = |name: &str| {
        format!(
            r#"{{"apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {{"name": "{name}"}}, "spec": {{"model": {{"id": "gpt2"}}, "engine": {{"type": "llamacpp"}}}}}}"#
        )
    };
    assert_fixed(&json("Llama"), &json("llama"));
    let unfixable = ["{name: Llama_3}", "{name: \"\\x4Clama\"}", "{labels: {a: &x Llama}, name: *x}"];
    for metadata in unfixable {
        let (_, diagnostics) = run(&document("kubefoundry.ai", metadata));
        assert_eq!(diagnostics.len(), 1, "{metadata}");
        assert_eq!(diagnostics[0].fix, None, "{metadata}");
    }
}

#[test]
fn checks_labels_and_annotations() {
    assert_metadata(&[
        ("{name: m, labels: {team: a, example.com/Team: \"\", a.b/c: A_1.b}}", &[]),
        (
            "{name: m, labels: {\"a b\": ok, ok: a/b}}",
            &["KF0121 3:30 metadata.labels[\"a b\"]", "KF0121 3:45 metadata.labels.ok"],
        ),
        ("{name: m, annotations: {Example.com/Note: \"two\\nlines, a tab\\t\"}}", &[]),
        (
            "{name: m, annotations: {a/b/c: x, d: \"\\0\"}}",
            &["KF0121 3:35 metadata.annotations[\"a/b/c\"]", "KF0114 3:48 metadata.annotations.d"],
        ),
    ]);
    let large = format!("{{name: m, annotations: {{a: {}}}}}", "x".repeat(262_144));
    assert_metadata(&[(&large, &["KF0121 3:34 metadata.annotations"])]);
}

#[test]
fn refuses_reserved_labels_and_annotations() {
    assert_metadata(&[
        ("{name: m, annotations: {kubefoundry.ai/reconcile-paused: \"true\", kubefoundry.ai/dry-run: \"true\"}}", &[]),
        ("{name: m, labels: {kubefoundry.ai/team: a, kubeairunway.ai/managed-by: b}}", &[]),
        (
            "{name: m, labels: {kubefoundry.ai/managed-by: kubefoundry}}",
            &["KF0122 3:30 metadata.labels[\"kubefoundry.ai/managed-by\"]"],
        ),
        (
            "{name: m, labels: {kubefoundry.ai/model-source: huggingface}}",
            &["KF0122 3:30 metadata.labels[\"kubefoundry.ai/model-source\"]"],
        ),
        (
            "{name: m, annotations: {kubefoundry.ai/model-deployment: m, kubefoundry.ai/selected-reason: x}}",
            &["KF0122 3:35 metadata.annotations[\"kubefoundry.ai/model-deployment\"]"],
        ),
    ]);
    let text = document("kubeairunway.ai", "{name: m, labels: {kubeairunway.ai/managed-by: me}}");
    assert_texts(&[(&text, &["KF0122 3:30 metadata.labels[\"kubeairunway.ai/managed-by\"]"])]);
}

#[test]
fn accepts_fields_that_the_api_server_fills_in() {
    let metadata = "{name: m, namespace: team, uid: 0b6e, resourceVersion: \"1\", generation: 2, \
                    creationTimestamp: 2026-01-01T00:00:00Z, finalizers: [a/b], managedFields: []}";
    let (deployment, diagnostics) = run(&document("kubefoundry.ai", metadata));
    assert_eq!(diagnostics, []);
    let metadata = deployment.unwrap().metadata;
    assert_eq!((metadata.namespace.as_deref(), metadata.uid.as_deref()), (Some("team"), Some("0b6e")));
}
