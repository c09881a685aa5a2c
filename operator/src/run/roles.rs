//! A role's turn: once this process leads, its controllers run.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::End;
use crate::args::Run;
use crate::cached::Cached;
use crate::context::Context;
use crate::controllers::provider::ProviderContext;
use crate::controllers::{self, Controller, Gate, Reconciler};
use crate::registration;
use crate::role::Role;
use crate::runtime::lease::{Apart, Election, lease_name};
use crate::watch::{Owners, filled};

/// How long the selector waits for the providers of its own process to say what they can.
const REGISTRATION: Duration = Duration::from_secs(30);

/// What roles are led with.
pub(super) struct Leading {
    pub(super) run: Arc<Run>,
    pub(super) identity: Arc<str>,
    pub(super) contexts: Vec<Context>,
    pub(super) owners: Vec<Owners>,
    pub(super) gate: Arc<Gate>,
    /// Where leases are held.
    pub(super) thread: Arc<Apart>,
    /// The connection of that thread.
    pub(super) leases: kube::Client,
    /// Nothing is under way any more, and nothing will be.
    pub(super) drained: watch::Receiver<bool>,
}

impl Leading {
    /// Waits for the role's lease, and runs its controllers until the process is to stop, or the lease is lost.
    pub(super) async fn lead(self: Arc<Self>, role: Role) -> Result<(), End> {
        let run = &self.run;
        let mut drained = self.drained.clone();
        let unopposed = run.no_leader_election;
        // Others look at the selector's lease, also where nobody competes for it.
        let mut held = (!unopposed || role == Role::Selector).then(|| {
            let (name, identity) = (lease_name(role), Arc::clone(&self.identity));
            let client = self.leases.clone();
            Election::new(client, &run.cluster.namespace, name, identity, run.lease_duration, unopposed)
                .hold(&self.thread)
        });
        let acquired = async {
            if let Some(held) = &mut held {
                held.acquired().await;
            }
        };
        let leads = tokio::select! {
            () = acquired => true,
            _ = drained.wait_for(|drained| *drained) => false,
        };
        let mut end = Ok(());
        if leads {
            let metrics = self.contexts.first().map(|context| Arc::clone(&context.metrics));
            let tell = |leads| metrics.iter().for_each(|metrics| metrics.leads(role.name(), leads));
            tell(true);
            let mut tasks = JoinSet::new();
            self.start(role, &mut tasks);
            let lost = async {
                match &mut held {
                    Some(held) => held.lost().await,
                    None => std::future::pending().await,
                }
            };
            end = tokio::select! {
                () = lost => Err(End::Broken(format!("the lease of {} is lost", role.name()))),
                ended = tasks.join_next() => {
                    let reason = ended.and_then(Result::err).map(|error| error.to_string()).unwrap_or_default();
                    Err(End::Broken(format!("the controller {} ended: {reason}", role.name())))
                }
                _ = drained.wait_for(|drained| *drained) => Ok(()),
            };
            tell(false);
            // Before another one may start.
            tasks.shutdown().await;
        }
        if let (Ok(()), Some(held)) = (&end, held) {
            held.give_back().await;
        }
        end
    }

    /// Starts what the role does.
    fn start(&self, role: Role, tasks: &mut JoinSet<()>) {
        if let (Role::Provider(provider), Some(context)) = (role, self.contexts.first()) {
            // Configurations are shared by all groups: the first one has them.
            let (client, snapshots) = (context.client.clone(), context.snapshots.clone());
            let interval = self.run.heartbeat_interval;
            tasks.spawn(registration::register(client, context.dialect, provider, interval, snapshots));
        }
        for (context, owners) in self.contexts.iter().zip(&self.owners) {
            let Some(queue) = owners.queues.of(role) else { continue };
            let context = context.clone();
            let controller = Controller {
                name: role.name(),
                resource: owners.resource.clone(),
                deployments: owners.deployments.clone(),
                namespaces: Arc::clone(&context.namespaces),
                queue,
                metrics: Arc::clone(&context.metrics),
                gate: Arc::clone(&self.gate),
                concurrency: self.run.concurrency,
            };
            // What was passed over while another one led.
            let all: Vec<Arc<Cached>> = owners.deployments.state();
            owners.queues.extend(all.iter().map(|deployment| &**deployment));
            let wait = (role == Role::Selector).then(|| self.registered(&context));
            tasks.spawn(async move {
                if let Some(wait) = wait {
                    wait.await;
                }
                let reconciler = match role {
                    Role::Provider(provider) => Reconciler::Provider(Arc::new(ProviderContext::new(context, provider))),
                    Role::Selector => Reconciler::selector(context),
                    Role::Core | Role::Webhooks => Reconciler::core(context),
                };
                filled(&controller.deployments).await;
                controllers::run(controller, reconciler).await;
            });
        }
    }

    /// Waits until the providers of this process have said what they can: a choice stays, so it is not made among the few
    /// that were quickest.
    fn registered(&self, context: &Context) -> impl Future<Output = ()> + Send + 'static {
        let providers: Vec<&'static str> =
            self.run.roles.iter().filter(|role| matches!(role, Role::Provider(_))).map(|role| role.name()).collect();
        let mut snapshots = context.snapshots.clone();
        async move {
            let all = snapshots.wait_for(|snapshot| {
                providers.iter().all(|provider| {
                    let ready = snapshot.engine.catalog().get(provider).map(|candidate| candidate.ready == Some(true));
                    // One whose CRD is missing is not ready, and never will be.
                    ready.is_some_and(|ready| ready == snapshot.engine.target(provider).is_some())
                })
            });
            if tokio::time::timeout(REGISTRATION, all).await.is_err() {
                tracing::warn!("not all providers of this process are registered: selecting among those that are");
            }
        }
    }
}
