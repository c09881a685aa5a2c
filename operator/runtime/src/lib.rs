//! The parts that a Kubernetes controller of any kind has, under the names that `kube::runtime` and `kubert` use.
//!
//! They know the metadata of objects and errors of reconciliations, and nothing of evaluation, providers or webhooks.
//!
//! - [`queue`]: keys that wait for a controller, changes before resyncs. Like `kube::runtime::scheduler` and
//!   `kubert::requeue`; neither has priorities, nor hands out keys a few at a time.
//! - [`controller`]: timeout and retries of reconciliations. Like `kube::runtime::Controller`, whose `applier` it uses;
//!   here all controllers share one store, one limit and one shutdown.
//! - [`limiter`]: the number of reconciliations at a time. Like `Config::concurrency` of kube, but for all controllers
//!   together, and with the later stages first.
//! - [`backoff`]: delays between attempts. Like `kube::runtime::utils::Backoff`; here also by the failures of an
//!   object, and for contested writes.
//! - [`lease`]: leader election. Like `kubert::lease`; independent of clocks, and renewed on a dedicated thread.
//! - [`server`]: HTTP and TLS. Like `kubert::server`; certificates come from memory, and each phase of a connection has
//!   a limit.
//! - [`admin`]: probes and metrics. Like `kubert::admin`; readiness names what is missing.
//! - [`shutdown`]: signals. Like `kubert::shutdown`; leases are vacated after the last reconciliation.
//! - [`events`]: Events. Like `kube::runtime::events`; repetitions are counted across restarts.
//! - [`metrics`]: Prometheus metrics. Like `kubert::runtime::RuntimeMetrics`; the names are those of the specification,
//!   and each deployment needs little memory.
//!
//! kubert itself is not an option today: kubert 0.25 builds on kube 1.1, the operator on kube 5, and their clients are
//! different types. Each module says what else it does differently.

pub mod admin;
pub mod backoff;
pub mod client;
pub mod controller;
pub mod error;
pub mod events;
pub mod hash;
pub mod lease;
pub mod limiter;
pub mod metrics;
pub mod mutex;
pub mod observed;
pub mod queue;
pub mod server;
pub mod shutdown;
pub mod text;
pub mod watch;
