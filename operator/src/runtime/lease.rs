//! Who works: one process for each role, by a Lease.
//!
//! A Lease counts as expired when *this* process has seen it unchanged for as long as it says it lasts, as client-go does:
//! no clock but our own is trusted, and of that only how fast it runs.
//!
//! Leases are renewed by a thread of their own, on a connection of their own: so that they are while ten thousand deployments
//! are rendered on every core.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, PostParams};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;

use crate::role::Role;

/// The Lease of a role.
pub(crate) fn lease_name(role: Role) -> String {
    match role {
        // Under this name core looks whether there is one.
        Role::Selector => SELECTOR_LEASE.to_owned(),
        role => format!("kubefoundry-{}", role.name()),
    }
}

/// The Lease of the selector, by which others know that there is one (docs/specification.md OP-1.3).
pub(crate) const SELECTOR_LEASE: &str = "kubefoundry-provider-selector";

/// The thread that renews leases, for as long as this is kept.
#[derive(Debug)]
pub(crate) struct Apart {
    handle: Handle,
    _ends: oneshot::Sender<()>,
}

impl Apart {
    /// Starts it.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub(crate) fn start() -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (ends, ended) = oneshot::channel::<()>();
        std::thread::Builder::new().name("leases".to_owned()).spawn(move || {
            // The other end is dropped when the process ends.
            let _ = runtime.block_on(ended);
            runtime.shutdown_background();
        })?;
        Ok(Self { handle, _ends: ends })
    }

    /// Has something done there.
    pub(crate) fn spawn<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.handle.spawn(task)
    }
}

/// A lease that is asked for, and then held.
pub(crate) struct Held {
    acquired: oneshot::Receiver<()>,
    let_go: oneshot::Sender<()>,
    task: JoinHandle<End>,
}

/// How holding a lease ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Lost,
    GivenBack,
}

impl Held {
    /// Waits until it is ours.
    pub(crate) async fn acquired(&mut self) {
        if (&mut self.acquired).await.is_err() {
            // It is told by [`Self::lost`].
            std::future::pending::<()>().await;
        }
    }

    /// Waits until it is ours no more. Called once.
    pub(crate) async fn lost(&mut self) {
        let _: Result<End, JoinError> = (&mut self.task).await;
    }

    /// Gives it back.
    pub(crate) async fn give_back(self) {
        let Self { let_go, task, .. } = self;
        let _ = let_go.send(());
        let _: Result<End, JoinError> = task.await;
    }
}

/// What was seen of a Lease, and when it changed last.
#[derive(Debug)]
struct Seen {
    spec: Option<LeaseSpec>,
    since: Instant,
}

impl Seen {
    fn look(&mut self, lease: Option<&Lease>, now: Instant) {
        let spec = lease.and_then(|lease| lease.spec.clone());
        if spec != self.spec {
            *self = Self { spec, since: now };
        }
    }

    /// Who holds it; nobody when it was given back, or not renewed for its time.
    fn holder(&self, now: Instant, duration: Duration) -> Option<&str> {
        let spec = self.spec.as_ref()?;
        let holder = spec.holder_identity.as_deref().filter(|holder| !holder.is_empty())?;
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let lasts = seconds.map_or(duration, Duration::from_secs);
        (now.duration_since(self.since) < lasts).then_some(holder)
    }
}

/// A role's Lease, as one process sees it.
pub(crate) struct Election {
    api: Api<Lease>,
    name: String,
    identity: Arc<str>,
    duration: Duration,
    seen: Seen,
    /// Written without asking who holds it: only one process runs, and others are to see that it does.
    unopposed: bool,
}

/// How an attempt ended.
#[derive(Debug, PartialEq, Eq)]
enum Attempt {
    Ours,
    Others(String),
}

impl Election {
    pub(crate) fn new(
        client: kube::Client,
        namespace: &str,
        name: String,
        identity: Arc<str>,
        duration: Duration,
        unopposed: bool,
    ) -> Self {
        let seen = Seen { spec: None, since: Instant::now() };
        Self { api: Api::namespaced(client, namespace), name, identity, duration, seen, unopposed }
    }

    /// Asks for it, and holds it until it is lost or given back.
    pub(crate) fn hold(mut self, thread: &Apart) -> Held {
        let (tell, acquired) = oneshot::channel();
        let (let_go, mut is_let_go) = oneshot::channel();
        let task = thread.spawn(async move {
            let mut tell = Some(tell);
            let mut now_ours = || tell.take().map(|tell| tell.send(()));
            if self.unopposed {
                now_ours();
            }
            tokio::select! {
                () = self.acquire() => now_ours(),
                _ = &mut is_let_go => return End::GivenBack,
            };
            tokio::select! {
                () = self.keep() => return End::Lost,
                _ = &mut is_let_go => {}
            }
            self.release().await;
            End::GivenBack
        });
        Held { acquired, let_go, task }
    }

    fn interval(&self) -> Duration {
        self.duration / 3
    }

    /// Waits until this process holds it.
    async fn acquire(&mut self) {
        let mut said = String::new();
        loop {
            match self.attempt().await {
                Ok(Attempt::Ours) => {
                    tracing::info!(lease = self.name, identity = &*self.identity, "leading");
                    return;
                }
                Ok(Attempt::Others(holder)) => {
                    if said != holder {
                        tracing::info!(lease = self.name, holder, "another one leads");
                        said = holder;
                    }
                }
                Err(error) => {
                    let error = error.to_string();
                    if said != error {
                        tracing::warn!(lease = self.name, error, "the lease cannot be had");
                        said = error;
                    }
                }
            }
            tokio::time::sleep(self.interval()).await;
        }
    }

    /// Holds it. Comes back when it is lost: another one has it, or it could not be renewed for two thirds of its time, so
    /// that this process stops before another one starts.
    async fn keep(&mut self) {
        let lasts = self.duration * 2 / 3;
        let mut renewed = Instant::now();
        let mut wait = self.interval();
        loop {
            tokio::time::sleep(wait).await;
            // Soon again when it fails.
            wait = self.interval() / 5;
            let deadline = renewed + lasts;
            let started = Instant::now();
            // An answer may get lost: there is time for another question.
            let patience = (deadline - started).min(self.interval()).max(Duration::from_millis(1));
            match tokio::time::timeout(patience, self.attempt()).await {
                Ok(Ok(Attempt::Ours)) => (renewed, wait) = (started, self.interval()),
                Ok(Ok(Attempt::Others(holder))) => {
                    tracing::error!(lease = self.name, holder, "another one took the lease");
                    return;
                }
                Ok(Err(error)) => tracing::warn!(lease = self.name, %error, "the lease could not be renewed"),
                Err(_) => {
                    tracing::warn!(lease = self.name, "the apiserver does not answer to the renewal of the lease");
                }
            }
            if Instant::now() >= renewed + lasts && !self.unopposed {
                tracing::error!(lease = self.name, "the lease was not renewed in time");
                return;
            }
        }
    }

    /// Gives it back, so that nobody waits for it.
    async fn release(&mut self) {
        let Ok(Some(lease)) = self.api.get_opt(&self.name).await else { return };
        let ours = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()) == Some(&*self.identity);
        if !ours {
            return;
        }
        let spec = LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            ..lease.spec.unwrap_or_default()
        };
        let released = Lease { spec: Some(spec), ..Lease { metadata: lease.metadata, ..Lease::default() } };
        match self.api.replace(&self.name, &PostParams::default(), &released).await {
            Ok(_) => tracing::info!(lease = self.name, "given back"),
            Err(error) => tracing::warn!(lease = self.name, %error, "the lease could not be given back"),
        }
    }

    /// Tries once to have it for another while.
    async fn attempt(&mut self) -> Result<Attempt, kube::Error> {
        let current = self.api.get_opt(&self.name).await?;
        let now = Instant::now();
        self.seen.look(current.as_ref(), now);
        let holder = self.seen.holder(now, self.duration).map(str::to_owned);
        let written_by_us =
            self.seen.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()) == Some(&*self.identity);
        if let Some(holder) = holder.filter(|_| !written_by_us && !self.unopposed) {
            return Ok(Attempt::Others(holder));
        }
        let time = MicroTime(Timestamp::now());
        let old = current.as_ref().and_then(|lease| lease.spec.clone()).unwrap_or_default();
        let transitions = old.lease_transitions.unwrap_or_default();
        // Whole seconds, and never less than we mean.
        let seconds = i32::try_from(self.duration.as_millis().div_ceil(1000)).unwrap_or(i32::MAX);
        let spec = LeaseSpec {
            holder_identity: Some(self.identity.to_string()),
            lease_duration_seconds: Some(seconds),
            acquire_time: if written_by_us { old.acquire_time } else { Some(time.clone()) },
            lease_transitions: Some(if written_by_us { transitions } else { transitions.saturating_add(1) }),
            renew_time: Some(time),
            ..LeaseSpec::default()
        };
        let params = PostParams::default();
        // With its resourceVersion: who is slower gets a conflict.
        let written = if let Some(lease) = current {
            self.api.replace(&self.name, &params, &Lease { metadata: lease.metadata, spec: Some(spec) }).await
        } else {
            let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
            self.api.create(&params, &Lease { metadata, spec: Some(spec) }).await
        };
        match written {
            Ok(lease) => {
                self.seen.look(Some(&lease), Instant::now());
                Ok(Attempt::Ours)
            }
            Err(kube::Error::Api(status)) if status.code == 409 => {
                Ok(Attempt::Others("another one, a moment earlier".to_owned()))
            }
            Err(error) => Err(error),
        }
    }
}

/// Looks whether some process holds the selector's Lease, forever.
pub(crate) async fn follow_selector(
    client: kube::Client,
    namespace: String,
    duration: Duration,
    sender: watch::Sender<bool>,
) {
    let api: Api<Lease> = Api::namespaced(client, &namespace);
    let mut seen = Seen { spec: None, since: Instant::now() };
    loop {
        if let Ok(lease) = api.get_opt(SELECTOR_LEASE).await {
            let now = Instant::now();
            seen.look(lease.as_ref(), now);
            // Twice its time, so that a change of the leader is not seen as its end.
            let holder = seen.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
            let is_there =
                holder.is_some_and(|holder| !holder.is_empty()) && now.duration_since(seen.since) < duration * 2;
            sender.send_if_modified(|known| std::mem::replace(known, is_there) != is_there);
        }
        tokio::time::sleep(duration / 3).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(holder: &str, renewed: &str) -> Lease {
        let spec = LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(15),
            renew_time: Some(MicroTime(renewed.parse().unwrap())),
            ..LeaseSpec::default()
        };
        Lease { spec: Some(spec), ..Lease::default() }
    }

    #[test]
    fn the_clock_of_the_holder_does_not_matter() {
        let start = Instant::now();
        let duration = Duration::from_secs(15);
        let mut seen = Seen { spec: None, since: start };
        assert_eq!(seen.holder(start, duration), None);
        // Its clock is years behind, and then years ahead.
        seen.look(Some(&lease("a", "2001-01-01T00:00:00Z")), start);
        assert_eq!(seen.holder(start + Duration::from_secs(14), duration), Some("a"));
        assert_eq!(seen.holder(start + duration, duration), None);
        seen.look(Some(&lease("a", "2099-01-01T00:00:00Z")), start + duration);
        assert_eq!(seen.holder(start + duration, duration), Some("a"));
        // The same again is no news.
        seen.look(Some(&lease("a", "2099-01-01T00:00:00Z")), start + duration * 2);
        assert_eq!(seen.holder(start + duration * 2, duration), None);
        seen.look(Some(&lease("", "2099-01-01T00:00:01Z")), start + duration * 2);
        assert_eq!(seen.holder(start + duration * 2, duration), None);
    }

    #[test]
    fn every_role_has_a_lease_of_its_own() {
        let names: std::collections::BTreeSet<String> = Role::all().into_iter().map(lease_name).collect();
        assert_eq!(names.len(), Role::all().len());
        assert!(names.contains(SELECTOR_LEASE) && names.contains("kubefoundry-kaito"));
    }
}
