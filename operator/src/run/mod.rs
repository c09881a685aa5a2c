//! Starts the roles, and stops them.
//!
//! ```text
//! client ─ caches (namespaces, CRDs, configurations) ─ snapshot ─ deployments, upstream ─┬─ webhooks
//!                                                                     lease of a role ─ its controllers, registration
//! ```

mod claimed;
mod registration;
mod rights;
mod roles;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::runtime::reflector::store::Writer;
use kubefoundry_controller_runtime::admin::{self, Readiness};
use kubefoundry_controller_runtime::events::Recorder;
use kubefoundry_controller_runtime::lease::{self, LeaseThread};
use kubefoundry_controller_runtime::limiter::ConcurrencyLimiter;
use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_controller_runtime::server::{Server, Transport};
use kubefoundry_controller_runtime::shutdown::{Shutdown, sigint_or_sigterm};
use kubefoundry_controller_runtime::watch::Signal;
use kubefoundry_reconcile::cached_object::CachedObject;
use kubefoundry_reconcile::names;
use kubefoundry_webhook::Webhooks;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::admission::CachedCluster;
use crate::args::Run;
use crate::context::Context;
use crate::evaluator::{self, SnapshotBuilder, Snapshots};
use crate::logs;
use crate::role::{Role, SELECTOR_LEASE};
use crate::watch::{Configs, Definitions, DeploymentGroup, Namespaces, Queues, Upstream, filled, follow_deployments};
use roles::RoleRunner;

/// Time for running reconciliations after the signal to stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Why the process ends without a signal.
#[derive(Debug)]
enum End {
    /// The flags or the configuration cannot be used: exit code 2.
    Usage(String),
    /// A task that should never end has ended: exit code 1, so that the process is restarted.
    Broken(String),
}

/// Number of threads that run the tasks of the process, however many cores the node has; decisions of webhooks have threads
/// of their own. An object takes 4 ms, so one thread is ahead of an apiserver. A second one takes a third more CPU time,
/// because the two wake each other for every answer (docs/performance.md).
const WORKER_THREADS: usize = 1;

/// Runs until SIGTERM or SIGINT.
pub(crate) fn main(mut run: Run) -> ExitCode {
    if let Err(error) = logs::start(run.log_format, &run.log) {
        return usage(&format!("--log {:?}: {error}", run.log));
    }
    if run.roles.is_empty() {
        run.roles = Role::all();
    }
    // The client and the webhooks use one implementation of TLS. A test may have installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKER_THREADS).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return usage(&format!("cannot start threads: {error}")),
    };
    let end = runtime.block_on(operate(run));
    // Pending requests are dropped: the next process resumes from the state in the cluster.
    runtime.shutdown_background();
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(End::Usage(reason)) => usage(&reason),
        Err(End::Broken(reason)) => {
            tracing::error!(reason, "stopping with an error; the pod will be restarted");
            ExitCode::FAILURE
        }
    }
}

fn usage(reason: &str) -> ExitCode {
    // There is no other place to report a failure of this write.
    let _ = writeln!(std::io::stderr(), "{reason}");
    ExitCode::from(2)
}

async fn operate(run: Run) -> Result<(), End> {
    let signal =
        sigint_or_sigterm().map_err(|error| End::Usage(format!("cannot register signal handlers: {error}")))?;
    let (stop, shutdown) = watch::channel(false);
    let (drain, drained) = watch::channel(false);
    // One limit for all controllers: an apiserver that gets more requests than it can answer does not renew leases
    // either.
    let limiter = ConcurrencyLimiter::new(run.concurrency.max(1).into());
    let running = run_all(Arc::new(run), shutdown, drained, Arc::clone(&limiter));
    let mut running = std::pin::pin!(running);
    tokio::select! {
        end = &mut running => return end,
        () = signal => tracing::info!("stopping"),
    }
    stop.send_replace(true);
    let draining = async {
        if !limiter.close(DRAIN_TIMEOUT).await {
            tracing::warn!("shutdown timeout: running reconciliations were cancelled");
        }
        drain.send_replace(true);
    };
    // What remains after that: vacating leases and answering requests.
    let rest = async {
        let ((), end) = tokio::join!(draining, running);
        end
    };
    tokio::time::timeout(DRAIN_TIMEOUT + Duration::from_secs(3), rest).await.unwrap_or_else(|_| {
        tracing::warn!("shutdown timeout: some leases were not released");
        Ok(())
    })
}

/// Runs servers, watches and roles until `shutdown` is requested and, for the roles, `drained` follows.
async fn run_all(
    run: Arc<Run>,
    shutdown: Shutdown,
    drained: Shutdown,
    limiter: Arc<ConcurrencyLimiter>,
) -> Result<(), End> {
    if let Some(path) = &run.config {
        evaluator::read_options(path).map_err(End::Usage)?;
    }
    let metrics = Arc::new(Metrics::new());
    let client = run.cluster.connect(Arc::clone(&metrics)).await.map_err(End::Usage)?;
    let thread = LeaseThread::start().map_err(|error| End::Usage(format!("cannot start the lease thread: {error}")))?;
    // The connections of a client belong to the runtime in which it was created.
    let connecting = {
        let (cluster, metrics) = (run.cluster.clone(), Arc::clone(&metrics));
        thread.spawn(async move { cluster.connect(metrics).await })
    };
    let connected = connecting.await.map_err(|error| End::Broken(format!("the lease thread ended: {error}")))?;
    let (thread, leases) = (Arc::new(thread), connected.map_err(End::Usage)?);
    let readiness = Readiness::default();
    readiness.set_pending("caches", "listing the cluster");

    // These end with the shutdown.
    let mut serving = JoinSet::new();
    for (address, handler) in [
        (run.metrics_address, admin::metrics_handler(Arc::clone(&metrics))),
        (run.health_address, admin::health_handler(readiness.clone())),
    ] {
        let server = Server::bind(address, Transport::Plain, handler).await;
        let server = server.map_err(|error| End::Usage(format!("cannot listen at {address}: {error}")))?;
        let shutdown = shutdown.clone();
        serving.spawn(async move {
            server.run(shutdown).await;
            Ok(())
        });
    }
    let (filled_contexts, contexts) = watch::channel(Vec::new());
    if run.roles.contains(&Role::Webhooks) {
        let webhooks = Webhooks {
            client: client.clone(),
            api_groups: run.groups.clone(),
            address: run.webhook_address,
            namespace: run.cluster.namespace.clone(),
            service: run.webhook_service.clone(),
            url: run.webhook_url.clone(),
            certificate_lifetime: run.certificate_lifetime,
            metrics: Arc::clone(&metrics),
            readiness: readiness.clone(),
        };
        let (settings, client, metrics) = (Arc::clone(&run), client.clone(), Arc::clone(&metrics));
        let cluster = CachedCluster { client, settings, metrics, contexts };
        let (address, shutdown) = (run.webhook_address, shutdown.clone());
        serving.spawn(async move {
            let served = webhooks.run(cluster, shutdown).await;
            served.map_err(|error| End::Usage(format!("cannot listen at {address}: {error}")))
        });
    }
    let startup = Startup { run, client, metrics, readiness, filled_contexts, limiter, drained, thread, leases };
    serving.spawn(startup.run());
    while let Some(ended) = serving.join_next().await {
        match ended {
            Ok(Ok(())) if *shutdown.borrow() => {}
            Ok(Ok(())) => return Err(End::Broken("a task of the process ended unexpectedly".to_owned())),
            Ok(Err(end)) => return Err(end),
            Err(error) => return Err(End::Broken(format!("a task of the process panicked: {error}"))),
        }
    }
    Ok(())
}

/// Starts the watches and roles.
struct Startup {
    run: Arc<Run>,
    client: kube::Client,
    metrics: Arc<Metrics>,
    readiness: Readiness,
    /// Passes the caches to the webhooks once they are filled.
    filled_contexts: watch::Sender<Vec<Context>>,
    limiter: Arc<ConcurrencyLimiter>,
    drained: Shutdown,
    thread: Arc<LeaseThread>,
    leases: kube::Client,
}

impl Startup {
    /// Fills the caches, and runs the roles until they have stopped or one of them fails.
    async fn run(self) -> Result<(), End> {
        // These run for the life of the process.
        let mut background = JoinSet::new();
        let mut drained = self.drained.clone();
        let runner = tokio::select! {
            runner = self.fill(&mut background) => Arc::new(runner?),
            _ = drained.wait_for(|drained| *drained) => return Ok(()),
        };
        self.filled_contexts.send_replace(runner.contexts.clone());
        let ready = {
            let (groups, readiness) = (runner.groups.clone(), self.readiness.clone());
            async move {
                for group in &groups {
                    filled(&group.deployments).await;
                }
                readiness.set_ready("caches");
                tracing::info!("ready");
                std::future::pending::<()>().await;
            }
        };
        background.spawn(ready);
        let mut roles = JoinSet::new();
        for role in runner.run.roles.iter().copied().filter(|role| *role != Role::Webhooks) {
            roles.spawn(Arc::clone(&runner).lead(role));
        }
        loop {
            tokio::select! {
                ended = roles.join_next() => match ended {
                    Some(Ok(Ok(()))) => {}
                    Some(Ok(Err(end))) => return Err(end),
                    Some(Err(error)) => return Err(End::Broken(format!("a role panicked: {error}"))),
                    // Webhooks alone: there is nothing to lead.
                    None => {
                        let _ = drained.wait_for(|drained| *drained).await;
                        return Ok(());
                    }
                },
                ended = background.join_next() => {
                    let reason = ended.and_then(Result::err).map(|error| error.to_string()).unwrap_or_default();
                    return Err(End::Broken(format!("a watch ended: {reason}")));
                }
            }
        }
    }

    /// Starts the watches, and waits for those without which no decision is possible: namespaces, CRDs and provider
    /// configurations. Deployments are watched last, so that each is evaluated with the whole state of the cluster.
    async fn fill(&self, background: &mut JoinSet<()>) -> Result<RoleRunner, End> {
        let Self { run, client, metrics, .. } = self;
        let changed = Arc::new(Signal::default());
        let definitions = Arc::new(Definitions::new(claimed::crd_kinds(&run.roles)));
        background.spawn({
            let (definitions, client, changed) = (Arc::clone(&definitions), client.clone(), Arc::clone(&changed));
            let metrics = Arc::clone(metrics);
            async move { definitions.follow(client, changed, metrics).await }
        });
        let api_groups = run.model_groups();
        let configs: Vec<Arc<Configs>> = api_groups.iter().map(|api_group| Arc::new(Configs::new(api_group))).collect();
        for configs in &configs {
            let (configs, client, changed) = (Arc::clone(configs), client.clone(), Arc::clone(&changed));
            let metrics = Arc::clone(metrics);
            background.spawn(async move { configs.follow(client, changed, metrics).await });
        }

        // One store and one set of queues for each group.
        let mut writers = Vec::new();
        let mut groups = Vec::new();
        for api_group in api_groups {
            let resource = names::deployments(api_group);
            let writer = Writer::<CachedObject>::new(resource.clone());
            let queues = Arc::new(Queues::new(api_group, &run.roles));
            queues.measure(metrics);
            groups.push(DeploymentGroup { api_group, resource, deployments: writer.as_reader(), queues });
            writers.push(writer);
        }
        let namespaces = Arc::new(Namespaces::default());
        if !groups.is_empty() {
            background.spawn({
                let (namespaces, client, groups) = (Arc::clone(&namespaces), client.clone(), groups.clone());
                let metrics = Arc::clone(metrics);
                async move {
                    let changed = |namespace: &str| requeue(&groups, |deployment| deployment.namespace() == namespace);
                    namespaces.follow(client, &metrics, changed).await;
                }
            });
            namespaces.filled().await;
        }

        let options = run.config.clone();
        let builder =
            SnapshotBuilder { options, heartbeat_timeout: run.heartbeat_timeout, definitions, configs, changed };
        let first = builder.build_first().await.map_err(End::Broken)?;
        let providers = run.roles.iter().filter(|role| matches!(role, Role::Provider(_))).map(|role| role.name());
        let upstream = Upstream::new(client.clone(), Arc::clone(metrics), providers.collect(), groups.clone());
        first.watch(&upstream);
        let (sender, snapshots) = watch::channel(first);
        background.spawn(builder.publish_changes(sender, Arc::clone(&upstream)));
        for (group, writer) in groups.iter().zip(writers) {
            let (queues, metrics) = (Arc::clone(&group.queues), Arc::clone(metrics));
            background.spawn(follow_deployments(client.clone(), group.resource.clone(), writer, queues, metrics));
        }
        let has_selector = observe_selector(run, client, background);
        background.spawn(requeue_on_changes(groups.clone(), snapshots.clone(), has_selector.clone(), run.resync));

        let identity = identity();
        let events = Recorder::new(client.clone(), &identity);
        let context = |group: &DeploymentGroup| Context {
            client: client.clone(),
            settings: Arc::clone(run),
            api_group: group.api_group,
            resource: group.resource.clone(),
            upstream: Arc::clone(&upstream),
            namespaces: Arc::clone(&namespaces),
            snapshots: snapshots.clone(),
            has_selector: has_selector.clone(),
            events: events.clone(),
            metrics: Arc::clone(metrics),
        };
        let contexts = groups.iter().map(context).collect();
        let claimed = claimed::start(run, client, metrics, &snapshots, &events, background);
        let (run, limiter, drained) = (Arc::clone(run), Arc::clone(&self.limiter), self.drained.clone());
        let (thread, leases) = (Arc::clone(&self.thread), self.leases.clone());
        let metrics = Arc::clone(metrics);
        Ok(RoleRunner { run, identity, contexts, groups, claimed, metrics, limiter, thread, leases, drained })
    }
}

/// Requeues all deployments when the snapshot or the presence of a selector changes, and at each resync. Never returns.
async fn requeue_on_changes(
    groups: Vec<DeploymentGroup>,
    mut snapshots: Snapshots,
    mut has_selector: watch::Receiver<bool>,
    resync: Duration,
) {
    loop {
        let changed = tokio::select! {
            changed = snapshots.changed() => changed,
            changed = has_selector.changed() => changed,
            () = tokio::time::sleep(resync) => Ok(()),
        };
        if changed.is_err() {
            // The sender was dropped: the process ends.
            std::future::pending::<()>().await;
        }
        requeue(&groups, |_| true);
    }
}

/// Observes whether a selector runs: in this process, or in the one that holds its Lease.
fn observe_selector(run: &Run, client: &kube::Client, background: &mut JoinSet<()>) -> watch::Receiver<bool> {
    let is_here = run.roles.contains(&Role::Selector);
    let (sender, receiver) = watch::channel(is_here);
    let (client, namespace, duration) = (client.clone(), run.cluster.namespace.clone(), run.lease_duration);
    if !is_here && run.roles.contains(&Role::Core) {
        background.spawn(lease::follow_holder(client, namespace, SELECTOR_LEASE, duration, sender));
    } else {
        background.spawn(async move {
            // A dropped sender would look like the end of the process to the receivers.
            let _sender = sender;
            std::future::pending::<()>().await;
        });
    }
    receiver
}

/// Requeues the deployments that a change concerns, in the routine lane.
fn requeue(groups: &[DeploymentGroup], is_concerned: impl Fn(&CachedObject) -> bool) {
    for group in groups {
        let all = group.deployments.state();
        group.queues.extend(all.iter().map(|deployment| &**deployment).filter(|deployment| is_concerned(deployment)));
    }
}

/// Returns the identity of this process in Leases: the name of its pod, and what distinguishes it from its predecessor
/// there.
fn identity() -> Arc<str> {
    let host = std::env::var("HOSTNAME").ok().filter(|host| !host.is_empty());
    let host = host.as_deref().unwrap_or("kubefoundry-operator");
    format!("{host}_{}_{:x}", std::process::id(), Timestamp::now().as_microsecond()).into()
}
