//! Compares the selections of two runs.

use serde_json::Value;

use super::report::{ProviderChoice, SelectionChange, WinningRule};
use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::pipeline::{Decision, Engine, RenderedDocument};
use kubefoundry_model::select::Selection;

/// Returns the difference between two selections; `None` if provider and reason are equal.
pub(super) fn selection_change(
    (old, old_document, old_engine): (&Decision, &Value, &Engine<'_>),
    (new, new_document, new_engine): (&Decision, &Value, &Engine<'_>),
) -> Option<SelectionChange> {
    let (before, after) = (old.selection.as_ref()?, new.selection.as_ref()?);
    if before.provider == after.provider && before.reason == after.reason {
        return None;
    }
    // Runs keep candidates and their rules only at this thoroughness, so the two deployments are rendered once more.
    let old = old_engine.render(old_document, Thoroughness::Everything);
    let new = new_engine.render(new_document, Thoroughness::Everything);
    let full_selection =
        |rendered: &Option<RenderedDocument>| rendered.as_ref().and_then(|it| it.decision.selection.clone());
    let (full_before, full_after) = (full_selection(&old), full_selection(&new));
    let (full_before, full_after) = (full_before.as_ref().unwrap_or(before), full_after.as_ref().unwrap_or(after));
    let old_provider = before.provider.as_deref().filter(|_| before.provider != after.provider);
    let closed_gate = old_provider.and_then(|name| {
        let candidate = full_after.candidates.iter().find(|candidate| candidate.provider == name)?;
        candidate.closed_gate.clone()
    });
    Some(SelectionChange { before: provider_choice(full_before), after: provider_choice(full_after), closed_gate })
}

/// Returns the provider, the reason and the rule of a selection. There is no rule if the deployment names its provider.
pub(super) fn provider_choice(selection: &Selection) -> ProviderChoice {
    let winner = selection.candidates.iter().find(|it| Some(&it.provider) == selection.provider.as_ref());
    let rule = winner.filter(|_| !selection.explicit).and_then(|winner| {
        let rule = winner.rules.iter().find(|rule| rule.value == Some(true) && Some(rule.priority) == winner.score)?;
        Some(WinningRule { condition: rule.condition.to_string(), priority: rule.priority })
    });
    ProviderChoice {
        provider: selection.provider.clone().unwrap_or_default(),
        reason: selection.reason.clone().unwrap_or_default(),
        rule,
    }
}
