//! The parts of the operator that any controller has.

pub(crate) mod backoff;
pub(crate) mod events;
pub(crate) mod lease;
pub(crate) mod metrics;
pub(crate) mod queue;
pub(crate) mod server;
