//! The operator runs with exactly the permissions of its manifests, and users cannot use it to exceed their own
//! permissions.

mod lost;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::harness::cluster::{Namespace, condition, kinds};
use crate::harness::operator::{Operator, Options};
use crate::harness::world::{self, MAIN_KINDS, deployment, text};
use crate::harness::{ControlPlane, crds, eventually, free_port};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Error};
use kubefoundry_yaml as yaml;
use serde_json::{Value, json};

const LONG: Duration = Duration::from_secs(120);
const SYSTEM: &str = "kubefoundry-system";

/// A cluster with the manifests of the operator, but without its Deployment: the operator runs as a local process.
struct Scene {
    plane: ControlPlane,
    client: Client,
    namespace: Namespace,
    /// The user name of the service account: `system:serviceaccount:…`.
    account: String,
    options: Options,
}

async fn scene(name: &str, flags: &[&str], webhooks: bool) -> Option<Scene> {
    let plane = ControlPlane::start().await?;
    let client = plane.admin().await;
    crds::install_own(&client).await;
    crds::install_upstream(&client).await;
    let address = format!("127.0.0.1:{}", free_port());
    let mut accounts = Vec::new();
    for mut object in manifests(flags) {
        match text(&object, "/kind") {
            "ServiceAccount" => accounts.push(text(&object, "/metadata/name").to_owned()),
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
                if !webhooks {
                    continue;
                }
                reach_directly(&mut object, &address);
            }
            "Namespace" | "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding" => {}
            _ => continue,
        }
        install(&client, &object).await;
    }
    let [account] = accounts.as_slice() else { panic!("one account is expected, of {accounts:?}") };
    let kubeconfig = token_of(&plane, &client, account).await;
    let mut options = Options::default()
        .kubeconfig(&kubeconfig)
        .leader_election("15s")
        .flag("--stale-after", "10m")
        .flag("--webhook-address", &address)
        .flag("--webhook-url", &format!("https://{address}"));
    for flag in flags {
        options = options.switch(flag);
    }
    let namespace = Namespace::create(&client, name).await;
    let account = format!("system:serviceaccount:{SYSTEM}:{account}");
    Some(Scene { plane, client, namespace, account, options })
}

/// The objects that `manifests` prints.
pub(crate) fn manifests(flags: &[&str]) -> Vec<Value> {
    let program = Path::new(env!("CARGO_BIN_EXE_kubefoundry-operator"));
    let run = Command::new(program).args(["manifests", "--namespace", SYSTEM]).args(flags).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8(run.stdout).unwrap();
    let parsed = yaml::parse(&text, &yaml::Limits::default());
    let objects: Vec<Value> =
        parsed.documents.iter().map(|document| document.root.to_json()).filter(|value| !value.is_null()).collect();
    assert!(objects.len() > 5, "{text}");
    objects
}

/// Replaces the Service of a webhook configuration by a URL, because there is no Service here.
fn reach_directly(configuration: &mut Value, address: &str) {
    for webhook in configuration["webhooks"].as_array_mut().unwrap() {
        let path = text(webhook, "/clientConfig/service/path").to_owned();
        assert!(path.starts_with('/'), "{webhook}");
        webhook["clientConfig"] = json!({"url": format!("https://{address}{path}")});
    }
}

pub(crate) async fn install(client: &Client, object: &Value) {
    let api_version = text(object, "/apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text(object, "/kind")));
    let api: Api<DynamicObject> = match text(object, "/metadata/namespace") {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let name = text(object, "/metadata/name");
    let applied = api.patch(name, &PatchParams::apply("install").force(), &Patch::Apply(object)).await;
    applied.unwrap_or_else(|error| panic!("{} {name}: {error}", resource.kind));
}

/// Writes a kubeconfig with a token of a service account.
pub(crate) async fn token_of(plane: &ControlPlane, client: &Client, account: &str) -> PathBuf {
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": {"audiences": ["https://kubernetes.default.svc"], "expirationSeconds": 7200},
    });
    let path = format!("/api/v1/namespaces/{SYSTEM}/serviceaccounts/{account}/token");
    let post = http::Request::post(path).header("content-type", "application/json");
    let answer: Value = client.request(post.body(request.to_string().into_bytes()).unwrap()).await.unwrap();
    plane.kubeconfig_with_token(account, text(&answer, "/status/token"))
}

impl Scene {
    async fn deploy(&self, number: usize) {
        let deployments: Vec<Value> = (0..number).map(|number| deployment(&self.namespace.name, number)).collect();
        world::apply_all(&self.namespace, &deployments).await;
    }

    async fn until_settled(&self, operator: &Operator) {
        world::until_settled(&self.namespace, &[], operator, LONG).await;
    }

    /// Whether a user may do something, as the apiserver sees it.
    async fn may(&self, user: &str, (verb, group, resource, namespace, name): (&str, &str, &str, &str, &str)) -> bool {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let groups = match user.strip_prefix("system:serviceaccount:") {
            Some(_) => vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{SYSTEM}"),
                "system:authenticated".to_owned(),
            ],
            None => vec!["system:authenticated".to_owned()],
        };
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": user, "groups": groups, "resourceAttributes": {
                "verb": verb, "group": group, "resource": resource, "subresource": subresource,
                "namespace": namespace, "name": name,
            }},
        });
        let post = http::Request::post("/apis/authorization.k8s.io/v1/subjectaccessreviews");
        let post = post.header("content-type", "application/json").body(review.to_string().into_bytes()).unwrap();
        let answer: Value = self.client.request(post).await.unwrap();
        answer["status"]["allowed"] == true
    }

    /// Grants `plain-user` permissions in the namespace.
    async fn grant(&self, name: &str, group: &str, resources: &[&str], verbs: &[&str]) {
        let namespace = &self.namespace.name;
        install(
            &self.client,
            &json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                "metadata": {"name": name, "namespace": namespace},
                "rules": [{"apiGroups": [group], "resources": resources, "verbs": verbs}],
            }),
        )
        .await;
        install(
            &self.client,
            &json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                "metadata": {"name": name, "namespace": namespace},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "plain-user"}],
            }),
        )
        .await;
    }

    /// The namespace as `plain-user`, who has all permissions for ModelDeployments and no others.
    async fn plain_user(&self) -> Namespace {
        self.grant("models", "kubefoundry.ai", &["modeldeployments"], &["*"]).await;
        let user = self.namespace.with_client(&self.plane.plain_user().await);
        eventually(LONG, "the right in force", async || {
            user.api(kinds::DEPLOYMENT).list(&kube::api::ListParams::default()).await.map_err(|error| error.to_string())
        })
        .await;
        user
    }
}

/// Whether the apiserver answered 403 Forbidden.
fn is_forbidden<T>(answer: &Result<T, Error>) -> bool {
    matches!(answer, Err(Error::Api(status)) if status.code == 403)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_permissions_suffice_for_the_whole_lifecycle() {
    let Some(scene) = scene("life", &[], true).await else { return };
    let namespace = &scene.namespace;
    let operator = scene.options.start_ready(&scene.plane, "rights").await;
    eventually(LONG, "the webhooks reachable", async || {
        let right = deployment(&namespace.name, 0);
        namespace.apply(kinds::DEPLOYMENT, &right).await.map_err(|error| error.to_string())
    })
    .await;
    scene.deploy(5).await;
    scene.until_settled(&operator).await;
    world::serve_all(namespace).await.unwrap();
    scene.until_settled(&operator).await;

    // The webhooks work with these permissions: they refuse an invalid object.
    let refused = namespace.apply(kinds::DEPLOYMENT, &world::invalid(&namespace.name, "wrong")).await.unwrap_err();
    assert!(refused.to_string().contains("tensor-parallel-size"), "{refused}");

    // A missing Secret is reported, and then created.
    namespace
        .merge(kinds::DEPLOYMENT, "m-00001", &json!({"spec": {"secrets": {"huggingFaceToken": "hf-token"}}}))
        .await;
    let message = namespace.until_event("m-00001", "Warning", "SecretNotFound").await;
    assert_eq!(message, format!("Secret 'hf-token' not found in namespace '{}'", namespace.name));
    namespace
        .apply(kinds::SECRET, &json!({"metadata": {"name": "hf-token"}, "stringData": {"HF_TOKEN": "secret"}}))
        .await
        .unwrap();

    // Updates in place, a new model, a new provider, and drift.
    namespace.merge(kinds::DEPLOYMENT, "m-00002", &json!({"spec": {"scaling": {"replicas": 3}}})).await;
    namespace.merge(kinds::DEPLOYMENT, "m-00000", &json!({"spec": {"model": {"id": "org/other/model.gguf"}}})).await;
    namespace
        .merge(kinds::DEPLOYMENT, "m-00003", &json!({"spec": {"engine": {"args": {"gpu-memory-utilization": "0.8"}}}}))
        .await;
    scene.until_settled(&operator).await;
    namespace.merge(kinds::DEPLOYMENT, "m-00001", &json!({"spec": {"provider": {"name": "kuberay"}}})).await;
    scene.until_settled(&operator).await;
    let changed = json!({"metadata": {"labels": {"kubefoundry.ai/managed-by": "unknown"}}});
    namespace.merge(kinds::RAY_SERVICE, "m-00002", &changed).await;
    namespace.until_event("m-00002", "Warning", "DriftDetected").await;
    scene.until_settled(&operator).await;

    // A dry run, and a CRD that is removed and installed again.
    namespace.annotate(kinds::DEPLOYMENT, "m-00004", "kubefoundry.ai/dry-run", Some("true")).await;
    namespace
        .until(kinds::DEPLOYMENT, "m-00004", "with the result of a dry run", |deployment| {
            let result = &deployment["metadata"]["annotations"]["kubefoundry.ai/dry-run-result"];
            if result.is_string() { Ok(()) } else { Err(deployment["metadata"]["annotations"].to_string()) }
        })
        .await;
    namespace.annotate(kinds::DEPLOYMENT, "m-00004", "kubefoundry.ai/dry-run", None).await;
    crds::remove(&scene.client, "rayservices.ray.io").await;
    namespace.until_condition("m-00002", "ProviderCompatible", "False").await;
    crds::install(&scene.client, crds::KUBERAY).await;
    scene.until_settled(&operator).await;

    for number in 0..5 {
        namespace.delete(kinds::DEPLOYMENT, &format!("m-0000{number}")).await;
    }
    for number in 0..5 {
        namespace.until_gone(kinds::DEPLOYMENT, &format!("m-0000{number}")).await;
    }
    for kind in MAIN_KINDS {
        assert!(world::list(namespace, kind, "").await.unwrap().is_empty(), "{}", kind.kind);
    }

    // No request was forbidden.
    let forbidden = operator.metric("kubefoundry_reconciliation_errors_total", &[r#"error_type="forbidden""#]).await;
    assert!(forbidden < 1.0, "{forbidden}");
    let log = operator.log();
    // The apiserver's refusals name their reason. The code 403 would also match the microseconds of a time.
    let complaints: Vec<&str> = log.lines().filter(|line| line.to_lowercase().contains("forbidden")).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn other_actions_are_forbidden() {
    let Some(scene) = scene("outside", &[], true).await else { return };
    let name = scene.namespace.name.as_str();
    let outside = [
        ("list", "", "secrets", "", ""),
        ("watch", "", "secrets", "", ""),
        ("list", "", "secrets", name, ""),
        ("create", "", "secrets", name, ""),
        ("patch", "", "secrets", name, "a"),
        ("delete", "", "secrets", name, "a"),
        ("delete", "", "secrets", SYSTEM, "another"),
        ("patch", "", "secrets", SYSTEM, "another"),
        ("delete", "", "namespaces", "", name),
        ("patch", "", "namespaces", "", name),
        ("create", "", "namespaces", "", ""),
        ("get", "", "pods", name, "a"),
        ("create", "", "pods", name, ""),
        ("create", "", "pods/exec", name, "a"),
        ("create", "apps", "deployments", name, ""),
        ("delete", "", "persistentvolumeclaims", name, "a"),
        ("create", "kubefoundry.ai", "modeldeployments", name, ""),
        ("delete", "kubefoundry.ai", "modeldeployments", name, "a"),
        ("deletecollection", "kaito.sh", "workspaces", name, ""),
        ("patch", "kaito.sh", "workspaces/status", name, "a"),
        ("delete", "kubefoundry.ai", "inferenceproviderconfigs", "", "kaito"),
        ("patch", "apiextensions.k8s.io", "customresourcedefinitions", "", "workspaces.kaito.sh"),
        ("delete", "apiextensions.k8s.io", "customresourcedefinitions", "", "modeldeployments.kubefoundry.ai"),
        ("create", "rbac.authorization.k8s.io", "clusterrolebindings", "", ""),
        ("patch", "rbac.authorization.k8s.io", "clusterroles", "", "cluster-admin"),
        ("escalate", "rbac.authorization.k8s.io", "clusterroles", "", "cluster-admin"),
        ("impersonate", "", "users", "", "admin"),
        ("create", "", "serviceaccounts/token", SYSTEM, "a"),
        ("patch", "coordination.k8s.io", "leases", "kube-system", "a"),
        ("patch", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "another"),
        ("create", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "", ""),
        ("create", "authorization.k8s.io", "subjectaccessreviews", "", ""),
    ];
    for action in outside {
        assert!(!scene.may(&scene.account, action).await, "it may {action:?}");
    }
    // An allowed action, to show that the check works.
    assert!(scene.may(&scene.account, ("patch", "kaito.sh", "workspaces", name, "a")).await);

    // Real requests are refused as well.
    let token = token_of(&scene.plane, &scene.client, scene.account.rsplit(':').next().unwrap()).await;
    let config = kube::config::Kubeconfig::read_from(token).unwrap();
    let config =
        kube::Config::from_custom_kubeconfig(config, &kube::config::KubeConfigOptions::default()).await.unwrap();
    let operator = scene.namespace.with_client(&Client::try_from(config).unwrap());
    assert!(is_forbidden(&operator.api(kinds::SECRET).list(&kube::api::ListParams::default()).await));
    assert!(is_forbidden(&operator.api(kinds::NAMESPACE).delete(name, &kube::api::DeleteParams::default()).await));
}

/// Waits until deployments for Dynamo are refused, in a namespace that allows only KAITO. They get no objects.
async fn until_refused(scene: &Scene, operator: &Operator, names: &[&str]) {
    for name in names {
        scene
            .namespace
            .until(kinds::DEPLOYMENT, name, "refused", |deployment| {
                let refused = ["ProviderSelected", "ProviderCompatible"]
                    .iter()
                    .filter_map(|kind| condition(deployment, kind))
                    .any(|it| it["status"] == "False" && it["reason"] == "NotAllowed");
                if refused { Ok(()) } else { Err(format!("{}\n{}", deployment["status"], operator.end_of_log())) }
            })
            .await;
    }
    assert_without_dynamo(scene, operator, names).await;
}

/// Has every controller look at deployments once more, and checks that Dynamo creates nothing for them.
async fn assert_without_dynamo(scene: &Scene, operator: &Operator, names: &[&str]) {
    for name in names {
        let deployment = operator.look_at(&scene.namespace, kinds::DEPLOYMENT, name, &["core", "selector"]).await;
        // The controller of a provider looks at what is its own by the status.
        if text(&deployment, "/status/provider/name") == "dynamo" {
            operator.until_reconciled("dynamo", &deployment).await;
        }
    }
    let graphs = world::list(&scene.namespace, kinds::GRAPH, "").await.unwrap();
    assert!(graphs.is_empty(), "{graphs:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_allow_list_holds_without_the_webhook() {
    let Some(scene) = scene("allowed", &[], false).await else { return };
    let operator = scene.options.start_ready(&scene.plane, "allowed").await;
    let user = scene.plain_user().await;
    let name = scene.namespace.name.as_str();
    let key = "kubefoundry.ai/allowed-providers";
    let allowed = scene.namespace.annotate(kinds::NAMESPACE, name, key, Some("kaito")).await;
    operator.until_delivered(&kinds::NAMESPACE.watch(), &allowed).await;

    // The user has no direct access to the providers' objects or the namespace.
    assert!(is_forbidden(&user.apply(kinds::GRAPH, &json!({"metadata": {"name": "own"}, "spec": {}})).await));
    assert!(is_forbidden(&user.apply(kinds::WORKSPACE, &json!({"metadata": {"name": "own"}})).await));
    let open = json!({"metadata": {"name": name, "annotations": {"kubefoundry.ai/allowed-providers": "dynamo"}}});
    assert!(is_forbidden(&user.apply(kinds::NAMESPACE, &open).await));

    // Neither a named provider nor a forged status helps; writing a status needs the subresource.
    let mut named = deployment(name, 1);
    named["metadata"]["name"] = json!("named");
    named["spec"]["provider"] = json!({"name": "dynamo"});
    user.apply(kinds::DEPLOYMENT, &named).await.unwrap();
    let mut told = named.clone();
    told["metadata"]["name"] = json!("told");
    told["status"] = json!({"provider": {"name": "dynamo", "selectedReason": "because"}, "phase": "Running"});
    // Strict validation does not know a status in it as wrong; the subresource keeps it out.
    let _ = user.apply(kinds::DEPLOYMENT, &told).await;
    until_refused(&scene, &operator, &["named", "told"]).await;
    assert!(is_forbidden(
        &user
            .api(kinds::DEPLOYMENT)
            .patch_status("named", &PatchParams::default(), &Patch::Merge(json!({"status": {"phase": "Running"}})))
            .await
    ));

    // Permission to write the status does not help either.
    scene.grant("statuses", "kubefoundry.ai", &["modeldeployments/status"], &["*"]).await;
    let status = json!({"status": {"provider": {"name": "dynamo", "selectedReason": "because"}}});
    eventually(LONG, "the status written", async || {
        let patched =
            user.api(kinds::DEPLOYMENT).patch_status("named", &PatchParams::default(), &Patch::Merge(&status)).await;
        patched.map_err(|error| error.to_string())
    })
    .await;
    until_refused(&scene, &operator, &["named"]).await;

    // The selector chooses an allowed provider or none.
    let mut selected = deployment(name, 1);
    selected["metadata"]["name"] = json!("selected");
    user.apply(kinds::DEPLOYMENT, &selected).await.unwrap();
    user.apply(kinds::DEPLOYMENT, &deployment(name, 0)).await.unwrap();
    scene.namespace.until_condition("m-00000", "ResourceCreated", "True").await;
    eventually(LONG, "the selected one decided", async || {
        let deployment = scene.namespace.get(kinds::DEPLOYMENT, "selected").await;
        let chosen = text(&deployment, "/status/provider/name").to_owned();
        let is_refused = condition(&deployment, "ProviderSelected").is_some_and(|it| it["status"] == "False");
        if chosen == "kaito" || is_refused { Ok(()) } else { Err(deployment["status"].to_string()) }
    })
    .await;
    assert_without_dynamo(&scene, &operator, &["selected"]).await;

    // After a change of the list, the objects are created.
    scene.namespace.annotate(kinds::NAMESPACE, name, key, Some("kaito,dynamo")).await;
    scene.namespace.until_condition("named", "ResourceCreated", "True").await;
    scene.namespace.until_exists(kinds::GRAPH, "named").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_webhook_checks_the_access_of_the_user() {
    let Some(scene) = scene("access", &["--check-access"], true).await else { return };
    let operator = scene.options.start_ready(&scene.plane, "access").await;
    let user = scene.plain_user().await;
    let name = scene.namespace.name.as_str();
    assert!(scene.may(&scene.account, ("create", "authorization.k8s.io", "subjectaccessreviews", "", "")).await);
    let refusal = async |deployment: &Value, expected: &str| {
        eventually(LONG, "a refusal", async || match user.apply(kinds::DEPLOYMENT, deployment).await {
            Err(error) if error.to_string().contains(expected) => Ok(()),
            other => Err(format!("{other:?}\n{}", operator.end_of_log())),
        })
        .await;
    };
    // Without the permission to create a Workspace, the user cannot create one through a model.
    refusal(&deployment(name, 0), "workspaces").await;
    refusal(&deployment(name, 1), "dynamographdeployments").await;
    assert!(world::list(&scene.namespace, kinds::DEPLOYMENT, "").await.unwrap().is_empty());
    scene.grant("workspaces", "kaito.sh", &["workspaces"], &["create"]).await;
    eventually(LONG, "a model of KAITO", async || {
        user.apply(kinds::DEPLOYMENT, &deployment(name, 0)).await.map_err(|error| error.to_string())
    })
    .await;
    refusal(&deployment(name, 1), "dynamographdeployments").await;
    scene.namespace.until_condition("m-00000", "ResourceCreated", "True").await;
    // So are the objects that support the provider's, such as the claim of a volume.
    let mut with_claim = deployment(name, 0);
    with_claim["metadata"]["name"] = json!("with-claim");
    with_claim["spec"]["model"]["storage"] =
        json!({"volumes": [{"name": "weights", "purpose": "modelCache", "size": "10Gi"}]});
    refusal(&with_claim, "persistentvolumeclaims in namespace").await;
    assert!(world::list(&scene.namespace, kinds::CLAIM, "").await.unwrap().is_empty());
    refusal(&deployment(name, 3), "configmaps in namespace").await;
    scene.grant("configmaps", "", &["configmaps"], &["create"]).await;
    // A change of the provider is checked as well.
    eventually(LONG, "a model of KAITO with a ConfigMap", async || {
        user.apply(kinds::DEPLOYMENT, &deployment(name, 3)).await.map_err(|error| error.to_string())
    })
    .await;
    let moved = json!({"spec": {
        "provider": {"name": "kuberay", "overrides": null},
        "resources": {"gpu": {"count": 1}, "memory": "32Gi", "cpu": "8"},
    }});
    let moved = user.api(kinds::DEPLOYMENT).patch("m-00003", &PatchParams::default(), &Patch::Merge(moved)).await;
    assert!(moved.as_ref().is_err_and(|error| error.to_string().contains("rayservices")), "{moved:?}");
    // The administrator has the permission.
    scene.namespace.apply(kinds::DEPLOYMENT, &deployment(name, 1)).await.unwrap();
    scene.namespace.until_condition("m-00001", "ResourceCreated", "True").await;
}
