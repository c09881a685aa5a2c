//! Actors that are bound to workloads of other owners.

use serde_json::{Value, json};

use super::{
    BOUND, MANAGED, binding, claimed, containers, namespace, until_bound, until_condition, until_unbound, workload,
};
use crate::harness::cluster::kinds::{ACTOR, RAY_SERVICE, SCALED_OBJECT, STATEFUL_SET, WORKLOAD, WORKSPACE};
use crate::harness::cluster::{Namespace, SOON, condition, uid};
use crate::harness::eventually;

/// The specification of a workload without what the server sets.
fn spec(workload: &Value) -> &Value {
    &workload["spec"]["template"]
}

#[tokio::test]
async fn an_actor_is_bound_updated_moved_and_unbound() {
    let Some(namespace) = namespace("binding").await else { return };
    let first = namespace.apply(WORKLOAD, &workload("triton", "registry.example.com/triton:1")).await.unwrap();
    let second = namespace.apply(WORKLOAD, &workload("other", "registry.example.com/triton:1")).await.unwrap();
    namespace.apply(ACTOR, &claimed("detect", &binding("Deployment", "triton"))).await.unwrap();

    let bound = until_bound(&namespace, "triton").await;
    assert_eq!(bound["metadata"]["annotations"]["asya.sh/managed-by"], "detect");
    assert_eq!(bound["spec"]["template"]["metadata"]["labels"]["asya.sh/asya"], "detect");
    assert!(bound["metadata"].get("ownerReferences").is_none(), "{}", bound["metadata"]);
    let actor = until_condition(&namespace, "detect", "Bound", "True", "Bound").await;
    assert_eq!(actor["status"]["mode"], "Binding");
    assert_eq!(
        actor["status"]["resolvedTarget"],
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "triton", "namespace": "binding"})
    );
    assert!(actor["status"].get("conflictCount").is_none(), "{}", actor["status"]);
    assert_eq!(actor["metadata"]["finalizers"], json!(["kubefoundry.ai/actors"]));
    assert_eq!(namespace.until_event("detect", "Normal", "Bound").await, "Added to Deployment 'triton'");

    // The owner of the workload applies its own fields again, as GitOps tools do: both stay.
    let renewed = namespace.apply(WORKLOAD, &workload("triton", "registry.example.com/triton:2")).await.unwrap();
    assert_eq!(containers(&renewed), BOUND);
    assert_eq!(spec(&renewed)["spec"]["containers"][0]["image"], "registry.example.com/triton:2");

    // An update of the actor replaces what was added.
    let mut changed = binding("Deployment", "triton");
    changed["runtime"]["image"] = json!("registry.example.com/adapter:2");
    namespace.apply(ACTOR, &claimed("detect", &changed)).await.unwrap();
    namespace
        .until(WORKLOAD, "triton", "with the new adapter", |workload| {
            let image = &spec(workload)["spec"]["containers"][1]["image"];
            if image == "registry.example.com/adapter:2" { Ok(()) } else { Err(image.to_string()) }
        })
        .await;

    // Another target: the first one is restored.
    namespace.apply(ACTOR, &claimed("detect", &binding("Deployment", "other"))).await.unwrap();
    until_bound(&namespace, "other").await;
    let restored = until_unbound(&namespace, "triton").await;
    let mut expected = spec(&first).clone();
    expected["spec"]["containers"][0]["image"] = json!("registry.example.com/triton:2");
    assert_eq!(spec(&restored), &expected);
    assert!(restored["metadata"]["annotations"].get("asya.sh/managed-by").is_none());
    assert_eq!(uid(&restored), uid(&first));
    let actor = until_condition(&namespace, "detect", "Bound", "True", "Bound").await;
    assert_eq!(actor["status"]["resolvedTarget"]["name"], "other");

    namespace.delete(ACTOR, "detect").await;
    namespace.until_gone(ACTOR, "detect").await;
    let restored = namespace.get(WORKLOAD, "other").await;
    assert_eq!(spec(&restored), spec(&second));
    assert_eq!(restored["spec"]["replicas"], 2);
}

#[tokio::test]
async fn a_target_may_appear_later_and_be_created_again() {
    let Some(namespace) = namespace("later").await else { return };
    let mut spec = binding("Deployment", "triton");
    spec["scaling"] = json!({"enabled": true});
    namespace.apply(ACTOR, &claimed("detect", &spec)).await.unwrap();
    let actor = until_condition(&namespace, "detect", "Bound", "False", "TargetMissing").await;
    let message = condition(&actor, "Bound").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("Deployment 'triton' does not exist"), "{message}");
    namespace.apply(WORKLOAD, &workload("triton", "registry.example.com/triton:1")).await.unwrap();
    until_bound(&namespace, "triton").await;
    until_condition(&namespace, "detect", "Bound", "True", "Bound").await;
    let scaled = namespace.until_exists(SCALED_OBJECT, "detect").await;
    assert_eq!(scaled["spec"]["scaleTargetRef"]["name"], "triton");

    // A workload that was deleted and created again was not reverted.
    namespace.delete(WORKLOAD, "triton").await;
    namespace.until_gone(WORKLOAD, "triton").await;
    until_condition(&namespace, "detect", "Bound", "False", "TargetMissing").await;
    namespace.apply(WORKLOAD, &workload("triton", "registry.example.com/triton:1")).await.unwrap();
    until_bound(&namespace, "triton").await;
    let actor = until_condition(&namespace, "detect", "Bound", "True", "Bound").await;
    assert!(actor["status"].get("conflictCount").is_none(), "{}", actor["status"]);
}

#[tokio::test]
async fn an_actor_that_is_taken_back_leaves_its_target() {
    let Some(namespace) = namespace("given-up").await else { return };
    let before = namespace.apply(WORKLOAD, &workload("triton", "registry.example.com/triton:1")).await.unwrap();
    namespace.apply(ACTOR, &claimed("detect", &binding("Deployment", "triton"))).await.unwrap();
    until_bound(&namespace, "triton").await;
    until_condition(&namespace, "detect", "Bound", "True", "Bound").await;
    namespace.annotate(ACTOR, "detect", MANAGED, None).await;
    let restored = until_unbound(&namespace, "triton").await;
    assert_eq!(spec(&restored), spec(&before));
    namespace
        .until(ACTOR, "detect", "without the finalizer", |actor| match &actor["metadata"]["finalizers"] {
            Value::Null => Ok(()),
            finalizers => Err(finalizers.to_string()),
        })
        .await;
    namespace.until_event("detect", "Normal", "Unbound").await;
    namespace.until_event("detect", "Normal", "Released").await;
}

async fn first_of_two(namespace: &Namespace) {
    namespace.apply(WORKLOAD, &workload("triton", "registry.example.com/triton:1")).await.unwrap();
    namespace.apply(ACTOR, &claimed("first", &binding("Deployment", "triton"))).await.unwrap();
    until_bound(namespace, "triton").await;
    until_condition(namespace, "first", "Bound", "True", "Bound").await;
}

#[tokio::test]
async fn the_second_of_two_actors_waits_for_the_first() {
    let Some(namespace) = namespace("shared").await else { return };
    first_of_two(&namespace).await;
    namespace.apply(ACTOR, &claimed("second", &binding("Deployment", "triton"))).await.unwrap();
    let second = until_condition(&namespace, "second", "Bound", "False", "TargetShared").await;
    let message = condition(&second, "Bound").unwrap()["message"].as_str().unwrap().to_owned();
    assert_eq!(message, "Deployment 'triton' is the target of AsyncActor 'first'");
    let bound = namespace.get(WORKLOAD, "triton").await;
    assert_eq!(bound["metadata"]["annotations"]["asya.sh/managed-by"], "first");
    assert_eq!(containers(&bound), BOUND);

    namespace.delete(ACTOR, "first").await;
    namespace.until_gone(ACTOR, "first").await;
    until_condition(&namespace, "second", "Bound", "True", "Bound").await;
    let bound = until_bound(&namespace, "triton").await;
    assert_eq!(bound["metadata"]["annotations"]["asya.sh/managed-by"], "second");
}

#[tokio::test]
async fn one_of_two_actors_that_come_at_once_is_bound() {
    let Some(namespace) = namespace("race").await else { return };
    namespace.apply(WORKLOAD, &workload("triton", "registry.example.com/triton:1")).await.unwrap();
    let actors = ["first", "second"].map(|name| claimed(name, &binding("Deployment", "triton")));
    let applied = actors.iter().map(|actor| namespace.apply(ACTOR, actor));
    futures::future::try_join_all(applied).await.unwrap();
    until_bound(&namespace, "triton").await;
    let (winner, loser) = eventually(SOON, "one bound, and one that waits", async || {
        let states = ["first", "second"].map(async |name| {
            let actor = namespace.get(ACTOR, name).await;
            condition(&actor, "Bound").map(|bound| bound["reason"].as_str().unwrap_or_default().to_owned())
        });
        let states = futures::future::join_all(states).await;
        match states.iter().map(|state| state.as_deref().unwrap_or_default()).collect::<Vec<_>>().as_slice() {
            ["Bound", "TargetShared"] => Ok(("first", "second")),
            ["TargetShared", "Bound"] => Ok(("second", "first")),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    let bound = namespace.get(WORKLOAD, "triton").await;
    assert_eq!(bound["metadata"]["annotations"]["asya.sh/managed-by"], winner);
    assert_eq!(containers(&bound), BOUND);

    // The deletion of the one that was never bound changes nothing.
    namespace.delete(ACTOR, loser).await;
    namespace.until_gone(ACTOR, loser).await;
    assert_eq!(spec(&namespace.get(WORKLOAD, "triton").await), spec(&bound));
}

/// KAITO makes a StatefulSet of a Workspace, and carries no change of the template into it.
#[tokio::test]
async fn an_actor_of_a_workspace_is_bound_to_its_stateful_set() {
    let Some(namespace) = namespace("workspace").await else { return };
    let workspace = json!({
        "metadata": {"name": "phi"},
        "resource": {"instanceType": "Standard_NC24ads_A100_v4", "labelSelector": {"matchLabels": {"apps": "phi"}}},
        "inference": {"preset": {"name": "phi-4-mini-instruct"}},
    });
    let workspace = namespace.apply(WORKSPACE, &workspace).await.unwrap();
    namespace.apply(ACTOR, &claimed("embed", &binding("Workspace", "phi"))).await.unwrap();
    until_condition(&namespace, "embed", "Bound", "False", "TargetMissing").await;
    let mut set = workload("phi", "registry.example.com/phi:1");
    set["spec"]["serviceName"] = json!("phi");
    namespace.apply(STATEFUL_SET, &set).await.unwrap();
    namespace
        .until(STATEFUL_SET, "phi", "bound", |set| {
            if containers(set) == BOUND { Ok(()) } else { Err(format!("{:?}", containers(set))) }
        })
        .await;
    let actor = until_condition(&namespace, "embed", "Bound", "True", "Bound").await;
    assert_eq!(actor["status"]["resolvedTarget"]["kind"], "StatefulSet");
    let after = namespace.get(WORKSPACE, "phi").await;
    assert_eq!(after["metadata"]["resourceVersion"], workspace["metadata"]["resourceVersion"]);
}

/// The lists of a RayService have no keys, so they are changed as a whole.
#[tokio::test]
async fn an_actor_is_bound_to_the_head_of_a_ray_service() {
    let Some(namespace) = namespace("ray").await else { return };
    let service = json!({
        "metadata": {"name": "llm"},
        "spec": {"rayClusterConfig": {"headGroupSpec": {"rayStartParams": {}, "template": {"spec": {
            "containers": [{"name": "ray-head", "image": "registry.example.com/ray:1"}],
        }}}}},
    });
    let before = namespace.apply(RAY_SERVICE, &service).await.unwrap();
    namespace.apply(ACTOR, &claimed("ask", &binding("RayService", "llm"))).await.unwrap();
    let template = "/spec/rayClusterConfig/headGroupSpec/template/spec/containers";
    let names = |service: &Value| -> Vec<String> {
        let containers = service.pointer(template).and_then(Value::as_array).cloned().unwrap_or_default();
        containers.iter().map(|container| container["name"].as_str().unwrap().to_owned()).collect()
    };
    namespace
        .until(RAY_SERVICE, "llm", "bound", |service| {
            if names(service) == ["ray-head", "asya-runtime", "asya-sidecar"] {
                Ok(())
            } else {
                Err(format!("{:?}", names(service)))
            }
        })
        .await;
    until_condition(&namespace, "ask", "Bound", "True", "Bound").await;
    namespace.delete(ACTOR, "ask").await;
    namespace.until_gone(ACTOR, "ask").await;
    let after = namespace.get(RAY_SERVICE, "llm").await;
    assert_eq!(after["spec"], before["spec"]);
}
