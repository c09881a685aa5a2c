//! Probes a field of a deployment: renders it with other values to learn the effect of the field.

pub mod field_change;
pub mod output_difference;
pub(crate) mod patch_judge;
pub(crate) mod silent_fields;

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use crate::codes;
use crate::pipeline::rendering::attempt::{Attempt, InputDeployment};
use field_change::{FieldChange, Variant, apply_edits, variants};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::{Diagnostic, ObjectRef};
use kubefoundry_provider::Provider;
use kubefoundry_transform::{StepBudget, Thoroughness};
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;
use output_difference::{OutputDifference, OutputPlace};

/// The effect of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Fate {
    /// Another value changes the output of the same provider.
    Rendered,
    /// Another value selects another provider.
    Selects,
    /// The field has no effect, and a finding reports it.
    Reported,
    /// Other values or the absence of the field are refused, and it has no further effect.
    Checked,
    /// The field concerns the ModelDeployment itself and is not part of the output.
    Own,
    /// The field is empty: `null`, `{}` or `[]`.
    Empty,
    /// The field has no effect, and no finding reports it.
    Nothing,
}

impl Fate {
    /// Returns the name, as in reports.
    ///
    /// ```
    /// use kubefoundry_compiler::pipeline::Fate;
    /// assert_eq!((Fate::Own.as_str(), Fate::Empty.meaning()), ("own", "it is empty"));
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

    /// Returns the meaning, in a few words.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Rendered => "another value changes the output",
            Self::Selects => "another value selects another provider",
            Self::Reported => "it has no effect, and a finding reports this or another value of it",
            Self::Checked => "it has no effect except that another value, or its absence, would be refused",
            Self::Own => "it describes the ModelDeployment itself, and is not part of the output",
            Self::Empty => "it is empty",
            Self::Nothing => "it has no effect, whatever its value",
        }
    }
}

/// A deployment and its unchanged result, with which attempts are compared.
pub struct Probe<'p> {
    subject: InputDeployment<'p>,
    /// The result of the deployment as it is.
    pub base: Attempt,
    /// The generated values that patches change.
    patched: BTreeSet<OutputPlace>,
    providers: Vec<&'p str>,
    steps: StepBudget,
    /// Whether a field that affects the selection is also tried with `spec.provider.name` set, so that its effect on
    /// the output shows.
    tries_named_provider: bool,
    /// The result of the deployment with `spec.provider.name` set, computed on demand.
    base_with_named_provider: Option<Attempt>,
}

/// The observed effect of other values of a field.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Effect {
    /// The edits that changed the output.
    pub edits: Vec<FieldChange>,
    /// The output fields that changed.
    pub difference: OutputDifference,
    /// Objects that exist only with another value.
    pub added: Vec<ObjectRef>,
    /// Whether the output changed only with `spec.provider.name` set.
    pub needs_named_provider: bool,
    /// Providers that other values select.
    pub selected_providers: Vec<String>,
    /// Codes of findings that name the field.
    pub codes: Vec<&'static str>,
    /// Codes of findings that name the field with another value.
    pub other_codes: Vec<&'static str>,
    /// Codes of the errors that refuse other values.
    pub refused_by: Vec<&'static str>,
    /// Whether another value was accepted at all.
    pub is_accepted: bool,
    /// Whether another valid enum value was refused. The field is then checked against other fields.
    pub is_constraint: bool,
    /// Whether the default equals the value; computed only if `other_codes` matter.
    pub is_default: bool,
    /// Whether the deployment was accepted without the field.
    pub is_optional: bool,
}

impl<'p> Probe<'p> {
    /// Runs the unchanged deployment. `steps` is the budget of selection rules for all attempts together.
    pub fn new(subject: InputDeployment<'p>, mut steps: StepBudget) -> Self {
        let base = subject.run(Thoroughness::Needed, &mut steps);
        let providers = subject.catalog().candidates().iter().map(|candidate| candidate.name.as_str()).collect();
        let patched = overwritten_places(&base);
        Self { subject, base, patched, providers, steps, tries_named_provider: false, base_with_named_provider: None }
    }

    /// Returns a probe that tries values that select another provider once more, with `spec.provider.name` set.
    #[must_use]
    pub fn with_named_provider(self) -> Self {
        Self { tries_named_provider: true, ..self }
    }

    /// Finds a provider that the program renders.
    pub fn find_provider(&self, name: &str) -> Option<&'static dyn Provider> {
        self.subject.options().composition.find_provider(name)
    }

    /// Returns whether options pin the runtime of a provider.
    pub fn is_pinned(&self, provider: &str) -> bool {
        self.subject.options().runtimes.contains_key(provider)
    }

    /// Runs a changed deployment. If a patch hides the change, because it overwrites a value that it does not overwrite in
    /// the unchanged deployment, the attempt is refused, as the run would refuse it.
    fn attempt(&mut self, changed: Node<'_>) -> Attempt {
        let mut attempt = self.subject.attempt(changed, Thoroughness::Needed, &mut self.steps);
        if !overwritten_places(&attempt).is_subset(&self.patched) {
            let message = "a patch overwrites a value that the change decides";
            attempt.findings.push(Diagnostic::new(&codes::PATCH_OF_OWNED_VALUE, message));
            attempt.objects.clear();
        }
        attempt
    }

    /// Tries other values of a field, the most likely valid ones first, until one changes the output.
    pub fn probe_field(&mut self, path: &FieldPath, value: &Value) -> Effect {
        let mut effect = Effect::default();
        collect_codes(&mut effect.codes, &self.base.findings, path);
        let root = self.subject.root();
        let provider = self.base.provider().and_then(|name| self.find_provider(name));
        let mut with_named_provider: Option<(Vec<FieldChange>, OutputDifference, Vec<ObjectRef>)> = None;
        for Variant { edits, is_enum_value, removes_parent } in variants(path, value, root, &self.providers, provider) {
            // Variants that also change other fields count only if the field cannot be changed alone.
            if removes_parent && (effect.is_accepted || effect.is_optional) {
                break;
            }
            let Some(changed) = apply_edits(root, &edits) else { continue };
            let other = self.attempt(changed);
            if other.is_refused() {
                effect.refused_by.extend(other.errors());
                effect.is_constraint |= is_enum_value;
                continue;
            }
            // Removing a field may leave the same value, as the default, so only a new value proves acceptance.
            effect.is_accepted |= edits.iter().any(|edit| edit.value.is_some());
            effect.is_optional |= edits.iter().all(|edit| edit.value.is_none() && edit.path == *path);
            collect_codes(&mut effect.other_codes, &other.findings, path);
            if other.provider() != self.base.provider() {
                effect.selected_providers.extend(other.provider().map(str::to_owned));
                if self.tries_named_provider && with_named_provider.is_none() {
                    with_named_provider = self.edit_with_named_provider(path, edits);
                }
                continue;
            }
            (effect.difference, effect.added) = compare_outputs(&self.base, &other);
            if !effect.difference.is_empty() || !effect.added.is_empty() {
                effect.edits = edits;
                break;
            }
        }
        if let Some((edits, difference, added)) =
            with_named_provider.filter(|_| effect.difference.is_empty() && effect.added.is_empty())
        {
            (effect.edits, effect.difference, effect.added) = (edits, difference, added);
            effect.needs_named_provider = true;
        }
        effect.selected_providers.sort();
        effect.selected_providers.dedup();
        for codes in [&mut effect.codes, &mut effect.other_codes, &mut effect.refused_by] {
            codes.sort_unstable();
            codes.dedup();
        }
        if !effect.other_codes.is_empty() && effect.difference.is_empty() {
            effect.is_default = self.is_default(path);
        }
        effect
    }

    /// Returns whether the default of a field equals its value.
    fn is_default(&self, path: &FieldPath) -> bool {
        let root = self.subject.root();
        let value = |root: &Node<'_>| {
            let leaves = self.subject.deployment_of(root)?.leaves();
            leaves.into_iter().find(|leaf| leaf.path == *path).map(|leaf| leaf.value)
        };
        let without = apply_edits(root, &[FieldChange::remove(path.clone())]);
        without.is_none_or(|without| value(root) == value(&without))
    }

    /// Runs the deployment with another runtime version.
    pub fn probe_runtime(&mut self, provider: &str, version: &str) -> Option<OutputDifference> {
        let mut options = self.subject.options().clone();
        options.runtimes.insert(provider.to_owned(), version.to_owned());
        let other = self.subject.attempt_with_options(&options, &mut self.steps);
        (!other.is_refused()).then(|| compare_outputs(&self.base, &other).0)
    }

    /// Returns the effect of edits on the output with `spec.provider.name` set, so that they cannot select another
    /// provider.
    fn edit_with_named_provider(
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
        if self.base_with_named_provider.is_none() {
            let changed = apply_edits(root, std::slice::from_ref(&naming))?;
            self.base_with_named_provider = Some(self.attempt(changed));
        }
        let edits: Vec<FieldChange> = edits.into_iter().chain([naming]).collect();
        let other = self.attempt(apply_edits(root, &edits)?);
        let base = self.base_with_named_provider.as_ref().filter(|base| !base.is_refused())?;
        if other.is_refused() || other.provider() != base.provider() {
            return None;
        }
        let (mut difference, added) = compare_outputs(base, &other);
        // The unchanged output was rendered without the name, so its places do not include this one.
        difference.changed.retain(|place| !place.path.starts_with(&name));
        (!difference.is_empty() || !added.is_empty()).then_some((edits, difference, added))
    }
}

/// Returns the generated values that the patches of a deployment change or remove.
fn overwritten_places(attempt: &Attempt) -> BTreeSet<OutputPlace> {
    let mut difference = OutputDifference::default();
    for patched in &attempt.patched {
        if let Some(after) = attempt.objects.get(patched.position) {
            difference.compare(&patched.before, after, &OutputPlace::root(patched.position));
        }
    }
    difference.changed.into_iter().collect()
}

/// Compares two outputs. Objects are paired by name first. The remaining ones are paired by kind in order, because the
/// change may have renamed them.
pub(crate) fn compare_outputs(base: &Attempt, other: &Attempt) -> (OutputDifference, Vec<ObjectRef>) {
    let mut difference = OutputDifference::default();
    let mut others: Vec<Option<&Value>> = other.objects.iter().map(Some).collect();
    let mut pairs: Vec<Option<&Value>> = Vec::new();
    for object in &base.objects {
        let is_same = |other: &&mut Option<&Value>| other.is_some_and(|other| reference(other) == reference(object));
        pairs.push(others.iter_mut().find(is_same).and_then(Option::take));
    }
    for (position, (object, pair)) in base.objects.iter().zip(pairs).enumerate() {
        let has_same_kind = |other: &&mut Option<&Value>| other.is_some_and(|other| kind(other) == kind(object));
        let place = OutputPlace::root(position);
        match pair.or_else(|| others.iter_mut().find(has_same_kind).and_then(Option::take)) {
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

fn collect_codes(codes: &mut Vec<&'static str>, findings: &[Diagnostic], path: &FieldPath) {
    codes.extend(findings.iter().filter(|finding| is_about(finding, path)).map(|finding| finding.code.id));
}

/// Returns whether a finding is about a field or one of its parents.
pub(crate) fn is_about(finding: &Diagnostic, path: &FieldPath) -> bool {
    finding.location.as_ref().is_some_and(|location| {
        let reported = &location.path;
        // Without this condition, a finding at `spec` itself would be about every field.
        reported.segments().len() > 1 && (path.starts_with(reported) || reported.starts_with(path))
    })
}

/// Returns whether a field may be without effect and without a finding. Turning a gateway off must be possible without
/// removing its other fields, and the name of a route only says that it is the user's own. The GPU count of a KAITO
/// preset states what its instance type decides, and plans add it up.
fn may_have_no_effect(path: &FieldPath) -> bool {
    let spec = || ModelDeployment::path().spec();
    path.starts_with(&spec().gateway()) || *path == FieldPath::from(spec().resources().gpu().count())
}

/// Returns whether a value is empty.
pub fn is_empty_value(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Classifies the observed effect of a field. The order of the checks matters: the first effect that applies is the
/// strongest one.
pub fn classify_effect(effect: &Effect, path: &FieldPath) -> Fate {
    let is_own = !path.starts_with(&FieldPath::parse("spec"));
    let changes_output = !effect.difference.is_empty() || !effect.added.is_empty();
    if changes_output && !effect.needs_named_provider {
        Fate::Rendered
    } else if !effect.selected_providers.is_empty() {
        Fate::Selects
    } else if !effect.is_accepted && !effect.is_optional && !effect.refused_by.is_empty() {
        // No other effect was observed, so the findings are about something else.
        Fate::Checked
    } else if !effect.codes.is_empty()
        || effect.is_default && !effect.other_codes.is_empty()
        || may_have_no_effect(path)
    {
        Fate::Reported
    } else if is_own {
        Fate::Own
    } else if effect.is_constraint {
        Fate::Checked
    } else if effect.is_optional && (effect.is_accepted || effect.refused_by.is_empty()) {
        Fate::Nothing
    } else {
        Fate::Checked
    }
}

/// Returns a reference to an object.
pub fn reference(object: &Value) -> ObjectRef {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    ObjectRef {
        api_version: text("/apiVersion").unwrap_or_default().into(),
        kind: text("/kind").unwrap_or_default().into(),
        namespace: text("/metadata/namespace").map(Into::into),
        name: text("/metadata/name").unwrap_or_default().into(),
    }
}
