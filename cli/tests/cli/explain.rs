//! `explain`: the decision as text and as JSON.

use serde_json::Value;

use crate::sandbox::{PINNED, Sandbox, broken, model};

/// The text has all candidates with their rules, and every value with its origin.
#[test]
fn prints_the_whole_decision() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a"));
    let ran = sandbox.run(&["explain", "."]).exits(0);
    assert_eq!(ran.err, "");
    insta::assert_snapshot!(ran.out, @r#"
    ModelDeployment prod/a  a.yaml:4:9
      provider     dynamo
      reason       default → dynamo (GPU inference default)
      CRD version  nvidia.com/v1alpha1
      runtime      1.4.0
      endpoint     a-frontend:8000

      candidates
        dynamo   selected (eligible, priority 50)
          false  priority 90  spec.engine.type == 'trtllm' || spec.engine.type == 'sglang'
          false  priority 80  spec.serving.mode == 'disaggregated'
          true   priority 50  spec.resources.gpu.count > 0
        kaito    eligible, but none of its rules is true
          false  priority 100  !has(spec.resources.gpu) || spec.resources.gpu.count == 0
          false  priority 100  spec.engine.type == 'llamacpp'
        kuberay  eligible, but only if selected by name

      objects
        nvidia.com/v1alpha1  DynamoGraphDeployment  prod/a

      fields
        apiVersion                   written    "kubefoundry.ai/v1alpha1"
        kind                         written    "ModelDeployment"
        metadata.name                written    "a"
        metadata.namespace           written    "prod"
        spec.model.id                written    "org/a"
        spec.model.servedName        derived    "a"
        spec.model.source            defaulted  "huggingface"
        spec.engine.type             written    "vllm"
        spec.engine.trustRemoteCode  defaulted  false
        spec.engine.enforceEager     defaulted  false
        spec.serving.mode            defaulted  "aggregated"
        spec.scaling.replicas        defaulted  1
        spec.resources.gpu.count     written    1
        spec.resources.gpu.type      defaulted  "nvidia.com/gpu"
    "#);
}

/// An actor has its mode, what it resolved to, its queue, and every value with its origin.
#[test]
fn prints_what_an_actor_resolved_to() {
    let actor = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: triton, namespace: vision}
spec:
  selector: {matchLabels: {app: triton}}
  template:
    metadata: {labels: {app: triton}}
    spec: {containers: [{name: triton, image: triton:1}]}
---
apiVersion: asya.sh/v1alpha1
kind: AsyncActor
metadata: {name: detect, namespace: vision}
spec:
  transport: rabbitmq
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: triton}
  runtime: {image: adapter:1, handler: adapters.triton.infer}
  timeout: {processing: 60, gracefulShutdown: 0}
  scaling: {enabled: true, maxReplicas: 4}
---
apiVersion: asya.sh/v1alpha1
kind: AsyncActor
metadata: {name: thumbnailer, namespace: vision}
spec:
  transport: rabbitmq
  workload:
    template:
      spec:
        containers:
        - name: asya-runtime
          image: thumbnailer:1
          env: [{name: ASYA_HANDLER, value: thumbnails.make}]
";
    let options = "\
apiVersion: config.kubefoundry.ai/v1alpha1
kind: Render
actor:
  sidecarImage: ghcr.io/deliveryhero/asya-sidecar:0.1.1
  transports:
    rabbitmq: {type: rabbitmq, enabled: true, config: {host: mq, port: 5672, username: asya}}
";
    let sandbox = Sandbox::new().with("kubefoundry.yaml", options).with("a.yaml", actor);
    insta::assert_snapshot!(sandbox.run(&["explain", "."]).exits(0).out);
    let json: Value = serde_json::from_str(&sandbox.run(&["explain", ".", "--output", "json"]).exits(0).out).unwrap();
    let queue = serde_json::json!({"name": "queue", "value": "asya-detect (rabbitmq)"});
    assert_eq!(json.pointer("/decisions/0/facts/3"), Some(&queue));
    let page = sandbox.run(&["explain", ".", "--output", "html"]).exits(0).out;
    assert!(page.contains("resolved target: <strong>Deployment vision/triton</strong>"), "{page}");
}

#[test]
fn an_error_does_not_hide_the_other_decisions() {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("b.yaml", broken("b"));
    let ran = sandbox.run(&["explain", "."]).exits(1);
    assert!(ran.out.contains("ModelDeployment prod/a"), "{}", ran.out);
    assert!(ran.err.contains("error[KF0112]"), "{}", ran.err);
    assert!(!ran.out.contains("KF0112"));
}

/// The JSON has decisions and findings, so that a program needs to read only one stream.
#[test]
fn json_has_decisions_and_findings() {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("b.yaml", broken("b"));
    let ran = sandbox.run(&["explain", ".", "--output", "json"]).exits(1);
    assert_eq!(ran.err, "");
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["version"], 1);
    let decision = &report["decisions"][0];
    assert_eq!((&decision["file"], &decision["line"]), (&"a.yaml".into(), &4.into()));
    assert_eq!(decision["object"]["name"], "a");
    assert_eq!(decision["selection"]["provider"], "dynamo");
    assert_eq!(decision["crdVersion"], "nvidia.com/v1alpha1");
    assert_eq!(decision["endpoint"]["port"], 8000);
    let field = |path: &str| decision["fields"].as_array().unwrap().iter().find(|it| it["path"] == path).unwrap();
    assert_eq!(field("spec.model.id")["origin"], "written");
    assert_eq!(field("spec.serving.mode")["origin"], "defaulted");
    let rules = |provider: &str| {
        let candidates = decision["selection"]["candidates"].as_array().unwrap();
        candidates.iter().find(|it| it["provider"] == provider).unwrap()["rules"].as_array().unwrap().len()
    };
    assert!(rules("dynamo") > 0 && rules("kaito") > 0);
    assert!(report["diagnostics"].as_array().unwrap().iter().any(|it| it["code"] == "KF0112"));
}

/// Text of users must not control the terminal.
#[test]
fn control_characters_are_escaped() {
    let text = model("a").replace("type: vllm", "type: vllm\n    args: {seed: \"\\u009b31m\"}");
    let ran = Sandbox::new().pipe(&["explain"], text);
    assert!(!ran.out.contains('\u{9b}') && !ran.err.contains('\u{9b}'), "{ran:?}");
}

/// The memory of a page must not grow with the fleet for ever, and what is left out is named.
#[test]
fn a_page_has_a_limit() {
    let models: Vec<String> = (0..2001).map(|number| model(&format!("m{number}"))).collect();
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("m.yaml", models.join("---\n"));
    let ran = sandbox.run(&["explain", "-o", "html", "m.yaml"]).exits(0);
    let note = "the first 2000 of 2001 deployments are shown; explain fewer files at once, or use --output json";
    assert!(ran.err.contains(note) && ran.out.contains(note), "{}", ran.err);
    assert!(ran.out.contains("id=\"d1999\"") && !ran.out.contains("m2000"));
    let ran = sandbox.run(&["explain", "-o", "mermaid", "m.yaml"]).exits(0);
    assert!(ran.err.contains(note) && !ran.out.contains("m2000"), "{}", ran.err);
}
