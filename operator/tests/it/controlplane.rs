//! Tests of the harness itself.

use crate::harness::cluster::{Namespace, kinds};
use crate::harness::{ControlPlane, crds};
use serde_json::json;

#[tokio::test]
async fn a_killed_control_plane_keeps_its_data_and_clients() {
    let Some(plane) = ControlPlane::start().await else { return };
    let namespace = Namespace::create(&plane.admin().await, "kept").await;
    crds::install_own(&namespace.client).await;
    crds::install_upstream(&namespace.client).await;
    let spec = json!({"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}});
    let before = namespace.deploy("phi", &spec).await;
    plane.restart().await;
    let after = namespace.get(kinds::DEPLOYMENT, "phi").await;
    assert_eq!(after["metadata"], before["metadata"]);
    let plain = namespace.with_client(&plane.plain_user().await);
    let refused = plain.api(kinds::DEPLOYMENT).get("phi").await.unwrap_err();
    assert!(refused.to_string().contains("plain-user"), "{refused}");
    let (directory, pid) = (plane.directory().to_owned(), plane.pid().unwrap());
    drop(plane);
    assert!(!directory.exists(), "{} is left", directory.display());
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "process {pid} is left");
}
