//! Selection of providers, allow lists, and invalid specifications.

use serde_json::{Value, json};

use super::cases::{assert_owned, cases, namespace, run, until_handled};
use crate::harness::cluster::kinds::{DEPLOYMENT, GRAPH, NAMESPACE, PROVIDER_CONFIG, RAY_SERVICE, WORKSPACE};
use crate::harness::cluster::{Namespace, SOON, expect_text, uid};
use crate::harness::eventually;
use crate::harness::render::provider_with;

#[tokio::test]
async fn a_deployment_moves_from_one_provider_to_another_and_back() {
    let Some(namespace) = namespace("migration").await else { return };
    let cases = cases();
    let (dynamo, kuberay) = (&cases[1], &cases[2]);
    run(&namespace, dynamo).await;
    for (from, to) in [(dynamo, kuberay), (kuberay, dynamo)] {
        namespace.merge(DEPLOYMENT, "phi", &json!({"spec": {"provider": {"name": to.provider}}})).await;
        let main = namespace.until_exists(to.kind, "phi").await;
        assert_eq!(namespace.find(from.kind, "phi").await, None, "never two");
        let deployment = namespace
            .until(DEPLOYMENT, "phi", "moved", |deployment| {
                let status = &deployment["status"];
                expect_text(&status["provider"]["name"], to.provider)?;
                expect_text(&status["provider"]["resourceKind"], to.kind.kind).map_err(|_| status.to_string())
            })
            .await;
        assert_owned(&main, &deployment);
        namespace
            .until(DEPLOYMENT, "phi", "with one finalizer", |deployment| {
                let expected = json!([format!("kubefoundry.ai/{}-provider", to.provider)]);
                let found = &deployment["metadata"]["finalizers"];
                if *found == expected { Ok(()) } else { Err(found.to_string()) }
            })
            .await;
        namespace.patch_status(to.kind, "phi", &to.running).await;
        let deployment = namespace.until_phase("phi", "Running").await;
        assert_eq!(deployment["status"]["endpoint"], json!({"service": to.service, "port": to.port}));
    }
}

/// A selection stays, even if the selection rules would now choose another provider (OP-2.3).
#[tokio::test]
async fn a_selection_stays() {
    let Some(namespace) = namespace("sticky").await else { return };
    let spec = json!({
        "model": {"id": "org/phi-gguf"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}},
    });
    namespace.deploy("phi", &spec).await;
    let before = namespace.until_exists(GRAPH, "phi").await;
    namespace.annotate(DEPLOYMENT, "phi", "example.com/touched", Some("1")).await;
    namespace.merge(DEPLOYMENT, "phi", &json!({"spec": {"resources": {"memory": "64Gi"}}})).await;
    let after = namespace
        .until(GRAPH, "phi", "with more memory", |main| {
            let found = main.to_string();
            if found.contains("64Gi") { Ok(()) } else { Err(found) }
        })
        .await;
    assert_eq!(uid(&after), uid(&before));
    let deployment = namespace.get(DEPLOYMENT, "phi").await;
    assert_eq!(deployment["status"]["provider"]["name"], "dynamo");
    assert_eq!(
        namespace.events("phi").await.iter().filter(|event| event.1 == "ProviderSelected").count(),
        1,
        "it is selected once"
    );
}

/// The API server adds the defaults of the CRD before the operator reads an object, and the command line reads what was
/// written. `has()` must be true for the same fields in both.
#[tokio::test]
async fn has_gives_the_verdict_of_the_command_line() {
    let Some(namespace) = namespace("has").await else { return };
    // Other tests share the cluster, so the rules are limited to the names of this one.
    let rule = |path: &str, priority: i32| {
        let name = path.rsplit('.').next().unwrap().to_lowercase();
        json!({"condition": format!("metadata.name.startsWith('has-{name}-') && has(spec.{path})"), "priority": priority})
    };
    let paths = ["serving.mode", "model.source", "engine.trustRemoteCode", "engine.contextLength", "scaling.replicas"];
    let rules: Vec<Value> = paths.into_iter().zip(1000..).map(|(path, priority)| rule(path, priority)).collect();
    let spec = json!({
        "capabilities": {"engines": ["vllm"], "servingModes": ["aggregated"], "gpuSupport": true},
        "selectionRules": rules,
    });
    let _alive = namespace.register("has", &spec).await;
    let config = json!({
        "apiVersion": PROVIDER_CONFIG.api_version, "kind": PROVIDER_CONFIG.kind, "metadata": {"name": "has"}, "spec": spec,
    });
    until_rules_apply(&namespace).await;
    let mut selected = Vec::new();
    for path in paths {
        let (parent, field) = path.split_once('.').unwrap();
        // The field written, only its parent written, and neither.
        let value = match field {
            "mode" => json!("aggregated"),
            "source" => json!("huggingface"),
            "trustRemoteCode" => json!(false),
            _ => json!(1),
        };
        for (case, part) in [("field", json!({field: value})), ("parent", json!({})), ("none", Value::Null)] {
            let mut spec = json!({
                "model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}},
            });
            if let Value::Object(part) = part {
                let written = spec.as_object_mut().unwrap().entry(parent).or_insert_with(|| json!({}));
                written.as_object_mut().unwrap().extend(part);
            }
            let name = format!("has-{}-{case}", field.to_lowercase());
            let deployment = json!({
                "apiVersion": DEPLOYMENT.api_version, "kind": DEPLOYMENT.kind,
                "metadata": {"name": name, "namespace": namespace.name}, "spec": spec,
            });
            let expected = provider_with(&config, &deployment);
            namespace.deploy(&name, &spec).await;
            namespace
                .until(DEPLOYMENT, &name, "selected as on the command line", |deployment| {
                    expect_text(&deployment["status"]["provider"]["name"], &expected)
                        .map_err(|_| deployment["status"].to_string())
                })
                .await;
            selected.push((name, expected));
        }
    }
    let by_rule = selected.iter().filter(|(_, provider)| provider == "has").count();
    assert!((paths.len()..selected.len()).contains(&by_rule), "the rules decide nothing: {selected:?}");
    namespace.delete(PROVIDER_CONFIG, "has").await;
}

/// Waits until the operator selects by the rules of `has`. A selection stays, so each attempt is another deployment.
async fn until_rules_apply(namespace: &Namespace) {
    let spec = json!({
        "model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}},
        "serving": {"mode": "aggregated"},
    });
    let mut attempts = 0;
    eventually(SOON, "a selection by the rules", async || {
        attempts += 1;
        let name = format!("has-mode-attempt-{attempts}");
        namespace.deploy(&name, &spec).await;
        let deployment = namespace
            .until(DEPLOYMENT, &name, "selected", |deployment| {
                let provider = &deployment["status"]["provider"]["name"];
                if provider.is_string() { Ok(()) } else { Err(deployment["status"].to_string()) }
            })
            .await;
        expect_text(&deployment["status"]["provider"]["name"], "has")
    })
    .await;
}

#[tokio::test]
async fn a_deployment_of_a_third_party_is_not_touched() {
    let Some(namespace) = namespace("third-party").await else { return };
    let capabilities =
        json!({"engines": ["vllm"], "servingModes": ["aggregated"], "gpuSupport": true, "cpuSupport": true});
    let _alive = namespace.register("acme", &json!({"capabilities": capabilities})).await;
    let spec = json!({
        "model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}},
        "provider": {"name": "acme"},
    });
    namespace.deploy("phi", &spec).await;
    namespace
        .until(DEPLOYMENT, "phi", "selected", |deployment| {
            expect_text(&deployment["status"]["provider"]["name"], "acme").map_err(|_| deployment["status"].to_string())
        })
        .await;
    // The third party's controller writes the rest of the status without a conflict.
    let patch = kube::api::Patch::Apply(json!({
        "apiVersion": DEPLOYMENT.api_version, "kind": "ModelDeployment", "metadata": {"name": "phi"},
        "status": {"phase": "Running", "message": "it runs", "provider": {"resourceName": "phi", "resourceKind": "AcmeModel"}},
    }));
    eventually(SOON, "no conflict", async || {
        let parameters = kube::api::PatchParams::apply("acme-provider");
        let applied = namespace.api(DEPLOYMENT).patch_status("phi", &parameters, &patch).await;
        applied.map(|_| ()).map_err(|error| error.to_string())
    })
    .await;
    namespace.operator().look_at(&namespace, DEPLOYMENT, "phi", &["core", "selector"]).await;
    let deployment = namespace.get(DEPLOYMENT, "phi").await;
    let (status, finalizers) = (&deployment["status"], &deployment["metadata"]["finalizers"]);
    assert_eq!((&status["phase"], &status["message"]), (&json!("Running"), &json!("it runs")), "{status}");
    assert!(finalizers.is_null(), "{finalizers}");
    for kind in [WORKSPACE, GRAPH, RAY_SERVICE] {
        assert_eq!(namespace.list(kind).await, Vec::<Value>::new());
    }
    namespace.delete(DEPLOYMENT, "phi").await;
    namespace.until_gone(DEPLOYMENT, "phi").await;
}

#[tokio::test]
async fn a_namespace_restricts_providers() {
    let Some(namespace) = namespace("allowed").await else { return };
    let key = "kubefoundry.ai/allowed-providers";
    let allowed = namespace.annotate(NAMESPACE, "allowed", key, Some("kaito")).await;
    // Namespaces and deployments have separate watches, so the annotation may arrive later.
    namespace.operator().until_delivered(&NAMESPACE.watch(), &allowed).await;
    let case = &cases()[2];
    namespace.deploy("phi", &case.spec).await;
    let deployment = namespace.until_phase("phi", "Pending").await;
    let status = &deployment["status"];
    assert!(status["message"].as_str().unwrap().contains("kuberay"), "{status}");
    // No provider is chosen, and so none looks at it.
    namespace.operator().look_at(&namespace, DEPLOYMENT, "phi", &["core", "selector"]).await;
    let deployment = namespace.get(DEPLOYMENT, "phi").await;
    assert!(deployment["status"]["provider"]["name"].is_null(), "{}", deployment["status"]);
    assert_eq!(namespace.find(case.kind, "phi").await, None);
    namespace.annotate(NAMESPACE, "allowed", key, Some("kaito, kuberay")).await;
    namespace.until_exists(case.kind, "phi").await;
}

/// Without the webhook, an invalid deployment is stored, and waits with its errors in the status (OP-7.3).
#[tokio::test]
async fn an_invalid_deployment_waits_until_it_is_corrected() {
    let Some(namespace) = namespace("invalid").await else { return };
    let case = &cases()[0];
    let mut spec = case.spec.clone();
    spec["provider"]["overrides"] = json!({"instanceType": "NC24 ads", "workload": "Deployment"});
    namespace.deploy("phi", &spec).await;
    let expected = [
        "spec.provider.overrides.instanceType is \"NC24 ads\", expected an instance type",
        "spec.provider.overrides.workload is \"Deployment\", expected one of auto, Workspace, InferenceSet",
    ];
    let deployment = namespace
        .until(DEPLOYMENT, "phi", "Pending with both messages", |deployment| {
            let status = &deployment["status"];
            let message = status["message"].as_str().unwrap_or_default();
            let has_all = status["phase"] == "Pending" && expected.iter().all(|one| message.contains(one));
            if has_all { Ok(()) } else { Err(status.to_string()) }
        })
        .await;
    let conditions = deployment["status"]["conditions"].as_array().unwrap();
    let failed = conditions.iter().find(|condition| {
        let is_relevant = condition["type"] == "Validated" || condition["type"] == "ProviderCompatible";
        is_relevant && condition["status"] == "False"
    });
    let message = failed.unwrap()["message"].as_str().unwrap();
    assert!(expected.iter().all(|one| message.contains(one)), "{failed:?}");
    assert_eq!(namespace.find(WORKSPACE, "phi").await, None);
    namespace.deploy("phi", &case.spec).await;
    namespace.until_exists(WORKSPACE, "phi").await;
    namespace.until_condition("phi", "Validated", "True").await;
    namespace.until_condition("phi", "ProviderCompatible", "True").await;
    namespace.patch_status(WORKSPACE, "phi", &case.running).await;
    namespace.until_phase("phi", "Running").await;
}

/// A running model keeps running when its specification becomes invalid, and the status has the errors.
#[tokio::test]
async fn an_invalid_change_keeps_the_running_model() {
    let Some(namespace) = namespace("invalid-later").await else { return };
    let case = &cases()[0];
    let before = run(&namespace, case).await;
    let patch = json!({"spec": {"provider": {"overrides": {"workload": "Deployment"}}}});
    namespace.merge(DEPLOYMENT, "phi", &patch).await;
    let deployment = namespace
        .until(DEPLOYMENT, "phi", "with the mistake", |deployment| {
            let status = deployment["status"].to_string();
            if status.contains("expected one of auto, Workspace, InferenceSet") { Ok(()) } else { Err(status) }
        })
        .await;
    assert!(!deployment["status"]["message"].is_null());
    until_handled(&namespace, case).await;
    assert_eq!(uid(&namespace.get(case.kind, "phi").await), uid(&before));
}
