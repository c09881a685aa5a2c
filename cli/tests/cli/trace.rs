//! `explain --trace` and `--why-not`.

use std::path::Path;

use serde_json::Value;

use crate::sandbox::{PINNED, Ran, Sandbox, broken, model};

/// Runs `explain` on an example of the repository.
fn explain_example(name: &str, arguments: &[&str]) -> Ran {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("examples").join(name);
    let mut sandbox = Sandbox::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            sandbox = sandbox.with(&path.file_name().unwrap().to_string_lossy(), std::fs::read(&path).unwrap());
        }
    }
    sandbox.run(&[&["explain", "."], arguments].concat()).exits(0)
}

#[test]
fn traces_an_example_of_each_provider() {
    insta::assert_snapshot!("trace_dynamo", explain_example("llama-8b", &["--trace"]).out);
    insta::assert_snapshot!("trace_kaito", explain_example("phi-4-kaito", &["--trace"]).out);
    insta::assert_snapshot!("trace_kuberay", explain_example("llama-8b-kuberay", &["--trace"]).out);
}

#[test]
fn traces_one_field_as_json() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a"));
    let ran = sandbox.run(&["explain", ".", "--trace", "--field", "spec.resources", "-o", "json"]).exits(0);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&report["version"], &report["traces"][0]["file"]), (&1.into(), &"a.yaml".into()));
    let paths: Vec<&str> =
        report["traces"][0]["fields"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["spec.resources.gpu.count", "spec.resources.gpu.type"]);
    let count = &report["traces"][0]["fields"][0];
    assert_eq!((&count["fate"], &count["tried"][0]["value"]), (&"rendered".into(), &"2".into()));
    assert_eq!(count["readBy"][0]["provider"], "dynamo");
    assert_eq!(report["traces"][0]["outputs"].as_array().unwrap().len(), 0, "no output field has this path");
}

#[test]
fn suggests_a_field_or_provider_for_an_unknown_one() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    let ran = sandbox.run(&["explain", "a.yaml", "--trace", "--field", "spec.resources.gpu.cuont"]).exits(2);
    assert!(ran.out.is_empty() && ran.err.contains("did you mean spec.resources.gpu.count?"), "{ran:?}");
    let ran = sandbox.run(&["explain", "a.yaml", "--why-not", "katio"]).exits(2);
    assert!(ran.out.is_empty() && ran.err.contains("did you mean \"kaito\"?"), "{ran:?}");
    let ran = sandbox.run(&["explain", "a.yaml", "--trace", "-o", "mermaid"]).exits(2);
    assert!(ran.err.contains("support only --output text and json"), "{ran:?}");
    for wrong in [["--trace", "--rules"], ["--field", "x"], ["--no-builtins", "--trace"]] {
        sandbox.run(&[&["explain", "a.yaml"], wrong.as_slice()].concat()).exits(2);
    }
}

#[test]
fn traces_only_deployments_without_errors() {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("b.yaml", broken("b"));
    let ran = sandbox.run(&["explain", ".", "--trace"]).exits(1);
    assert!(ran.out.contains("spec.engine.type"), "{}", ran.out);
    assert!(ran.err.contains("error[KF0112]"), "{}", ran.err);
    let ran = sandbox.run(&["explain", "b.yaml", "--why-not", "kaito"]).exits(1);
    assert!(ran.err.contains("error[KF0112]"), "{ran:?}");
}

/// Reports the fewest changes for selection by rules and by name.
#[test]
fn why_not_reports_changes() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a"));
    let ran = sandbox.run(&["explain", ".", "--why-not", "kaito"]).exits(0);
    assert_eq!(ran.err, "");
    insta::assert_snapshot!("why_not", ran.out);
    let ran = sandbox.run(&["explain", ".", "--why-not", "dynamo"]).exits(0);
    insta::assert_snapshot!("why_not_selected", ran.out);
    let ran = sandbox.run(&["explain", ".", "--why-not", "kuberay", "-o", "json"]).exits(0);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["answers"][0]["obstacle"], "no-rules");
    assert_eq!(report["answers"][0]["byName"][0]["path"], "spec.provider.name");
}

/// An image runs one engine, so a llama.cpp image is not advice for a deployment that stays on vLLM.
#[test]
fn why_not_advises_images_of_the_engine() {
    let deployment = model("a").replace("type: vllm", "type: vllm\n    args: {enable-expert-parallel: \"true\"}");
    let sandbox = Sandbox::new().with("a.yaml", deployment);
    let ran = sandbox.run(&["explain", "--why-not", "kaito", "a.yaml"]).exits(0);
    let blocks = ran.out.split("\n\n").filter(|block| block.contains("llama.cpp:server"));
    assert!(blocks.clone().count() > 0, "{}", ran.out);
    assert!(blocks.clone().all(|block| block.contains("spec.engine.type: \"llamacpp\"")), "{}", ran.out);
    assert!(
        ran.out.ends_with("note: llama.cpp runs models in the GGUF format: set spec.model.id to one\n"),
        "{}",
        ran.out
    );
}
