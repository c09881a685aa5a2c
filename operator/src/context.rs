//! What every controller works with.

use std::sync::Arc;

use kube::core::ApiResource;
use kubefoundry::dialect::Dialect;
use tokio::sync::watch;

use crate::args::Run;
use crate::evaluator::Snapshots;
use crate::runtime::events::Recorder;
use crate::runtime::metrics::Metrics;
use crate::watch::{Namespaces, Upstream};

/// Of one API group; cheap to clone.
#[derive(Clone)]
pub(crate) struct Context {
    /// The connection to the apiserver.
    pub(crate) client: kube::Client,
    /// The flags.
    pub(crate) settings: Arc<Run>,
    /// The API group of the deployments.
    pub(crate) dialect: &'static Dialect,
    /// Their kind in it.
    pub(crate) resource: ApiResource,
    /// The objects that the providers of this process write.
    pub(crate) upstream: Arc<Upstream>,
    /// What namespaces allow.
    pub(crate) namespaces: Arc<Namespaces>,
    /// What the engine knows of the cluster: the latest, and when it changes.
    pub(crate) snapshots: Snapshots,
    /// Whether some process selects providers.
    pub(crate) has_selector: watch::Receiver<bool>,
    /// Where events go.
    pub(crate) events: Recorder,
    /// Where measurements go.
    pub(crate) metrics: Arc<Metrics>,
}
