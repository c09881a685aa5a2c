//! Fields that reach nothing, and of which nobody says so: found while linting, for as much work as a run may take.
//!
//! Deployments that are written alike behave alike: the first of each kind is tried, field by field, and what was learned
//! holds for the others. So the cost follows the number of kinds, not of deployments, and it is bounded. What is learned
//! of a kind depends on its first deployment alone, and on how much work the kinds before it took.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use rayon::prelude::*;

use super::prepared::InputDeployment;
use super::probe::{Fate, Probe, fate, is_about, is_nothing};
use crate::codes;
use kubefoundry_cel as cel;
use kubefoundry_diagnostics::Findings;
use kubefoundry_transform::StepBudget;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::fingerprint::fnv1a_64;
use kubefoundry_yaml::{Node, Value};

/// What all trials of a run may take, in nodes of the documents that are run again: some tenths of a second.
const MAX_WORK_NODES: usize = 150_000;

/// Trials of one field, for the estimate of what a deployment takes.
const ESTIMATED_TRIALS_PER_FIELD: usize = 2;

/// Items of a list that are each tried; those behind them are as the first of these.
const MAX_TRIED_ITEMS: usize = 8;

/// StepBudget of rules that all trials of a run may take, as a multiple of the steps of one evaluation. Each kind gets the share
/// of them that it has in the work.
const RULE_STEPS_FACTOR: u64 = 16;

/// How a deployment is written: which fields it has, and which of the words that decide what else is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DeploymentPattern(u64);

/// The fields of one kind of deployment that reach nothing.
pub(super) type SilentFields = Arc<BTreeSet<String>>;

/// What was learned so far.
#[derive(Debug, Clone)]
pub(super) struct Accounting {
    /// Every kind that was seen; nothing is known of those for which no work was left.
    silent: BTreeMap<DeploymentPattern, SilentFields>,
    work: usize,
    steps: u64,
}

impl DeploymentPattern {
    /// The kind of a deployment, and about how much it takes to try its fields.
    pub(super) fn of(root: &Node<'_>) -> (Self, usize) {
        let mut walk = PatternBuilder { class: String::new(), traits: String::new(), leaves: 0, tried: 0 };
        walk.node(root);
        (Self(fnv1a_64(walk.traits.as_bytes())), walk.tried * ESTIMATED_TRIALS_PER_FIELD * walk.leaves)
    }
}

/// Writes down what makes the kind of a deployment. It is done for every one, so it takes no more room than it must.
struct PatternBuilder {
    class: String,
    traits: String,
    leaves: usize,
    /// The fields that would be tried.
    tried: usize,
}

impl PatternBuilder {
    fn node(&mut self, node: &Node<'_>) {
        let end = self.class.len();
        match &node.value {
            Value::Sequence(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    if index <= MAX_TRIED_ITEMS {
                        push_step(&mut self.class, &Segment::Index(index));
                        self.node(item);
                        self.class.truncate(end);
                    } else {
                        self.leaves += 1;
                    }
                }
            }
            Value::Mapping(entries) if !entries.is_empty() => {
                // Of labels the first stands for all.
                let most = if is_free(&self.class) { 1 } else { entries.len() };
                self.leaves += entries.len() - most;
                for entry in entries.iter().take(most) {
                    push_key(&mut self.class, &entry.key);
                    self.node(&entry.node);
                    self.class.truncate(end);
                }
            }
            value => {
                self.leaves += 1;
                self.tried += usize::from(self.class.starts_with(".spec"));
                self.traits.push_str(&self.class);
                self.traits.push('=');
                push_value(&self.class, value, &mut self.traits);
                self.traits.push('\n');
            }
        }
    }
}

/// A field, whatever its key among labels, and its place in a list beyond the first.
fn class(path: &FieldPath) -> String {
    let mut class = String::new();
    for segment in path.segments() {
        push_step(&mut class, segment);
    }
    class
}

fn push_step(class: &mut String, segment: &Segment) {
    match segment {
        Segment::Index(index) if *index < MAX_TRIED_ITEMS => drop(write!(class, "[{index}]")),
        Segment::Index(_) => class.push_str("[]"),
        Segment::Key(key) => push_key(class, key),
    }
}

fn push_key(class: &mut String, key: &str) {
    let key = if is_free(class) { "*" } else { key };
    class.push('.');
    class.push_str(key);
}

/// Whether the keys below a field are anybody's.
fn is_free(class: &str) -> bool {
    [".labels", ".annotations", ".nodeSelector"].iter().any(|end| class.ends_with(end))
}

/// What of a value may decide how others are read.
fn push_value(class: &str, value: &Value<'_>, out: &mut String) {
    let trait_of = match value {
        Value::Null => "null",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Integer(..=0) => "0",
        Value::Integer(1) => "1",
        Value::Integer(_) => "2",
        Value::Float(_) => "float",
        Value::Sequence(_) => "[]",
        Value::Mapping(_) => "{}",
        Value::String(text) => match class {
            _ if class.starts_with(".spec.engine.extraArgs[") => text.split('=').next().unwrap_or_default(),
            ".spec.image" | ".spec.engine.image" => {
                let name = text.rsplit('/').next().unwrap_or_default();
                name.split([':', '@']).next().unwrap_or_default()
            }
            ".spec.model.id" => match (text.starts_with('/'), text.ends_with(".gguf")) {
                (true, true) => "/.gguf",
                (true, false) => "/",
                (false, true) => ".gguf",
                (false, false) => "id",
            },
            _ if is_word(class) && text.len() <= 64 => text,
            _ if text.is_empty() => "",
            _ => "text",
        },
    };
    out.push_str(trait_of);
}

/// Whether a field holds one of few words.
fn is_word(class: &str) -> bool {
    matches!(
        class,
        ".apiVersion" | ".spec.engine.type" | ".spec.serving.mode" | ".spec.provider.name" | ".spec.model.source"
    ) || class.starts_with(".spec.provider.overrides") && !class.ends_with("instanceType")
        || [".purpose", ".accessMode", ".gpu.type", ".operator", ".effect"].iter().any(|end| class.ends_with(end))
}

impl Accounting {
    /// Nothing is known yet. `limits` are those of rules.
    pub(super) fn new(limits: cel::Limits) -> Self {
        Self { silent: BTreeMap::new(), work: MAX_WORK_NODES, steps: limits.steps.saturating_mul(RULE_STEPS_FACTOR) }
    }

    /// Learns of every kind that is new among deployments, as long as there is work left. What is learned does not
    /// depend on the number of threads. Returns the kinds that were learned.
    pub(super) fn learn(
        &mut self,
        subjects: Vec<(DeploymentPattern, usize, InputDeployment<'_>)>,
    ) -> Vec<DeploymentPattern> {
        let mut new = Vec::new();
        for (kind, work, subject) in subjects {
            if self.admit(kind, work) {
                new.push((kind, self.steps(work), subject));
            }
        }
        let learned = |(kind, steps, subject): (DeploymentPattern, u64, InputDeployment<'_>)| {
            let mut probe = Probe::new(subject, StepBudget::new(steps));
            (kind, SilentFields::new(silent(subject, &mut probe)))
        };
        let learned: Vec<_> = if new.len() > 1 {
            new.into_par_iter().map(learned).collect()
        } else {
            new.into_iter().map(learned).collect()
        };
        let kinds = learned.iter().map(|(kind, _)| *kind).collect();
        self.silent.extend(learned);
        kinds
    }

    /// Does what [`Accounting::learn`] does with a deployment of which is known what was learned. Returns false when its
    /// kind is new and nothing was learned from it.
    pub(super) fn adopt(&mut self, kind: DeploymentPattern, work: usize, learned: Option<&SilentFields>) -> bool {
        if self.silent.contains_key(&kind) {
            return true;
        }
        if work <= self.work && learned.is_none() {
            return false;
        }
        if let (true, Some(learned)) = (self.admit(kind, work), learned) {
            self.silent.insert(kind, Arc::clone(learned));
        }
        true
    }

    /// What is known of a kind.
    pub(super) fn known(&self, kind: DeploymentPattern) -> SilentFields {
        self.silent.get(&kind).cloned().unwrap_or_default()
    }

    /// Whether a kind is new and there is work left for it. That work is then spent; without any the kind stays unknown,
    /// whatever later deployments of it would take.
    fn admit(&mut self, kind: DeploymentPattern, work: usize) -> bool {
        if self.silent.contains_key(&kind) {
            return false;
        }
        self.silent.insert(kind, SilentFields::default());
        let is_affordable = work <= self.work;
        if is_affordable {
            self.work -= work;
        }
        is_affordable
    }

    /// StepBudget that the rules may take while the fields of one kind are tried.
    fn steps(&self, work: usize) -> u64 {
        let share = u128::from(self.steps) * work as u128 / MAX_WORK_NODES as u128;
        u64::try_from(share).unwrap_or(u64::MAX).max(1)
    }

    /// Reports the fields of a deployment that reach nothing, as those of its kind do, and that no finding names.
    pub(super) fn report(&self, kind: DeploymentPattern, root: &Node<'_>, findings: &mut Findings<'_>) {
        let Some(silent) = self.silent.get(&kind).filter(|silent| !silent.is_empty()) else { return };
        for (path, _) in root.leaves() {
            if silent.contains(&class(&path)) && !findings.iter().any(|found| is_about(found, &path)) {
                let message = format!("{path} has no effect: with any other value the output is the same");
                findings
                    .report(&codes::FIELD_REACHES_NOTHING, &path, message)
                    .help("remove it; `kubefoundry explain --trace` shows where fields go");
            }
        }
    }
}

/// The fields of a deployment that reach nothing.
fn silent(subject: InputDeployment<'_>, probe: &mut Probe<'_>) -> BTreeSet<String> {
    let mut silent = BTreeSet::new();
    if probe.base.is_refused() {
        return silent;
    }
    let mut seen = BTreeSet::new();
    for (path, node) in subject.root().leaves() {
        let value = node.to_json();
        if is_nothing(&value) || !path.starts_with(&FieldPath::parse("spec")) || !seen.insert(class(&path)) {
            continue;
        }
        if !probe.base.findings.iter().any(|found| is_about(found, &path))
            && fate(&probe.field(&path, &value), &path) == Fate::Nothing
        {
            silent.insert(class(&path));
        }
    }
    silent
}
