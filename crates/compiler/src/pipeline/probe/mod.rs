//! One field of one deployment: what comes of another value in it.

pub(crate) mod change;
pub(crate) mod difference;

use serde::Serialize;
use serde_json::Value;

use super::prepared::{Attempt, InputDeployment};
use change::{FieldChange, Variant, changes, edited};
use difference::{OutputDifference, OutputPlace};
use kubefoundry_diagnostics::{Diagnostic, ObjectRef};
use kubefoundry_model::wire::ModelDeployment;
use kubefoundry_transform::{StepBudget, Thoroughness};
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

/// What becomes of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Fate {
    /// Another value makes another output of the same provider.
    Rendered,
    /// Another value selects another provider.
    Selects,
    /// It has no effect, and a finding says so.
    Reported,
    /// Its other values, or its absence, are refused, and beyond that it has no effect.
    Checked,
    /// It says something of the ModelDeployment itself, and is no part of what it becomes.
    Own,
    /// It holds nothing: `null`, `{}`, `[]`.
    Empty,
    /// It has no effect, and nothing says so.
    Nothing,
}

impl Fate {
    /// Its name, as in reports.
    ///
    /// ```
    /// use kubefoundry_compiler::trace::Fate;
    /// assert_eq!((Fate::Own.as_str(), Fate::Empty.meaning()), ("own", "it holds nothing"));
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rendered => "rendered",
            Self::Selects => "selects",
            Self::Reported => "reported",
            Self::Checked => "checked",
            Self::Own => "own",
            Self::Empty => "empty",
            Self::Nothing => "nothing",
        }
    }

    /// What it means, in a few words.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Rendered => "another value makes another output",
            Self::Selects => "another value selects another provider",
            Self::Reported => "it has no effect, and a finding says so of it, or of another value",
            Self::Checked => "no other value of it, or not its absence, is accepted here; beyond that it has no effect",
            Self::Own => "it says something of the ModelDeployment itself, and is no part of the output",
            Self::Empty => "it holds nothing",
            Self::Nothing => "it has no effect, whatever it says",
        }
    }
}

/// A deployment as it is, to be compared with what it would be.
pub(crate) struct Probe<'p> {
    subject: InputDeployment<'p>,
    pub(crate) base: Attempt,
    providers: Vec<&'p str>,
    steps: StepBudget,
    /// Whether a field that selects is tried with the provider named, too.
    names: bool,
    /// The deployment with its provider named; none until it is needed.
    named: Option<Attempt>,
}

/// What comes of other values of a field.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that exclude none of the others")]
pub(crate) struct Effect {
    /// The edits that moved the output.
    pub(crate) edits: Vec<FieldChange>,
    /// Where the output moved.
    pub(crate) moved: OutputDifference,
    /// Objects that are only there with another value.
    pub(crate) added: Vec<ObjectRef>,
    /// Whether the output moved only once the provider was named.
    pub(crate) is_named: bool,
    /// Providers that other values select.
    pub(crate) selects: Vec<String>,
    /// Codes of findings that name the field.
    pub(crate) codes: Vec<&'static str>,
    /// Codes of findings that name the field when it has another value.
    pub(crate) other_codes: Vec<&'static str>,
    /// Codes of the errors that refuse other values.
    pub(crate) refused_by: Vec<&'static str>,
    /// Whether another value was accepted at all.
    pub(crate) accepted: bool,
    /// Whether another word, which may stand there as such, was refused: what the field says is held against the rest.
    pub(crate) is_constraint: bool,
    /// Whether the field has the same value without being written; known only where `other_codes` are of use.
    pub(crate) is_default: bool,
    /// Whether the deployment was accepted without the field.
    pub(crate) unneeded: bool,
}

impl<'p> Probe<'p> {
    /// Runs the deployment as it is. `steps` is what its rules may take, all runs together.
    pub(crate) fn new(subject: InputDeployment<'p>, mut steps: StepBudget) -> Self {
        let base = subject.run(Thoroughness::Needed, &mut steps);
        let providers = subject.catalog().candidates().iter().map(|candidate| candidate.name.as_str()).collect();
        Self { subject, base, providers, steps, names: false, named: None }
    }

    /// The same, and where a value selects another provider it is tried what it does when the provider is named.
    pub(crate) fn naming(self) -> Self {
        Self { names: true, ..self }
    }

    /// Whether options say which version of the provider's runtime it is.
    pub(crate) fn is_pinned(&self, provider: &str) -> bool {
        self.subject.options().runtimes.contains_key(provider)
    }

    /// Tries other values of a field until one moves the output.
    pub(crate) fn field(&mut self, path: &FieldPath, value: &Value) -> Effect {
        let mut effect = Effect::default();
        add_codes(&mut effect.codes, &self.base.findings, path);
        let root = self.subject.root();
        let mut named: Option<(Vec<FieldChange>, OutputDifference, Vec<ObjectRef>)> = None;
        for Variant { edits, is_word, is_around } in changes(path, value, root, &self.providers, self.base.provider()) {
            // What other fields do is not this one's doing, unless it cannot be changed without them.
            if is_around && (effect.accepted || effect.unneeded) {
                break;
            }
            let Some(changed) = edited(root, &edits) else { continue };
            let other = self.subject.attempt(changed, Thoroughness::Needed, &mut self.steps);
            if other.is_refused() {
                effect.refused_by.extend(other.errors());
                effect.is_constraint |= is_word;
                continue;
            }
            // Without it a field may have the same value, as its default.
            effect.accepted |= edits.iter().any(|edit| edit.value.is_some());
            effect.unneeded |= edits.iter().all(|edit| edit.value.is_none() && edit.path == *path);
            add_codes(&mut effect.other_codes, &other.findings, path);
            if other.provider() != self.base.provider() {
                effect.selects.extend(other.provider().map(str::to_owned));
                if self.names && named.is_none() {
                    named = self.with_name(path, edits);
                }
                continue;
            }
            (effect.moved, effect.added) = difference(&self.base, &other);
            if !effect.moved.is_empty() || !effect.added.is_empty() {
                effect.edits = edits;
                break;
            }
        }
        if let Some((edits, moved, added)) = named.filter(|_| effect.moved.is_empty() && effect.added.is_empty()) {
            (effect.edits, effect.moved, effect.added) = (edits, moved, added);
            effect.is_named = true;
        }
        effect.selects.sort();
        effect.selects.dedup();
        for codes in [&mut effect.codes, &mut effect.other_codes, &mut effect.refused_by] {
            codes.sort_unstable();
            codes.dedup();
        }
        if !effect.other_codes.is_empty() && effect.moved.is_empty() {
            effect.is_default = self.is_default(path);
        }
        effect
    }

    /// Whether a field has the same value without being written.
    fn is_default(&self, path: &FieldPath) -> bool {
        let root = self.subject.root();
        let value = |root: &Node<'_>| {
            let leaves = self.subject.deployment_of(root)?.leaves();
            leaves.into_iter().find(|leaf| leaf.path == *path).map(|leaf| leaf.value)
        };
        let without = edited(root, &[FieldChange::remove(path.clone())]);
        without.is_none_or(|without| value(root) == value(&without))
    }

    /// Runs it with another version of the provider's runtime.
    pub(crate) fn runtime(&mut self, provider: &str, version: &str) -> Option<OutputDifference> {
        let mut options = self.subject.options().clone();
        options.runtimes.insert(provider.to_owned(), version.to_owned());
        let other = self.subject.attempt_with(&options, &mut self.steps);
        (!other.is_refused()).then(|| difference(&self.base, &other).0)
    }

    /// What edits move when the provider is named, so that they select no other.
    fn with_name(
        &mut self,
        path: &FieldPath,
        edits: Vec<FieldChange>,
    ) -> Option<(Vec<FieldChange>, OutputDifference, Vec<ObjectRef>)> {
        let name = FieldPath::from(ModelDeployment::path().spec().provider().name());
        if path.starts_with(&ModelDeployment::path().spec().provider()) {
            return None;
        }
        let root = self.subject.root();
        let naming = FieldChange::set(name.clone(), self.base.provider()?.to_owned());
        if self.named.is_none() {
            let changed = edited(root, std::slice::from_ref(&naming))?;
            self.named = Some(self.subject.attempt(changed, Thoroughness::Needed, &mut self.steps));
        }
        let edits: Vec<FieldChange> = edits.into_iter().chain([naming]).collect();
        let other = self.subject.attempt(edited(root, &edits)?, Thoroughness::Needed, &mut self.steps);
        let named = self.named.as_ref().filter(|named| !named.is_refused())?;
        if other.is_refused() || other.provider() != named.provider() {
            return None;
        }
        let (mut moved, added) = difference(named, &other);
        // It is not in the output as it is.
        moved.changed.retain(|place| !place.path.starts_with(&name));
        (!moved.is_empty() || !added.is_empty()).then_some((edits, moved, added))
    }
}

/// Compares objects of one name, and then those of one kind in their order: their names may have changed with the rest.
fn difference(base: &Attempt, other: &Attempt) -> (OutputDifference, Vec<ObjectRef>) {
    let mut difference = OutputDifference::default();
    let mut others: Vec<Option<&Value>> = other.objects.iter().map(Some).collect();
    let mut pairs: Vec<Option<&Value>> = Vec::new();
    for object in &base.objects {
        let is_same = |other: &&mut Option<&Value>| other.is_some_and(|other| reference(other) == reference(object));
        pairs.push(others.iter_mut().find(is_same).and_then(Option::take));
    }
    for (position, (object, pair)) in base.objects.iter().zip(pairs).enumerate() {
        let is_its_like = |other: &&mut Option<&Value>| other.is_some_and(|other| kind(other) == kind(object));
        let place = OutputPlace::of(position);
        match pair.or_else(|| others.iter_mut().find(is_its_like).and_then(Option::take)) {
            Some(other) => difference.compare(object, other, &place),
            None => difference.changed.push(place),
        }
    }
    (difference, others.into_iter().flatten().map(reference).collect())
}

fn kind(object: &Value) -> (&str, &str) {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    (text("apiVersion"), text("kind"))
}

fn add_codes(codes: &mut Vec<&'static str>, findings: &[Diagnostic], path: &FieldPath) {
    codes.extend(findings.iter().filter(|found| is_about(found, path)).map(|found| found.code.id));
}

/// Whether a finding is about a field, or about what it is a part of.
pub(crate) fn is_about(found: &Diagnostic, path: &FieldPath) -> bool {
    found.location.as_ref().is_some_and(|location| {
        let at = &location.path;
        at.segments().len() > 1 && (path.starts_with(at) || at.starts_with(path))
    })
}

/// Whether a value says nothing.
pub(crate) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

pub(crate) fn fate(effect: &Effect, path: &FieldPath) -> Fate {
    let is_own = !path.starts_with(&FieldPath::parse("spec"));
    let is_moved = !effect.moved.is_empty() || !effect.added.is_empty();
    if is_moved && !effect.is_named {
        Fate::Rendered
    } else if !effect.selects.is_empty() {
        Fate::Selects
    } else if !effect.accepted && !effect.unneeded && !effect.refused_by.is_empty() {
        // Nothing else was seen of it: what findings say of it is something else.
        Fate::Checked
    } else if !effect.codes.is_empty() || effect.is_default && !effect.other_codes.is_empty() {
        Fate::Reported
    } else if is_own {
        Fate::Own
    } else if effect.is_constraint {
        Fate::Checked
    } else if effect.unneeded && (effect.accepted || effect.refused_by.is_empty()) {
        Fate::Nothing
    } else {
        Fate::Checked
    }
}

/// What tells an object from others.
pub(crate) fn reference(object: &Value) -> ObjectRef {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    ObjectRef {
        api_version: text("/apiVersion").unwrap_or_default().into(),
        kind: text("/kind").unwrap_or_default().into(),
        namespace: text("/metadata/namespace").map(Into::into),
        name: text("/metadata/name").unwrap_or_default().into(),
    }
}
