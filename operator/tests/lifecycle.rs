//! The life of a ModelDeployment with each provider, before a real apiserver. There is no provider's controller: tests
//! write the status that it would write.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod harness;

use std::time::Duration;

use futures::future::join_all;
use harness::cluster::kinds::{CLAIM, CONFIG_MAP, DEPLOYMENT, GRAPH, PROVIDER_CONFIG, RAY_SERVICE, WORKSPACE};
use harness::cluster::{Kind, Namespace, condition, equal, uid};
use harness::operator::{Operator, Options};
use harness::render::{difference, kind_of, render};
use harness::{ControlPlane, crds, eventually, stays};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// One provider, and what is particular about it.
struct Case {
    provider: &'static str,
    kind: Kind,
    /// A specification; nothing in it names the provider where that is selected.
    spec: Value,
    reason: &'static str,
    /// What its controller writes when the model runs.
    running: Value,
    service: &'static str,
    port: u16,
    /// A change that its controller carries out: a merge patch of `spec`, and the field of the main object that shows it.
    in_place: (Value, &'static str),
    /// A field of the main object, and a value that nobody asked for.
    drift: (&'static str, Value),
}

fn time() -> &'static str {
    "2026-01-30T10:00:00Z"
}

fn cases() -> Vec<Case> {
    let gpu = json!({"gpu": {"count": 1}, "memory": "32Gi"});
    vec![
        Case {
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
        Case {
            provider: "dynamo",
            kind: GRAPH,
            spec: json!({
                "model": {"id": "meta-llama/Llama-3.1-8B-Instruct"}, "engine": {"type": "vllm"}, "resources": gpu,
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
        Case {
            provider: "kuberay",
            kind: RAY_SERVICE,
            spec: json!({
                "model": {"id": "meta-llama/Llama-3.1-8B-Instruct"},
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

/// A namespace of a cluster with every CRD, in which one operator serves all tests of this file. Webhooks are away.
async fn namespace(name: &str) -> Option<Namespace> {
    static OPERATOR: OnceCell<Operator> = OnceCell::const_new();
    let plane = ControlPlane::shared().await?;
    let client = plane.admin().await;
    let start = async || {
        crds::install_ours(&client).await;
        crds::install_upstream(&client).await;
        Namespace::create(&client, "kubefoundry-system").await;
        Options::default().roles("core,selector,kaito,dynamo,kuberay").start_ready(plane, "lifecycle").await
    };
    OPERATOR.get_or_init(start).await;
    Some(Namespace::create(&client, name).await)
}

/// Runs a story with every provider, at the same time.
async fn with_each_provider(story: &str, run: impl AsyncFn(&Namespace, &Case)) {
    let cases = cases();
    let runs = cases.iter().map(async |case| {
        if let Some(namespace) = namespace(&format!("{story}-{}", case.provider)).await {
            run(&namespace, case).await;
        }
    });
    join_all(runs).await;
}

/// Deploys `phi`, lets its provider run it, and gives the main object.
async fn run(namespace: &Namespace, case: &Case) -> Value {
    namespace.deploy("phi", &case.spec).await;
    namespace.until_there(case.kind, "phi").await;
    namespace.patch_status(case.kind, "phi", &case.running).await;
    namespace.until_phase("phi", "Running").await;
    namespace.get(case.kind, "phi").await
}

/// Waits until there is another main object of the same name, and checks that there was never a second one.
async fn until_replaced(namespace: &Namespace, kind: Kind, before: &Value) -> Value {
    eventually(harness::cluster::SOON, &format!("another {} in {}", kind.kind, namespace.name), async || {
        let all = namespace.list(kind).await;
        assert!(all.len() <= 1, "{all:?}");
        match all.into_iter().next() {
            Some(object) if uid(&object) != uid(before) && object["metadata"]["deletionTimestamp"].is_null() => Ok(object),
            other => Err(format!("{other:?}\nstatus {}", namespace.get(DEPLOYMENT, "phi").await["status"])),
        }
    })
    .await
}

fn assert_owned(object: &Value, deployment: &Value) {
    let metadata = &deployment["metadata"];
    let expected = json!([{
        "apiVersion": deployment["apiVersion"], "kind": "ModelDeployment", "name": metadata["name"], "uid": metadata["uid"],
        "controller": true, "blockOwnerDeletion": true,
    }]);
    assert_eq!(object["metadata"]["ownerReferences"], expected);
}

#[tokio::test]
async fn what_is_created_is_selected_applied_and_runs() {
    with_each_provider("create", async |namespace, case| {
        namespace.deploy("phi", &case.spec).await;
        let main = namespace.until_there(case.kind, "phi").await;
        let pending = namespace.until_condition("phi", "ResourceCreated", "True").await;
        assert!(!pending["lastTransitionTime"].is_null(), "{pending}");
        let deployment = namespace.until_condition("phi", "Ready", "False").await;
        assert_eq!(deployment["observedGeneration"], 1, "{deployment}");

        let deployment = namespace.get(DEPLOYMENT, "phi").await;
        let status = &deployment["status"];
        assert_eq!(status["provider"]["name"], case.provider);
        assert_eq!(status["provider"]["selectedReason"], case.reason);
        assert_eq!(status["provider"]["resourceName"], "phi");
        assert_eq!(status["provider"]["resourceKind"], case.kind.kind);
        for kind in ["Validated", "ProviderSelected", "ProviderCompatible", "ResourceCreated"] {
            assert_eq!(condition(&deployment, kind).unwrap()["status"], "True", "{kind}: {status}");
        }
        let message = namespace.until_event("phi", "Normal", "ProviderSelected").await;
        assert_eq!(message, format!("Selected provider '{}': {}", case.provider, case.reason));
        let message = namespace.until_event("phi", "Normal", "ResourceCreated").await;
        assert_eq!(message, format!("Created {} 'phi'", case.kind.kind));

        let rendered = render(&deployment);
        for expected in &rendered {
            let name = expected["metadata"]["name"].as_str().unwrap();
            let live = namespace.get(kind_of(expected), name).await;
            assert_eq!(difference(namespace, kind_of(expected), expected, &live).await, None);
            assert_owned(&live, &deployment);
        }
        for hash in ["identity-hash", "rendered-hash"] {
            let annotation = &main["metadata"]["annotations"][format!("kubefoundry.ai/{hash}")];
            assert!(annotation.as_str().is_some_and(|hash| !hash.is_empty()), "{hash}: {main}");
        }

        namespace.patch_status(case.kind, "phi", &case.running).await;
        let deployment = namespace.until_phase("phi", "Running").await;
        let status = &deployment["status"];
        assert_eq!(status["endpoint"], json!({"service": case.service, "port": case.port}));
        assert_eq!(status["replicas"], json!({"desired": 1, "ready": 1, "available": 1}));
        assert_eq!(status["observedGeneration"], deployment["metadata"]["generation"]);
        assert_eq!(condition(&deployment, "Ready").unwrap()["status"], "True");
        let created = condition(&deployment, "ResourceCreated").unwrap();
        assert_eq!(created["lastTransitionTime"], pending["lastTransitionTime"], "it did not change");
    })
    .await;
}

/// Each controller writes its own fields, and no field twice (spec/1 §3.10).
#[tokio::test]
async fn each_field_of_status_has_one_manager() {
    with_each_provider("managers", async |namespace, case| {
        run(namespace, case).await;
        let deployment = namespace.get(DEPLOYMENT, "phi").await;
        let mut owners: Vec<(String, String)> = Vec::new();
        for entry in deployment["metadata"]["managedFields"].as_array().unwrap() {
            let manager = entry["manager"].as_str().unwrap();
            let Some(status) = entry["fieldsV1"].get("f:status") else { continue };
            assert_eq!((&entry["operation"], &entry["subresource"]), (&json!("Apply"), &json!("status")), "{manager}");
            let mut paths = Vec::new();
            leaves("", status, &mut paths);
            owners.extend(paths.into_iter().map(|path| (path, manager.to_owned())));
        }
        owners.sort();
        for pair in owners.windows(2) {
            assert_ne!(pair[0].0, pair[1].0, "{pair:?}");
        }
        let owner = |path: &str| owners.iter().find(|(found, _)| found == path).map(|(_, owner)| owner.as_str());
        let provider = format!("{}-provider", case.provider);
        assert_eq!(owner(".f:provider.f:name"), Some("provider-selector"), "{owners:?}");
        assert_eq!(owner(".f:provider.f:selectedReason"), Some("provider-selector"));
        assert_eq!(owner(".f:provider.f:resourceName"), Some(&*provider));
        assert_eq!(owner(".f:phase"), Some(&*provider));
        assert_eq!(owner(".f:endpoint.f:service"), Some(&*provider));
    })
    .await;
}

fn leaves(path: &str, fields: &Value, found: &mut Vec<String>) {
    match fields.as_object() {
        Some(map) if map.keys().any(|key| key != ".") => {
            for (key, value) in map.iter().filter(|(key, _)| *key != ".") {
                leaves(&format!("{path}.{key}"), value, found);
            }
        }
        _ => found.push(path.to_owned()),
    }
}

#[tokio::test]
async fn what_the_provider_says_shows() {
    with_each_provider("failing", async |namespace, case| {
        run(namespace, case).await;
        let (status, phase, said) = match case.provider {
            "kaito" => (
                json!({"state": "Failed", "conditions": [{
                    "type": "WorkspaceSucceeded", "status": "False", "reason": "workspaceFailed",
                    "message": "no such instance type", "lastTransitionTime": time(),
                }]}),
                "Failed",
                "no such instance type",
            ),
            "dynamo" => (
                json!({"state": "failed", "conditions": [{
                    "type": "Ready", "status": "False", "reason": "failed", "message": "insufficient GPUs",
                    "lastTransitionTime": time(),
                }]}),
                "Failed",
                "insufficient GPUs",
            ),
            _ => (
                json!({"conditions": [{
                    "type": "Ready", "status": "False", "reason": "ValidationFailed", "message": "a bad name",
                    "lastTransitionTime": time(),
                }]}),
                "Failed",
                "a bad name",
            ),
        };
        namespace.patch_status(case.kind, "phi", &status).await;
        let deployment = namespace.until_phase("phi", phase).await;
        let message = deployment["status"]["message"].as_str().unwrap();
        assert!(message.contains(said), "{message}");
        let ready = condition(&deployment, "Ready").unwrap();
        assert_eq!(ready["status"], "False");
        let message = namespace.until_event("phi", "Warning", "ProviderError").await;
        assert!(message.starts_with("Provider resource in error state: ") && message.contains(said), "{message}");
    })
    .await;
}

#[tokio::test]
async fn a_change_that_the_provider_carries_out_is_made_in_place() {
    with_each_provider("update", async |namespace, case| {
        let before = run(namespace, case).await;
        let (patch, path) = &case.in_place;
        let deployment = namespace.merge(DEPLOYMENT, "phi", &json!({"spec": patch})).await;
        let rendered = render(&deployment).pop().unwrap();
        let after = namespace
            .until(case.kind, "phi", "changed", |main| {
                let (found, expected) = (main.pointer(path), rendered.pointer(path));
                if found == expected { Ok(()) } else { Err(format!("{found:?} instead of {expected:?}")) }
            })
            .await;
        assert_ne!(after.pointer(path), before.pointer(path));
        assert_eq!(uid(&after), uid(&before));
        assert_eq!(difference(namespace, case.kind, &rendered, &after).await, None);
        namespace
            .until(DEPLOYMENT, "phi", "observed", |deployment| {
                equal_number(&deployment["status"]["observedGeneration"], 2)
            })
            .await;
    })
    .await;
}

fn equal_number(found: &Value, expected: i64) -> Result<(), String> {
    if *found == expected { Ok(()) } else { Err(format!("{found} instead of {expected}")) }
}

#[tokio::test]
async fn another_model_is_another_object() {
    with_each_provider("identity", async |namespace, case| {
        let before = run(namespace, case).await;
        let patch = json!({"spec": {"model": {"id": "Qwen/Qwen3-8B"}}});
        let deployment = namespace.merge(DEPLOYMENT, "phi", &patch).await;
        let after = until_replaced(namespace, case.kind, &before).await;
        let rendered = render(&deployment).pop().unwrap();
        assert_eq!(difference(namespace, case.kind, &rendered, &after).await, None);
        assert_owned(&after, &deployment);
        // It starts anew.
        let deployment = namespace.until_condition("phi", "Ready", "False").await;
        assert!(!deployment.is_null());
        namespace.patch_status(case.kind, "phi", &case.running).await;
        namespace.until_phase("phi", "Running").await;
    })
    .await;
}

/// KAITO makes the workload of a template once (docs/plan.md); KubeRay leaves replicas out of what it looks at.
#[tokio::test]
async fn a_change_that_the_provider_ignores_is_another_object() {
    let Some(namespace) = namespace("ignored-kaito").await else { return };
    let spec = json!({
        "model": {"id": "google/gemma-3-1b-it-qat-q8_0-gguf"}, "engine": {"type": "llamacpp"},
        "resources": {"memory": "16Gi", "cpu": "8"}, "image": "ghcr.io/sozercan/llama-cpp-runner:latest",
    });
    namespace.deploy("phi", &spec).await;
    let before = namespace.until_there(WORKSPACE, "phi").await;
    let patch = json!({"spec": {"env": [{"name": "LOG_LEVEL", "value": "debug"}]}});
    let deployment = namespace.merge(DEPLOYMENT, "phi", &patch).await;
    let after = until_replaced(&namespace, WORKSPACE, &before).await;
    let rendered = render(&deployment).pop().unwrap();
    assert_eq!(difference(&namespace, WORKSPACE, &rendered, &after).await, None);
    assert_eq!(
        before["metadata"]["annotations"]["kubefoundry.ai/identity-hash"],
        after["metadata"]["annotations"]["kubefoundry.ai/identity-hash"],
        "the same model"
    );
}

#[tokio::test]
async fn what_somebody_else_changes_is_put_back() {
    with_each_provider("drift", async |namespace, case| {
        let before = run(namespace, case).await;
        let (path, value) = &case.drift;
        edit(namespace, case, path, value).await;
        let original = before.pointer(path).unwrap();
        let after = namespace
            .until(case.kind, "phi", "put back", |main| {
                let found = main.pointer(path).unwrap();
                if found == original { Ok(()) } else { Err(found.to_string()) }
            })
            .await;
        assert_eq!(uid(&after), uid(&before));
        let message = namespace.until_event("phi", "Warning", "DriftDetected").await;
        assert!(message.starts_with("Provider resource was modified directly, reconciling"), "{message}");
        // What nobody rendered is nobody's drift.
        namespace.merge(case.kind, "phi", &json!({"metadata": {"labels": {"team": "search"}}})).await;
        stays(Duration::from_secs(1), "labelled", async || {
            let main = namespace.get(case.kind, "phi").await;
            equal(&main["metadata"]["labels"]["team"], "search")
        })
        .await;
        let drifts = namespace.events("phi").await.into_iter().filter(|event| event.1 == "DriftDetected").count();
        assert_eq!(drifts, 1);
    })
    .await;
}

/// Replaces one field of the main object, as `kubectl edit` does.
async fn edit(namespace: &Namespace, case: &Case, path: &str, value: &Value) {
    use kube::api::{Patch, PatchParams};
    let patch = serde_json::from_value(json!([{"op": "replace", "path": path, "value": value}])).unwrap();
    let parameters = PatchParams { field_manager: Some("kubectl-edit".to_owned()), ..PatchParams::default() };
    let patch = Patch::<()>::Json(patch);
    namespace.api(case.kind).patch("phi", &parameters, &patch).await.unwrap();
}

#[tokio::test]
async fn what_is_paused_is_left_alone() {
    with_each_provider("pause", async |namespace, case| {
        let before = run(namespace, case).await;
        let key = "kubefoundry.ai/reconcile-paused";
        namespace.annotate(DEPLOYMENT, "phi", key, Some("true")).await;
        // Whatever saw it before that is done.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let (path, value) = &case.drift;
        edit(namespace, case, path, value).await;
        namespace.merge(DEPLOYMENT, "phi", &json!({"spec": case.in_place.0})).await;
        stays(Duration::from_secs(2), "as it was edited", async || {
            let main = namespace.get(case.kind, "phi").await;
            let is_edited = main.pointer(path) == Some(value) && uid(&main) == uid(&before);
            if is_edited { Ok(()) } else { Err(main.to_string()) }
        })
        .await;
        namespace.annotate(DEPLOYMENT, "phi", key, None).await;
        let deployment = namespace.get(DEPLOYMENT, "phi").await;
        let rendered = render(&deployment).pop().unwrap();
        let (path, in_place) = (*path, case.in_place.1);
        namespace
            .until(case.kind, "phi", "as rendered", |main| {
                let same = |path| main.pointer(path) == rendered.pointer(path);
                if same(path) && same(in_place) { Ok(()) } else { Err(main.to_string()) }
            })
            .await;
    })
    .await;
}

#[tokio::test]
async fn what_is_deleted_is_gone_with_its_objects() {
    with_each_provider("delete", async |namespace, case| {
        run(namespace, case).await;
        let deployment = namespace.get(DEPLOYMENT, "phi").await;
        let finalizer = format!("kubefoundry.ai/{}-provider", case.provider);
        assert_eq!(deployment["metadata"]["finalizers"], json!([finalizer]));
        let rendered = render(&deployment);
        namespace.delete(DEPLOYMENT, "phi").await;
        namespace.until_gone(DEPLOYMENT, "phi").await;
        assert_eq!(namespace.find(case.kind, "phi").await, None, "it goes before the deployment does");
        for object in rendered {
            namespace.until_gone(kind_of(&object), object["metadata"]["name"].as_str().unwrap()).await;
        }
        let events = namespace.events("phi").await;
        assert!(!events.iter().any(|event| event.1 == "FinalizerTimeout"), "{events:?}");
    })
    .await;
}

#[tokio::test]
async fn a_deployment_whose_object_does_not_go_is_let_go_after_the_limit() {
    with_each_provider("stuck", async |namespace, case| {
        run(namespace, case).await;
        let held = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
        namespace.merge(case.kind, "phi", &held(json!(["example.com/upstream"]))).await;
        namespace.delete(DEPLOYMENT, "phi").await;
        let deployment = namespace
            .until(DEPLOYMENT, "phi", "terminating", |deployment| equal(&deployment["status"]["phase"], "Terminating"))
            .await;
        assert!(!deployment["metadata"]["deletionTimestamp"].is_null());
        stays(Duration::from_millis(1500), "there", async || {
            namespace.find(DEPLOYMENT, "phi").await.map(|_| ()).ok_or_else(|| "it went before its time".to_owned())
        })
        .await;
        namespace.until_gone(DEPLOYMENT, "phi").await;
        let message = namespace.until_event("phi", "Warning", "FinalizerTimeout").await;
        assert!(message.starts_with("Finalizer removed after timeout, provider resource may be orphaned"), "{message}");
        let main = namespace.get(case.kind, "phi").await;
        assert!(!main["metadata"]["deletionTimestamp"].is_null(), "it was asked to go: {main}");
        namespace.merge(case.kind, "phi", &held(json!(null))).await;
        namespace.until_gone(case.kind, "phi").await;
    })
    .await;
}

#[tokio::test]
async fn a_provider_that_is_silent_for_too_long_is_noticed() {
    with_each_provider("stale", async |namespace, case| {
        namespace.deploy("phi", &case.spec).await;
        namespace.until_there(case.kind, "phi").await;
        let stale = namespace.until_condition("phi", "StaleStatus", "True").await;
        assert!(!stale["message"].as_str().unwrap_or_default().is_empty(), "{stale}");
        namespace.patch_status(case.kind, "phi", &case.running).await;
        namespace
            .until(DEPLOYMENT, "phi", "not stale any more", |deployment| {
                let stale = condition(deployment, "StaleStatus");
                let is_stale = stale.is_some_and(|condition| condition["status"] == "True");
                if is_stale { Err(deployment["status"].to_string()) } else { Ok(()) }
            })
            .await;
        // What runs may be silent.
        stays(Duration::from_secs(3), "fresh", async || {
            let deployment = namespace.get(DEPLOYMENT, "phi").await;
            let stale = condition(&deployment, "StaleStatus").is_some_and(|condition| condition["status"] == "True");
            if stale { Err(deployment["status"].to_string()) } else { Ok(()) }
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_secret_that_is_not_there_is_said() {
    with_each_provider("secret", async |namespace, case| {
        let mut spec = case.spec.clone();
        spec["secrets"] = json!({"huggingFaceToken": "hf-token"});
        namespace.deploy("phi", &spec).await;
        let message = namespace.until_event("phi", "Warning", "SecretNotFound").await;
        assert_eq!(message, format!("Secret 'hf-token' not found in namespace '{}'", namespace.name));
        // It is applied all the same: the secret may come later.
        namespace.until_there(case.kind, "phi").await;
    })
    .await;
}

#[tokio::test]
async fn an_object_of_somebody_else_is_never_taken() {
    with_each_provider("taken", async |namespace, case| {
        // The same object as ours, of somebody who made it by hand.
        let rendered = render(&json!({
            "apiVersion": DEPLOYMENT.api_version, "kind": "ModelDeployment",
            "metadata": {"name": "phi", "namespace": namespace.name}, "spec": case.spec,
        }));
        let mut theirs = rendered.last().unwrap().clone();
        theirs["metadata"].as_object_mut().unwrap().remove("annotations");
        let before = namespace.apply_as("somebody", case.kind, &theirs).await.unwrap();
        namespace.deploy("phi", &case.spec).await;
        let condition = namespace.until_condition("phi", "ResourceCreated", "False").await;
        let message = condition["message"].as_str().unwrap();
        assert!(message.contains(case.kind.kind) && message.contains("'phi'"), "{message}");
        let events = eventually(harness::cluster::SOON, "a warning", async || {
            let events = namespace.events("phi").await;
            if events.iter().any(|event| event.0 == "Warning") { Ok(events) } else { Err(format!("{events:?}")) }
        })
        .await;
        assert!(!events.iter().any(|event| event.1 == "ResourceCreated"), "{events:?}");
        let after = namespace.get(case.kind, "phi").await;
        assert_eq!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
        // Nor is it deleted with the deployment.
        namespace.delete(DEPLOYMENT, "phi").await;
        namespace.until_gone(DEPLOYMENT, "phi").await;
        let after = namespace.get(case.kind, "phi").await;
        assert_eq!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    })
    .await;
}

#[tokio::test]
async fn what_is_not_taken_is_made_when_the_name_is_free() {
    with_each_provider("freed", async |namespace, case| {
        let theirs = json!({
            "apiVersion": DEPLOYMENT.api_version, "kind": "ModelDeployment",
            "metadata": {"name": "phi", "namespace": namespace.name}, "spec": case.spec,
        });
        let theirs = render(&theirs).pop().unwrap();
        namespace.apply_as("somebody", case.kind, &theirs).await.unwrap();
        namespace.deploy("phi", &case.spec).await;
        namespace.until_condition("phi", "ResourceCreated", "False").await;
        namespace.delete(case.kind, "phi").await;
        namespace.until_condition("phi", "ResourceCreated", "True").await;
        let main = namespace.get(case.kind, "phi").await;
        assert_owned(&main, &namespace.get(DEPLOYMENT, "phi").await);
    })
    .await;
}

#[tokio::test]
async fn a_dry_run_shows_and_applies_nothing() {
    with_each_provider("dry", async |namespace, case| {
        let key = "kubefoundry.ai/dry-run";
        let object = json!({"metadata": {"name": "phi", "annotations": {key: "true"}}, "spec": case.spec});
        namespace.apply(DEPLOYMENT, &object).await.unwrap();
        let deployment = namespace
            .until(DEPLOYMENT, "phi", "rendered", |deployment| {
                let result = &deployment["metadata"]["annotations"]["kubefoundry.ai/dry-run-result"];
                if result.is_string() { Ok(()) } else { Err(deployment.to_string()) }
            })
            .await;
        let result = deployment["metadata"]["annotations"]["kubefoundry.ai/dry-run-result"].as_str().unwrap();
        assert!(result.contains(case.kind.kind) && result.contains("phi"), "{result}");
        stays(Duration::from_secs(1), "without objects", async || {
            let found = namespace.find(case.kind, "phi").await;
            found.map_or(Ok(()), |object| Err(object.to_string()))
        })
        .await;
        namespace.annotate(DEPLOYMENT, "phi", key, None).await;
        namespace.until_there(case.kind, "phi").await;
    })
    .await;
}

#[tokio::test]
async fn a_deployment_moves_from_one_provider_to_another_and_back() {
    let Some(namespace) = namespace("migration").await else { return };
    let cases = cases();
    let (dynamo, kuberay) = (&cases[1], &cases[2]);
    run(&namespace, dynamo).await;
    for (from, to) in [(dynamo, kuberay), (kuberay, dynamo)] {
        namespace.merge(DEPLOYMENT, "phi", &json!({"spec": {"provider": {"name": to.provider}}})).await;
        let main = namespace.until_there(to.kind, "phi").await;
        assert_eq!(namespace.find(from.kind, "phi").await, None, "never two");
        let deployment = namespace
            .until(DEPLOYMENT, "phi", "moved", |deployment| {
                let status = &deployment["status"];
                equal(&status["provider"]["name"], to.provider)?;
                equal(&status["provider"]["resourceKind"], to.kind.kind).map_err(|_| status.to_string())
            })
            .await;
        assert_owned(&main, &deployment);
        namespace
            .until(DEPLOYMENT, "phi", "with one finalizer", |deployment| {
                let expected = json!([format!("kubefoundry.ai/{}-provider", to.provider)]);
                let found = &deployment["metadata"]["finalizers"];
                if *found == expected { Ok(()) } else { Err(found.to_string()) }
            })
            .await;
        namespace.patch_status(to.kind, "phi", &to.running).await;
        let deployment = namespace.until_phase("phi", "Running").await;
        assert_eq!(deployment["status"]["endpoint"], json!({"service": to.service, "port": to.port}));
    }
}

/// What was selected stays, also when the rules would now say otherwise (spec/1 §3.5.2).
#[tokio::test]
async fn a_selection_stays() {
    let Some(namespace) = namespace("sticky").await else { return };
    let spec = json!({
        "model": {"id": "org/phi-gguf"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}},
    });
    namespace.deploy("phi", &spec).await;
    let before = namespace.until_there(GRAPH, "phi").await;
    namespace.annotate(DEPLOYMENT, "phi", "example.com/touched", Some("1")).await;
    namespace.merge(DEPLOYMENT, "phi", &json!({"spec": {"resources": {"memory": "64Gi"}}})).await;
    let after = namespace
        .until(GRAPH, "phi", "with more memory", |main| {
            let found = main.to_string();
            if found.contains("64Gi") { Ok(()) } else { Err(found) }
        })
        .await;
    assert_eq!(uid(&after), uid(&before));
    let deployment = namespace.get(DEPLOYMENT, "phi").await;
    assert_eq!(deployment["status"]["provider"]["name"], "dynamo");
    assert_eq!(
        namespace.events("phi").await.iter().filter(|event| event.1 == "ProviderSelected").count(),
        1,
        "it is selected once"
    );
}

#[tokio::test]
async fn a_deployment_of_a_third_party_is_left_to_it() {
    let Some(namespace) = namespace("third-party").await else { return };
    let config = json!({
        "metadata": {"name": "acme"},
        "spec": {"capabilities": {"engines": ["vllm"], "servingModes": ["aggregated"], "gpuSupport": true, "cpuSupport": true}},
    });
    namespace.apply(PROVIDER_CONFIG, &config).await.unwrap();
    let now = k8s_openapi::jiff::Timestamp::now().to_string();
    namespace.patch_status(PROVIDER_CONFIG, "acme", &json!({"ready": true, "version": "acme:1", "lastHeartbeat": now})).await;
    let spec = json!({
        "model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}},
        "provider": {"name": "acme"},
    });
    namespace.deploy("phi", &spec).await;
    namespace
        .until(DEPLOYMENT, "phi", "selected", |deployment| {
            equal(&deployment["status"]["provider"]["name"], "acme").map_err(|_| deployment["status"].to_string())
        })
        .await;
    // Its own controller writes the rest, and no conflict stops it.
    let patch = kube::api::Patch::Apply(json!({
        "apiVersion": DEPLOYMENT.api_version, "kind": "ModelDeployment", "metadata": {"name": "phi"},
        "status": {"phase": "Running", "message": "it runs", "provider": {"resourceName": "phi", "resourceKind": "AcmeModel"}},
    }));
    eventually(harness::cluster::SOON, "no conflict", async || {
        let parameters = kube::api::PatchParams::apply("acme-provider");
        let applied = namespace.api(DEPLOYMENT).patch_status("phi", &parameters, &patch).await;
        applied.map(|_| ()).map_err(|error| error.to_string())
    })
    .await;
    stays(Duration::from_secs(1), "as the third party says", async || {
        let deployment = namespace.get(DEPLOYMENT, "phi").await;
        equal(&deployment["status"]["phase"], "Running")?;
        equal(&deployment["status"]["message"], "it runs")?;
        let finalizers = &deployment["metadata"]["finalizers"];
        if finalizers.is_null() { Ok(()) } else { Err(finalizers.to_string()) }
    })
    .await;
    for kind in [WORKSPACE, GRAPH, RAY_SERVICE] {
        assert_eq!(namespace.list(kind).await, Vec::<Value>::new());
    }
    namespace.delete(DEPLOYMENT, "phi").await;
    namespace.until_gone(DEPLOYMENT, "phi").await;
}

/// The webhook is away: what it would have refused waits, and says why (spec/1 §8).
#[tokio::test]
async fn what_is_invalid_waits_until_it_is_mended() {
    let Some(namespace) = namespace("invalid").await else { return };
    let mut spec = json!({
        "model": {"id": "org/phi"}, "engine": {"type": "sglang"}, "resources": {"gpu": {"count": 1}},
        "provider": {"name": "kaito", "overrides": {"instanceType": "Standard_NC24ads_A100_v4"}},
    });
    namespace.deploy("phi", &spec).await;
    let deployment = namespace.until_phase("phi", "Pending").await;
    let message = deployment["status"]["message"].as_str().unwrap();
    assert!(message.contains("KAITO does not support sglang engine"), "{}", deployment["status"]);
    let condition = namespace.until_condition("phi", "ProviderCompatible", "False").await;
    assert!(condition["message"].as_str().unwrap().contains("KAITO does not support sglang engine"), "{condition}");
    assert_eq!(namespace.find(WORKSPACE, "phi").await, None);
    spec["engine"]["type"] = "vllm".into();
    namespace.deploy("phi", &spec).await;
    namespace.until_there(WORKSPACE, "phi").await;
    namespace.until_condition("phi", "ProviderCompatible", "True").await;
    namespace.patch_status(WORKSPACE, "phi", &cases()[0].running).await;
    namespace.until_phase("phi", "Running").await;
}

/// What runs goes on running when its specification becomes invalid, and the message says what is wrong.
#[tokio::test]
async fn an_invalid_change_leaves_what_runs() {
    let Some(namespace) = namespace("invalid-later").await else { return };
    let case = &cases()[0];
    let before = run(&namespace, case).await;
    let patch = json!({"spec": {"provider": {"overrides": {"instanceTyp": "x"}}}});
    namespace.merge(DEPLOYMENT, "phi", &patch).await;
    let deployment = namespace
        .until(DEPLOYMENT, "phi", "with the mistake", |deployment| {
            let status = deployment["status"].to_string();
            if status.contains("instanceTyp") { Ok(()) } else { Err(status) }
        })
        .await;
    assert!(!deployment["status"]["message"].is_null());
    stays(Duration::from_secs(1), "there", async || {
        let main = namespace.find(case.kind, "phi").await.ok_or("it is gone")?;
        equal(&main["metadata"]["uid"], &uid(&before))
    })
    .await;
}

#[tokio::test]
async fn settings_that_change_leave_no_old_ones_behind() {
    let Some(namespace) = namespace("settings").await else { return };
    let case = &cases()[0];
    let names = async || {
        let all = namespace.list(CONFIG_MAP).await;
        let names = all.iter().map(|map| map["metadata"]["name"].as_str().unwrap().to_owned());
        names.filter(|name| name.starts_with("phi-")).collect::<Vec<_>>()
    };
    run(&namespace, case).await;
    let before = names().await;
    assert_eq!(before.len(), 1, "{before:?}");
    namespace.merge(DEPLOYMENT, "phi", &json!({"spec": {"engine": {"contextLength": 16384}}})).await;
    let after = eventually(harness::cluster::SOON, "one other ConfigMap", async || {
        let now = names().await;
        if now.len() == 1 && now != before { Ok(now) } else { Err(format!("{now:?}")) }
    })
    .await;
    let main = namespace.get(WORKSPACE, "phi").await;
    assert_eq!(main["inference"]["config"], after[0].as_str());
    assert_eq!(main["metadata"]["generation"], 2, "it was changed once: {main}");
}

/// Weights are dear: a claim stays when its deployment goes, as everybody expects of a claim.
#[tokio::test]
async fn a_claim_outlives_its_deployment() {
    let Some(namespace) = namespace("claims").await else { return };
    let volumes = json!([{"name": "cache", "purpose": "modelCache", "size": "300Gi"}]);
    let spec = json!({
        "model": {"id": "org/phi", "storage": {"volumes": volumes}},
        "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}},
    });
    namespace.deploy("phi", &spec).await;
    let claim = namespace.until_there(CLAIM, "phi-cache").await;
    assert!(claim["metadata"]["ownerReferences"].is_null(), "{claim}");
    namespace.until_there(GRAPH, "phi").await;
    namespace.delete(DEPLOYMENT, "phi").await;
    namespace.until_gone(DEPLOYMENT, "phi").await;
    namespace.until_gone(GRAPH, "phi").await;
    stays(Duration::from_secs(1), "there", async || {
        let found = namespace.find(CLAIM, "phi-cache").await.ok_or("it is gone")?;
        if found["metadata"]["deletionTimestamp"].is_null() { Ok(()) } else { Err(found.to_string()) }
    })
    .await;
    // A deployment of the same name takes it up again.
    namespace.deploy("phi", &spec).await;
    namespace.until_condition("phi", "ResourceCreated", "True").await;
    assert_eq!(uid(&namespace.get(CLAIM, "phi-cache").await), uid(&claim));
}

#[tokio::test]
async fn a_namespace_allows_what_it_names() {
    let Some(namespace) = namespace("allowed").await else { return };
    let key = "kubefoundry.ai/allowed-providers";
    namespace.annotate(harness::cluster::kinds::NAMESPACE, "allowed", key, Some("kaito")).await;
    // The operator sees namespaces in another watch than deployments.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let case = &cases()[2];
    namespace.deploy("phi", &case.spec).await;
    let deployment = namespace.until_phase("phi", "Pending").await;
    let status = &deployment["status"];
    assert!(status["message"].as_str().unwrap().contains("kuberay"), "{status}");
    stays(Duration::from_secs(1), "without objects", async || {
        let found = namespace.find(case.kind, "phi").await;
        found.map_or(Ok(()), |object| Err(object.to_string()))
    })
    .await;
    namespace.annotate(harness::cluster::kinds::NAMESPACE, "allowed", key, Some("kaito, kuberay")).await;
    namespace.until_there(case.kind, "phi").await;
}

/// An object that somebody deletes is made again.
#[tokio::test]
async fn an_object_that_somebody_deletes_is_made_again() {
    with_each_provider("deleted", async |namespace, case| {
        let before = run(namespace, case).await;
        namespace.delete(case.kind, "phi").await;
        until_replaced(namespace, case.kind, &before).await;
    })
    .await;
}
