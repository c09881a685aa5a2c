//! What the engine knows of the cluster at a moment: options, provider configurations, CRDs.

use std::sync::Arc;

/// What is known at a moment.
pub(crate) struct Snapshot {
    // pub(crate) engine: kubefoundry::engine::Engine (always with options.owner_references = true)
}

/// The latest snapshot, and when it changes.
pub(crate) type Snapshots = tokio::sync::watch::Receiver<Arc<Snapshot>>;
