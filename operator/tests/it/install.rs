//! `install`, `upgrade` and `uninstall`, against a real apiserver. One test: they work on the whole cluster.

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

/// What the program said, and how it ended.
struct Said {
    status: i32,
    lines: Vec<String>,
    errors: String,
}

impl Said {
    /// Whether each line that it printed ends like this, of which there is at least one.
    fn all(&self, end: &str) -> bool {
        !self.lines.is_empty() && self.lines.iter().all(|line| line.ends_with(end))
    }

    fn has(&self, line: &str) -> bool {
        self.lines.iter().any(|said| said == line)
    }
}

fn operator(kubeconfig: &Path, arguments: &[&str]) -> Said {
    let mut program = Command::new(env!("CARGO_BIN_EXE_kubefoundry-operator"));
    let Output { status, stdout, stderr } =
        program.args(arguments).arg("--kubeconfig").arg(kubeconfig).output().unwrap();
    let said = Said {
        status: status.code().unwrap(),
        lines: String::from_utf8(stdout).unwrap().lines().map(ToOwned::to_owned).collect(),
        errors: String::from_utf8(stderr).unwrap(),
    };
    println!("{arguments:?}: {}\n{}\n{}", said.status, said.lines.join("\n"), said.errors);
    said
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
async fn a_cluster_is_installed_upgraded_and_left_as_it_was() {
    let Some(plane) = ControlPlane::start().await else { return };
    let client = plane.admin().await;
    let run = |arguments: &[&str]| operator(plane.kubeconfig(), arguments);
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let configurations: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());

    // Nothing to upgrade, and nothing to remove.
    assert_eq!(run(&["upgrade"]).status, 1);
    assert_eq!(run(&["uninstall"]).status, 0);

    // A dry run says what would be, and what could not be checked, and does nothing.
    let said = run(&["install", "--dry-run"]);
    assert_eq!(said.status, 0);
    assert!(said.all("created (server dry run)"));
    assert!(said.errors.contains("namespace kubefoundry-system does not exist yet"), "{}", said.errors);
    assert!(names(crds.clone()).await.is_empty() && names(deployments.clone()).await.is_empty());

    // Without rights nothing happens, and that is said.
    let said = run(&["install", "--context", "plain-user"]);
    assert_eq!((said.status, said.lines.len()), (1, 0));
    assert!(said.errors.contains("forbidden"), "{}", said.errors);

    // All of it; a second time there is nothing to do.
    let said = run(&["install", "--no-webhooks"]);
    assert_eq!(said.status, 0);
    assert!(said.all("created"));
    assert!(said.has("deployment.apps/kubefoundry-controller created"));
    let said = run(&["install", "--no-webhooks"]);
    assert_eq!(said.status, 0);
    assert!(said.all("unchanged"));
    assert_eq!(names(crds.clone()).await.len(), 2);

    // What others have set is not taken without asking; options are never.
    let scale = Patch::Merge(json!({"spec": {"replicas": 3}}));
    deployments.patch("kubefoundry-controller", &PatchParams::apply("somebody"), &scale).await.unwrap();
    let options = json!({"data": {"kubefoundry.yaml": "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nstrict: true\n"}});
    configurations.patch("kubefoundry-config", &PatchParams::apply("somebody"), &Patch::Merge(options)).await.unwrap();
    let said = run(&["install", "--no-webhooks"]);
    assert_eq!((said.status, said.lines.len()), (1, 0));
    assert!(said.errors.contains("somebody") && said.errors.contains("--force-conflicts"), "{}", said.errors);
    assert!(said.errors.contains("nothing was changed"), "{}", said.errors);
    let said = run(&["install", "--no-webhooks", "--force-conflicts"]);
    assert_eq!(said.status, 0);
    assert!(said.has("deployment.apps/kubefoundry-controller configured"));
    let kept = configurations.get("kubefoundry-config").await.unwrap().data.unwrap();
    assert!(kept["kubefoundry.yaml"].contains("strict: true"));

    // Upgrades remove what is ours and no part of the version or the layout, and nothing else.
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {
        "name": "theirs", "labels": {"app.kubernetes.io/part-of": "kubefoundry"}}});
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
    accounts.patch("theirs", &PatchParams::apply("somebody"), &Patch::Apply(account)).await.unwrap();
    let said = run(&["upgrade", "--roles", "split", "--dry-run"]);
    assert_eq!(said.status, 0);
    assert!(said.has("deployment.apps/kubefoundry-controller deleted (server dry run)"));
    assert_eq!(names(deployments.clone()).await, ["kubefoundry-controller"]);
    let said = run(&["upgrade", "--roles", "split"]);
    assert_eq!(said.status, 0);
    assert!(said.has("deployment.apps/kubefoundry-controller deleted"));
    assert!(said.has("configmap/kubefoundry-config unchanged"));
    let split = ["dynamo-provider", "kaito-provider", "kubefoundry-core", "kuberay-provider", "provider-selector"];
    assert_eq!(names(deployments.clone()).await, split);
    assert!(names(accounts.clone()).await.contains(&"theirs".to_owned()));
    assert_eq!(names(webhooks.clone()).await, ["kubefoundry"]);
    let said = run(&["upgrade", "--no-webhooks"]);
    assert_eq!(said.status, 0);
    assert_eq!(said.lines[0], "validatingwebhookconfiguration.admissionregistration.k8s.io/kubefoundry deleted");
    assert!(names(webhooks).await.is_empty());
    assert_eq!(names(deployments.clone()).await, ["kubefoundry-controller"]);

    // Deployments and others' configurations are not lost with a CRD.
    let deployment = custom(&client, "ModelDeployment", "modeldeployments", Some("default"));
    let phi = json!({"apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
        "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}}});
    deployment.patch("phi", &PatchParams::apply("somebody"), &Patch::Apply(phi)).await.unwrap();
    let edge = json!({"apiVersion": "kubefoundry.ai/v1alpha1", "kind": "InferenceProviderConfig", "metadata": {"name": "edge"},
        "spec": {"capabilities": {"engines": ["vllm"], "servingModes": ["aggregated"]}}});
    let configs = custom(&client, "InferenceProviderConfig", "inferenceproviderconfigs", None);
    configs.patch("edge", &PatchParams::apply("somebody"), &Patch::Apply(edge)).await.unwrap();
    let said = run(&["uninstall", "--delete-crds"]);
    assert_eq!((said.status, said.lines.len()), (1, 0));
    assert!(said.errors.contains("1 ModelDeployment, such as default/phi"), "{}", said.errors);
    assert!(said.errors.contains("InferenceProviderConfig edge"), "{}", said.errors);
    assert_eq!(names(deployments.clone()).await, ["kubefoundry-controller"]);

    // Without the CRDs everything goes but them, what is in them, and the namespace.
    let said = run(&["uninstall", "--dry-run"]);
    assert_eq!(said.status, 0);
    assert!(said.all("deleted (server dry run)"));
    assert_eq!(names(deployments.clone()).await, ["kubefoundry-controller"]);
    let said = run(&["uninstall"]);
    assert_eq!(said.status, 0);
    assert!(said.all("deleted"));
    assert!(said.errors.contains("left behind: 1 ModelDeployment, "), "{}", said.errors);
    assert!(names(deployments).await.is_empty());
    assert!(names(Api::<ClusterRole>::all(client.clone())).await.is_empty());
    assert_eq!(names(accounts).await, ["theirs"]);
    assert!(deployment.get_opt("phi").await.unwrap().is_some());
    assert_eq!(names(Api::<Namespace>::all(client.clone())).await, [NAMESPACE]);

    // With nobody left to lose anything, all of it.
    deployment.delete("phi", &DeleteParams::default()).await.unwrap();
    configs.delete("edge", &DeleteParams::default()).await.unwrap();
    let said = run(&["uninstall", "--delete-crds", "--delete-namespace"]);
    assert_eq!(said.status, 0);
    assert!(said.has("customresourcedefinition.apiextensions.k8s.io/modeldeployments.kubefoundry.ai deleted"));
    assert!(said.has("namespace/kubefoundry-system deleted"));
    assert!(names(crds).await.is_empty());

    // There is nobody to ask.
    let nowhere = Path::new("/nonexistent");
    assert_eq!(operator(nowhere, &["install"]).status, 2);
    assert_eq!(run(&["install", "--context", "nobody"]).status, 2);
}
