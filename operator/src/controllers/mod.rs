//! The controllers of the roles. Each reconciles deployments when they, or something that decides about them, change.

pub(crate) mod core;
pub(crate) mod provider;
pub(crate) mod selector;
mod state;

use std::sync::Arc;
use std::time::Duration;

use kube::runtime::controller::Action;
use serde_json::Value;

pub(crate) use self::state::ReconcileState;
use crate::cached_object::CachedObject;
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
    kind: ControllerKind,
}

enum ControllerKind {
    Core(Arc<Context>, Arc<ReconcileState>),
    Selector(Arc<Context>, Arc<ReconcileState>),
    /// Has its own state, and records its own metrics, because it skips deployments of other providers.
    Provider(Arc<provider::ProviderContext>),
}

impl RoleReconciler {
    /// Creates the controller of a role. The webhooks have none; they validate as core does.
    pub(crate) fn new(role: Role, context: Context) -> Self {
        let (namespaces, metrics) = (Arc::clone(&context.namespaces), Arc::clone(&context.metrics));
        let kind = match role {
            Role::Provider(provider) => {
                ControllerKind::Provider(Arc::new(provider::ProviderContext::new(context, provider)))
            }
            Role::Selector => ControllerKind::Selector(Arc::new(context), Arc::default()),
            Role::Core | Role::Webhooks => ControllerKind::Core(Arc::new(context), Arc::default()),
        };
        Self { name: role.name(), namespaces, metrics, kind }
    }

    fn state(&self) -> Option<&ReconcileState> {
        match &self.kind {
            ControllerKind::Core(_, state) | ControllerKind::Selector(_, state) => Some(state),
            ControllerKind::Provider(_) => None,
        }
    }
}

impl Reconciler for RoleReconciler {
    fn check_ready(&self, deployment: &CachedObject) -> Result<(), Error> {
        if !deployment.is_terminating() && !self.namespaces.is_known(deployment.namespace()) {
            return Err(Error::Waiting(format!("namespace {} is not known yet", deployment.namespace())));
        }
        Ok(())
    }

    fn reconcile(&self, deployment: Arc<CachedObject>) -> Reconciliation {
        match &self.kind {
            ControllerKind::Core(context, state) => {
                Box::pin(core::reconcile(deployment, Arc::clone(context), Arc::clone(state)))
            }
            ControllerKind::Selector(context, state) => {
                Box::pin(selector::reconcile(deployment, Arc::clone(context), Arc::clone(state)))
            }
            ControllerKind::Provider(context) => Box::pin(provider::reconcile(deployment, Arc::clone(context))),
        }
    }

    fn reconciled(&self, deployment: &CachedObject, result: &Result<Action, Error>, took: Duration, is_known: bool) {
        if let Some(state) = self.state() {
            self.metrics.observe_reconciliation(self.name, took);
            if result.is_ok() {
                state.record_success(deployment);
            }
        }
        if !is_known {
            // The watch removed the deployment from the metrics, and then the reconciliation added it again.
            self.metrics.forget(deployment.namespace(), deployment.name());
        }
    }

    fn error_policy(&self, deployment: &CachedObject, error: &Error) -> Action {
        let state = match &self.kind {
            ControllerKind::Provider(context) => return provider::error_policy(deployment, error, context),
            ControllerKind::Core(_, state) | ControllerKind::Selector(_, state) => state,
        };
        let (wait, is_known) = state.record_failure(deployment, error);
        let (namespace, deployment) = (deployment.namespace(), deployment.name());
        let is_expected = matches!(error, Error::Waiting(_));
        if !is_expected {
            self.metrics.count_error(self.name, error.kind());
        }
        if is_expected || is_known {
            tracing::debug!(controller = self.name, namespace, deployment, %error, ?wait, "requeued");
        } else {
            tracing::warn!(controller = self.name, namespace, deployment, %error, ?wait, "reconciliation failed, requeued");
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
pub(crate) fn is_paused(deployment: &CachedObject, api_group: &kubefoundry_kubernetes::api_group::ApiGroup) -> bool {
    deployment.annotation(&api_group.label(names::PAUSED)) == Some("true")
}

/// Returns the provider that the specification names.
pub(crate) fn explicit_provider(object: &Value) -> Option<&str> {
    object.pointer("/spec/provider/name").and_then(Value::as_str).filter(|name| !name.is_empty())
}
