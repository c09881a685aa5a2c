//! A client that competes with the operator: it changes the objects that the operator reads and writes, as fast as it
//! can.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures::future::join_all;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::task::JoinHandle;

use super::cluster::{Namespace, kinds};
use super::world::{MAIN_KINDS, list, text};

/// A client that keeps writing until [`Self::stop`].
pub struct Fighter {
    should_stop: Arc<AtomicBool>,
    writes: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Fighter {
    /// Starts to change labels of the deployments, which changes their resourceVersion but not what they render to, and an
    /// annotation and the `managed-by` label of the upstream objects. The operator renders that label, but not the
    /// annotation.
    pub fn start(namespace: &Namespace) -> Self {
        let (should_stop, writes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, written, namespace) = (Arc::clone(&should_stop), Arc::clone(&writes), namespace.clone());
        let task = tokio::spawn(async move {
            let mut round = 0_u64;
            while !stopped.load(Ordering::SeqCst) {
                round += 1;
                let value = round.to_string();
                for kind in [kinds::DEPLOYMENT].into_iter().chain(MAIN_KINDS) {
                    let patch = if kind == kinds::DEPLOYMENT {
                        json!({"metadata": {"labels": {"example.com/round": value}}})
                    } else if round.is_multiple_of(5) {
                        json!({"metadata": {"labels": {"kubefoundry.ai/managed-by": format!("fighter-{value}")}}})
                    } else {
                        json!({"metadata": {"annotations": {"example.com/round": value}}})
                    };
                    let parameters =
                        PatchParams { field_manager: Some("a-fighter".to_owned()), ..PatchParams::default() };
                    let (patch, api) = (Patch::Merge(patch), namespace.api(kind));
                    let objects = list(&namespace, kind, "").await.unwrap_or_default();
                    let patched =
                        objects.iter().map(|object| api.patch(text(object, "/metadata/name"), &parameters, &patch));
                    let results = join_all(patched.collect::<Vec<_>>()).await;
                    let accepted = results.iter().filter(|result| result.is_ok()).count();
                    written.fetch_add(accepted as u64, Ordering::SeqCst);
                }
            }
        });
        Self { should_stop, writes, task }
    }

    /// The number of successful writes so far.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }

    /// Stops the client, and returns the number of its successful writes.
    pub async fn stop(self) -> u64 {
        self.should_stop.store(true, Ordering::SeqCst);
        self.task.await.unwrap();
        self.writes.load(Ordering::SeqCst)
    }
}
