//! Structural schemas, the form that an API server accepts in a CRD: every value has a type, and there are no
//! references.

use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::wire::{Facets, FieldShape, ObjectShape, Shape, Syntax};
use serde_json::{Value, json};

use super::rules::{self, Rule};
use super::syntax::{self, SyntaxCheck};
use super::{Object, description, json};
use crate::Failure;

/// Returns the schema of an object in an API group.
pub(super) fn object(shape: &ObjectShape, api_group: &ApiGroup) -> Result<Value, Failure> {
    let mut properties = Object::default();
    for field in shape.fields.iter().filter(|field| !field.facets.not_in.contains(&api_group.name)) {
        properties = properties.with(field.key, property(shape, field, api_group)?);
    }
    let required: Vec<&str> =
        shape.fields.iter().filter(|field| field.facets.required).map(|field| field.key).collect();
    Ok(Object::default()
        .with("description", description(shape.doc))
        .with("type", "object")
        .with_some("required", (!required.is_empty()).then_some(required))
        .with("properties", properties)
        .with_some("x-kubernetes-validations", validations(&rules::of_object(shape.name, api_group)))
        .into())
}

fn property(parent: &ObjectShape, field: &FieldShape, api_group: &ApiGroup) -> Result<Value, Failure> {
    if field.key == "metadata" && matches!(field.shape, Shape::Object(shape) if shape.name == "ObjectMeta") {
        // The API server has its own schema for metadata and accepts no other.
        return Ok(json!({"type": "object"}));
    }
    let mut inner = value(&field.full_shape(), &field.facets, api_group)?;
    if let (Some(items), Some(rules)) = (inner.get_mut("items"), validations(&rules::of_items(parent.name, field.key)))
    {
        items["x-kubernetes-validations"] = rules;
    }
    let mut schema = Object::default().with("description", description(field.doc));
    if let Value::Object(inner) = inner {
        schema.0.extend(inner.into_iter().filter(|(key, _)| key != "description"));
    }
    if let Some(default) = field.facets.default {
        schema = schema.with("default", json(default)?);
    }
    // The scale subresource needs the number in every object.
    if api_group.scales && parent.name == "ModelDeploymentSpec" && field.key == "scaling" {
        schema = schema.with("default", json!({}));
    } else if api_group.scales && parent.name == "Scaling" && field.key == "replicas" {
        schema = schema.with("default", json!(1));
    }
    let mut all = Vec::new();
    if let Some(syntax) = field.facets.syntax.filter(|_| matches!(field.shape, Shape::String)) {
        all.extend(rules::of_syntax(syntax));
    }
    all.extend(rules::of_field(parent.name, field.key));
    Ok(schema.with_some("x-kubernetes-validations", validations(&all)).into())
}

fn value(shape: &Shape, facets: &Facets, api_group: &ApiGroup) -> Result<Value, Failure> {
    Ok(match shape {
        Shape::Any | Shape::Literal(_) => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        Shape::String => text(facets),
        Shape::Timestamp => json!({"type": "string", "format": "date-time"}),
        Shape::Boolean => json!({"type": "boolean"}),
        Shape::Integer(bits) => Object::default()
            .with("type", "integer")
            .with("format", format!("int{bits}"))
            .with_some("minimum", facets.minimum)
            .with_some("maximum", facets.maximum)
            .into(),
        Shape::IntegerOrString => {
            let pattern = facets
                .syntax
                .and_then(|syntax| syntax::checks(syntax).pop())
                .map(|SyntaxCheck { pattern, .. }| pattern);
            Object::default()
                .with("anyOf", json!([{"type": "integer"}, {"type": "string"}]))
                .with_some("minimum", facets.syntax.map(|_| 1))
                .with_some("maxLength", facets.max_text_length())
                .with_some("pattern", pattern)
                .with("x-kubernetes-int-or-string", true)
                .into()
        }
        Shape::List(items) => Object::default()
            .with("type", "array")
            .with("maxItems", limit(facets.max_items, "max_items")?)
            .with_some("x-kubernetes-list-map-keys", facets.list_key.map(|key| vec![key]))
            .with_some("x-kubernetes-list-type", facets.list_key.map(|_| "map"))
            .with("items", value(items, &Facets::NONE, api_group)?)
            .into(),
        Shape::Map(values) => json!({
            "type": "object",
            "maxProperties": limit(facets.max_entries, "max_entries")?,
            "additionalProperties": value(values, &Facets::NONE, api_group)?,
        }),
        Shape::Object(shape) => object(shape, api_group)?,
        Shape::Enum(words) => {
            let list: Vec<&str> = words.values.iter().map(|(word, _)| *word).collect();
            json!({"type": "string", "enum": list})
        }
        Shape::OneOf([shape, Shape::Literal("null")]) => {
            let mut schema = value(shape, facets, api_group)?;
            schema["nullable"] = json!(true);
            schema
        }
        // A structural schema cannot express "string or object". It can preserve unknown fields and require the fields
        // that every object must have; API servers do not apply `required` to a string.
        Shape::OneOf(shapes) => {
            let required: Vec<&str> = shapes
                .iter()
                .filter_map(|shape| if let Shape::Object(shape) = shape { Some(shape) } else { None })
                .flat_map(|shape| shape.fields.iter().filter(|field| field.facets.required).map(|field| field.key))
                .collect();
            Object::default()
                .with_some("required", (!required.is_empty()).then_some(required))
                .with("x-kubernetes-preserve-unknown-fields", true)
                .into()
        }
    })
}

/// Returns the limit of a list or map. An API server needs it to estimate the cost of the rules on its entries.
fn limit(declared: Option<usize>, facet: &str) -> Result<usize, Failure> {
    declared.ok_or_else(|| Failure::Broken(format!("declare {facet} where the field of a CRD is declared")))
}

fn text(facets: &Facets) -> Value {
    let words = facets.allowed_values.map(|words| [&[""], words].concat());
    Object::default()
        .with("type", "string")
        // An empty string counts as absent.
        .with_some("minLength", facets.required.then_some(1))
        .with_some("maxLength", facets.max_text_length())
        .with_some("enum", words)
        .with_some("pattern", facets.syntax.filter(|of| *of == Syntax::Image).and_then(syntax::pattern))
        .into()
}

fn validations(rules: &[Rule]) -> Option<Value> {
    let list: Vec<Value> = rules
        .iter()
        .map(|rule| {
            Object::default()
                .with("rule", rule.rule.as_str())
                .with("message", rule.message.as_str())
                .with_some("messageExpression", rule.expression.as_deref())
                .into()
        })
        .collect();
    (!list.is_empty()).then_some(Value::Array(list))
}
