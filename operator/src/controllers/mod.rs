//! Controllers: what happens to a deployment when it, or something that decides about it, changes.

pub(crate) mod core;
pub(crate) mod provider;
pub(crate) mod selector;
mod state;

use std::sync::Arc;
use std::time::Duration;

use kube::runtime::controller::Action;
use serde_json::Value;

pub(crate) use self::state::ReconcileState;
use crate::cached::Cached;
use crate::context::Context;
use crate::error::Error;
use crate::names;
use crate::role::Role;
use crate::runtime::controller::{Reconciler, Reconciliation};
use crate::runtime::metrics::Metrics;
use crate::runtime::queue::Key;
use crate::watch::Namespaces;

/// The controller of a role in one API group.
pub(crate) struct RoleReconciler {
    /// `core`, `selector`, or the name of a provider.
    name: &'static str,
    namespaces: Arc<Namespaces>,
    metrics: Arc<Metrics>,
    kind: Kind,
}

enum Kind {
    Core(Arc<Context>, Arc<ReconcileState>),
    Selector(Arc<Context>, Arc<ReconcileState>),
    /// It has its own state, and measures itself.
    Provider(Arc<provider::ProviderContext>),
}

impl RoleReconciler {
    /// The controller of a role. The webhooks have none; they validate as core does.
    pub(crate) fn new(role: Role, context: Context) -> Self {
        let (namespaces, metrics) = (Arc::clone(&context.namespaces), Arc::clone(&context.metrics));
        let kind = match role {
            Role::Provider(provider) => Kind::Provider(Arc::new(provider::ProviderContext::new(context, provider))),
            Role::Selector => Kind::Selector(Arc::new(context), Arc::default()),
            Role::Core | Role::Webhooks => Kind::Core(Arc::new(context), Arc::default()),
        };
        Self { name: role.name(), namespaces, metrics, kind }
    }

    fn state(&self) -> Option<&ReconcileState> {
        match &self.kind {
            Kind::Core(_, state) | Kind::Selector(_, state) => Some(state),
            Kind::Provider(_) => None,
        }
    }
}

impl Reconciler for RoleReconciler {
    fn check_ready(&self, deployment: &Cached) -> Result<(), Error> {
        if !deployment.is_terminating() && !self.namespaces.is_known(deployment.namespace()) {
            return Err(Error::Waiting(format!("namespace {} is not known yet", deployment.namespace())));
        }
        Ok(())
    }

    fn reconcile(&self, deployment: Arc<Cached>) -> Reconciliation {
        match &self.kind {
            Kind::Core(context, state) => Box::pin(core::reconcile(deployment, Arc::clone(context), Arc::clone(state))),
            Kind::Selector(context, state) => {
                Box::pin(selector::reconcile(deployment, Arc::clone(context), Arc::clone(state)))
            }
            Kind::Provider(context) => Box::pin(provider::reconcile(deployment, Arc::clone(context))),
        }
    }

    fn reconciled(&self, deployment: &Cached, result: &Result<Action, Error>, took: Duration, is_known: bool) {
        if let Some(state) = self.state() {
            self.metrics.observe_reconciliation(self.name, took);
            if result.is_ok() {
                state.record_success(deployment);
            }
        }
        if !is_known {
            // The reconciliation measured it after the watch had already removed it.
            self.metrics.forget(deployment.namespace(), deployment.name());
        }
    }

    fn error_policy(&self, deployment: &Cached, error: &Error) -> Action {
        let state = match &self.kind {
            Kind::Provider(context) => return provider::error_policy(deployment, error, context),
            Kind::Core(_, state) | Kind::Selector(_, state) => state,
        };
        let (wait, is_known) = state.record_failure(deployment, error);
        let (namespace, deployment) = (deployment.namespace(), deployment.name());
        let is_expected = matches!(error, Error::Waiting(_));
        if !is_expected {
            self.metrics.count_error(self.name, error.kind());
        }
        if is_expected || is_known {
            tracing::debug!(controller = self.name, namespace, deployment, %error, ?wait, "tried again later");
        } else {
            tracing::warn!(controller = self.name, namespace, deployment, %error, ?wait, "failed, and tried again later");
        }
        Action::requeue(wait)
    }

    fn forget(&self, key: &Key) {
        if let Some(state) = self.state() {
            state.forget(key);
        }
    }
}

/// Whether an annotation pauses the controllers for a deployment (OP-4.2).
pub(crate) fn is_paused(deployment: &Cached, api_group: &kubefoundry_kubernetes::api_group::ApiGroup) -> bool {
    deployment.annotation(&api_group.label(names::PAUSED)) == Some("true")
}

/// The provider that the specification names.
pub(crate) fn explicit(object: &Value) -> Option<&str> {
    object.pointer("/spec/provider/name").and_then(Value::as_str).filter(|name| !name.is_empty())
}
