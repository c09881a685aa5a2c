//! What goes, what stays, and what is never ours.

use std::time::Duration;

use serde_json::{Value, json};

use super::cases::{assert_owned, namespace, run, with_each_provider};
use crate::harness::cluster::kinds::{CLAIM, DEPLOYMENT, GRAPH};
use crate::harness::cluster::{SOON, equal, uid};
use crate::harness::render::{kind_of, render};
use crate::harness::{eventually, stays};

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
        let events = eventually(SOON, "a warning", async || {
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
