//! `render`: objects on standard output, findings on standard error, and no partial output.

use serde_json::Value;

use crate::sandbox::{PINNED, Sandbox, broken, doubtful, model};

#[test]
fn renders_a_model() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("llama.yaml", model("llama"));
    let ran = sandbox.run(&["render", "."]).exits(0);
    assert_eq!(ran.kinds(), ["DynamoGraphDeployment"]);
    assert_eq!(ran.err, "");
    assert!(ran.out.ends_with('\n') && !ran.out.ends_with("\n\n"));
}

/// `---` separates documents, and does not precede the first or follow the last.
#[test]
fn renders_models_in_input_order() {
    let sandbox = Sandbox::new().with("b.yaml", model("b")).with("a.yaml", model("a"));
    let ran = sandbox.run(&["render", "b.yaml", "a.yaml"]).exits(0);
    let names: Vec<_> = ran.out.lines().filter_map(|line| line.strip_prefix("  name: ")).collect();
    assert_eq!(names, ["b", "a"]);
    assert_eq!(ran.out.matches("---\n").count(), 1);
}

/// `kubectl apply` must not receive partial output.
#[test]
fn an_error_leaves_standard_output_empty() {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("b.yaml", broken("b"));
    let ran = sandbox.run(&["render", "."]).exits(1);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("error[KF0112]") && ran.err.contains("--> b.yaml:13:14"), "{}", ran.err);
}

#[test]
fn findings_end_with_a_summary() {
    let sandbox =
        Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", doubtful("a")).with("b.yaml", broken("b"));
    let ran = sandbox.run(&["render", "."]).exits(1);
    assert!(ran.err.contains("\n\n1 error, 1 warning in 2 files\nFor more "), "{}", ran.err);
}

#[test]
fn warnings_do_not_stop_the_output() {
    let sandbox = Sandbox::new().with("a.yaml", doubtful("a"));
    let ran = sandbox.run(&["render", "a.yaml"]).exits(0);
    assert_eq!(ran.kinds(), ["DynamoGraphDeployment"]);
    assert!(ran.err.contains("warning[KF0211]"), "{}", ran.err);
}

#[test]
fn strict_turns_warnings_into_errors() {
    let sandbox = Sandbox::new().with("a.yaml", doubtful("a"));
    let ran = sandbox.run(&["render", "a.yaml", "--strict"]).exits(1);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("error[KF0211]"), "{}", ran.err);
}

/// A wrong path without a model must fail a pipeline.
#[test]
fn nothing_to_render_is_an_error() {
    let sandbox = Sandbox::new().with("service.yaml", "apiVersion: v1\nkind: Service\n");
    let ran = sandbox.run(&["render", "."]).exits(1);
    assert!(ran.err.contains("KF0107"), "{}", ran.err);
}

#[test]
fn concise_findings_are_lines() {
    let sandbox = Sandbox::new().with("b.yaml", broken("b"));
    let ran = sandbox.run(&["render", "b.yaml", "--diagnostics", "concise"]).exits(1);
    assert_eq!(ran.err.lines().count(), 1);
    assert!(ran.err.starts_with("b.yaml:13:14: error[KF0112] "), "{}", ran.err);
}

/// Standard error is one JSON document, with or without findings.
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

/// A single object is not wrapped in a list, as with kubectl.
#[test]
fn json_prints_one_object_on_its_own() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    let ran = sandbox.run(&["render", "a.yaml", "-o", "json"]).exits(0);
    let object: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(object["kind"], "DynamoGraphDeployment");
}

#[test]
fn json_prints_several_objects_as_a_list() {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("b.yaml", model("b"));
    let ran = sandbox.run(&["render", ".", "--output", "json"]).exits(0);
    let list: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&list["apiVersion"], &list["kind"]), (&"v1".into(), &"List".into()));
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
}

/// Both formats have the same keys in the same order.
#[test]
fn yaml_and_json_are_equal() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    let yaml = sandbox.run(&["render", "a.yaml"]).exits(0).out;
    let json = sandbox.run(&["render", "a.yaml", "-o", "json"]).exits(0).out;
    let read = kubefoundry_yaml::parse(&yaml, &kubefoundry_yaml::Limits::default()).documents[0].root.to_json();
    assert_eq!(format!("{read:#}\n"), json);
}

/// A model for a third-party provider is printed itself, with an annotation for the controller of that provider.
#[test]
fn passes_on_a_model_for_a_third_party_provider() {
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

/// As a post-renderer of Helm, `render` also gets charts without a model.
#[test]
fn allow_empty_accepts_an_input_without_a_model() {
    let sandbox = Sandbox::new();
    sandbox.pipe(&["render", "--all", "-"], crate::sandbox::SERVICE).exits(1);
    let ran = sandbox.pipe(&["render", "--all", "--allow-empty", "-"], crate::sandbox::SERVICE).exits(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), (crate::sandbox::SERVICE, ""));
}

/// A line for each finding still has the suggestion, which is often all that is needed.
#[test]
fn concise_findings_have_suggestions() {
    let sandbox = Sandbox::new().with("a.yaml", model("a").replace("type: vllm", "type: vlm"));
    let line = sandbox.run(&["render", "a.yaml", "--diagnostics=concise"]).exits(1).err;
    assert!(line.contains("expected one of vllm, sglang, trtllm, llamacpp (did you mean \"vllm\"?)\n"), "{line}");
}
