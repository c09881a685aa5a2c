//! Rights and leases that are lost while the operator runs, and how it shows.

use serde_json::{Value, json};

use super::{LONG, SYSTEM, Scene, scene};
use crate::harness::cluster::{Namespace, condition, kinds};
use crate::harness::eventually;
use crate::harness::world::{self, deployment, text};

/// Removes the rules for an API group from a ClusterRole, and returns the rules as they were.
async fn take_rights(scene: &Scene, role: &str, is_taken: impl Fn(&Value) -> bool) -> Value {
    let before = scene.namespace.get(kinds::CLUSTER_ROLE, role).await["rules"].clone();
    let mut rules = before.clone();
    let count = rules.as_array().unwrap().len();
    rules.as_array_mut().unwrap().retain(|rule| !is_taken(rule));
    assert!(rules.as_array().unwrap().len() < count, "{before}");
    scene.namespace.merge(kinds::CLUSTER_ROLE, role, &json!({"rules": rules})).await;
    before
}

/// Waits until the configuration of a provider has a condition `Ready` with this reason, and returns its message.
async fn until_reason(scene: &Scene, provider: &str, reason: &str) -> String {
    let config = scene
        .namespace
        .until(kinds::PROVIDER_CONFIG, provider, &format!("Ready with the reason {reason}"), |config| {
            let ready = condition(config, "Ready").unwrap_or_default();
            let is_it = ready["reason"] == reason && config["status"]["ready"] == (reason == "Ready");
            if is_it { Ok(()) } else { Err(config["status"].to_string()) }
        })
        .await;
    text(&condition(&config, "Ready").unwrap(), "/message").to_owned()
}

/// Waits until the heartbeat of a provider is written again.
async fn until_another_heartbeat(scene: &Scene, provider: &str, number: usize) {
    let heartbeat = async || {
        let config = scene.namespace.get(kinds::PROVIDER_CONFIG, provider).await;
        text(&config, "/status/lastHeartbeat").to_owned()
    };
    let before = heartbeat().await;
    eventually(LONG, &format!("heartbeat {number} of {provider}"), async || match heartbeat().await {
        now if now == before => Err(now),
        _ => Ok(()),
    })
    .await;
}

/// A right that was lost is named by the provider's configuration, in a metric and in the log, and what follows from it
/// raises the alerts that are shipped.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_right_and_a_role_without_a_leader_are_seen() {
    let Some(scene) = scene("seen", &[], true).await else { return };
    let namespace = &scene.namespace;
    let options = scene.options.clone().flag("--finalizer-timeout", "10m");
    let mut operator = options.start_ready(&scene.plane, "seen").await;
    for provider in ["kaito", "dynamo", "kuberay"] {
        until_reason(&scene, provider, "Ready").await;
    }
    eventually(LONG, "the webhooks reachable", async || {
        let right = deployment(&namespace.name, 1);
        namespace.apply(kinds::DEPLOYMENT, &right).await.map_err(|error| error.to_string())
    })
    .await;
    scene.until_settled(&operator).await;
    eventually(LONG, "served", async || world::serve_all(namespace).await.map(drop)).await;
    scene.until_settled(&operator).await;
    // A healthy operator raises none. The ages of its heartbeats begin from zero meanwhile, several times.
    let heartbeats = async {
        for number in 0..5 {
            for provider in ["kaito", "dynamo", "kuberay"] {
                until_another_heartbeat(&scene, provider, number).await;
            }
        }
    };
    if let Some(firing) = crate::alerts::firing(&operator, heartbeats).await {
        assert!(firing.is_empty(), "{firing:?}\n{}", operator.metrics().await);
    }

    // The right is lost at runtime: the next heartbeat names it, and no new deployment gets the provider.
    let is_of_kaito = |rule: &Value| rule["apiGroups"] == json!(["kaito.sh"]);
    let before = take_rights(&scene, "kubefoundry-kaito", is_of_kaito).await;
    let message = until_reason(&scene, "kaito", "MissingRights").await;
    assert!(message.contains("list workspaces.kaito.sh"), "{message}");
    assert!(operator.metric("kubefoundry_missing_rights", &["provider=\"kaito\""]).await > 0.5);
    assert!(operator.metric("kubefoundry_missing_rights", &["provider=\"dynamo\""]).await < 0.5);
    let is_logged =
        |line: &str| line.contains("WARN") && line.contains("may not") && line.contains("workspaces.kaito.sh");
    assert!(operator.log().lines().any(is_logged), "{}", operator.end_of_log());
    // It is granted again.
    namespace.merge(kinds::CLUSTER_ROLE, "kubefoundry-kaito", &json!({"rules": before})).await;
    until_reason(&scene, "kaito", "Ready").await;

    // Without the right from the start, the watch does not come up, and a deployment waits for it.
    operator.terminate().await;
    take_rights(&scene, "kubefoundry-kaito", is_of_kaito).await;
    let status_of_configurations = |rule: &Value| rule["resources"] == json!(["inferenceproviderconfigs/status"]);
    // The rule of every provider, since one account has all of them here.
    for provider in ["kaito", "dynamo", "kuberay"] {
        take_rights(&scene, &format!("kubefoundry-{provider}"), status_of_configurations).await;
    }
    operator.restart();
    operator.until_ready().await;
    let one = |name: &'static str, label: &'static str, expected: f64| {
        let operator = &operator;
        async move {
            eventually(LONG, &format!("{name}{{{label}}} at {expected}"), async || {
                let text = operator.metrics().await;
                let line = text.lines().find(|line| line.starts_with(name) && line.contains(label));
                let value =
                    line.and_then(|line| line.rsplit_once(' ')).and_then(|(_, value)| value.parse::<f64>().ok());
                match value {
                    Some(value) if (value - expected).abs() < 0.5 => Ok(()),
                    other => Err(format!("{other:?}\n{text}\n{}", operator.end_of_log())),
                }
            })
            .await;
        }
    };
    one("kubefoundry_watch_up", "watch=\"workspaces.kaito.sh\"", 0.0).await;
    one("kubefoundry_watch_up", "watch=\"dynamographdeployments.nvidia.com\"", 1.0).await;
    one("kubefoundry_leader", "role=\"kuberay\"", 1.0).await;
    // Another process holds the lease of a role, and does not reconcile.
    let system = Namespace { client: scene.client.clone(), name: SYSTEM.to_owned() };
    let time = format!("{:.6}", k8s_openapi::jiff::Timestamp::now());
    let stolen = json!({"spec": {
        "holderIdentity": "a-thief", "leaseDurationSeconds": 100_000_000, "acquireTime": time, "renewTime": time,
    }});
    system.merge(kinds::LEASE, "kubefoundry-kuberay", &stolen).await;
    one("kubefoundry_leader", "role=\"kuberay\"", 0.0).await;
    let mut waits = deployment(&namespace.name, 0);
    waits["metadata"]["name"] = "waits".into();
    waits["spec"]["provider"] = json!({"name": "kaito"});
    namespace.apply(kinds::DEPLOYMENT, &waits).await.unwrap();
    eventually(LONG, "a wait that is counted", async || {
        let labels = ["provider=\"kaito\"", "error_type=\"waiting\""];
        match operator.metric("kubefoundry_reconciliation_errors_total", &labels).await {
            count if count > 0.5 => Ok(()),
            count => Err(format!("{count}\n{}", operator.end_of_log())),
        }
    })
    .await;
    // Invalid whatever the provider: the label is the operator's own.
    let mut wrong = deployment(&namespace.name, 1);
    wrong["metadata"] = json!({"name": "wrong", "labels": {"kubefoundry.ai/managed-by": "another-tool"}});
    let refuse = async {
        for _ in 0..8 {
            namespace.apply(kinds::DEPLOYMENT, &wrong).await.unwrap_err();
        }
    };
    let firing = crate::alerts::firing(&operator, refuse).await;
    assert!(operator.metric("kubefoundry_admission_requests_total", &["validate", "refused"]).await >= 8.0);
    assert!(operator.metric("kubefoundry_admission_duration_seconds_count", &["validate"]).await >= 8.0);
    let Some(firing) = firing else { return };
    for alert in [
        "KubefoundryNoLeader",
        "KubefoundryMissingRights",
        "KubefoundryWatchDown",
        "KubefoundryHeartbeatOld",
        "KubefoundryWaiting",
        "KubefoundryAdmissionRefusals",
        "ModelDeploymentNotRunning",
    ] {
        assert!(firing.contains(alert), "{alert} in {firing:?}\n{}", operator.metrics().await);
    }
    // On a busy machine the webhooks may be slow, and that alert right.
    for alert in ["KubefoundryAdmissionErrors", "KubefoundryConflicts", "ModelDeploymentFailed"] {
        assert!(!firing.contains(alert), "{alert} in {firing:?}\n{}", operator.metrics().await);
    }
}
