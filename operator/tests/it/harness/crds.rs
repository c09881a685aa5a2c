//! The CRDs that tests install: those of KubeFoundry, and skeletons of the providers' CRDs.

use std::fs;
use std::path::{Path, PathBuf};

use kube::Client;
use kubefoundry_crd::upstream;
use kubefoundry_yaml as yaml;
use serde_json::Value;

use super::cluster::{Namespace, SOON, condition, kinds};
use super::{eventually, root};

/// A CRD of a provider: the kind as `group/Kind`, and the release if it is not the newest.
pub type UpstreamCrd = (&'static str, Option<&'static str>);

/// `Workspace` and `InferenceSet`.
pub const KAITO: &[UpstreamCrd] = &[WORKSPACE, ("kaito.sh/InferenceSet", None)];
/// `Workspace` alone.
pub const WORKSPACE: UpstreamCrd = ("kaito.sh/Workspace", None);
/// A release that serves both versions and stores `v1alpha1`, the CRD version that is written. A later release needs the
/// conversion webhook of Dynamo, without which the stored object would be empty.
pub const DYNAMO: &[UpstreamCrd] = &[("nvidia.com/DynamoGraphDeployment", Some("1.2.0"))];
/// A release before `v1beta1`.
pub const OLDEST_DYNAMO: &[UpstreamCrd] = &[("nvidia.com/DynamoGraphDeployment", Some("0.4.1"))];
/// `RayService`.
pub const KUBERAY: &[UpstreamCrd] = &[("ray.io/RayService", None)];

/// The kinds with which KEDA scales.
pub const KEDA: &[UpstreamCrd] = &[("keda.sh/ScaledObject", None), ("keda.sh/TriggerAuthentication", None)];
/// `LlamaStackDistribution`, as its own operator defines it.
pub const LLAMA_STACK: UpstreamCrd = ("llamastack.io/LlamaStackDistribution", None);

/// The CRD of a provider, built from its skeleton.
pub fn definition((kind, release): UpstreamCrd) -> Value {
    let (group, kind) = kind.split_once('/').unwrap();
    let skeleton = upstream::skeleton(group, kind, release).unwrap_or_else(|| panic!("no skeleton of {kind}"));
    assert!(release.is_none() || skeleton.origin().release == release, "no skeleton of {kind} {release:?}");
    skeleton.to_crd().unwrap()
}

/// Installs the CRDs of KubeFoundry for every API group.
pub async fn install_own(client: &Client) {
    let mut files: Vec<PathBuf> =
        fs::read_dir(root().join("schemas")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        for definition in documents(&file).into_iter().filter(|it| it["kind"] == "CustomResourceDefinition") {
            install_definition(client, definition).await;
        }
    }
}

/// Installs CRDs of providers.
pub async fn install(client: &Client, crds: &[UpstreamCrd]) {
    for crd in crds {
        install_definition(client, definition(*crd)).await;
    }
}

/// Installs the CRDs of all providers.
pub async fn install_upstream(client: &Client) {
    for crds in [KAITO, DYNAMO, KUBERAY] {
        install(client, crds).await;
    }
}

/// Installs a CRD.
pub async fn install_definition(client: &Client, mut definition: Value) {
    let cluster = Namespace { client: client.clone(), name: "default".to_owned() };
    // No conversion webhook runs in these tests.
    definition["spec"].as_object_mut().unwrap().remove("conversion");
    definition.as_object_mut().unwrap().remove("status");
    let name = definition["metadata"]["name"].as_str().unwrap().to_owned();
    cluster.apply(kinds::CRD, &definition).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    eventually(SOON, &format!("{name} established"), async || {
        let crd = cluster.get(kinds::CRD, &name).await;
        let established = condition(&crd, "Established").is_some_and(|condition| condition["status"] == "True");
        if established { Ok(()) } else { Err(crd["status"].to_string()) }
    })
    .await;
}

/// Removes a CRD, and waits until it is gone with all its objects.
pub async fn remove(client: &Client, name: &str) {
    let cluster = Namespace { client: client.clone(), name: "default".to_owned() };
    cluster.delete(kinds::CRD, name).await;
    cluster.until_gone(kinds::CRD, name).await;
}

/// The documents of a YAML file.
pub fn documents(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let parsed = yaml::parse(&text, &yaml::Limits::default());
    parsed.documents.iter().map(|document| document.root.to_json()).filter(|value| !value.is_null()).collect()
}
