//! Metrics (spec/1 §9), in Prometheus' text format.

use std::time::Duration;

/// How many replicas a deployment has; what the provider does not say is absent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Replicas {
    pub(crate) desired: Option<i64>,
    pub(crate) ready: Option<i64>,
    pub(crate) available: Option<i64>,
}

/// Where measurements go. `controller` is `core`, `selector` or a provider's name.
pub(crate) struct Metrics {}

impl Metrics {
    /// A reconciliation came to its end, well or not.
    pub(crate) fn reconciled(&self, _controller: &str, _took: Duration) {}
    /// A reconciliation failed; `kind` is [`Error::kind`](crate::error::Error::kind).
    pub(crate) fn failed(&self, _controller: &str, _kind: &'static str) {}
    /// A provider was selected.
    pub(crate) fn selected(&self, _provider: &str, _reason: &str) {}
    /// The state of a deployment; `phase` as in its status.
    pub(crate) fn observed(&self, _namespace: &str, _name: &str, _phase: &str, _replicas: Replicas) {}
    /// A deployment is gone.
    pub(crate) fn forget(&self, _namespace: &str, _name: &str) {}
    /// A request was sent; by verb (`get`, `apply`, …) and resource.
    pub(crate) fn requested(&self, _verb: &'static str, _resource: &str) {}
    /// Prometheus' text format.
    pub(crate) fn text(&self) -> String {
        String::new()
    }
}
