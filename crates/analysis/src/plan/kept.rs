//! The providers that deployments keep under the operator, which selects the provider of a deployment only once.

use serde_json::Value;

use super::report::KeptProvider;
use super::run_deployment::{PlanContext, RunDeployment};
use super::selection::provider_choice;
use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::pipeline::{Compilation, InputValues, KeptChoices};
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_transform::PriorChoice;

/// Returns the choices that are stored in the status of the deployments of a run, as a cluster returns them.
pub fn stored_choices<O>(sources: &SourceSet, compilation: &Compilation<O>) -> KeptChoices {
    let stored_choice = |document: &Value| {
        let text = |pointer| document.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
        let provider = text("/status/provider/name")?.to_owned();
        let reason = text("/status/provider/selectedReason").unwrap_or("selected before").to_owned();
        Some(PriorChoice { provider, reason })
    };
    let mut kept = KeptChoices::default();
    for (label, view) in sources.views() {
        let options = compilation.options_of(label.as_deref());
        let inputs = || compilation.inputs.iter().filter(|input| input.rendered && view.shows(input.source));
        let values = InputValues::new(&view, options, inputs());
        for input in inputs() {
            if let Some(choice) = values.get(input).as_ref().and_then(stored_choice) {
                kept.insert(label.as_ref(), input.header.object(), choice);
            }
        }
    }
    kept
}

/// Returns the choices of a run. In the next state, the operator keeps them.
pub fn choices_made<O>(compilation: &Compilation<O>) -> KeptChoices {
    let mut kept = KeptChoices::default();
    for decision in &compilation.decisions {
        let Some(selection) = &decision.selection else { continue };
        let Some(provider) = selection.provider.clone() else { continue };
        let choice = PriorChoice { provider, reason: selection.reason.clone().unwrap_or_default() };
        kept.insert(decision.environment.as_ref(), decision.object.clone(), choice);
    }
    kept
}

/// Returns the kept provider of a deployment, if a new deployment with the same specification would get another one.
pub(super) fn kept_provider(
    new: &RunDeployment<'_>,
    document: impl FnOnce() -> Value,
    context: &PlanContext<'_>,
) -> Option<KeptProvider> {
    let selection = new.decision.selection.as_ref().filter(|selection| !selection.explicit)?;
    let kept = new.kept_choice()?;
    let document = document();
    let engine = context.new.engine.without_kept_choices();
    let preferred = engine.render(&document, Thoroughness::Needed)?;
    let is_kept = preferred.decision.provider() == selection.provider.as_deref();
    if is_kept {
        return None;
    }
    // Only this thoroughness keeps the rules.
    let preferred = engine.render(&document, Thoroughness::Everything)?;
    let preferred = provider_choice(preferred.decision.selection.as_ref()?);
    Some(KeptProvider { provider: kept.provider.clone(), preferred })
}
