//! Issues, shares, renews and replaces the certificate of the webhooks without a restart (OP-7.2).
//!
//! ```text
//! Secret ─ watch ─ due? ─ renew: write, with the version that was read ─ Secret
//!            └──── bundle ─ ca_bundle ─ trusted? ─ serve with it
//! ```
//! A new certificate is served only once every `caBundle` contains its authority; until then the old one is served.
//!
//! This is part of the webhooks, not of `runtime`: names, Secret and bundle are theirs. The TLS server of
//! [`crate::runtime::server`] only receives the resulting configuration.

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

/// The name of the Secret.
pub(crate) const SECRET: &str = "kubefoundry-webhooks-tls";
/// The condition of readiness.
const CONDITION: &str = "certificate";
/// The field manager of the Secret.
const MANAGER: &str = "kubefoundry-webhooks";

/// The certificates by which the apiserver recognises the webhooks, as PEM.
pub(crate) type Bundle = Option<Arc<str>>;

/// The valid certificates of a bundle.
pub(super) fn read(bundle: &str) -> Vec<CertificateDer<'static>> {
    issue::certificates(bundle)
}

/// Keeps the certificate valid.
pub(super) struct Keeper {
    secrets: Api<Secret>,
    namespace: String,
    names: Vec<String>,
    lifetime: Duration,
    readiness: Readiness,
    /// The bundle that the apiserver has to trust.
    bundle: watch::Sender<Bundle>,
    /// The bundle that is written everywhere.
    trusted: watch::Receiver<Bundle>,
    /// The configuration of the TLS server.
    server: watch::Sender<Option<Arc<ServerConfig>>>,
}

/// The channels between a keeper, the writer of bundles and the server.
pub(super) struct Published {
    pub(super) bundle: watch::Sender<Bundle>,
    pub(super) trusted: watch::Receiver<Bundle>,
    pub(super) server: watch::Sender<Option<Arc<ServerConfig>>>,
}

/// The certificate that is served.
#[derive(Default)]
struct Serving {
    now: Option<Kept>,
    /// Since when a newer certificate waits to be trusted, and since when it is trusted.
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

    /// Runs until the shutdown.
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
                // The certificate that is served stays in the bundle, even when the Secret was deleted.
                match self.write(secret.clone(), kept.as_ref().or(serving.now.as_ref()), due).await {
                    Ok(stored) => *secret = stored,
                    Err(error) => self.fails("cannot be written", &error),
                }
            }
            let kept = secret.as_ref().and_then(Kept::read);
            // A write that did not happen is retried.
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

    /// Writes what is due. Returns what is stored then: this certificate, or that of a replica that was faster.
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
            // Changed, created or deleted in the meantime.
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

    /// Whether a bundle is written everywhere and the apiserver had time to load it, or that took too long.
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
