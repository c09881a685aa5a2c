//! `--all`, and `output: append`: the input together with what came of it.

use serde_json::Value;

use crate::sandbox::{Ran, SERVICE, Sandbox, model};

fn options(mode: &str) -> String {
    format!("apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\noutput: {mode}\n")
}

/// `helm template | kubefoundry render --all | kubectl apply`: what is not ours passes byte for byte, in its place.
#[test]
fn other_objects_pass_through_verbatim() {
    let input = format!("# the web\n{SERVICE}---\n{}---\n{{kind: Secret, apiVersion: v1}}\n", model("a"));
    let ran = Sandbox::new().pipe(&["render", "--all"], input).exits(0);
    let documents: Vec<&str> = ran.out.split("---\n").collect();
    assert_eq!(documents.len(), 3, "{}", ran.out);
    assert_eq!(documents[0], format!("# the web\n{SERVICE}"));
    assert!(documents[1].contains("kind: DynamoGraphDeployment"));
    assert_eq!(documents[2], "{kind: Secret, apiVersion: v1}\n");
}

/// Without --all the rest of the input belongs to whoever applies it already.
#[test]
fn by_default_only_generated_objects_are_printed() {
    let ran = Sandbox::new().pipe(&["render"], format!("{SERVICE}---\n{}", model("a"))).exits(0);
    assert_eq!(ran.kinds(), ["DynamoGraphDeployment"]);
}

/// Options say it, too, and then the ModelDeployment may stay beside what it became.
#[test]
fn append_keeps_the_model() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", options("append")).with("a.yaml", model("a"));
    let ran = sandbox.run(&["render", "."]).exits(0);
    assert_eq!(ran.kinds(), ["ModelDeployment", "DynamoGraphDeployment"]);
    assert!(ran.out.starts_with(&model("a")));
}

/// The flag wins over the options here as well.
#[test]
fn all_wins_over_options() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", options("append")).with("a.yaml", model("a"));
    assert_eq!(sandbox.run(&["render", ".", "--all"]).exits(0).kinds(), ["DynamoGraphDeployment"]);
}

/// Running on its own output gives the same output: the old object gives way to the new one.
#[test]
fn what_was_generated_before_is_replaced() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", options("append")).with("a.yaml", model("a"));
    let first = sandbox.run(&["render", "."]).exits(0);
    let sandbox = Sandbox::new().with("kubefoundry.yaml", options("append")).with("a.yaml", &first.out);
    let second = sandbox.run(&["render", "."]).exits(0);
    assert_eq!(first.out, second.out);
}

/// A model that is passed on stands in the output once, with its annotations.
#[test]
fn a_model_that_is_passed_on_is_printed_once() {
    let sandbox = Sandbox::new().with("acme.yaml", crate::render::ACME).with("kubefoundry.yaml", options("append"));
    let sandbox = sandbox.with("b.yaml", model("b") + "  provider: {name: acme}\n");
    let ran = sandbox.run(&["render", "."]).exits(0);
    assert_eq!(ran.kinds(), ["InferenceProviderConfig", "ModelDeployment"]);
    assert!(ran.out.contains("kubefoundry.ai/provider: acme"), "{}", ran.out);
}

/// What has no kind, and what only tools read, is no object that a cluster would take.
#[test]
fn only_objects_pass_through() {
    let sandbox = Sandbox::new()
        .with("a.yaml", model("a"))
        .with("b.json", "{\"name\": \"site\"}")
        .with("c.yaml", SERVICE)
        .with("kustomization.yaml", "resources: [a.yaml]\n")
        .with("d/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n");
    assert_eq!(sandbox.run(&["render", ".", "--all"]).exits(0).kinds(), ["DynamoGraphDeployment", "Service # kept"]);
}

/// A text that is not YAML can be no part of the output, and leaving it out would delete what it stands for.
#[test]
fn what_is_not_yaml_cannot_be_passed_on() {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("t.yaml", "kind: Service\nname: {{ .Name }}\n\t- x\n");
    let ran = sandbox.run(&["render", ".", "--all"]).exits(2);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("kubefoundry: t.yaml: line "), "{}", ran.err);
}

fn items(ran: &Ran) -> Vec<Value> {
    serde_json::from_str::<Value>(&ran.out).unwrap()["items"].as_array().unwrap().clone()
}

/// JSON has no comments to keep, and no documents: everything becomes an item.
#[test]
fn json_holds_what_passes_through() {
    let ran = Sandbox::new().pipe(&["render", "--all", "-o", "json"], format!("{SERVICE}---\n{}", model("a"))).exits(0);
    let kinds: Vec<_> = items(&ran).iter().map(|item| item["kind"].clone()).collect();
    assert_eq!(kinds, ["Service", "DynamoGraphDeployment"]);
}

/// Items of a list become documents; their indentation and anchors were the list's, so they are written anew.
#[test]
fn items_of_a_list_become_documents() {
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

/// A key that stands twice has one value in JSON; which one is not ours to choose.
#[test]
fn ambiguous_documents_are_not_turned_into_json() {
    let input = format!("{}---\napiVersion: v1\nkind: ConfigMap\ndata: {{a: b, a: c}}\n", model("a"));
    assert!(Sandbox::new().pipe(&["render", "--all"], &input).exits(0).out.contains("{a: b, a: c}"));
    let ran = Sandbox::new().pipe(&["render", "--all", "-o", "json"], input).exits(2);
    assert!(ran.err.contains("kubefoundry: <stdin>: line 17 cannot be passed on: "), "{}", ran.err);
}
