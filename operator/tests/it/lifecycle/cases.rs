//! The providers under test, and the setup of every test.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::harness::cluster::kinds::{DEPLOYMENT, GRAPH, RAY_SERVICE, WORKSPACE};
use crate::harness::cluster::{Kind, Namespace, SOON, uid};
use crate::harness::operator::Options;
use crate::harness::shared::SharedNamespace;
use crate::harness::{crds, eventually};

/// A provider with its test data.
pub struct ProviderCase {
    pub provider: &'static str,
    pub kind: Kind,
    /// A specification. It names the provider unless the selector should choose it.
    pub spec: Value,
    pub reason: &'static str,
    /// The status that the upstream operator writes when the model runs.
    pub running: Value,
    pub service: &'static str,
    pub port: u16,
    /// A change that the upstream operator carries out: a merge patch of `spec`, and the changed field of the main object.
    pub in_place: (Value, &'static str),
    /// A field of the main object, and a value that differs from the rendered one.
    pub drift: (&'static str, Value),
}

pub fn time() -> &'static str {
    "2026-01-30T10:00:00Z"
}

/// The specification of a deployment whose weights are in a claim, `<name>-cache`.
pub fn spec_with_claim() -> Value {
    let volumes = json!([{"name": "cache", "purpose": "modelCache", "size": "300Gi"}]);
    json!({
        "model": {"id": "org/phi", "storage": {"volumes": volumes}},
        "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}},
    })
}

pub fn cases() -> Vec<ProviderCase> {
    let gpu = json!({"gpu": {"count": 1}, "memory": "32Gi"});
    vec![
        ProviderCase {
            provider: "kaito",
            kind: WORKSPACE,
            spec: json!({
                "model": {"id": "microsoft/Phi-4-mini-instruct"},
                "provider": {"name": "kaito", "overrides": {"instanceType": "Standard_NC24ads_A100_v4"}},
                "engine": {"type": "vllm", "contextLength": 8192},
                "resources": {"gpu": {"count": 1}},
            }),
            reason: "explicit provider selection",
            running: json!({
                "state": "Ready",
                "conditions": [{
                    "type": "WorkspaceSucceeded", "status": "True", "reason": "workspaceSucceeded",
                    "message": "workspace succeeds", "lastTransitionTime": time(),
                }],
            }),
            service: "phi",
            port: 80,
            in_place: (json!({"engine": {"contextLength": 16384}}), "/inference/config"),
            drift: ("/resource/labelSelector/matchLabels/kubernetes.io~1os", json!("windows")),
        },
        ProviderCase {
            provider: "dynamo",
            kind: GRAPH,
            spec: json!({
                "model": {"id": "Qwen/Qwen3-4B"}, "engine": {"type": "vllm"}, "resources": gpu,
            }),
            reason: "default → dynamo (GPU inference default)",
            running: json!({
                "state": "successful",
                "observedGeneration": 1,
                "services": {"VllmWorker": {
                    "componentKind": "Deployment", "componentName": "phi-vllmworker",
                    "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
                }},
                "conditions": [{
                    "type": "Ready", "status": "True", "reason": "all_resources_are_ready", "message": "ready",
                    "lastTransitionTime": time(),
                }],
            }),
            service: "phi-frontend",
            port: 8000,
            in_place: (json!({"scaling": {"replicas": 2}}), "/spec/services/VllmWorker/replicas"),
            drift: ("/spec/services/VllmWorker/replicas", json!(7)),
        },
        ProviderCase {
            provider: "kuberay",
            kind: RAY_SERVICE,
            spec: json!({
                "model": {"id": "Qwen/Qwen3-4B"},
                "provider": {"name": "kuberay"}, "engine": {"type": "vllm"}, "resources": gpu,
            }),
            reason: "explicit provider selection",
            running: json!({
                "serviceStatus": "Running",
                "observedGeneration": 1,
                "numServeEndpoints": 1,
                "activeServiceStatus": {
                    "rayClusterName": "phi-raycluster-x",
                    "rayClusterStatus": {
                        "state": "ready", "desiredWorkerReplicas": 1, "readyWorkerReplicas": 1, "availableWorkerReplicas": 1,
                    },
                },
                "conditions": [{
                    "type": "Ready", "status": "True", "reason": "NonZeroServeEndpoints", "message": "serves",
                    "lastTransitionTime": time(),
                }],
            }),
            service: "phi-serve-svc",
            port: 8000,
            in_place: (json!({"engine": {"contextLength": 4096}}), "/spec/serveConfigV2"),
            drift: ("/spec/rayClusterConfig/workerGroupSpecs/0/groupName", json!("changed")),
        },
    ]
}

/// A namespace of a cluster with every CRD. One operator without webhooks serves all tests of this module.
pub async fn namespace(name: &str) -> Option<SharedNamespace> {
    SharedNamespace::create("lifecycle", name, async |plane| {
        let client = plane.admin().await;
        crds::install_own(&client).await;
        crds::install_upstream(&client).await;
        Namespace::create(&client, "kubefoundry-system").await;
        Options::default().roles("core,selector,kaito,dynamo,kuberay").start_ready(plane, "lifecycle").await
    })
    .await
}

/// Runs a test with every provider at the same time. `test` is a part of the namespaces' names.
pub async fn with_each_provider(test: &str, run: impl AsyncFn(&SharedNamespace, &ProviderCase)) {
    let cases = cases();
    let runs = cases.iter().map(async |case| {
        if let Some(namespace) = namespace(&format!("{test}-{}", case.provider)).await {
            run(&namespace, case).await;
        }
    });
    join_all(runs).await;
}

/// Deploys `phi`, marks it as running, and returns the main object.
pub async fn run(namespace: &Namespace, case: &ProviderCase) -> Value {
    namespace.deploy("phi", &case.spec).await;
    namespace.until_exists(case.kind, "phi").await;
    namespace.patch_status(case.kind, "phi", &case.running).await;
    namespace.until_phase("phi", "Running").await;
    namespace.get(case.kind, "phi").await
}

/// Waits until the operator has seen the main object of `phi` as it is now, and has reconciled `phi` since. What it
/// does not do about a change until then, it does not do.
pub async fn until_handled(namespace: &SharedNamespace, case: &ProviderCase) {
    let operator = namespace.operator();
    operator.until_delivered(&case.kind.watch(), &namespace.get(case.kind, "phi").await).await;
    operator.look_at(namespace, DEPLOYMENT, "phi", &[case.provider]).await;
}

/// Waits until a new main object has replaced `before`, and checks that the two never existed together.
pub async fn until_replaced(namespace: &Namespace, kind: Kind, before: &Value) -> Value {
    eventually(SOON, &format!("another {} in {}", kind.kind, namespace.name), async || {
        let all = namespace.list(kind).await;
        assert!(all.len() <= 1, "{all:?}");
        match all.into_iter().next() {
            Some(object) if uid(&object) != uid(before) && object["metadata"]["deletionTimestamp"].is_null() => {
                Ok(object)
            }
            other => Err(format!("{other:?}\nstatus {}", namespace.get(DEPLOYMENT, "phi").await["status"])),
        }
    })
    .await
}

pub fn assert_owned(object: &Value, deployment: &Value) {
    let metadata = &deployment["metadata"];
    let expected = json!([{
        "apiVersion": deployment["apiVersion"], "kind": "ModelDeployment", "name": metadata["name"], "uid": metadata["uid"],
        "controller": true, "blockOwnerDeletion": true,
    }]);
    assert_eq!(object["metadata"]["ownerReferences"], expected);
}

/// Replaces one field of the main object, as `kubectl edit` does.
pub async fn edit(namespace: &Namespace, case: &ProviderCase, path: &str, value: &Value) {
    use kube::api::{Patch, PatchParams};
    let patch = serde_json::from_value(json!([{"op": "replace", "path": path, "value": value}])).unwrap();
    let parameters = PatchParams { field_manager: Some("kubectl-edit".to_owned()), ..PatchParams::default() };
    let patch = Patch::<()>::Json(patch);
    namespace.api(case.kind).patch("phi", &parameters, &patch).await.unwrap();
}

pub fn equal_number(found: &Value, expected: i64) -> Result<(), String> {
    if *found == expected { Ok(()) } else { Err(format!("{found} instead of {expected}")) }
}
