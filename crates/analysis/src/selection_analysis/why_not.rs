//! Searches the changes of a deployment with which a provider wins.

use serde::Serialize;
use serde_json::Value;

use super::space::{SearchSpace, edits};
use crate::trace::DocumentChange;
use crate::trace::field_change::{FieldChange, apply_edits};
use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::pipeline::{Attempt, Engine, InputDeployment, Providers};
use kubefoundry_deployment::wire::{EngineType, ModelDeployment};
use kubefoundry_diagnostics::source::{SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, ObjectRef, Severity};
use kubefoundry_engines::profile;
use kubefoundry_kubernetes::wire::StringEnum as _;
use kubefoundry_model::catalog::Candidate;
use kubefoundry_model::composition::Composition;
use kubefoundry_model::select::{CandidateAssessment, Selection, StepBudget};
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::closest;

/// The maximum number of changed deployments that are compiled for one deployment.
pub const MAX_TRIALS: usize = 2000;

/// The maximum number of fields that are changed together.
const MAX_CHANGES: usize = 3;

/// The step budget of all rules for one deployment, as a multiple of the budget of one rule.
const RULE_STEPS_FACTOR: u64 = 16;

/// Why a provider is not selected for a deployment, and the changes that would select it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct WhyNot {
    /// The deployment.
    pub object: ObjectRef,
    /// The source of the deployment.
    #[serde(skip)]
    pub source: SourceId,
    /// The position of the document in the source.
    #[serde(skip)]
    pub document: usize,
    /// The provider in question.
    pub provider: String,
    /// The selected provider; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<String>,
    /// The reason of the selection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The assessment of the provider in question, as in a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assessment: Option<CandidateAssessment>,
    /// The smallest set of changes with which its rules select it, verified by compiling; absent if there is none, or
    /// if it is selected already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_rules: Option<Vec<DocumentChange>>,
    /// The smallest set of changes with which it can be selected by name, verified by compiling; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_name: Option<Vec<DocumentChange>>,
    /// Conditions of the changes that the input does not show.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<&'static str>,
    /// The reason why no change of the deployment lets its rules select it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<Obstacle>,
}

/// A reason why rules cannot select a provider for any deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Obstacle {
    /// Its configuration has `ready: false`.
    NotReady,
    /// It has no engine that a ModelDeployment can select.
    NoEngine,
    /// The provider has no rules.
    NoRules,
    /// No tried change lets one of its rules win.
    NothingFound,
}

impl Obstacle {
    /// Returns the meaning, in a few words.
    ///
    /// ```
    /// use kubefoundry_analysis::selection_analysis::Obstacle;
    /// assert_eq!(Obstacle::NoRules.meaning(), "it has no rules, and is only chosen by name");
    /// ```
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::NotReady => "its configuration says status.ready: false",
            Self::NoEngine => "it runs no engine that a ModelDeployment can ask for",
            Self::NoRules => "it has no rules, and is only chosen by name",
            Self::NothingFound => "no change of up to three fields that was tried makes it win without a refusal",
        }
    }
}

/// The error for a provider without a configuration.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no provider {name:?}, expected one of {known}{suggestion}")]
pub struct UnknownProvider {
    name: String,
    known: String,
    suggestion: String,
}

/// Returns, for each ModelDeployment in input order, why a provider is not selected. The result is empty if options or
/// configurations are invalid; [`compile`](kubefoundry_compiler::compile()) reports them.
///
/// ```
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_analysis::selection_analysis::why_not;
/// use kubefoundry_diagnostics::source::SourceSet;
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec:
///   model: {id: microsoft/Phi-4-mini-instruct}
///   engine: {type: vllm}
///   resources: {gpu: {count: 1}}
/// ");
/// let answer = &why_not(&BUILTIN, &sources, "kuberay").unwrap()[0];
/// assert_eq!(answer.by_rules, None);
/// assert_eq!(answer.by_name.as_ref().unwrap()[0].path, "spec.provider.name");
/// ```
///
/// # Errors
/// [`UnknownProvider`] if no configuration has this name.
pub fn why_not(
    composition: &'static Composition,
    sources: &SourceSet,
    provider: &str,
) -> Result<Vec<WhyNot>, UnknownProvider> {
    let mut all = Vec::new();
    for (_, view) in sources.views() {
        all.extend(why_not_in(composition, &view, provider)?);
    }
    Ok(all)
}

/// Like [`why_not`], for one environment.
fn why_not_in(
    composition: &'static Composition,
    sources: &SourceSet,
    provider: &str,
) -> Result<Vec<WhyNot>, UnknownProvider> {
    let Ok((engine, deployments)) = Engine::read_input(composition, sources, Providers::All) else {
        return Ok(Vec::new());
    };
    let catalog = engine.catalog();
    let Some(candidate) = catalog.get(provider) else {
        let known: Vec<&str> = catalog.names().collect();
        let closest = closest(provider, known.iter().copied());
        let suggestion = closest.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default();
        let (name, known) = (provider.to_owned(), known.join(", "));
        return Err(UnknownProvider { name, known, suggestion });
    };
    let space = SearchSpace::from_catalog(catalog);
    Ok(deployments.iter(&engine).map(|subject| ChangeSearch::new(subject, candidate).answer(&space)).collect())
}

/// The remark on a change to llama.cpp.
const NEEDS_GGUF: &str = "llama.cpp runs models in the GGUF format: set spec.model.id to one";

/// Searches for the smallest set of changes.
struct ChangeSearch<'p> {
    subject: InputDeployment<'p>,
    candidate: &'p Candidate,
    steps: StepBudget,
    trials: usize,
}

impl<'p> ChangeSearch<'p> {
    fn new(subject: InputDeployment<'p>, candidate: &'p Candidate) -> Self {
        let steps = StepBudget::new(subject.options().rule_limits.steps.saturating_mul(RULE_STEPS_FACTOR));
        Self { subject, candidate, steps, trials: 0 }
    }

    /// Assesses the provider for the deployment as it is, and searches for changes only if it does not win already.
    fn answer(mut self, space: &SearchSpace) -> WhyNot {
        let base = self.subject.run(Thoroughness::Everything, &mut self.steps);
        let selection = base.decision.as_ref().and_then(|decision| decision.selection.as_ref());
        let name = self.candidate.name.as_str();
        let assessment = selection.and_then(|it| it.candidates.iter().find(|it| it.provider == name).cloned());
        let mut answer = WhyNot {
            object: self.subject.object(),
            source: self.subject.source(),
            document: self.subject.index(),
            provider: name.to_owned(),
            selected: selection.and_then(|selection| selection.provider.clone()),
            reason: selection.and_then(|selection| selection.reason.clone()),
            assessment,
            by_rules: None,
            by_name: None,
            remarks: Vec::new(),
            obstacle: None,
        };
        if self.wins(&base) {
            return answer;
        }
        let changes = self.candidate_changes(space);
        answer.obstacle = self.find_obstacle();
        if answer.obstacle.is_none() {
            let name_removal = self.name_removal();
            answer.by_rules = self.find_fewest_changes(&name_removal, &changes, false);
            answer.obstacle = answer.by_rules.is_none().then_some(Obstacle::NothingFound);
        }
        let naming = vec![FieldChange::set(ModelDeployment::path().spec().provider().name(), name)];
        // Each of the two searches has all trials.
        self.trials = 0;
        answer.by_name = self.find_fewest_changes(&naming, &changes, true);
        let sets_engine = |changes: &Option<Vec<DocumentChange>>| {
            let path = FieldPath::from(ModelDeployment::path().spec().engine().engine_type()).to_string();
            let engine = Value::from(EngineType::Llamacpp.as_str()).to_string();
            changes.iter().flatten().any(|change| change.path == path && change.value.as_ref() == Some(&engine))
        };
        if (sets_engine(&answer.by_rules) || sets_engine(&answer.by_name)) && !self.names_gguf() {
            answer.remarks.push(NEEDS_GGUF);
        }
        answer
    }

    /// Returns whether the id of the model says that it is in the GGUF format.
    fn names_gguf(&self) -> bool {
        let id = self.subject.deployment().and_then(|deployment| deployment.model.id);
        id.is_some_and(|id| id.to_ascii_lowercase().contains("gguf"))
    }

    /// Returns the reason why no change can help, if there is one.
    fn find_obstacle(&self) -> Option<Obstacle> {
        let is_selectable = |name: &str| EngineType::VARIANTS.iter().any(|(word, _)| *word == name);
        if self.candidate.ready == Some(false) {
            Some(Obstacle::NotReady)
        } else if !self.candidate.engines.iter().any(|engine| is_selectable(&engine.name)) {
            Some(Obstacle::NoEngine)
        } else {
            self.candidate.rules.is_empty().then_some(Obstacle::NoRules)
        }
    }

    /// Returns whether the provider is selected and no error is reported.
    fn wins(&self, attempt: &Attempt) -> bool {
        // `strict` turns warnings into errors.
        let options = self.subject.options();
        let is_error = |finding: &Diagnostic| {
            options.adjust(finding.clone()).is_some_and(|finding| finding.severity == Severity::Error)
        };
        attempt.provider() == Some(self.candidate.name.as_str())
            && !attempt.is_refused()
            && !attempt.findings.iter().any(is_error)
    }

    /// Returns whether the checks of `lint` find no error in a changed deployment.
    fn is_accepted_by_lint(&mut self, changed: Node<'_>) -> bool {
        let attempt = self.subject.attempt(changed, Thoroughness::EveryRule, &mut self.steps);
        self.wins(&attempt)
    }

    /// Returns the changes that remove the name of another provider and its overrides.
    fn name_removal(&self) -> Vec<FieldChange> {
        let path = FieldPath::from(ModelDeployment::path().spec().provider());
        if self.subject.root().at(&path).is_some_and(|node| !node.entries().is_empty()) {
            vec![FieldChange::remove(path)]
        } else {
            Vec::new()
        }
    }

    /// Returns the changes that may affect a selection rule, a gate or the provider. Those of engine, mode and GPUs
    /// come first, because the search prefers earlier changes among sets of the same size.
    fn candidate_changes(&self, space: &SearchSpace) -> Vec<Vec<FieldChange>> {
        let root = self.subject.root();
        let spec = || ModelDeployment::path().spec();
        let mut changes: Vec<Vec<FieldChange>> = Vec::new();
        // An image runs one engine, so it is only proposed for a deployment with this engine, or together with it.
        let own_engine = self.subject.deployment().map(|deployment| deployment.engine.kind);
        for (name, engine) in EngineType::VARIANTS {
            let set_engine = FieldChange::set(spec().engine().engine_type(), *name);
            let set_image = profile(*engine).examples.image.map(|image| FieldChange::set(spec().image(), image));
            if own_engine == Some(*engine) {
                changes.extend(set_image.map(|set_image| vec![set_image]));
            } else {
                changes.push(vec![set_engine.clone()]);
                changes.extend(set_image.map(|set_image| vec![set_engine, set_image]));
            }
        }
        changes.extend(crate::trace::field_change::switch_serving_mode(root));
        for count in [0, 1, 2] {
            changes.extend(edits(&spec().resources().gpu().count(), Some(&Value::from(count)), root));
        }
        changes.push(vec![FieldChange::remove(spec().resources().gpu())]);
        // A change of fields that rules of other providers read may prevent these from winning.
        for dimension in &space.dimensions {
            for value in dimension.values.iter().skip(1) {
                changes.extend(edits(&dimension.field, value.as_ref(), root));
            }
            if root.at(&dimension.field).is_some() {
                changes.push(vec![FieldChange::remove(dimension.field.clone())]);
            }
        }
        changes.push(vec![FieldChange::remove(spec().image())]);
        changes.push(vec![FieldChange::remove(spec().engine().args())]);
        let mut useful: Vec<Vec<FieldChange>> = Vec::new();
        for change in changes {
            if !useful.contains(&change) && apply_edits(root, &change).is_some() {
                useful.push(change);
            }
        }
        useful
    }

    /// Returns the smallest set of changes, in addition to `always`, with which the provider wins. It tries sets of
    /// zero to [`MAX_CHANGES`] changes and compiles each.
    fn find_fewest_changes(
        &mut self,
        always: &[FieldChange],
        changes: &[Vec<FieldChange>],
        by_name: bool,
    ) -> Option<Vec<DocumentChange>> {
        let root = self.subject.root();
        let mut combinations = 0;
        // Sets are tried by size, so the first one that wins is a smallest one.
        for count in 0..=MAX_CHANGES {
            let mut chosen: Vec<usize> = (0..count).collect();
            loop {
                // Most combinations change a field twice and are skipped without a trial. Enumerating them takes time,
                // too, so their number has a limit of its own.
                combinations += 1;
                if combinations > MAX_TRIALS * 50 {
                    return None;
                }
                if chosen.iter().all(|index| *index < changes.len()) {
                    let parts = chosen.iter().filter_map(|index| changes.get(*index)).flatten();
                    let combined: Vec<FieldChange> = always.iter().chain(parts).cloned().collect();
                    if is_consistent(&combined)
                        && let Some(changed) = apply_edits(root, &combined)
                    {
                        self.trials += 1;
                        if self.trials > MAX_TRIALS {
                            return None;
                        }
                        let attempt = self.subject.attempt(changed.clone(), Thoroughness::Needed, &mut self.steps);
                        // Most trials fail, so only the others are checked as thoroughly as `lint` checks.
                        if self.wins(&attempt)
                            && is_explicit(&attempt) == Some(by_name)
                            && self.is_accepted_by_lint(changed)
                        {
                            // A change that the document already has is not reported.
                            return Some(
                                combined
                                    .iter()
                                    .filter(|edit| edit.apply(&mut root.clone()))
                                    .map(DocumentChange::from_field_change)
                                    .collect(),
                            );
                        }
                    }
                }
                if !next_combination(&mut chosen, changes.len()) {
                    break;
                }
            }
        }
        None
    }
}

/// Advances to the next combination of positions below `count`, in lexicographic order. Returns false after the last
/// one.
fn next_combination(chosen: &mut [usize], count: usize) -> bool {
    let size = chosen.len();
    // The last place that is not at its maximum is increased, and the places after it continue from there.
    for place in (0..size).rev() {
        let max = count.saturating_sub(size - place);
        let Some(position) = chosen.get_mut(place) else { return false };
        if *position < max {
            *position += 1;
            let start = *position;
            chosen.iter_mut().skip(place + 1).enumerate().for_each(|(offset, it)| *it = start + 1 + offset);
            return true;
        }
    }
    false
}

/// Returns whether no field is changed twice.
fn is_consistent(edits: &[FieldChange]) -> bool {
    edits.iter().enumerate().all(|(index, edit)| {
        edits
            .iter()
            .skip(index + 1)
            .all(|other| !edit.path.starts_with(&other.path) && !other.path.starts_with(&edit.path))
    })
}

/// Returns whether the deployment names its provider; `None` if no provider was selected.
fn is_explicit(attempt: &Attempt) -> Option<bool> {
    let selection: Option<&Selection> = attempt.decision.as_ref().and_then(|decision| decision.selection.as_ref());
    selection.map(|selection| selection.explicit)
}
