//! Evaluates every rule for every deployment that the rules can distinguish.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::point::{PointSelection, document, renders, select_at};
use super::space::SearchSpace;
use crate::trace::field_change::{FieldChange, apply_edits};
use kubefoundry_compiler::pipeline::Engine;
pub use kubefoundry_compiler::pipeline::Providers;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_model::composition::Composition;
use kubefoundry_model::select::StepBudget;
use kubefoundry_yaml::Node;

/// The maximum number of judged deployments. If there are more, an evenly spread sample is used.
pub const MAX_POINTS: usize = 10_000;

/// The step budget of all rules, as a multiple of the budget of one rule.
const RULE_STEPS_FACTOR: u64 = 16;

/// The maximum number of deployments that are tried to find a witness without errors.
const MAX_WITNESS_CANDIDATES: usize = 8;

/// The analysis of the selection rules of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Analysis {
    /// Every provider, by name.
    pub providers: Vec<ProviderSummary>,
    /// The number of judged deployments.
    pub judged: usize,
    /// Whether they cover all combinations that the rules can distinguish.
    pub complete: bool,
    /// Fields read by rules whose relevant values were not all tried.
    pub unvaried: Vec<String>,
    /// The flaws, by provider and rule.
    pub flaws: Vec<Flaw>,
}

/// A provider and the number of deployments that it wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProviderSummary {
    /// The name.
    pub provider: String,
    /// The number of its rules.
    pub rules: usize,
    /// The number of deployments for which it is eligible.
    pub open: usize,
    /// The number of deployments for which it is selected.
    pub wins: usize,
}

/// A flaw of a rule or a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Flaw {
    /// The kind of the flaw.
    pub kind: FlawKind,
    /// The name of the provider.
    pub provider: String,
    /// The rule; absent if the flaw concerns the provider as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleName>,
    /// The flaw, as text.
    pub message: String,
    /// The rules that win instead, or tie.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<RuleName>,
    /// A deployment that demonstrates the flaw; absent if no deployment is accepted at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}

/// The kinds of flaws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FlawKind {
    /// The rule is never true.
    Dead,
    /// The rule is true only for deployments that its provider cannot run, or the provider is never selected.
    Unreachable,
    /// The rule can be true, but never decides.
    Shadowed,
    /// Two providers have the same score, and the name decides.
    Tied,
    /// The evaluation of the rule fails for some deployment.
    Fails,
    /// The provider has no rules, so it can only be selected by name.
    NamedOnly,
}

impl FlawKind {
    /// Returns the name, as in reports.
    ///
    /// ```
    /// use kubefoundry_analysis::selection_analysis::FlawKind;
    /// assert_eq!(FlawKind::NamedOnly.as_str(), "named-only");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Unreachable => "unreachable",
            Self::Shadowed => "shadowed",
            Self::Tied => "tied",
            Self::Fails => "fails",
            Self::NamedOnly => "named-only",
        }
    }
}

/// A selection rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleName {
    /// The name of the provider.
    pub provider: String,
    /// The position of the rule, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub rule: usize,
    /// The priority.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub priority: i32,
    /// The CEL expression.
    pub condition: String,
}

/// A deployment and the provider that is selected for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Witness {
    /// The whole document.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, Value>"))]
    pub document: Value,
    /// The selected provider; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selects: Option<String>,
    /// The reason of the selection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Analyzes the rules of the providers of a run. ModelDeployments in the input have no influence.
///
/// ```
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_analysis::selection_analysis::{FlawKind, Providers, analyze};
/// use kubefoundry_diagnostics::source::SourceSet;
/// let mut sources = SourceSet::default();
/// sources.add("edge.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: InferenceProviderConfig
/// metadata: {name: edge}
/// spec:
///   capabilities: {engines: [vllm], servingModes: [aggregated], gpuSupport: true}
///   selectionRules:
///   - {condition: spec.resources.gpu.count == 0, priority: 200}
///   - {condition: spec.engine.contextLength > 4096, priority: 10}
/// ");
/// let analysis = analyze(&BUILTIN, &sources, Providers::All).unwrap();
/// let flaws: Vec<_> = analysis.flaws.iter().filter(|flaw| flaw.provider == "edge").collect();
/// assert_eq!(flaws[0].kind, FlawKind::Unreachable, "the provider never wins");
/// assert_eq!(flaws[1].kind, FlawKind::Unreachable, "a GPU count of 0 is what it cannot run");
/// assert_eq!(flaws[2].kind, FlawKind::Shadowed, "dynamo's rules have a higher priority");
/// assert_eq!(flaws[2].witness.as_ref().unwrap().selects.as_deref(), Some("dynamo"));
/// ```
///
/// # Errors
/// The errors of options or configurations, because invalid ones could change the selection.
pub fn analyze(
    composition: &'static Composition,
    sources: &SourceSet,
    providers: Providers,
) -> Result<Analysis, Vec<Diagnostic>> {
    let (engine, _) = Engine::read_input(composition, sources, providers)?;
    Ok(RuleAnalyzer::judge_all(&engine).to_analysis())
}

/// The observations about a rule.
#[derive(Debug, Default)]
struct RuleRecord {
    /// The points at which the rule is true.
    truths: PointSample,
    /// The points at which the rule is true and its provider is eligible.
    open: PointSample,
    wins: usize,
    fails: PointSample,
    /// The rules that decide at these points.
    deciders: BTreeSet<(usize, usize)>,
}

/// Counts points and keeps the first [`MAX_WITNESS_CANDIDATES`] of them.
#[derive(Debug, Default)]
struct PointSample {
    count: usize,
    first: Vec<Node<'static>>,
}

impl PointSample {
    fn add(&mut self, root: &Node<'static>) {
        self.count += 1;
        if self.first.len() < MAX_WITNESS_CANDIDATES {
            self.first.push(root.clone());
        }
    }
}

/// The positions of a provider and of one of its rules.
type RulePosition = (usize, usize);

/// Two rules with the same highest priority, that of the winner first, and the points at which they tie.
type Tie = (RulePosition, RulePosition, PointSample);

/// Judges points, which are the deployments of a search space, and collects observations about rules and providers.
struct RuleAnalyzer<'p> {
    engine: &'p Engine<'p>,
    space: SearchSpace,
    rules: Vec<Vec<RuleRecord>>,
    /// For each provider: the points at which it is eligible, and those that it wins.
    open: Vec<PointSample>,
    wins: Vec<usize>,
    /// Ties: providers with the highest score, the winner first, with their rules.
    ties: Vec<Tie>,
    /// The accepted points.
    any: PointSample,
    /// The number of points tried, including those that are not valid deployments.
    tried: usize,
    /// The number of points that are valid deployments.
    accepted: usize,
    complete: bool,
    steps: StepBudget,
}

impl<'p> RuleAnalyzer<'p> {
    fn judge_all(engine: &'p Engine<'p>) -> Self {
        let candidates = engine.catalog().candidates();
        let empty = |_: &_| PointSample::default();
        let mut analyzer = Self {
            engine,
            space: SearchSpace::from_catalog(engine.catalog()),
            rules: candidates.iter().map(|it| it.rules.iter().map(|_| RuleRecord::default()).collect()).collect(),
            open: candidates.iter().map(empty).collect(),
            wins: vec![0; candidates.len()],
            ties: Vec::new(),
            any: PointSample::default(),
            tried: 0,
            accepted: 0,
            complete: true,
            steps: StepBudget::new(engine.options().rule_limits.steps.saturating_mul(RULE_STEPS_FACTOR)),
        };
        analyzer.judge_points();
        analyzer
    }

    /// Judges every point. If there are too many, it judges those that vary few fields, and an evenly spread sample of
    /// the rest.
    fn judge_points(&mut self) {
        let sizes: Vec<usize> = self.space.dimensions.iter().map(|dimension| dimension.values.len()).collect();
        let bases = self.space.bases.len();
        let total = sizes.iter().try_fold(bases, |all, size| all.checked_mul(*size));
        let affordable_total = total.filter(|total| *total <= MAX_POINTS);
        self.complete = affordable_total.is_some();
        if let Some(total) = affordable_total {
            for number in 0..total {
                self.judge_numbered(number, bases, &sizes);
            }
            self.complete = !self.steps.is_exhausted();
            return;
        }
        // Pairs come first: a rule that compares two fields is found without a sample that happens to hit both values.
        self.judge_pairs(bases, &sizes);
        // Then points that vary all fields. The stride is a large prime, so it has no common factor with the sizes, and
        // the sample covers all values.
        let mut number = 0_usize;
        while self.tried < MAX_POINTS && !self.steps.is_exhausted() {
            number = number.wrapping_add(0x9e37_79b1);
            self.judge_numbered(number, bases, &sizes);
        }
    }

    /// Varies one field at a time, then two, with half of the budget, because a rule rarely reads more fields.
    fn judge_pairs(&mut self, bases: usize, sizes: &[usize]) {
        let count = sizes.len();
        // At distance 0 a field varies alone; at larger distances, with each of the fields after it.
        for (distance, one) in (0..count).flat_map(|distance| (0..count).map(move |one| (distance, one))) {
            let other = one + distance;
            let Some((size, other_size)) = sizes.get(one).copied().zip(sizes.get(other).copied()) else { continue };
            for choice in 0..if distance == 0 { size } else { size * other_size } {
                for base in 0..bases {
                    if self.tried >= MAX_POINTS / 2 || self.steps.is_exhausted() {
                        return;
                    }
                    let mut choices = vec![0; sizes.len()];
                    if let Some(value) = choices.get_mut(other) {
                        *value = choice / size;
                    }
                    if let Some(value) = choices.get_mut(one) {
                        *value = choice % size;
                    }
                    self.judge_point(base, &choices);
                }
            }
        }
    }

    /// Judges the point with a number, whose mixed-radix digits are the base and the value of each dimension.
    fn judge_numbered(&mut self, number: usize, bases: usize, sizes: &[usize]) {
        let mut rest = number;
        let mut digit = |size: usize| {
            let digit = rest % size.max(1);
            rest /= size.max(1);
            digit
        };
        let base = digit(bases);
        let choices: Vec<usize> = sizes.iter().map(|size| digit(*size)).collect();
        self.judge_point(base, &choices);
    }

    /// Selects a provider for a point and records the outcome for each provider and rule. A point that is not a valid
    /// deployment is skipped.
    fn judge_point(&mut self, base: usize, choices: &[usize]) {
        self.tried += 1;
        if self.steps.is_exhausted() {
            return;
        }
        let Some(root) = self.space.point(base, choices) else { return };
        let Some(verdict) = select_at(&root, self.engine, &mut self.steps) else { return };
        if self.steps.is_exhausted() {
            // The step budget is exhausted, so missing values are not evidence about the rules.
            return;
        }
        self.accepted += 1;
        self.any.add(&root);
        let winner = verdict.winner();
        let decider = winner.and_then(|winner| Some((winner, verdict.deciding.get(winner).copied().flatten()?)));
        let samples = self.open.iter_mut().zip(&mut self.rules);
        for (position, (assessment, (open, records))) in verdict.selection.candidates.iter().zip(samples).enumerate() {
            let is_open = assessment.closed_gate.is_none();
            if is_open {
                open.add(&root);
            }
            for (index, (rule, record)) in assessment.rules.iter().zip(records).enumerate() {
                match rule.value {
                    // A rule of a provider that is not eligible neither decides nor refuses.
                    None if is_open => record.fails.add(&root),
                    Some(true) => {
                        record.truths.add(&root);
                        if is_open && decider == Some((position, index)) {
                            record.wins += 1;
                        } else if is_open {
                            record.deciders.extend(decider);
                        }
                        if is_open {
                            record.open.add(&root);
                        }
                    }
                    Some(false) | None => {}
                }
            }
        }
        if let Some(winner) = winner {
            if let Some(wins) = self.wins.get_mut(winner) {
                *wins += 1;
            }
            self.record_tie(winner, &verdict, &root);
        }
    }

    /// Records the rules of other providers that have the same highest score as the rule of the winner.
    fn record_tie(&mut self, winner: usize, verdict: &PointSelection, root: &Node<'static>) {
        let rule = |position: usize| Some((position, verdict.deciding.get(position).copied().flatten()?));
        let Some(first) = rule(winner) else { return };
        for other in verdict.best_candidates().into_iter().filter(|other| *other != winner).filter_map(rule) {
            if let Some((.., points)) = self.ties.iter_mut().find(|(one, two, _)| (*one, *two) == (first, other)) {
                points.add(root);
            } else {
                let mut points = PointSample::default();
                points.add(root);
                self.ties.push((first, other, points));
            }
        }
    }

    fn rule_name(&self, provider: usize, rule: usize) -> Option<RuleName> {
        let candidate = self.engine.catalog().candidates().get(provider)?;
        let selection_rule = candidate.rules.get(rule)?;
        let condition = selection_rule.condition.to_string();
        Some(RuleName {
            provider: candidate.name.clone(),
            rule: rule + 1,
            priority: selection_rule.priority,
            condition,
        })
    }

    /// Returns the first of some points that renders without an error, or else the first one. Judging a point only
    /// selects a provider, so the provider may still refuse the deployment.
    fn witness(&self, points: &[Node<'static>]) -> Option<Witness> {
        let mut steps = StepBudget::new(self.engine.options().rule_limits.steps.saturating_mul(4));
        let rendered = points.iter().find(|root| renders(root, self.engine, &mut steps));
        let root = rendered.or_else(|| points.first())?;
        let verdict = select_at(root, self.engine, &mut steps)?;
        let selection = verdict.selection;
        Some(Witness { document: document(root), selects: selection.provider, reason: selection.reason })
    }

    /// Converts the observations to summaries and flaws.
    fn to_analysis(&self) -> Analysis {
        let candidates = self.engine.catalog().candidates();
        let mut flaws = Vec::new();
        let mut providers = Vec::new();
        let samples = self.open.iter().zip(self.wins.iter().copied());
        for (position, (candidate, (open, wins))) in candidates.iter().zip(samples).enumerate() {
            providers.push(ProviderSummary {
                provider: candidate.name.clone(),
                rules: candidate.rules.len(),
                open: open.count,
                wins,
            });
            if wins == 0 {
                flaws.extend(self.provider_flaw(position));
            }
            for index in 0..candidate.rules.len() {
                flaws.extend(self.rule_flaws(position, index));
            }
            for (first, other, points) in self.ties.iter().filter(|(first, ..)| first.0 == position) {
                let (Some(rule), Some(tied)) = (self.rule_name(first.0, first.1), self.rule_name(other.0, other.1))
                else {
                    continue;
                };
                let message = format!(
                    "has the score of {} rule {} ({}), and wins by its name alone",
                    tied.provider, tied.rule, tied.priority
                );
                let witness = self.witness(&points.first);
                let provider = candidate.name.clone();
                flaws.push(Flaw {
                    kind: FlawKind::Tied,
                    provider,
                    rule: Some(rule),
                    message,
                    others: vec![tied],
                    witness,
                });
            }
        }
        Analysis {
            providers,
            judged: self.accepted,
            complete: self.is_complete(),
            unvaried: self.space.unvaried.clone(),
            flaws,
        }
    }

    /// Returns whether every combination that the rules can distinguish was tried.
    fn is_complete(&self) -> bool {
        self.complete && self.space.unvaried.is_empty()
    }

    /// Returns the suffix of messages about something that was never observed.
    fn incompleteness_note(&self) -> &'static str {
        if self.is_complete() { "" } else { ", as far as was tried" }
    }

    /// Returns why a provider never wins.
    fn provider_flaw(&self, position: usize) -> Option<Flaw> {
        let candidate = self.engine.catalog().candidates().get(position)?;
        let open = self.open.get(position)?;
        let flaw = |kind, message: String, witness| Flaw {
            kind,
            provider: candidate.name.clone(),
            rule: None,
            message,
            others: Vec::new(),
            witness,
        };
        if candidate.ready == Some(false) {
            let message = "reports ready: false, and is never selected".to_owned();
            return Some(flaw(FlawKind::Unreachable, message, self.witness(&self.any.first)));
        }
        if open.count == 0 {
            let message = "can run no deployment, by its own capabilities, and is never selected".to_owned();
            return Some(flaw(FlawKind::Unreachable, message, self.witness(&self.any.first)));
        }
        if candidate.rules.is_empty() {
            let named_points: Vec<Node<'static>> =
                open.first.iter().filter_map(|root| with_provider_name(root, &candidate.name)).collect();
            let message = "has no rules, and is only chosen by name".to_owned();
            return Some(flaw(FlawKind::NamedOnly, message, self.witness(&named_points)));
        }
        let rules = self.rules.get(position)?;
        let message = if rules.iter().all(|record| record.open.count == 0) {
            "none of its rules is true for a deployment that it can run"
        } else if rules.iter().all(|record| record.deciders.is_empty()) {
            "wherever one of its rules is true, another rule fails, and nothing is selected"
        } else {
            "wherever one of its rules is true, another provider wins"
        };
        let message = format!("is never selected{}: {message}", self.incompleteness_note());
        let sample = rules.iter().map(|record| &record.open).find(|open| open.count > 0).unwrap_or(open);
        Some(flaw(FlawKind::Unreachable, message, self.witness(&sample.first)))
    }

    /// Returns the flaws of a rule: that it can fail, and the first reason why it never decides.
    fn rule_flaws(&self, position: usize, index: usize) -> Vec<Flaw> {
        let Some(record) = self.rules.get(position).and_then(|rules| rules.get(index)) else { return Vec::new() };
        let Some(rule) = self.rule_name(position, index) else { return Vec::new() };
        let flaw = |kind, message: String, others: Vec<RuleName>, witness| Flaw {
            kind,
            provider: rule.provider.clone(),
            rule: Some(rule.clone()),
            message,
            others,
            witness,
        };
        let mut flaws = Vec::new();
        if record.fails.count > 0 {
            let message = "fails for some deployments, which are then refused".to_owned();
            flaws.push(flaw(FlawKind::Fails, message, Vec::new(), self.witness(&record.fails.first)));
        }
        if record.truths.count == 0 {
            let open = self.open.get(position).filter(|open| open.count > 0).unwrap_or(&self.any);
            let message = format!("is never true{}", self.incompleteness_note());
            flaws.push(flaw(FlawKind::Dead, message, Vec::new(), self.witness(&open.first)));
        } else if record.open.count == 0 {
            let message =
                format!("is true only for deployments that its provider cannot run{}", self.incompleteness_note());
            flaws.push(flaw(FlawKind::Unreachable, message, Vec::new(), self.witness(&record.truths.first)));
        } else if record.wins == 0 {
            let others: Vec<RuleName> =
                record.deciders.iter().filter_map(|(provider, rule)| self.rule_name(*provider, *rule)).collect();
            let names: Vec<String> = others
                .iter()
                .map(|it| format!("{} rule {} (priority {})", it.provider, it.rule, it.priority))
                .collect();
            let message = if names.is_empty() {
                format!(
                    "never decides{}: where it is true, a rule fails, and nothing is selected",
                    self.incompleteness_note()
                )
            } else {
                format!(
                    "never decides{}: where it is true, this does: {}",
                    self.incompleteness_note(),
                    names.join(", ")
                )
            };
            flaws.push(flaw(FlawKind::Shadowed, message, others, self.witness(&record.open.first)));
        }
        flaws
    }
}

/// Returns a deployment that names its provider.
fn with_provider_name(root: &Node<'static>, provider: &str) -> Option<Node<'static>> {
    apply_edits(root, &[FieldChange::set(ModelDeployment::path().spec().provider().name(), provider)])
}
