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
    let run = |arguments: &[&str]| operator(plane.kubeconfig(), arguments);
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let configurations: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());

    // There is nothing to upgrade or to remove.
    assert_eq!(run(&["upgrade"]).status, 1);
    assert_eq!(run(&["uninstall"]).status, 0);

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
    let output = run(&["upgrade", "--roles", "split"]);
    assert_eq!(output.status, 0);
    assert!(output.has_line("deployment.apps/kubefoundry-controller deleted"));
    assert!(output.has_line("configmap/kubefoundry-config unchanged"));
    let split = ["dynamo-provider", "kaito-provider", "kubefoundry-core", "kuberay-provider", "provider-selector"];
    assert_eq!(names(deployments.clone()).await, split);
    assert!(names(accounts.clone()).await.contains(&"user-account".to_owned()));
    assert_eq!(names(webhooks.clone()).await, ["kubefoundry"]);
    let output = run(&["upgrade", "--no-webhooks"]);
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
    assert_eq!(operator(nowhere, &["install"]).status, 2);
    assert_eq!(run(&["install", "--context", "unknown"]).status, 2);
}
