//! Finds fields that have no effect and that no finding mentions. Only `lint` looks for them, within a budget per run.
//!
//! Trying every field of every deployment would cost far too much. Deployments with the same pattern (the same fields,
//! and the same words that decide how others are read) behave alike, so only the first of each pattern is tried, and
//! the result holds for the others. The cost follows the number of patterns and is bounded. The result for a pattern
//! depends only on its first deployment and on the work spent on earlier patterns, so it does not depend on the number
//! of threads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use rayon::prelude::*;

use super::{Fate, Probe, classify_effect, is_about, is_empty_value};
use crate::codes;
use crate::pipeline::rendering::attempt::InputDeployment;
use kubefoundry_cel as cel;
use kubefoundry_diagnostics::Findings;
use kubefoundry_transform::StepBudget;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::fingerprint::fnv1a_64;
use kubefoundry_yaml::{Node, Value};

/// Work budget of a run, in nodes of the documents that are transformed again: a few tenths of a second.
const MAX_WORK_NODES: usize = 150_000;

/// Number of trials per field, for the estimate of a deployment's work.
const ESTIMATED_TRIALS_PER_FIELD: usize = 2;

/// Number of list items that are tried separately; all later items count as one more.
const MAX_TRIED_ITEMS: usize = 8;

/// Step budget of the selection rules for all trials of a run, as a multiple of the steps of one evaluation. Each
/// pattern gets a share in proportion to its work.
const RULE_STEPS_FACTOR: u64 = 16;

/// Hash of how a deployment is written: its fields, and the words in it that decide how other fields are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeploymentPattern(u64);

/// The fields without effect in deployments of one pattern, as classes of paths.
pub(crate) type SilentFields = Arc<BTreeSet<String>>;

/// The patterns seen so far, and the remaining budget.
#[derive(Debug, Clone)]
pub(crate) struct Accounting {
    /// Every pattern seen. The set is empty for patterns that exceeded the budget.
    silent: BTreeMap<DeploymentPattern, SilentFields>,
    work: usize,
    steps: u64,
}

impl DeploymentPattern {
    /// Returns the pattern of a deployment, and the estimated work of trying its fields.
    pub(crate) fn measure(root: &Node<'_>) -> (Self, usize) {
        let mut walk = PatternBuilder { class: String::new(), traits: String::new(), leaves: 0, tried: 0 };
        walk.node(root);
        (Self(fnv1a_64(walk.traits.as_bytes())), walk.tried * ESTIMATED_TRIALS_PER_FIELD * walk.leaves)
    }
}

/// Builds the text that identifies a pattern. This runs for every deployment, so it allocates as little as possible.
struct PatternBuilder {
    class: String,
    traits: String,
    leaves: usize,
    /// Number of fields to try.
    tried: usize,
}

impl PatternBuilder {
    /// Visits a node and everything below it. `class` is the path of the node, and is the same afterwards.
    fn node(&mut self, node: &Node<'_>) {
        let end = self.class.len();
        match &node.value {
            Value::Sequence(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    // The first item past the limit is visited, too: it stands for all later ones, whose class is `[]`.
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
                // The keys of labels are arbitrary, so the first entry stands for all.
                let distinguished = if has_free_keys(&self.class) { 1 } else { entries.len() };
                self.leaves += entries.len() - distinguished;
                for entry in entries.iter().take(distinguished) {
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

/// Replaces arbitrary keys and later list positions in a path by placeholders, so that similar paths share a class.
fn path_class(path: &FieldPath) -> String {
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
    let key = if has_free_keys(class) { "*" } else { key };
    class.push('.');
    class.push_str(key);
}

/// Returns whether users choose the keys below a field.
fn has_free_keys(class: &str) -> bool {
    [".labels", ".annotations", ".nodeSelector"].iter().any(|end| class.ends_with(end))
}

/// Appends the part of a value that may decide how other fields are read.
fn push_value(class: &str, value: &Value<'_>, out: &mut String) {
    let decisive_part = match value {
        Value::Null => "null",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        // Validation and rendering tell none, one and several apart, so these are enough.
        Value::Integer(..=0) => "0",
        Value::Integer(1) => "1",
        Value::Integer(_) => "2",
        Value::Float(_) => "float",
        Value::Sequence(_) => "[]",
        Value::Mapping(_) => "{}",
        Value::String(text) => match class {
            _ if class.starts_with(".spec.engine.extraArgs[") => text.split_once('=').map_or(&**text, |(name, _)| name),
            ".spec.image" | ".spec.engine.image" => {
                let name = text.rsplit_once('/').map_or(&**text, |(_, name)| name);
                name.split_once([':', '@']).map_or(name, |(name, _)| name)
            }
            ".spec.model.id" => match (text.starts_with('/'), text.ends_with(".gguf")) {
                (true, true) => "/.gguf",
                (true, false) => "/",
                (false, true) => ".gguf",
                (false, false) => "id",
            },
            _ if holds_known_word(class) && text.len() <= 64 => text,
            _ if text.is_empty() => "",
            _ => "text",
        },
    };
    out.push_str(decisive_part);
}

/// Returns whether a field holds one of few known words.
fn holds_known_word(class: &str) -> bool {
    matches!(
        class,
        ".apiVersion" | ".spec.engine.type" | ".spec.serving.mode" | ".spec.provider.name" | ".spec.model.source"
    ) || class.starts_with(".spec.provider.overrides") && !class.ends_with("instanceType")
        || [".purpose", ".accessMode", ".gpu.type", ".operator", ".effect"].iter().any(|end| class.ends_with(end))
}

impl Accounting {
    /// Starts without any pattern. `limits` are those of selection rules.
    pub(crate) fn new(limits: cel::Limits) -> Self {
        Self { silent: BTreeMap::new(), work: MAX_WORK_NODES, steps: limits.steps.saturating_mul(RULE_STEPS_FACTOR) }
    }

    /// Tries the fields of deployments with a new pattern while the budget lasts. Returns the patterns that were tried.
    /// The result does not depend on the number of threads.
    pub(crate) fn learn(
        &mut self,
        subjects: Vec<(DeploymentPattern, usize, InputDeployment<'_>)>,
    ) -> Vec<DeploymentPattern> {
        let mut new = Vec::new();
        // Only the trials run in parallel. The budget is spent here, in input order, so that the patterns it covers do
        // not depend on which thread is faster.
        for (pattern, work, subject) in subjects {
            if self.admit(pattern, work) {
                new.push((pattern, self.steps(work), subject));
            }
        }
        let try_fields = |(pattern, steps, subject): (DeploymentPattern, u64, InputDeployment<'_>)| {
            let mut probe = Probe::new(subject, StepBudget::new(steps));
            (pattern, SilentFields::new(find_silent_fields(subject, &mut probe)))
        };
        let learned: Vec<_> = if new.len() > 1 {
            new.into_par_iter().map(try_fields).collect()
        } else {
            new.into_iter().map(try_fields).collect()
        };
        let patterns = learned.iter().map(|(pattern, _)| *pattern).collect();
        self.silent.extend(learned);
        patterns
    }

    /// Replays [`Accounting::learn`] for a deployment whose result is known from an earlier run. Returns false if the
    /// pattern is new and nothing is known.
    pub(crate) fn adopt(&mut self, pattern: DeploymentPattern, work: usize, learned: Option<&SilentFields>) -> bool {
        if self.silent.contains_key(&pattern) {
            return true;
        }
        if work <= self.work && learned.is_none() {
            return false;
        }
        if let (true, Some(learned)) = (self.admit(pattern, work), learned) {
            self.silent.insert(pattern, Arc::clone(learned));
        }
        true
    }

    /// Returns the fields that have no effect in deployments of this pattern. Empty if the pattern was not tried.
    pub(crate) fn silent_fields(&self, pattern: DeploymentPattern) -> SilentFields {
        self.silent.get(&pattern).cloned().unwrap_or_default()
    }

    /// Records a new pattern. Returns whether the budget allows to try it, and then spends the work. A pattern that is
    /// too expensive stays unknown for the rest of the run, even if later deployments of it would cost less.
    fn admit(&mut self, pattern: DeploymentPattern, work: usize) -> bool {
        if self.silent.contains_key(&pattern) {
            return false;
        }
        self.silent.insert(pattern, SilentFields::default());
        let is_affordable = work <= self.work;
        if is_affordable {
            self.work -= work;
        }
        is_affordable
    }

    /// Returns the step budget of the selection rules for one pattern.
    fn steps(&self, work: usize) -> u64 {
        let share = u128::from(self.steps) * work as u128 / MAX_WORK_NODES as u128;
        u64::try_from(share).unwrap_or(u64::MAX).max(1)
    }

    /// Reports the fields of a deployment that have no effect by its pattern and that no finding mentions.
    pub(crate) fn report(&self, pattern: DeploymentPattern, root: &Node<'_>, findings: &mut Findings<'_>) {
        let Some(silent) = self.silent.get(&pattern).filter(|silent| !silent.is_empty()) else { return };
        for (path, _) in root.leaves() {
            if silent.contains(&path_class(&path)) && !findings.iter().any(|finding| is_about(finding, &path)) {
                let message = format!("{path} has no effect: the output is the same with any other value");
                findings
                    .report(&codes::FIELD_REACHES_NOTHING, &path, message)
                    .help("remove it; `kubefoundry explain --trace` shows where fields go");
            }
        }
    }
}

/// Tries the fields of a deployment, and returns the classes of those without effect.
fn find_silent_fields(subject: InputDeployment<'_>, probe: &mut Probe<'_>) -> BTreeSet<String> {
    let mut silent = BTreeSet::new();
    // A refused deployment has no output, so every field would seem to have no effect.
    if probe.base.is_refused() {
        return silent;
    }
    let mut seen = BTreeSet::new();
    for (path, node) in subject.root().leaves() {
        let value = node.to_json();
        if is_empty_value(&value) || !path.starts_with(&FieldPath::parse("spec")) || !seen.insert(path_class(&path)) {
            continue;
        }
        if !probe.base.findings.iter().any(|finding| is_about(finding, &path))
            && classify_effect(&probe.probe_field(&path, &value), &path) == Fate::Nothing
        {
            silent.insert(path_class(&path));
        }
    }
    silent
}
