//! The search space of deployments that rules can distinguish: engines, modes, GPUs, and each constant of a rule with
//! its neighbors.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::trace::field_change::{FieldChange, apply_edits, find_shape, switch_serving_mode};
use kubefoundry_cel::{Comparison, FieldDomain};
use kubefoundry_deployment::wire::{self, EngineType, ModelDeployment};
use kubefoundry_engines::profile;
use kubefoundry_kubernetes::wire::{Shape, StringEnum as _, Syntax};
use kubefoundry_model::catalog::Catalog;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// A field that rules read, and the values to try. The first value leaves the field unchanged.
#[derive(Debug, Clone)]
pub(super) struct Dimension {
    pub(super) field: FieldPath,
    /// The values; `None` omits the field.
    pub(super) values: Vec<Option<Value>>,
}

/// All deployments to try.
#[derive(Debug)]
pub(super) struct SearchSpace {
    /// Minimal deployments: engines by modes, with and without GPUs.
    pub(super) bases: Vec<Node<'static>>,
    /// Fields that rules read.
    pub(super) dimensions: Vec<Dimension>,
    /// Fields read by rules whose relevant values are not all known.
    pub(super) unvaried: Vec<String>,
}

impl SearchSpace {
    /// Returns the search space for the rules of all candidates.
    pub(super) fn from_catalog(catalog: &Catalog) -> Self {
        let mut comparisons: BTreeMap<String, Vec<Comparison>> = BTreeMap::new();
        for candidate in catalog.candidates() {
            for rule in &candidate.rules {
                let Ok(compiled) = rule.compiled(catalog.environment(candidate)) else { continue };
                for comparison in compiled.comparisons() {
                    comparisons.entry(comparison.field.to_string()).or_default().push(comparison);
                }
            }
        }
        let mut space = Self { bases: bases(), dimensions: Vec::new(), unvaried: Vec::new() };
        for (name, comparisons) in comparisons {
            let Some(first) = comparisons.first() else { continue };
            let (values, is_complete) = distinguishable_values(&first.field, &comparisons);
            if !values.is_empty() {
                let mut all = vec![None];
                all.extend(values);
                space.dimensions.push(Dimension { field: first.field.clone(), values: all });
            }
            if !is_complete {
                space.unvaried.push(name);
            }
        }
        space
    }

    /// Returns the deployment of a point: a base, and the position of a value for each dimension. Returns `None` if a
    /// value cannot be set in that base.
    pub(super) fn point(&self, base: usize, choices: &[usize]) -> Option<Node<'static>> {
        let mut root = self.bases.get(base)?.clone();
        for (dimension, choice) in self.dimensions.iter().zip(choices) {
            if *choice == 0 {
                continue;
            }
            let value = dimension.values.get(*choice)?;
            root = apply_edits(&root, &edits(&dimension.field, value.as_ref(), &root)?)?;
        }
        Some(root)
    }
}

/// Returns the edits that set a field of a document to a value.
pub(super) fn edits(field: &FieldPath, value: Option<&Value>, root: &Node<'_>) -> Option<Vec<FieldChange>> {
    let is_disaggregated = mode_of(root) == "disaggregated";
    let spec = || ModelDeployment::path().spec();
    if *field == *spec().resources().gpu().count() && is_disaggregated {
        // Rules see the sum of the GPUs of both roles.
        let count = value?.as_i64().filter(|count| *count >= 2)?;
        let scaling = || spec().scaling();
        return Some(vec![
            FieldChange::set(scaling().prefill().gpu().count(), count - 1),
            FieldChange::set(scaling().decode().gpu().count(), 1),
            FieldChange::set(scaling().prefill().replicas(), 1),
            FieldChange::set(scaling().decode().replicas(), 1),
        ]);
    }
    if *field == *spec().serving().mode() {
        let mode = value.and_then(Value::as_str).unwrap_or("aggregated");
        return if mode == mode_of(root) { None } else { switch_serving_mode(root) };
    }
    Some(match value {
        Some(value) => vec![FieldChange::set(field.clone(), value.clone())],
        None => vec![FieldChange::remove(field.clone())],
    })
}

fn mode_of<'n>(root: &'n Node<'_>) -> &'n str {
    root.at(&ModelDeployment::path().spec().serving().mode()).and_then(Node::as_str).unwrap_or("aggregated")
}

/// Returns minimal deployments for every engine and mode, with and without GPUs. Invalid ones are recognized when they
/// are judged.
fn bases() -> Vec<Node<'static>> {
    let mut bases = Vec::new();
    for (word, engine) in EngineType::VARIANTS {
        let profile = profile(*engine);
        for disaggregated in [false, true] {
            for gpus in [1, 0] {
                let mut document = json!({
                    "apiVersion": "kubefoundry.ai/v1alpha1",
                    "kind": wire::KIND,
                    "metadata": {"name": "witness"},
                    "spec": {"model": {"id": profile.examples.model}, "engine": {"type": word}},
                });
                let Some(spec) = document.get_mut("spec").and_then(Value::as_object_mut) else { continue };
                if let Some(image) = profile.examples.image {
                    spec.insert("image".to_owned(), json!(image));
                }
                if disaggregated {
                    let role = json!({"gpu": {"count": gpus}, "memory": "32Gi"});
                    spec.insert("serving".to_owned(), json!({"mode": "disaggregated"}));
                    spec.insert("scaling".to_owned(), json!({"prefill": role, "decode": role}));
                } else if gpus > 0 {
                    spec.insert("resources".to_owned(), json!({"gpu": {"count": gpus}}));
                }
                bases.push(Node::from(&document).to_owned_node());
            }
        }
    }
    bases
}

/// Returns the values of a field that rules can distinguish, and whether they are complete. The list is empty if the
/// bases already vary the field.
pub(super) fn distinguishable_values(field: &FieldPath, comparisons: &[Comparison]) -> (Vec<Option<Value>>, bool) {
    let spec = || ModelDeployment::path().spec();
    let base_fields: [FieldPath; 4] = [
        spec().engine().engine_type().into(),
        spec().serving().mode().into(),
        spec().resources().into(),
        spec().resources().gpu().into(),
    ];
    if base_fields.contains(field) {
        return (Vec::new(), true);
    }
    let constants = || comparisons.iter().flat_map(|comparison| &comparison.constants);
    let mut values: Vec<Value> = Vec::new();
    let mut is_known = comparisons.iter().all(|comparison| comparison.exact);
    for comparison in comparisons {
        match &comparison.domain {
            FieldDomain::Bool => values.extend([json!(true), json!(false)]),
            // The result of a comparison only changes next to a constant, so its neighbors represent all other numbers.
            FieldDomain::Int => {
                let numbers = constants().filter_map(Value::as_i64);
                values.extend(
                    numbers.flat_map(|n| [n.checked_sub(1), Some(n), n.checked_add(1)]).flatten().map(Value::from),
                );
            }
            FieldDomain::Text => {
                values.extend(text_variants(constants().filter_map(Value::as_str)));
                let searched: Vec<&str> = comparison.constants.iter().filter_map(Value::as_str).collect();
                if comparison.searched && searched.len() > 1 {
                    values.extend(combined_texts(&searched));
                    is_known &= searched.len() == 2;
                }
                values.extend(texts_with_lengths(comparison.constants.iter().filter_map(Value::as_u64)));
            }
            FieldDomain::Words(words) => values.extend(words.iter().map(|word| json!(word))),
            FieldDomain::Map => values.extend(constants().filter_map(Value::as_str).map(|key| json!({key: "x"}))),
            FieldDomain::List => values.extend(constants().filter_map(|constant| list_with(field, constant))),
            FieldDomain::Other if comparison.tested => values.extend(sample_value(&comparison.field)),
            FieldDomain::Other => is_known = false,
        }
    }
    let mut distinct: Vec<Value> = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    let is_complete = is_known && !distinct.is_empty();
    (distinct.into_iter().map(Some).collect(), is_complete)
}

/// Returns combinations of texts for rules that search several of them: each pair in both orders, and all together.
fn combined_texts(all: &[&str]) -> Vec<Value> {
    let pairs = all.iter().enumerate().flat_map(|(at, one)| {
        let others = all.iter().enumerate().filter(move |(other, _)| *other != at);
        others.map(move |(_, other)| format!("{one}x{other}"))
    });
    let mut texts: Vec<Value> = pairs.take(MAX_TEXT_PAIRS).map(Value::from).collect();
    if all.len() > 2 {
        texts.push(Value::from(all.join("x")));
    }
    texts
}

/// The maximum number of text pairs that are tried in one field.
const MAX_TEXT_PAIRS: usize = 12;

/// The maximum length of a text for a rule that compares lengths.
const MAX_TEXT_CHARS: u16 = 512;

/// Returns texts with the lengths in a rule, and with one character less and more.
fn texts_with_lengths(numbers: impl Iterator<Item = u64>) -> Vec<Value> {
    let numbers = numbers.filter_map(|number| u16::try_from(number).ok()).filter(|number| *number <= MAX_TEXT_CHARS);
    let lengths = numbers.flat_map(|n| [n.saturating_sub(1), n, n + 1]);
    lengths.filter(|n| *n > 0).map(|n| Value::from("x".repeat(usize::from(n)))).collect()
}

/// Returns variants of the texts in a rule: the text alone, as a prefix, as a suffix, and absent.
fn text_variants<'t>(constants: impl Iterator<Item = &'t str>) -> Vec<Value> {
    let forms = |text: &str| {
        [text.to_owned(), format!("{text}x"), format!("x{text}"), format!("org/{text}"), format!("{text}/x")]
    };
    let mut texts: Vec<Value> = constants.flat_map(forms).filter(|text| !text.is_empty()).map(Value::from).collect();
    texts.push(json!("other"));
    texts
}

/// Returns a list with one entry that has a constant in the field that rules compare.
fn list_with(field: &FieldPath, constant: &Value) -> Option<Value> {
    let text = constant.as_str()?;
    let spec = || ModelDeployment::path().spec();
    let entries: [(FieldPath, Value); 5] = [
        (spec().env().into(), json!({"name": text, "value": text})),
        (spec().tolerations().into(), json!({"key": text, "operator": "Exists"})),
        (spec().image_pull_secrets().into(), json!({"name": text})),
        (spec().engine().extra_args().into(), json!(text)),
        (spec().model().storage().volumes().into(), json!({"name": text, "mountPath": "/data", "claimName": text})),
    ];
    entries.into_iter().find(|(path, _)| path == field).map(|(_, entry)| json!([entry]))
}

/// Returns a valid value for a field whose presence a rule checks.
fn sample_value(field: &FieldPath) -> Option<Value> {
    if matches!(field.segments(), [Segment::Key(root), ..] if root == "metadata") {
        return Some(json!("x"));
    }
    let (shape, facets) = find_shape(field, None);
    let text = match facets.syntax {
        Some(Syntax::Quantity) => "1Gi",
        Some(Syntax::ExtendedResource) => "nvidia.com/gpu",
        Some(Syntax::Image) => "registry.example.com/image:1",
        _ => "x",
    };
    match shape {
        Shape::Boolean => Some(json!(true)),
        Shape::Integer(_) => Some(json!(1)),
        Shape::String | Shape::IntegerOrString => Some(json!(text)),
        Shape::Enum(words) => words.values.first().map(|(word, _)| json!(word)),
        Shape::Map(_) => Some(json!({"x": "x"})),
        _ => None,
    }
}
