//! `install`, `upgrade` and `uninstall` against a real apiserver. It is one test, because they change the whole cluster.

use std::path::Path;
use std::process::{Command, Output};

use crate::harness::ControlPlane;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

const NAMESPACE: &str = "kubefoundry-system";
const IMAGE: &str = "registry.example.com/kubefoundry-operator:1";

/// The output and exit code of the program.
struct CommandOutput {
    status: i32,
    lines: Vec<String>,
    errors: String,
}

impl CommandOutput {
    /// Whether there is at least one line, and every line ends with this text.
    fn all_end_with(&self, end: &str) -> bool {
        !self.lines.is_empty() && self.lines.iter().all(|line| line.ends_with(end))
    }

    fn has_line(&self, line: &str) -> bool {
        self.lines.iter().any(|printed| printed == line)
    }
}

fn operator(kubeconfig: &Path, arguments: &[&str]) -> CommandOutput {
    let mut program = Command::new(env!("CARGO_BIN_EXE_kubefoundry-operator"));
    let Output { status, stdout, stderr } =
        program.args(arguments).arg("--kubeconfig").arg(kubeconfig).output().unwrap();
    let output = CommandOutput {
        status: status.code().unwrap(),
        lines: String::from_utf8(stdout).unwrap().lines().map(ToOwned::to_owned).collect(),
        errors: String::from_utf8(stderr).unwrap(),
    };
    println!("{arguments:?}: {}\n{}\n{}", output.status, output.lines.join("\n"), output.errors);
    output
}

async fn names<K>(api: Api<K>) -> Vec<String>
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let ours = ListParams::default().labels("app.kubernetes.io/part-of=kubefoundry");
    api.list(&ours).await.unwrap().items.into_iter().map(|object| object.meta().name.clone().unwrap()).collect()
}

fn custom(client: &Client, kind: &str, plural: &str, namespace: Option<&str>) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: "kubefoundry.ai".into(),
        version: "v1alpha1".into(),
        api_version: "kubefoundry.ai/v1alpha1".into(),
        kind: kind.into(),
        plural: plural.into(),
    };
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

#[tokio::test]
async fn installs_upgrades_and_uninstalls() {
    let Some(plane) = ControlPlane::start().await else { return };
    let client = plane.admin().await;
    let run = |arguments: &[&str]| {
        let mut arguments = arguments.to_vec();
        if arguments[0] == "install" {
            arguments.extend(["--image", IMAGE]);
        }
        operator(plane.kubeconfig(), &arguments)
    };
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let configurations: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());

    // There is nothing to upgrade or to remove.
    assert_eq!(run(&["upgrade"]).status, 1);
    let output = run(&["uninstall"]);
    assert_eq!((output.status, output.lines.len()), (1, 0));
    assert!(output.errors.contains("nothing of kubefoundry in namespace kubefoundry-system"), "{}", output.errors);

    // Without an image that the cluster can pull, nothing would run.
    let output = operator(plane.kubeconfig(), &["install"]);
    assert_eq!((output.status, output.lines.len()), (2, 0));
    assert!(output.errors.contains("--image is required"), "{}", output.errors);

    // A dry run reports the changes and what it could not check, and changes nothing.
    let output = run(&["install", "--dry-run"]);
    assert_eq!(output.status, 0);
    assert!(output.all_end_with("created (server dry run)"));
    assert!(output.errors.contains("namespace kubefoundry-system does not exist yet"), "{}", output.errors);
    assert!(names(crds.clone()).await.is_empty() && names(deployments.clone()).await.is_empty());

    // Without permissions nothing is changed.
    let output = run(&["install", "--context", "plain-user"]);
    assert_eq!((output.status, output.lines.len()), (1, 0));
    assert!(output.errors.contains("forbidden"), "{}", output.errors);

    // The first run creates everything, the second changes nothing.
    let output = run(&["install", "--no-webhooks"]);
    assert_eq!(output.status, 0);
    assert!(output.all_end_with("created"));
    assert!(output.has_line("deployment.apps/kubefoundry-controller created"));
    let output = run(&["install", "--no-webhooks"]);
    assert_eq!(output.status, 0);
    assert!(output.all_end_with("unchanged"));
    assert_eq!(names(crds.clone()).await.len(), 2);

    // Fields of other managers need --force-conflicts. The options are never overwritten.
    let scale = Patch::Merge(json!({"spec": {"replicas": 3}}));
    deployments.patch("kubefoundry-controller", &PatchParams::apply("a-user"), &scale).await.unwrap();
    let options = json!({"data": {"kubefoundry.yaml": "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nstrict: true\n"}});
    configurations.patch("kubefoundry-config", &PatchParams::apply("a-user"), &Patch::Merge(options)).await.unwrap();
    let output = run(&["install", "--no-webhooks"]);
    assert_eq!((output.status, output.lines.len()), (1, 0));
    assert!(output.errors.contains("a-user") && output.errors.contains("--force-conflicts"), "{}", output.errors);
    assert!(output.errors.contains("nothing was changed"), "{}", output.errors);
    let output = run(&["install", "--no-webhooks", "--force-conflicts"]);
    assert_eq!(output.status, 0);
    assert!(output.has_line("deployment.apps/kubefoundry-controller configured"));
    let stored = configurations.get("kubefoundry-config").await.unwrap().data.unwrap();
    assert!(stored["kubefoundry.yaml"].contains("strict: true"));

    // Upgrades remove installed objects that are not part of the new layout, and nothing else.
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {
        "name": "user-account", "labels": {"app.kubernetes.io/part-of": "kubefoundry"}}});
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
    accounts.patch("user-account", &PatchParams::apply("a-user"), &Patch::Apply(account)).await.unwrap();
    let output = run(&["upgrade", "--roles", "split", "--dry-run"]);
    assert_eq!(output.status, 0);
    assert!(output.has_line("deployment.apps/kubefoundry-controller deleted (server dry run)"));
    assert_eq!(names(deployments.clone()).await, ["kubefoundry-controller"]);
    let output = run(&["upgrade", "--roles", "split", "--no-webhooks=false", "--no-wait"]);
    assert_eq!(output.status, 0);
    assert!(output.errors.contains("changes roles: all -> split"), "{}", output.errors);
    assert!(output.errors.contains("changes webhooks: off -> on"), "{}", output.errors);
    assert!(output.has_line("deployment.apps/kubefoundry-controller deleted"));
    assert!(output.has_line("configmap/kubefoundry-config unchanged"));
    let split = ["dynamo-provider", "kaito-provider", "kubefoundry-core", "kuberay-provider", "provider-selector"];
    assert_eq!(names(deployments.clone()).await, split);
    assert!(names(accounts.clone()).await.contains(&"user-account".to_owned()));
    assert_eq!(names(webhooks.clone()).await, ["kubefoundry"]);
    let output = run(&["upgrade", "--roles", "all", "--no-webhooks"]);
    assert_eq!(output.status, 0);
    assert_eq!(output.lines[0], "validatingwebhookconfiguration.admissionregistration.k8s.io/kubefoundry deleted");
    assert!(names(webhooks).await.is_empty());
    assert_eq!(names(deployments.clone()).await, ["kubefoundry-controller"]);

    // --delete-crds is refused while deployments or configurations of users exist.
    let deployment = custom(&client, "ModelDeployment", "modeldeployments", Some("default"));
    let phi = json!({"apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
        "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}}});
    deployment.patch("phi", &PatchParams::apply("a-user"), &Patch::Apply(phi)).await.unwrap();
    let edge = json!({"apiVersion": "kubefoundry.ai/v1alpha1", "kind": "InferenceProviderConfig", "metadata": {"name": "edge"},
        "spec": {"capabilities": {"engines": ["vllm"], "servingModes": ["aggregated"]}}});
    let configs = custom(&client, "InferenceProviderConfig", "inferenceproviderconfigs", None);
    configs.patch("edge", &PatchParams::apply("a-user"), &Patch::Apply(edge)).await.unwrap();
    let output = run(&["uninstall", "--delete-crds"]);
    assert_eq!((output.status, output.lines.len()), (1, 0));
    assert!(output.errors.contains("1 ModelDeployment, such as default/phi"), "{}", output.errors);
    assert!(output.errors.contains("InferenceProviderConfig edge"), "{}", output.errors);
    assert_eq!(names(deployments.clone()).await, ["kubefoundry-controller"]);

    // Without the flags, CRDs, their objects and the namespace stay.
    let output = run(&["uninstall", "--dry-run"]);
    assert_eq!(output.status, 0);
    assert!(output.all_end_with("deleted (server dry run)"));
    assert_eq!(names(deployments.clone()).await, ["kubefoundry-controller"]);
    let output = run(&["uninstall"]);
    assert_eq!(output.status, 0);
    assert!(output.all_end_with("deleted"));
    assert!(output.errors.contains("left behind: 1 ModelDeployment, "), "{}", output.errors);
    assert!(names(deployments).await.is_empty());
    assert!(names(Api::<ClusterRole>::all(client.clone())).await.is_empty());
    assert_eq!(names(accounts).await, ["user-account"]);
    assert!(deployment.get_opt("phi").await.unwrap().is_some());
    assert_eq!(names(Api::<Namespace>::all(client.clone())).await, [NAMESPACE]);

    // With the flags, everything is removed once no user object is left.
    deployment.delete("phi", &DeleteParams::default()).await.unwrap();
    configs.delete("edge", &DeleteParams::default()).await.unwrap();
    let output = run(&["uninstall", "--delete-crds", "--delete-namespace"]);
    assert_eq!(output.status, 0);
    assert!(output.has_line("customresourcedefinition.apiextensions.k8s.io/modeldeployments.kubefoundry.ai deleted"));
    assert!(output.has_line("namespace/kubefoundry-system deleted"));
    assert!(names(crds).await.is_empty());

    // The cluster cannot be reached.
    let nowhere = Path::new("/nonexistent");
    assert_eq!(operator(nowhere, &["install", "--image", IMAGE]).status, 2);
    assert_eq!(run(&["install", "--context", "unknown"]).status, 2);
}

/// What is cluster-wide belongs to one namespace, and the commands leave it alone for any other one.
#[tokio::test]
async fn another_namespace_is_left_alone() {
    let Some(plane) = ControlPlane::start().await else { return };
    let client = plane.admin().await;
    let run = |arguments: &[&str]| operator(plane.kubeconfig(), arguments);
    let roles = async || names(Api::<ClusterRole>::all(client.clone())).await;
    assert_eq!(run(&["install", "--image", IMAGE, "--no-wait"]).status, 0);
    let before = roles().await;
    assert!(!before.is_empty());

    // A misspelt namespace.
    for flags in [&[][..], &["--dry-run"], &["--delete-namespace"]] {
        let output = run(&[&["uninstall", "--namespace", "kubefoundry-elsewhere"], flags].concat());
        assert_eq!((output.status, output.lines.len()), (1, 0));
        let expected =
            ["nothing of kubefoundry in namespace kubefoundry-elsewhere", "installed in namespace kubefoundry-system"];
        assert!(expected.iter().all(|text| output.errors.contains(text)), "{}", output.errors);
    }
    // The same holds for a namespace that exists, and for everything that can be deleted.
    for flags in [&["--delete-namespace"][..], &["--delete-crds"]] {
        let output = run(&[&["uninstall", "--namespace", "default"], flags].concat());
        assert_eq!((output.status, output.lines.len()), (1, 0), "{flags:?}");
    }
    for command in ["install", "upgrade"] {
        let output = run(&[command, "--namespace", "other", "--image", IMAGE, "--force-conflicts", "--no-wait"]);
        assert_eq!((output.status, output.lines.len()), (1, 0));
        assert!(output.errors.contains("upgrade --namespace kubefoundry-system"), "{}", output.errors);
    }
    assert_eq!(roles().await, before);
    assert_eq!(names(Api::<ValidatingWebhookConfiguration>::all(client.clone())).await, ["kubefoundry"]);
    assert!(Api::<Namespace>::all(client.clone()).get_opt("other").await.unwrap().is_none());

    assert_eq!(run(&["uninstall"]).status, 0);
    assert!(roles().await.is_empty());
    assert_eq!(run(&["install", "--namespace", "other", "--image", IMAGE, "--no-wait"]).status, 0);
}

#[tokio::test]
async fn an_upgrade_keeps_the_shape_of_the_installation() {
    let Some(plane) = ControlPlane::start().await else { return };
    let client = plane.admin().await;
    let run = |arguments: &[&str]| operator(plane.kubeconfig(), arguments);
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let shape = async || {
        let spec = deployments.get("kubefoundry-controller").await.unwrap().spec.unwrap();
        json!({"replicas": spec.replicas, "pod": spec.template.spec})
    };
    let flags = [
        "install",
        "--image",
        IMAGE,
        "--no-wait",
        "--replicas=2",
        "--check-access",
        "--failure-policy=ignore",
        "--lease-duration=30s",
        "--resync=30m",
        "--finalizer-timeout=1m",
        "--stale-after=7m",
        "--concurrency=4",
        "--log=debug",
        "--requests=cpu=250m,memory=256Mi",
        "--limits=cpu=1,memory=1Gi",
        "--image-pull-secrets=pull",
        "--node-selector=pool=system",
        "--tolerations=dedicated=system:NoSchedule",
    ];
    assert_eq!(run(&flags).status, 0);
    let before = shape().await;
    let text = before.to_string();
    for expected in [
        "--lease-duration=30s",
        "--resync=30m",
        "--finalizer-timeout=1m",
        "--stale-after=7m",
        "--concurrency=4",
        "--log=debug",
        "\"memory\":\"256Mi\"",
        "\"memory\":\"1Gi\"",
        "\"name\":\"pull\"",
        "\"pool\":\"system\"",
        "\"effect\":\"NoSchedule\"",
        "--check-access",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    // Another user's argument is kept as well, and is not a conflict.
    let mut arguments = before["pod"]["containers"][0]["args"].as_array().unwrap().clone();
    arguments.push("--heartbeat-interval=20s".into());
    let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "operator", "args": arguments}]}}}});
    deployments.patch("kubefoundry-controller", &PatchParams::default(), &Patch::Strategic(patch)).await.unwrap();
    let before = shape().await;

    let output = run(&["upgrade", "--no-wait"]);
    assert_eq!(output.status, 0);
    assert!(output.all_end_with("unchanged"));
    assert!(!output.errors.contains("changes"), "{}", output.errors);
    let output = run(&["upgrade", "--no-wait", "--image", "registry.example.com/kubefoundry-operator:2"]);
    assert_eq!(output.status, 0);
    assert!(output.errors.contains("changes image: "), "{}", output.errors);
    let mut expected = before.clone();
    expected["pod"]["containers"][0]["image"] = "registry.example.com/kubefoundry-operator:2".into();
    assert_eq!(shape().await, expected);
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let policy = || async { webhooks.get("kubefoundry").await.unwrap().webhooks.unwrap()[0].failure_policy.clone() };
    assert_eq!(policy().await.as_deref(), Some("Ignore"));

    // A flag changes what it names, and the command says so. The arguments are one field, which the user owns now.
    let output = run(&[
        "upgrade",
        "--no-wait",
        "--check-access=false",
        "--replicas=1",
        "--failure-policy=fail",
        "--force-conflicts",
    ]);
    assert_eq!(output.status, 0);
    for line in ["check-access: on -> off", "replicas: 2 -> 1", "failure-policy: Ignore -> Fail"] {
        assert!(output.errors.contains(line), "{line}: {}", output.errors);
    }
    assert!(output.has_line("poddisruptionbudget.policy/kubefoundry-controller deleted"));
    assert_eq!(policy().await.as_deref(), Some("Fail"));
    assert!(shape().await.to_string().contains("--heartbeat-interval=20s"));
}

/// The manifests that kubectl has applied are those that `install` and `upgrade` apply.
#[tokio::test]
async fn applied_manifests_and_the_commands_agree() {
    let Some(plane) = ControlPlane::start().await else { return };
    let Ok(version) = Command::new("kubectl").args(["version", "--client"]).output() else {
        assert!(std::env::var_os("CI_OPERATOR").is_none(), "CI needs kubectl");
        return;
    };
    assert!(version.status.success());
    let printed = Command::new(env!("CARGO_BIN_EXE_kubefoundry-operator"))
        .args(["manifests", "--image", IMAGE, "--check-access"])
        .output()
        .unwrap();
    let file = plane.directory().join("manifests.yaml");
    std::fs::write(&file, printed.stdout).unwrap();
    // Twice, because kubectl sends objects of a namespace that it has just created.
    for _ in 0..2 {
        let applied = Command::new("kubectl")
            .args(["apply", "--server-side", "--kubeconfig"])
            .arg(plane.kubeconfig())
            .arg("--filename")
            .arg(&file)
            .output()
            .unwrap();
        assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    }
    let run = |arguments: &[&str]| operator(plane.kubeconfig(), arguments);
    for arguments in [&["install", "--image", IMAGE, "--check-access"][..], &["upgrade"]] {
        let output = run(arguments);
        assert_eq!(output.status, 0);
        assert!(output.all_end_with("unchanged"));
    }
}

/// Until a pod answers, the API server would refuse every ModelDeployment.
#[tokio::test]
async fn the_webhooks_are_installed_once_a_pod_answers() {
    let Some(plane) = ControlPlane::start().await else { return };
    let client = plane.admin().await;
    let run = |arguments: &[&str]| operator(plane.kubeconfig(), arguments);
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let output = run(&["install", "--image", IMAGE, "--wait", "1s"]);
    assert_eq!(output.status, 1);
    assert!(output.errors.contains("no pod is available after 1 seconds"), "{}", output.errors);
    assert!(names(webhooks.clone()).await.is_empty());
    assert_eq!(names(deployments.clone()).await, ["kubefoundry-controller"]);
    let deployment = custom(&client, "ModelDeployment", "modeldeployments", Some("default"));
    let phi = json!({"apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
        "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}}});
    deployment.patch("phi", &PatchParams::apply("a-user"), &Patch::Apply(phi)).await.unwrap();

    // There is no kubelet here, so the test reports the pod.
    let status = json!({"status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
        "availableReplicas": 1}});
    deployments.patch_status("kubefoundry-controller", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    let output = run(&["install", "--image", IMAGE, "--wait", "30s"]);
    assert_eq!(output.status, 0);
    assert!(output.has_line("validatingwebhookconfiguration.admissionregistration.k8s.io/kubefoundry created"));
    assert_eq!(names(webhooks).await, ["kubefoundry"]);
}

/// An older API server drops `matchConditions` from the webhooks.
#[test]
fn an_api_server_that_is_too_old_is_refused() {
    use std::io::{Read as _, Write as _};

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let body =
                json!({"major": "1", "minor": "27+", "gitVersion": "v1.27.16", "gitCommit": "", "gitTreeState": "",
                "buildDate": "", "goVersion": "", "compiler": "", "platform": ""})
                .to_string();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
            let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "old",
        "clusters": [{"name": "old", "cluster": {"server": server}}], "users": [{"name": "old", "user": {}}],
        "contexts": [{"name": "old", "context": {"cluster": "old", "user": "old"}}]});
    std::fs::write(&kubeconfig, config.to_string()).unwrap();
    for command in ["install", "upgrade"] {
        let output = operator(&kubeconfig, &[command, "--image", IMAGE]);
        assert_eq!(output.status, 1);
        assert!(output.errors.contains("Kubernetes 1.27+"), "{}", output.errors);
        assert!(output.errors.contains("1.28 or newer"), "{}", output.errors);
    }
}
