//! Answers the questions of the webhooks from the caches of the operator.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::core::DynamicObject;
use kubefoundry_compiler::verdict::AllowList;
use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_reconcile::names;
use kubefoundry_webhook::{AdmissionContext, Availability, Evaluators, access_review};
use serde_json::Value;
use tokio::sync::watch;

use crate::args::Run;
use crate::context::Context;

/// The state of the cluster, as the caches have it.
pub(crate) struct CachedCluster {
    pub(crate) client: kube::Client,
    pub(crate) settings: Arc<Run>,
    pub(crate) metrics: Arc<Metrics>,
    /// The context of each API group; empty until the caches are filled.
    pub(crate) contexts: watch::Receiver<Vec<Context>>,
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
            Ok(AllowList::parse(namespace, annotations.get(names::ALLOWED_PROVIDERS).map(String::as_str)))
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
            let resource = names::deployments(api_group);
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
