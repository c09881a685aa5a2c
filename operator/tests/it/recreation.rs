//! Recreations that no edit of a deployment causes: a changed option makes it necessary to recreate every Workspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::cluster::kinds::{DEPLOYMENT, PROVIDER_CONFIG, WORKSPACE};
use crate::harness::cluster::{Namespace, condition, uid};
use crate::harness::operator::{Operator, Options};
use crate::harness::{ControlPlane, crds, eventually};

const LONG: Duration = Duration::from_secs(120);
const MIRROR: &str = "images: {ghcr.io: mirror.example.com/ghcr}\n";

struct Scene {
    plane: ControlPlane,
    namespace: Namespace,
    config: PathBuf,
}

impl Scene {
    /// A cluster without options, in which nothing runs yet.
    async fn start() -> Option<Self> {
        let plane = ControlPlane::start().await?;
        let client = plane.admin().await;
        crds::install_own(&client).await;
        crds::install_upstream(&client).await;
        Namespace::create(&client, "kubefoundry-system").await;
        let namespace = Namespace::create(&client, "ml").await;
        let config = plane.directory().join("options.yaml");
        let scene = Self { plane, namespace, config };
        scene.write_options("");
        Some(scene)
    }

    fn write_options(&self, lines: &str) {
        let text = format!("apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\n{lines}");
        fs::write(&self.config, text).unwrap();
    }

    fn options(&self) -> Options {
        Options::default()
            .roles("core,selector,kaito,dynamo,kuberay")
            .flag("--stale-after", "10m")
            .flag("--config", &self.config.display().to_string())
    }

    /// Deploys models that run from an image of their own, and waits until they serve.
    async fn deploy(&self, names: &[&str]) {
        for name in names {
            let spec = json!({
                "model": {"id": "google/gemma-3-1b-it-qat-q8_0-gguf", "source": "huggingface"},
                "engine": {"type": "llamacpp"}, "resources": {"gpu": {"count": 0}, "memory": "16Gi", "cpu": "8"},
                "image": "ghcr.io/sozercan/llama-cpp-runner:latest",
            });
            self.namespace.deploy(name, &spec).await;
            self.namespace.until_exists(WORKSPACE, name).await;
            self.serve(name).await;
            self.namespace.until_phase(name, "Running").await;
        }
    }

    /// Marks a Workspace as ready, as KAITO does.
    async fn serve(&self, name: &str) {
        let ready = json!({"state": "Ready", "conditions": [{
            "type": "WorkspaceSucceeded", "status": "True", "reason": "workspaceSucceeded",
            "message": "workspace succeeds", "lastTransitionTime": "2026-01-30T10:00:00Z",
        }]});
        self.namespace.patch_status(WORKSPACE, name, &ready).await;
    }

    /// The uid of each Workspace.
    async fn uids(&self) -> BTreeMap<String, String> {
        let all = self.namespace.list(WORKSPACE).await;
        all.iter().map(|one| (one["metadata"]["name"].as_str().unwrap().to_owned(), uid(one))).collect()
    }

    /// The reason of `PendingRecreate` of a deployment; empty without the condition.
    async fn state(&self, name: &str) -> String {
        state_of(&self.namespace.get(DEPLOYMENT, name).await)
    }

    async fn until_state(&self, name: &str, expected: &str) -> Value {
        eventually(LONG, &format!("{name} {expected}"), async || {
            let deployment = self.namespace.get(DEPLOYMENT, name).await;
            let found = state_of(&deployment);
            if found == expected { Ok(deployment) } else { Err(format!("{found}: {}", deployment["status"])) }
        })
        .await
    }
}

fn state_of(deployment: &Value) -> String {
    let found = condition(deployment, "PendingRecreate");
    found.and_then(|found| found["reason"].as_str().map(str::to_owned)).unwrap_or_default()
}

/// The hash in the message of the condition, with which a recreation is approved.
fn hash_of(deployment: &Value) -> String {
    let message = condition(deployment, "PendingRecreate").unwrap()["message"].as_str().unwrap().to_owned();
    message.split_once("approve-recreate=").unwrap_or_else(|| panic!("{message}")).1.to_owned()
}

async fn restart(operator: &mut Operator) {
    operator.kill().await;
    operator.restart();
    operator.until_ready().await;
}

#[tokio::test]
async fn a_changed_option_recreates_one_deployment_at_a_time() {
    let Some(scene) = Scene::start().await else { return };
    let mut operator = scene.options().start_ready(&scene.plane, "recreation").await;
    let names = ["a", "b", "c"];
    scene.deploy(&names).await;
    let before = scene.uids().await;
    scene.write_options(MIRROR);
    let (mut was_killed, mut most) = (false, 0);
    eventually(LONG, "all recreated", async || {
        // Each list is of one moment. What is missing in the first one serves in the second one only after this test
        // has said so, below.
        let workspaces = scene.uids().await;
        let deployments = scene.namespace.list(DEPLOYMENT).await;
        let serves = |name: &str| {
            let found = deployments.iter().find(|deployment| deployment["metadata"]["name"] == name).unwrap();
            found["status"]["phase"] == "Running"
        };
        let is_new = |name: &str| workspaces.get(name).is_some_and(|uid| *uid != before[name]);
        let down = names.into_iter().filter(|name| !serves(name) || !workspaces.contains_key(*name)).count();
        most = most.max(down);
        assert!(down <= 1, "{down} are not running");
        for name in names.into_iter().filter(|name| is_new(name) && !serves(name)) {
            scene.serve(name).await;
        }
        let replaced = names.into_iter().filter(|name| is_new(name)).count();
        if replaced == 2 && !was_killed {
            // The queue is in the conditions, so another process continues it.
            restart(&mut operator).await;
            was_killed = true;
        }
        let seen = || format!("{replaced} replaced, {down} down\n{}", operator.end_of_log());
        if replaced == names.len() && down == 0 { Ok(()) } else { Err(seen()) }
    })
    .await;
    assert_eq!(most, 1, "none was seen while it was recreated");
    for name in names {
        scene.until_state(name, "Recreated").await;
        let workspace = scene.namespace.get(WORKSPACE, name).await.to_string();
        assert!(workspace.contains("mirror.example.com/ghcr/sozercan/llama-cpp-runner"), "{workspace}");
        let message = scene.namespace.until_event(name, "Normal", "Recreating").await;
        assert!(
            message.starts_with(&format!("Workspace '{name}' is deleted and created again: inference.template")),
            "{message}"
        );
    }
    let ready = operator.metric("kubefoundry_recreations_total", &["provider=\"kaito\"", "result=\"ready\""]).await;
    assert!(ready >= 1.0, "{ready}");
}

#[tokio::test]
async fn a_recreation_waits_for_its_approval_but_an_edit_does_not() {
    let Some(scene) = Scene::start().await else { return };
    let operator = scene.options().flag("--recreate", "approve").start_ready(&scene.plane, "approval").await;
    scene.deploy(&["a", "b"]).await;
    let before = scene.uids().await;
    scene.write_options(MIRROR);
    for name in ["a", "b"] {
        let pending = scene.until_state(name, "AwaitingApproval").await;
        assert_eq!(pending["status"]["phase"], "Running");
        assert_eq!(condition(&pending, "PendingRecreate").unwrap()["status"], "True");
        operator.look_at(&scene.namespace, DEPLOYMENT, name, &["kaito"]).await;
    }
    assert_eq!(scene.uids().await, before, "recreated");
    // Another hash approves nothing.
    let hash = hash_of(&scene.namespace.get(DEPLOYMENT, "a").await);
    let approved = scene.namespace.annotate(DEPLOYMENT, "a", "kubefoundry.ai/approve-recreate", Some("0000")).await;
    operator.until_reconciled("kaito", &approved).await;
    assert_eq!(scene.uids().await, before, "recreated");
    scene.namespace.annotate(DEPLOYMENT, "a", "kubefoundry.ai/approve-recreate", Some(&hash)).await;
    eventually(LONG, "another Workspace", async || {
        let now = scene.uids().await;
        if now.get("a").is_some_and(|uid| *uid != before["a"]) { Ok(()) } else { Err(operator.end_of_log()) }
    })
    .await;
    scene.serve("a").await;
    scene.until_state("a", "Recreated").await;
    assert_eq!(scene.uids().await["b"], before["b"]);
    // What the user edits is recreated at once, with everything that waits.
    scene.namespace.merge(DEPLOYMENT, "b", &json!({"spec": {"resources": {"memory": "24Gi"}}})).await;
    eventually(LONG, "another Workspace", async || {
        let now = scene.uids().await;
        if now.get("b").is_some_and(|uid| *uid != before["b"]) { Ok(()) } else { Err(operator.end_of_log()) }
    })
    .await;
    scene.serve("b").await;
    scene.namespace.until_phase("b", "Running").await;
    scene.until_state("b", "").await;
}

#[tokio::test]
async fn failing_recreations_pause_the_queue() {
    let Some(scene) = Scene::start().await else { return };
    let options = scene.options().flag("--recreate-deadline", "3s").flag("--resync", "5s");
    let operator = options.start_ready(&scene.plane, "paused").await;
    let names = ["a", "b", "c", "d", "e"];
    scene.deploy(&names).await;
    scene.write_options(MIRROR);
    // None of the new Workspaces becomes ready.
    let paused = eventually(LONG, "a paused queue", async || {
        let mut paused = Vec::new();
        for name in names {
            let state = scene.state(name).await;
            if state == "Paused" {
                paused.push(name);
            }
        }
        if paused.len() == 2 { Ok(paused) } else { Err(format!("{paused:?} {}", operator.end_of_log())) }
    })
    .await;
    let message = scene.namespace.until_event(paused[0], "Warning", "RecreationPaused").await;
    assert!(message.starts_with("the last recreations were not ready within 3s (ml/"), "{message}");
    // The provider says so too.
    eventually(LONG, "a paused provider", async || {
        let config = scene.namespace.get(PROVIDER_CONFIG, "kaito").await;
        let condition = condition(&config, "RecreationsPaused").unwrap_or_default();
        let names_one = condition["message"].as_str().is_some_and(|message| message.contains("(ml/"));
        if condition["status"] == "True" && names_one { Ok(()) } else { Err(config["status"].to_string()) }
    })
    .await;
    for name in &paused {
        operator.look_at(&scene.namespace, DEPLOYMENT, name, &["kaito"]).await;
        assert_eq!(scene.state(name).await, "Paused");
    }
    // One is ready after all, so the next one is recreated.
    let failed = names.into_iter().find(|name| !paused.contains(name)).unwrap();
    scene.serve(failed).await;
    scene.until_state(failed, "Recreated").await;
    eventually(LONG, "the queue goes on", async || {
        let (first, second) = (scene.state(paused[0]).await, scene.state(paused[1]).await);
        let goes_on = [first.as_str(), second.as_str()].iter().any(|state| ["Recreating", "NotReady"].contains(state));
        if goes_on { Ok(()) } else { Err(format!("{first} {second}")) }
    })
    .await;
}

/// Writes a Workspace as another version of the operator rendered it: from another image, with the hash of that.
async fn render_as_another_version(scene: &Scene, name: &str) {
    let live = scene.namespace.get(WORKSPACE, name).await;
    let (image, version) = ("ghcr.io/sozercan/llama-cpp-runner:latest", "ghcr.io/sozercan/llama-cpp-runner:before");
    let mut object: Value = serde_json::from_str(&live.to_string().replace(image, version)).unwrap();
    assert!(object.to_string().contains(version), "{object}");
    object.as_object_mut().unwrap().remove("status");
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.retain(|field, _| ["name", "labels", "annotations", "ownerReferences"].contains(&field.as_str()));
    metadata["annotations"]["kubefoundry.ai/rendered-hash"] = json!("0123456789abcdef");
    scene.namespace.apply_as("kaito-provider", WORKSPACE, &object).await.unwrap();
}

#[tokio::test]
async fn another_version_of_the_operator_recreates_one_deployment_at_a_time() {
    let Some(scene) = Scene::start().await else { return };
    let mut operator = scene.options().start_ready(&scene.plane, "upgraded").await;
    let names = ["a", "b"];
    scene.deploy(&names).await;
    let before = scene.uids().await;
    operator.kill().await;
    for name in names {
        render_as_another_version(&scene, name).await;
    }
    operator.restart();
    // One waits while the other is recreated.
    let (first, second) = eventually(LONG, "one recreated, and one queued", async || {
        let states = [scene.state("a").await, scene.state("b").await];
        match [states[0].as_str(), states[1].as_str()] {
            ["Recreating", "Queued"] => Ok(("a", "b")),
            ["Queued", "Recreating"] => Ok(("b", "a")),
            states => Err(format!("{states:?}\n{}", operator.end_of_log())),
        }
    })
    .await;
    let pending = scene.namespace.get(DEPLOYMENT, second).await;
    assert_eq!(pending["status"]["phase"], "Running");
    let message = condition(&pending, "PendingRecreate").unwrap()["message"].to_string();
    assert!(message.contains("though not for an edit"), "{message}");
    assert_eq!(scene.uids().await[second], before[second]);
    for name in [first, second] {
        eventually(LONG, &format!("another Workspace of {name}"), async || {
            let now = scene.uids().await;
            let is_new = now.get(name).is_some_and(|uid| *uid != before[name]);
            if is_new { Ok(()) } else { Err(format!("{now:?}\n{}", operator.end_of_log())) }
        })
        .await;
        scene.serve(name).await;
        scene.until_state(name, "Recreated").await;
        let workspace = scene.namespace.get(WORKSPACE, name).await.to_string();
        assert!(!workspace.contains("llama-cpp-runner:before"), "{workspace}");
    }
}

/// A changed InferenceProviderConfig decides which provider new deployments get. What runs was rendered without it, so a
/// change of it alone makes no recreation necessary, and none is queued.
#[tokio::test]
async fn a_changed_provider_configuration_recreates_nothing() {
    let Some(scene) = Scene::start().await else { return };
    let operator = scene.options().flag("--recreate", "approve").start_ready(&scene.plane, "reconfigured").await;
    let names = ["a", "b"];
    scene.deploy(&names).await;
    let before = scene.uids().await;
    let namespace = &scene.namespace;
    // Another provider, preferred for everything.
    let spec = |engines: &[&str]| {
        json!({
            "capabilities": {"engines": engines, "servingModes": ["aggregated"], "gpuSupport": true, "cpuSupport": true},
            "selectionRules": [{"condition": "true", "priority": 1000}],
        })
    };
    let _alive = namespace.register("preferred", &spec(&["llamacpp"])).await;
    let mut probes = 0;
    // Deploys another model, and returns the provider that is selected for it; null if there is none.
    let mut selected = async || {
        probes += 1;
        let name = format!("probe-{probes}");
        let probe = json!({
            "model": {"id": "org/phi"}, "engine": {"type": "llamacpp"},
            "resources": {"gpu": {"count": 0}, "memory": "16Gi"}, "image": "ghcr.io/sozercan/llama-cpp-runner:latest",
        });
        namespace.deploy(&name, &probe).await;
        let mut deployment = namespace
            .until(DEPLOYMENT, &name, "decided", |deployment| match condition(deployment, "ProviderSelected") {
                Some(_) => Ok(()),
                None => Err(deployment["status"].to_string()),
            })
            .await;
        deployment["status"]["provider"]["name"].take()
    };
    eventually(LONG, "a new deployment of the preferred provider", async || match selected().await {
        chosen if chosen == "preferred" => Ok(()),
        chosen => Err(chosen.to_string()),
    })
    .await;
    // The built-in one can no longer run what it runs, until the operator writes its configuration at its next start.
    namespace.merge(PROVIDER_CONFIG, "kaito", &json!({"spec": spec(&["vllm"])})).await;
    namespace.delete(PROVIDER_CONFIG, "preferred").await;
    // One watch delivers both changes in their order, so what is decided by the second one knows the first one.
    eventually(LONG, "a new deployment of another provider", async || match selected().await {
        chosen if chosen == "preferred" => Err(chosen.to_string()),
        _ => Ok(()),
    })
    .await;
    for name in names {
        operator.look_at(namespace, DEPLOYMENT, name, &["core", "selector", "kaito"]).await;
        let deployment = namespace.get(DEPLOYMENT, name).await;
        let status = &deployment["status"];
        let runs_on = status["phase"] == "Running" && status["provider"]["name"] == "kaito";
        assert!(runs_on && state_of(&deployment).is_empty(), "{status}\n{}", operator.end_of_log());
    }
    let now = scene.uids().await;
    assert!(names.iter().all(|name| now.get(*name) == before.get(*name)), "{now:?}");
}
