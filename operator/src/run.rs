//! Starts the roles, and stops them.
//!
//! ```text
//! client ─ caches (namespaces, CRDs, configurations) ─ snapshot ─ deployments, upstream ─┬─ webhooks
//!                                                                     lease of a role ─ its controllers, registration
//! ```

mod roles;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::core::ApiResource;
use kube::runtime::reflector::store::Writer;
use kubefoundry::dialect::Dialect;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::args::Run;
use crate::cached::Cached;
use crate::context::Context;
use crate::controllers::Gate;
use crate::evaluator::{self, Snapshots, Sources};
use crate::role::Role;
use crate::runtime::events::Events;
use crate::runtime::metrics::Metrics;
use crate::runtime::server::{Readiness, Security, Server};
use crate::runtime::{lease, server};
use crate::watch::{Configs, Definitions, Namespaces, Owners, Queues, Signal, Upstream, filled, follow_deployments};
use crate::webhook::Webhooks;
use crate::{client, logs};
use roles::Leading;

/// How long reconciliations under way may take when the process is to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// Why the process ends before it is told to.
#[derive(Debug)]
enum End {
    /// What it was given cannot be used.
    Usage(String),
    /// Something that should go on for as long as it runs came to an end: it is to be started anew.
    Broken(String),
}

/// Runs until it is told to stop.
pub(crate) fn main(mut run: Run) -> ExitCode {
    if let Err(error) = logs::start(run.log_format, &run.log) {
        return usage(&format!("--log {:?}: {error}", run.log));
    }
    if run.roles.is_empty() {
        run.roles = Role::all();
    }
    // The client and the webhooks agree on one implementation. It is there already when a test installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // More than there are cores: leases are renewed also while every core renders.
    let threads = std::thread::available_parallelism().map_or(1, usize::from).max(2) * 2;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return usage(&format!("the process cannot start threads: {error}")),
    };
    let end = runtime.block_on(operate(run));
    // Whatever still waits for an answer is not waited for: the next process goes on from what is in the cluster.
    runtime.shutdown_background();
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(End::Usage(reason)) => usage(&reason),
        Err(End::Broken(reason)) => {
            tracing::error!(reason, "stopping, to be started anew");
            ExitCode::FAILURE
        }
    }
}

fn usage(reason: &str) -> ExitCode {
    // Nobody is left to tell when this fails.
    let _ = writeln!(std::io::stderr(), "{reason}");
    ExitCode::from(2)
}

async fn operate(run: Run) -> Result<(), End> {
    let listen = |kind| signal(kind).map_err(|error| End::Usage(format!("signals cannot be listened to: {error}")));
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let told_to_stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let (stop, stopped) = watch::channel(false);
    let (drained, is_drained) = watch::channel(false);
    // All controllers together: an apiserver that is asked more than it can answer does not renew leases either.
    let gate = Arc::new(Gate::new(run.concurrency.max(1).into()));
    let running = all(Arc::new(run), stopped, is_drained, Arc::clone(&gate));
    let mut running = std::pin::pin!(running);
    tokio::select! {
        end = &mut running => return end,
        () = told_to_stop => tracing::info!("stopping"),
    }
    stop.send_replace(true);
    let drain = async {
        if !gate.close(DRAIN).await {
            tracing::warn!("reconciliations under way were cut off");
        }
        drained.send_replace(true);
    };
    // What is left after that: leases to give back, requests to answer.
    let rest = async {
        let ((), end) = tokio::join!(drain, running);
        end
    };
    tokio::time::timeout(DRAIN + Duration::from_secs(3), rest).await.unwrap_or_else(|_| {
        tracing::warn!("stopping without giving everything back");
        Ok(())
    })
}

/// Everything, until it was stopped and has nothing left to do.
async fn all(
    run: Arc<Run>,
    stop: watch::Receiver<bool>,
    drained: watch::Receiver<bool>,
    gate: Arc<Gate>,
) -> Result<(), End> {
    if let Some(path) = &run.config {
        evaluator::read_options(path).map_err(End::Usage)?;
    }
    let metrics = Arc::new(Metrics::new());
    let client = client::connect(&run.cluster, Arc::clone(&metrics)).await.map_err(End::Usage)?;
    let thread = lease::Apart::start().map_err(|error| End::Usage(format!("no thread can be started: {error}")))?;
    // A client belongs to the threads that it is made in.
    let connecting = {
        let (cluster, metrics) = (run.cluster.clone(), Arc::clone(&metrics));
        thread.spawn(async move { client::connect(&cluster, metrics).await })
    };
    let connected = connecting.await.map_err(|error| End::Broken(format!("the thread of leases ended: {error}")))?;
    let (thread, leases) = (Arc::new(thread), connected.map_err(End::Usage)?);
    let readiness = Readiness::default();
    readiness.waits("caches", "the cluster is being read");

    // These end when they are told to.
    let mut serving = JoinSet::new();
    for (address, handler) in [
        (run.metrics_address, server::metrics(Arc::clone(&metrics))),
        (run.health_address, server::health(readiness.clone())),
    ] {
        let server = Server::bind(address, Security::Plain, handler).await;
        let server = server.map_err(|error| End::Usage(format!("cannot listen at {address}: {error}")))?;
        let stop = stop.clone();
        serving.spawn(async move {
            server.run(stop).await;
            Ok(())
        });
    }
    let (known, contexts) = watch::channel(Vec::new());
    if run.roles.contains(&Role::Webhooks) {
        let (readiness, settings, client) = (readiness.clone(), Arc::clone(&run), client.clone());
        let (address, stop) = (run.webhook_address, stop.clone());
        serving.spawn(async move {
            let served = Webhooks { client, settings, contexts, readiness }.run(stop).await;
            served.map_err(|error| End::Usage(format!("cannot listen at {address}: {error}")))
        });
    }
    let (stop, start) = (stop, Start { run, client, metrics, readiness, known, gate, drained, thread, leases });
    serving.spawn(start.work());
    while let Some(ended) = serving.join_next().await {
        match ended {
            Ok(Ok(())) if *stop.borrow() => {}
            Ok(Ok(())) => return Err(End::Broken("a part of the process came to its end".to_owned())),
            Ok(Err(end)) => return Err(end),
            Err(error) => return Err(End::Broken(format!("a part of the process broke: {error}"))),
        }
    }
    Ok(())
}

/// What the caches and roles are started with.
struct Start {
    run: Arc<Run>,
    client: kube::Client,
    metrics: Arc<Metrics>,
    readiness: Readiness,
    /// Where the webhooks hear what is known.
    known: watch::Sender<Vec<Context>>,
    gate: Arc<Gate>,
    drained: watch::Receiver<bool>,
    thread: Arc<lease::Apart>,
    leases: kube::Client,
}

impl Start {
    /// Fills the caches, and has the roles led.
    async fn work(self) -> Result<(), End> {
        // These go on for as long as the process does.
        let mut background = JoinSet::new();
        let mut drained = self.drained.clone();
        let leading = tokio::select! {
            leading = self.fill(&mut background) => Arc::new(leading?),
            _ = drained.wait_for(|drained| *drained) => return Ok(()),
        };
        self.known.send_replace(leading.contexts.clone());
        let ready = {
            let (owners, readiness) = (leading.owners.clone(), self.readiness.clone());
            async move {
                for owners in &owners {
                    filled(&owners.deployments).await;
                }
                readiness.met("caches");
                tracing::info!("ready");
                std::future::pending::<()>().await;
            }
        };
        background.spawn(ready);
        let mut led = JoinSet::new();
        for role in leading.run.roles.iter().copied().filter(|role| *role != Role::Webhooks) {
            led.spawn(Arc::clone(&leading).lead(role));
        }
        loop {
            tokio::select! {
                ended = led.join_next() => match ended {
                    Some(Ok(Ok(()))) => {}
                    Some(Ok(Err(end))) => return Err(end),
                    Some(Err(error)) => return Err(End::Broken(format!("a role broke: {error}"))),
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

    /// Starts the watches, and waits for those that are needed to decide anything.
    async fn fill(&self, background: &mut JoinSet<()>) -> Result<Leading, End> {
        let Self { run, client, metrics, .. } = self;
        let changed = Arc::new(Signal::default());
        let definitions = Arc::new(Definitions::default());
        background.spawn({
            let (definitions, client, changed) = (Arc::clone(&definitions), client.clone(), Arc::clone(&changed));
            async move { definitions.follow(client, changed).await }
        });
        let configs: Vec<Arc<Configs>> = run.groups.iter().map(|dialect| Arc::new(Configs::new(dialect))).collect();
        for configs in &configs {
            let (configs, client, changed) = (Arc::clone(configs), client.clone(), Arc::clone(&changed));
            background.spawn(async move { configs.follow(client, changed).await });
        }

        // One store and one set of queues for each group.
        let mut writers = Vec::new();
        let mut owners = Vec::new();
        for dialect in &run.groups {
            let resource = deployments(dialect);
            let writer = Writer::<Cached>::new(resource.clone());
            let queues = Arc::new(Queues::new(dialect, &run.roles));
            owners.push(Owners { dialect, resource, deployments: writer.as_reader(), queues });
            writers.push(writer);
        }
        let namespaces = Arc::new(Namespaces::default());
        background.spawn({
            let (namespaces, client, owners) = (Arc::clone(&namespaces), client.clone(), owners.clone());
            async move {
                let changed = |namespace: &str| look_again(&owners, |deployment| deployment.namespace() == namespace);
                namespaces.follow(client, changed).await;
            }
        });
        namespaces.filled().await;

        let options = run.config.clone();
        let sources = Sources { options, heartbeat_timeout: run.heartbeat_timeout, definitions, configs, changed };
        let first = sources.first().await.map_err(End::Broken)?;
        let providers = run.roles.iter().filter(|role| matches!(role, Role::Provider(_))).map(|role| role.name());
        let upstream = Upstream::new(client.clone(), providers.collect(), owners.clone());
        first.watch(&upstream);
        let (sender, snapshots) = watch::channel(first);
        background.spawn(sources.follow(sender, Arc::clone(&upstream)));
        for (owners, writer) in owners.iter().zip(writers) {
            let (queues, metrics) = (Arc::clone(&owners.queues), Arc::clone(metrics));
            background.spawn(follow_deployments(client.clone(), owners.resource.clone(), writer, queues, metrics));
        }
        let has_selector = selector(run, client, background);
        background.spawn(look_again_on_changes(owners.clone(), snapshots.clone(), has_selector.clone(), run.resync));

        let identity = identity();
        let events = Events::new(client.clone(), &identity);
        let context = |owners: &Owners| Context {
            client: client.clone(),
            settings: Arc::clone(run),
            dialect: owners.dialect,
            resource: owners.resource.clone(),
            upstream: Arc::clone(&upstream),
            namespaces: Arc::clone(&namespaces),
            snapshots: snapshots.clone(),
            has_selector: has_selector.clone(),
            events: events.clone(),
            metrics: Arc::clone(metrics),
        };
        let contexts = owners.iter().map(context).collect();
        let (run, gate, drained) = (Arc::clone(run), Arc::clone(&self.gate), self.drained.clone());
        let (thread, leases) = (Arc::clone(&self.thread), self.leases.clone());
        Ok(Leading { run, identity, contexts, owners, gate, thread, leases, drained })
    }
}

/// Has everything looked at again when what decides over it changes, and from time to time without a reason.
async fn look_again_on_changes(
    owners: Vec<Owners>,
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
            // The other end is gone: the process ends.
            std::future::pending::<()>().await;
        }
        look_again(&owners, |_| true);
    }
}

/// Whether some process selects: this one, or the one that holds the selector's Lease.
fn selector(run: &Run, client: &kube::Client, background: &mut JoinSet<()>) -> watch::Receiver<bool> {
    let is_here = run.roles.contains(&Role::Selector);
    let (sender, receiver) = watch::channel(is_here);
    let (client, namespace, duration) = (client.clone(), run.cluster.namespace.clone(), run.lease_duration);
    if !is_here && run.roles.contains(&Role::Core) {
        background.spawn(lease::follow_selector(client, namespace, duration, sender));
    } else {
        background.spawn(async move {
            let _kept = sender;
            std::future::pending::<()>().await;
        });
    }
    receiver
}

/// Has those deployments looked at again that something changed for.
fn look_again(owners: &[Owners], concerned: impl Fn(&Cached) -> bool) {
    for owners in owners {
        let all = owners.deployments.state();
        owners.queues.extend(all.iter().map(|deployment| &**deployment).filter(|deployment| concerned(deployment)));
    }
}

/// ModelDeployments of a group.
fn deployments(dialect: &Dialect) -> ApiResource {
    ApiResource {
        group: dialect.group.to_owned(),
        version: dialect.version.to_owned(),
        api_version: dialect.api_version(),
        kind: "ModelDeployment".to_owned(),
        plural: "modeldeployments".to_owned(),
    }
}

/// Another one for each process: the pod's name, and what tells it from the one before it.
fn identity() -> Arc<str> {
    let host = std::env::var("HOSTNAME").unwrap_or_default();
    let host = if host.is_empty() { "kubefoundry-operator" } else { &host };
    format!("{host}_{}_{:x}", std::process::id(), Timestamp::now().as_microsecond()).into()
}
