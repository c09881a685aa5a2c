//! Validates stored deployments (docs/specification.md OP-7.3), including those stored while the webhook was not
//! available.
//!
//! It writes the condition `Validated` and, as long as no provider is selected, the reason. Afterwards the provider
//! writes the rest of the status.

use std::sync::Mutex;

use kubefoundry_compiler::verdict::{Outcome, Verdict};
use kubefoundry_controller_runtime::error::Error;
use kubefoundry_controller_runtime::metrics::Replicas;
use kubefoundry_controller_runtime::observed::StatusView;

use super::Next;
use super::exchange::Exchange;
use super::memory::{MAX_WATCH_LAG, Memory};
use super::observation::Observation;
use super::request::{Measurement, Request};
use super::selector::{self, NO_SELECTOR, Registry, truncate_message};
use super::status_writer::{Authority, StatusWriter};
use crate::decision::Decision;
use crate::names::{CORE_MANAGER, condition};
use crate::status::{Condition, Force, StatusUpdate};

/// Validates one deployment.
///
/// # Errors
/// When the apiserver refuses the status.
pub async fn reconcile(
    observation: &Observation,
    registry: &dyn Registry,
    memory: &Mutex<Memory>,
    exchange: &Exchange,
) -> Result<Next, Error> {
    exchange.tell(Request::Record(measurement(observation.status()))).await;
    if observation.deployment.is_terminating() || observation.is_paused() {
        return Ok(Next::OnChange);
    }
    if super::lock(memory).is_behind(&observation.deployment, observation.moment) {
        return Ok(Next::After(MAX_WATCH_LAG));
    }
    let (update, pending) = status_update(observation, registry);
    let writer = StatusWriter { observation, memory, exchange, manager: CORE_MANAGER, authority: Authority::Own };
    if writer.write(&update, Force::No).await? {
        let (namespace, name) = (observation.deployment.namespace(), observation.deployment.name());
        tracing::info!(controller = "core", namespace, deployment = name, pending, "validated");
    }
    if !registry.has_selector() {
        // With the selector's field manager, so that no field changes its owner when a selector is installed.
        selector::select(observation, registry, memory, exchange, false).await?;
    }
    Ok(Next::OnChange)
}

/// Returns the status fields of core, and the reason why the deployment waits, if it does.
fn status_update(observation: &Observation, registry: &dyn Registry) -> (StatusUpdate, Option<String>) {
    let decision = registry.decide(&observation.value);
    let validated = match &decision {
        Decision::Other(verdict) if verdict.outcome == Outcome::Invalid => {
            Condition::new(condition::VALIDATED, false, "Invalid", truncate_message(&error_lines(verdict)))
        }
        _ => Condition::new(condition::VALIDATED, true, "Valid", "the specification has no error"),
    };
    let update = StatusUpdate::default().condition(validated);
    let message = match (observation.deployment.chosen(), &decision) {
        // Its provider writes the rest, if it still has a controller.
        (Some(chosen), _) if registry.is_known(chosen) || observation.named().is_some() => return (update, None),
        (Some(chosen), _) => {
            format!("provider '{chosen}' is selected, but no longer registered; name another one in spec.provider.name")
        }
        (None, Decision::Other(verdict)) if verdict.outcome == Outcome::Invalid => truncate_message(&verdict.message),
        // Independent of the candidates: no selector runs.
        (None, _) if !registry.has_selector() && observation.named().is_none() => NO_SELECTOR.to_owned(),
        (None, Decision::Other(verdict)) if matches!(verdict.outcome, Outcome::NoProvider | Outcome::NotAllowed) => {
            truncate_message(&verdict.message)
        }
        // The selector, or core in its place, reports it in a moment.
        (None, _) => return (update, None),
    };
    let generation = observation.generation();
    let update = update.field("phase", "Pending").field("message", &*message).field("observedGeneration", generation);
    (update, Some(message))
}

/// Formats all errors with code and field, so that the user sees all of them at once.
fn error_lines(verdict: &Verdict) -> String {
    let lines = verdict.evaluation.errors().map(|error| {
        let path = error.location.as_ref().map(|location| location.path.to_string()).unwrap_or_default();
        let (code, message) = (error.code.id, &error.message);
        if path.is_empty() { format!("{code}: {message}") } else { format!("{code} {path}: {message}") }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns what the metrics record of a deployment.
fn measurement(status: StatusView<'_>) -> Measurement {
    let phase = status.phase().unwrap_or("Pending").to_owned();
    let count = |which: &str| status.replicas(which);
    let replicas = Replicas { desired: count("desired"), ready: count("ready"), available: count("available") };
    Measurement::Deployment { phase, replicas }
}
