//! The providers that deployments keep under the operator, which selects the provider of a deployment only once.

use serde::Serialize;
use serde_json::Value;

use super::PlanInput;
use super::deployment::{PlanContext, RunDeployment};
use super::report::ProviderChoice;
use super::selection::provider_choice;
use crate::Thoroughness;
use crate::pipeline::{Compilation, KeptChoices, Renderer};
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_transform::PriorChoice;

/// A provider that stays although the selection rules prefer another one by now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptProvider {
    /// The provider that stays.
    pub provider: String,
    /// The provider that a new deployment with this specification would get.
    pub preferred: ProviderChoice,
}

/// Returns the choices that are stored in the status of the deployments of a run, as a cluster returns them.
pub fn stored_choices<O>(sources: &SourceSet, compilation: &Compilation<O>) -> KeptChoices {
    let renderer = Renderer::new(sources, compilation);
    let inputs = || compilation.inputs.iter().filter(|input| input.rendered);
    let items = renderer.list_items(inputs());
    let stored_choice = |document: &Value| {
        let text = |pointer| document.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
        let provider = text("/status/provider/name")?.to_owned();
        let reason = text("/status/provider/selectedReason").unwrap_or("selected before").to_owned();
        Some(PriorChoice { provider, reason })
    };
    let choices = inputs().filter_map(|input| {
        let choice = stored_choice(&renderer.document(input, &items)?)?;
        Some((input.header.object(), choice))
    });
    choices.collect()
}

/// Returns the choices of a run. In the next state, the operator keeps them.
pub fn choices_made<O>(compilation: &Compilation<O>) -> KeptChoices {
    let choices = compilation.decisions.iter().filter_map(|decision| {
        let selection = decision.selection.as_ref()?;
        let provider = selection.provider.clone()?;
        Some((decision.object.clone(), PriorChoice { provider, reason: selection.reason.clone().unwrap_or_default() }))
    });
    choices.collect()
}

/// Returns the kept provider of a deployment, if a new deployment with the same specification would get another one.
pub(super) fn kept_provider(
    new: &RunDeployment<'_>,
    document: impl FnOnce() -> Value,
    context: &PlanContext<'_>,
) -> Option<KeptProvider> {
    let PlanInput { compilation, .. } = new.run;
    let selection = new.decision.selection.as_ref().filter(|selection| !selection.explicit)?;
    let kept = compilation.kept_choices.get(&new.decision.object)?;
    let document = document();
    let renderer = context.new.without_kept_choices();
    let preferred = renderer.render(&document, Thoroughness::Needed)?;
    let is_kept = preferred.decision.provider() == selection.provider.as_deref();
    if is_kept {
        return None;
    }
    // Only this thoroughness keeps the rules.
    let preferred = renderer.render(&document, Thoroughness::Everything)?;
    let preferred = provider_choice(preferred.decision.selection.as_ref()?);
    Some(KeptProvider { provider: kept.provider.clone(), preferred })
}
