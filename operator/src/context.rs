//! The state that the controllers of a process share.

use std::sync::Arc;

use kube::core::ApiResource;
use kubefoundry_controller_runtime::events::Recorder;
use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_kubernetes::api_group::ApiGroup;
use tokio::sync::watch;

use crate::args::Run;
use crate::evaluator::Snapshots;
use crate::watch::{Namespaces, Upstream};

/// The context of one API group; cheap to clone.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) client: kube::Client,
    /// The flags of the process.
    pub(crate) settings: Arc<Run>,
    /// The API group of the deployments.
    pub(crate) api_group: &'static ApiGroup,
    /// The kind ModelDeployment in this group.
    pub(crate) resource: ApiResource,
    /// The objects that the providers of this process write.
    pub(crate) upstream: Arc<Upstream>,
    /// The providers that each namespace allows.
    pub(crate) namespaces: Arc<Namespaces>,
    /// The evaluator for the current state of the cluster.
    pub(crate) snapshots: Snapshots,
    /// Whether a selector runs, in this process or another.
    pub(crate) has_selector: watch::Receiver<bool>,
    pub(crate) events: Recorder,
    pub(crate) metrics: Arc<Metrics>,
}

#[cfg(test)]
impl Context {
    /// A context whose caches are empty, for requests to an apiserver.
    pub(crate) fn for_tests(client: kube::Client, api_group: &'static ApiGroup, resource: ApiResource) -> Self {
        use clap::Parser as _;

        use crate::args::{Arguments, Command};
        let Command::Run(settings) = Arguments::parse_from(["kubefoundry-operator", "run"]).command else {
            unreachable!("the command is given")
        };
        let metrics = Arc::new(Metrics::new());
        Self {
            settings: Arc::new(settings),
            api_group,
            resource,
            upstream: Upstream::new(client.clone(), Arc::clone(&metrics), Vec::new(), Vec::new()),
            namespaces: Arc::default(),
            snapshots: watch::channel(crate::evaluator::Snapshot::without_providers()).1,
            has_selector: watch::channel(true).1,
            events: Recorder::new(client.clone(), "tests"),
            metrics,
            client,
        }
    }
}
