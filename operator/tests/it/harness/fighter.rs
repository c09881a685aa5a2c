//! A client that fights with the operator: it changes what the operator reads and writes, as fast as it can.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures::future::join_all;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::task::JoinHandle;

use super::cluster::{Namespace, kinds};
use super::world::{MAIN, list, text};

/// A fight that goes on until it is stopped.
pub struct Fighter {
    stop: Arc<AtomicBool>,
    writes: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Fighter {
    /// Begins: labels of the deployments (their resourceVersion changes, what they become does not), and of the
    /// upstream objects an annotation that is nobody's and our own `managed-by` label.
    pub fn begin(namespace: &Namespace) -> Self {
        let (stop, writes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, written, namespace) = (Arc::clone(&stop), Arc::clone(&writes), namespace.clone());
        let task = tokio::spawn(async move {
            let mut round = 0_u64;
            while !stopped.load(Ordering::SeqCst) {
                round += 1;
                let said = round.to_string();
                for kind in [kinds::DEPLOYMENT].into_iter().chain(MAIN) {
                    let patch = if kind == kinds::DEPLOYMENT {
                        json!({"metadata": {"labels": {"example.com/round": said}}})
                    } else if round.is_multiple_of(5) {
                        json!({"metadata": {"labels": {"kubefoundry.ai/managed-by": format!("fighter-{said}")}}})
                    } else {
                        json!({"metadata": {"annotations": {"example.com/round": said}}})
                    };
                    let parameters =
                        PatchParams { field_manager: Some("a-fighter".to_owned()), ..PatchParams::default() };
                    let (patch, api) = (Patch::Merge(patch), namespace.api(kind));
                    let objects = list(&namespace, kind, "").await.unwrap_or_default();
                    let patched =
                        objects.iter().map(|object| api.patch(text(object, "/metadata/name"), &parameters, &patch));
                    let answers = join_all(patched.collect::<Vec<_>>()).await;
                    let taken = answers.iter().filter(|answer| answer.is_ok()).count();
                    written.fetch_add(taken as u64, Ordering::SeqCst);
                }
            }
        });
        Self { stop, writes, task }
    }

    /// How often it has written so far.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }

    /// Ends the fight. How often it wrote.
    pub async fn end(self) -> u64 {
        self.stop.store(true, Ordering::SeqCst);
        self.task.await.unwrap();
        self.writes.load(Ordering::SeqCst)
    }
}
