//! What the engine knows of the cluster at a moment: options, provider configurations, CRDs.

use std::sync::Arc;

/// What is known at a moment.
pub(crate) struct Snapshot {
    /// Always with owner references.
    pub(crate) engine: kubefoundry::engine::Engine,
}

/// The latest snapshot, and when it changes.
pub(crate) type Snapshots = tokio::sync::watch::Receiver<Arc<Snapshot>>;
