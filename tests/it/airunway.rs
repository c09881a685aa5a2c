//! The CRDs of AI Runway against our fields: none of their fields is silently dropped.

use std::collections::BTreeSet;

use crate::common::upstream::crd;
use kubefoundry_deployment::wire::{InferenceProviderConfig, ModelDeployment};
use kubefoundry_kubernetes::wire::{Describe, Shape};
use serde_json::Value;

/// Collects the leaves of one of our shapes below `path`. The content of a map or an untyped value is not a leaf.
fn collect_shape_leaves(shape: &Shape, path: &str, fields: &mut BTreeSet<String>) {
    match shape {
        Shape::Object(object) => {
            for field in object.fields {
                collect_shape_leaves(&field.full_shape(), &format!("{path}.{}", field.key), fields);
            }
        }
        Shape::List(items) => collect_shape_leaves(items, &format!("{path}[]"), fields),
        Shape::OneOf(shapes) => shapes.iter().for_each(|shape| collect_shape_leaves(shape, path, fields)),
        _ => {
            fields.insert(path.to_owned());
        }
    }
}

/// Collects the leaves of one of their schemas.
fn collect_schema_leaves(schema: &Value, path: &str, fields: &mut BTreeSet<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        for (key, property) in properties {
            collect_schema_leaves(property, &format!("{path}.{key}"), fields);
        }
    } else if schema["items"].is_object() {
        collect_schema_leaves(&schema["items"], &format!("{path}[]"), fields);
    } else {
        fields.insert(path.to_owned());
    }
}

fn their_fields(kind: &str) -> BTreeSet<String> {
    let crd = crd("airunway.ai", kind);
    let mut fields = BTreeSet::new();
    collect_schema_leaves(
        &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"],
        "spec",
        &mut fields,
    );
    assert!(fields.len() > 5, "{fields:?}");
    fields
}

fn our_fields<T: Describe>() -> BTreeSet<String> {
    let Shape::Object(object) = T::SHAPE else { panic!("not an object") };
    let spec = object.fields.iter().find(|field| field.key == "spec").unwrap();
    let mut fields = BTreeSet::new();
    collect_shape_leaves(&spec.full_shape(), "spec", &mut fields);
    fields
}

/// Returns whether a set has a field, or a part of it if only one side declares the parts.
fn has(fields: &BTreeSet<String>, field: &str) -> bool {
    fields.iter().any(|known| {
        known == field || field.starts_with(&format!("{known}.")) || known.starts_with(&format!("{field}."))
    })
}

#[test]
fn every_field_of_their_model_deployment_is_known() {
    let theirs = their_fields("ModelDeployment");
    let ours = our_fields::<ModelDeployment>();
    let unknown: Vec<_> = theirs.iter().filter(|field| !has(&ours, field)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    // A field that they lack is refused: their API server would prune it.
    let Shape::Object(object) = ModelDeployment::SHAPE else { panic!("not an object") };
    let absent: Vec<String> = object.absent_in("airunway.ai").iter().map(ToString::to_string).collect();
    let refused = |field: &String| absent.iter().any(|absent| field.starts_with(absent));
    let more: Vec<_> = ours.iter().filter(|field| !has(&theirs, field) && !refused(field)).collect();
    assert!(
        more.is_empty(),
        "airunway.ai does not have {more:?}: add `not_in(&[AIRUNWAY])` to the declaration in \
         crates/deployment/src/wire/model_deployment.rs"
    );
}

#[test]
fn every_field_of_their_provider_configuration_is_known() {
    let theirs = their_fields("InferenceProviderConfig");
    let ours = our_fields::<InferenceProviderConfig>();
    let unknown: Vec<_> = theirs.iter().filter(|field| !has(&ours, field)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
