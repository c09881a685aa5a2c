//! The webhooks behind a real apiserver, as its clients see them.

use std::process::Command;
use std::time::Duration;

use crate::harness::cluster::kinds::{
    DEPLOYMENT, GRAPH, MUTATING, NAMESPACE, PROVIDER_CONFIG, SECRET, VALIDATING, WORKSPACE,
};
use crate::harness::cluster::{Namespace, SOON};
use crate::harness::operator::Options;
use crate::harness::shared::SharedNamespace;
use crate::harness::{ControlPlane, crds, eventually, free_port};
use kube::api::{Patch, PatchParams};
use kubefoundry_yaml as yaml;
use serde_json::{Value, json};

fn with_dynamo() -> Value {
    json!({"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}})
}

/// A part of the message with which [`invalid`] is refused.
const REASON: &str = "expected one of auto, Workspace, InferenceSet";

const LONG: Duration = Duration::from_secs(180);

/// The Secret with the certificate of the webhooks.
const SECRET_NAME: &str = "kubefoundry-webhooks-tls";

/// A specification with two mistakes that the CRD accepts.
fn invalid() -> Value {
    json!({
        "model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}},
        "provider": {"name": "kaito", "overrides": {"instanceType": "NC24 ads", "workload": "Deployment"}},
    })
}

/// A namespace of a cluster with webhooks. The namespace `before` has an invalid object from before their installation.
async fn namespace(name: &str) -> Option<SharedNamespace> {
    SharedNamespace::create("webhook", name, async |plane| {
        let client = plane.admin().await;
        crds::install_own(&client).await;
        crds::install_upstream(&client).await;
        Namespace::create(&client, "kubefoundry-system").await;
        let before = Namespace::create(&client, "before").await;
        before.deploy("invalid", &invalid()).await;
        // Certificates are renewed while the tests run. A third of this time is left for it, also on a busy machine.
        let operator = Options::default().flag("--certificate-lifetime", "60s").start(plane, "webhook");
        configure(&before, operator.webhook_address()).await;
        operator.until_ready().await;
        let mut attempt = 0;
        eventually(SOON, "an invalid object refused", async || {
            // A new name each time: an object that is already stored would not be refused.
            attempt += 1;
            let probe = json!({"metadata": {"name": format!("probe-{attempt}")}, "spec": invalid()});
            match before.apply(DEPLOYMENT, &probe).await {
                // Another error is possible until the providers have registered.
                Err(error) if error.to_string().contains(REASON) => Ok(()),
                Err(error) => Err(error.to_string()),
                Ok(_) => Err("it is accepted".to_owned()),
            }
        })
        .await;
        eventually(SOON, "Dynamo registered", async || {
            let mut probe = json!({"metadata": {"name": "probe"}, "spec": with_dynamo()});
            probe["spec"]["provider"] = json!({"name": "dynamo"});
            before.apply(DEPLOYMENT, &probe).await.map(|_| ()).map_err(|error| error.to_string())
        })
        .await;
        operator
    })
    .await
}

/// Applies the webhook configurations that `manifests` prints, for a server at this address outside of the cluster.
async fn configure(cluster: &Namespace, address: &str) {
    let printed = Command::new(env!("CARGO_BIN_EXE_kubefoundry-operator")).arg("manifests").output().unwrap();
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let text = String::from_utf8(printed.stdout).unwrap();
    let mut configured = 0;
    for document in yaml::parse(&text, &yaml::Limits::default()).documents {
        let mut object = document.root.to_json();
        let Some(kind) = [MUTATING, VALIDATING].into_iter().find(|kind| object["kind"] == kind.kind) else { continue };
        for webhook in object["webhooks"].as_array_mut().unwrap() {
            let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap().to_owned();
            webhook["clientConfig"] = json!({"url": format!("https://{address}{path}")});
        }
        cluster.apply(kind, &object).await.unwrap();
        configured += 1;
    }
    assert_eq!(configured, 2);
}

#[tokio::test]
async fn stores_defaults() {
    let Some(namespace) = namespace("defaults").await else { return };
    let deployment = namespace.deploy("phi", &with_dynamo()).await;
    let spec = &deployment["spec"];
    assert_eq!(spec["model"]["source"], "huggingface");
    assert_eq!(spec["serving"]["mode"], "aggregated");
    assert_eq!(spec["scaling"]["replicas"], 1);
    namespace.until_exists(GRAPH, "phi").await;
}

#[tokio::test]
async fn refuses_an_invalid_object_with_all_errors() {
    let Some(namespace) = namespace("refused").await else { return };
    let object = json!({"metadata": {"name": "phi"}, "spec": invalid()});
    let refused = namespace.apply(DEPLOYMENT, &object).await.unwrap_err().to_string();
    for expected in [REASON, "expected an instance type", "KF"] {
        assert!(refused.contains(expected), "{expected} is not in: {refused}");
    }
    assert_eq!(namespace.find(DEPLOYMENT, "phi").await, None);
    // An update is refused as well.
    namespace.deploy("phi", &with_dynamo()).await;
    let refused = namespace.apply(DEPLOYMENT, &object).await.unwrap_err().to_string();
    assert!(refused.contains(REASON), "{refused}");
}

#[tokio::test]
async fn clients_get_the_warnings_of_lint() {
    let Some(namespace) = namespace("warnings").await else { return };
    let object = json!({
        "apiVersion": DEPLOYMENT.api_version, "kind": "ModelDeployment", "metadata": {"name": "phi"},
        "spec": {
            "model": {"id": "/models/phi", "source": "custom", "servedName": "phi"}, "provider": {"name": "dynamo"},
            "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}, "image": "registry.example.com/vllm:1.4.0",
        },
    });
    let path = format!("/apis/{}/namespaces/{}/modeldeployments", DEPLOYMENT.api_version, namespace.name);
    let request = http::Request::post(path).header("Content-Type", "application/json");
    let request = request.body(kube::client::Body::from(object.to_string().into_bytes())).unwrap();
    let answer = namespace.client.send(request).await.unwrap();
    let (head, body) = answer.into_parts();
    let body = body.collect_bytes().await.unwrap();
    assert_eq!(head.status, 201, "{}", String::from_utf8_lossy(&body));
    let warnings: Vec<&str> = head.headers.get_all("warning").iter().map(|value| value.to_str().unwrap()).collect();
    assert!(warnings.iter().any(|warning| warning.contains("servedName is ignored for custom source")), "{warnings:?}");
}

/// As `kubectl scale` and a HorizontalPodAutoscaler do.
#[tokio::test]
async fn a_deployment_scales_unless_its_replicas_are_not_used() {
    let Some(namespace) = namespace("scaled").await else { return };
    let scale = async |name: &str, replicas: i32| {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        namespace.api(DEPLOYMENT).patch_scale(name, &PatchParams::default(), &patch).await
    };
    namespace.deploy("phi", &with_dynamo()).await;
    assert_eq!(namespace.api(DEPLOYMENT).get_scale("phi").await.unwrap().spec.unwrap().replicas, Some(1));
    scale("phi", 3).await.unwrap();
    namespace
        .until(GRAPH, "phi", "with three replicas", |graph| {
            let services = graph["spec"]["services"].as_object().unwrap();
            let is_scaled = services.values().any(|service| service["replicas"] == 3);
            if is_scaled { Ok(()) } else { Err(graph["spec"].to_string()) }
        })
        .await;
    assert!(scale("phi", -1).await.is_err());

    let role = json!({"gpu": {"count": 1}, "memory": "8Gi"});
    let disaggregated = json!({
        "model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "serving": {"mode": "disaggregated"},
        "scaling": {"prefill": role, "decode": role},
    });
    namespace.deploy("apart", &disaggregated).await;
    let refused = scale("apart", 3).await.unwrap_err().to_string();
    assert!(refused.contains("spec.scaling.prefill.replicas"), "{refused}");
}

#[tokio::test]
async fn refuses_a_provider_that_the_namespace_does_not_allow() {
    let Some(namespace) = namespace("forbidden").await else { return };
    namespace.annotate(NAMESPACE, "forbidden", "kubefoundry.ai/allowed-providers", Some("kaito")).await;
    let object = json!({"metadata": {"name": "phi"}, "spec": with_dynamo()});
    let mut explicit = object.clone();
    explicit["spec"]["provider"] = json!({"name": "dynamo"});
    eventually(SOON, "refused", async || match namespace.apply(DEPLOYMENT, &explicit).await {
        Err(error) if error.to_string().contains("kaito") && error.to_string().contains("dynamo") => Ok(()),
        Err(error) => panic!("{error}"),
        Ok(_) => {
            namespace.delete(DEPLOYMENT, "phi").await;
            Err("it is accepted".to_owned())
        }
    })
    .await;
    namespace.until_gone(DEPLOYMENT, "phi").await;
    assert_eq!(namespace.list(GRAPH).await, Vec::<Value>::new());
}

/// Users must be able to label and delete an invalid object that was stored before the webhook was installed.
#[tokio::test]
async fn an_invalid_object_that_is_stored_can_be_deleted() {
    let Some(other) = namespace("stored").await else { return };
    let before = Namespace { client: other.client.clone(), name: "before".to_owned() };
    before.merge(DEPLOYMENT, "invalid", &json!({"metadata": {"labels": {"team": "search"}}})).await;
    before.merge(DEPLOYMENT, "invalid", &json!({"metadata": {"finalizers": ["example.com/held"]}})).await;
    let deployment = before.until_phase("invalid", "Pending").await;
    assert!(deployment["status"]["message"].as_str().unwrap().contains(REASON));
    assert_eq!(before.find(WORKSPACE, "invalid").await, None);
    before.delete(DEPLOYMENT, "invalid").await;
    before.merge(DEPLOYMENT, "invalid", &json!({"metadata": {"finalizers": null}})).await;
    before.until_gone(DEPLOYMENT, "invalid").await;
}

/// Certificates live for a minute here. Every request is answered, with the old certificate or the new one.
#[tokio::test]
async fn renews_certificates_without_interruption() {
    let Some(namespace) = namespace("renewed").await else { return };
    let bundle = async || {
        let found = namespace.get(VALIDATING, "kubefoundry").await;
        found["webhooks"][0]["clientConfig"]["caBundle"].as_str().unwrap_or_default().to_owned()
    };
    let first = bundle().await;
    assert!(!first.is_empty());
    let mut bundles = vec![first];
    // The authority of a new certificate is added, and that of an old one removed.
    eventually(LONG, "a renewal", async || {
        let object = json!({"metadata": {"name": "phi"}, "spec": invalid()});
        let refused = namespace.apply(DEPLOYMENT, &object).await.unwrap_err().to_string();
        assert!(refused.contains(REASON), "after {} bundles: {refused}", bundles.len());
        let now = bundle().await;
        if bundles.last() != Some(&now) {
            bundles.push(now);
        }
        if bundles.len() > 2 { Ok(()) } else { Err(format!("{} bundles", bundles.len())) }
    })
    .await;
}

/// A pair of another authority in the Secret, as after a restore of a backup. Every request is answered.
#[tokio::test]
async fn serves_a_pair_of_another_authority_without_interruption() {
    let Some(plane) = ControlPlane::start_in_group("webhook-foreign-pair").await else { return };
    let client = plane.admin().await;
    crds::install_own(&client).await;
    crds::install_upstream(&client).await;
    let system = Namespace::create(&client, "kubefoundry-system").await;
    let namespace = Namespace::create(&client, "models").await;
    let data = async || system.get(SECRET, SECRET_NAME).await["data"].clone();
    let until_refusing = async || {
        eventually(SOON, "an invalid object refused", async || {
            let probe = json!({"metadata": {"name": "probe"}, "spec": invalid()});
            match namespace.apply(DEPLOYMENT, &probe).await {
                Err(error) if error.to_string().contains(REASON) => Ok(()),
                Err(error) => Err(error.to_string()),
                Ok(_) => {
                    namespace.delete(DEPLOYMENT, "probe").await;
                    Err("it is accepted".to_owned())
                }
            }
        })
        .await;
    };
    let options = Options::default().flag("--certificate-lifetime", "200s");
    let mut operator = options.start(&plane, "webhook-foreign-pair");
    configure(&system, operator.webhook_address()).await;
    operator.until_ready().await;
    until_refusing().await;
    let foreign = data().await;
    // The next process issues a pair of its own.
    operator.kill().await;
    system.delete(SECRET, SECRET_NAME).await;
    operator.restart();
    operator.until_ready().await;
    until_refusing().await;
    let own = data().await;
    assert_ne!(own["tls.crt"], foreign["tls.crt"]);

    system.merge(SECRET, SECRET_NAME, &json!({"data": foreign})).await;
    let bundle = async || {
        let found = namespace.get(VALIDATING, "kubefoundry").await;
        found["webhooks"][0]["clientConfig"]["caBundle"].as_str().unwrap_or_default().to_owned()
    };
    eventually(LONG, "the bundle of the pair alone", async || {
        let object = json!({"metadata": {"name": "phi"}, "spec": invalid()});
        let refused = namespace.apply(DEPLOYMENT, &object).await.unwrap_err().to_string();
        assert!(refused.contains(REASON), "{refused}");
        let now = bundle().await;
        if now == foreign["ca.crt"].as_str().unwrap() { Ok(()) } else { Err(now) }
    })
    .await;
    assert_eq!(data().await, foreign);
}

#[tokio::test]
async fn restores_a_removed_ca_bundle() {
    let Some(namespace) = namespace("bundle").await else { return };
    let mut stripped = namespace.get(MUTATING, "kubefoundry").await;
    stripped["webhooks"][0]["clientConfig"].as_object_mut().unwrap().remove("caBundle");
    namespace.merge(MUTATING, "kubefoundry", &json!({"webhooks": stripped["webhooks"]})).await;
    namespace
        .until(MUTATING, "kubefoundry", "with a bundle", |found| {
            let bundle = &found["webhooks"][0]["clientConfig"]["caBundle"];
            if bundle.as_str().is_some_and(|bundle| !bundle.is_empty()) { Ok(()) } else { Err(found.to_string()) }
        })
        .await;
}

/// Without the pod of core, which serves the webhooks, providers create and delete objects, and users can remove finalizers.
#[tokio::test]
async fn writes_that_are_not_reviewed_do_not_need_the_webhooks() {
    let Some(plane) = ControlPlane::start_in_group("webhook-away").await else { return };
    let client = plane.admin().await;
    crds::install_own(&client).await;
    crds::install_upstream(&client).await;
    Namespace::create(&client, "kubefoundry-system").await;
    let models = Namespace::create(&client, "models").await;
    let other = Namespace::create(&client, "other").await;
    let with_kaito = json!({
        "model": {"id": "microsoft/Phi-4-mini-instruct"},
        "provider": {"name": "kaito", "overrides": {"instanceType": "Standard_NC24ads_A100_v4"}},
        "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}},
    });
    let mut with_graph = with_dynamo();
    with_graph["provider"] = json!({"name": "dynamo"});
    // A provider must be registered, which creates an object that the webhooks review.
    let options = Options::default().roles("selector,kaito,dynamo");
    let mut providers = options.start_ready(&plane, "webhook-away").await;
    for name in ["kaito", "dynamo"] {
        models.until_exists(PROVIDER_CONFIG, name).await;
    }
    providers.kill().await;
    for namespace in [&models, &other] {
        namespace.deploy("on-kaito", &with_kaito).await;
        namespace.deploy("on-dynamo", &with_graph).await;
    }
    configure(&models, &format!("127.0.0.1:{}", free_port())).await;
    eventually(SOON, "a new deployment refused", async || {
        match models.apply(DEPLOYMENT, &json!({"metadata": {"name": "new"}, "spec": with_dynamo()})).await {
            Err(error) if error.to_string().contains("failed calling webhook") => Ok(()),
            Err(error) => Err(error.to_string()),
            Ok(_) => {
                models.delete(DEPLOYMENT, "new").await;
                Err("it is accepted".to_owned())
            }
        }
    })
    .await;

    // Each object is created after its finalizer.
    providers.restart();
    for namespace in [&models, &other] {
        namespace.until_exists(WORKSPACE, "on-kaito").await;
        namespace.until_exists(GRAPH, "on-dynamo").await;
    }
    models.patch_status(DEPLOYMENT, "on-dynamo", &json!({"message": "by hand"})).await;
    let changes = [
        json!({"metadata": {"labels": {"team": "search"}}}),
        json!({"metadata": {"annotations": {"kubefoundry.ai/dry-run": "true"}}}),
        json!({"spec": {"scaling": {"replicas": 2}}}),
    ];
    for change in changes {
        let patch = Patch::Merge(&change);
        let refused = models.api(DEPLOYMENT).patch("on-kaito", &PatchParams::default(), &patch).await.unwrap_err();
        assert!(refused.to_string().contains("failed calling webhook"), "{change}: {refused}");
    }
    models.delete(DEPLOYMENT, "on-kaito").await;
    models.until_gone(WORKSPACE, "on-kaito").await;
    models.until_gone(DEPLOYMENT, "on-kaito").await;
    models.delete(NAMESPACE, "models").await;
    models.until_gone(NAMESPACE, "models").await;

    // Without any part of the operator the finalizer can be removed by hand (docs/operator/troubleshoot.md).
    providers.kill().await;
    other.delete(DEPLOYMENT, "on-dynamo").await;
    other.merge(DEPLOYMENT, "on-dynamo", &json!({"metadata": {"finalizers": []}})).await;
    other.until_gone(DEPLOYMENT, "on-dynamo").await;
}
