//! Tests of leaves: every written scalar is a leaf of origin `Written`, and no other value is.

use super::run;
use kubefoundry_deployment::ir::{FieldOrigin, LeafEntry};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Limits, Node, Value, parse};

const COMMON: &str = r#"apiVersion: kubefoundry.ai/v1alpha1
kind: ModelDeployment
metadata:
  name: m
  namespace: team
  uid: "1"
  labels: {a: b}
  annotations: {c: d}
spec:
  model:
    id: /data/llama
    servedName: llama
    source: huggingface
    storage:
      volumes:
        - {name: v, purpose: modelCache, mountPath: /data, claimName: c, size: 1Gi, storageClassName: "", accessMode: ReadWriteOnce, readOnly: false}
  provider:
    name: dynamo
    overrides: {routerMode: kv, frontend: {replicas: 2, list: [1.5, true, {}]}, empty: []}
  engine:
    type: vllm
    contextLength: 8192
    trustRemoteCode: true
    enablePrefixCaching: false
    enforceEager: true
    args: {max-num-seqs: "4", seed: "1"}
    extraArgs: [--a, "1"]
  env:
    - {name: A, value: "1"}
    - {name: B, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: status.podIP}}}
    - {name: C, valueFrom: {resourceFieldRef: {containerName: main, resource: limits.cpu, divisor: 1m}}}
    - {name: D, valueFrom: {configMapKeyRef: {name: a, key: b, optional: true}}}
    - {name: E, valueFrom: {secretKeyRef: {name: a, key: b, optional: false}}}
    - {name: F, valueFrom: {fileKeyRef: {volumeName: a, path: b, key: c, optional: true}}}
  podTemplate: {metadata: {labels: {e: f}, annotations: {g: h}}}
  secrets: {huggingFaceToken: t}
  imagePullSecrets: [{name: p}]
  nodeSelector: {i: j}
  tolerations: [{key: k, operator: Equal, value: l, effect: NoExecute, tolerationSeconds: 3}]
"#;

const AGGREGATED: &str = "  serving: {mode: aggregated}
  scaling: {replicas: 2}
  resources: {gpu: {count: 1, type: amd.com/gpu}, memory: 1Gi, cpu: \"2\"}
  image: a/b:1
";

const DISAGGREGATED: &str = "  serving: {mode: disaggregated}
  scaling:
    prefill: {replicas: 2, gpu: {count: 1, type: amd.com/gpu}, memory: 1Gi}
    decode: {replicas: 3, gpu: {count: 2, type: amd.com/gpu}, memory: 2Gi}
";

/// Collects the scalars of a document with their paths.
fn collect_scalars(node: &Node<'_>, path: &FieldPath, scalars: &mut Vec<(String, String)>) {
    match &node.value {
        Value::Mapping(entries) if !entries.is_empty() => {
            for entry in entries {
                collect_scalars(&entry.node, &path.key(entry.key.clone().into_owned()), scalars);
            }
        }
        Value::Sequence(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                collect_scalars(item, &path.index(index), scalars);
            }
        }
        _ => scalars.push((path.to_string(), node.to_json().to_string())),
    }
}

fn leaves(text: &str) -> Vec<LeafEntry> {
    let (deployment, diagnostics) = run(text);
    deployment.unwrap_or_else(|| panic!("{diagnostics:#?}")).leaves()
}

#[test]
fn lists_every_written_scalar_as_written() {
    for rest in [AGGREGATED, DISAGGREGATED, "  engine_image: x\n"] {
        let text = match rest.strip_prefix("  engine_image: ") {
            Some(_) => {
                format!(
                    "{}{}",
                    COMMON.replace("    args:", "    image: c/d:2\n    args:"),
                    &AGGREGATED.replace("  image: a/b:1\n", "")
                )
            }
            None => format!("{COMMON}{rest}"),
        };
        let parsed = parse(&text, &Limits::default());
        let mut expected = Vec::new();
        collect_scalars(&parsed.documents[0].root, &FieldPath::root(), &mut expected);
        let mut written: Vec<(String, String)> = leaves(&text)
            .into_iter()
            .filter(|leaf| leaf.origin == FieldOrigin::Written)
            .map(|leaf| (leaf.path.to_string(), leaf.value))
            .collect();
        expected.sort();
        written.sort();
        assert_eq!(written, expected);
    }
}

#[test]
fn lists_leaves_in_the_order_of_the_specification() {
    let text = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: m}\nspec: {engine: {type: llamacpp}, model: {id: a/b}}\n";
    let lines: Vec<String> =
        leaves(text).iter().map(|leaf| format!("{:?} {} {}", leaf.origin, leaf.path, leaf.value)).collect();
    assert_eq!(
        lines,
        [
            "Written apiVersion \"kubefoundry.ai/v1alpha1\"",
            "Written kind \"ModelDeployment\"",
            "Written metadata.name \"m\"",
            "Written spec.model.id \"a/b\"",
            "Derived spec.model.servedName \"b\"",
            "Defaulted spec.model.source \"huggingface\"",
            "Written spec.engine.type \"llamacpp\"",
            "Defaulted spec.engine.trustRemoteCode false",
            "Defaulted spec.engine.enforceEager false",
            "Defaulted spec.serving.mode \"aggregated\"",
            "Defaulted spec.scaling.replicas 1",
            "Defaulted spec.resources.gpu.count 0",
            "Defaulted spec.resources.gpu.type \"nvidia.com/gpu\"",
        ]
    );
}
