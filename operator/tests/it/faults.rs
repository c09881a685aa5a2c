//! The operator under faults. After each one everything converges, without duplicates, orphans or lost status
//! ([`world::settled`]).
//!
//! Each test has its own control plane, which it may kill, and runs alone.

use std::time::{Duration, Instant};

use crate::harness::cluster::{Namespace, condition, kinds, uid};
use crate::harness::fighter::Fighter;
use crate::harness::operator::{Operator, Options};
use crate::harness::proxy::Proxy;
use crate::harness::world::{self, count_requests, deployment, text, total, uids};
use crate::harness::{ControlPlane, crds, eventually, free_port, webhooks};
use kube::Client;
use kube::api::{Patch, PatchParams, WatchParams};
use serde_json::{Value, json};

/// Timeout for convergence. Without a fault it takes a fraction of this.
const LONG: Duration = Duration::from_secs(120);

/// A control plane with all CRDs and a namespace.
struct Scene {
    plane: ControlPlane,
    client: Client,
    namespace: Namespace,
}

/// Starts a control plane with the CRDs; none if the tests are skipped.
async fn scene(name: &str) -> Option<Scene> {
    let plane = ControlPlane::start().await?;
    let client = plane.admin().await;
    crds::install_own(&client).await;
    crds::install_upstream(&client).await;
    Namespace::create(&client, "kubefoundry-system").await;
    let namespace = Namespace::create(&client, name).await;
    Some(Scene { plane, client, namespace })
}

impl Scene {
    /// Applies the first `number` deployments.
    async fn deploy(&self, number: usize) {
        let deployments: Vec<Value> = (0..number).map(|number| deployment(&self.namespace.name, number)).collect();
        world::apply_all(&self.namespace, &deployments).await;
    }

    async fn until_settled(&self, operator: &Operator) {
        world::until_settled(&self.namespace, &[], operator, LONG).await;
    }

    /// Marks all models as serving, and waits until every status shows it.
    async fn serve(&self, operator: &Operator) {
        self.until_settled(operator).await;
        assert!(world::serve_all(&self.namespace).await.unwrap() > 0);
        self.until_settled(operator).await;
        for deployment in world::list(&self.namespace, kinds::DEPLOYMENT, "").await.unwrap() {
            assert_eq!(text(&deployment, "/status/phase"), "Running", "{}", deployment["status"]);
            assert!(!text(&deployment, "/status/endpoint/service").is_empty(), "{}", deployment["status"]);
        }
    }

    /// Starts a proxy for the apiserver, and returns it with the options of an operator that uses it.
    fn start_proxy(&self) -> (Proxy, Options) {
        let proxy = Proxy::start(self.plane.port());
        let options = options().kubeconfig(&proxy.kubeconfig(self.plane.kubeconfig()));
        (proxy, options)
    }
}

/// Options without webhooks, and with a `--stale-after` that is never reached.
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

    // A second restart without pending changes recreates nothing.
    let before = uids(&scene.namespace).await;
    scene.plane.restart().await;
    eventually(LONG, "a drift repaired after the restart", async || {
        let changed = json!({"metadata": {"labels": {"kubefoundry.ai/model-source": "unknown"}}});
        scene.namespace.merge(kinds::WORKSPACE, &name(0), &changed).await;
        scene.until_settled(&operator).await;
        Ok(())
    })
    .await;
    assert_eq!(uids(&scene.namespace).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_webhook_is_not_available() {
    let Some(scene) = scene("webhook").await else { return };
    let address = format!("127.0.0.1:{}", free_port());
    let options = Options::default()
        .flag("--stale-after", "10m")
        .flag("--webhook-address", &address)
        .flag("--webhook-url", &format!("https://{address}"));
    let configure = async |policy: &str| {
        scene.namespace.apply(kinds::VALIDATING, &webhooks::validating(&address, policy, 5)).await.unwrap();
    };
    configure("Fail").await;
    let mut operator = options.start_ready(&scene.plane, "webhook-away").await;
    let invalid = world::invalid(&scene.namespace.name, "wrong");
    let refusal = async |expected: &str| {
        // A dry run stores nothing. A stored object would not be refused later, because it does not change.
        let dry_run = PatchParams::apply("a-user").force().dry_run();
        eventually(LONG, "a refusal", async || {
            let api = scene.namespace.api(kinds::DEPLOYMENT);
            match api.patch("wrong", &dry_run, &Patch::Apply(&invalid)).await {
                Err(error) if error.to_string().contains(expected) => Ok(()),
                Err(error) => Err(error.to_string()),
                Ok(_) => Err("it was accepted".to_owned()),
            }
        })
        .await;
    };
    // The webhook answers, and refuses.
    refusal("tensor-parallel-size").await;

    // Not available with `Fail`: no object is stored, valid or not.
    operator.kill().await;
    refusal("failed calling webhook").await;
    let valid = deployment(&scene.namespace.name, 0);
    assert!(scene.namespace.apply(kinds::DEPLOYMENT, &valid).await.is_err());
    operator.restart();
    scene.deploy_when_possible(&valid).await;
    scene.until_settled(&operator).await;
    refusal("tensor-parallel-size").await;

    // Not available with `Ignore`: an invalid object is stored, and waits.
    operator.kill().await;
    configure("Ignore").await;
    eventually(LONG, "the invalid one stored", async || {
        scene.namespace.apply(kinds::DEPLOYMENT, &invalid).await.map_err(|error| error.to_string())
    })
    .await;
    operator.restart();
    world::until_settled(&scene.namespace, &["wrong"], &operator, LONG).await;
    let waiting = scene.namespace.get(kinds::DEPLOYMENT, "wrong").await;
    assert!(text(&waiting, "/status/message").contains("tensor parallel 8"), "{}", waiting["status"]);
    // After the correction it runs.
    scene.namespace.merge(kinds::DEPLOYMENT, "wrong", &json!({"spec": {"engine": {"args": null}}})).await;
    scene.serve(&operator).await;
}

impl Scene {
    /// Applies a deployment once the webhook answers again.
    async fn deploy_when_possible(&self, deployment: &Value) {
        eventually(LONG, "a deployment accepted", async || {
            self.namespace.apply(kinds::DEPLOYMENT, deployment).await.map_err(|error| error.to_string())
        })
        .await;
    }
}

/// Changes objects while the watches of the operator are cut.
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
    let changed = json!({"metadata": {"labels": {"kubefoundry.ai/model-source": "unknown"}}});
    namespace.merge(kinds::WORKSPACE, &name(0), &changed).await;
}

/// Checks the objects after [`change_unseen`]: only the changed ones differ.
async fn check_unseen(scene: &Scene, operator: &Operator, before: &std::collections::BTreeMap<String, String>) {
    scene.until_settled(operator).await;
    let after = uids(&scene.namespace).await;
    let is_gone = |number: usize| !after.keys().any(|key| key.ends_with(&name(number)));
    assert!([5, 6, 7, 8].into_iter().all(is_gone), "{after:?}");
    for (key, uid) in before {
        if key.ends_with(&name(1)) {
            assert_ne!(after.get(key), Some(uid), "{key} was deleted");
        } else if let Some(now) = after.get(key) {
            assert_eq!(now, uid, "{key} must not be recreated");
        }
    }
    assert_eq!(after.len(), 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_watch_breaks_and_changes_are_made_meanwhile() {
    let Some(scene) = scene("watch").await else { return };
    let (proxy, options) = scene.start_proxy();
    let operator = options.start_ready(&scene.plane, "watch").await;
    scene.deploy(10).await;
    scene.serve(&operator).await;
    let before = uids(&scene.namespace).await;
    proxy.refuse(true);
    change_unseen(&scene).await;
    proxy.refuse(false);
    check_unseen(&scene, &operator, &before).await;

    // Connections are cut repeatedly during work, each time when the operator has connected again.
    let cuts = async {
        for _ in 0..20 {
            let accepted = proxy.accepted();
            proxy.cut();
            eventually(LONG, "another connection", async || match proxy.accepted() {
                now if now > accepted => Ok(()),
                now => Err(format!("{now}\n{}", operator.end_of_log())),
            })
            .await;
        }
    };
    tokio::join!(scene.deploy(20), cuts);
    scene.until_settled(&operator).await;

    // With a slow apiserver nothing is done twice.
    proxy.delay(Duration::from_millis(50));
    scene.deploy(25).await;
    scene.serve(&operator).await;
}

impl Scene {
    /// The current resourceVersion.
    async fn version(&self) -> String {
        let list = self.namespace.api(kinds::DEPLOYMENT).list(&kube::api::ListParams::default()).await.unwrap();
        list.metadata.resource_version.unwrap()
    }

    /// Waits until the apiserver answers a watch from this resourceVersion with 410 Gone.
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
async fn relists_after_410_gone() {
    let Some(scene) = scene("gone").await else { return };
    let (proxy, options) = scene.start_proxy();
    let operator = options.start_ready(&scene.plane, "gone").await;
    scene.deploy(10).await;
    scene.serve(&operator).await;
    let before = uids(&scene.namespace).await;
    let seen = scene.version().await;
    proxy.refuse(true);
    change_unseen(&scene).await;
    // A restarted apiserver has lost its watch cache, so it answers older watches with 410.
    scene.plane.restart().await;
    scene.until_forgotten(&seen).await;
    proxy.refuse(false);
    check_unseen(&scene, &operator, &before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_competing_client_causes_few_requests() {
    let Some(scene) = scene("fight").await else { return };
    let operator = options().start_ready(&scene.plane, "fight").await;
    scene.deploy(10).await;
    scene.serve(&operator).await;
    let before = count_requests(&operator).await;
    let fighter = Fighter::start(&scene.namespace);
    eventually(LONG, "a long fight", async || match fighter.writes() {
        500.. => Ok(()),
        few => Err(format!("{few} writes")),
    })
    .await;
    let writes = fighter.stop().await;
    scene.until_settled(&operator).await;
    let after = count_requests(&operator).await;
    let requests = total(&after) - total(&before);
    eprintln!("fight: {writes} writes, {requests} requests: {after:?}");
    // At most a dry run and an apply for each write. The queue merges changes of an object, so there are far fewer.
    assert!(requests <= 2 * writes + 100, "{requests} requests for {writes} writes: {after:?}");

    // Afterwards no request is sent, whatever is looked at.
    scene.look_at_all(&operator).await;
    let settled = count_requests(&operator).await;
    scene.look_at_all(&operator).await;
    assert_eq!(count_requests(&operator).await, settled);
}

impl Scene {
    /// Has every controller reconcile every deployment once more.
    async fn look_at_all(&self, operator: &Operator) {
        for deployment in world::list(&self.namespace, kinds::DEPLOYMENT, "").await.unwrap() {
            let name = text(&deployment, "/metadata/name");
            let controllers = ["core", "selector", text(&deployment, "/status/provider/name")];
            operator.look_at(&self.namespace, kinds::DEPLOYMENT, name, &controllers).await;
        }
    }
}

/// A finalizer with which an upstream operator delays the deletion of its object.
const UPSTREAM_FINALIZER: &str = "example.com/hold";

impl Scene {
    /// Waits until the Workspace of the first deployment is being deleted.
    async fn until_terminating(&self) {
        let namespace = &self.namespace;
        let terminating = |object: &Value| match object.pointer("/metadata/deletionTimestamp") {
            Some(_) => Ok(()),
            None => Err(object["metadata"].to_string()),
        };
        namespace.until(kinds::WORKSPACE, &name(0), "terminating", terminating).await;
    }

    /// Blocks the deletion of the Workspace of the first deployment.
    async fn block_deletion(&self) {
        self.namespace
            .merge(kinds::WORKSPACE, &name(0), &json!({"metadata": {"finalizers": [UPSTREAM_FINALIZER]}}))
            .await;
    }

    /// Lets the deletion proceed.
    async fn unblock_deletion(&self) {
        self.namespace.merge(kinds::WORKSPACE, &name(0), &json!({"metadata": {"finalizers": null}})).await;
    }

    /// Has the apiserver refuse every status that names an object of a provider, and waits until it does. `existing` is
    /// a deployment with such a status.
    async fn refuse_status(&self, existing: &str) {
        let mut silent = webhooks::silent("kubefoundry.ai", "modeldeployments/status");
        let provider = "has(object.status) && has(object.status.provider)";
        let names_object = format!("{provider} && has(object.status.provider.resourceName)");
        silent["webhooks"][0]["matchConditions"] = json!([{"name": "names-an-object", "expression": names_object}]);
        self.namespace.apply(kinds::VALIDATING, &silent).await.unwrap();
        let parameters = PatchParams { dry_run: true, ..PatchParams::default() };
        let patch = Patch::Merge(json!({"status": {"message": "by hand"}}));
        eventually(LONG, "a refused status", async || {
            match self.namespace.api(kinds::DEPLOYMENT).patch_status(existing, &parameters, &patch).await {
                Err(error) if error.to_string().contains("failed calling webhook") => Ok(()),
                other => Err(format!("{:?}", other.map(drop))),
            }
        })
        .await;
    }

    /// Changes the model, which requires a new object.
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

    // The old object disappears while the operator is down.
    scene.block_deletion().await;
    scene.change_identity("org/second/model.gguf").await;
    scene.until_terminating().await;
    operator.kill().await;
    scene.unblock_deletion().await;
    scene.namespace.until_gone(kinds::WORKSPACE, &name(0)).await;
    operator.restart();
    scene.serve(&operator).await;
    let second = uid(&scene.namespace.get(kinds::WORKSPACE, &name(0)).await);
    assert_ne!(first, second);

    // The old object is still being deleted when the operator starts again.
    scene.block_deletion().await;
    scene.change_identity("org/third/model.gguf").await;
    scene.until_terminating().await;
    operator.kill().await;
    operator.restart();
    // It waits for the old one.
    operator.look_at(&scene.namespace, kinds::DEPLOYMENT, &name(0), &["kaito"]).await;
    assert_eq!(uid(&scene.namespace.get(kinds::WORKSPACE, &name(0)).await), second);
    scene.unblock_deletion().await;
    scene.serve(&operator).await;
    assert_ne!(uid(&scene.namespace.get(kinds::WORKSPACE, &name(0)).await), second);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_is_killed_between_apply_and_status() {
    let Some(scene) = scene("killed").await else { return };
    let mut operator = options().start_ready(&scene.plane, "killed").await;
    // A deployment that tells whether the apiserver refuses the status.
    scene.namespace.apply(kinds::DEPLOYMENT, &deployment(&scene.namespace.name, 5)).await.unwrap();
    scene.until_settled(&operator).await;
    for number in 0..5 {
        // The status that follows the apply is refused until the operator is killed.
        scene.refuse_status(&name(5)).await;
        scene.namespace.apply(kinds::DEPLOYMENT, &deployment(&scene.namespace.name, number)).await.unwrap();
        let made = eventually(LONG, "the object there", async || {
            let uids = uids(&scene.namespace).await;
            let made = uids.into_iter().find(|(key, _)| key.ends_with(&name(number)));
            made.ok_or_else(|| "it does not exist".to_owned())
        })
        .await;
        operator.kill().await;
        let status = scene.namespace.get(kinds::DEPLOYMENT, &name(number)).await["status"].take();
        assert!(status.pointer("/provider/resourceName").is_none(), "killed too late: {status}");
        scene.namespace.delete(kinds::VALIDATING, "silent").await;
        operator.restart();
        scene.until_settled(&operator).await;
        assert_eq!(uids(&scene.namespace).await.get(&made.0), Some(&made.1), "it is the same object");
    }
    scene.serve(&operator).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crd_is_removed_and_comes_back() {
    let Some(scene) = scene("crd").await else { return };
    // A deletion that waited for the timeout would be seen as one that never ends.
    let mut operator = options().flag("--finalizer-timeout", "60m").start_ready(&scene.plane, "crd").await;
    scene.deploy(5).await;
    scene.serve(&operator).await;
    let before = uids(&scene.namespace).await;
    let missing = async |operator: &Operator| {
        for number in [0, 3] {
            eventually(LONG, "the missing CRD reported", async || {
                let deployment = scene.namespace.get(kinds::DEPLOYMENT, &name(number)).await;
                match condition(&deployment, "ProviderCompatible") {
                    Some(it) if it["status"] == "False" && text(&it, "/message").contains(CRD_MISSING) => Ok(()),
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

    // Removed while the operator is down, and installed while it runs.
    operator.kill().await;
    crds::remove(&scene.client, "workspaces.kaito.sh").await;
    operator.restart();
    missing(&operator).await;
    crds::install(&scene.client, &[crds::WORKSPACE]).await;
    scene.serve(&operator).await;

    // A deployment that is deleted while the CRD is missing disappears at once.
    crds::remove(&scene.client, "workspaces.kaito.sh").await;
    missing(&operator).await;
    scene.namespace.delete(kinds::DEPLOYMENT, &name(3)).await;
    scene.namespace.until_gone(kinds::DEPLOYMENT, &name(3)).await;
    crds::install(&scene.client, &[crds::WORKSPACE]).await;
    scene.serve(&operator).await;
}

/// The message for a provider without its CRD (MD-2.5).
const CRD_MISSING: &str = "Provider 'kaito' CRD not installed in cluster";

/// Checks the tools of these tests: the proxy, and the valid and invalid deployments.
#[tokio::test(flavor = "multi_thread")]
async fn the_tools_of_these_tests_work() {
    let Some(scene) = scene("tools").await else { return };
    scene.deploy(10).await;
    let wrong = world::invalid(&scene.namespace.name, "wrong");
    scene.namespace.apply(kinds::DEPLOYMENT, &wrong).await.unwrap();
    // Without an operator nothing is settled.
    let seen = world::settled(&scene.namespace, &["wrong"]).await.unwrap_err();
    assert!(seen.contains("does not exist") && seen.contains("6 more"), "{seen}");

    let (proxy, _) = scene.start_proxy();
    let path = proxy.kubeconfig(scene.plane.kubeconfig());
    let config = kube::config::Kubeconfig::read_from(path).unwrap();
    let config =
        kube::Config::from_custom_kubeconfig(config, &kube::config::KubeConfigOptions::default()).await.unwrap();
    let through = scene.namespace.with_client(&Client::try_from(config).unwrap());
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
