//! What the operator lets others see of itself, and what it costs: metrics, health, logs, requests, its end.

use std::time::Duration;

use crate::harness::cluster::kinds::{DEPLOYMENT, GRAPH};
use crate::harness::cluster::{Namespace, SOON};
use crate::harness::operator::{Operator, Options};
use crate::harness::{ControlPlane, crds, eventually};
use serde_json::{Value, json};

fn spec() -> Value {
    json!({"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}})
}

/// The resources that a deployment's own reconciliations may ask for. Leases, heartbeats and events are left out.
const OWN: [&str; 3] = ["modeldeployments", "dynamographdeployments", "secrets"];

/// So many deployments.
const NUMBER: u32 = 10;

async fn requests(operator: &Operator) -> f64 {
    let mut sum = 0.0;
    for resource in OWN {
        // Watches and lists are there for all of them.
        for verb in ["get", "apply", "patch", "create", "update", "delete"] {
            let labels = [format!("verb=\"{verb}\""), format!("resource=\"{resource}")];
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            sum += operator.metric("kubefoundry_api_requests_total", &labels).await;
        }
    }
    sum
}

#[tokio::test]
async fn what_it_does_can_be_seen_and_costs_little() {
    let Some(plane) = ControlPlane::start().await else { return };
    let client = plane.admin().await;
    crds::install_ours(&client).await;
    crds::install_upstream(&client).await;
    Namespace::create(&client, "kubefoundry-system").await;
    let models = Namespace::create(&client, "models").await;
    let options = Options::default().roles("core,selector,kaito,dynamo,kuberay").flag("--log-format", "json");
    let options = options.flag("--resync", "2s").flag("--stale-after", "5m");
    let mut operator = options.start_ready(&plane, "observed").await;

    let before = requests(&operator).await;
    for number in 0..NUMBER {
        models.deploy(&format!("phi-{number}"), &spec()).await;
    }
    for number in 0..NUMBER {
        models.until_condition(&format!("phi-{number}"), "ResourceCreated", "True").await;
    }
    let each = (requests(&operator).await - before) / f64::from(NUMBER);
    assert!(
        each > 0.0 && each <= 10.0,
        "{each} requests for each deployment that is created\n{}",
        operator.metrics().await
    );

    // Nothing happens: nothing is asked.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = requests(&operator).await;
    tokio::time::sleep(Duration::from_secs(7)).await;
    let resyncs = requests(&operator).await - before;
    assert!(resyncs < 0.5, "{resyncs} requests for three looks at {NUMBER} deployments\n{}", operator.metrics().await);

    let running = json!({"state": "successful", "observedGeneration": 1, "services": {"VllmWorker": {
        "componentKind": "Deployment", "componentName": "w", "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
        "availableReplicas": 1,
    }}});
    models.patch_status(GRAPH, "phi-0", &running).await;
    models.until_phase("phi-0", "Running").await;
    let sample = async |name: &str, labels: &[&str], expected: f64| {
        eventually(SOON, &format!("{name} {labels:?} {expected}"), async || {
            let found = operator.metric(name, labels).await;
            if (found - expected).abs() < 0.5 { Ok(()) } else { Err(format!("{found}\n{}", operator.metrics().await)) }
        })
        .await;
    };
    let here = r#"namespace="models""#;
    sample("kubefoundry_modeldeployment_total", &[here, r#"phase="Running""#], 1.0).await;
    sample("kubefoundry_deployment_phase", &[here, r#"name="phi-0""#, r#"phase="Running""#], 1.0).await;
    sample("kubefoundry_deployment_phase", &[here, r#"name="phi-0""#], 1.0).await;
    for state in ["desired", "ready", "available"] {
        let state = format!("state=\"{state}\"");
        sample("kubefoundry_deployment_replicas", &[here, r#"name="phi-0""#, &state], 1.0).await;
    }
    let reason = r#"reason="default → dynamo (GPU inference default)""#;
    sample("kubefoundry_provider_selection", &[r#"provider="dynamo""#, reason], f64::from(NUMBER)).await;
    let reconciled =
        operator.metric("kubefoundry_reconciliation_duration_seconds_count", &[r#"provider="dynamo""#]).await;
    assert!(reconciled >= 10.0, "{reconciled}");
    let text = operator.metrics().await;
    // The buckets, and what Prometheus knows a histogram by.
    assert!(text.contains("# TYPE kubefoundry_reconciliation_duration_seconds histogram"), "{text}");
    assert!(text.contains("kubefoundry_reconciliation_duration_seconds_bucket{provider=\"dynamo\",le="), "{text}");

    // What is gone is counted no more.
    models.delete(DEPLOYMENT, "phi-0").await;
    models.until_gone(DEPLOYMENT, "phi-0").await;
    sample("kubefoundry_deployment_phase", &[here, r#"name="phi-0""#], 0.0).await;

    let logs = operator.log();
    assert!(!logs.is_empty());
    for line in logs.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(line.is_object());
    }
    // It ends when it is asked to, and without haste.
    assert_eq!(operator.terminate().await, Some(0), "{}", operator.end_of_log());
}
