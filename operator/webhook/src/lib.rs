//! Admission webhooks: defaults, validation, allow lists of namespaces and access checks of users, over TLS with a
//! self-issued certificate.
//!
//! ```text
//! apiserver ─ http ─ server ─┬─ review ─┬─ default ── patch
//!     │                      │          └─ validate ─ access_review ─ verdict
//!     │                      └─ convert
//!     └─ certificates (Secret) ─ ca_bundle
//! ```

pub mod access_review;
pub mod ca_bundle;
pub mod certificates;
mod cluster;
mod convert;
mod default;
mod review;
mod server;
mod validate;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kubefoundry_controller_runtime::admin::Readiness;
use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_controller_runtime::server::{Server, Transport};
use kubefoundry_controller_runtime::shutdown::Shutdown;
use kubefoundry_kubernetes::api_group::ApiGroup;
use tokio::sync::watch;

pub use self::cluster::{AdmissionContext, Availability, Evaluators, RestrictSession};

/// The webhooks before their start.
pub struct Webhooks {
    /// The client for the Secret of the certificate, and for what holds a `caBundle`.
    pub client: kube::Client,
    /// The API groups whose CRDs may be converted.
    pub api_groups: Vec<&'static ApiGroup>,
    /// Where the webhooks listen.
    pub address: SocketAddr,
    /// The namespace of the operator.
    pub namespace: String,
    /// The Service through which the apiserver reaches them.
    pub service: String,
    /// The URL at which it reaches them instead.
    pub url: Option<String>,
    /// The lifetime of a certificate.
    pub certificate_lifetime: Duration,
    /// Where watches are measured.
    pub metrics: Arc<Metrics>,
    /// The conditions `certificate` and `caBundle` are added to these.
    pub readiness: Readiness,
}

impl Webhooks {
    /// Serves until the shutdown. Until `cluster` has filled caches, no ModelDeployment is admitted.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn run(self, cluster: impl AdmissionContext, shutdown: Shutdown) -> std::io::Result<()> {
        let (bundle, to_trust) = watch::channel(None);
        let (trusted, is_trusted) = watch::channel(None);
        let (configuration, served) = watch::channel(None);
        let channels = certificates::Channels { bundle, trusted: is_trusted, server: configuration };
        let manager = certificates::CertificateManager::new(&self, channels);
        let Self { client, api_groups, address, metrics, readiness, .. } = self;
        let writer = ca_bundle::CaBundleWriter { client, metrics, api_groups, readiness, bundle: to_trust, trusted };

        let server = Server::bind(address, Transport::Tls(served), server::handler(Arc::new(cluster))).await?;
        tracing::info!(%address, "serving webhooks");
        tokio::join!(manager.run(shutdown.clone()), writer.run(shutdown.clone()), server.run(shutdown));
        Ok(())
    }
}
