//! Faults of bindings: clients that revert them, and an operator that is killed.

use serde_json::{Value, json};

use super::{
    BOUND, LONG, binding, claimed, containers, options, until_bound, until_condition, until_unbound, workload,
};
use crate::harness::cluster::kinds::{ACTOR, WORKLOAD};
use crate::harness::cluster::{Namespace, condition};
use crate::harness::{ControlPlane, eventually};
use kube::api::{Patch, PatchParams};

/// Removes what was added, as a controller does that knows only its own template.
async fn revert(namespace: &Namespace, name: &str) {
    let own = &workload(name, "registry.example.com/triton:1")["spec"]["template"]["spec"]["containers"];
    let patch = json!({"spec": {"template": {"spec": {"containers": own}}}});
    let parameters = PatchParams { field_manager: Some("a-rival".to_owned()), ..PatchParams::default() };
    namespace.api(WORKLOAD).patch(name, &parameters, &Patch::Merge(patch)).await.unwrap();
}

fn count(actor: &Value) -> u64 {
    actor["status"]["conflictCount"].as_u64().unwrap_or(0)
}

#[tokio::test]
async fn a_rival_is_answered_five_times_and_then_no_more() {
    let Some(plane) = ControlPlane::start_in_group("claimed-faults").await else { return };
    let operator = options(&plane).await.start_ready(&plane, "rival").await;
    let namespace = Namespace::create(&plane.admin().await, "vision").await;
    namespace.apply(WORKLOAD, &workload("triton", "registry.example.com/triton:1")).await.unwrap();
    namespace.apply(ACTOR, &claimed("detect", &binding("Deployment", "triton"))).await.unwrap();
    until_bound(&namespace, "triton").await;
    until_condition(&namespace, "detect", "Bound", "True", "Bound").await;

    for round in 1..=5 {
        revert(&namespace, "triton").await;
        eventually(LONG, &format!("conflict {round}"), async || {
            let actor = namespace.get(ACTOR, "detect").await;
            if count(&actor) == round { Ok(()) } else { Err(actor["status"].to_string()) }
        })
        .await;
        eventually(LONG, &format!("bound after conflict {round}"), async || {
            let (actor, workload) = (namespace.get(ACTOR, "detect").await, namespace.get(WORKLOAD, "triton").await);
            let is_bound = condition(&actor, "Bound").is_some_and(|bound| bound["status"] == "True");
            if is_bound && containers(&workload) == BOUND { Ok(()) } else { Err(actor["status"].to_string()) }
        })
        .await;
    }
    namespace.until_event("detect", "Warning", "BindingConflict").await;
    revert(&namespace, "triton").await;
    let actor = until_condition(&namespace, "detect", "Bound", "False", "Stopped").await;
    assert_eq!(count(&actor), 6, "{}", actor["status"]);
    assert!(actor["status"]["lastConflictTime"].is_string());
    namespace.until_event("detect", "Warning", "BindingStopped").await;
    let conflicts = operator.metric("kubefoundry_binding_conflicts_total", &[r#"provider="actors""#]).await;
    assert!((conflicts - 6.0).abs() < 0.5, "{conflicts}");
    // It is left alone, also when it is looked at again.
    operator.look_at(&namespace, ACTOR, "detect", &["actors"]).await;
    assert_eq!(containers(&namespace.get(WORKLOAD, "triton").await), ["triton"]);

    // A new specification starts from the beginning.
    let mut spec = binding("Deployment", "triton");
    spec["runtime"]["image"] = json!("registry.example.com/adapter:2");
    namespace.apply(ACTOR, &claimed("detect", &spec)).await.unwrap();
    until_bound(&namespace, "triton").await;
    let actor = until_condition(&namespace, "detect", "Bound", "True", "Bound").await;
    assert_eq!(count(&actor), 0, "{}", actor["status"]);
    drop(operator);
}

#[tokio::test]
async fn a_killed_operator_leaves_no_binding_behind() {
    let Some(plane) = ControlPlane::start_in_group("claimed-faults").await else { return };
    let mut operator = options(&plane).await.start_ready(&plane, "killed").await;
    let namespace = Namespace::create(&plane.admin().await, "vision").await;
    let before = namespace.apply(WORKLOAD, &workload("triton", "registry.example.com/triton:1")).await.unwrap();
    namespace.apply(ACTOR, &claimed("detect", &binding("Deployment", "triton"))).await.unwrap();
    until_bound(&namespace, "triton").await;
    // Before the status says so, or after: the intent was recorded.
    operator.kill().await;

    // Deleted while no operator runs: the finalizer holds it.
    namespace.delete(ACTOR, "detect").await;
    let actor = namespace.get(ACTOR, "detect").await;
    assert!(actor["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(containers(&namespace.get(WORKLOAD, "triton").await), BOUND);
    operator.restart();
    namespace.until_gone(ACTOR, "detect").await;
    let restored = until_unbound(&namespace, "triton").await;
    assert_eq!(restored["spec"]["template"], before["spec"]["template"]);

    // The target moves while no operator runs.
    namespace.apply(WORKLOAD, &workload("other", "registry.example.com/triton:1")).await.unwrap();
    namespace.apply(ACTOR, &claimed("detect", &binding("Deployment", "triton"))).await.unwrap();
    until_bound(&namespace, "triton").await;
    operator.kill().await;
    namespace.apply(ACTOR, &claimed("detect", &binding("Deployment", "other"))).await.unwrap();
    operator.restart();
    until_bound(&namespace, "other").await;
    until_unbound(&namespace, "triton").await;

    // A restart finds everything as it was, and writes nothing.
    until_condition(&namespace, "detect", "Bound", "True", "Bound").await;
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    let before = [namespace.get(ACTOR, "detect").await, namespace.get(WORKLOAD, "other").await].map(|it| version(&it));
    operator.kill().await;
    operator.restart();
    eventually(LONG, "a reconciliation", async || {
        operator.until_ready().await;
        let name = "kubefoundry_reconciliation_duration_seconds_count";
        match operator.metric(name, &[r#"provider="actors""#]).await {
            count if count > 0.5 => Ok(()),
            count => Err(format!("{count}\n{}", operator.end_of_log())),
        }
    })
    .await;
    // This write fails if the actor has been written since.
    let look = json!({"metadata": {"resourceVersion": before[0], "annotations": {"example.com/look": "again"}}});
    let looked = namespace.merge(ACTOR, "detect", &look).await;
    operator.until_reconciled("actors", &looked).await;
    let after = [namespace.get(ACTOR, "detect").await, namespace.get(WORKLOAD, "other").await].map(|it| version(&it));
    assert_eq!(after, [version(&looked), before[1].clone()]);
    drop(operator);
}
