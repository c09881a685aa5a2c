//! Examples of fields: from documents that tests compile, and otherwise made of the declaration of the field.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use kubefoundry_composition::PROVIDERS;
use kubefoundry_kubernetes::wire::{Facets, FieldShape, ObjectShape, Shape, Syntax};
use kubefoundry_yaml::{Limits, parse, to_yaml};
use serde_json::{Map, Value, json};

use super::{DocumentedKind, FieldEntry, KINDS, nested_object};

/// Documents with typical values. The first one that has a field is its example.
const DOCUMENTS: &[&str] = &[
    include_str!("../../../docs/reference/model-deployment.yaml"),
    include_str!("../../../examples/actor-rabbitmq/actor.yaml"),
    include_str!("../../../examples/actor-ray/actor.yaml"),
    include_str!("../../../examples/llama-stack-packages/distribution.yaml"),
    include_str!("../../../examples/llama-stack-override/distribution.yaml"),
    include_str!("../../../examples/custom-provider/model.yaml"),
];

/// Pages whose first options have many fields.
const OPTIONS_PAGES: &[&str] =
    &[include_str!("../../../docs/options.md"), include_str!("../../../docs/llama-stack.md")];

/// Values by object, field and kind: one type of object may be at several places of a kind, and in several kinds.
type Values = BTreeMap<(&'static str, &'static str, &'static str), Typical>;

/// A typical value of a field.
struct Typical {
    value: Value,
    /// The object that has it.
    object: Value,
}

static VALUES: LazyLock<Values> = LazyLock::new(|| {
    let mut values = Values::new();
    let configurations = PROVIDERS.iter().map(|provider| provider.info().config);
    let options = OPTIONS_PAGES.iter().filter_map(|page| {
        let block = page.split("```").skip(1).step_by(2).find(|block| block.contains("kind: Render\n"))?;
        block.strip_prefix("yaml\n")
    });
    for text in DOCUMENTS.iter().copied().chain(options).chain(configurations) {
        for document in parse(text, &Limits::default()).documents {
            let value = document.root.to_json();
            let name = value.get("kind").and_then(Value::as_str);
            let kind = KINDS.iter().find(|kind| Some(kind.name) == name);
            if let Some((kind, object)) = kind.and_then(|kind| Some((kind, kind.object()?))) {
                collect(kind, object, &value, &mut values);
            }
        }
    }
    values
});

/// Collects the values of all declared fields in an object.
fn collect(kind: &DocumentedKind, object: &'static ObjectShape, value: &Value, values: &mut Values) {
    for field in object.fields {
        let Some(inner) = value.get(field.key) else { continue };
        let typical = || Typical { value: spell_out(&field.full_shape(), inner), object: value.clone() };
        values.entry((object.name, field.key, kind.name)).or_insert_with(typical);
        if let Some(nested) = nested_object(&field.full_shape()) {
            collect_nested(kind, nested, &field.full_shape(), inner, values);
        }
    }
}

/// Returns a value with the word `off` where YAML 1.1 has read it as a boolean.
fn spell_out(shape: &Shape, value: &Value) -> Value {
    match (shape, value) {
        (Shape::Map(inner), Value::Object(entries)) => {
            entries.iter().map(|(key, value)| (key.clone(), spell_out(inner, value))).collect::<Map<_, _>>().into()
        }
        (Shape::OneOf([Shape::Enum(words), Shape::Literal("false")]), Value::Bool(false)) => {
            words.values.iter().find(|(word, _)| *word == "off").map_or(Value::Null, |(word, _)| json!(word))
        }
        _ => value.clone(),
    }
}

fn collect_nested(
    kind: &DocumentedKind,
    object: &'static ObjectShape,
    shape: &Shape,
    value: &Value,
    values: &mut Values,
) {
    match (shape, value) {
        (Shape::List(item), Value::Array(items)) => {
            for inner in items {
                collect_nested(kind, object, item, inner, values);
            }
        }
        (Shape::Map(item), Value::Object(entries)) => {
            for inner in entries.values() {
                collect_nested(kind, object, item, inner, values);
            }
        }
        (_, Value::Object(_)) => collect(kind, object, value, values),
        _ => {}
    }
}

impl FieldEntry {
    /// Returns an example of the field: the field with the fields above it, as YAML. Empty for a whole kind.
    ///
    /// ```
    /// use kubefoundry_reference::find_field;
    /// let entry = find_field("spec.resources.gpu.count").unwrap();
    /// assert_eq!(entry.example(), "spec:\n  resources:\n    gpu:\n      count: 1\n");
    /// ```
    pub fn example(&self) -> String {
        let keys: Vec<&str> = self.path.split('.').filter(|key| !key.is_empty()).collect();
        let Some(object) = self.kind.object().filter(|_| !keys.is_empty()) else { return String::new() };
        let mut text = String::new();
        to_yaml(&nested_example(self.kind, object, &keys), &mut text);
        text
    }
}

/// Returns an object with the field at a path below it.
fn nested_example(kind: &DocumentedKind, object: &'static ObjectShape, keys: &[&str]) -> Value {
    let Some((field, rest)) = keys.split_first().and_then(|(key, rest)| Some((object.field(key)?, rest))) else {
        return Value::Null;
    };
    let value = match nested_object(&field.full_shape()).filter(|_| !rest.is_empty()) {
        Some(inner) => {
            let example = nested_example(kind, inner, rest);
            let shown = rest.first().and_then(|key| inner.field(key)).map_or("", |field| field.key);
            if let (Some(typical), [_]) = (find_typical(kind, inner, shown), rest)
                && matches!(field.full_shape(), Shape::List(_))
            {
                // The fields of an item often need each other.
                return json!({field.key: wrap_in_collections(&field.full_shape(), typical.object.clone())});
            }
            // An object without its required fields would be refused, and so would an item without its key.
            let is_needed = |other: &&FieldShape| {
                other.key != shown && (other.facets.required || Some(other.key) == field.facets.list_key)
            };
            let needed = inner.fields.iter().filter(is_needed);
            let mut fields: Map<String, Value> =
                needed.map(|other| (other.key.to_owned(), example_of(kind, inner, other, 0))).collect();
            fields.extend(example.as_object().cloned().unwrap_or_default());
            wrap_in_collections(&field.full_shape(), fields.into())
        }
        None => example_of(kind, object, field, 0),
    };
    json!({field.key: value})
}

/// Puts the example of an object into the list or the mapping that a field has.
fn wrap_in_collections(shape: &Shape, value: Value) -> Value {
    match shape {
        Shape::List(item) => json!([wrap_in_collections(item, value)]),
        Shape::Map(item) => json!({"name": wrap_in_collections(item, value)}),
        _ => value,
    }
}

/// Finds the typical value of a field, in the documents of its kind or of another one.
fn find_typical(kind: &DocumentedKind, object: &ObjectShape, key: &'static str) -> Option<&'static Typical> {
    let of_any_kind = || {
        let mut entries = VALUES.range((object.name, key, "")..);
        entries.next().filter(|((name, field, _), _)| (*name, *field) == (object.name, key)).map(|(_, typical)| typical)
    };
    VALUES.get(&(object.name, key, kind.name)).or_else(of_any_kind)
}

/// Objects in objects that are made of declarations. No declared object is deeper.
const MAX_DEPTH: usize = 8;

fn example_of(kind: &DocumentedKind, object: &'static ObjectShape, field: &FieldShape, depth: usize) -> Value {
    let typical = find_typical(kind, object, field.key).map(|typical| typical.value.clone());
    typical.unwrap_or_else(|| made_of_shape(kind, &field.full_shape(), &field.facets, depth))
}

fn made_of_shape(kind: &DocumentedKind, shape: &Shape, facets: &Facets, depth: usize) -> Value {
    if let Some(default) = facets.default {
        return kubefoundry_yaml::infallible::parse_builtin("default of a field", default);
    }
    match shape {
        Shape::Any => json!({}),
        Shape::String => facets
            .allowed_values
            .and_then(|words| words.first().copied())
            .or(facets.syntax.map(sample))
            .unwrap_or("text")
            .into(),
        Shape::Enum(words) => words.values.first().map_or("", |(word, _)| *word).into(),
        Shape::Timestamp => "2026-01-31T12:00:00Z".into(),
        Shape::Boolean => true.into(),
        Shape::Integer(_) => facets.minimum.unwrap_or(1).max(1).min(facets.maximum.unwrap_or(i64::MAX)).into(),
        Shape::IntegerOrString => facets.syntax.map_or("1", sample).into(),
        Shape::Literal(text) => kubefoundry_yaml::infallible::parse_builtin("literal of a shape", text),
        Shape::List(item) => json!([made_of_shape(kind, item, &Facets::NONE, depth)]),
        Shape::Map(item) => json!({"name": made_of_shape(kind, item, &Facets::NONE, depth)}),
        Shape::OneOf(shapes) => {
            shapes.first().map_or(Value::Null, |first| made_of_shape(kind, first, &Facets::NONE, depth))
        }
        Shape::Object(_) if depth >= MAX_DEPTH => json!({}),
        Shape::Object(inner) => {
            let has_required = inner.fields.iter().any(|field| field.facets.required);
            let shown = inner.fields.iter().filter(|field| field.facets.required || !has_required);
            let count = if has_required { usize::MAX } else { 1 };
            let fields =
                shown.take(count).map(|field| (field.key.to_owned(), example_of(kind, inner, field, depth + 1)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}

/// Returns a text with a syntax.
fn sample(syntax: Syntax) -> &'static str {
    match syntax {
        Syntax::DnsLabel | Syntax::DnsSubdomain => "name",
        Syntax::Quantity => "16Gi",
        Syntax::ExtendedResource => "nvidia.com/gpu",
        Syntax::Image => "registry.example.com/image:1.0.0",
        Syntax::EnvironmentVariable => "NAME",
        Syntax::ConfigKey => "key",
        Syntax::LabelKey => "example.com/label",
        Syntax::InstanceType => "g5.4xlarge",
        Syntax::Version => "1.4.0",
    }
}
