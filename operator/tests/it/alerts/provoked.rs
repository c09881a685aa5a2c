//! Alerts of an operator on a cluster in which other parts fail. Lost rights and leases are in `rbac.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::firing;
use crate::harness::cluster::{Kind, Namespace, condition, kinds};
use crate::harness::operator::{Operator, Options};
use crate::harness::proxy::Proxy;
use crate::harness::world::{self, deployment, text};
use crate::harness::{ControlPlane, crds, eventually, free_port, webhooks};

const LONG: Duration = Duration::from_secs(90);
const ERRORS: &str = "kubefoundry_reconciliation_errors_total";
const CONFLICT: &str = r#"error_type="conflict""#;
const SERVER: &str = r#"error_type="server""#;
const ADMISSIONS: &str = "kubefoundry_admission_requests_total";
const VERDICT_ERROR: &str = r#"verdict="error""#;
/// The label of the deployments about which the apiserver asks the webhook.
const CHECKED: &str = "example.com/checked";
const OLD_WORKSPACE: Kind = Kind { api_version: "kaito.sh/v1alpha1", ..kinds::WORKSPACE };
const WORKSPACES: &str = "workspaces.kaito.sh";

/// A cluster, and an operator that reaches its apiserver through a proxy.
struct Scene {
    proxy: Proxy,
    operator: Operator,
    models: Namespace,
    // Dropped last: it ends after the operator.
    _plane: ControlPlane,
}

impl Scene {
    async fn start() -> Option<Self> {
        let plane = ControlPlane::start().await?;
        let client = plane.admin().await;
        crds::install_own(&client).await;
        crds::install_upstream(&client).await;
        Namespace::create(&client, "kubefoundry-system").await;
        let models = Namespace::create(&client, "models").await;
        let proxy = Proxy::start(plane.port());
        let address = format!("127.0.0.1:{}", free_port());
        let mut webhook = webhooks::validating(&address, "Fail", 2);
        webhook["webhooks"][0]["objectSelector"] = json!({"matchLabels": {CHECKED: "true"}});
        models.apply(kinds::VALIDATING, &webhook).await.unwrap();
        let operator = Options::default()
            .kubeconfig(&proxy.kubeconfig(plane.kubeconfig()))
            .flag("--stale-after", "10m")
            .flag("--heartbeat-timeout", "2m")
            .flag("--concurrency", "1")
            .flag("--webhook-address", &address)
            .flag("--webhook-url", &format!("https://{address}"))
            // A review of the user's access is a request to the apiserver, which can be slow.
            .switch("--check-access")
            .start_ready(&plane, "provoked")
            .await;
        Some(Self { proxy, operator, models, _plane: plane })
    }

    /// A sample deployment under another name.
    fn named(&self, name: &str, sample: usize) -> Value {
        let mut deployment = deployment(&self.models.name, sample);
        deployment["metadata"]["name"] = name.into();
        deployment
    }

    async fn deploy(&self, name: &str, sample: usize) {
        self.models.apply(kinds::DEPLOYMENT, &self.named(name, sample)).await.unwrap();
    }

    /// Writes the status of a deployment as another provider that is alive, again and again.
    fn fight_for_status(&self, name: &'static str) -> Fight {
        let should_stop = Arc::new(AtomicBool::new(false));
        let (stopped, models) = (Arc::clone(&should_stop), self.models.clone());
        let task = tokio::spawn(async move {
            let mut round = 0_u64;
            while !stopped.load(Ordering::SeqCst) {
                round += 1;
                let status = json!({
                    "apiVersion": kinds::DEPLOYMENT.api_version, "kind": kinds::DEPLOYMENT.kind,
                    "metadata": {"name": name}, "status": {"message": format!("round {round}")},
                });
                let parameters = PatchParams::apply("kuberay-provider").force();
                // It fails while the apiserver is busy, and is repeated anyway.
                let _ = models.api(kinds::DEPLOYMENT).patch_status(name, &parameters, &Patch::Apply(&status)).await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        Fight { should_stop, task }
    }

    /// Waits until a metric of this process, with these labels, has a value that is accepted.
    async fn until_metric(&self, name: &str, labels: &[&str], is_accepted: impl Fn(f64) -> bool) {
        eventually(LONG, &format!("{name} {labels:?}"), async || match self.operator.metric(name, labels).await {
            value if is_accepted(value) => Ok(()),
            value => Err(format!("{value}\n{}\n{}", self.operator.metrics().await, self.operator.end_of_log())),
        })
        .await;
    }

    /// Waits until a metric of this process, with this label, has grown.
    async fn until_more(&self, name: &str, label: &str) {
        let before = self.operator.metric(name, &[label]).await;
        self.until_metric(name, &[label], |now| now > before + 0.5).await;
    }

    /// Waits until the configuration of KAITO has this reason, and returns its message.
    async fn until_reason(&self, reason: &str) -> String {
        eventually(LONG, &format!("KAITO with the reason {reason}"), async || {
            let config = self.models.find(kinds::PROVIDER_CONFIG, "kaito").await.unwrap_or_default();
            let ready = condition(&config, "Ready").unwrap_or_default();
            let is_it = ready["reason"] == reason && config["status"]["ready"] == (reason == "Ready");
            if is_it { Ok(text(&ready, "/message").to_owned()) } else { Err(config["status"].to_string()) }
        })
        .await
    }
}

/// A client that writes until it is stopped.
struct Fight {
    should_stop: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Fight {
    async fn stop(self) {
        self.should_stop.store(true, Ordering::SeqCst);
        self.task.await.unwrap();
    }
}

/// Has the apiserver store Workspaces in the other version, and convert them by a webhook that does not answer. What was
/// stored before and what is stored from now on cannot be read in one version.
async fn break_conversion(client: &Client) {
    let cluster = Namespace { client: client.clone(), name: "default".to_owned() };
    let mut versions = cluster.get(kinds::CRD, WORKSPACES).await["spec"]["versions"].take();
    for version in versions.as_array_mut().unwrap() {
        let is_old = version["name"] == "v1alpha1";
        version["storage"] = is_old.into();
    }
    let conversion = json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/convert"},
    }});
    cluster.merge(kinds::CRD, WORKSPACES, &json!({"spec": {"versions": versions, "conversion": conversion}})).await;
    let mut attempts = 0;
    eventually(LONG, "Workspaces that cannot be listed", async || {
        attempts += 1;
        // Until the apiserver serves the changed CRD, it stores the object in the version of before, and an object that is
        // stored in that version cannot be applied in the other one afterwards. So each attempt has a name of its own.
        let old = json!({"metadata": {"name": format!("stored-in-the-other-version-{attempts}")}});
        let stored = cluster.apply(OLD_WORKSPACE, &old).await.map(drop);
        match world::list(&cluster, kinds::WORKSPACE, "").await {
            Err(_) => Ok(()),
            Ok(listed) => Err(format!("{} listed, {stored:?}", listed.len())),
        }
    })
    .await;
}

/// Has the apiserver convert Workspaces by changing their `apiVersion` again.
async fn repair_conversion(client: &Client) {
    let cluster = Namespace { client: client.clone(), name: "default".to_owned() };
    let conversion = json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}});
    cluster.merge(kinds::CRD, WORKSPACES, &conversion).await;
}

fn assert_fire(scene: &Scene, firing: &BTreeSet<String>, expected: &[&str], metrics: &str) {
    for alert in expected {
        assert!(firing.contains(*alert), "{alert} in {firing:?}\n{metrics}\n{}", scene.operator.end_of_log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_beside_the_operator_raises_its_alert() {
    let Some(scene) = Scene::start().await else { return };
    let models = &scene.models;
    // The watches of the webhooks' certificate have series too.
    for watch in [
        "secrets/kubefoundry-webhooks-tls",
        "mutatingwebhookconfigurations/kubefoundry",
        "validatingwebhookconfigurations/kubefoundry",
        "customresourcedefinitions/modeldeployments.kubefoundry.ai",
    ] {
        scene.until_metric("kubefoundry_watch_up", &[&format!("watch=\"{watch}\"")], |up| up > 0.5).await;
    }
    let mut checked = scene.named("checked", 1);
    checked["metadata"]["labels"] = json!({CHECKED: "true"});
    eventually(LONG, "the webhook trusted", async || {
        models.apply(kinds::DEPLOYMENT, &checked).await.map_err(|error| error.to_string())
    })
    .await;
    scene.until_reason("Ready").await;
    scene.deploy("unread", 0).await;
    models.until_exists(kinds::WORKSPACE, "unread").await;
    break_conversion(&models.client).await;
    scene.until_metric("kubefoundry_watch_up", &[r#"watch="workspaces.kaito.sh""#], |up| up < 0.5).await;

    // A model that fails, a webhook of a provider that does not answer, and a colleague that writes the same status.
    scene.deploy("failed", 1).await;
    models.until_exists(kinds::GRAPH, "failed").await;
    models.patch_status(kinds::GRAPH, "failed", &json!({"state": "failed", "observedGeneration": 1})).await;
    models.until_phase("failed", "Failed").await;
    scene.deploy("fought", 1).await;
    models.until_condition("fought", "ResourceCreated", "True").await;
    models.apply(kinds::VALIDATING, &webhooks::silent("ray.io", "rayservices")).await.unwrap();
    for name in ["refused-a", "refused-b", "refused-c"] {
        scene.deploy(name, 2).await;
    }
    let fight = scene.fight_for_status("fought");
    for kind in [CONFLICT, SERVER] {
        scene.until_metric(ERRORS, &[kind], |count| count > 0.5).await;
    }
    let more_errors = async {
        for kind in [CONFLICT, SERVER] {
            scene.until_more(ERRORS, kind).await;
        }
    };
    let fast = firing(&scene.operator, more_errors).await;
    let metrics = scene.operator.metrics().await;
    fight.stop().await;
    if let Some(fast) = fast {
        let expected = [
            "ModelDeploymentFailed",
            "ModelDeploymentNotRunning",
            "KubefoundryConflicts",
            "KubefoundryNotReconciling",
            "KubefoundryWatchDown",
        ];
        assert_fire(&scene, &fast, &expected, &metrics);
        for alert in ["KubefoundryAdmissionErrors", "KubefoundryAdmissionSlow", "KubefoundryNoLeader"] {
            assert!(!fast.contains(alert), "{alert} in {fast:?}\n{metrics}");
        }
    }

    // An apiserver that takes longer to answer the operator than it waits for the operator's webhook. The reconciliations
    // are as slow, so their queue stays full.
    scene.proxy.delay(Duration::from_secs(3));
    for number in 0..24 {
        scene.deploy(&format!("queued-{number:02}"), 1).await;
    }
    let slow_writes = async {
        let given_up = scene.operator.metric(ADMISSIONS, &[VERDICT_ERROR]).await;
        for round in 0..4 {
            checked["metadata"]["annotations"] = json!({"example.com/round": round.to_string()});
            checked["spec"]["scaling"] = json!({"replicas": round + 2});
            models.apply(kinds::DEPLOYMENT, &checked).await.unwrap_err();
        }
        // The operator may notice later that the apiserver has given up.
        scene.until_metric(ADMISSIONS, &[VERDICT_ERROR], |count| count > given_up + 0.5).await;
        scene.until_metric("kubefoundry_queue_depth", &[], |depth| depth > 0.5).await;
    };
    let slow = firing(&scene.operator, slow_writes).await;
    let metrics = scene.operator.metrics().await;
    scene.proxy.delay(Duration::ZERO);
    if let Some(slow) = slow {
        let expected = ["KubefoundryQueueNotEmpty", "KubefoundryAdmissionErrors", "KubefoundryAdmissionSlow"];
        assert_fire(&scene, &slow, &expected, &metrics);
        assert!(!slow.contains("KubefoundryAdmissionRefusals"), "{slow:?}\n{metrics}");
    }

    // The provider whose watch has not worked for a minute is not ready, and is again once it does.
    let message = scene.until_reason("WatchDown").await;
    assert!(message.contains(WORKSPACES), "{message}");
    repair_conversion(&models.client).await;
    scene.until_reason("Ready").await;

    // The watches of the certificate break with the connection.
    scene.proxy.refuse(true);
    let is_down = |up: f64| up < 0.5;
    for watch in ["secrets/kubefoundry-webhooks-tls", "validatingwebhookconfigurations/kubefoundry"] {
        scene.until_metric("kubefoundry_watch_up", &[&format!("watch=\"{watch}\"")], is_down).await;
    }
}
