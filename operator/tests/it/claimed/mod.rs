//! AsyncActors and LlamaStackDistributions that are handed to the operator. No controller runs Deployments and pods: tests
//! write what theirs would write.

mod binding;
mod conflicts;
mod llamastack;
mod rights;
mod standalone;

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::cluster::kinds::{ACTOR, POD, WORKLOAD};
use crate::harness::cluster::{Namespace, condition};
use crate::harness::operator::{Operator, Options};
use crate::harness::shared::SharedNamespace;
use crate::harness::{ControlPlane, crds};

/// Longer than the delays between conflicts.
const LONG: Duration = Duration::from_secs(90);

/// The annotation that hands an object to the operator.
const MANAGED: &str = "kubefoundry.ai/managed";

const TRANSPORTS: &str = "
apiVersion: config.kubefoundry.ai/v1alpha1
kind: Render
actor:
  sidecarImage: registry.example.com/asya-sidecar:0.1.1
  transports:
    rabbitmq: {type: rabbitmq, enabled: true, config: {host: rabbitmq.asya.svc, port: 5672, username: asya,
      passwordSecretRef: {name: rabbitmq-login, key: password}}}
";

/// Installs the CRDs, and returns the options of an operator that runs actors.
async fn options(plane: &ControlPlane) -> Options {
    let client = plane.admin().await;
    crds::install_own(&client).await;
    crds::install(&client, crds::KEDA).await;
    crds::install(&client, crds::KAITO).await;
    crds::install(&client, crds::KUBERAY).await;
    Namespace::create(&client, "kubefoundry-system").await;
    let file = plane.directory().join("options.yaml");
    std::fs::write(&file, TRANSPORTS).unwrap();
    Options::default().roles("actors").flag("--config", file.to_str().unwrap())
}

async fn start(plane: &ControlPlane) -> Operator {
    options(plane).await.start_ready(plane, "actors").await
}

/// A namespace of a cluster in which the operator runs actors.
async fn namespace(name: &str) -> Option<SharedNamespace> {
    SharedNamespace::create("actors", name, start).await
}

/// An actor that is handed to the operator.
fn claimed(name: &str, spec: &Value) -> Value {
    json!({"metadata": {"name": name, "annotations": {MANAGED: "true"}}, "spec": spec})
}

fn standalone(image: &str) -> Value {
    json!({
        "transport": "rabbitmq",
        "workload": {"template": {"spec": {"containers": [{
            "name": "asya-runtime", "image": image, "env": [{"name": "ASYA_HANDLER", "value": "thumbnails.make"}],
        }]}}},
    })
}

/// The specification of an actor that binds to a workload.
fn binding(kind: &str, name: &str) -> Value {
    let api_version = match kind {
        "Workspace" => "kaito.sh/v1beta1",
        "RayService" => "ray.io/v1",
        _ => "apps/v1",
    };
    json!({
        "transport": "rabbitmq",
        "workloadRef": {"apiVersion": api_version, "kind": kind, "name": name},
        "runtime": {
            "image": "registry.example.com/adapter:1", "handler": "adapters.triton.infer",
            "targetURL": "http://localhost:8000/v2/models/yolo",
        },
    })
}

/// A workload that another client applies.
fn workload(name: &str, image: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "triton", "image": image, "ports": [{"containerPort": 8000}]}]},
            },
        },
    })
}

/// The names of the containers of a workload.
fn containers(workload: &Value) -> Vec<&str> {
    let containers = workload.pointer("/spec/template/spec/containers").and_then(Value::as_array);
    containers.into_iter().flatten().filter_map(|container| container["name"].as_str()).collect()
}

const BOUND: [&str; 3] = ["triton", "asya-runtime", "asya-sidecar"];

async fn until_bound(namespace: &Namespace, name: &str) -> Value {
    namespace
        .until(WORKLOAD, name, "bound", |workload| {
            if containers(workload) == BOUND { Ok(()) } else { Err(format!("{:?}", containers(workload))) }
        })
        .await
}

async fn until_unbound(namespace: &Namespace, name: &str) -> Value {
    namespace
        .until(WORKLOAD, name, "not bound", |workload| {
            if containers(workload) == ["triton"] { Ok(()) } else { Err(format!("{:?}", containers(workload))) }
        })
        .await
}

/// Waits until a condition of an actor has a status and a reason, and returns the actor.
async fn until_condition(namespace: &Namespace, actor: &str, kind: &str, status: &str, reason: &str) -> Value {
    let what = format!("with {kind}={status} ({reason})");
    namespace
        .until(ACTOR, actor, &what, |actor| match condition(actor, kind) {
            Some(found) if found["status"] == status && found["reason"] == reason => Ok(()),
            _ => Err(actor["status"].to_string()),
        })
        .await
}

/// Waits until the status of an actor has a word.
async fn until_word(namespace: &Namespace, actor: &str, word: &str) -> Value {
    namespace
        .until(ACTOR, actor, word, |actor| {
            if actor["status"]["status"] == word { Ok(()) } else { Err(actor["status"].to_string()) }
        })
        .await
}

/// Writes the status that the controller of Deployments writes.
async fn report_replicas(namespace: &Namespace, name: &str, ready: u32, total: u32) {
    let status = json!({
        "observedGeneration": 1, "replicas": total, "readyReplicas": ready, "availableReplicas": ready,
        "updatedReplicas": total,
    });
    namespace.patch_status(WORKLOAD, name, &status).await;
}

/// Creates a pod of an actor.
async fn create_pod(namespace: &Namespace, actor: &str, name: &str) {
    let pod = json!({
        "metadata": {"name": name, "labels": {"asya.sh/asya": actor}},
        "spec": {"containers": [{"name": "asya-runtime", "image": "registry.example.com/thumbnailer:1"}]},
    });
    namespace.apply(POD, &pod).await.unwrap_or_else(|error| panic!("{name}: {error}"));
}
