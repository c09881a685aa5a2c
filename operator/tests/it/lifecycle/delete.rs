//! Deletion: which objects are deleted, which stay, and which are never touched.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::cases::{assert_owned, namespace, run, spec_with_claim, with_each_provider};
use crate::harness::cluster::kinds::{CLAIM, DEPLOYMENT, EVENT, GRAPH};
use crate::harness::cluster::{SOON, expect_text, uid};
use crate::harness::eventually;
use crate::harness::render::{kind_of, render};

#[tokio::test]
async fn a_deployment_is_deleted_with_its_objects() {
    with_each_provider("delete", async |namespace, case| {
        run(namespace, case).await;
        let deployment = namespace.get(DEPLOYMENT, "phi").await;
        let finalizer = format!("kubefoundry.ai/{}-provider", case.provider);
        assert_eq!(deployment["metadata"]["finalizers"], json!([finalizer]));
        let rendered = render(&deployment);
        namespace.delete(DEPLOYMENT, "phi").await;
        namespace.until_gone(DEPLOYMENT, "phi").await;
        assert_eq!(namespace.find(case.kind, "phi").await, None, "it is deleted before the deployment");
        for object in rendered {
            namespace.until_gone(kind_of(&object), object["metadata"]["name"].as_str().unwrap()).await;
        }
        let events = namespace.events("phi").await;
        assert!(!events.iter().any(|event| event.1 == "FinalizerTimeout"), "{events:?}");
    })
    .await;
}

fn time(text: &Value) -> Timestamp {
    text.as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_finalizer_is_removed_after_the_timeout() {
    with_each_provider("stuck", async |namespace, case| {
        run(namespace, case).await;
        let with_finalizers = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
        namespace.merge(case.kind, "phi", &with_finalizers(json!(["example.com/upstream"]))).await;
        namespace.delete(DEPLOYMENT, "phi").await;
        let deployment = namespace
            .until(DEPLOYMENT, "phi", "terminating", |deployment| {
                expect_text(&deployment["status"]["phase"], "Terminating")
            })
            .await;
        let deleted = time(&deployment["metadata"]["deletionTimestamp"]);
        namespace.until_gone(DEPLOYMENT, "phi").await;
        let message = namespace.until_event("phi", "Warning", "FinalizerTimeout").await;
        assert!(message.starts_with("Finalizer removed after timeout, provider resource may be orphaned"), "{message}");
        let events = namespace.list(EVENT).await;
        let removed = events.iter().find(|event| event["reason"] == "FinalizerTimeout").unwrap();
        // Both are times of this machine. The timeout of this operator is three seconds.
        let waited = time(&removed["eventTime"]).duration_since(deleted);
        assert!(waited.as_secs() >= 3, "{waited:?}");
        let main = namespace.get(case.kind, "phi").await;
        assert!(!main["metadata"]["deletionTimestamp"].is_null(), "it is not being deleted: {main}");
        namespace.merge(case.kind, "phi", &with_finalizers(json!(null))).await;
        namespace.until_gone(case.kind, "phi").await;
    })
    .await;
}

/// Model weights take long to download, so a claim stays when its deployment is deleted.
#[tokio::test]
async fn a_claim_outlives_its_deployment() {
    let Some(namespace) = namespace("claims").await else { return };
    let spec = spec_with_claim();
    namespace.deploy("phi", &spec).await;
    let claim = namespace.until_exists(CLAIM, "phi-cache").await;
    assert!(claim["metadata"]["ownerReferences"].is_null(), "{claim}");
    namespace.until_exists(GRAPH, "phi").await;
    namespace.delete(DEPLOYMENT, "phi").await;
    namespace.until_gone(DEPLOYMENT, "phi").await;
    namespace.until_gone(GRAPH, "phi").await;
    // A new deployment of the same name uses the claim again.
    namespace.deploy("phi", &spec).await;
    namespace.until_condition("phi", "ResourceCreated", "True").await;
    let used = namespace.get(CLAIM, "phi-cache").await;
    assert_eq!(uid(&used), uid(&claim));
    assert!(used["metadata"]["deletionTimestamp"].is_null(), "{used}");
}

#[tokio::test]
async fn an_object_with_another_owner_is_never_changed() {
    with_each_provider("taken", async |namespace, case| {
        // A user created the same object by hand.
        let rendered = render(&json!({
            "apiVersion": DEPLOYMENT.api_version, "kind": "ModelDeployment",
            "metadata": {"name": "phi", "namespace": namespace.name}, "spec": case.spec,
        }));
        let mut foreign = rendered.last().unwrap().clone();
        foreign["metadata"].as_object_mut().unwrap().remove("annotations");
        let before = namespace.apply_as("a-user", case.kind, &foreign).await.unwrap();
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
        // It is not deleted with the deployment either.
        namespace.delete(DEPLOYMENT, "phi").await;
        namespace.until_gone(DEPLOYMENT, "phi").await;
        let after = namespace.get(case.kind, "phi").await;
        assert_eq!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    })
    .await;
}

#[tokio::test]
async fn the_object_is_created_once_its_name_is_free() {
    with_each_provider("freed", async |namespace, case| {
        let foreign = json!({
            "apiVersion": DEPLOYMENT.api_version, "kind": "ModelDeployment",
            "metadata": {"name": "phi", "namespace": namespace.name}, "spec": case.spec,
        });
        let foreign = render(&foreign).pop().unwrap();
        namespace.apply_as("a-user", case.kind, &foreign).await.unwrap();
        namespace.deploy("phi", &case.spec).await;
        namespace.until_condition("phi", "ResourceCreated", "False").await;
        namespace.delete(case.kind, "phi").await;
        namespace.until_condition("phi", "ResourceCreated", "True").await;
        let main = namespace.get(case.kind, "phi").await;
        assert_owned(&main, &namespace.get(DEPLOYMENT, "phi").await);
    })
    .await;
}
