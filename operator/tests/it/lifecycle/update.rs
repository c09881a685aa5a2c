//! Updates by users, drift by other clients, and pauses.

use serde_json::json;

use super::cases::{
    assert_owned, cases, edit, equal_number, namespace, run, spec_with_claim, until_handled, until_replaced,
    with_each_provider,
};
use crate::harness::cluster::kinds::{CONFIG_MAP, DEPLOYMENT, GRAPH, WORKSPACE};
use crate::harness::cluster::{SOON, uid};
use crate::harness::eventually;
use crate::harness::render::{difference, render};

#[tokio::test]
async fn supported_changes_are_updated_in_place() {
    with_each_provider("update", async |namespace, case| {
        let before = run(namespace, case).await;
        let (patch, path) = &case.in_place;
        let deployment = namespace.merge(DEPLOYMENT, "phi", &json!({"spec": patch})).await;
        let rendered = render(&deployment).pop().unwrap();
        let after = namespace
            .until(case.kind, "phi", "changed", |main| {
                let (actual, expected) = (main.pointer(path), rendered.pointer(path));
                if actual == expected { Ok(()) } else { Err(format!("{actual:?} instead of {expected:?}")) }
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

#[tokio::test]
async fn another_model_recreates_the_object() {
    with_each_provider("identity", async |namespace, case| {
        let before = run(namespace, case).await;
        let patch = json!({"spec": {"model": {"id": "Qwen/Qwen3-8B"}}});
        let deployment = namespace.merge(DEPLOYMENT, "phi", &patch).await;
        let after = until_replaced(namespace, case.kind, &before).await;
        let rendered = render(&deployment).pop().unwrap();
        assert_eq!(difference(namespace, case.kind, &rendered, &after).await, None);
        assert_owned(&after, &deployment);
        // The new object is not ready yet.
        let deployment = namespace.until_condition("phi", "Ready", "False").await;
        assert!(!deployment.is_null());
        namespace.patch_status(case.kind, "phi", &case.running).await;
        namespace.until_phase("phi", "Running").await;
    })
    .await;
}

/// The operator does not watch claims, so it must not wait for a watch to show the one that it created.
#[tokio::test]
async fn an_edit_right_after_a_claim_was_created_is_applied_at_once() {
    let Some(namespace) = namespace("claim-edit").await else { return };
    let spec = spec_with_claim();
    namespace.deploy("phi", &spec).await;
    namespace.until_condition("phi", "ResourceCreated", "True").await;
    // A running model brings no write of its own later, and nothing but the claim is left to wait for.
    namespace.patch_status(GRAPH, "phi", &cases()[1].running).await;
    namespace.until_phase("phi", "Running").await;
    let operator = namespace.operator();
    operator.until_delivered(&GRAPH.watch(), &namespace.get(GRAPH, "phi").await).await;
    eventually(SOON, "at rest", async || {
        let looked = operator.look_at(&namespace, DEPLOYMENT, "phi", &["dynamo"]).await;
        let now = namespace.get(DEPLOYMENT, "phi").await;
        let is_same = looked["metadata"]["resourceVersion"] == now["metadata"]["resourceVersion"];
        if is_same { Ok(()) } else { Err(now.to_string()) }
    })
    .await;
    // A reconciliation that waited for a watch would end without having applied the edit.
    let edited = namespace.merge(DEPLOYMENT, "phi", &json!({"spec": {"scaling": {"replicas": 2}}})).await;
    operator.until_reconciled("dynamo", &edited).await;
    let deployment = namespace.get(DEPLOYMENT, "phi").await;
    equal_number(&deployment["status"]["observedGeneration"], 2).unwrap();
}

/// KAITO creates the workload of a template once, and ignores later changes (docs/plan.md).
#[tokio::test]
async fn ignored_changes_recreate_the_object() {
    let Some(namespace) = namespace("ignored-kaito").await else { return };
    let spec = json!({
        "model": {"id": "google/gemma-3-1b-it-qat-q8_0-gguf"}, "engine": {"type": "llamacpp"},
        "resources": {"memory": "16Gi", "cpu": "8"}, "image": "ghcr.io/sozercan/llama-cpp-runner:latest",
    });
    namespace.deploy("phi", &spec).await;
    let before = namespace.until_exists(WORKSPACE, "phi").await;
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
async fn a_replaced_config_map_is_deleted() {
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
    let after = eventually(SOON, "one other ConfigMap", async || {
        let now = names().await;
        if now.len() == 1 && now != before { Ok(now) } else { Err(format!("{now:?}")) }
    })
    .await;
    let main = namespace.get(WORKSPACE, "phi").await;
    assert_eq!(main["inference"]["config"], after[0].as_str());
    assert_eq!(main["metadata"]["generation"], 2, "it was changed once: {main}");
}

/// The operator watches ConfigMaps by their label, so its cache does not have this one.
#[tokio::test]
async fn an_object_that_is_not_watched_is_not_adopted() {
    let Some(namespace) = namespace("unwatched").await else { return };
    let case = &cases()[0];
    let deployment = json!({
        "apiVersion": DEPLOYMENT.api_version, "kind": "ModelDeployment",
        "metadata": {"name": "phi", "namespace": namespace.name}, "spec": case.spec,
    });
    let mut foreign = render(&deployment).into_iter().find(|object| object["kind"] == "ConfigMap").unwrap();
    for field in ["annotations", "labels"] {
        foreign["metadata"].as_object_mut().unwrap().remove(field);
    }
    let before = namespace.apply_as("a-user", CONFIG_MAP, &foreign).await.unwrap();
    namespace.deploy("phi", &case.spec).await;
    let condition = namespace.until_condition("phi", "ResourceCreated", "False").await;
    assert!(condition["message"].as_str().unwrap().contains("is not owned by this ModelDeployment"), "{condition}");
    let after = namespace.get(CONFIG_MAP, foreign["metadata"]["name"].as_str().unwrap()).await;
    assert_eq!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    assert!(namespace.find(WORKSPACE, "phi").await.is_none());
    // With the name free, an edit of the deployment has everything created, as the next look would.
    namespace.delete(CONFIG_MAP, foreign["metadata"]["name"].as_str().unwrap()).await;
    namespace.merge(DEPLOYMENT, "phi", &json!({"metadata": {"labels": {"a": "b"}}})).await;
    namespace.until_exists(WORKSPACE, "phi").await;
}

#[tokio::test]
async fn drift_is_repaired() {
    with_each_provider("drift", async |namespace, case| {
        let before = run(namespace, case).await;
        let (path, value) = &case.drift;
        edit(namespace, case, path, value).await;
        let original = before.pointer(path).unwrap();
        let after = namespace
            .until(case.kind, "phi", "restored", |main| {
                let found = main.pointer(path).unwrap();
                if found == original { Ok(()) } else { Err(found.to_string()) }
            })
            .await;
        assert_eq!(uid(&after), uid(&before));
        let message = namespace.until_event("phi", "Warning", "DriftDetected").await;
        assert!(message.starts_with("Provider resource was modified directly, reconciling"), "{message}");
        // A field that is not rendered is not drift.
        namespace.merge(case.kind, "phi", &json!({"metadata": {"labels": {"team": "search"}}})).await;
        until_handled(namespace, case).await;
        assert_eq!(namespace.get(case.kind, "phi").await["metadata"]["labels"]["team"], "search");
        let drifts = namespace.events("phi").await.into_iter().filter(|event| event.1 == "DriftDetected").count();
        assert_eq!(drifts, 1);
    })
    .await;
}

#[tokio::test]
async fn a_deleted_object_is_recreated() {
    with_each_provider("deleted", async |namespace, case| {
        let before = run(namespace, case).await;
        namespace.delete(case.kind, "phi").await;
        until_replaced(namespace, case.kind, &before).await;
    })
    .await;
}

#[tokio::test]
async fn a_paused_deployment_is_not_changed() {
    with_each_provider("pause", async |namespace, case| {
        let before = run(namespace, case).await;
        let key = "kubefoundry.ai/reconcile-paused";
        let paused = namespace.annotate(DEPLOYMENT, "phi", key, Some("true")).await;
        // A reconciliation that started before the annotation has ended then.
        namespace.operator().until_reconciled(case.provider, &paused).await;
        let (path, value) = &case.drift;
        edit(namespace, case, path, value).await;
        namespace.merge(DEPLOYMENT, "phi", &json!({"spec": case.in_place.0})).await;
        until_handled(namespace, case).await;
        let main = namespace.get(case.kind, "phi").await;
        assert!(main.pointer(path) == Some(value) && uid(&main) == uid(&before), "{main}");
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
