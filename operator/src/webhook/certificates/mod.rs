//! The certificate of the webhooks: made, shared, renewed and replaced without a restart (OP-7.2).
//!
//! ```text
//! Secret ─ watch ─ due? ─ renew: write, with the version that was read ─ Secret
//!            └──── bundle ─ ca_bundle ─ trusted? ─ serve with it
//! ```
//! A new certificate is served only once the apiserver was told to trust it; until then the old one is.

mod issue;
mod kept;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use kube::runtime::{WatchStreamExt as _, watcher};
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::sync::watch;
use tokio::time::sleep;

use self::kept::{Due, Kept};
use crate::args::Run;
use crate::runtime::admin::Readiness;
use crate::runtime::backoff::Backoff;
use crate::runtime::shutdown::{Shutdown, signaled};

/// The Secret's name.
pub(crate) const SECRET: &str = "kubefoundry-webhooks-tls";
/// What readiness waits for.
const CONDITION: &str = "certificate";
/// Who writes it.
const MANAGER: &str = "kubefoundry-webhooks";

/// Certificates by which the apiserver knows the webhooks, as PEM.
pub(crate) type Bundle = Option<Arc<str>>;

/// The certificates of a bundle, as far as they can be read.
pub(super) fn read(bundle: &str) -> Vec<CertificateDer<'static>> {
    issue::certificates(bundle)
}

/// Keeps the certificate fresh.
pub(super) struct Keeper {
    secrets: Api<Secret>,
    namespace: String,
    names: Vec<String>,
    lifetime: Duration,
    readiness: Readiness,
    /// What the apiserver is to trust.
    bundle: watch::Sender<Bundle>,
    /// What it was told to trust.
    trusted: watch::Receiver<Bundle>,
    /// What is served with.
    server: watch::Sender<Option<Arc<ServerConfig>>>,
}

/// Where a keeper publishes what it keeps, and where it hears what became of it.
pub(super) struct Published {
    pub(super) bundle: watch::Sender<Bundle>,
    pub(super) trusted: watch::Receiver<Bundle>,
    pub(super) server: watch::Sender<Option<Arc<ServerConfig>>>,
}

/// What is served at the moment.
#[derive(Default)]
struct Serving {
    now: Option<Kept>,
    /// Since when a newer one waits to be trusted, and since when it is.
    waits: Option<(Instant, Option<Instant>)>,
}

impl Keeper {
    pub(super) fn new(client: kube::Client, settings: &Run, readiness: Readiness, published: Published) -> Self {
        readiness.set_pending(CONDITION, "not read yet");
        let namespace = settings.cluster.namespace.clone();
        Self {
            secrets: Api::namespaced(client, &namespace),
            names: issue::names(&settings.webhook_service, &namespace, settings.webhook_url.as_deref()),
            namespace,
            lifetime: settings.certificate_lifetime,
            readiness,
            bundle: published.bundle,
            trusted: published.trusted,
            server: published.server,
        }
    }

    /// Works until it is told to stop.
    pub(super) async fn run(self, shutdown: Shutdown) {
        let mut stopped = std::pin::pin!(signaled(shutdown));
        let mut secrets = std::pin::pin!(watcher::watch_object(self.secrets.clone(), SECRET).default_backoff());
        let (mut latest, mut serving) = (None, Serving::default());
        let (mut renewals, mut prunings) = (Backoff::default(), Backoff::default());
        let look_again = (self.lifetime / 20).clamp(Duration::from_millis(100), Duration::from_secs(3600));
        let mut pause = look_again;
        loop {
            tokio::select! {
                () = &mut stopped => return,
                event = secrets.next() => match event {
                    Some(Ok(secret)) => latest = Some(secret),
                    Some(Err(error)) => self.fails("cannot be watched", &error),
                    None => return,
                },
                () = sleep(pause) => {}
            }
            let Some(secret) = &mut latest else { continue };
            let kept = secret.as_ref().and_then(Kept::read);
            let due =
                kept.as_ref().map_or(Due::Renewal, |kept| kept.due(&self.names, self.lifetime, SystemTime::now()));
            let backoff = if due == Due::Renewal { &mut renewals } else { &mut prunings };
            if due != Due::Nothing && backoff.remaining(Instant::now()).is_zero() {
                backoff.record_attempt(Instant::now());
                // What is served stays trusted, also when somebody deleted the Secret.
                match self.write(secret.clone(), kept.as_ref().or(serving.now.as_ref()), due).await {
                    Ok(stored) => *secret = stored,
                    Err(error) => self.fails("cannot be written", &error),
                }
            }
            let kept = secret.as_ref().and_then(Kept::read);
            // What was not written now is tried again.
            let is_due = kept
                .as_ref()
                .is_none_or(|kept| kept.due(&self.names, self.lifetime, SystemTime::now()) != Due::Nothing);
            if let Some(kept) = kept {
                self.offer(kept, &mut serving);
            }
            pause = if serving.waits.is_some() {
                look_again.min(Duration::from_millis(250))
            } else if is_due {
                look_again.min(backoff.remaining(Instant::now()).max(Duration::from_millis(100)))
            } else {
                look_again
            };
        }
    }

    /// Writes what is due, and gives what is stored then: ours, or that of a replica that was faster.
    async fn write(
        &self,
        secret: Option<Secret>,
        kept: Option<&Kept>,
        due: Due,
    ) -> Result<Option<Secret>, kube::Error> {
        let next = match (due, kept) {
            (Due::Pruning, Some(kept)) => Ok(kept.pruned()),
            _ => Kept::renew(kept, &self.names, self.lifetime, SystemTime::now()),
        };
        let next = match next {
            Ok(next) => next,
            Err(error) => {
                self.fails("cannot be made", &error);
                return Ok(secret);
            }
        };
        let exists = secret.is_some();
        let secret = next.write(secret, SECRET, &self.namespace);
        let parameters = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let written = if exists {
            self.secrets.replace(SECRET, &parameters, &secret).await
        } else {
            self.secrets.create(&parameters, &secret).await
        };
        match written {
            Ok(stored) => {
                tracing::info!(secret = SECRET, ?due, "wrote the webhooks' certificate");
                Ok(Some(stored))
            }
            // Changed, created or deleted meanwhile.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => self.secrets.get_opt(SECRET).await,
            Err(error) => Err(error),
        }
    }

    /// Makes a certificate known, and serves with it once it is trusted.
    fn offer(&self, kept: Kept, serving: &mut Serving) {
        let now = SystemTime::now();
        let server = match kept.works(&self.names, now).and_then(|()| issue::server(&kept.pair)) {
            Ok(server) => server,
            Err(error) => return self.fails("cannot be used", &error),
        };
        let bundle: Arc<str> = kept.bundle.as_str().into();
        self.bundle.send_if_modified(|current| {
            let differs = current.as_ref() != Some(&bundle);
            *current = Some(Arc::clone(&bundle));
            differs
        });
        if serving.now.as_ref().is_some_and(|now| now.pair == kept.pair) {
            (serving.now, serving.waits) = (Some(kept), None);
            return;
        }
        let works = serving.now.as_ref().is_some_and(|old| old.works(&self.names, now).is_ok());
        if works && !self.is_settled(&bundle, serving) {
            return;
        }
        self.server.send_replace(Some(Arc::new(server)));
        tracing::info!(names = self.names.join(","), "serving the webhooks with a new certificate");
        (serving.now, serving.waits) = (Some(kept), None);
        self.readiness.set_ready(CONDITION);
    }

    /// Whether the apiserver was told to trust a bundle and had the time to hear it, or that took too long.
    fn is_settled(&self, bundle: &Arc<str>, serving: &mut Serving) -> bool {
        let settle = (self.lifetime / 20).min(Duration::from_secs(5));
        let patience = (self.lifetime / 6).min(Duration::from_secs(300));
        let is_trusted = self.trusted.borrow().as_ref() == Some(bundle);
        let (since, trusted) = serving.waits.get_or_insert_with(|| (Instant::now(), None));
        if is_trusted {
            trusted.get_or_insert_with(Instant::now).elapsed() >= settle
        } else {
            *trusted = None;
            since.elapsed() >= patience
        }
    }

    fn fails(&self, how: &str, error: &dyn std::fmt::Display) {
        tracing::warn!(secret = SECRET, %error, "the webhooks' certificate {how}");
        self.readiness.update_pending(CONDITION, format!("{how}: {error}"));
    }
}

/// A configuration of a TLS server and the certificate to trust it by, for tests.
#[cfg(test)]
pub(crate) fn for_tests(name: &str) -> (Arc<ServerConfig>, String) {
    let issued = issue::issue(&[name.to_owned()], Duration::from_secs(3600), SystemTime::now()).unwrap();
    (Arc::new(issue::server(&issued.pair).unwrap()), issued.authority)
}
