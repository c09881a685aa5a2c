//! Generated input: deployments of all providers, engines and modes, and foreign documents.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use super::start::{STARTS, Start};

/// Returns fields with values that are valid for most base deployments.
fn fields(start: Start) -> Vec<(&'static str, Value)> {
    let image = start.image.unwrap_or("registry.example.com/team/image:1.4.0");
    let arguments = match start.engine {
        "vllm" => json!({"max-num-seqs": "8", "seed": "1", "override-generation-config": "{\"temperature\": 0.5}"}),
        "sglang" => json!({"max-running-requests": "8", "random_seed": "1", "disable-overlap-schedule": ""}),
        "trtllm" => {
            json!({"max-batch-size": "8", "enable_chunked_prefill": "true", "kv_cache_config": "{\"dtype\": \"fp8\"}"})
        }
        "llamacpp" => json!({"threads": "8", "seed": "1", "mlock": ""}),
        _ => json!({start.examples().number: "8"}),
    };
    vec![
        ("spec.model.id", json!("org/other-model")),
        ("spec.model.id", json!("bare-name")),
        ("spec.model.servedName", json!("served")),
        ("spec.model.storage.volumes", json!([{"name": "v", "mountPath": "/models", "claimName": "claim"}])),
        (
            "spec.model.storage.volumes",
            json!([
                {"name": "cache", "purpose": "modelCache", "size": "10Gi", "storageClassName": "fast"},
                {"name": "compiled", "purpose": "compilationCache", "size": 1_000_000, "accessMode": "ReadWriteOnce"},
            ]),
        ),
        ("spec.provider.name", json!("other")),
        ("spec.provider.overrides", json!({"instanceType": "Standard_NC24ads_A100_v4", "workload": "InferenceSet"})),
        (
            "spec.provider.overrides",
            json!({"routerMode": "kv", "frontend": {"replicas": 2, "resources": {"cpu": "4"}}}),
        ),
        (
            "spec.provider.overrides",
            json!({"head": {"rayStartParams": {"temp-dir": "/tmp/ray", "num-gpus": "0"}}, "acceleratorType": "H100"}),
        ),
        ("spec.engine.contextLength", json!(4096)),
        ("spec.engine.trustRemoteCode", json!(true)),
        ("spec.engine.enforceEager", json!(true)),
        ("spec.engine.enablePrefixCaching", json!(false)),
        ("spec.engine.args", arguments),
        ("spec.engine.args", json!({"some-new-flag": "a", "tensor-parallel-size": "1"})),
        ("spec.engine.extraArgs", json!(["--one-more-flag", "--other-flag=x"])),
        ("spec.image", json!(image)),
        ("spec.engine.image", json!(image)),
        ("spec.scaling.replicas", json!(0)),
        ("spec.scaling.replicas", json!(3)),
        ("spec.scaling.prefill.replicas", json!(2)),
        ("spec.scaling.decode.gpu.count", json!(1)),
        ("spec.resources.gpu.count", json!(8)),
        ("spec.resources.memory", json!("64Gi")),
        ("spec.resources.cpu", json!("500m")),
        (
            "spec.env",
            json!([{"name": "B", "value": "2"}, {"name": "A", "value": "1"}, {"name": "HF_ENDPOINT", "value": "http://hub"}]),
        ),
        ("spec.env", json!([{"name": "A", "valueFrom": {"secretKeyRef": {"key": "k", "name": "s"}}}])),
        ("spec.podTemplate.metadata.labels", json!({"team": "a", "app": "b"})),
        ("spec.podTemplate.metadata.annotations", json!({"note": "one: two # three", "other": "1"})),
        ("spec.secrets.huggingFaceToken", json!("hf-token")),
        ("spec.imagePullSecrets", json!([{"name": "b"}, {"name": "a"}])),
        ("spec.nodeSelector", json!({"pool": "gpu", "zone": "a"})),
        ("spec.tolerations", json!([{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}])),
        ("metadata.namespace", Value::Null),
        ("metadata.labels", json!({"kubefoundry.ai/team": "a", "kubeairunway.ai/team": "b", "app": "c"})),
        ("metadata.annotations", json!({"note": "n"})),
    ]
}

/// Returns fields with values that are valid for few base deployments or none.
fn unusual_fields() -> Vec<(&'static str, Value)> {
    vec![
        ("spec.model.id", json!("/models/m")),
        ("spec.model.servedName", json!("not, served")),
        ("spec.model.source", json!("custom")),
        ("spec.provider.name", json!("kubray")),
        ("spec.resources.gpu.count", json!(0)),
        ("spec.resources.gpu.type", json!("amd.com/gpu")),
        ("spec.gateway", json!({"enabled": true})),
        ("spec.engin", json!({})),
        ("spec.provider.name", Value::Null),
    ]
}

/// Returns whether a field applies in a mode.
fn applies(field: &str, mode: &str) -> bool {
    match mode {
        "aggregated" => !field.starts_with("spec.scaling.prefill") && !field.starts_with("spec.scaling.decode"),
        _ => !field.starts_with("spec.resources") && field != "spec.scaling.replicas",
    }
}

fn set(document: &mut Value, path: &str, value: Value) {
    let mut node = document;
    for key in path.split('.') {
        node = node.as_object_mut().unwrap().entry(key).or_insert_with(|| json!({}));
    }
    *node = value;
}

/// Generates a deployment: a base deployment with some fields and sometimes an unusual one.
fn deployment() -> impl Strategy<Value = Value> {
    select(STARTS.as_slice()).prop_flat_map(|start| {
        let mut fields = fields(start);
        fields.retain(|(field, _)| applies(field, start.mode));
        let odd = (0..6_usize).prop_flat_map(|dice| subsequence(unusual_fields(), usize::from(dice == 0)));
        let groups = vec!["kubefoundry.ai", "kubefoundry.ai", "kubeairunway.ai", "airunway.ai"];
        (subsequence(fields, 0..8), odd, select(groups)).prop_map(move |(fields, odd, group)| {
            let mut document = start.document();
            document["apiVersion"] = json!(format!("{group}/v1alpha1"));
            for (path, value) in fields.into_iter().chain(odd) {
                set(&mut document, path, value);
            }
            document
        })
    })
}

/// Generates documents of other kinds and groups. One of them has the name of an object that may be generated.
fn foreign() -> impl Strategy<Value = Value> {
    select(vec![
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}, "data": {"a": "b"}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "m0", "namespace": "default"}}),
        json!({"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "m0", "namespace": "default"}}),
        json!({"apiVersion": "example.com/v1", "kind": "ModelDeployment", "metadata": {"name": "theirs"}}),
        json!({"apiVersion": "kubefoundry.ai/v1alpha1", "kind": "InferenceProviderConfig", "metadata": {"name": "other"}, "spec": {
            "capabilities": {"engines": ["vllm"], "servingModes": ["aggregated"], "gpuSupport": true},
            "selectionRules": [{"condition": "spec.engine.contextLength == 4096", "priority": 500}]}}),
    ])
}

/// Generates deployments with different names and some foreign documents.
pub(crate) fn documents() -> impl Strategy<Value = Vec<Value>> {
    (proptest::collection::vec(deployment(), 1..4), proptest::collection::vec(foreign(), 0..3)).prop_map(
        |(mut documents, mut foreign)| {
            for (index, document) in documents.iter_mut().enumerate() {
                document["metadata"]["name"] = json!(format!("m{index}"));
            }
            foreign.sort_by_key(Value::to_string);
            foreign.dedup();
            documents.append(&mut foreign);
            documents
        },
    )
}
