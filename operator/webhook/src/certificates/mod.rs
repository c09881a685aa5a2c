//! Issues, shares, renews and replaces the certificate of the webhooks without a restart (OP-7.2).
//!
//! ```text
//! Secret ─ watch ─ due? ─ renew: write, with the version that was read ─ Secret
//!            └──── bundle ─ ca_bundle ─ trusted? ─ serve with it
//! ```
//! A new certificate is served only once every `caBundle` contains its authority; until then the old one is served.
//!
//! The TLS server of [`kubefoundry_controller_runtime::server`] only receives the resulting configuration.

mod issue;
mod secret;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use kubefoundry_controller_runtime::admin::Readiness;
use kubefoundry_controller_runtime::backoff::Backoff;
use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_controller_runtime::shutdown::{Shutdown, signaled};
use kubefoundry_controller_runtime::watch::watch_object;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::sync::watch;
use tokio::time::sleep;

use self::secret::{Maintenance, StoredCertificate};
use crate::Webhooks;

/// The name of the Secret.
pub const SECRET: &str = "kubefoundry-webhooks-tls";
/// The condition of readiness.
const CONDITION: &str = "certificate";
/// The field manager of the Secret.
const MANAGER: &str = "kubefoundry-webhooks";

/// The CA certificates with which the apiserver verifies the webhooks, as PEM; none until one is issued.
pub(crate) type Bundle = Option<Arc<str>>;

/// Parses the valid certificates of a bundle.
pub(super) fn read(bundle: &str) -> Vec<CertificateDer<'static>> {
    issue::certificates(bundle)
}

/// Issues and renews the certificate, and publishes it to the server and the writer of bundles.
pub(super) struct CertificateManager {
    secrets: Api<Secret>,
    metrics: Arc<Metrics>,
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

/// The channels between the manager, the writer of bundles and the server.
pub(super) struct Channels {
    pub(super) bundle: watch::Sender<Bundle>,
    pub(super) trusted: watch::Receiver<Bundle>,
    pub(super) server: watch::Sender<Option<Arc<ServerConfig>>>,
}

/// The certificate that is served.
#[derive(Default)]
struct ServedCertificate {
    current: Option<StoredCertificate>,
    /// The time since which a newer certificate waits to be trusted, and the time since which it is trusted.
    pending: Option<(Instant, Option<Instant>)>,
    /// The certificate that was served before, and the time since which it is not.
    previous: Option<(StoredCertificate, Instant)>,
}

impl CertificateManager {
    pub(super) fn new(webhooks: &Webhooks, channels: Channels) -> Self {
        let Webhooks { client, namespace, service, url, certificate_lifetime, metrics, readiness, .. } = webhooks;
        readiness.set_pending(CONDITION, "not read yet");
        Self {
            secrets: Api::namespaced(client.clone(), namespace),
            metrics: Arc::clone(metrics),
            names: issue::names(service, namespace, url.as_deref()),
            namespace: namespace.clone(),
            lifetime: *certificate_lifetime,
            readiness: readiness.clone(),
            bundle: channels.bundle,
            trusted: channels.trusted,
            server: channels.server,
        }
    }

    /// Watches the Secret, and renews, shares and serves its certificate until the shutdown.
    pub(super) async fn run(self, shutdown: Shutdown) {
        let mut stopped = std::pin::pin!(signaled(shutdown));
        let what = format!("secrets/{SECRET}");
        let mut secrets = std::pin::pin!(watch_object(&what, &self.metrics, self.secrets.clone(), SECRET));
        let (mut latest, mut serving) = (None, ServedCertificate::default());
        let (mut renewals, mut prunings) = (Backoff::default(), Backoff::default());
        let check_interval = (self.lifetime / 20).clamp(Duration::from_millis(100), Duration::from_secs(3600));
        let mut pause = check_interval;
        loop {
            tokio::select! {
                () = &mut stopped => return,
                event = secrets.next() => match event {
                    Some(Ok(secret)) => latest = Some(secret),
                    Some(Err(error)) => self.report_failure("cannot be watched", &error),
                    None => return,
                },
                () = sleep(pause) => {}
            }
            let Some(secret) = &mut latest else { continue };
            let stored_certificate = secret.as_ref().and_then(StoredCertificate::read);
            let due = stored_certificate
                .as_ref()
                .map_or(Maintenance::Renewal, |it| it.due(&self.names, self.lifetime, SystemTime::now()));
            let backoff = if due == Maintenance::Renewal { &mut renewals } else { &mut prunings };
            if due != Maintenance::NotDue && backoff.remaining(Instant::now()).is_zero() {
                backoff.record_attempt(Instant::now());
                // The served certificate stays in the bundle even if the Secret was deleted.
                match self.write(secret.clone(), stored_certificate.as_ref().or(serving.current.as_ref()), due).await {
                    Ok(stored) => *secret = stored,
                    Err(error) => self.report_failure("cannot be written", &error),
                }
            }
            let stored_certificate = secret.as_ref().and_then(StoredCertificate::read);
            // A write that failed, or that the back-off postponed, is retried.
            let is_due = stored_certificate
                .as_ref()
                .is_none_or(|it| it.due(&self.names, self.lifetime, SystemTime::now()) != Maintenance::NotDue);
            if let Some(stored_certificate) = stored_certificate {
                self.publish(stored_certificate, &mut serving);
            }
            pause = if serving.pending.is_some() {
                check_interval.min(Duration::from_millis(250))
            } else if serving.previous.is_some() {
                check_interval.min(Duration::from_secs(1))
            } else if is_due {
                check_interval.min(backoff.remaining(Instant::now()).max(Duration::from_millis(100)))
            } else {
                check_interval
            };
        }
    }

    /// Renews or prunes the certificate. Returns the Secret that is stored afterwards, which may be that of a replica
    /// that was faster: the resourceVersion makes the slower write fail.
    async fn write(
        &self,
        secret: Option<Secret>,
        before: Option<&StoredCertificate>,
        due: Maintenance,
    ) -> Result<Option<Secret>, kube::Error> {
        let next = match (due, before) {
            (Maintenance::Pruning, Some(before)) => Ok(before.pruned()),
            _ => StoredCertificate::renew(before, &self.names, self.lifetime, SystemTime::now()),
        };
        let next = match next {
            Ok(next) => next,
            Err(error) => {
                self.report_failure("cannot be issued", &error);
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

    /// Publishes the bundle of a certificate, and serves with the certificate once the apiserver trusts it.
    fn publish(&self, stored: StoredCertificate, serving: &mut ServedCertificate) {
        let now = SystemTime::now();
        let server = match stored.check_usable(&self.names, now).and_then(|()| issue::server_config(&stored.pair)) {
            Ok(server) => server,
            Err(error) => return self.report_failure("cannot be used", &error),
        };
        // A pair that a user put into the Secret has a bundle of its own. Until every replica serves it, the apiserver
        // has to trust both.
        serving.previous.take_if(|(_, since)| since.elapsed() >= self.overlap());
        let others = serving.current.iter().chain(serving.previous.as_ref().map(|(previous, _)| previous));
        let others = others.filter(|other| other.pair != stored.pair);
        let bundle: Arc<str> = others.fold(stored.bundle.clone(), |bundle, other| other.add_to(&bundle)).into();
        self.bundle.send_if_modified(|current| {
            let differs = current.as_ref() != Some(&bundle);
            *current = Some(Arc::clone(&bundle));
            differs
        });
        if serving.current.as_ref().is_some_and(|current| current.pair == stored.pair) {
            (serving.current, serving.pending) = (Some(stored), None);
            return;
        }
        let is_current_usable = serving.current.as_ref().is_some_and(|old| old.check_usable(&self.names, now).is_ok());
        // Without a usable old certificate there is nothing to lose by switching early.
        if is_current_usable && !self.is_settled(&bundle, serving) {
            return;
        }
        self.server.send_replace(Some(Arc::new(server)));
        serving.previous = serving.current.take().map(|previous| (previous, Instant::now()));
        tracing::info!(names = self.names.join(","), "serving the webhooks with a new certificate");
        (serving.current, serving.pending) = (Some(stored), None);
        self.readiness.set_ready(CONDITION);
    }

    /// Returns the time in which the other replicas serve a new certificate after this one does.
    fn overlap(&self) -> Duration {
        (self.lifetime / 20).min(Duration::from_secs(30))
    }

    /// Whether the new certificate may be served: its bundle is written everywhere and the apiserver had time to load
    /// it, or this took so long that the old certificate must be replaced anyway.
    fn is_settled(&self, bundle: &Arc<str>, serving: &mut ServedCertificate) -> bool {
        let load_time = (self.lifetime / 20).min(Duration::from_secs(5));
        let timeout = (self.lifetime / 6).min(Duration::from_secs(300));
        let is_trusted = self.trusted.borrow().as_ref() == Some(bundle);
        let (since, trusted) = serving.pending.get_or_insert_with(|| (Instant::now(), None));
        if is_trusted {
            trusted.get_or_insert_with(Instant::now).elapsed() >= load_time
        } else {
            *trusted = None;
            since.elapsed() >= timeout
        }
    }

    /// Logs a failure, and shows it in `/readyz` until the first certificate is served.
    fn report_failure(&self, how: &str, error: &dyn std::fmt::Display) {
        tracing::warn!(secret = SECRET, %error, "the webhooks' certificate {how}");
        self.readiness.update_pending(CONDITION, format!("{how}: {error}"));
    }
}
