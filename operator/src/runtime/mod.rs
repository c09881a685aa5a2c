//! The parts that a Kubernetes controller of any kind has, under the names that `kube::runtime` and `kubert` use.
//!
//! They know objects ([`crate::cached`]) and errors of reconciliations, and nothing of evaluation, providers or webhooks.
//!
//! | module | what it does | corresponds to | why it is our own |
//! |---|---|---|---|
//! | [`queue`] | keys waiting for a controller, changes before resyncs | `kube::runtime::scheduler`, `kubert::requeue` | neither has priorities, nor hands out keys a few at a time |
//! | [`controller`] | concurrency limit, timeout and retries of reconciliations | `kube::runtime::Controller`; its `applier` is used | all controllers share one store, one limit and one shutdown |
//! | [`backoff`] | delays between attempts | `kube::runtime::utils::Backoff` | delays by failures per object, and for contested writes |
//! | [`lease`] | leader election | `kubert::lease` | independent of clocks; renewed on a thread of its own |
//! | [`server`] | HTTP and TLS | `kubert::server` | certificates from memory; a limit for each phase of a connection |
//! | [`admin`] | probes and metrics | `kubert::admin` | readiness names what is missing |
//! | [`shutdown`] | signals | `kubert::shutdown` | leases are vacated after the last reconciliation |
//! | [`events`] | Events | `kube::runtime::events` | repetitions are counted across restarts |
//! | [`metrics`] | Prometheus metrics | `kubert::runtime::RuntimeMetrics` | names of the specification; small state for each deployment |
//!
//! kubert itself is no option today: kubert 0.25 builds on kube 1.1, the operator on kube 5, and their clients are
//! different types. Each module says what else it does differently.

pub(crate) mod admin;
pub(crate) mod backoff;
pub(crate) mod controller;
pub(crate) mod events;
pub(crate) mod lease;
pub(crate) mod metrics;
pub(crate) mod queue;
pub(crate) mod server;
pub(crate) mod shutdown;
