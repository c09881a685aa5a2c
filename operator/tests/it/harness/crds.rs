//! The CRDs that tests install: ours, and skeletons of those of the providers.

use std::fs;
use std::path::{Path, PathBuf};

use kube::Client;
use kubefoundry_upstream as upstream;
use kubefoundry_yaml as yaml;
use serde_json::Value;

use super::cluster::{Namespace, SOON, condition, kinds};
use super::{eventually, root};

/// A CRD of upstream: the kind as `group/Kind`, and the release, where that is not the newest.
pub type Upstream = (&'static str, Option<&'static str>);

/// `Workspace` and `InferenceSet`.
pub const KAITO: &[Upstream] = &[WORKSPACE, ("kaito.sh/InferenceSet", None)];
/// `Workspace` alone.
pub const WORKSPACE: Upstream = ("kaito.sh/Workspace", None);
/// One that serves both versions and stores `v1alpha1`, the one that is written: without the conversion webhook of Dynamo,
/// a later one keeps nothing of it.
pub const DYNAMO: &[Upstream] = &[("nvidia.com/DynamoGraphDeployment", Some("1.2.0"))];
/// One of before there was `v1beta1`.
pub const OLDEST_DYNAMO: &[Upstream] = &[("nvidia.com/DynamoGraphDeployment", Some("0.4.1"))];
/// `RayService`.
pub const KUBERAY: &[Upstream] = &[("ray.io/RayService", None)];

/// A CRD of upstream, as its skeleton has it.
pub fn definition((kind, release): Upstream) -> Value {
    let (group, kind) = kind.split_once('/').unwrap();
    let skeleton = upstream::skeleton(group, kind, release).unwrap_or_else(|| panic!("no skeleton of {kind}"));
    assert!(release.is_none() || skeleton.origin().release == release, "no skeleton of {kind} {release:?}");
    skeleton.to_crd().unwrap()
}

/// Installs our CRDs of every group.
pub async fn install_ours(client: &Client) {
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

/// Installs CRDs of upstream.
pub async fn install(client: &Client, crds: &[Upstream]) {
    for crd in crds {
        install_definition(client, definition(*crd)).await;
    }
}

/// Installs those of every provider.
pub async fn install_upstream(client: &Client) {
    for crds in [KAITO, DYNAMO, KUBERAY] {
        install(client, crds).await;
    }
}

async fn install_definition(client: &Client, mut definition: Value) {
    let cluster = Namespace { client: client.clone(), name: "default".to_owned() };
    // Nothing here answers for conversion.
    definition["spec"].as_object_mut().unwrap().remove("conversion");
    definition.as_object_mut().unwrap().remove("status");
    let name = definition["metadata"]["name"].as_str().unwrap().to_owned();
    cluster.apply(kinds::CRD, &definition).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    eventually(SOON, &format!("{name} established"), async || {
        let found = cluster.get(kinds::CRD, &name).await;
        let established = condition(&found, "Established").is_some_and(|condition| condition["status"] == "True");
        if established { Ok(()) } else { Err(found["status"].to_string()) }
    })
    .await;
}

/// Removes a CRD, and waits until it is gone with all its objects.
pub async fn remove(client: &Client, name: &str) {
    let cluster = Namespace { client: client.clone(), name: "default".to_owned() };
    cluster.delete(kinds::CRD, name).await;
    cluster.until_gone(kinds::CRD, name).await;
}

/// The documents of a file of YAML.
pub fn documents(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let parsed = yaml::parse(&text, &yaml::Limits::default());
    parsed.documents.iter().map(|document| document.root.to_json()).filter(|value| !value.is_null()).collect()
}
