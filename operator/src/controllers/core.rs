//! Validates stored deployments (docs/specification.md OP-7.3), including those stored while the webhook was not
//! available.
//!
//! It writes the condition `Validated` and, as long as no provider is selected, the reason. Afterwards the provider
//! writes the rest of the status.

use std::sync::Arc;

use kube::runtime::controller::Action;
use serde_json::Value;

use super::selector::{self, Selection};
use super::{ReconcileState, explicit_provider, is_paused};
use crate::cached_object::CachedObject;
use crate::context::Context;
use crate::error::Error;
use crate::names::{CORE_MANAGER, condition};
use crate::runtime::metrics::Replicas;
use crate::status::{self, Condition, Force, StatusUpdate};

/// The message where no selector runs (OP-1.3).
pub(crate) const NO_SELECTOR: &str = "No provider specified and provider-selector not installed";

/// Validates one deployment.
///
/// # Errors
/// When the apiserver refuses the status.
pub(crate) async fn reconcile(
    deployment: Arc<CachedObject>,
    context: Arc<Context>,
    state: Arc<ReconcileState>,
) -> Result<Action, Error> {
    let object = deployment.value();
    record_metrics(&deployment, &object, &context);
    if deployment.is_terminating() || is_paused(&deployment, context.api_group) || state.is_behind(&deployment) {
        return Ok(Action::await_change());
    }
    let has_selector = *context.has_selector.borrow();
    let (update, pending) = status_update(&deployment, &object, &context, has_selector);
    if let Some(written) = status::write(&context, &deployment, CORE_MANAGER, &update, Force::No).await? {
        state.record_write(&written);
        let (namespace, name) = (deployment.namespace(), deployment.name());
        tracing::info!(controller = "core", namespace, deployment = name, pending, "validated");
    }
    if !has_selector {
        selector::write_explicit_choice(&deployment, &object, &context, &state).await?;
    }
    Ok(Action::await_change())
}

/// Returns the status fields of core, and the reason why the deployment waits, if it does.
fn status_update(
    deployment: &CachedObject,
    object: &Value,
    context: &Context,
    has_selector: bool,
) -> (StatusUpdate, Option<String>) {
    let selection = selector::select_provider(deployment, object, context);
    let validated = match &selection {
        Selection::Invalid { errors } => {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            Condition::new(condition::VALIDATED, false, "Invalid", selector::truncate_message(&lines.join("\n")))
        }
        _ => Condition::new(condition::VALIDATED, true, "Valid", "the specification has no error"),
    };
    let update = StatusUpdate::default().condition(validated);
    if deployment.chosen().is_some() {
        return (update, None);
    }
    let message = match selection {
        Selection::Invalid { errors } => {
            let lines: Vec<String> = errors.into_iter().map(|error| error.message).collect();
            selector::truncate_message(&lines.join("\n"))
        }
        // Independent of the candidates: no selector runs.
        Selection::None { .. } | Selection::Selected { .. } if !has_selector && explicit_provider(object).is_none() => {
            NO_SELECTOR.to_owned()
        }
        Selection::None { message, .. } => message,
        // The selector, or core in its place, reports it in a moment.
        Selection::Selected { .. } => return (update, None),
    };
    let generation = deployment.metadata.generation;
    let update = update.field("phase", "Pending").field("message", &*message).field("observedGeneration", generation);
    (update, Some(message))
}

/// Records the metrics of a deployment from its status.
fn record_metrics(deployment: &CachedObject, object: &Value, context: &Context) {
    let status = &object["status"];
    let phase = status["phase"].as_str().unwrap_or("Pending");
    let count = |name: &str| status["replicas"][name].as_i64();
    let replicas = Replicas { desired: count("desired"), ready: count("ready"), available: count("available") };
    context.metrics.set_deployment(deployment.namespace(), deployment.name(), phase, replicas);
}
