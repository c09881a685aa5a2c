//! Selects the provider of a deployment (OP-2.3). A selection stays until the user names another provider.

use std::sync::Mutex;

use kubefoundry_compiler::codes;
use kubefoundry_compiler::verdict::Outcome;
use kubefoundry_controller_runtime::error::Error;
use kubefoundry_controller_runtime::observed::{ConditionView, StatusView};
use kubefoundry_controller_runtime::text::truncate;
use kubefoundry_diagnostics::Code;
use kubefoundry_model::select::PriorChoice;
use serde_json::Value;

use super::Next;
use super::exchange::Exchange;
use super::memory::{MAX_WATCH_LAG, Memory};
use super::observation::Observation;
use super::request::{Measurement, Request};
use super::status_writer::{Authority, StatusWriter};
use crate::decision::Decision;
use crate::event::EventReason;
use crate::names::{SELECTOR_MANAGER, condition};
use crate::status::{Condition, Force, StatusUpdate};

/// The reason of an explicit selection.
const EXPLICIT: &str = "explicit provider selection";
/// The message where no selector runs (OP-1.3).
pub(crate) const NO_SELECTOR: &str = "No provider specified and provider-selector not installed";

/// The providers of a cluster, as the selector and core know them.
pub trait Registry: Sync {
    /// Decides a deployment, with the allow list of its namespace and without regard to an earlier selection.
    fn decide(&self, deployment: &Value) -> Decision;

    /// Whether a provider is registered, or has one of our controllers.
    fn is_known(&self, provider: &str) -> bool;

    /// Whether a selector runs, in this process or another.
    fn has_selector(&self) -> bool;
}

/// Selects the provider of one deployment.
///
/// # Errors
/// When the apiserver refuses the status.
pub async fn reconcile(
    observation: &Observation,
    registry: &dyn Registry,
    memory: &Mutex<Memory>,
    exchange: &Exchange,
) -> Result<Next, Error> {
    if observation.deployment.is_terminating() || observation.is_paused() {
        return Ok(Next::OnChange);
    }
    if super::lock(memory).is_behind(&observation.deployment, observation.moment) {
        return Ok(Next::After(MAX_WATCH_LAG));
    }
    select(observation, registry, memory, exchange, true).await?;
    Ok(Next::OnChange)
}

/// Writes the selection. Unless `may_choose`, only the provider that the user names.
///
/// # Errors
/// When the apiserver refuses the status.
pub(crate) async fn select(
    observation: &Observation,
    registry: &dyn Registry,
    memory: &Mutex<Memory>,
    exchange: &Exchange,
    may_choose: bool,
) -> Result<(), Error> {
    let writer = StatusWriter { observation, memory, exchange, manager: SELECTOR_MANAGER, authority: Authority::Own };
    let (current, named) = (observation.deployment.chosen(), observation.named());
    let live = observation.status();
    if let Some(current) = current
        && named.is_none_or(|named| named == current)
    {
        if let Some(update) = missing_choice(live, current, named.is_some()) {
            writer.write(&update, Force::No).await?;
        }
        return Ok(());
    }
    let decision = registry.decide(&observation.value);
    let (namespace, name) = (observation.deployment.namespace(), observation.deployment.name());
    match decision.outcome() {
        Outcome::Invalid => Ok(()),
        Outcome::Runs | Outcome::Incompatible if named.is_some() || may_choose => {
            let Some(PriorChoice { provider, reason }) = decision.choice().cloned() else { return Ok(()) };
            if writer.write(&choice_update(&provider, &reason), Force::No).await? {
                tracing::info!(
                    controller = "selector",
                    namespace,
                    deployment = name,
                    provider,
                    reason,
                    "provider selected"
                );
                let message = format!("Selected provider '{provider}': {reason}");
                let selection = Measurement::Selection { provider, reason };
                exchange.tell(Request::Record(selection)).await;
                exchange.tell(Request::Publish { reason: EventReason::ProviderSelected, message }).await;
            }
            Ok(())
        }
        _ => {
            let (reason, message) = refusal(&decision);
            let message = truncate_message(&message);
            let selected = Condition::new(condition::PROVIDER_SELECTED, false, reason, &*message);
            let update = StatusUpdate::default().condition(selected);
            // The current provider stays: only the user can name another one.
            let update = match current {
                Some(current) => with_choice(update, current, live.selected_reason()),
                None => update,
            };
            if writer.write(&update, Force::No).await? {
                tracing::info!(
                    controller = "selector",
                    namespace,
                    deployment = name,
                    reason,
                    message,
                    "no provider selected"
                );
            }
            Ok(())
        }
    }
}

/// Returns the reason and the message of the condition where no provider is selected.
fn refusal(decision: &Decision) -> (&'static str, String) {
    const REASONS: [(&Code, &str); 3] = [
        (&codes::NO_HEALTHY_PROVIDER, "NoHealthyProvider"),
        (&codes::NO_COMPATIBLE_PROVIDER, "NoCompatibleProvider"),
        (&codes::UNKNOWN_PROVIDER, "UnknownProvider"),
    ];
    // A provider could run it, but no selector may choose it.
    let not_installed = || ("SelectorNotInstalled", NO_SELECTOR.to_owned());
    let Decision::Other(verdict) = decision else { return not_installed() };
    match verdict.outcome {
        Outcome::NotAllowed => ("NotAllowed", verdict.message.clone()),
        Outcome::NoProvider => {
            let first = verdict.evaluation.errors().next();
            let known = first.and_then(|first| REASONS.iter().find(|(code, _)| code.id == first.code.id));
            (known.map_or("SelectionFailed", |(_, reason)| *reason), verdict.message.clone())
        }
        _ => not_installed(),
    }
}

/// Returns the update that completes the status of an earlier selection; none when it is complete.
fn missing_choice(live: StatusView<'_>, current: &str, is_named: bool) -> Option<StatusUpdate> {
    let recorded = live.selected_reason();
    let reason = if is_named { EXPLICIT } else { recorded.unwrap_or("selected before") };
    // Only status and message are compared: the condition keeps the generation of the selection.
    let says_so = |selected: ConditionView<'_>| selected.is_true() && selected.message() == reason;
    let is_written = live.condition(condition::PROVIDER_SELECTED).is_some_and(says_so);
    (!is_written || recorded != Some(reason)).then(|| choice_update(current, reason))
}

fn choice_update(provider: &str, reason: &str) -> StatusUpdate {
    let selected = Condition::new(condition::PROVIDER_SELECTED, true, "Selected", reason);
    with_choice(StatusUpdate::default().condition(selected), provider, Some(reason))
}

fn with_choice(update: StatusUpdate, provider: &str, reason: Option<&str>) -> StatusUpdate {
    update.field("provider.name", provider).field("provider.selectedReason", reason)
}

/// Truncates a message to 8 KiB, which leaves room for other conditions in an object.
pub(crate) fn truncate_message(message: &str) -> String {
    const MAX_BYTES: usize = 8 * 1024;
    if message.len() <= MAX_BYTES {
        return message.to_owned();
    }
    format!("{}…", truncate(message, MAX_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncates_a_message_between_characters() {
        assert_eq!(truncate_message("short"), "short");
        let truncated = truncate_message(&"é".repeat(8 * 1024));
        assert!(truncated.len() < 8 * 1024 + 8 && truncated.ends_with('…'));
    }
}
