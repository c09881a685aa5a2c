//! `--all` and `output: append`: the input merged with the generated objects.

use serde_json::Value;

use crate::sandbox::{Ran, SERVICE, Sandbox, model};

fn options(mode: &str) -> String {
    format!("apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\noutput: {mode}\n")
}

/// With `--all`, other objects are copied byte for byte, in input order.
#[test]
fn copies_other_objects_verbatim() {
    let input = format!("# the web\n{SERVICE}---\n{}---\n{{kind: Secret, apiVersion: v1}}\n", model("a"));
    let ran = Sandbox::new().pipe(&["render", "--all"], input).exits(0);
    let documents: Vec<&str> = ran.out.split("---\n").collect();
    assert_eq!(documents.len(), 3, "{}", ran.out);
    assert_eq!(documents[0], format!("# the web\n{SERVICE}"));
    assert!(documents[1].contains("kind: DynamoGraphDeployment"));
    assert_eq!(documents[2], "{kind: Secret, apiVersion: v1}\n");
}

#[test]
fn prints_only_generated_objects_by_default() {
    let ran = Sandbox::new().pipe(&["render"], format!("{SERVICE}---\n{}", model("a"))).exits(0);
    assert_eq!(ran.kinds(), ["DynamoGraphDeployment"]);
}

/// With `output: append`, the ModelDeployment is printed, too.
#[test]
fn append_keeps_the_model() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", options("append")).with("a.yaml", model("a"));
    let ran = sandbox.run(&["render", "."]).exits(0);
    assert_eq!(ran.kinds(), ["ModelDeployment", "DynamoGraphDeployment"]);
    assert!(ran.out.starts_with(&model("a")));
}

#[test]
fn all_overrides_options() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", options("append")).with("a.yaml", model("a"));
    assert_eq!(sandbox.run(&["render", ".", "--all"]).exits(0).kinds(), ["DynamoGraphDeployment"]);
}

/// Rendering its own output yields the same output: generated objects are replaced.
#[test]
fn replaces_previously_generated_objects() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", options("append")).with("a.yaml", model("a"));
    let first = sandbox.run(&["render", "."]).exits(0);
    let sandbox = Sandbox::new().with("kubefoundry.yaml", options("append")).with("a.yaml", &first.out);
    let second = sandbox.run(&["render", "."]).exits(0);
    assert_eq!(first.out, second.out);
}

#[test]
fn prints_a_model_that_is_passed_on_once() {
    let sandbox = Sandbox::new().with("acme.yaml", crate::render::ACME).with("kubefoundry.yaml", options("append"));
    let sandbox = sandbox.with("b.yaml", model("b") + "  provider: {name: acme}\n");
    let ran = sandbox.run(&["render", "."]).exits(0);
    assert_eq!(ran.kinds(), ["InferenceProviderConfig", "ModelDeployment"]);
    assert!(ran.out.contains("kubefoundry.ai/provider: acme"), "{}", ran.out);
}

/// Documents without a kind and the configuration of tools are dropped.
#[test]
fn copies_only_cluster_objects() {
    let sandbox = Sandbox::new()
        .with("a.yaml", model("a"))
        .with("b.json", "{\"name\": \"site\"}")
        .with("c.yaml", SERVICE)
        .with("kustomization.yaml", "resources: [a.yaml]\n")
        .with("d/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n");
    assert_eq!(sandbox.run(&["render", ".", "--all"]).exits(0).kinds(), ["DynamoGraphDeployment", "Service # kept"]);
}

/// Dropping a text that is not YAML could delete its objects from the cluster, so it is an error.
#[test]
fn rejects_input_that_is_not_yaml() {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("t.yaml", "kind: Service\nname: {{ .Name }}\n\t- x\n");
    let ran = sandbox.run(&["render", ".", "--all"]).exits(2);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("kubefoundry: t.yaml: line "), "{}", ran.err);
}

fn items(ran: &Ran) -> Vec<Value> {
    serde_json::from_str::<Value>(&ran.out).unwrap()["items"].as_array().unwrap().clone()
}

/// In JSON, all objects become items of one list.
#[test]
fn json_includes_other_objects() {
    let ran = Sandbox::new().pipe(&["render", "--all", "-o", "json"], format!("{SERVICE}---\n{}", model("a"))).exits(0);
    let kinds: Vec<_> = items(&ran).iter().map(|item| item["kind"].clone()).collect();
    assert_eq!(kinds, ["Service", "DynamoGraphDeployment"]);
}

/// Items of a list become documents. They are serialized again, because their indentation and anchors depend on the
/// list.
#[test]
fn splits_a_list_into_documents() {
    let list = "apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: &m {name: one}
- apiVersion: v1
  kind: Secret
  metadata: *m
- {apiVersion: kubefoundry.ai/v1alpha1, kind: ModelDeployment, metadata: {name: a},
   spec: {model: {id: org/a}, engine: {type: vllm}, resources: {gpu: {count: 1}}}}
";
    let ran = Sandbox::new().pipe(&["render", "--all"], list).exits(0);
    assert_eq!(ran.kinds(), ["ConfigMap", "Secret", "DynamoGraphDeployment"]);
    assert!(ran.out.contains("kind: Secret\nmetadata:\n  name: one\n"), "{}", ran.out);
}

/// A duplicate key cannot be converted to JSON without losing a value.
#[test]
fn rejects_duplicate_keys_in_json() {
    let input = format!("{}---\napiVersion: v1\nkind: ConfigMap\ndata: {{a: b, a: c}}\n", model("a"));
    assert!(Sandbox::new().pipe(&["render", "--all"], &input).exits(0).out.contains("{a: b, a: c}"));
    let ran = Sandbox::new().pipe(&["render", "--all", "-o", "json"], input).exits(2);
    assert!(ran.err.contains("kubefoundry: <stdin>: line 17 cannot be copied to the output: "), "{}", ran.err);
}
