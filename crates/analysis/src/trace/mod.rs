//! Traces where each field of a deployment goes, and where each field of its output comes from.
//!
//! The trace is measured, not declared: each field gets another value, the deployment is rendered again, and the
//! outputs are compared. It therefore holds for every provider and cannot go out of date.
//!
//! ```text
//! deployment ─ leaves ─ change ─ run again ─ difference ─┬─ fields: the output fields that each one changes
//!                                                        └─ outputs: the input fields that change each one
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

pub use kubefoundry_compiler::pipeline::Fate;
pub use kubefoundry_compiler::pipeline::field_effects::field_change;
use kubefoundry_compiler::pipeline::field_effects::field_change::FieldChange;
use kubefoundry_compiler::pipeline::field_effects::output_difference::{OutputPlace, leaves};
use kubefoundry_compiler::pipeline::field_effects::{Effect, Probe, classify_effect, is_empty_value, reference};
use kubefoundry_compiler::pipeline::{Engine, InputDeployment, Providers};
use kubefoundry_deployment::ir::FieldOrigin;
use kubefoundry_deployment::wire::SharedOverrides;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_diagnostics::source::{SourceId, SourceSet};
use kubefoundry_model::catalog::Catalog;
use kubefoundry_model::composition::Composition;
use kubefoundry_model::select::StepBudget;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::secret::mask_at;

/// Maximum number of fields tried per deployment. Each costs at least one rendering of the whole deployment.
pub const MAX_FIELDS: usize = 1000;

/// Approximate budget of values over all runs of one deployment: of a larger deployment, fewer fields are tried.
const MAX_TRIED_VALUES: usize = 250_000;

/// Step budget of the selection rules for one trace, as a multiple of a single rule's budget.
const RULE_STEPS_FACTOR: u64 = 16;

/// Where the fields of one deployment go, and where its output comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Trace {
    /// The deployment.
    pub object: ObjectRef,
    /// The text that contains it.
    #[serde(skip)]
    pub source: SourceId,
    /// The index of the document in that text.
    #[serde(skip)]
    pub document: usize,
    /// The selected provider; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The reason for the selection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Every written field, every default, and every option that affects the output. Empty if the deployment has an
    /// error, because it then has no output.
    pub fields: Vec<FieldTrace>,
    // More than `MAX_FIELDS`.
    /// Number of fields that were not tried, because there are too many.
    pub untried: usize,
    /// Every field of the output, in output order.
    pub outputs: Vec<OutputTrace>,
}

/// The effect of a field of the input, or of an option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FieldTrace {
    /// The field, or the path of the option in the `Render` document.
    pub path: String,
    /// Whether this is an option.
    pub option: bool,
    /// Its value as JSON text.
    pub value: String,
    /// Where the value comes from.
    pub origin: FieldOrigin,
    /// How the value is used.
    pub fate: Fate,
    /// The changes that changed the output.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<DocumentChange>,
    /// The places of the output that changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reaches: Vec<ReachedField>,
    /// Providers that other values of the field select.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub selects: Vec<String>,
    /// Selection rules that read the field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read_by: Vec<RuleRef>,
    /// Codes of the findings about the field, or of those that reject its other values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<&'static str>,
}

/// A change of one field of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DocumentChange {
    /// The path of the field.
    pub path: String,
    /// The new value as JSON text; absent if the field is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// A place in the output that a field affects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReachedField {
    /// The object that contains the place.
    pub object: ObjectRef,
    /// The path; empty for the object as a whole.
    pub path: String,
    /// The path within the field, if the field is text that contains YAML or JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// The value as JSON text; absent for a whole object, and for a place that exists only with another value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether the place exists only with another value of the field.
    pub added: bool,
}

/// A selection rule that reads a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleRef {
    /// The provider that declares the rule.
    pub provider: String,
    /// The position of the rule in the provider configuration, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub rule: usize,
}

/// A field of the output, and the input fields that affect it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutputTrace {
    /// The object that contains the field.
    pub object: ObjectRef,
    /// The path of the field.
    pub path: String,
    /// The path within the field, if the field is text that contains YAML or JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// Its value as JSON text.
    pub value: String,
    /// The fields and options on which the value depends; empty for a value that the provider always writes.
    pub from: Vec<String>,
}

/// Traces every ModelDeployment of the input, in order. [`compile`](kubefoundry_compiler::compile()) reports the findings in the
/// input; with invalid options or configurations nothing is traced.
///
/// ```
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_analysis::trace::{Fate, trace};
/// use kubefoundry_diagnostics::source::SourceSet;
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec:
///   model: {id: microsoft/Phi-4-mini-instruct}
///   engine: {type: vllm, contextLength: 8192}
///   resources: {gpu: {count: 1}}
/// ");
/// let traces = trace(&BUILTIN, &sources);
/// let field = traces[0].fields.iter().find(|field| field.path == "spec.engine.contextLength").unwrap();
/// assert_eq!(field.fate, Fate::Rendered);
/// assert_eq!(field.reaches.len(), 1);
/// let reached = &field.reaches[0];
/// let output = traces[0].outputs.iter().find(|output| output.path == reached.path).unwrap();
/// assert_eq!(output.value, "\"--max-model-len=8192\"");
/// assert!(output.from.contains(&"spec.engine.contextLength".to_owned()));
/// ```
pub fn trace(composition: &'static Composition, sources: &SourceSet) -> Vec<Trace> {
    let trace_all = |view: &SourceSet| -> Vec<Trace> {
        // Without usable options nothing is traced, and a compilation reports why.
        let Ok((engine, deployments)) = Engine::read_input(composition, view, Providers::All) else {
            return Vec::new();
        };
        deployments.iter(&engine).map(trace_deployment).collect()
    };
    sources.views().iter().flat_map(|(_, view)| trace_all(view)).collect()
}

/// Tries each field of a deployment, and inverts the result to get the input fields that affect each output field.
fn trace_deployment(subject: InputDeployment<'_>) -> Trace {
    let steps = StepBudget::new(subject.options().rule_limits.steps.saturating_mul(RULE_STEPS_FACTOR));
    let mut probe = Probe::new(subject, steps).with_named_provider();
    let selection = probe.base.decision.as_ref().and_then(|decision| decision.selection.clone());
    let mut trace = Trace {
        object: subject.object(),
        source: subject.source(),
        document: subject.index(),
        provider: selection.as_ref().and_then(|selection| selection.provider.clone()),
        reason: selection.and_then(|selection| selection.reason),
        fields: Vec::new(),
        untried: 0,
        outputs: Vec::new(),
    };
    if probe.base.is_refused() {
        return trace;
    }
    let output = TracedOutput::from_objects(&probe.base.objects);
    let mut influences: BTreeMap<OutputPlace, Vec<String>> = BTreeMap::new();
    let fields = input_fields(subject);
    let max_fields = MAX_FIELDS.min(MAX_TRIED_VALUES / fields.len().max(1));
    trace.untried = fields.len().saturating_sub(max_fields);
    let document = subject.root().to_json();
    for (path, value, origin) in fields.into_iter().take(max_fields) {
        // In a patch, null removes a field, and an empty list replaces one.
        let is_empty = is_empty_value(&value) && !path.starts_with(&SharedOverrides::path_of_patches());
        let effect = if is_empty { Effect::default() } else { probe.probe_field(&path, &value) };
        let name = path.to_string();
        for place in &effect.difference.changed {
            influences.entry(place.clone()).or_default().push(name.clone());
        }
        let fate = if is_empty { Fate::Empty } else { classify_effect(&effect, &path) };
        trace.fields.push(FieldTrace {
            read_by: rules_reading(&name, subject.catalog()),
            path: name,
            option: false,
            value: mask_at(&document, &path, value).to_string(),
            origin,
            fate,
            tried: effect.edits.iter().map(|edit| DocumentChange::describe(edit, &document)).collect(),
            reaches: reached_fields(&effect, &output),
            codes: match fate {
                Fate::Checked => effect.refused_by,
                Fate::Reported if effect.codes.is_empty() => effect.other_codes,
                _ => effect.codes,
            },
            selects: effect.selected_providers,
        });
    }
    trace.fields.extend(trace_runtime(&mut probe, &output, &mut influences));
    for (place, value) in &output.values.in_order {
        let mut from: BTreeSet<&String> = influences.get(place).into_iter().flatten().collect();
        from.extend(influences.get(&OutputPlace::root(place.object)).into_iter().flatten());
        let Some(object) = output.objects.get(place.object) else { continue };
        trace.outputs.push(OutputTrace {
            object: object.clone(),
            path: place.path.to_string(),
            inside: place.inside.as_ref().map(FieldPath::to_string),
            value: value.to_string(),
            from: from.into_iter().cloned().collect(),
        });
    }
    trace
}

/// The objects of a deployment, and every value in them.
struct TracedOutput {
    objects: Vec<ObjectRef>,
    values: TracedValues,
}

/// Values by place, in the order of the output.
#[derive(Default)]
struct TracedValues {
    in_order: Vec<(OutputPlace, Value)>,
    positions: BTreeMap<OutputPlace, usize>,
}

impl TracedOutput {
    fn from_objects(objects: &[Value]) -> Self {
        let mut values = TracedValues::default();
        for (position, object) in objects.iter().enumerate() {
            for (place, value) in leaves(object, &OutputPlace::root(position)) {
                let value = mask_at(object, &place.path, value);
                values.positions.insert(place.clone(), values.in_order.len());
                values.in_order.push((place, value));
            }
        }
        Self { objects: objects.iter().map(reference).collect(), values }
    }
}

impl TracedValues {
    fn get(&self, place: &OutputPlace) -> Option<&Value> {
        self.positions.get(place).and_then(|position| self.in_order.get(*position)).map(|(_, value)| value)
    }
}

/// Returns every value of the validated deployment, and every written value that is not part of it, with path and
/// origin.
fn input_fields(subject: InputDeployment<'_>) -> Vec<(FieldPath, Value, FieldOrigin)> {
    let written_leaves = subject.root().leaves();
    let values: BTreeMap<&FieldPath, Value> =
        written_leaves.iter().map(|(path, node)| (path, node.to_json())).collect();
    let mut seen = BTreeSet::new();
    let mut fields = Vec::new();
    for leaf in subject.deployment().map(|deployment| deployment.leaves()).unwrap_or_default() {
        let value = values.get(&leaf.path).cloned();
        // A field written as `null` has its default value.
        let origin =
            if value.as_ref().is_some_and(|value| !value.is_null()) { FieldOrigin::Written } else { leaf.origin };
        let value = value.filter(|value| !value.is_null());
        let value = value.unwrap_or_else(|| {
            // A value that is nested too deeply to be read back is shown as its text.
            serde_json::from_str(&leaf.value).unwrap_or_else(|_| Value::from(leaf.value.as_str()))
        });
        seen.insert(leaf.path.clone());
        fields.push((leaf.path, value, origin));
    }
    let unread = written_leaves.iter().filter(|(path, _)| !seen.contains(path));
    fields.extend(unread.map(|(path, node)| (path.clone(), node.to_json(), FieldOrigin::Written)));
    fields
}

/// Returns the places in the output that another value of a field changes or adds.
fn reached_fields(effect: &Effect, output: &TracedOutput) -> Vec<ReachedField> {
    let reached = |added: bool| {
        move |place: &OutputPlace| {
            let object = output.objects.get(place.object)?.clone();
            let inside = place.inside.as_ref().map(FieldPath::to_string);
            let value = output.values.get(place).filter(|_| !added).map(Value::to_string);
            Some(ReachedField { object, path: place.path.to_string(), inside, value, added })
        }
    };
    let changed = effect.difference.changed.iter().filter_map(reached(false));
    let added = effect.difference.added.iter().filter_map(reached(true));
    let new_objects = effect.added.iter().map(|object| ReachedField {
        object: object.clone(),
        path: String::new(),
        inside: None,
        value: None,
        added: true,
    });
    changed.chain(added).chain(new_objects).collect()
}

/// Returns the rules that read a field, its parent or something in it.
fn rules_reading(path: &str, catalog: &Catalog) -> Vec<RuleRef> {
    let is_in = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let mut readers = Vec::new();
    for candidate in catalog.candidates() {
        for (index, rule) in candidate.rules.iter().enumerate() {
            let Ok(compiled) = rule.compiled(catalog.environment(candidate)) else { continue };
            if compiled.reads().iter().any(|read| is_in(path, read) || is_in(read, path)) {
                readers.push(RuleRef { provider: candidate.name.clone(), rule: index + 1 });
            }
        }
    }
    readers
}

/// Traces the runtime version of the provider, if it has more than one and another one changes the output.
fn trace_runtime(
    probe: &mut Probe<'_>,
    output: &TracedOutput,
    influences: &mut BTreeMap<OutputPlace, Vec<String>>,
) -> Option<FieldTrace> {
    let decided_runtime = probe
        .base
        .decision
        .as_ref()
        .and_then(|decision| decision.provider().map(str::to_owned).zip(decision.runtime.clone()));
    let (name, version) = decided_runtime?;
    let provider = probe.find_provider(&name)?;
    let path = format!("runtimes.{name}");
    let origin = if probe.is_pinned(&name) { FieldOrigin::Written } else { FieldOrigin::Defaulted };
    // A release with another version of the CRD changes each line of the manifest, which would explain none of them.
    let (other, difference) = provider
        .info()
        .runtimes
        .iter()
        .filter(|other| **other != version)
        .filter_map(|other| Some((*other, probe.probe_runtime(&name, other)?)))
        .filter(|(_, difference)| !difference.is_empty())
        .min_by_key(|(_, difference)| (difference.replaces_object(), difference.changed.len()))?;
    for place in &difference.changed {
        influences.entry(place.clone()).or_default().push(path.clone());
    }
    let effect = Effect { difference, ..Effect::default() };
    let tried = DocumentChange { path: path.clone(), value: Some(Value::from(other).to_string()) };
    Some(FieldTrace {
        path,
        option: true,
        value: Value::from(version).to_string(),
        origin,
        fate: Fate::Rendered,
        tried: vec![tried],
        reaches: reached_fields(&effect, output),
        selects: Vec::new(),
        read_by: Vec::new(),
        codes: Vec::new(),
    })
}

impl DocumentChange {
    pub(crate) fn from_field_change(edit: &FieldChange) -> Self {
        Self { path: edit.path.to_string(), value: edit.value.as_ref().map(Value::to_string) }
    }

    /// Describes a change in a report, which shows no secret: what is tried in place of one is almost the same.
    fn describe(edit: &FieldChange, document: &Value) -> Self {
        let shown = edit.value.clone().map(|value| mask_at(document, &edit.path, value).to_string());
        Self { path: edit.path.to_string(), value: shown }
    }
}

/// Applies changes to a document. Returns `None` if a path or value cannot be parsed. Mappings that become empty
/// because a field is removed are removed too.
///
/// ```
/// use kubefoundry_analysis::trace::{DocumentChange, apply_changes};
/// let document = serde_json::json!({"spec": {"engine": {"type": "vllm"}, "scaling": {"replicas": 2}}});
/// let changes = [
///     DocumentChange { path: "spec.engine.type".into(), value: Some("\"sglang\"".into()) },
///     DocumentChange { path: "spec.scaling.replicas".into(), value: None },
/// ];
/// assert_eq!(apply_changes(&document, &changes).unwrap(), serde_json::json!({"spec": {"engine": {"type": "sglang"}}}));
/// ```
pub fn apply_changes(document: &Value, changes: &[DocumentChange]) -> Option<Value> {
    let mut root: Node<'static> = Node::from(document).to_owned_node();
    for change in changes {
        let path = FieldPath::try_parse(&change.path)?;
        let value = match &change.value {
            Some(value) => Some(serde_json::from_str(value).ok()?),
            None => None,
        };
        FieldChange { path, value }.apply(&mut root);
    }
    Some(root.to_json())
}
