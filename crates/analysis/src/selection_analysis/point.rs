//! Evaluates rules for a generated deployment.

use serde_json::Value;

use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::pipeline::Engine;
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{DocumentScope, Findings};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::wire::{Read as _, Reader};
use kubefoundry_model::rule_environment::RuleVariables;
use kubefoundry_model::select;
use kubefoundry_model::select::{Selection, StepBudget};
use kubefoundry_model::validate;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

/// The selection for a generated deployment.
#[derive(Debug)]
pub(super) struct PointSelection {
    pub(super) selection: Selection,
    /// For each candidate, by position: the rule that gives its score.
    pub(super) deciding: Vec<Option<usize>>,
}

impl PointSelection {
    /// Returns the position of the winning candidate.
    pub(super) fn winner(&self) -> Option<usize> {
        let name = self.selection.provider.as_deref()?;
        self.selection.candidates.iter().position(|candidate| candidate.provider == name)
    }

    /// Returns the positions of the candidates with the highest score.
    pub(super) fn best_candidates(&self) -> Vec<usize> {
        let score = |position: &usize| self.selection.candidates.get(*position).and_then(|candidate| candidate.score);
        let positions: Vec<usize> = (0..self.selection.candidates.len()).collect();
        let highest = positions.iter().filter_map(score).max();
        positions.into_iter().filter(|position| highest.is_some() && score(position) == highest).collect()
    }
}

/// Selects a provider for a document. Returns `None` if the document is not a valid deployment.
pub(super) fn select_at(root: &Node<'_>, engine: &Engine<'_>, steps: &mut StepBudget) -> Option<PointSelection> {
    let scope = DocumentScope { source: SourceId::default(), text: "", document: 0, root, object: None };
    let mut findings = Findings::new(scope);
    let group = root.get("apiVersion").and_then(Node::as_str)?.split('/').next()?;
    let api_group = ApiGroup::find(group)?;
    let wire = ModelDeployment::read(root, &FieldPath::root(), &mut Reader::strict(&mut findings).in_group(api_group))?;
    let deployment: Deployment = validate::validate(&wire, api_group, &mut findings)?;
    if findings.has_errors() {
        return None;
    }
    let variables = RuleVariables::new(root, &deployment);
    let selection = select::select(&deployment, engine.catalog(), variables, true, steps, &mut findings);
    // Rules with the same priority give the same score; the first true one decides.
    let deciding = selection.candidates.iter().map(|candidate| {
        let score = candidate.score?;
        candidate.rules.iter().position(|rule| rule.value == Some(true) && rule.priority == score)
    });
    let deciding = deciding.collect();
    Some(PointSelection { selection, deciding })
}

/// Returns whether a document is rendered without an error, or passed on to a third-party provider.
pub(super) fn renders(root: &Node<'_>, engine: &Engine<'_>, steps: &mut StepBudget) -> bool {
    !engine.attempt(root, Thoroughness::Needed, steps).is_refused()
}

/// Returns a document as JSON.
pub(super) fn document(root: &Node<'_>) -> Value {
    root.to_json()
}
