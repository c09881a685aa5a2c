//! Selects the provider of a deployment (OP-2.3). A selection stays until the user names another provider.

use std::fmt;
use std::sync::Arc;

use kube::runtime::controller::Action;
use kubefoundry_compiler::codes;
use kubefoundry_diagnostics::Diagnostic;
use serde_json::Value;

use super::core::NO_SELECTOR;
use super::{ReconcileState, explicit, is_paused};
use crate::cached::Cached;
use crate::context::Context;
use crate::error::Error;
use crate::names::{SELECTOR_MANAGER, condition};
use crate::runtime::events::EventReason;
use crate::status::{self, Condition, Force, Statement};

/// The reason of an explicit selection.
const EXPLICIT: &str = "explicit provider selection";

/// The result of a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The specification has errors, which have to be fixed before a provider is selected.
    Invalid { errors: Vec<Fault> },
    /// The selected provider, and the reason.
    Chosen { provider: String, reason: String },
    /// No provider. The reason is one word in CamelCase.
    None { reason: &'static str, message: String },
}

/// An error of a specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    code: &'static str,
    path: String,
    pub(crate) message: String,
}

impl fmt::Display for Fault {
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
    deployment: Arc<Cached>,
    context: Arc<Context>,
    state: Arc<ReconcileState>,
) -> Result<Action, Error> {
    if deployment.is_terminating() || is_paused(&deployment, context.api_group) || state.is_behind(&deployment) {
        return Ok(Action::await_change());
    }
    select(&deployment, &deployment.value(), &context, &state, true).await?;
    Ok(Action::await_change())
}

/// Where no selector runs, core writes the provider that the user names, with the selector's field manager: so no field
/// changes its owner when a selector is installed.
///
/// # Errors
/// When the apiserver refuses the status.
pub(crate) async fn stand_in(
    deployment: &Cached,
    object: &Value,
    context: &Context,
    state: &ReconcileState,
) -> Result<(), Error> {
    select(deployment, object, context, state, false).await
}

async fn select(
    deployment: &Cached,
    object: &Value,
    context: &Context,
    state: &ReconcileState,
    may_choose: bool,
) -> Result<(), Error> {
    let write = async |statement: Statement| {
        let written = status::write(context, deployment, SELECTOR_MANAGER, &statement, Force::No).await?;
        if let Some(written) = &written {
            state.record_write(written);
        }
        Ok::<bool, Error>(written.is_some())
    };
    let current = deployment.chosen();
    let named = explicit(object);
    if let Some(current) = current
        && named.is_none_or(|named| named == current)
    {
        if let Some(statement) = kept(object, current, named.is_some()) {
            write(statement).await?;
        }
        return Ok(());
    }
    let choice = match choose(deployment, object, context) {
        Choice::Chosen { .. } if named.is_none() && !may_choose => {
            Choice::None { reason: "SelectorNotInstalled", message: NO_SELECTOR.to_owned() }
        }
        choice => choice,
    };
    let (namespace, name) = (deployment.namespace(), deployment.name());
    match choice {
        Choice::Invalid { .. } => Ok(()),
        Choice::None { reason, message } => {
            let selected = Condition::new(condition::PROVIDER_SELECTED, false, reason, shortened(&message));
            let statement = Statement::default().condition(selected);
            // The current provider stays: only the user can name another one.
            let statement = match current {
                Some(current) => {
                    with_choice(statement, current, object["status"]["provider"]["selectedReason"].as_str())
                }
                None => statement,
            };
            if write(statement).await? {
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
        Choice::Chosen { provider, reason } => {
            if write(chosen(&provider, &reason)).await? {
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

/// The status of an earlier selection, where it is missing.
fn kept(object: &Value, current: &str, is_named: bool) -> Option<Statement> {
    let live = &object["status"];
    let reason = live["provider"]["selectedReason"].as_str().filter(|reason| !reason.is_empty());
    let reason = if is_named { EXPLICIT } else { reason.unwrap_or("selected before") };
    // The generation of the condition is that of the selection.
    let is_said = status::find(live, condition::PROVIDER_SELECTED)
        .is_some_and(|said| said["status"] == "True" && said["message"] == reason);
    (!is_said || live["provider"]["selectedReason"] != reason).then(|| chosen(current, reason))
}

fn chosen(provider: &str, reason: &str) -> Statement {
    let selected = Condition::new(condition::PROVIDER_SELECTED, true, "Selected", reason);
    with_choice(Statement::default().condition(selected), provider, Some(reason))
}

fn with_choice(statement: Statement, provider: &str, reason: Option<&str>) -> Statement {
    statement.field("provider.name", provider).field("provider.selectedReason", reason)
}

/// Selects as if no provider was chosen.
pub(crate) fn choose(deployment: &Cached, object: &Value, context: &Context) -> Choice {
    let snapshot = Arc::clone(&context.snapshots.borrow());
    let allowed = context.namespaces.list(deployment.namespace());
    let allows = |provider: &str| allowed.as_ref().is_none_or(|list| list.iter().any(|name| name == provider));
    let evaluation = snapshot.session.evaluate(object, None);
    if evaluation.errors().any(is_about_specification) {
        // Includes the errors of the provider, so that the user sees all of them at once.
        return Choice::Invalid { errors: evaluation.errors().map(fault).collect() };
    }
    let only = || {
        let list = allowed.as_deref().unwrap_or_default();
        let list = if list.is_empty() { "no provider".to_owned() } else { format!("only {}", list.join(", ")) };
        format!("namespace '{}' allows {list}", deployment.namespace())
    };
    match evaluation.decision.as_ref().and_then(|decision| Some((decision.provider()?, decision.reason()?))) {
        Some((provider, reason)) if allows(provider) => {
            Choice::Chosen { provider: provider.to_owned(), reason: reason.to_owned() }
        }
        Some((provider, _)) if explicit(object).is_some() => {
            Choice::None { reason: "NotAllowed", message: format!("Provider '{provider}' is not allowed: {}", only()) }
        }
        Some(_) => {
            let rest = snapshot.restricted_to(allowed.as_deref().unwrap_or_default()).evaluate(object, None);
            let decided = rest.decision.as_ref().and_then(|decision| Some((decision.provider()?, decision.reason()?)));
            match decided {
                Some((provider, reason)) => Choice::Chosen { provider: provider.to_owned(), reason: reason.to_owned() },
                None => Choice::None { reason: "NotAllowed", message: format!("No allowed provider: {}", only()) },
            }
        }
        None => none(evaluation.errors()),
    }
}

/// The reason why no provider is selected.
fn none<'d>(errors: impl Iterator<Item = &'d Diagnostic>) -> Choice {
    let errors: Vec<&Diagnostic> = errors.collect();
    let reason = match errors.first() {
        Some(first) if *first.code == codes::NO_HEALTHY_PROVIDER => "NoHealthyProvider",
        Some(first) if *first.code == codes::NO_COMPATIBLE_PROVIDER => "NoCompatibleProvider",
        Some(first) if *first.code == codes::UNKNOWN_PROVIDER => "UnknownProvider",
        _ => "SelectionFailed",
    };
    let lines: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
    let message = if lines.is_empty() { "No provider can be selected".to_owned() } else { lines.join("\n") };
    Choice::None { reason, message: shortened(&message) }
}

/// Whether an error lies in the specification itself, whatever the provider: reading, shape, meaning, engine arguments.
fn is_about_specification(found: &Diagnostic) -> bool {
    found.code.id < codes::NO_HEALTHY_PROVIDER.id
}

fn fault(found: &Diagnostic) -> Fault {
    let path = found.location.as_ref().map(|location| location.path.to_string()).unwrap_or_default();
    Fault { code: found.code.id, path, message: found.message.clone() }
}

/// Truncates a message to what a condition can hold.
pub(crate) fn shortened(message: &str) -> String {
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
    fn why_nothing_is_chosen_is_one_word_and_a_message() {
        let healthy = Diagnostic::new(&codes::NO_HEALTHY_PROVIDER, "No healthy providers available");
        let choice = none([&healthy].into_iter());
        let message = "No healthy providers available".to_owned();
        assert_eq!(choice, Choice::None { reason: "NoHealthyProvider", message });
        assert!(matches!(none([].into_iter()), Choice::None { reason: "SelectionFailed", .. }));
    }

    #[test]
    fn errors_of_the_specification_are_told_from_those_of_a_provider() {
        let of = |code| is_about_specification(&Diagnostic::new(code, ""));
        assert!(of(&codes::WRONG_TYPE) && of(&codes::ENGINE_REQUIRES_GPU) && of(&codes::INVALID_ARGUMENT_VALUE));
        assert!(
            !of(&codes::NO_COMPATIBLE_PROVIDER) && !of(&codes::CRD_NOT_INSTALLED) && !of(&codes::FIELD_NOT_SUPPORTED)
        );
    }

    #[test]
    fn a_message_is_cut_between_letters() {
        assert_eq!(shortened("short"), "short");
        let cut = shortened(&"é".repeat(8 * 1024));
        assert!(cut.len() < 8 * 1024 + 8 && cut.ends_with('…'));
    }
}
