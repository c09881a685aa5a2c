//! Admission webhooks: defaults, validation, allow lists of namespaces and access checks of users, over TLS with a
//! self-issued certificate.
//!
//! ```text
//! apiserver ─ http ─ server ─┬─ review ─┬─ default ── patch
//!     │                      │          └─ validate ─ access_review ─ verdict
//!     │                      └─ convert
//!     └─ certificates (Secret) ─ ca_bundle
//! ```

mod access_review;
pub(crate) mod ca_bundle;
pub(crate) mod certificates;
mod convert;
mod default;
mod review;
mod server;
mod validate;

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kubefoundry_compiler::verdict::AllowList;
use serde_json::Value;
use tokio::sync::watch;

use self::server::{AdmissionContext, Availability, Evaluators};
use crate::args::Run;
use crate::context::Context;
use crate::names::ALLOWED_PROVIDERS;
use crate::runtime::admin::Readiness;
use crate::runtime::metrics::Metrics;
use crate::runtime::server::{Server, Transport};
use crate::runtime::shutdown::Shutdown;

/// The webhooks before their start.
pub(crate) struct Webhooks {
    pub(crate) client: kube::Client,
    pub(crate) settings: Arc<Run>,
    pub(crate) metrics: Arc<Metrics>,
    /// The context of each API group; empty until the caches are filled. Until then no ModelDeployment is admitted.
    pub(crate) contexts: watch::Receiver<Vec<Context>>,
    pub(crate) readiness: Readiness,
}

impl Webhooks {
    /// Serves until the shutdown.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub(crate) async fn run(self, shutdown: Shutdown) -> std::io::Result<()> {
        let Self { client, settings, metrics, contexts, readiness } = self;
        let (bundle, to_trust) = watch::channel(None);
        let (trusted, is_trusted) = watch::channel(None);
        let (configuration, served) = watch::channel(None);
        let channels = certificates::Channels { bundle, trusted: is_trusted, server: configuration };
        let manager =
            certificates::CertificateManager::new(client.clone(), &settings, &metrics, readiness.clone(), channels);
        let api_groups = settings.groups.clone();
        let writer = ca_bundle::CaBundleWriter {
            client: client.clone(),
            metrics: Arc::clone(&metrics),
            api_groups,
            readiness,
            bundle: to_trust,
            trusted,
        };

        let address = settings.webhook_address;
        let handler = server::handler(Arc::new(CachedCluster { client, settings, metrics, contexts }));
        let server = Server::bind(address, Transport::Tls(served), handler).await?;
        tracing::info!(%address, "serving webhooks");
        tokio::join!(manager.run(shutdown.clone()), writer.run(shutdown.clone()), server.run(shutdown));
        Ok(())
    }
}

/// Answers the questions of the webhooks from the caches of the operator.
struct CachedCluster {
    client: kube::Client,
    settings: Arc<Run>,
    metrics: Arc<Metrics>,
    contexts: watch::Receiver<Vec<Context>>,
}

impl AdmissionContext for CachedCluster {
    fn session(&self, group: &str) -> Availability {
        if !self.settings.groups.iter().any(|api_group| api_group.name == group) {
            return Availability::NotServed;
        }
        let contexts = self.contexts.borrow();
        let context = contexts.iter().find(|context| context.api_group.name == group);
        context.map_or(Availability::Starting, |context| {
            let snapshot = context.snapshots.borrow().clone();
            let session = snapshot.session.clone();
            Availability::Ready(Evaluators {
                session,
                restrict: Arc::new(move |allowed| snapshot.restricted_to(allowed)),
            })
        })
    }

    fn allow_list<'c>(&'c self, namespace: &'c str) -> BoxFuture<'c, Result<AllowList, String>> {
        async move {
            let namespaces = self.contexts.borrow().first().map(|context| Arc::clone(&context.namespaces));
            if let Some(namespaces) = namespaces.filter(|namespaces| namespaces.is_known(namespace)) {
                return Ok(namespaces.allow_list(namespace));
            }
            // The namespace is new, or the watch is broken: ask the apiserver.
            let namespaces = Api::<Namespace>::all(self.client.clone());
            let found = namespaces.get_metadata(namespace).await.map_err(|error| error.to_string())?;
            let annotations = found.metadata.annotations.unwrap_or_default();
            Ok(AllowList::parse(namespace, annotations.get(ALLOWED_PROVIDERS).map(String::as_str)))
        }
        .boxed()
    }

    fn deployment<'c>(
        &'c self,
        group: &'c str,
        namespace: &'c str,
        name: &'c str,
    ) -> BoxFuture<'c, Result<Option<Value>, String>> {
        async move {
            let Some(api_group) = self.settings.groups.iter().find(|api_group| api_group.name == group) else {
                return Ok(None);
            };
            let kind = GroupVersionKind::gvk(api_group.name, api_group.version, kubefoundry_deployment::wire::KIND);
            let resource = ApiResource::from_gvk_with_plural(&kind, "modeldeployments");
            let deployments = Api::<DynamicObject>::namespaced_with(self.client.clone(), namespace, &resource);
            let found = deployments.get_opt(name).await.map_err(|error| error.to_string())?;
            found.map(|found| serde_json::to_value(found).map_err(|error| error.to_string())).transpose()
        }
        .boxed()
    }

    fn checks_access(&self) -> bool {
        self.settings.check_access
    }

    fn observe(&self, webhook: &'static str, verdict: &'static str, took: Duration) {
        self.metrics.observe_admission(webhook, verdict, took);
    }

    fn check_access(&self, review: SubjectAccessReview) -> BoxFuture<'_, Option<String>> {
        access_review::check(self.client.clone(), review).boxed()
    }
}
