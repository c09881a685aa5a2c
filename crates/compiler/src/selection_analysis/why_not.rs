//! What would have to be otherwise for a provider to win.

use serde::Serialize;
use serde_json::Value;

use super::space::{SearchSpace, edits};
use crate::Thoroughness;
use crate::pipeline::{Attempt, InputDeployment, Providers, with_prepared_run};
use crate::trace::DocumentChange;
use crate::trace::change::{FieldChange, edited};
use kubefoundry_diagnostics::source::{SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, ObjectRef, Severity};
use kubefoundry_kubernetes::wire::StringEnum as _;
use kubefoundry_model::catalog::Candidate;
use kubefoundry_model::engines::profile;
use kubefoundry_model::select::{CandidateAssessment, Selection, StepBudget};
use kubefoundry_model::wire::{EngineType, ModelDeployment};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::closest;

/// Changed deployments that are run for one deployment, at the most.
pub const MAX_TRIALS: usize = 2000;

/// Fields that are changed together, at the most.
const MAX_CHANGES: usize = 3;

/// As many times the steps of one rule may all rules take for one deployment.
const RULE_STEPS_FACTOR: u64 = 16;

/// Why a provider is not selected for a deployment, and what would make it win.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct WhyNot {
    /// The deployment.
    pub object: ObjectRef,
    /// Where it stands.
    #[serde(skip)]
    pub source: SourceId,
    /// Which document of it.
    #[serde(skip)]
    pub document: usize,
    /// The provider that was asked about.
    pub provider: String,
    /// The provider that is selected; absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<String>,
    /// Why that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was found about the provider that was asked about, as in a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assessment: Option<CandidateAssessment>,
    /// The fewest changes with which its rules select it, tried out; absent when there are none, or when it is selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_rules: Option<Vec<DocumentChange>>,
    /// The fewest changes with which it is chosen by its name, tried out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_name: Option<Vec<DocumentChange>>,
    /// What no change of the deployment gets past, when it cannot be selected by its rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<Obstacle>,
}

/// What keeps a provider from being selected whatever a deployment says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Obstacle {
    /// Its configuration says `ready: false`.
    NotReady,
    /// It has no engine that a ModelDeployment can ask for.
    NoEngine,
    /// It has no rules.
    NoRules,
    /// No change that was tried makes one of its rules win.
    NothingFound,
}

impl Obstacle {
    /// What it means, in a few words.
    ///
    /// ```
    /// use kubefoundry_compiler::selection_analysis::Obstacle;
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

/// A provider that nobody configured.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no provider {name:?}, expected one of {known}{meant}")]
pub struct UnknownProvider {
    name: String,
    known: String,
    meant: String,
}

/// Why a provider is not selected for each ModelDeployment of the input, in order; nothing is said with options or
/// configurations that cannot be used, which is for [`compile`](crate::compile()) to say.
///
/// ```
/// use kubefoundry_compiler::selection_analysis::why_not;
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
/// let answer = &why_not(&sources, "kuberay").unwrap()[0];
/// assert_eq!(answer.by_rules, None);
/// assert_eq!(answer.by_name.as_ref().unwrap()[0].path, "spec.provider.name");
/// ```
///
/// # Errors
/// [`UnknownProvider`] when no configuration has the name.
pub fn why_not(sources: &SourceSet, provider: &str) -> Result<Vec<WhyNot>, UnknownProvider> {
    let answers: Result<Result<Vec<WhyNot>, UnknownProvider>, Vec<Diagnostic>> =
        with_prepared_run(sources, Providers::All, |prepared| {
            let catalog = prepared.catalog();
            let Some(candidate) = catalog.get(provider) else {
                let known: Vec<&str> = catalog.names().collect();
                let meant = closest(provider, known.iter().copied()).map(|meant| format!("; did you mean {meant:?}?"));
                let (name, known, meant) = (provider.to_owned(), known.join(", "), meant.unwrap_or_default());
                return Err(UnknownProvider { name, known, meant });
            };
            let space = SearchSpace::of(catalog);
            Ok(prepared.subjects().map(|subject| ChangeSearch::new(subject, candidate).answer(&space)).collect())
        });
    answers.unwrap_or_else(|_| Ok(Vec::new()))
}

/// A search for the fewest changes.
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
            obstacle: None,
        };
        if self.wins(&base) {
            return answer;
        }
        let changes = self.changes(space);
        answer.obstacle = self.obstacle();
        if answer.obstacle.is_none() {
            let without_name = self.without_name();
            answer.by_rules = self.fewest(&without_name, &changes, false);
            answer.obstacle = answer.by_rules.is_none().then_some(Obstacle::NothingFound);
        }
        let named = vec![FieldChange::set(ModelDeployment::path().spec().provider().name(), name)];
        self.trials = 0;
        answer.by_name = self.fewest(&named, &changes, true);
        answer
    }

    /// What no change of a deployment gets past.
    fn obstacle(&self) -> Option<Obstacle> {
        let known = |name: &str| EngineType::VARIANTS.iter().any(|(word, _)| *word == name);
        if self.candidate.ready == Some(false) {
            Some(Obstacle::NotReady)
        } else if !self.candidate.engines.iter().any(|engine| known(&engine.name)) {
            Some(Obstacle::NoEngine)
        } else {
            self.candidate.rules.is_empty().then_some(Obstacle::NoRules)
        }
    }

    /// Whether the provider is selected, and nothing is refused.
    fn wins(&self, attempt: &Attempt) -> bool {
        // Options may make errors of warnings.
        let options = self.subject.options();
        let is_error =
            |found: &Diagnostic| options.adjust(found.clone()).is_some_and(|found| found.severity == Severity::Error);
        attempt.provider() == Some(self.candidate.name.as_str())
            && !attempt.is_refused()
            && !attempt.findings.iter().any(is_error)
    }

    /// What takes away the name of another provider, and what was said to it alone.
    fn without_name(&self) -> Vec<FieldChange> {
        let path = FieldPath::from(ModelDeployment::path().spec().provider());
        if self.subject.root().at(&path).is_some_and(|node| !node.entries().is_empty()) {
            vec![FieldChange::remove(path)]
        } else {
            Vec::new()
        }
    }

    /// The changes that may matter to a rule, a gate or the provider: those of engine, mode, GPUs and image first.
    fn changes(&self, space: &SearchSpace) -> Vec<Vec<FieldChange>> {
        let root = self.subject.root();
        let spec = || ModelDeployment::path().spec();
        let mut changes: Vec<Vec<FieldChange>> = Vec::new();
        for (engine, _) in EngineType::VARIANTS {
            changes.push(vec![FieldChange::set(spec().engine().engine_type(), *engine)]);
        }
        changes.extend(crate::trace::change::other_mode(root));
        for count in [0, 1, 2] {
            changes.extend(edits(&spec().resources().gpu().count(), Some(&Value::from(count)), root));
        }
        changes.push(vec![FieldChange::remove(spec().resources().gpu())]);
        // What other providers' rules read may keep them from winning.
        for dimension in &space.dimensions {
            for value in dimension.values.iter().skip(1) {
                changes.extend(edits(&dimension.field, value.as_ref(), root));
            }
            if root.at(&dimension.field).is_some() {
                changes.push(vec![FieldChange::remove(dimension.field.clone())]);
            }
        }
        for image in EngineType::VARIANTS.iter().filter_map(|(_, engine)| profile(*engine).examples.image) {
            changes.push(vec![FieldChange::set(spec().image(), image)]);
        }
        changes.push(vec![FieldChange::remove(spec().image())]);
        changes.push(vec![FieldChange::remove(spec().engine().args())]);
        let mut useful: Vec<Vec<FieldChange>> = Vec::new();
        for change in changes {
            if !useful.contains(&change) && edited(root, &change).is_some() {
                useful.push(change);
            }
        }
        useful
    }

    /// The fewest changes, beside `always`, with which the provider wins: none, one, two, three. Each is tried out.
    fn fewest(
        &mut self,
        always: &[FieldChange],
        changes: &[Vec<FieldChange>],
        by_name: bool,
    ) -> Option<Vec<DocumentChange>> {
        let root = self.subject.root();
        let mut combinations = 0;
        for count in 0..=MAX_CHANGES {
            let mut chosen: Vec<usize> = (0..count).collect();
            loop {
                // Most of them change a field twice, and are not run.
                combinations += 1;
                if combinations > MAX_TRIALS * 50 {
                    return None;
                }
                if chosen.iter().all(|index| *index < changes.len()) {
                    let parts = chosen.iter().filter_map(|index| changes.get(*index)).flatten();
                    let all: Vec<FieldChange> = always.iter().chain(parts).cloned().collect();
                    if is_consistent(&all)
                        && let Some(changed) = edited(root, &all)
                    {
                        self.trials += 1;
                        if self.trials > MAX_TRIALS {
                            return None;
                        }
                        let attempt = self.subject.attempt(changed, Thoroughness::Needed, &mut self.steps);
                        if self.wins(&attempt) && selection_is(&attempt, by_name) {
                            return Some(
                                all.iter()
                                    .filter(|edit| edit.apply(&mut root.clone()))
                                    .map(DocumentChange::from_field_change)
                                    .collect(),
                            );
                        }
                    }
                }
                if !next(&mut chosen, changes.len()) {
                    break;
                }
            }
        }
        None
    }
}

/// The next choice of as many positions below `count`, in order; false after the last.
fn next(chosen: &mut [usize], count: usize) -> bool {
    let size = chosen.len();
    for place in (0..size).rev() {
        let last = count.saturating_sub(size - place);
        let Some(position) = chosen.get_mut(place) else { return false };
        if *position < last {
            *position += 1;
            let start = *position;
            chosen.iter_mut().skip(place + 1).enumerate().for_each(|(after, it)| *it = start + 1 + after);
            return true;
        }
    }
    false
}

/// Whether no field is changed twice.
fn is_consistent(edits: &[FieldChange]) -> bool {
    edits.iter().enumerate().all(|(index, edit)| {
        edits
            .iter()
            .skip(index + 1)
            .all(|other| !edit.path.starts_with(&other.path) && !other.path.starts_with(&edit.path))
    })
}

fn selection_is(attempt: &Attempt, explicit: bool) -> bool {
    let selection: Option<&Selection> = attempt.decision.as_ref().and_then(|decision| decision.selection.as_ref());
    selection.is_some_and(|selection| selection.explicit == explicit)
}
