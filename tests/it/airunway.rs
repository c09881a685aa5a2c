//! The live system's own CRDs against the fields that this program knows: none of theirs is dropped in silence.

use std::collections::BTreeSet;

use crate::common::upstream::crd;
use kubefoundry_kubernetes::wire::{Describe, Shape};
use kubefoundry_model::wire::{InferenceProviderConfig, ModelDeployment};
use serde_json::Value;

/// The leaves of a shape of ours under `path`; what is under a map or an untyped value is anybody's.
fn of_shape(shape: &Shape, path: &str, fields: &mut BTreeSet<String>) {
    match shape {
        Shape::Object(object) => {
            for field in object.fields {
                of_shape(&field.full_shape(), &format!("{path}.{}", field.key), fields);
            }
        }
        Shape::List(items) => of_shape(items, &format!("{path}[]"), fields),
        Shape::OneOf(shapes) => shapes.iter().for_each(|shape| of_shape(shape, path, fields)),
        _ => {
            fields.insert(path.to_owned());
        }
    }
}

/// The leaves of a schema of theirs.
fn of_schema(schema: &Value, path: &str, fields: &mut BTreeSet<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        for (key, property) in properties {
            of_schema(property, &format!("{path}.{key}"), fields);
        }
    } else if schema["items"].is_object() {
        of_schema(&schema["items"], &format!("{path}[]"), fields);
    } else {
        fields.insert(path.to_owned());
    }
}

fn theirs(kind: &str) -> BTreeSet<String> {
    let crd = crd("airunway.ai", kind);
    let mut fields = BTreeSet::new();
    of_schema(&crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"], "spec", &mut fields);
    assert!(fields.len() > 5, "{fields:?}");
    fields
}

fn ours<T: Describe>() -> BTreeSet<String> {
    let Shape::Object(object) = T::SHAPE else { panic!("not an object") };
    let spec = object.fields.iter().find(|field| field.key == "spec").unwrap();
    let mut fields = BTreeSet::new();
    of_shape(&spec.full_shape(), "spec", &mut fields);
    fields
}

/// Whether a set has a field or, where one side looks into it and the other does not, a part of it.
fn has(fields: &BTreeSet<String>, field: &str) -> bool {
    fields.iter().any(|known| {
        known == field || field.starts_with(&format!("{known}.")) || known.starts_with(&format!("{field}."))
    })
}

#[test]
fn every_field_of_their_model_deployment_is_known() {
    let theirs = theirs("ModelDeployment");
    let ours = ours::<ModelDeployment>();
    let unknown: Vec<_> = theirs.iter().filter(|field| !has(&ours, field)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    // What they do not have is refused, not rendered from an object that their apiserver would prune.
    let Shape::Object(object) = ModelDeployment::SHAPE else { panic!("not an object") };
    let absent: Vec<String> = object.absent_in("airunway.ai").iter().map(ToString::to_string).collect();
    let refused = |field: &String| absent.iter().any(|absent| field.starts_with(absent));
    let more: Vec<_> = ours.iter().filter(|field| !has(&theirs, field) && !refused(field)).collect();
    assert!(
        more.is_empty(),
        "airunway.ai does not have {more:?}: add `not_in(&[AIRUNWAY])` to the declaration in \
         crates/model/src/wire/model_deployment.rs"
    );
}

#[test]
fn every_field_of_their_provider_configuration_is_known() {
    let theirs = theirs("InferenceProviderConfig");
    let ours = ours::<InferenceProviderConfig>();
    let unknown: Vec<_> = theirs.iter().filter(|field| !has(&ours, field)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
