//! The operator in clusters without some CRDs, providers or roles, and with two API groups.

use crate::harness::cluster::kinds::{AIRUNWAY_DEPLOYMENT, DEPLOYMENT, GRAPH, PROVIDER_CONFIG, RAY_SERVICE, WORKSPACE};
use crate::harness::cluster::{Kind, Namespace, SOON, condition, uid};
use crate::harness::operator::Options;
use crate::harness::{ControlPlane, crds, eventually};
use serde_json::{Value, json};

fn with_kaito() -> Value {
    json!({
        "model": {"id": "microsoft/Phi-4-mini-instruct"},
        "provider": {"name": "kaito", "overrides": {"instanceType": "Standard_NC24ads_A100_v4"}},
        "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}},
    })
}

fn without_provider() -> Value {
    json!({"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}})
}

async fn cluster(plane: &ControlPlane) -> Namespace {
    let client = plane.admin().await;
    crds::install_own(&client).await;
    Namespace::create(&client, "kubefoundry-system").await;
    Namespace::create(&client, "models").await
}

#[tokio::test]
async fn a_provider_whose_crd_is_missing_waits_for_it() {
    let Some(plane) = ControlPlane::start_in_group("roles").await else { return };
    let models = cluster(&plane).await;
    let client = models.client.clone();
    let operator = Options::default().roles("core,selector,kaito,dynamo,kuberay").start_ready(&plane, "missing").await;
    let expected = "Provider 'kaito' CRD not installed in cluster";

    models.deploy("phi", &with_kaito()).await;
    let missing = models.until_condition("phi", "ProviderCompatible", "False").await;
    assert!(missing["message"].as_str().unwrap().contains(expected), "{missing}");
    let deployment = models.until_phase("phi", "Pending").await;
    assert!(deployment["status"]["message"].as_str().unwrap().contains(expected), "{}", deployment["status"]);
    let config = models
        .until(PROVIDER_CONFIG, "kaito", "registered", |config| {
            if config["status"]["ready"] == false { Ok(()) } else { Err(config.to_string()) }
        })
        .await;
    assert!(config["status"]["lastHeartbeat"].is_string(), "{config}");
    let ready = condition(&config, "Ready").unwrap_or_default();
    assert_eq!((&ready["status"], &ready["reason"]), (&json!("False"), &json!("CRDNotInstalled")), "{config}");
    let is_warning = |line: &str| line.contains("WARN") && line.contains("CRDNotInstalled") && line.contains("kaito");
    assert!(operator.log().lines().any(is_warning), "{}", operator.end_of_log());

    crds::install(&client, crds::KAITO).await;
    let first = models.until_exists(WORKSPACE, "phi").await;
    models.until_condition("phi", "ProviderCompatible", "True").await;
    let config = models
        .until(PROVIDER_CONFIG, "kaito", "ready", |config| {
            if config["status"]["ready"] == true { Ok(()) } else { Err(config.to_string()) }
        })
        .await;
    assert_eq!(condition(&config, "Ready").unwrap()["status"], "True", "{config}");
    assert_eq!(config["status"]["upstreamCRDVersion"], "kaito.sh/v1beta1");
    assert!(config["status"]["upstreamSchemaHash"].as_str().is_some_and(|hash| hash.len() >= 16), "{config}");
    assert!(config["status"]["version"].as_str().is_some_and(|version| version.contains("kaito")), "{config}");

    // Its objects are deleted with the CRD.
    crds::remove(&client, "workspaces.kaito.sh").await;
    models
        .until(DEPLOYMENT, "phi", "without CRD", |deployment| {
            let compatible = condition(deployment, "ProviderCompatible").unwrap_or_default();
            if compatible["status"] == "False" { Ok(()) } else { Err(deployment["status"].to_string()) }
        })
        .await;
    crds::install(&client, crds::KAITO).await;
    let second = models.until_exists(WORKSPACE, "phi").await;
    assert_ne!(uid(&first), uid(&second));
    drop(operator);
}

/// An upgrade of a CRD takes effect without a restart.
#[tokio::test]
async fn the_crd_of_a_provider_is_upgraded_at_runtime() {
    let Some(plane) = ControlPlane::start_in_group("roles").await else { return };
    let models = cluster(&plane).await;
    let client = models.client.clone();
    crds::install(&client, crds::OLDEST_DYNAMO).await;
    let operator = Options::default().roles("core,selector,dynamo").start_ready(&plane, "upgraded").await;
    let fingerprint = async |unlike: Option<&str>| {
        let config = models
            .until(PROVIDER_CONFIG, "dynamo", "with another fingerprint", |config| {
                let found = config["status"]["upstreamSchemaHash"].as_str();
                let is_other = found.is_some() && found != unlike;
                if is_other { Ok(()) } else { Err(config["status"].to_string()) }
            })
            .await;
        config["status"]["upstreamSchemaHash"].as_str().unwrap().to_owned()
    };
    let before = fingerprint(None).await;
    crds::install(&client, crds::DYNAMO).await;
    fingerprint(Some(&before)).await;
    models.deploy("phi", &without_provider()).await;
    models.until_exists(GRAPH, "phi").await;
    drop(operator);
}

#[tokio::test]
async fn roles_run_in_separate_processes() {
    let Some(plane) = ControlPlane::start_in_group("roles").await else { return };
    let models = cluster(&plane).await;
    crds::install_upstream(&models.client).await;

    // Core alone reports that no selector runs.
    let options = Options::default().flag("--heartbeat-timeout", "10s");
    let core = options.clone().roles("core").start_ready(&plane, "roles-core").await;
    models.deploy("phi", &without_provider()).await;
    let deployment = models.until_phase("phi", "Pending").await;
    let message = deployment["status"]["message"].as_str().unwrap();
    assert!(message.contains("No provider specified and provider-selector not installed"), "{message}");
    // A deployment that names its provider needs that provider, but no selector.
    models.deploy("named", &with_kaito()).await;
    let deployment = models.until_phase("named", "Pending").await;
    let message = deployment["status"]["message"].as_str().unwrap();
    assert!(message.contains("there is no provider \"kaito\", and no other provider is known"), "{message}");
    let mut kaito = Options::default().roles("kaito").start_ready(&plane, "roles-kaito").await;
    models.until_exists(WORKSPACE, "named").await;

    // A selector without a provider for this deployment.
    let selector = options.roles("selector").start_ready(&plane, "roles-selector").await;
    let selected = models.until_condition("phi", "ProviderSelected", "False").await;
    assert!(!selected["message"].as_str().unwrap().is_empty(), "{selected}");

    // A new provider is selected at once.
    let mut dynamo = Options::default().roles("dynamo").start_ready(&plane, "roles-dynamo").await;
    models.until_exists(GRAPH, "phi").await;
    assert_eq!(models.list(WORKSPACE).await.len(), 1);

    // Providers without a heartbeat are not selected.
    dynamo.kill().await;
    kaito.kill().await;
    for operator in [&core, &selector] {
        eventually(SOON, "no selectable provider", async || {
            let log = operator.log();
            match log.lines().rfind(|line| line.contains("selectable providers changed")) {
                Some(last) if last.contains("providers=\"\"") => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }
    models.deploy("late", &without_provider()).await;
    let selected = models.until_condition("late", "ProviderSelected", "False").await;
    assert!(selected["message"].as_str().unwrap().contains("No healthy providers available"), "{selected}");
    models
        .until(DEPLOYMENT, "late", "Pending with the reason", |deployment| {
            let status = &deployment["status"];
            let is_told = status["message"].as_str().is_some_and(|it| it.contains("No healthy providers available"));
            if status["phase"] == "Pending" && is_told { Ok(()) } else { Err(status.to_string()) }
        })
        .await;
    // An earlier selection stays.
    let deployment = models.get(DEPLOYMENT, "phi").await;
    assert_eq!(deployment["status"]["provider"]["name"], "dynamo");
    dynamo.restart();
    models.until_exists(GRAPH, "late").await;
    drop((core, selector));
}

#[tokio::test]
async fn serves_both_groups_if_both_are_configured() {
    let Some(plane) = ControlPlane::start_in_group("roles").await else { return };
    let models = cluster(&plane).await;
    crds::install_upstream(&models.client).await;
    let options = Options::default().roles("core,selector,kaito,dynamo,kuberay");
    let mut one = options.start_ready(&plane, "groups-one").await;
    let other = json!({"metadata": {"name": "second-group"}, "spec": without_provider()});
    models.apply(AIRUNWAY_DEPLOYMENT, &other).await.unwrap();
    models.deploy("first-group", &without_provider()).await;
    models.until_exists(GRAPH, "first-group").await;
    // Without a watch of the second group, it can do nothing about it.
    let metrics = one.metrics().await;
    let is_watched = |kind: Kind| metrics.contains(&format!("watch=\"{}\"", kind.watch()));
    assert!(is_watched(DEPLOYMENT) && !is_watched(AIRUNWAY_DEPLOYMENT), "{metrics}");
    assert_eq!(one.terminate().await, Some(0), "{}", one.end_of_log());
    let deployment = models.get(AIRUNWAY_DEPLOYMENT, "second-group").await;
    assert!(deployment["status"].is_null(), "{}", deployment["status"]);

    let two = options.flag("--groups", "kubefoundry.ai,kubeairunway.ai").start_ready(&plane, "groups-two").await;
    let graph = models.until_exists(GRAPH, "second-group").await;
    assert_eq!(graph["metadata"]["ownerReferences"][0]["apiVersion"], "kubeairunway.ai/v1alpha1");
    assert!(graph["metadata"]["annotations"]["kubeairunway.ai/identity-hash"].is_string(), "{graph}");
    let deployment = models
        .until(AIRUNWAY_DEPLOYMENT, "second-group", "created", |deployment| {
            let created = condition(deployment, "ResourceCreated").unwrap_or_default();
            if created["status"] == "True" { Ok(()) } else { Err(deployment["status"].to_string()) }
        })
        .await;
    assert_eq!(deployment["metadata"]["finalizers"], json!(["kubeairunway.ai/dynamo-provider"]));
    models.delete(AIRUNWAY_DEPLOYMENT, "second-group").await;
    models.until_gone(AIRUNWAY_DEPLOYMENT, "second-group").await;
    assert_eq!(models.find(GRAPH, "second-group").await, None);
    assert!(models.find(GRAPH, "first-group").await.is_some());
    assert_eq!(models.list(RAY_SERVICE).await, Vec::<Value>::new());
    drop(two);
}
