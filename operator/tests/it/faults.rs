//! What the operator makes of a world in which things fail: after each fault everything has converged, nothing is there
//! twice, nothing is left over, and no status is lost ([`world::settled`]).
//!
//! Each test has a control plane of its own, which it may hurt, and runs alone.

use std::time::{Duration, Instant};

use crate::harness::cluster::{Namespace, condition, kinds, uid};
use crate::harness::fighter::Fighter;
use crate::harness::operator::{Operator, Options};
use crate::harness::proxy::Proxy;
use crate::harness::world::{self, deployment, text, total, uids, work};
use crate::harness::{ControlPlane, crds, eventually, free_port, stays};
use kube::Client;
use kube::api::{Patch, PatchParams, WatchParams};
use serde_json::{Value, json};

/// How long everything may take to settle. Nothing waits for all of it when all is well.
const LONG: Duration = Duration::from_secs(60);

/// A control plane with all CRDs and a namespace.
struct Scene {
    plane: ControlPlane,
    client: Client,
    namespace: Namespace,
}

/// Nothing where there is no control plane to start.
async fn scene(name: &str) -> Option<Scene> {
    let plane = ControlPlane::start().await?;
    let client = plane.admin().await;
    crds::install_ours(&client).await;
    crds::install_upstream(&client).await;
    Namespace::create(&client, "kubefoundry-system").await;
    let namespace = Namespace::create(&client, name).await;
    Some(Scene { plane, client, namespace })
}

impl Scene {
    /// Applies the first so many deployments.
    async fn deploy(&self, number: usize) {
        let deployments: Vec<Value> = (0..number).map(|number| deployment(&self.namespace.name, number)).collect();
        world::apply_all(&self.namespace, &deployments).await;
    }

    async fn until_settled(&self, operator: &Operator) {
        world::until_settled(&self.namespace, &[], operator, LONG).await;
    }

    /// What upstream operators say is in every status, too.
    async fn serve(&self, operator: &Operator) {
        self.until_settled(operator).await;
        assert!(world::serve_all(&self.namespace).await.unwrap() > 0);
        self.until_settled(operator).await;
        for deployment in world::list(&self.namespace, kinds::DEPLOYMENT, "").await.unwrap() {
            assert_eq!(text(&deployment, "/status/phase"), "Running", "{}", deployment["status"]);
            assert!(!text(&deployment, "/status/endpoint/service").is_empty(), "{}", deployment["status"]);
        }
    }

    /// A proxy before the apiserver, and the options of an operator that uses it.
    fn proxied(&self) -> (Proxy, Options) {
        let text = std::fs::read_to_string(self.plane.kubeconfig()).unwrap();
        let (_, rest) = text.split_once("https://127.0.0.1:").unwrap();
        let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let proxy = Proxy::start(port.parse().unwrap());
        let options = options().kubeconfig(&proxy.kubeconfig(self.plane.kubeconfig()));
        (proxy, options)
    }
}

/// Without webhooks, and without verdicts about silent upstream operators.
fn options() -> Options {
    Options::default().roles("core,selector,kaito,dynamo,kuberay").flag("--stale-after", "10m")
}

fn name(number: usize) -> String {
    text(&deployment("any", number), "/metadata/name").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_apiserver_is_restarted_while_deployments_are_created() {
    let Some(scene) = scene("restart").await else { return };
    let operator = options().start_ready(&scene.plane, "restart").await;
    let restart = async {
        eventually(LONG, "some objects there", async || match uids(&scene.namespace).await.len() {
            10.. => Ok(()),
            few => Err(few.to_string()),
        })
        .await;
        scene.plane.restart().await;
    };
    tokio::join!(scene.deploy(50), restart);
    scene.serve(&operator).await;

    // Once more, when there is nothing to do: nothing is done.
    let before = uids(&scene.namespace).await;
    scene.plane.restart().await;
    eventually(LONG, "a drift repaired after the restart", async || {
        let changed = json!({"metadata": {"labels": {"kubefoundry.ai/model-source": "nobody"}}});
        scene.namespace.merge(kinds::WORKSPACE, &name(0), &changed).await;
        scene.until_settled(&operator).await;
        Ok(())
    })
    .await;
    assert_eq!(uids(&scene.namespace).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_webhook_is_away() {
    let Some(scene) = scene("webhook").await else { return };
    let address = format!("127.0.0.1:{}", free_port());
    let options = Options::default()
        .flag("--stale-after", "10m")
        .flag("--webhook-address", &address)
        .flag("--webhook-url", &format!("https://{address}"));
    let configure = async |policy: &str| {
        let webhook = json!({
            "metadata": {"name": "kubefoundry"},
            "webhooks": [{
                "name": "validate.kubefoundry.ai",
                "clientConfig": {"url": format!("https://{address}/validate")},
                "rules": [{
                    "apiGroups": ["kubefoundry.ai"], "apiVersions": ["v1alpha1"],
                    "operations": ["CREATE", "UPDATE"], "resources": ["modeldeployments"],
                }],
                "failurePolicy": policy, "sideEffects": "None", "timeoutSeconds": 5,
                "admissionReviewVersions": ["v1"],
            }],
        });
        scene.namespace.apply(kinds::VALIDATING, &webhook).await.unwrap();
    };
    configure("Fail").await;
    let mut operator = options.start_ready(&scene.plane, "webhook-away").await;
    let invalid = world::invalid(&scene.namespace.name, "wrong");
    let refusal = async |expected: &str| {
        // A dry run, so that it is not there when the webhook is not there yet: what does not change is not refused.
        let dry_run = PatchParams::apply("a-user").force().dry_run();
        eventually(LONG, "a refusal", async || {
            let api = scene.namespace.api(kinds::DEPLOYMENT);
            match api.patch("wrong", &dry_run, &Patch::Apply(&invalid)).await {
                Err(error) if error.to_string().contains(expected) => Ok(()),
                Err(error) => Err(error.to_string()),
                Ok(_) => Err("it was taken".to_owned()),
            }
        })
        .await;
    };
    // It is there, and refuses.
    refusal("tensor-parallel-size").await;

    // Away, and needed: nothing is stored, neither right nor wrong.
    operator.kill().await;
    refusal("failed calling webhook").await;
    let right = deployment(&scene.namespace.name, 0);
    assert!(scene.namespace.apply(kinds::DEPLOYMENT, &right).await.is_err());
    operator.start_again();
    scene.deploy_when_possible(&right).await;
    scene.until_settled(&operator).await;
    refusal("tensor-parallel-size").await;

    // Away, and not needed: what is wrong is stored, and waits.
    operator.kill().await;
    configure("Ignore").await;
    eventually(LONG, "the wrong one stored", async || {
        scene.namespace.apply(kinds::DEPLOYMENT, &invalid).await.map_err(|error| error.to_string())
    })
    .await;
    operator.start_again();
    world::until_settled(&scene.namespace, &["wrong"], &operator, LONG).await;
    let waiting = scene.namespace.get(kinds::DEPLOYMENT, "wrong").await;
    assert!(text(&waiting, "/status/message").contains("tensor parallel 8"), "{}", waiting["status"]);
    // Mended, it runs.
    scene.namespace.merge(kinds::DEPLOYMENT, "wrong", &json!({"spec": {"engine": {"args": null}}})).await;
    scene.serve(&operator).await;
}

impl Scene {
    /// The webhook may take a moment to be back.
    async fn deploy_when_possible(&self, deployment: &Value) {
        eventually(LONG, "a deployment taken", async || {
            self.namespace.apply(kinds::DEPLOYMENT, deployment).await.map_err(|error| error.to_string())
        })
        .await;
    }
}

/// Changes behind the operator's back: made while it sees nothing.
async fn change_unseen(scene: &Scene) {
    let namespace = &scene.namespace;
    for number in 10..13 {
        namespace.apply(kinds::DEPLOYMENT, &deployment(&namespace.name, number)).await.unwrap();
    }
    // With an object of each provider, and with a ConfigMap.
    for number in [5, 6, 7, 8] {
        namespace.delete(kinds::DEPLOYMENT, &name(number)).await;
    }
    let scaled = json!({"spec": {"scaling": {"replicas": 3}}});
    namespace.merge(kinds::DEPLOYMENT, &name(4), &scaled).await;
    namespace.delete(kinds::GRAPH, &name(1)).await;
    let changed = json!({"metadata": {"labels": {"kubefoundry.ai/model-source": "nobody"}}});
    namespace.merge(kinds::WORKSPACE, &name(0), &changed).await;
}

/// After [`change_unseen`]: what was not touched is as it was.
async fn check_unseen(scene: &Scene, operator: &Operator, before: &std::collections::BTreeMap<String, String>) {
    scene.until_settled(operator).await;
    let after = uids(&scene.namespace).await;
    let is_gone = |number: usize| !after.keys().any(|key| key.ends_with(&name(number)));
    assert!([5, 6, 7, 8].into_iter().all(is_gone), "{after:?}");
    for (key, uid) in before {
        if key.ends_with(&name(1)) {
            assert_ne!(after.get(key), Some(uid), "{key} was deleted");
        } else if let Some(now) = after.get(key) {
            assert_eq!(now, uid, "{key} was not to be made again");
        }
    }
    assert_eq!(after.len(), 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_watch_breaks_and_changes_are_made_meanwhile() {
    let Some(scene) = scene("watch").await else { return };
    let (proxy, options) = scene.proxied();
    let operator = options.start_ready(&scene.plane, "watch").await;
    scene.deploy(10).await;
    scene.serve(&operator).await;
    let before = uids(&scene.namespace).await;
    proxy.refuse(true);
    change_unseen(&scene).await;
    proxy.refuse(false);
    check_unseen(&scene, &operator, &before).await;

    // Cut again and again in the midst of work.
    let accepted = proxy.accepted();
    let cuts = async {
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            proxy.cut();
        }
    };
    tokio::join!(scene.deploy(20), cuts);
    scene.until_settled(&operator).await;
    assert!(proxy.accepted() > accepted, "it has connected again");

    // A slow apiserver is no reason to do anything twice.
    proxy.delay(Duration::from_millis(50));
    scene.deploy(25).await;
    scene.serve(&operator).await;
}

impl Scene {
    /// The resourceVersion of now.
    async fn version(&self) -> String {
        let list = self.namespace.api(kinds::DEPLOYMENT).list(&kube::api::ListParams::default()).await.unwrap();
        list.metadata.resource_version.unwrap()
    }

    /// Waits until the apiserver does not know any more what followed a resourceVersion.
    async fn until_forgotten(&self, seen: &str) {
        eventually(LONG, "410 Gone", async || {
            use futures::TryStreamExt as _;
            let api = self.namespace.api(kinds::DEPLOYMENT);
            let mut events = match api.watch(&WatchParams::default().timeout(2), seen).await {
                Ok(events) => Box::pin(events),
                Err(error) => return if error.to_string().contains("410") { Ok(()) } else { Err(error.to_string()) },
            };
            match events.try_next().await {
                Ok(Some(kube::api::WatchEvent::Error(status))) if status.code == 410 => Ok(()),
                Err(kube::Error::Api(status)) if status.code == 410 => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_watch_missed_is_forgotten_410() {
    let Some(scene) = scene("gone").await else { return };
    let (proxy, options) = scene.proxied();
    let operator = options.start_ready(&scene.plane, "gone").await;
    scene.deploy(10).await;
    scene.serve(&operator).await;
    let before = uids(&scene.namespace).await;
    let seen = scene.version().await;
    proxy.refuse(true);
    change_unseen(&scene).await;
    // The apiserver's memory of what happened goes with it: who asks for what followed is told that it is gone.
    scene.plane.restart().await;
    scene.until_forgotten(&seen).await;
    proxy.refuse(false);
    check_unseen(&scene, &operator, &before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_fights() {
    let Some(scene) = scene("fight").await else { return };
    let operator = options().start_ready(&scene.plane, "fight").await;
    scene.deploy(10).await;
    scene.serve(&operator).await;
    let before = work(&operator).await;
    let fighter = Fighter::begin(&scene.namespace);
    // Some seconds, and more where the machine is slow.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) || fighter.writes() < 300 {
        assert!(begun.elapsed() < LONG, "a fight of {} writes", fighter.writes());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let writes = fighter.end().await;
    scene.until_settled(&operator).await;
    let after = work(&operator).await;
    let requests = total(&after) - total(&before);
    eprintln!("fight: {writes} writes, {requests} requests: {after:?}");
    // Dry run and apply for each write at the most; in truth much less, since work on an object is joined.
    assert!(requests <= 2 * writes + 100, "{requests} requests for {writes} writes: {after:?}");

    // Then it is quiet.
    let settled = total(&work(&operator).await);
    stays(Duration::from_secs(4), "quiet", async || {
        let now = work(&operator).await;
        if total(&now) == settled { Ok(()) } else { Err(format!("{settled} requests, then {now:?}")) }
    })
    .await;
}

/// The name of the finalizer by which an upstream operator holds its object.
const HOLD: &str = "example.com/hold";

impl Scene {
    /// Waits until the Workspace of the first deployment is asked to go.
    async fn until_terminating(&self) {
        let namespace = &self.namespace;
        let terminating = |object: &Value| match object.pointer("/metadata/deletionTimestamp") {
            Some(_) => Ok(()),
            None => Err(object["metadata"].to_string()),
        };
        namespace.until(kinds::WORKSPACE, &name(0), "terminating", terminating).await;
    }

    async fn hold(&self) {
        self.namespace.merge(kinds::WORKSPACE, &name(0), &json!({"metadata": {"finalizers": [HOLD]}})).await;
    }

    async fn release(&self) {
        self.namespace.merge(kinds::WORKSPACE, &name(0), &json!({"metadata": {"finalizers": null}})).await;
    }

    /// Another model: another object.
    async fn change_identity(&self, model: &str) {
        self.namespace.merge(kinds::DEPLOYMENT, &name(0), &json!({"spec": {"model": {"id": model}}})).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_is_killed_between_delete_and_create() {
    let Some(scene) = scene("recreate").await else { return };
    let options = options().flag("--finalizer-timeout", "5m");
    let mut operator = options.start_ready(&scene.plane, "recreate").await;
    scene.deploy(1).await;
    scene.serve(&operator).await;
    let first = uid(&scene.namespace.get(kinds::WORKSPACE, &name(0)).await);

    // The old one goes while nobody looks.
    scene.hold().await;
    scene.change_identity("org/second/model.gguf").await;
    scene.until_terminating().await;
    operator.kill().await;
    scene.release().await;
    scene.namespace.until_gone(kinds::WORKSPACE, &name(0)).await;
    operator.start_again();
    scene.serve(&operator).await;
    let second = uid(&scene.namespace.get(kinds::WORKSPACE, &name(0)).await);
    assert_ne!(first, second);

    // The old one is still going when the next one looks.
    scene.hold().await;
    scene.change_identity("org/third/model.gguf").await;
    scene.until_terminating().await;
    operator.kill().await;
    operator.start_again();
    operator.until_ready().await;
    stays(Duration::from_secs(3), "waiting for the old one", async || {
        let now = uid(&scene.namespace.get(kinds::WORKSPACE, &name(0)).await);
        if now == second { Ok(()) } else { Err(now) }
    })
    .await;
    scene.release().await;
    scene.serve(&operator).await;
    assert_ne!(uid(&scene.namespace.get(kinds::WORKSPACE, &name(0)).await), second);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_is_killed_between_apply_and_status() {
    let Some(scene) = scene("killed").await else { return };
    let (proxy, options) = scene.proxied();
    let mut operator = options.start_ready(&scene.plane, "killed").await;
    for number in 0..5 {
        // So that there is time between the two.
        proxy.delay(Duration::from_millis(150));
        scene.namespace.apply(kinds::DEPLOYMENT, &deployment(&scene.namespace.name, number)).await.unwrap();
        let made = eventually(LONG, "the object there", async || {
            let uids = uids(&scene.namespace).await;
            let made = uids.into_iter().find(|(key, _)| key.ends_with(&name(number)));
            made.ok_or_else(|| "it is not there".to_owned())
        })
        .await;
        operator.kill().await;
        let status = scene.namespace.get(kinds::DEPLOYMENT, &name(number)).await["status"].take();
        assert!(status.pointer("/provider/resourceName").is_none(), "killed too late: {status}");
        proxy.delay(Duration::ZERO);
        operator.start_again();
        scene.until_settled(&operator).await;
        assert_eq!(uids(&scene.namespace).await.get(&made.0), Some(&made.1), "it is the same object");
    }
    scene.serve(&operator).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crd_is_removed_and_comes_back() {
    let Some(scene) = scene("crd").await else { return };
    let mut operator = options().start_ready(&scene.plane, "crd").await;
    scene.deploy(5).await;
    scene.serve(&operator).await;
    let before = uids(&scene.namespace).await;
    let missing = async |operator: &Operator| {
        for number in [0, 3] {
            eventually(LONG, "the missing CRD said", async || {
                let deployment = scene.namespace.get(kinds::DEPLOYMENT, &name(number)).await;
                match condition(&deployment, "ProviderCompatible") {
                    Some(it) if it["status"] == "False" && text(&it, "/message").contains(MISSING) => Ok(()),
                    _ => Err(format!("{}\n{}", deployment["status"], operator.end_of_log())),
                }
            })
            .await;
        }
    };
    crds::remove(&scene.client, "workspaces.kaito.sh").await;
    missing(&operator).await;
    crds::install(&scene.client, &[crds::WORKSPACE]).await;
    scene.serve(&operator).await;
    let after = uids(&scene.namespace).await;
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    for (key, uid) in &before {
        assert_eq!(after[key] == *uid, !key.starts_with("Workspace"), "{key}");
    }

    // Gone while the operator was away, and back while it runs.
    operator.kill().await;
    crds::remove(&scene.client, "workspaces.kaito.sh").await;
    operator.start_again();
    missing(&operator).await;
    crds::install(&scene.client, &[crds::WORKSPACE]).await;
    scene.serve(&operator).await;

    // A deployment that goes while its kind is not there goes at once.
    crds::remove(&scene.client, "workspaces.kaito.sh").await;
    missing(&operator).await;
    let asked = Instant::now();
    scene.namespace.delete(kinds::DEPLOYMENT, &name(3)).await;
    scene.namespace.until_gone(kinds::DEPLOYMENT, &name(3)).await;
    assert!(asked.elapsed() < Duration::from_secs(15), "{:?}", asked.elapsed());
    crds::install(&scene.client, &[crds::WORKSPACE]).await;
    scene.serve(&operator).await;
}

/// What is said of a provider whose kind is not there (MD-2.5).
const MISSING: &str = "Provider 'kaito' CRD not installed in cluster";

/// What the tests are made of: the proxy, and deployments that are as right, or as wrong, as is said of them.
#[tokio::test(flavor = "multi_thread")]
async fn the_tools_of_these_tests_work() {
    let Some(scene) = scene("tools").await else { return };
    scene.deploy(10).await;
    let wrong = world::invalid(&scene.namespace.name, "wrong");
    scene.namespace.apply(kinds::DEPLOYMENT, &wrong).await.unwrap();
    // Nothing runs, so nothing is settled.
    let seen = world::settled(&scene.namespace, &["wrong"]).await.unwrap_err();
    assert!(seen.contains("is not there") && seen.contains("6 more"), "{seen}");

    let (proxy, _) = scene.proxied();
    let path = proxy.kubeconfig(scene.plane.kubeconfig());
    let config = kube::config::Kubeconfig::read_from(path).unwrap();
    let config =
        kube::Config::from_custom_kubeconfig(config, &kube::config::KubeConfigOptions::default()).await.unwrap();
    let through = scene.namespace.of(&Client::try_from(config).unwrap());
    assert_eq!(world::list(&through, kinds::DEPLOYMENT, "").await.unwrap().len(), 11);
    proxy.refuse(true);
    assert!(world::list(&through, kinds::DEPLOYMENT, "").await.is_err());
    proxy.refuse(false);
    assert_eq!(world::list(&through, kinds::DEPLOYMENT, "").await.unwrap().len(), 11);
    let started = Instant::now();
    proxy.delay(Duration::from_millis(100));
    assert_eq!(world::list(&through, kinds::DEPLOYMENT, "").await.unwrap().len(), 11);
    assert!(started.elapsed() >= Duration::from_millis(100));

    let seen = scene.version().await;
    scene.deploy(11).await;
    scene.plane.restart().await;
    scene.until_forgotten(&seen).await;
    assert_eq!(world::list(&scene.namespace, kinds::DEPLOYMENT, "").await.unwrap().len(), 12);
}
