//! Observability and cost of the operator: metrics, health, logs, number of requests, and shutdown.

use std::time::Duration;

use crate::harness::cluster::kinds::{DEPLOYMENT, GRAPH, NAMESPACE};
use crate::harness::cluster::{Namespace, SOON};
use crate::harness::operator::{Operator, Options};
use crate::harness::world;
use crate::harness::{ControlPlane, crds, eventually};
use serde_json::{Value, json};

fn spec() -> Value {
    json!({"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}})
}

/// The resources whose requests are counted. Leases, heartbeats and events are left out.
const COUNTED_RESOURCES: [&str; 3] = ["modeldeployments", "dynamographdeployments", "secrets"];

/// The number of deployments.
const DEPLOYMENTS: u32 = 10;

const LONG: Duration = Duration::from_secs(90);

async fn count_requests(operator: &Operator) -> f64 {
    let mut sum = 0.0;
    for resource in COUNTED_RESOURCES {
        // Watches and lists serve all deployments together.
        for verb in ["get", "apply", "patch", "create", "update", "delete"] {
            let labels = [format!("verb=\"{verb}\""), format!("resource=\"{resource}")];
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            sum += operator.metric("kubefoundry_api_requests_total", &labels).await;
        }
    }
    sum
}

/// Waits until each controller has reconciled every deployment this many times.
async fn until_resyncs(operator: &Operator, number: u32) {
    let count = async |controller: &str| {
        let label = format!("provider=\"{controller}\"");
        operator.metric("kubefoundry_reconciliation_duration_seconds_count", &[&label]).await
    };
    let controllers = ["core", "selector", "dynamo"];
    let mut ends = Vec::new();
    for controller in controllers {
        ends.push(count(controller).await + f64::from(number * DEPLOYMENTS));
    }
    for (controller, end) in controllers.into_iter().zip(ends) {
        eventually(LONG, &format!("{number} resyncs of {controller}"), async || match count(controller).await {
            now if now >= end => Ok(()),
            now => Err(format!("{now} of {end}\n{}", operator.end_of_log())),
        })
        .await;
    }
}

#[tokio::test]
async fn reports_its_work_and_sends_few_requests() {
    let Some(plane) = ControlPlane::start().await else { return };
    let client = plane.admin().await;
    crds::install_own(&client).await;
    crds::install_upstream(&client).await;
    Namespace::create(&client, "kubefoundry-system").await;
    let models = Namespace::create(&client, "models").await;
    let options = Options::default().roles("core,selector,kaito,dynamo,kuberay").flag("--log-format", "json");
    let options = options.flag("--resync", "2s").flag("--stale-after", "5m");
    let mut operator = options.start_ready(&plane, "observed").await;

    let before = count_requests(&operator).await;
    for number in 0..DEPLOYMENTS {
        models.deploy(&format!("phi-{number}"), &spec()).await;
    }
    for number in 0..DEPLOYMENTS {
        models.until_condition(&format!("phi-{number}"), "ResourceCreated", "True").await;
    }
    let each = (count_requests(&operator).await - before) / f64::from(DEPLOYMENTS);
    assert!(
        each > 0.0 && each <= 10.0,
        "{each} requests for each deployment that is created\n{}",
        operator.metrics().await
    );

    // Without a change, resyncs send no request. The first ones find what was left to do.
    world::until_settled(&models, &[], &operator, LONG).await;
    until_resyncs(&operator, 2).await;
    let before = count_requests(&operator).await;
    until_resyncs(&operator, 3).await;
    let resyncs = count_requests(&operator).await - before;
    assert!(
        resyncs < 0.5,
        "{resyncs} requests for three resyncs of {DEPLOYMENTS} deployments\n{}",
        operator.metrics().await
    );

    let running = json!({"state": "successful", "observedGeneration": 1, "services": {"VllmWorker": {
        "componentKind": "Deployment", "componentName": "w", "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
        "availableReplicas": 1,
    }}});
    models.patch_status(GRAPH, "phi-0", &running).await;
    models.until_phase("phi-0", "Running").await;
    let sample = async |name: &str, labels: &[&str], expected: f64| {
        eventually(SOON, &format!("{name} {labels:?} {expected}"), async || {
            let value = operator.metric(name, labels).await;
            if (value - expected).abs() < 0.5 { Ok(()) } else { Err(format!("{value}\n{}", operator.metrics().await)) }
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
    sample("kubefoundry_provider_selection", &[r#"provider="dynamo""#, reason], f64::from(DEPLOYMENTS)).await;
    let reconciled =
        operator.metric("kubefoundry_reconciliation_duration_seconds_count", &[r#"provider="dynamo""#]).await;
    assert!(reconciled >= 10.0, "{reconciled}");
    let text = operator.metrics().await;
    // The type and the buckets of a histogram.
    assert!(text.contains("# TYPE kubefoundry_reconciliation_duration_seconds histogram"), "{text}");
    assert!(text.contains("kubefoundry_reconciliation_duration_seconds_bucket{provider=\"dynamo\",le="), "{text}");

    // A deleted deployment has no series.
    models.delete(DEPLOYMENT, "phi-0").await;
    models.until_gone(DEPLOYMENT, "phi-0").await;
    sample("kubefoundry_deployment_phase", &[here, r#"name="phi-0""#], 0.0).await;

    let logs = operator.log();
    assert!(!logs.is_empty());
    for line in logs.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(line.is_object());
    }
    // SIGTERM ends the process cleanly.
    assert_eq!(operator.terminate().await, Some(0), "{}", operator.end_of_log());
}

/// A deployment whose provider reports ever new errors does not fill the namespace with events.
#[tokio::test(flavor = "multi_thread")]
async fn events_about_a_flapping_deployment_are_combined() {
    let Some(plane) = ControlPlane::start().await else { return };
    let client = plane.admin().await;
    crds::install_own(&client).await;
    crds::install_upstream(&client).await;
    Namespace::create(&client, "kubefoundry-system").await;
    let models = Namespace::create(&client, "flaps").await;
    let options = Options::default().roles("core,selector,dynamo").flag("--stale-after", "5m");
    let operator = options.start_ready(&plane, "flaps").await;
    models.deploy("phi", &spec()).await;
    models.until_condition("phi", "ResourceCreated", "True").await;
    for number in 0..40 {
        let error = format!("worker {number} ran out of memory");
        let failed = json!({"state": "failed", "observedGeneration": 1, "conditions": [{
            "type": "Ready", "status": "False", "reason": "Failed", "message": error,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]});
        models.patch_status(GRAPH, "phi", &failed).await;
        models
            .until(DEPLOYMENT, "phi", &error, |deployment| {
                let message = deployment["status"]["message"].as_str().unwrap_or_default();
                if message.contains(&error) { Ok(()) } else { Err(deployment["status"].to_string()) }
            })
            .await;
    }
    let events = models.events("phi").await;
    let errors: Vec<&(String, String, String)> = events.iter().filter(|event| event.1 == "ProviderError").collect();
    let combined = errors.iter().filter(|event| event.2.starts_with("(combined from similar events): ")).count();
    assert_eq!((errors.len(), combined), (10, 1), "{errors:#?}\n{}", operator.end_of_log());
    // The bucket of the object: at most 25 in all, the first ones about its creation included.
    let all = world::count_events(&models, "phi", "ProviderError").await;
    assert!((15..=25).contains(&all), "{all}");
}

/// A namespace that is deleted takes its deployments with it. What the apiserver refuses meanwhile is not an error.
#[tokio::test(flavor = "multi_thread")]
async fn the_deletion_of_a_namespace_is_no_error() {
    let Some(plane) = ControlPlane::start().await else { return };
    let client = plane.admin().await;
    crds::install_own(&client).await;
    crds::install_upstream(&client).await;
    Namespace::create(&client, "kubefoundry-system").await;
    let models = Namespace::create(&client, "leaving").await;
    let options = Options::default().roles("core,selector,kaito,dynamo,kuberay").flag("--stale-after", "5m");
    let operator = options.start_ready(&plane, "leaving").await;
    let deployments: Vec<Value> = (0..40).map(|number| world::deployment(&models.name, number)).collect();
    world::apply_all(&models, &deployments).await;
    world::until_settled(&models, &[], &operator, LONG).await;
    models.delete(NAMESPACE, "leaving").await;
    // The namespace itself waits for what other controllers protect, such as claims.
    eventually(LONG, "all deployments gone", async || match models.list(DEPLOYMENT).await.len() {
        0 => Ok(()),
        left => Err(format!("{left} left\n{}", operator.end_of_log())),
    })
    .await;
    let errors = operator.metric("kubefoundry_reconciliation_errors_total", &["error_type=\"forbidden\""]).await;
    let warned: Vec<String> = operator.log().lines().filter(|line| line.contains("WARN")).map(str::to_owned).collect();
    let about_it = warned.iter().filter(|line| line.contains("being terminated")).count();
    assert!(errors < 0.5 && about_it == 0, "{errors} errors, {about_it} warnings of {}: {warned:#?}", warned.len());
}

/// Status fields that another client wrote are taken back, which a metric counts.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_writer_of_the_status_is_counted() {
    let Some(plane) = ControlPlane::start().await else { return };
    let client = plane.admin().await;
    crds::install_own(&client).await;
    crds::install_upstream(&client).await;
    Namespace::create(&client, "kubefoundry-system").await;
    let models = Namespace::create(&client, "foreign").await;
    let options = Options::default().roles("core,selector,dynamo").flag("--stale-after", "5m");
    let operator = options.start_ready(&plane, "foreign").await;
    models.deploy("phi", &spec()).await;
    models.until_condition("phi", "ResourceCreated", "True").await;
    models.patch_status(DEPLOYMENT, "phi", &json!({"phase": "Failed", "message": "by hand"})).await;
    eventually(SOON, "a takeover that is counted", async || {
        match operator.metric("kubefoundry_status_takeovers_total", &["provider=\"dynamo\""]).await {
            count if count > 0.5 => Ok(()),
            count => Err(format!("{count}\n{}", operator.end_of_log())),
        }
    })
    .await;
}
