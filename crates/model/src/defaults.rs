//! The defaults that the specification states as values (docs/specification.md MD-1.17), written into an object.
//!
//! What follows from other fields (`model.servedName`, a mount path) stays out: written down it would stay when those change. So
//! does the resource of the GPUs, which not every provider takes.

use serde_json::{Map, Value};

use super::ir::{Deployment, FieldOrigin};
use crate::wire::ModelDeployment;
use kubefoundry_kubernetes::wire::{Describe as _, FieldShape, Shape};
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// Writes them where the object says nothing. `deployment` is the object as it was read.
pub fn write_defaults(deployment: &Deployment, object: &mut Value) {
    for leaf in deployment.leaves() {
        if leaf.origin == FieldOrigin::Defaulted
            && is_value(&leaf.path)
            && let Ok(value) = serde_json::from_str(&leaf.value)
        {
            fill(object, leaf.path.segments(), value);
        }
    }
}

/// Whether the default of a field is one value, the same for every deployment: one that the field declares, or one that
/// cannot be declared because it only holds in one mode, or beside another field.
fn is_value(path: &FieldPath) -> bool {
    let keys: Vec<&str> = path
        .segments()
        .iter()
        .filter_map(|segment| if let Segment::Key(key) = segment { Some(key.as_ref()) } else { None })
        .collect();
    declared(&keys).is_some_and(|field| field.facets.default.is_some())
        || matches!(
            keys.as_slice(),
            ["spec", "model", "storage", "volumes", "accessMode"] | ["spec", "scaling", "replicas"]
        )
}

/// The declaration of a field.
fn declared(keys: &[&str]) -> Option<FieldShape> {
    let mut shape = ModelDeployment::SHAPE;
    let mut found = None;
    for key in keys {
        while let Shape::List(item) = shape {
            shape = *item;
        }
        let Shape::Object(object) = shape else { return None };
        let field = object.field(key)?;
        (shape, found) = (field.full_shape(), Some(*field));
    }
    found
}

/// Puts a value where nothing is. Of what it stands in only `serving` and `scaling` are made: a role, or GPUs, that are
/// not there mean something.
fn fill(object: &mut Value, path: &[Segment], default: Value) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut at = object;
    for (depth, segment) in parents.iter().enumerate() {
        let below = match segment {
            Segment::Index(index) => at.get_mut(*index),
            Segment::Key(key) if depth == 1 && path.len() == 3 && matches!(key.as_ref(), "serving" | "scaling") => {
                at.as_object_mut().map(|fields| fields.entry(key.as_ref()).or_insert(Value::Null))
            }
            Segment::Key(key) => at.get_mut(key.as_ref()),
        };
        let Some(below) = below else { return };
        if below.is_null() {
            *below = Value::Object(Map::new());
        }
        at = below;
    }
    if let (Segment::Key(key), Some(fields)) = (last, at.as_object_mut()) {
        let field = fields.entry(key.as_ref()).or_insert(Value::Null);
        if field.is_null() {
            *field = default;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaulted(spec: &str) -> Vec<(String, String)> {
        let (_, deployment) = crate::validate::tests::deployment_of(spec);
        let leaves = deployment.leaves().into_iter().filter(|leaf| leaf.origin == FieldOrigin::Defaulted);
        leaves.map(|leaf| (leaf.path.to_string().replace("[0]", ""), leaf.value)).collect()
    }

    /// Every default that a field declares, as `spec.serving.mode`.
    fn declarations(shape: &Shape, path: &str, all: &mut Vec<(String, String)>) {
        match shape {
            Shape::Object(object) => {
                for field in object.fields {
                    let path = if path.is_empty() { field.key.to_owned() } else { format!("{path}.{}", field.key) };
                    if let Some(default) = field.facets.default {
                        all.push((path.clone(), default.to_owned()));
                    }
                    declarations(&field.full_shape(), &path, all);
                }
            }
            Shape::List(item) => declarations(item, path, all),
            _ => {}
        }
    }

    #[test]
    fn declared_defaults_are_those_that_validation_applies() {
        let mut applied = defaulted(
            "model: {id: a/b, storage: {volumes: [{name: v, claimName: c, mountPath: /v}]}}\nengine: {type: vllm}\n\
             resources: {gpu: {count: 1}}",
        );
        applied.extend(defaulted(
            "model: {id: a/b}\nengine: {type: vllm}\nserving: {mode: disaggregated}\n\
             scaling: {prefill: {gpu: {count: 1}, memory: 1Gi}, decode: {gpu: {count: 1}, memory: 1Gi}}",
        ));
        let mut declared = Vec::new();
        declarations(&ModelDeployment::SHAPE, "", &mut declared);
        assert!(declared.len() >= 8, "{declared:?}");
        for default in declared {
            assert!(applied.contains(&default), "{default:?} is declared, and validation applies {applied:?}");
        }
    }
}
