//! Runs a role: once this process leads it, its controllers start.

use std::sync::Arc;
use std::time::Duration;

use kubefoundry_controller_runtime::controller::Controller;
use kubefoundry_controller_runtime::lease::{LeaseManager, LeaseThread};
use kubefoundry_controller_runtime::limiter::ConcurrencyLimiter;
use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_controller_runtime::shutdown::Shutdown;
use kubefoundry_reconcile::cached_object::CachedObject;
use tokio::task::JoinSet;

use super::End;
use super::claimed::ClaimedGroup;
use crate::args::Run;
use crate::context::Context;
use crate::controllers::{RoleReconciler, Turns};
use crate::role::Role;
use crate::run::registration::Registration;
use crate::run::rights::RightsChecker;
use crate::watch::{DeploymentGroup, filled};

/// Maximum time for which the selector waits for the providers of its process to register.
const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(30);

/// How the leadership of a role ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeadershipEnd {
    /// Another process has the lease, or may have it.
    Lost,
    /// The process ends.
    Drained,
}

/// The shared state of the roles of a process.
pub(super) struct RoleRunner {
    pub(super) run: Arc<Run>,
    pub(super) identity: Arc<str>,
    pub(super) contexts: Vec<Context>,
    pub(super) groups: Vec<DeploymentGroup>,
    /// The kinds of the roles that are off by default.
    pub(super) claimed: Vec<ClaimedGroup>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) limiter: Arc<ConcurrencyLimiter>,
    pub(super) thread: Arc<LeaseThread>,
    /// The client of the lease thread.
    pub(super) leases: kube::Client,
    /// No reconciliation is running, and none will start.
    pub(super) drained: Shutdown,
}

impl RoleRunner {
    /// Leads the role whenever this process holds its lease, until the process is drained. A lost lease ends the
    /// controllers of this role alone: the other roles and the webhooks of the process do not depend on it.
    pub(super) async fn lead(self: Arc<Self>, role: Role) -> Result<(), End> {
        self.metrics.set_leader(role.name(), false);
        while self.lead_once(role).await? == LeadershipEnd::Lost {
            tracing::warn!(role = role.name(), "lost the lease of the role; waiting to lead it again");
        }
        Ok(())
    }

    /// Waits for the lease of the role, and runs its controllers until the process is drained or the lease is lost.
    async fn lead_once(&self, role: Role) -> Result<LeadershipEnd, End> {
        let run = &self.run;
        let mut drained = self.drained.clone();
        let unopposed = run.no_leader_election;
        // Core of other processes observes the lease of the selector, also without leader election.
        let mut lease = (!unopposed || role == Role::Selector).then(|| {
            let (name, identity) = (role.lease_name(), Arc::clone(&self.identity));
            let client = self.leases.clone();
            LeaseManager::new(client, &run.cluster.namespace, name, identity, run.lease_duration, unopposed)
                .spawn(&self.thread)
        });
        let acquired = async {
            if let Some(lease) = &mut lease {
                lease.acquired().await;
            }
        };
        let leads = tokio::select! {
            () = acquired => true,
            _ = drained.wait_for(|drained| *drained) => false,
        };
        let mut end = Ok(LeadershipEnd::Drained);
        if leads {
            let report = |leads| self.metrics.set_leader(role.name(), leads);
            report(true);
            let mut tasks = JoinSet::new();
            self.start(role, &mut tasks);
            let lost = async {
                match &mut lease {
                    Some(lease) => lease.lost().await,
                    None => std::future::pending().await,
                }
            };
            end = tokio::select! {
                () = lost => Ok(LeadershipEnd::Lost),
                ended = tasks.join_next() => {
                    let reason = ended.and_then(Result::err).map(|error| error.to_string()).unwrap_or_default();
                    Err(End::Broken(format!("the controller of role {} ended: {reason}", role.name())))
                }
                _ = drained.wait_for(|drained| *drained) => Ok(LeadershipEnd::Drained),
            };
            report(false);
            // Before the lease is vacated, so that no other process starts earlier.
            tasks.shutdown().await;
        }
        if let (Ok(LeadershipEnd::Drained), Some(lease)) = (&end, lease) {
            lease.vacate().await;
        }
        end
    }

    /// Starts the controllers of the role, and the registration of a provider.
    fn start(&self, role: Role, tasks: &mut JoinSet<()>) {
        if let Role::Claimed(kind) = role {
            let group = self.claimed.iter().find(|group| group.context.kind.name() == kind.name());
            if let Some(group) = group {
                group.start(&self.limiter, self.run.concurrency, tasks);
            }
            return;
        }
        let stores = self.groups.iter().map(|group| group.deployments.clone()).collect();
        let turns = Arc::new(Turns::new(role.name(), stores, self.run.recreation_policy()));
        if let (Role::Provider(provider), Some(context)) = (role, self.contexts.first()) {
            let (run, client) = (&self.run, context.client.clone());
            let registration = Registration {
                // The groups share the provider configurations; they are written to the first.
                api_group: context.api_group,
                provider,
                interval: run.heartbeat_interval,
                snapshots: context.snapshots.clone(),
                upstream: Arc::clone(&context.upstream),
                metrics: Arc::clone(&context.metrics),
                rights: RightsChecker::new(client.clone(), role, &run.groups, &run.cluster.namespace),
                client,
                turns: Arc::clone(&turns),
            };
            tasks.spawn(registration.run());
        }
        for (context, group) in self.contexts.iter().zip(&self.groups) {
            let Some(queue) = group.queues.get(role) else { continue };
            // Reconciliations that were cancelled when this process last lost the role.
            queue.forget_in_progress();
            let (context, turns) = (context.clone(), Arc::clone(&turns));
            let controller = Controller {
                resource: group.resource.clone(),
                store: group.deployments.clone(),
                queue,
                limiter: Arc::clone(&self.limiter),
                stage: role.stage(),
                concurrency: self.run.concurrency,
            };
            // Another process may have led while deployments changed, so all of them are queued.
            let all: Vec<Arc<CachedObject>> = group.deployments.state();
            group.queues.extend(all.iter().map(|deployment| &**deployment));
            let wait = (role == Role::Selector).then(|| self.wait_until_registered(&context));
            tasks.spawn(async move {
                if let Some(wait) = wait {
                    wait.await;
                }
                let reconciler = RoleReconciler::new(role, context, turns);
                filled(&controller.store).await;
                controller.run(reconciler).await;
            });
        }
    }

    /// Waits until the providers of this process are registered. A selection is permanent, so it must not be limited to
    /// the providers that registered first.
    fn wait_until_registered(&self, context: &Context) -> impl Future<Output = ()> + Send + 'static {
        let providers: Vec<&'static str> =
            self.run.roles.iter().filter(|role| matches!(role, Role::Provider(_))).map(|role| role.name()).collect();
        let mut snapshots = context.snapshots.clone();
        async move {
            let all = snapshots.wait_for(|snapshot| {
                providers.iter().all(|provider| {
                    let ready = snapshot.session.catalog().get(provider).map(|candidate| candidate.ready == Some(true));
                    // A provider whose CRD is missing never becomes ready.
                    ready.is_some_and(|ready| ready == snapshot.session.crd_version(provider).is_some())
                })
            });
            if tokio::time::timeout(REGISTRATION_TIMEOUT, all).await.is_err() {
                tracing::warn!(
                    "not all providers of this process have registered in time; selecting among the registered ones"
                );
            }
        }
    }
}
