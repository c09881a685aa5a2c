//! LlamaStackDistributions with external providers.

use serde_json::{Value, json};

use super::MANAGED;
use crate::harness::cluster::kinds::{CLAIM, CONFIG_MAP, DISTRIBUTION, POD, SERVICE, SERVICE_ACCOUNT, WORKLOAD};
use crate::harness::cluster::{Namespace, condition, uid};
use crate::harness::operator::{Operator, Options};
use crate::harness::shared::SharedNamespace;
use crate::harness::{ControlPlane, crds, root};

/// The CRD of the upstream operator, with the component that adds external providers.
fn definition() -> Value {
    let mut definition = crds::definition(crds::LLAMA_STACK);
    let patch = crds::documents(&root().join("deploy/llamastack/external-providers.yaml")).remove(0);
    let patch: json_patch::Patch = serde_json::from_value(patch).unwrap();
    json_patch::patch(&mut definition, &patch).unwrap();
    definition
}

async fn start(plane: &ControlPlane) -> Operator {
    let client = plane.admin().await;
    crds::install_own(&client).await;
    crds::install_definition(&client, definition()).await;
    Namespace::create(&client, "kubefoundry-system").await;
    Options::default().roles("llamastack").start_ready(plane, "llamastack").await
}

async fn namespace(name: &str) -> Option<SharedNamespace> {
    SharedNamespace::create("llamastack", name, start).await
}

fn distribution(name: &str, images: &[(&str, &str)]) -> Value {
    let providers: Vec<Value> = images.iter().map(|(id, image)| json!({"providerId": id, "image": image})).collect();
    json!({
        "metadata": {"name": name, "annotations": {MANAGED: "true"}},
        "spec": {"replicas": 1, "server": {
            "distribution": {"image": "registry.example.com/starter:1"},
            "containerSpec": {"port": 8321},
            "userConfig": {"configMapName": "run-config"},
            "storage": {"size": "5Gi"},
            "externalProviders": {"inference": providers},
        }},
    })
}

fn run_config(comment: &str) -> Value {
    let run = format!("# {comment}\nversion: '2'\napis: [inference]\nproviders:\n  inference: []\n");
    json!({"metadata": {"name": "run-config"}, "data": {"run.yaml": run}})
}

/// The names of the init containers of a server.
fn init_containers(workload: &Value) -> Vec<&str> {
    let containers = workload.pointer("/spec/template/spec/initContainers").and_then(Value::as_array);
    containers.into_iter().flatten().filter_map(|container| container["name"].as_str()).collect()
}

/// Waits until the status has a phase, and the providers theirs. Returns the distribution.
async fn until_phases(namespace: &Namespace, name: &str, phase: &str, providers: &[&str]) -> Value {
    namespace
        .until(DISTRIBUTION, name, &format!("{phase}, {providers:?}"), |distribution| {
            let status = &distribution["status"];
            let found = status["externalProviders"].as_array().cloned().unwrap_or_default();
            let found: Vec<&str> =
                found.iter().map(|provider| provider["phase"].as_str().unwrap_or_default()).collect();
            if status["phase"] == phase && found == providers { Ok(()) } else { Err(status.to_string()) }
        })
        .await
}

fn init_status(name: &str, state: &Value) -> Value {
    json!({"name": name, "image": "i", "imageID": "i", "ready": false, "restartCount": 0, "state": state})
}

#[tokio::test]
async fn a_distribution_is_created_reported_updated_and_deleted() {
    let Some(namespace) = namespace("chat").await else { return };
    namespace.apply(CONFIG_MAP, &run_config("first")).await.unwrap();
    let images = [("vllm", "registry.example.com/vllm:1"), ("other", "registry.example.com/other:1")];
    let created = namespace.apply(DISTRIBUTION, &distribution("chat", &images)).await.unwrap();

    let workload = namespace.until_exists(WORKLOAD, "chat").await;
    assert_eq!(workload["metadata"]["ownerReferences"][0]["uid"], json!(uid(&created)));
    assert_eq!(init_containers(&workload), ["external-provider-vllm", "external-provider-other", "merge-config"]);
    namespace.until_exists(SERVICE, "chat-service").await;
    namespace.until_exists(SERVICE_ACCOUNT, "chat-sa").await;
    namespace.until_exists(CLAIM, "chat-pvc").await;
    let chat = until_phases(&namespace, "chat", "Pending", &["Pending", "Pending"]).await;
    assert_eq!(condition(&chat, "Applied").unwrap()["status"], "True", "{}", chat["status"]);
    assert_eq!(chat["status"]["serviceURL"], "http://chat-service.chat.svc.cluster.local:8321");

    // The pod installs the providers one after the other; the second fails.
    let labels = json!({"app": "llama-stack", "app.kubernetes.io/instance": "chat"});
    let container = |name: &str| json!({"name": name, "image": "registry.example.com/i:1"});
    let init: Vec<Value> = init_containers(&workload).into_iter().map(container).collect();
    let pod = json!({
        "metadata": {"name": "chat-1", "labels": labels},
        "spec": {"initContainers": init, "containers": [container("llama-stack")]},
    });
    namespace.apply(POD, &pod).await.unwrap();
    let running = init_status("external-provider-vllm", &json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}}));
    namespace.patch_status(POD, "chat-1", &json!({"phase": "Pending", "initContainerStatuses": [running]})).await;
    let chat = until_phases(&namespace, "chat", "Initializing", &["Installing", "Pending"]).await;
    let since = chat["status"]["externalProviders"][1]["lastTransitionTime"].clone();

    let terminated = |code: u8, message: &str| {
        json!({"terminated": {"exitCode": code, "reason": "x", "message": message,
            "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z"}})
    };
    let done = init_status("external-provider-vllm", &terminated(0, ""));
    let waiting = json!({"waiting": {"reason": "ImagePullBackOff", "message": "unauthorized"}});
    let unpulled = init_status("external-provider-other", &waiting);
    let status = json!({"phase": "Pending", "initContainerStatuses": [done, unpulled]});
    namespace.patch_status(POD, "chat-1", &status).await;
    let chat = until_phases(&namespace, "chat", "Failed", &["Ready", "Failed"]).await;
    let failed = &chat["status"]["externalProviders"][1];
    assert_eq!(
        failed["message"],
        "Failed to pull provider image registry.example.com/other:1: ImagePullBackOff: unauthorized; check image pull credentials"
    );
    assert_eq!(failed["initContainerName"], "external-provider-other");
    assert!(failed["lastTransitionTime"].as_str() >= since.as_str(), "{failed}");
    assert_eq!(condition(&chat, "DeploymentReady").unwrap()["status"], "False");

    // A change of the user's ConfigMap, which is only read, rolls the server.
    let hash = |workload: &Value| workload["spec"]["template"]["metadata"]["annotations"].to_string();
    let before = hash(&namespace.get(WORKLOAD, "chat").await);
    namespace.apply(CONFIG_MAP, &run_config("second")).await.unwrap();
    namespace
        .until(WORKLOAD, "chat", "with another configuration", |workload| {
            if hash(workload) == before { Err(before.clone()) } else { Ok(()) }
        })
        .await;

    // An update removes a provider.
    namespace.apply(DISTRIBUTION, &distribution("chat", &images[..1])).await.unwrap();
    namespace
        .until(WORKLOAD, "chat", "with one provider", |workload| {
            let found = init_containers(workload);
            if found == ["external-provider-vllm", "merge-config"] { Ok(()) } else { Err(format!("{found:?}")) }
        })
        .await;
    namespace.delete(POD, "chat-1").await;
    until_phases(&namespace, "chat", "Pending", &["Pending"]).await;

    // The claim stays with its data.
    namespace.delete(DISTRIBUTION, "chat").await;
    namespace.until_gone(WORKLOAD, "chat").await;
    namespace.until_gone(SERVICE, "chat-service").await;
    assert!(namespace.find(CLAIM, "chat-pvc").await.is_some());
}

#[tokio::test]
async fn a_distribution_with_errors_or_of_another_operator_is_left_alone() {
    let Some(namespace) = namespace("left").await else { return };
    namespace.apply(CONFIG_MAP, &run_config("first")).await.unwrap();
    let image = [("vllm", "registry.example.com/vllm:1")];
    let mut foreign = distribution("foreign", &image);
    foreign["metadata"].as_object_mut().unwrap().remove("annotations");
    namespace.apply(DISTRIBUTION, &foreign).await.unwrap();
    let mut invalid = distribution("invalid", &image);
    invalid["spec"]["server"]["distribution"] = json!({"name": "no-such-distribution"});
    namespace.apply(DISTRIBUTION, &invalid).await.unwrap();
    let invalid = namespace
        .until(DISTRIBUTION, "invalid", "reported", |distribution| match condition(distribution, "Applied") {
            Some(applied) if applied["reason"] == "Invalid" => Ok(()),
            _ => Err(distribution["status"].to_string()),
        })
        .await;
    assert_eq!(invalid["status"]["phase"], "Failed", "{}", invalid["status"]);
    let message = condition(&invalid, "Applied").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("no-such-distribution"), "{message}");
    for name in ["invalid", "foreign"] {
        assert!(namespace.find(WORKLOAD, name).await.is_none(), "{name}");
    }
    assert!(namespace.get(DISTRIBUTION, "foreign").await.get("status").is_none());
}
