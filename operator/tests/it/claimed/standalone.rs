//! Standalone actors: what is created, updated, pruned, restored and deleted.

use serde_json::{Value, json};

use super::{MANAGED, claimed, create_pod, namespace, report_replicas, standalone, until_condition, until_word};
use crate::harness::cluster::kinds::{ACTOR, POD, SCALED_OBJECT, TRIGGER_AUTHENTICATION, WORKLOAD};
use crate::harness::cluster::{condition, uid};

#[tokio::test]
async fn an_actor_is_created_reported_updated_and_deleted() {
    let Some(namespace) = namespace("standalone").await else { return };
    let mut spec = standalone("registry.example.com/thumbnailer:1");
    spec["scaling"] = json!({"enabled": true, "minReplicas": 1, "maxReplicas": 5});
    let actor = namespace.apply(ACTOR, &claimed("thumbs", &spec)).await.unwrap();

    let workload = namespace.until_exists(WORKLOAD, "thumbs").await;
    let owner = &workload["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["uid"]), (&json!("AsyncActor"), &json!(uid(&actor))), "{owner}");
    assert_eq!(owner["controller"], true);
    namespace.until_exists(SCALED_OBJECT, "thumbs").await;
    namespace.until_exists(TRIGGER_AUTHENTICATION, "thumbs-trigger-auth").await;
    let actor = until_condition(&namespace, "thumbs", "Applied", "True", "Applied").await;
    let status = &actor["status"];
    assert_eq!(status["mode"], "Standalone", "{status}");
    let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "thumbs", "namespace": "standalone"});
    assert_eq!(status["workloadRef"], reference);
    assert_eq!(status["scaledObjectRef"], json!({"name": "thumbs", "namespace": "standalone"}));
    assert_eq!((&status["scalingMode"], &status["transportStatus"]), (&json!("KEDA"), &json!("Ready")));
    assert_eq!(status["observedGeneration"], actor["metadata"]["generation"]);
    assert_eq!(namespace.until_event("thumbs", "Normal", "ResourceCreated").await.split(' ').next(), Some("Created"));

    // What runs is reported in the words of the Asya operator.
    report_replicas(&namespace, "thumbs", 1, 1).await;
    let actor = until_word(&namespace, "thumbs", "Running").await;
    assert_eq!(actor["status"]["readyReplicasSummary"], "1/1", "{}", actor["status"]);
    for kind in ["TransportReady", "WorkloadReady", "ScalingReady"] {
        assert_eq!(condition(&actor, kind).unwrap()["status"], "True", "{kind}");
    }
    report_replicas(&namespace, "thumbs", 0, 1).await;
    create_pod(&namespace, "thumbs", "thumbs-1").await;
    let crash = json!({"phase": "Running", "containerStatuses": [{
        "name": "asya-runtime", "image": "i", "imageID": "i", "ready": false, "restartCount": 3,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 1, "message": "No module named 'thumbnails'"}},
    }]});
    namespace.patch_status(POD, "thumbs-1", &crash).await;
    let actor = until_word(&namespace, "thumbs", "RuntimeError").await;
    assert_eq!(actor["status"]["failingPods"], 1, "{}", actor["status"]);
    let failed = condition(&actor, "WorkloadReady").unwrap();
    assert_eq!(failed["reason"], "PodsNotHealthy");
    assert_eq!(failed["message"], "Container asya-runtime in CrashLoopBackOff (pod: thumbs-1)");

    // What another client writes into the status is corrected.
    namespace.patch_status(ACTOR, "thumbs", &json!({"status": "Napping", "failingPods": 7})).await;
    let actor = until_word(&namespace, "thumbs", "RuntimeError").await;
    assert_eq!(actor["status"]["failingPods"], 1, "{}", actor["status"]);

    // An update changes the workload; what is no longer rendered is deleted.
    let spec = standalone("registry.example.com/thumbnailer:2");
    namespace.apply(ACTOR, &claimed("thumbs", &spec)).await.unwrap();
    namespace
        .until(WORKLOAD, "thumbs", "with the new image", |workload| {
            let image = &workload["spec"]["template"]["spec"]["containers"][0]["image"];
            if image == "registry.example.com/thumbnailer:2" { Ok(()) } else { Err(image.to_string()) }
        })
        .await;
    namespace.until_gone(SCALED_OBJECT, "thumbs").await;
    namespace.until_gone(TRIGGER_AUTHENTICATION, "thumbs-trigger-auth").await;
    namespace
        .until(ACTOR, "thumbs", "without scaling", |actor| {
            let is_scaled = condition(actor, "ScalingReady").is_some() || actor["status"]["scalingMode"] != "Manual";
            if is_scaled { Err(actor["status"].to_string()) } else { Ok(()) }
        })
        .await;

    // What another client changes or deletes comes back.
    namespace
        .merge(
            WORKLOAD,
            "thumbs",
            &json!({"metadata": {"labels": {"asya.sh/asya": "other"}}, "spec": {
        "template": {"spec": {"terminationGracePeriodSeconds": 7}}}}),
        )
        .await;
    namespace.until_event("thumbs", "Warning", "DriftDetected").await;
    namespace
        .until(WORKLOAD, "thumbs", "restored", |workload| {
            let grace = &workload["spec"]["template"]["spec"]["terminationGracePeriodSeconds"];
            if *grace == 30 { Ok(()) } else { Err(grace.to_string()) }
        })
        .await;
    let before = uid(&namespace.get(WORKLOAD, "thumbs").await);
    namespace.delete(WORKLOAD, "thumbs").await;
    namespace
        .until(WORKLOAD, "thumbs", "created again", |workload| {
            if uid(workload) == before { Err("the old one".to_owned()) } else { Ok(()) }
        })
        .await;

    namespace.delete(ACTOR, "thumbs").await;
    namespace.until_gone(ACTOR, "thumbs").await;
    namespace.until_gone(WORKLOAD, "thumbs").await;
}

#[tokio::test]
async fn an_actor_is_ignored_until_it_is_handed_over_and_after_it_is_taken_back() {
    let Some(namespace) = namespace("handover").await else { return };
    let spec = standalone("registry.example.com/thumbnailer:1");
    let operator = namespace.operator();
    let applied = namespace.apply(ACTOR, &json!({"metadata": {"name": "thumbs"}, "spec": spec})).await.unwrap();
    operator.until_reconciled("actors", &applied).await;
    assert_eq!(namespace.find(WORKLOAD, "thumbs").await, None);
    assert!(namespace.get(ACTOR, "thumbs").await.get("status").is_none());

    namespace.annotate(ACTOR, "thumbs", MANAGED, Some("true")).await;
    namespace.until_exists(WORKLOAD, "thumbs").await;
    until_condition(&namespace, "thumbs", "Applied", "True", "Applied").await;

    // Taken back: the status is given up, and what was applied stays as it is.
    namespace.annotate(ACTOR, "thumbs", MANAGED, None).await;
    namespace.until_event("thumbs", "Normal", "Released").await;
    namespace
        .until(ACTOR, "thumbs", "without a status", |actor| match actor.get("status") {
            None => Ok(()),
            Some(status) if status.as_object().is_some_and(serde_json::Map::is_empty) => Ok(()),
            Some(status) => Err(status.to_string()),
        })
        .await;
    let scaled = namespace.merge(WORKLOAD, "thumbs", &json!({"spec": {"replicas": 4}})).await;
    operator.until_delivered("actors/deployments.apps", &scaled).await;
    operator.look_at(&namespace, ACTOR, "thumbs", &["actors"]).await;
    assert_eq!(namespace.get(WORKLOAD, "thumbs").await["spec"]["replicas"], 4);
    assert!(namespace.get(ACTOR, "thumbs").await.get("status").is_none_or(|it| it == &json!({})));
}

#[tokio::test]
async fn an_object_of_another_client_is_not_adopted() {
    let Some(namespace) = namespace("strangers").await else { return };
    let stranger = super::workload("thumbs", "registry.example.com/other:1");
    let before = namespace.apply(WORKLOAD, &stranger).await.unwrap();
    namespace.apply(ACTOR, &claimed("thumbs", &standalone("registry.example.com/thumbnailer:1"))).await.unwrap();
    let actor = until_condition(&namespace, "thumbs", "Applied", "False", "NotOwned").await;
    let message = condition(&actor, "Applied").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("Deployment 'thumbs' exists but was not applied for this AsyncActor"), "{message}");
    let after = namespace.get(WORKLOAD, "thumbs").await;
    assert_eq!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);

    // Once the name is free, the actor gets it.
    namespace.delete(WORKLOAD, "thumbs").await;
    until_condition(&namespace, "thumbs", "Applied", "True", "Applied").await;
    namespace
        .until(WORKLOAD, "thumbs", "the actor's", |workload| {
            if workload["metadata"]["ownerReferences"][0]["kind"] == "AsyncActor" {
                Ok(())
            } else {
                Err(workload.to_string())
            }
        })
        .await;
}

#[tokio::test]
async fn an_invalid_actor_is_reported() {
    let Some(namespace) = namespace("invalid").await else { return };
    let mut spec = standalone("registry.example.com/thumbnailer:1");
    spec["transport"] = json!("sqs");
    namespace.apply(ACTOR, &claimed("thumbs", &spec)).await.unwrap();
    let actor = until_condition(&namespace, "thumbs", "Applied", "False", "Invalid").await;
    let message = condition(&actor, "Applied").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("KF21") && message.contains("sqs"), "{message}");
    assert_eq!(actor["status"]["status"], "TransportError", "{}", actor["status"]);
    assert_eq!(condition(&actor, "TransportReady").unwrap()["status"], "False");
    assert_eq!(namespace.until_event("thumbs", "Warning", "ProviderError").await, message);
    assert_eq!(namespace.find(WORKLOAD, "thumbs").await, None::<Value>);

    namespace.apply(ACTOR, &claimed("thumbs", &standalone("registry.example.com/thumbnailer:1"))).await.unwrap();
    until_condition(&namespace, "thumbs", "TransportReady", "True", "Ready").await;
    namespace.until_exists(WORKLOAD, "thumbs").await;
}
