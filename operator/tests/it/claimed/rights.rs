//! The rights of the role `actors`: they suffice for the whole lifecycle, and for nothing else.

use serde_json::json;

use super::{binding, claimed, options, standalone, until_bound, until_condition, until_unbound, workload};
use crate::harness::ControlPlane;
use crate::harness::cluster::Namespace;
use crate::harness::cluster::kinds::{ACTOR, SCALED_OBJECT, WORKLOAD};
use crate::harness::eventually;
use crate::harness::world::text;
use crate::rbac::{install, manifests, token_of};

const ACCOUNT: &str = "kubefoundry-actors";

#[tokio::test]
async fn the_rights_of_the_role_suffice_and_are_no_more() {
    let Some(plane) = ControlPlane::start_in_group("claimed-faults").await else { return };
    let client = plane.admin().await;
    let options = options(&plane).await;
    for object in manifests(&["--roles=split,actors"]) {
        let kind = text(&object, "/kind");
        let is_needed = ["Namespace", "ServiceAccount"].contains(&kind) || kind.contains("Role");
        if is_needed {
            install(&client, &object).await;
        }
    }
    let kubeconfig = token_of(&plane, &client, ACCOUNT).await;
    let operator = options.kubeconfig(&kubeconfig).leader_election("15s").start_ready(&plane, "actors-rights").await;
    let namespace = Namespace::create(&client, "vision").await;

    let mut spec = standalone("registry.example.com/thumbnailer:1");
    spec["scaling"] = json!({"enabled": true});
    namespace.apply(ACTOR, &claimed("thumbs", &spec)).await.unwrap();
    namespace.apply(WORKLOAD, &workload("triton", "registry.example.com/triton:1")).await.unwrap();
    namespace.apply(ACTOR, &claimed("detect", &binding("Deployment", "triton"))).await.unwrap();
    namespace.until_exists(SCALED_OBJECT, "thumbs").await;
    until_bound(&namespace, "triton").await;
    until_condition(&namespace, "detect", "Bound", "True", "Bound").await;
    namespace.until_event("detect", "Normal", "Bound").await;
    namespace.apply(ACTOR, &claimed("thumbs", &standalone("registry.example.com/thumbnailer:2"))).await.unwrap();
    namespace.until_gone(SCALED_OBJECT, "thumbs").await;
    for name in ["thumbs", "detect"] {
        namespace.delete(ACTOR, name).await;
        namespace.until_gone(ACTOR, name).await;
    }
    until_unbound(&namespace, "triton").await;
    let forbidden = operator.metric("kubefoundry_reconciliation_errors_total", &[r#"error_type="forbidden""#]).await;
    assert!(forbidden < 1.0, "{forbidden}\n{}", operator.end_of_log());
    assert!(!operator.log().contains("the watch broke"), "{}", operator.end_of_log());
    eventually(super::LONG, "its rights checked", async || {
        let metrics = operator.metrics().await;
        let line = r#"kubefoundry_missing_rights{provider="actors"} 0"#;
        if metrics.contains(line) { Ok(()) } else { Err("no such line".to_owned()) }
    })
    .await;

    let user = format!("system:serviceaccount:kubefoundry-system:{ACCOUNT}");
    for (verb, group, resource) in [
        ("get", "", "secrets"),
        ("list", "", "secrets"),
        ("create", "", "pods"),
        ("delete", "", "pods"),
        ("delete", "", "configmaps"),
        ("get", "kubefoundry.ai", "modeldeployments"),
        ("patch", "kubefoundry.ai", "modeldeployments"),
        ("patch", "kaito.sh", "workspaces"),
        ("delete", "rabbitmq.com", "queues"),
        ("delete", "asya.sh", "asyncactors"),
        ("create", "rbac.authorization.k8s.io", "rolebindings"),
        ("patch", "apiextensions.k8s.io", "customresourcedefinitions"),
        ("get", "", "namespaces"),
    ] {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": user, "groups": ["system:serviceaccounts", "system:authenticated"], "resourceAttributes": {
                "verb": verb, "group": group, "resource": resource, "namespace": "vision",
            }},
        });
        let post = http::Request::post("/apis/authorization.k8s.io/v1/subjectaccessreviews");
        let post = post.header("content-type", "application/json").body(review.to_string().into_bytes()).unwrap();
        let answer: serde_json::Value = client.request(post).await.unwrap();
        assert_ne!(answer["status"]["allowed"], true, "{verb} {resource}.{group}");
    }
}
