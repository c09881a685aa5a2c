//! Selects the provider of a deployment (OP-2.3). A selection stays until the user names another provider.

use std::fmt;
use std::sync::Arc;

use kube::runtime::controller::Action;
use kubefoundry_compiler::codes;
use kubefoundry_diagnostics::Diagnostic;
use serde_json::Value;

use super::core::NO_SELECTOR;
use super::{ReconcileState, explicit_provider, is_paused};
use crate::cached_object::CachedObject;
use crate::context::Context;
use crate::error::Error;
use crate::names::{SELECTOR_MANAGER, condition};
use crate::runtime::events::EventReason;
use crate::status::{self, Condition, Force, StatusUpdate};

/// The reason of an explicit selection.
const EXPLICIT: &str = "explicit provider selection";

/// The result of a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    /// The specification has errors, which have to be fixed before a provider is selected.
    Invalid { errors: Vec<SpecError> },
    /// The selected provider, and the reason.
    Selected { provider: String, reason: String },
    /// No provider. The reason is one word in CamelCase.
    None { reason: &'static str, message: String },
}

/// An error of a specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpecError {
    code: &'static str,
    path: String,
    pub(crate) message: String,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, path, message } = self;
        if path.is_empty() { write!(f, "{code}: {message}") } else { write!(f, "{code} {path}: {message}") }
    }
}

/// Selects the provider of one deployment.
///
/// # Errors
/// When the apiserver refuses the status.
pub(crate) async fn reconcile(
    deployment: Arc<CachedObject>,
    context: Arc<Context>,
    state: Arc<ReconcileState>,
) -> Result<Action, Error> {
    if deployment.is_terminating() || is_paused(&deployment, context.api_group) || state.is_behind(&deployment) {
        return Ok(Action::await_change());
    }
    select(&deployment, &deployment.value(), &context, &state, true).await?;
    Ok(Action::await_change())
}

/// Writes the provider that the user names. Core calls this where no selector runs, and uses the selector's field
/// manager, so that no field changes its owner when a selector is installed.
///
/// # Errors
/// When the apiserver refuses the status.
pub(crate) async fn write_explicit_choice(
    deployment: &CachedObject,
    object: &Value,
    context: &Context,
    state: &ReconcileState,
) -> Result<(), Error> {
    select(deployment, object, context, state, false).await
}

async fn select(
    deployment: &CachedObject,
    object: &Value,
    context: &Context,
    state: &ReconcileState,
    may_choose: bool,
) -> Result<(), Error> {
    let write = async |update: StatusUpdate| {
        let written = status::write(context, deployment, SELECTOR_MANAGER, &update, Force::No).await?;
        if let Some(written) = &written {
            state.record_write(written);
        }
        Ok::<bool, Error>(written.is_some())
    };
    let current = deployment.chosen();
    let named = explicit_provider(object);
    if let Some(current) = current
        && named.is_none_or(|named| named == current)
    {
        if let Some(update) = missing_choice(object, current, named.is_some()) {
            write(update).await?;
        }
        return Ok(());
    }
    let selection = match select_provider(deployment, object, context) {
        Selection::Selected { .. } if named.is_none() && !may_choose => {
            Selection::None { reason: "SelectorNotInstalled", message: NO_SELECTOR.to_owned() }
        }
        selection => selection,
    };
    let (namespace, name) = (deployment.namespace(), deployment.name());
    match selection {
        Selection::Invalid { .. } => Ok(()),
        Selection::None { reason, message } => {
            let selected = Condition::new(condition::PROVIDER_SELECTED, false, reason, truncate_message(&message));
            let update = StatusUpdate::default().condition(selected);
            // The current provider stays: only the user can name another one.
            let update = match current {
                Some(current) => with_choice(update, current, object["status"]["provider"]["selectedReason"].as_str()),
                None => update,
            };
            if write(update).await? {
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
        Selection::Selected { provider, reason } => {
            if write(choice_update(&provider, &reason)).await? {
                tracing::info!(
                    controller = "selector",
                    namespace,
                    deployment = name,
                    provider,
                    reason,
                    "provider selected"
                );
                context.metrics.count_selection(&provider, &reason);
                let message = format!("Selected provider '{provider}': {reason}");
                context.events.publish(deployment, EventReason::ProviderSelected, &message).await;
            }
            Ok(())
        }
    }
}

/// Returns the update that completes the status of an earlier selection; none when it is complete.
fn missing_choice(object: &Value, current: &str, is_named: bool) -> Option<StatusUpdate> {
    let live = &object["status"];
    let reason = live["provider"]["selectedReason"].as_str().filter(|reason| !reason.is_empty());
    let reason = if is_named { EXPLICIT } else { reason.unwrap_or("selected before") };
    // Only status and message are compared: the condition keeps the generation of the selection.
    let is_written = status::find(live, condition::PROVIDER_SELECTED)
        .is_some_and(|it| it["status"] == "True" && it["message"] == reason);
    (!is_written || live["provider"]["selectedReason"] != reason).then(|| choice_update(current, reason))
}

fn choice_update(provider: &str, reason: &str) -> StatusUpdate {
    let selected = Condition::new(condition::PROVIDER_SELECTED, true, "Selected", reason);
    with_choice(StatusUpdate::default().condition(selected), provider, Some(reason))
}

fn with_choice(update: StatusUpdate, provider: &str, reason: Option<&str>) -> StatusUpdate {
    update.field("provider.name", provider).field("provider.selectedReason", reason)
}

/// Selects a provider as if none was chosen before, among those that the namespace allows.
pub(crate) fn select_provider(deployment: &CachedObject, object: &Value, context: &Context) -> Selection {
    let snapshot = Arc::clone(&context.snapshots.borrow());
    let allowed = context.namespaces.allowed_providers(deployment.namespace());
    let allows = |provider: &str| allowed.as_ref().is_none_or(|list| list.iter().any(|name| name == provider));
    let evaluation = snapshot.session.evaluate(object, None);
    if evaluation.errors().any(is_about_specification) {
        // Includes the errors of the provider, so that the user sees all of them at once.
        return Selection::Invalid { errors: evaluation.errors().map(spec_error).collect() };
    }
    let allowed_text = || {
        let list = allowed.as_deref().unwrap_or_default();
        let list = if list.is_empty() { "no provider".to_owned() } else { format!("only {}", list.join(", ")) };
        format!("namespace '{}' allows {list}", deployment.namespace())
    };
    match evaluation.decision.as_ref().and_then(|decision| Some((decision.provider()?, decision.reason()?))) {
        Some((provider, reason)) if allows(provider) => {
            Selection::Selected { provider: provider.to_owned(), reason: reason.to_owned() }
        }
        Some((provider, _)) if explicit_provider(object).is_some() => Selection::None {
            reason: "NotAllowed",
            message: format!("Provider '{provider}' is not allowed: {}", allowed_text()),
        },
        Some(_) => {
            // The best provider is not allowed: select again among the allowed ones.
            let restricted = snapshot.restricted_to(allowed.as_deref().unwrap_or_default()).evaluate(object, None);
            let decided =
                restricted.decision.as_ref().and_then(|decision| Some((decision.provider()?, decision.reason()?)));
            match decided {
                Some((provider, reason)) => {
                    Selection::Selected { provider: provider.to_owned(), reason: reason.to_owned() }
                }
                None => Selection::None {
                    reason: "NotAllowed",
                    message: format!("No allowed provider: {}", allowed_text()),
                },
            }
        }
        None => no_provider(evaluation.errors()),
    }
}

/// Returns the selection of no provider, with the reason from the errors.
fn no_provider<'d>(errors: impl Iterator<Item = &'d Diagnostic>) -> Selection {
    let errors: Vec<&Diagnostic> = errors.collect();
    let reason = match errors.first() {
        Some(first) if *first.code == codes::NO_HEALTHY_PROVIDER => "NoHealthyProvider",
        Some(first) if *first.code == codes::NO_COMPATIBLE_PROVIDER => "NoCompatibleProvider",
        Some(first) if *first.code == codes::UNKNOWN_PROVIDER => "UnknownProvider",
        _ => "SelectionFailed",
    };
    let lines: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
    let message = if lines.is_empty() { "No provider can be selected".to_owned() } else { lines.join("\n") };
    Selection::None { reason, message: truncate_message(&message) }
}

/// Whether an error lies in the specification itself, whatever the provider. Codes are ordered by stage: those before
/// selection cover reading, shape, meaning and engine arguments.
fn is_about_specification(diagnostic: &Diagnostic) -> bool {
    diagnostic.code.id < codes::NO_HEALTHY_PROVIDER.id
}

fn spec_error(diagnostic: &Diagnostic) -> SpecError {
    let path = diagnostic.location.as_ref().map(|location| location.path.to_string()).unwrap_or_default();
    SpecError { code: diagnostic.code.id, path, message: diagnostic.message.clone() }
}

/// Truncates a message to 8 KiB, which leaves room for other conditions in an object.
pub(crate) fn truncate_message(message: &str) -> String {
    const MAX_BYTES: usize = 8 * 1024;
    if message.len() <= MAX_BYTES {
        return message.to_owned();
    }
    let end = (0..=MAX_BYTES).rev().find(|end| message.is_char_boundary(*end)).unwrap_or_default();
    format!("{}…", message.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_selection_has_a_reason_and_a_message() {
        let healthy = Diagnostic::new(&codes::NO_HEALTHY_PROVIDER, "No healthy providers available");
        let selection = no_provider([&healthy].into_iter());
        let message = "No healthy providers available".to_owned();
        assert_eq!(selection, Selection::None { reason: "NoHealthyProvider", message });
        assert!(matches!(no_provider([].into_iter()), Selection::None { reason: "SelectionFailed", .. }));
    }

    #[test]
    fn tells_errors_of_the_specification_from_those_of_a_provider() {
        let is_spec_error = |code| is_about_specification(&Diagnostic::new(code, ""));
        assert!(
            is_spec_error(&codes::WRONG_TYPE)
                && is_spec_error(&codes::ENGINE_REQUIRES_GPU)
                && is_spec_error(&codes::INVALID_ARGUMENT_VALUE)
        );
        assert!(
            !is_spec_error(&codes::NO_COMPATIBLE_PROVIDER)
                && !is_spec_error(&codes::CRD_NOT_INSTALLED)
                && !is_spec_error(&codes::FIELD_NOT_SUPPORTED)
        );
    }

    #[test]
    fn truncates_a_message_between_characters() {
        assert_eq!(truncate_message("short"), "short");
        let truncated = truncate_message(&"é".repeat(8 * 1024));
        assert!(truncated.len() < 8 * 1024 + 8 && truncated.ends_with('…'));
    }
}
