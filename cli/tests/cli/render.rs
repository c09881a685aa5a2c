//! `render`: objects on standard output, findings on standard error, and nothing half done.

use serde_json::Value;

use crate::sandbox::{PINNED, Sandbox, broken, doubtful, model};

/// The job of the program, in one line: a model in, the manifest of its serving stack out, and no noise.
#[test]
fn a_model_becomes_a_manifest() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("llama.yaml", model("llama"));
    let ran = sandbox.run(&["render", "."]).exits(0);
    assert_eq!(ran.kinds(), ["DynamoGraphDeployment"]);
    assert_eq!(ran.err, "");
    assert!(ran.out.ends_with('\n') && !ran.out.ends_with("\n\n"));
}

/// A stream is split by `---` lines, and nothing before the first or after the last.
#[test]
fn several_models_are_a_stream_in_input_order() {
    let sandbox = Sandbox::new().with("b.yaml", model("b")).with("a.yaml", model("a"));
    let ran = sandbox.run(&["render", "b.yaml", "a.yaml"]).exits(0);
    let names: Vec<_> = ran.out.lines().filter_map(|line| line.strip_prefix("  name: ")).collect();
    assert_eq!(names, ["b", "a"]);
    assert_eq!(ran.out.matches("---\n").count(), 1);
}

/// What is piped into `kubectl apply` must not be a half of what was asked for.
#[test]
fn an_error_leaves_standard_output_empty() {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("b.yaml", broken("b"));
    let ran = sandbox.run(&["render", "."]).exits(1);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("error[KF0101]") && ran.err.contains("--> b.yaml:13:14"), "{}", ran.err);
}

/// The count comes last, where a reader of a long report looks.
#[test]
fn findings_end_with_their_number() {
    let sandbox =
        Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", doubtful("a")).with("b.yaml", broken("b"));
    let ran = sandbox.run(&["render", "."]).exits(1);
    assert!(ran.err.contains("\n\n1 error, 1 warning in 2 files\nFor more "), "{}", ran.err);
}

/// Warnings are for people: the manifests are still good.
#[test]
fn warnings_do_not_stop_the_output() {
    let sandbox = Sandbox::new().with("a.yaml", doubtful("a"));
    let ran = sandbox.run(&["render", "a.yaml"]).exits(0);
    assert_eq!(ran.kinds(), ["DynamoGraphDeployment"]);
    assert!(ran.err.contains("warning[KF0210]"), "{}", ran.err);
}

/// With --strict a warning is an error, in everything that follows from it.
#[test]
fn strict_makes_warnings_errors() {
    let sandbox = Sandbox::new().with("a.yaml", doubtful("a"));
    let ran = sandbox.run(&["render", "a.yaml", "--strict"]).exits(1);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("error[KF0210]"), "{}", ran.err);
}

/// A wrong path that matches no model must not look like success in a pipeline.
#[test]
fn nothing_to_render_is_an_error() {
    let sandbox = Sandbox::new().with("service.yaml", "apiVersion: v1\nkind: Service\n");
    let ran = sandbox.run(&["render", "."]).exits(1);
    assert!(ran.err.contains("KF0008"), "{}", ran.err);
}

/// One line a finding, for editors and grep, and nothing else.
#[test]
fn concise_findings_are_lines() {
    let sandbox = Sandbox::new().with("b.yaml", broken("b"));
    let ran = sandbox.run(&["render", "b.yaml", "--diagnostics", "concise"]).exits(1);
    assert_eq!(ran.err.lines().count(), 1);
    assert!(ran.err.starts_with("b.yaml:13:14: error[KF0101] "), "{}", ran.err);
}

/// A program that reads standard error gets one JSON document, whether something was found or not.
#[test]
fn json_findings_are_a_document() {
    let sandbox =
        Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a")).with("b.yaml", broken("b"));
    let ran = sandbox.run(&["render", "b.yaml", "--diagnostics", "json"]).exits(1);
    let report: Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(report["diagnostics"][0]["line"], 13);
    let ran = sandbox.run(&["render", "a.yaml", "--config", "kubefoundry.yaml", "--diagnostics", "json"]).exits(0);
    let report: Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(report["diagnostics"], serde_json::json!([]));
}

/// As kubectl prints it: one object as it is.
#[test]
fn one_object_as_json_is_itself() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    let ran = sandbox.run(&["render", "a.yaml", "-o", "json"]).exits(0);
    let object: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(object["kind"], "DynamoGraphDeployment");
}

/// As kubectl prints it: several objects are one document, a List.
#[test]
fn several_objects_as_json_are_a_list() {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("b.yaml", model("b"));
    let ran = sandbox.run(&["render", ".", "--output", "json"]).exits(0);
    let list: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&list["apiVersion"], &list["kind"]), (&"v1".into(), &"List".into()));
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
}

/// Both formats say the same, key for key and in the same order.
#[test]
fn yaml_and_json_are_the_same_object() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    let yaml = sandbox.run(&["render", "a.yaml"]).exits(0).out;
    let json = sandbox.run(&["render", "a.yaml", "-o", "json"]).exits(0).out;
    let read = kubefoundry_yaml::parse(&yaml, &kubefoundry_yaml::Limits::default()).documents[0].root.to_json();
    assert_eq!(format!("{read:#}\n"), json);
}

/// A model for a provider of somebody else goes on, annotated, to whoever knows it.
#[test]
fn a_third_party_provider_gets_the_model_itself() {
    let sandbox = Sandbox::new().with("a.yaml", model("a") + "  provider: {name: acme}\n").with("acme.yaml", ACME);
    let ran = sandbox.run(&["render", "a.yaml", "--providers", "acme.yaml"]).exits(0);
    assert_eq!(ran.kinds(), ["ModelDeployment"]);
    assert!(ran.out.contains("kubefoundry.ai/provider: acme"), "{}", ran.out);
}

pub(crate) const ACME: &str = "apiVersion: kubefoundry.ai/v1alpha1
kind: InferenceProviderConfig
metadata:
  name: acme
spec:
  capabilities:
    engines: [vllm]
    servingModes: [aggregated]
    gpuSupport: true
    cpuSupport: false
";
