//! What other clients do to a deployment and its objects: status written with `Update`, owners removed, orphaning
//! deletions, providers that do not exist.

use kube::api::{DeleteParams, PropagationPolicy};
use serde_json::{Value, json};

use super::cases::{assert_owned, cases, namespace, run, with_each_provider};
use crate::harness::cluster::kinds::{DEPLOYMENT, GRAPH, PROVIDER_CONFIG, WORKSPACE};
use crate::harness::cluster::{Namespace, SOON, condition, expect_text, uid};
use crate::harness::eventually;

/// A client that updates the status owns what it wrote for ever, unless the operator takes it back.
#[tokio::test]
async fn a_status_that_another_client_updated_is_taken_back() {
    with_each_provider("updated", async |namespace, case| {
        run(namespace, case).await;
        let by_hand = json!({
            "phase": "Failed", "message": "by hand", "endpoint": {"service": "elsewhere", "port": 9000},
            "provider": {"resourceKind": "ThirdParty"},
        });
        namespace.patch_status(DEPLOYMENT, "phi", &by_hand).await;
        let deployment = namespace.until_phase("phi", "Running").await;
        let status = &deployment["status"];
        assert_eq!(status["endpoint"], json!({"service": case.service, "port": case.port}));
        assert_eq!(status["provider"]["resourceKind"], case.kind.kind);
        assert_ne!(status["message"], "by hand");
        // It still follows the provider.
        let labeled = namespace.merge(DEPLOYMENT, "phi", &json!({"metadata": {"labels": {"a": "b"}}})).await;
        namespace.operator().until_reconciled(case.provider, &labeled).await;
        assert_eq!(namespace.get(DEPLOYMENT, "phi").await["status"]["phase"], "Running");
    })
    .await;
}

/// A controller of a third party writes the whole status with `Update`, as controller-runtime does, and a former
/// operator left its own. Neither stays true after a move to one of our providers.
#[tokio::test]
async fn a_deployment_moves_away_from_a_third_party_that_updates_the_status() {
    let Some(namespace) = namespace("moves-away").await else { return };
    let capabilities = json!({"engines": ["vllm"], "servingModes": ["aggregated"], "gpuSupport": true});
    let _alive = namespace.register("thirdparty", &json!({"capabilities": capabilities})).await;
    let spec = |provider: &str| {
        json!({
            "model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}},
            "provider": {"name": provider},
        })
    };
    namespace.deploy("t", &spec("thirdparty")).await;
    let is_chosen = |expected: &'static str| {
        move |deployment: &Value| {
            expect_text(&deployment["status"]["provider"]["name"], expected)
                .map_err(|_| deployment["status"].to_string())
        }
    };
    namespace.until(DEPLOYMENT, "t", "chosen", is_chosen("thirdparty")).await;
    let theirs = json!({
        "phase": "Running", "message": "thirdparty serves", "endpoint": {"service": "tp-svc", "port": 9000},
        "provider": {"resourceKind": "ThirdParty"},
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "Serves", "message": "thirdparty serves",
             "lastTransitionTime": "2026-01-30T10:00:00Z"},
        ],
    });
    eventually(SOON, "the status of the third party", async || {
        let mut object = namespace.api(DEPLOYMENT).get("t").await.map_err(|error| error.to_string())?;
        let conditions = object.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let status = object.data["status"].as_object_mut().unwrap();
        status.extend(theirs.as_object().unwrap().clone().into_iter().filter(|(name, _)| name != "provider"));
        status["provider"]["resourceKind"] = json!("ThirdParty");
        let mut all: Vec<Value> = conditions.into_iter().filter(|one| one["type"] != "Ready").collect();
        all.extend(theirs["conditions"].as_array().unwrap().clone());
        status.insert("conditions".to_owned(), Value::Array(all));
        let params = kube::api::PostParams { field_manager: Some("manager".to_owned()), ..Default::default() };
        let written = namespace.api(DEPLOYMENT).replace_status("t", &params, &object).await;
        written.map(drop).map_err(|error| error.to_string())
    })
    .await;
    namespace.operator().look_at(&namespace, DEPLOYMENT, "t", &["core", "selector"]).await;
    assert_eq!(namespace.get(DEPLOYMENT, "t").await["status"]["message"], "thirdparty serves");
    namespace.deploy("t", &spec("dynamo")).await;
    namespace.until_exists(GRAPH, "t").await;
    let deployment = namespace
        .until(DEPLOYMENT, "t", "ours", |deployment| {
            let status = &deployment["status"];
            let is_clean = status["provider"]["resourceKind"] == "DynamoGraphDeployment"
                && status["endpoint"]["service"] != "tp-svc"
                && !status.to_string().contains("thirdparty serves");
            if is_clean { Ok(()) } else { Err(status.to_string()) }
        })
        .await;
    assert_eq!(condition(&deployment, "Ready").unwrap()["status"], "False", "{deployment}");
}

/// Orphaning is the way to leave a controller without downtime.
#[tokio::test]
async fn an_orphaning_deletion_leaves_what_runs() {
    with_each_provider("orphan", async |namespace, case| {
        let main = run(namespace, case).await;
        let params = DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
        namespace.api(DEPLOYMENT).delete("phi", &params).await.unwrap();
        namespace.until_gone(DEPLOYMENT, "phi").await;
        // The operator has done its last part then. Without an owner the garbage collector has none.
        let message = namespace.until_event("phi", "Warning", "ObjectLeft").await;
        assert!(message.starts_with(&format!("{} 'phi' no longer names", case.kind.kind)), "{message}");
        let live = namespace.get(case.kind, "phi").await;
        let metadata = &live["metadata"];
        assert_eq!(uid(&live), uid(&main));
        assert!(metadata["deletionTimestamp"].is_null() && metadata["ownerReferences"].is_null(), "{metadata}");
    })
    .await;
}

/// Without its owner an object would outlive its deployment, with the GPUs.
#[tokio::test]
async fn a_removed_owner_is_put_back() {
    with_each_provider("disowned", async |namespace, case| {
        let main = run(namespace, case).await;
        namespace.merge(case.kind, "phi", &json!({"metadata": {"ownerReferences": null}})).await;
        let live = namespace
            .until(case.kind, "phi", "owned again", |object| {
                let owners = &object["metadata"]["ownerReferences"];
                if owners.is_null() { Err(object["metadata"].to_string()) } else { Ok(()) }
            })
            .await;
        assert_eq!(uid(&live), uid(&main));
        assert_owned(&live, &namespace.get(DEPLOYMENT, "phi").await);
        namespace.delete(DEPLOYMENT, "phi").await;
        namespace.until_gone(case.kind, "phi").await;
    })
    .await;
}

async fn until_unknown(namespace: &Namespace) {
    let selected = namespace.until_condition("phi", "ProviderSelected", "False").await;
    assert_eq!(selected["reason"], "UnknownProvider", "{selected}");
}

/// What runs, runs on: its state is reported and its drift repaired, but no other change is carried out.
#[tokio::test]
async fn a_deployment_whose_named_provider_cannot_be_chosen_is_still_observed() {
    let Some(namespace) = namespace("unselectable").await else { return };
    let cases = cases();
    let dynamo = cases.iter().find(|case| case.provider == "dynamo").unwrap();
    let before = run(&namespace, dynamo).await;
    namespace.merge(DEPLOYMENT, "phi", &json!({"spec": {"provider": {"name": "nope"}}})).await;
    until_unknown(&namespace).await;
    let failed = json!({
        "state": "failed",
        "conditions": [{"type": "Ready", "status": "False", "reason": "some_resources_are_not_ready",
            "message": "CUDA out of memory", "lastTransitionTime": "2026-01-30T10:00:00Z"}],
    });
    namespace.patch_status(GRAPH, "phi", &failed).await;
    let deployment = namespace.until_phase("phi", "Failed").await;
    assert!(deployment["status"]["message"].as_str().unwrap().contains("CUDA"), "{deployment}");
    // Drift is repaired.
    namespace.merge(GRAPH, "phi", &json!({"spec": {"services": {"VllmWorker": {"replicas": 7}}}})).await;
    namespace
        .until(GRAPH, "phi", "repaired", |graph| {
            let replicas = &graph["spec"]["services"]["VllmWorker"]["replicas"];
            if *replicas == 1 { Ok(()) } else { Err(replicas.to_string()) }
        })
        .await;
    // A deleted object comes back.
    namespace.delete(GRAPH, "phi").await;
    eventually(SOON, "another graph", async || {
        let graph = namespace.find(GRAPH, "phi").await.ok_or("it does not exist")?;
        if uid(&graph) == uid(&before) { Err("the old one".to_owned()) } else { Ok(()) }
    })
    .await;
    // Another change waits until a provider can be chosen.
    namespace.merge(DEPLOYMENT, "phi", &json!({"spec": {"scaling": {"replicas": 3}}})).await;
    until_unknown(&namespace).await;
    let expected = "DynamoGraphDeployment 'phi' stays as it is until the named provider can be chosen";
    namespace
        .until(DEPLOYMENT, "phi", "held", |deployment| {
            let created = condition(deployment, "ResourceCreated").unwrap_or_default();
            expect_text(&created["message"], expected)
        })
        .await;
    let graph = namespace.get(GRAPH, "phi").await;
    assert_eq!(graph["spec"]["services"]["VllmWorker"]["replicas"], 1, "{graph}");
    namespace.merge(DEPLOYMENT, "phi", &json!({"spec": {"provider": null}})).await;
    namespace
        .until(GRAPH, "phi", "scaled", |graph| {
            let replicas = &graph["spec"]["services"]["VllmWorker"]["replicas"];
            if *replicas == 3 { Ok(()) } else { Err(replicas.to_string()) }
        })
        .await;
}

/// Its provider is gone, and nothing would ever say so.
#[tokio::test]
async fn a_deployment_of_a_provider_that_is_gone_says_so() {
    let Some(namespace) = namespace("vanished").await else { return };
    let capabilities = json!({"engines": ["vllm"], "servingModes": ["aggregated"], "gpuSupport": true});
    let alive = namespace.register("vanishing", &json!({"capabilities": capabilities})).await;
    let spec = json!({
        "model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}},
        "provider": {"name": "vanishing"},
    });
    namespace.deploy("phi", &spec).await;
    namespace.until_condition("phi", "ProviderSelected", "True").await;
    drop(alive);
    namespace.delete(PROVIDER_CONFIG, "vanishing").await;
    namespace.merge(DEPLOYMENT, "phi", &json!({"spec": {"provider": null}})).await;
    // While its name was in the specification, another message was right.
    let expected = "provider 'vanishing' is selected, but no longer registered; name another one in spec.provider.name";
    namespace
        .until(DEPLOYMENT, "phi", "without its provider", |deployment| {
            let status = &deployment["status"];
            expect_text(&status["phase"], "Pending").and_then(|()| expect_text(&status["message"], expected))
        })
        .await;
    // An answer to the advice.
    namespace.merge(DEPLOYMENT, "phi", &json!({"spec": {"provider": {"name": "dynamo"}}})).await;
    namespace.until_exists(GRAPH, "phi").await;
}

/// All annotations of an object together have a limit, which a dry run must not break.
#[tokio::test]
async fn a_dry_run_beside_large_annotations_has_a_status() {
    let Some(namespace) = namespace("annotations").await else { return };
    let env: Vec<Value> = (0..100).map(|n| json!({"name": format!("V{n}"), "value": "x".repeat(1000)})).collect();
    let deployment = json!({
        "metadata": {"name": "phi", "annotations": {
            "example.com/notes": "n".repeat(200_000), "kubefoundry.ai/dry-run": "true",
        }},
        "spec": {
            "model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}},
            "provider": {"name": "dynamo"}, "env": env,
        },
    });
    namespace.apply(DEPLOYMENT, &deployment).await.unwrap();
    let created = namespace.until_condition("phi", "ResourceCreated", "False").await;
    let message = created["message"].as_str().unwrap();
    assert!(message.starts_with("would be applied: DynamoGraphDeployment 'phi'"), "{message}");
    let live = namespace.get(DEPLOYMENT, "phi").await;
    let result = live["metadata"]["annotations"]["kubefoundry.ai/dry-run-result"].as_str().unwrap();
    assert!(result.contains("bytes of YAML, more than the 62"), "{result}");
    assert_eq!(namespace.list(WORKSPACE).await, Vec::<Value>::new());
    assert_eq!(namespace.list(GRAPH).await, Vec::<Value>::new());
}
