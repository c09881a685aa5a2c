//! The CRDs that tests install: ours, and those of the providers from `../shared/crds`.

use std::fs;
use std::path::{Path, PathBuf};

use kube::Client;
use kubefoundry::yaml;
use serde_json::Value;

use super::cluster::{Namespace, SOON, condition, kinds};
use super::{eventually, root};

/// Files of CRDs by what they are about, in `../shared/crds`.
pub const KAITO: &[&str] = &["kaito.sh_workspaces.yaml", "kaito.sh_inferencesets.yaml"];
/// One that serves both versions and stores `v1alpha1`, the one that is written: without the conversion webhook of
/// Dynamo, a later one keeps nothing of it.
pub const DYNAMO: &[&str] = &["older/nvidia.com_dynamographdeployments.2026-05-06.yaml"];
/// `RayService`.
pub const KUBERAY: &[&str] = &["ray.io_rayservices.yaml"];

/// The folder with the upstream CRDs.
pub fn folder() -> PathBuf {
    let folder = root().join("../shared/crds");
    assert!(folder.is_dir(), "{} is needed", folder.display());
    folder
}

/// Installs our CRDs of every group.
pub async fn install_ours(client: &Client) {
    let mut files: Vec<PathBuf> =
        fs::read_dir(root().join("schemas")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        install_file(client, &file).await;
    }
}

/// Installs upstream CRDs, by the names of their files.
pub async fn install(client: &Client, files: &[&str]) {
    for file in files {
        install_file(client, &folder().join(file)).await;
    }
}

/// Installs those of every provider.
pub async fn install_upstream(client: &Client) {
    for files in [KAITO, DYNAMO, KUBERAY] {
        install(client, files).await;
    }
}

async fn install_file(client: &Client, file: &Path) {
    let cluster = Namespace { client: client.clone(), name: "default".to_owned() };
    for mut definition in documents(file) {
        if definition["kind"] != "CustomResourceDefinition" {
            continue;
        }
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
