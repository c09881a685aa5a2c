//! A ModelDeployment as a run compiled it, and what renders it again.

use std::sync::Arc;

use serde_json::Value;

use super::PlanInput;
use super::attribution::AtomicChange;
use super::class::Applier;
use super::rendered_change::Object;
use kubefoundry_compiler::pipeline::{Decision, Engine, InputDocument, InputValues, Output, YamlText};
use kubefoundry_kubernetes::server_fields;
use kubefoundry_transform::PriorChoice;

/// Shared inputs of the plans of all deployments.
pub(super) struct PlanContext<'s> {
    pub(super) old: PlanSide<'s>,
    pub(super) new: PlanSide<'s>,
    /// Changed options, provider configurations and CRDs.
    pub(super) changes: Vec<AtomicChange>,
    pub(super) applier: Applier,
}

/// What renders the deployments of one run again.
pub(super) struct PlanSide<'s> {
    pub(super) engine: Engine<'s>,
    pub(super) values: InputValues<'s>,
}

/// A deployment as one run compiled it.
#[derive(Clone, Copy)]
pub(super) struct RunDeployment<'r> {
    pub(super) run: PlanInput<'r>,
    pub(super) position: usize,
    pub(super) decision: &'r Decision,
    pub(super) input: Option<&'r Arc<InputDocument>>,
    /// The rendered objects of the deployment.
    pub(super) outputs: &'r [Output<YamlText>],
    /// The index of its first object in the outputs of the run.
    pub(super) first: usize,
}

impl<'r> RunDeployment<'r> {
    /// Returns the text of the deployment's document.
    pub(super) fn text(&self) -> Option<&'r str> {
        let input = self.input?;
        self.run.sources.get(input.source).text.get(input.span.start..input.span.end)
    }

    /// Parses the objects of the deployment from their printed text.
    pub(super) fn objects(&self) -> Vec<Object> {
        let references = self.decision.objects.iter().cloned();
        let value = |output: &Output<YamlText>| output.object.to_value();
        references.zip(self.outputs.iter().map(value)).collect()
    }

    pub(super) fn renders_as(&self, other: &Self) -> bool {
        let text = |side: &Self| side.outputs.iter().map(|it| it.object.as_str()).collect::<Vec<_>>();
        self.outputs.len() == other.outputs.len() && text(self) == text(other)
    }

    /// Returns whether the deployment has a provider that was selected before the run.
    pub(super) fn keeps_provider(&self) -> bool {
        self.kept_choice().is_some()
    }

    /// Returns the provider that was selected before the run.
    pub(super) fn kept_choice(&self) -> Option<&'r PriorChoice> {
        let kept = self.run.compilation.kept_choices.of_environment(self.decision.environment.as_deref())?;
        kept.get(&self.decision.object)
    }

    /// Returns the kustomization that should have built the deployment, but was not run.
    pub(super) fn unbuilt(&self) -> Option<&'r str> {
        self.run.sources.get(self.decision.source).unbuilt.as_deref()
    }

    pub(super) fn gpus(&self) -> u128 {
        self.decision.gpus.iter().map(|gpus| u128::from(gpus.count)).sum()
    }

    /// Returns whether some of its GPUs are known.
    pub(super) fn knows_gpus(&self) -> bool {
        self.decision.gpus.iter().any(|gpus| gpus.memory.is_some())
    }

    pub(super) fn provider(&self) -> String {
        self.decision.provider().unwrap_or_default().to_owned()
    }

    /// Returns the document of the deployment as its author writes it, and whether a cluster returned it, with more
    /// fields.
    pub(super) fn document(&self, values: &InputValues<'_>) -> (Value, bool) {
        let mut document = self.input.and_then(|input| values.get(input)).unwrap_or_default();
        let is_live = document.pointer("/metadata/uid").is_some();
        server_fields::remove(&mut document);
        if let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut) {
            // The owner of a deployment is a controller, which writes its uid; an author does not know it.
            metadata.shift_remove("ownerReferences");
        }
        (document, is_live)
    }
}
