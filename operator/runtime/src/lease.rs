//! Leader election by Lease: for each role, one process reconciles.
//!
//! Corresponds to `kubert::lease::LeaseManager`, and the names follow it ([`LeaseManager`], `Claim`, `vacate`).
//! kubert compares the `renewTime` that the holder wrote with its own clock; client-go does not. Like client-go, a
//! Lease here counts as expired when *this* process has seen it unchanged for its duration, so only the rate of the
//! local clock matters (tests/it/leaders.rs runs replicas whose clocks disagree).
//!
//! Leases are renewed on a dedicated thread and connection ([`LeaseThread`]), so renewal continues while rendering ten
//! thousand deployments saturates every core.

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

/// The thread that renews leases. It ends when this value is dropped.
///
/// The main runtime has as many worker threads as fit the machine, and all of them can be rendering when a renewal is
/// due. A thread with its own runtime competes only for CPU time, where the scheduler of the system is fair to it.
#[derive(Debug)]
pub struct LeaseThread {
    handle: Handle,
    _stop: oneshot::Sender<()>,
}

impl LeaseThread {
    /// Starts the thread with a tokio runtime of its own.
    ///
    /// # Errors
    /// When the system cannot start another thread.
    pub fn start() -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        std::thread::Builder::new().name("leases".to_owned()).spawn(move || {
            // The sender is dropped when the process ends.
            let _ = runtime.block_on(stopped);
            runtime.shutdown_background();
        })?;
        Ok(Self { handle, _stop: stop })
    }

    /// Spawns a task on the lease thread.
    pub fn spawn<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.handle.spawn(task)
    }
}

/// A lease that is being claimed, and then held. Dropping the guard lets the task run on: end it with
/// [`LeaseGuard::vacate`].
pub struct LeaseGuard {
    acquired: oneshot::Receiver<()>,
    vacate: oneshot::Sender<()>,
    task: JoinHandle<End>,
}

/// How holding a lease ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Lost,
    Vacated,
}

impl LeaseGuard {
    /// Waits until this process holds the lease.
    pub async fn acquired(&mut self) {
        if (&mut self.acquired).await.is_err() {
            // [`Self::lost`] reports this.
            std::future::pending::<()>().await;
        }
    }

    /// Waits until the lease is lost. Call it at most once.
    pub async fn lost(&mut self) {
        let _: Result<End, JoinError> = (&mut self.task).await;
    }

    /// Gives the lease up, so that another process can take it at once.
    pub async fn vacate(self) {
        let Self { vacate, task, .. } = self;
        let _ = vacate.send(());
        let _: Result<End, JoinError> = task.await;
    }
}

/// The last observed state of a Lease, and when it changed, on the local clock.
#[derive(Debug)]
struct Observed {
    spec: Option<LeaseSpec>,
    since: Instant,
}

impl Observed {
    fn new() -> Self {
        Self { spec: None, since: Instant::now() }
    }

    fn update(&mut self, lease: Option<&Lease>, now: Instant) {
        let spec = lease.and_then(|lease| lease.spec.clone());
        if spec != self.spec {
            *self = Self { spec, since: now };
        }
    }

    /// Returns the holder that the Lease names, whether or not it has expired.
    fn named_holder(&self) -> Option<&str> {
        let holder = self.spec.as_ref()?.holder_identity.as_deref();
        holder.filter(|holder| !holder.is_empty())
    }

    /// Returns the current holder; none when the Lease was vacated, or not renewed within its duration. `duration` is
    /// used where the Lease names none.
    fn holder(&self, now: Instant, duration: Duration) -> Option<&str> {
        let holder = self.named_holder()?;
        let seconds = self.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
        let duration = seconds.and_then(|seconds| u64::try_from(seconds).ok()).map_or(duration, Duration::from_secs);
        (now.duration_since(self.since) < duration).then_some(holder)
    }
}

/// Claims and renews one Lease for this process.
pub struct LeaseManager {
    api: Api<Lease>,
    name: String,
    identity: Arc<str>,
    duration: Duration,
    observed: Observed,
    /// Claims the Lease even if another holder has it. For a single process that publishes its presence and does not
    /// compete.
    unopposed: bool,
}

/// The result of one attempt to claim or renew a Lease.
#[derive(Debug, PartialEq, Eq)]
enum Claim {
    /// This process holds the Lease.
    Held,
    /// This other process holds it.
    HeldBy(String),
}

impl LeaseManager {
    /// Creates the manager of a Lease for a process.
    pub fn new(
        client: kube::Client,
        namespace: &str,
        name: String,
        identity: Arc<str>,
        duration: Duration,
        unopposed: bool,
    ) -> Self {
        let api = Api::namespaced(client, namespace);
        Self { api, name, identity, duration, observed: Observed::new(), unopposed }
    }

    /// Claims the Lease on the thread, and renews it until it is lost or vacated.
    pub fn spawn(mut self, thread: &LeaseThread) -> LeaseGuard {
        let (sender, acquired) = oneshot::channel();
        let (vacate, mut vacated) = oneshot::channel();
        let task = thread.spawn(async move {
            let mut sender = Some(sender);
            let mut report_acquired = || sender.take().map(|sender| sender.send(()));
            if self.unopposed {
                report_acquired();
            }
            tokio::select! {
                () = self.acquire() => report_acquired(),
                _ = &mut vacated => return End::Vacated,
            };
            tokio::select! {
                () = self.renew_until_lost() => return End::Lost,
                _ = &mut vacated => {}
            }
            self.vacate().await;
            End::Vacated
        });
        LeaseGuard { acquired, vacate, task }
    }

    /// Returns the interval between renewals: two may fail before the lease expires.
    fn interval(&self) -> Duration {
        self.duration / 3
    }

    /// Waits until this process holds the Lease. A repeated reason for waiting is logged once.
    async fn acquire(&mut self) {
        let mut logged = String::new();
        loop {
            // An attempt that gets no response must not keep this process from the next one.
            let limit = self.interval();
            match tokio::time::timeout(limit, self.try_claim()).await.unwrap_or_else(|_| Err(no_response(limit))) {
                Ok(Claim::Held) => {
                    tracing::info!(lease = self.name, identity = &*self.identity, "acquired the lease");
                    return;
                }
                Ok(Claim::HeldBy(holder)) => {
                    if logged != holder {
                        tracing::info!(lease = self.name, holder, "another process holds the lease");
                        logged = holder;
                    }
                }
                Err(error) => {
                    let error = error.to_string();
                    if logged != error {
                        tracing::warn!(lease = self.name, error, "acquiring the lease failed, retrying");
                        logged = error;
                    }
                }
            }
            tokio::time::sleep(self.interval()).await;
        }
    }

    /// Renews the Lease, and returns when it is lost: another process holds it, or no renewal succeeded for two thirds
    /// of its duration, so that this process stops before another one starts.
    async fn renew_until_lost(&mut self) {
        let valid_for = self.duration * 2 / 3;
        let mut renewed = Instant::now();
        let mut delay = self.interval();
        let mut logged = String::new();
        loop {
            tokio::time::sleep(delay).await;
            // Retry soon after a failure.
            delay = self.interval() / 5;
            let deadline = renewed + valid_for;
            let started = Instant::now();
            // No attempt outlasts the deadline. The first one starts an interval before it and may take half of that,
            // so another one follows when a request gets no response. Without opposition there is no deadline.
            let timeout = if self.unopposed {
                self.interval()
            } else {
                (deadline - started).min(self.interval() / 2).max(Duration::from_millis(1))
            };
            match tokio::time::timeout(timeout, self.try_claim()).await.unwrap_or_else(|_| Err(no_response(timeout))) {
                Ok(Claim::Held) => {
                    (renewed, delay) = (started, self.interval());
                    logged.clear();
                }
                Ok(Claim::HeldBy(holder)) => {
                    tracing::warn!(lease = self.name, holder, "another process took the lease");
                    return;
                }
                Err(error) => {
                    let error = error.to_string();
                    if logged != error {
                        tracing::warn!(lease = self.name, error, "renewing the lease failed, retrying");
                        logged = error;
                    }
                }
            }
            if Instant::now() >= renewed + valid_for && !self.unopposed {
                tracing::warn!(lease = self.name, "the lease was not renewed in time");
                return;
            }
        }
    }

    /// Clears the holder, so that no other process waits for the Lease to expire.
    async fn vacate(&mut self) {
        let lease = match self.api.get_opt(&self.name).await {
            Ok(Some(lease)) => lease,
            Ok(None) => return,
            Err(error) => return tracing::warn!(lease = self.name, %error, "releasing the lease failed"),
        };
        let is_held = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()) == Some(&*self.identity);
        if !is_held {
            return;
        }
        let spec = LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            ..lease.spec.unwrap_or_default()
        };
        let vacated = Lease { spec: Some(spec), ..Lease { metadata: lease.metadata, ..Lease::default() } };
        match self.api.replace(&self.name, &PostParams::default(), &vacated).await {
            Ok(_) => tracing::info!(lease = self.name, "released the lease"),
            Err(error) => tracing::warn!(lease = self.name, %error, "releasing the lease failed"),
        }
    }

    /// Tries once to claim or renew the Lease.
    async fn try_claim(&mut self) -> Result<Claim, kube::Error> {
        let current = self.api.get_opt(&self.name).await?;
        let now = Instant::now();
        self.observed.update(current.as_ref(), now);
        let holder = self.observed.holder(now, self.duration).map(str::to_owned);
        let is_renewal = self.observed.named_holder() == Some(&*self.identity);
        if let Some(holder) = holder.filter(|_| !is_renewal && !self.unopposed) {
            return Ok(Claim::HeldBy(holder));
        }
        let time = MicroTime(Timestamp::now());
        let old = current.as_ref().and_then(|lease| lease.spec.clone()).unwrap_or_default();
        let transitions = old.lease_transitions.unwrap_or_default();
        // The field holds whole seconds; rounding up keeps others from taking the Lease too early.
        let seconds = i32::try_from(self.duration.as_millis().div_ceil(1000)).unwrap_or(i32::MAX);
        let spec = LeaseSpec {
            holder_identity: Some(self.identity.to_string()),
            lease_duration_seconds: Some(seconds),
            acquire_time: if is_renewal { old.acquire_time } else { Some(time.clone()) },
            lease_transitions: Some(if is_renewal { transitions } else { transitions.saturating_add(1) }),
            renew_time: Some(time),
            ..LeaseSpec::default()
        };
        let params = PostParams::default();
        // The metadata carries the resourceVersion: of two concurrent claims the slower one gets a conflict.
        let written = if let Some(lease) = current {
            self.api.replace(&self.name, &params, &Lease { metadata: lease.metadata, spec: Some(spec) }).await
        } else {
            let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
            self.api.create(&params, &Lease { metadata, spec: Some(spec) }).await
        };
        match written {
            Ok(lease) => {
                self.observed.update(Some(&lease), Instant::now());
                Ok(Claim::Held)
            }
            Err(kube::Error::Api(status)) if status.code == 409 => {
                Ok(Claim::HeldBy("another process, which was faster".to_owned()))
            }
            Err(error) => Err(error),
        }
    }
}

/// Returns the error of a request that got no response in time.
pub fn no_response(limit: Duration) -> kube::Error {
    kube::Error::Service(format!("the apiserver did not answer within {limit:?}").into())
}

/// Keeps `sender` at whether some process holds a Lease. Never returns.
pub async fn follow_holder(
    client: kube::Client,
    namespace: String,
    name: &str,
    duration: Duration,
    sender: watch::Sender<bool>,
) {
    let api: Api<Lease> = Api::namespaced(client, &namespace);
    let mut observed = Observed::new();
    loop {
        if let Ok(Ok(lease)) = tokio::time::timeout(duration / 3, api.get_opt(name)).await {
            let now = Instant::now();
            observed.update(lease.as_ref(), now);
            // Twice the duration, so that a change of the holder does not look like its absence.
            let is_held = observed.named_holder().is_some() && now.duration_since(observed.since) < duration * 2;
            sender.send_if_modified(|known| std::mem::replace(known, is_held) != is_held);
        }
        tokio::time::sleep(duration / 3).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Mutex, PoisonError};

    use http::{Method, Request, Response};
    use http_body_util::BodyExt as _;
    use kube::client::Body;

    use super::*;

    const DURATION: Duration = Duration::from_secs(15);

    /// An apiserver that has one Lease.
    #[derive(Default)]
    struct Server {
        lease: Mutex<Option<serde_json::Value>>,
        /// How many of the next requests get no response.
        silent: AtomicUsize,
        latency: Duration,
    }

    impl Server {
        async fn respond(self: Arc<Self>, request: Request<Body>) -> Result<Response<Body>, std::io::Error> {
            let is_silent =
                self.silent.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |silent| silent.checked_sub(1)).is_ok();
            if is_silent {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(self.latency).await;
            let is_write = request.method() != Method::GET;
            let body = request.into_body().collect().await.map_err(std::io::Error::other)?.to_bytes();
            let mut lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
            if is_write {
                *lease = serde_json::from_slice(&body).ok();
            }
            let missing = serde_json::json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404});
            let (status, body) = lease.as_ref().map_or((404, &missing), |lease| (200, lease));
            Response::builder()
                .status(status)
                .body(Body::from(body.to_string().into_bytes()))
                .map_err(std::io::Error::other)
        }
    }

    async fn acquired_manager(server: &Arc<Server>) -> LeaseManager {
        let server = Arc::clone(server);
        let service = tower::service_fn(move |request| Arc::clone(&server).respond(request));
        let client = kube::Client::new(service, "default");
        let mut manager = LeaseManager::new(client, "default", "l".to_owned(), "me".into(), DURATION, false);
        manager.acquire().await;
        manager
    }

    #[tokio::test(start_paused = true)]
    async fn one_renewal_without_a_response_does_not_lose_the_lease() {
        let server = Arc::new(Server::default());
        let mut manager = acquired_manager(&server).await;
        for number in 1..4 {
            server.silent.store(1, Ordering::SeqCst);
            let lost = tokio::time::timeout(DURATION * 2, manager.renew_until_lost()).await;
            assert!(lost.is_err(), "lost by the renewal {number} that got no response");
            assert_eq!(server.silent.load(Ordering::SeqCst), 0, "no renewal went without a response");
        }
    }

    /// Another process may take the Lease once it has seen it unchanged for its duration.
    #[tokio::test(start_paused = true)]
    async fn a_lease_is_lost_before_another_process_may_take_it() {
        let server = Arc::new(Server::default());
        let mut manager = acquired_manager(&server).await;
        server.silent.store(usize::MAX, Ordering::SeqCst);
        let start = Instant::now();
        manager.renew_until_lost().await;
        assert!(start.elapsed() <= DURATION * 2 / 3 + Duration::from_millis(10), "{:?}", start.elapsed());
    }

    /// After a stall that is longer than the lease, an attempt still gets the time that an answer takes.
    #[tokio::test(start_paused = true)]
    async fn an_unopposed_lease_is_renewed_after_a_stall() {
        let server = Arc::new(Server { latency: Duration::from_millis(20), ..Server::default() });
        let mut manager = acquired_manager(&server).await;
        manager.unopposed = true;
        let renewed = || {
            let lease = server.lease.lock().unwrap_or_else(PoisonError::into_inner);
            lease.as_ref().map(|lease| lease["spec"]["renewTime"].clone())
        };
        let before = renewed();
        // Every request in 25 s.
        server.silent.store(5, Ordering::SeqCst);
        let lost = tokio::time::timeout(DURATION * 4, manager.renew_until_lost()).await;
        assert!(lost.is_err(), "an unopposed lease is never lost");
        assert_eq!(server.silent.load(Ordering::SeqCst), 0);
        assert_ne!(renewed(), before);
    }

    /// A process that waits for a lease asks again when a request gets no response.
    #[tokio::test(start_paused = true)]
    async fn a_request_without_a_response_does_not_end_the_wait_for_a_lease() {
        let server = Arc::new(Server::default());
        server.silent.store(2, Ordering::SeqCst);
        let acquired = tokio::time::timeout(DURATION * 2, acquired_manager(&server)).await;
        assert!(acquired.is_ok());
    }

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
        let mut observed = Observed { spec: None, since: start };
        assert_eq!(observed.holder(start, duration), None);
        // The clock of the holder is years behind, and then years ahead.
        observed.update(Some(&lease("a", "2001-01-01T00:00:00Z")), start);
        assert_eq!(observed.holder(start + Duration::from_secs(14), duration), Some("a"));
        assert_eq!(observed.holder(start + duration, duration), None);
        observed.update(Some(&lease("a", "2099-01-01T00:00:00Z")), start + duration);
        assert_eq!(observed.holder(start + duration, duration), Some("a"));
        // The same state again does not extend it.
        observed.update(Some(&lease("a", "2099-01-01T00:00:00Z")), start + duration * 2);
        assert_eq!(observed.holder(start + duration * 2, duration), None);
        observed.update(Some(&lease("", "2099-01-01T00:00:01Z")), start + duration * 2);
        assert_eq!(observed.holder(start + duration * 2, duration), None);
    }
}
