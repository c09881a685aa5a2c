//! Creation: from a specification to a running model.

use serde_json::{Value, json};

use super::cases::{assert_owned, run, time, until_handled, with_each_provider};
use crate::harness::cluster::condition;
use crate::harness::cluster::kinds::DEPLOYMENT;
use crate::harness::render::{difference, kind_of, render};

#[tokio::test]
async fn a_deployment_is_selected_applied_and_runs() {
    with_each_provider("create", async |namespace, case| {
        namespace.deploy("phi", &case.spec).await;
        let main = namespace.until_exists(case.kind, "phi").await;
        let pending = namespace.until_condition("phi", "ResourceCreated", "True").await;
        assert!(!pending["lastTransitionTime"].is_null(), "{pending}");
        let deployment = namespace.until_condition("phi", "Ready", "False").await;
        assert_eq!(deployment["observedGeneration"], 1, "{deployment}");

        let deployment = namespace.get(DEPLOYMENT, "phi").await;
        let status = &deployment["status"];
        assert_eq!(status["provider"]["name"], case.provider);
        assert_eq!(status["provider"]["selectedReason"], case.reason);
        assert_eq!(status["provider"]["resourceName"], "phi");
        assert_eq!(status["provider"]["resourceKind"], case.kind.kind);
        for kind in ["Validated", "ProviderSelected", "ProviderCompatible", "ResourceCreated"] {
            assert_eq!(condition(&deployment, kind).unwrap()["status"], "True", "{kind}: {status}");
        }
        let message = namespace.until_event("phi", "Normal", "ProviderSelected").await;
        assert_eq!(message, format!("Selected provider '{}': {}", case.provider, case.reason));
        let message = namespace.until_event("phi", "Normal", "ResourceCreated").await;
        assert_eq!(message, format!("Created {} 'phi'", case.kind.kind));

        let rendered = render(&deployment);
        for expected in &rendered {
            let name = expected["metadata"]["name"].as_str().unwrap();
            let live = namespace.get(kind_of(expected), name).await;
            assert_eq!(difference(namespace, kind_of(expected), expected, &live).await, None);
            assert_owned(&live, &deployment);
        }
        for hash in ["identity-hash", "rendered-hash"] {
            let annotation = &main["metadata"]["annotations"][format!("kubefoundry.ai/{hash}")];
            assert!(annotation.as_str().is_some_and(|hash| !hash.is_empty()), "{hash}: {main}");
        }

        namespace.patch_status(case.kind, "phi", &case.running).await;
        let deployment = namespace.until_phase("phi", "Running").await;
        let status = &deployment["status"];
        assert_eq!(status["endpoint"], json!({"service": case.service, "port": case.port}));
        assert_eq!(status["replicas"], json!({"desired": 1, "ready": 1, "available": 1}));
        assert_eq!(status["observedGeneration"], deployment["metadata"]["generation"]);
        let selector = status["selector"].as_str().unwrap_or_default();
        let scale = serde_json::to_value(namespace.api(DEPLOYMENT).get_scale("phi").await.unwrap()).unwrap();
        assert!(!selector.is_empty(), "{status}");
        assert_eq!(scale["status"], json!({"replicas": 1, "selector": selector}), "for an autoscaler");
        assert_eq!(condition(&deployment, "Ready").unwrap()["status"], "True");
        let created = condition(&deployment, "ResourceCreated").unwrap();
        assert_eq!(created["lastTransitionTime"], pending["lastTransitionTime"], "it did not change");
    })
    .await;
}

/// No two controllers own the same status field (OP-6.1).
#[tokio::test]
async fn each_field_of_status_has_one_manager() {
    with_each_provider("managers", async |namespace, case| {
        run(namespace, case).await;
        let deployment = namespace.get(DEPLOYMENT, "phi").await;
        let mut owners: Vec<(String, String)> = Vec::new();
        for entry in deployment["metadata"]["managedFields"].as_array().unwrap() {
            let manager = entry["manager"].as_str().unwrap();
            let Some(status) = entry["fieldsV1"].get("f:status") else { continue };
            assert_eq!((&entry["operation"], &entry["subresource"]), (&json!("Apply"), &json!("status")), "{manager}");
            let mut paths = Vec::new();
            leaves("", status, &mut paths);
            owners.extend(paths.into_iter().map(|path| (path, manager.to_owned())));
        }
        owners.sort();
        for pair in owners.windows(2) {
            assert_ne!(pair[0].0, pair[1].0, "{pair:?}");
        }
        let owner = |path: &str| owners.iter().find(|(found, _)| found == path).map(|(_, owner)| owner.as_str());
        let provider = format!("{}-provider", case.provider);
        assert_eq!(owner(".f:provider.f:name"), Some("provider-selector"), "{owners:?}");
        assert_eq!(owner(".f:provider.f:selectedReason"), Some("provider-selector"));
        assert_eq!(owner(".f:provider.f:resourceName"), Some(&*provider));
        assert_eq!(owner(".f:phase"), Some(&*provider));
        assert_eq!(owner(".f:endpoint.f:service"), Some(&*provider));
    })
    .await;
}

fn leaves(path: &str, fields: &Value, found: &mut Vec<String>) {
    match fields.as_object() {
        Some(map) if map.keys().any(|key| key != ".") => {
            for (key, value) in map.iter().filter(|(key, _)| *key != ".") {
                leaves(&format!("{path}.{key}"), value, found);
            }
        }
        _ => found.push(path.to_owned()),
    }
}

#[tokio::test]
async fn reports_failures_of_the_provider() {
    with_each_provider("failing", async |namespace, case| {
        run(namespace, case).await;
        let (status, phase, expected) = match case.provider {
            "kaito" => (
                json!({"state": "Failed", "conditions": [{
                    "type": "WorkspaceSucceeded", "status": "False", "reason": "workspaceFailed",
                    "message": "no such instance type", "lastTransitionTime": time(),
                }]}),
                "Failed",
                "no such instance type",
            ),
            "dynamo" => (
                json!({"state": "failed", "conditions": [{
                    "type": "Ready", "status": "False", "reason": "failed", "message": "insufficient GPUs",
                    "lastTransitionTime": time(),
                }]}),
                "Failed",
                "insufficient GPUs",
            ),
            _ => (
                json!({"conditions": [{
                    "type": "Ready", "status": "False", "reason": "ValidationFailed", "message": "a bad name",
                    "lastTransitionTime": time(),
                }]}),
                "Failed",
                "a bad name",
            ),
        };
        namespace.patch_status(case.kind, "phi", &status).await;
        let deployment = namespace.until_phase("phi", phase).await;
        let message = deployment["status"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
        let ready = condition(&deployment, "Ready").unwrap();
        assert_eq!(ready["status"], "False");
        let message = namespace.until_event("phi", "Warning", "ProviderError").await;
        assert!(message.starts_with("Provider resource in error state: ") && message.contains(expected), "{message}");
    })
    .await;
}

#[tokio::test]
async fn reports_a_stale_status() {
    with_each_provider("stale", async |namespace, case| {
        namespace.deploy("phi", &case.spec).await;
        namespace.until_exists(case.kind, "phi").await;
        let stale = namespace.until_condition("phi", "StaleStatus", "True").await;
        assert!(!stale["message"].as_str().unwrap_or_default().is_empty(), "{stale}");
        namespace.patch_status(case.kind, "phi", &case.running).await;
        namespace
            .until(DEPLOYMENT, "phi", "not stale any more", |deployment| {
                let stale = condition(deployment, "StaleStatus");
                let is_stale = stale.is_some_and(|condition| condition["status"] == "True");
                if is_stale { Err(deployment["status"].to_string()) } else { Ok(()) }
            })
            .await;
        // A running model never gets stale, while another one does that came later.
        namespace.deploy("later", &case.spec).await;
        namespace.until_condition("later", "StaleStatus", "True").await;
        until_handled(namespace, case).await;
        let deployment = namespace.get(DEPLOYMENT, "phi").await;
        let is_stale = condition(&deployment, "StaleStatus").is_some_and(|condition| condition["status"] == "True");
        assert!(!is_stale, "{}", deployment["status"]);
    })
    .await;
}

#[tokio::test]
async fn reports_a_missing_secret() {
    with_each_provider("secret", async |namespace, case| {
        let mut spec = case.spec.clone();
        spec["secrets"] = json!({"huggingFaceToken": "hf-token"});
        namespace.deploy("phi", &spec).await;
        let message = namespace.until_event("phi", "Warning", "SecretNotFound").await;
        assert_eq!(message, format!("Secret 'hf-token' not found in namespace '{}'", namespace.name));
        // The objects are applied all the same, because the Secret may be created later.
        namespace.until_exists(case.kind, "phi").await;
    })
    .await;
}

#[tokio::test]
async fn a_dry_run_writes_the_result_and_applies_nothing() {
    with_each_provider("dry", async |namespace, case| {
        let key = "kubefoundry.ai/dry-run";
        let object = json!({"metadata": {"name": "phi", "annotations": {key: "true"}}, "spec": case.spec});
        namespace.apply(DEPLOYMENT, &object).await.unwrap();
        let deployment = namespace
            .until(DEPLOYMENT, "phi", "rendered", |deployment| {
                let result = &deployment["metadata"]["annotations"]["kubefoundry.ai/dry-run-result"];
                if result.is_string() { Ok(()) } else { Err(deployment.to_string()) }
            })
            .await;
        let result = deployment["metadata"]["annotations"]["kubefoundry.ai/dry-run-result"].as_str().unwrap();
        assert!(result.contains(case.kind.kind) && result.contains("phi"), "{result}");
        namespace.operator().look_at(namespace, DEPLOYMENT, "phi", &[case.provider]).await;
        assert_eq!(namespace.find(case.kind, "phi").await, None);
        namespace.annotate(DEPLOYMENT, "phi", key, None).await;
        namespace.until_exists(case.kind, "phi").await;
        namespace
            .until(DEPLOYMENT, "phi", "without the result", |deployment| {
                let result = &deployment["metadata"]["annotations"]["kubefoundry.ai/dry-run-result"];
                if result.is_null() { Ok(()) } else { Err(result.to_string()) }
            })
            .await;
    })
    .await;
}
