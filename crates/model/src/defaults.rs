//! Writes the constant defaults of the specification (docs/specification.md MD-1.17) into an object.
//!
//! Values that follow from other fields (`model.servedName`, a mount path) are not written, because they would become
//! stale when those fields change. The resource name of the GPUs is not written either: not every provider accepts it.

use serde_json::{Map, Value};

use kubefoundry_deployment::ir::{Deployment, FieldOrigin};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_kubernetes::wire::{Describe as _, FieldShape, Shape};
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// Writes each default where the object has no value. `deployment` is the validated form of the object.
pub fn write_defaults(deployment: &Deployment, object: &mut Value) {
    for leaf in deployment.leaves() {
        if leaf.origin == FieldOrigin::Defaulted
            && has_constant_default(&leaf.path)
            && let Ok(value) = serde_json::from_str(&leaf.value)
        {
            set_if_absent(object, leaf.path.segments(), value);
        }
    }
}

/// Returns whether the default of a field is the same for every deployment. Most are declared with the field; two
/// cannot be, because they hold only in one serving mode or beside another field.
fn has_constant_default(path: &FieldPath) -> bool {
    let keys: Vec<&str> = path
        .segments()
        .iter()
        .filter_map(|segment| if let Segment::Key(key) = segment { Some(key.as_ref()) } else { None })
        .collect();
    find_declaration(&keys).is_some_and(|field| field.facets.default.is_some())
        || matches!(
            keys.as_slice(),
            ["spec", "model", "storage", "volumes", "accessMode"] | ["spec", "scaling", "replicas"]
        )
}

/// Finds the declaration of a field of a ModelDeployment, looking through lists.
fn find_declaration(keys: &[&str]) -> Option<FieldShape> {
    let mut shape = ModelDeployment::SHAPE;
    let mut declaration = None;
    for key in keys {
        while let Shape::List(item) = shape {
            shape = *item;
        }
        let Shape::Object(object) = shape else { return None };
        let field = object.field(key)?;
        (shape, declaration) = (field.full_shape(), Some(*field));
    }
    declaration
}

/// Sets a value where the object has none. Of the objects on the way only `serving` and `scaling` are created: an
/// absent role, or absent GPUs, are meaningful.
fn set_if_absent(object: &mut Value, path: &[Segment], default: Value) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut parent = object;
    for (depth, segment) in parents.iter().enumerate() {
        let child = match segment {
            Segment::Index(index) => parent.get_mut(*index),
            Segment::Key(key) if depth == 1 && path.len() == 3 && matches!(key.as_ref(), "serving" | "scaling") => {
                parent.as_object_mut().map(|fields| fields.entry(key.as_ref()).or_insert(Value::Null))
            }
            Segment::Key(key) => parent.get_mut(key.as_ref()),
        };
        let Some(child) = child else { return };
        if child.is_null() {
            *child = Value::Object(Map::new());
        }
        parent = child;
    }
    if let (Segment::Key(key), Some(fields)) = (last, parent.as_object_mut()) {
        let field = fields.entry(key.as_ref()).or_insert(Value::Null);
        if field.is_null() {
            *field = default;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaulted_leaves(spec: &str) -> Vec<(String, String)> {
        let (_, deployment) = crate::validate::tests::deployment_of(spec);
        let leaves = deployment.leaves().into_iter().filter(|leaf| leaf.origin == FieldOrigin::Defaulted);
        leaves.map(|leaf| (leaf.path.to_string().replace("[0]", ""), leaf.value)).collect()
    }

    /// Collects the declared defaults as pairs such as `spec.serving.mode` and `"aggregated"`.
    fn collect_declared_defaults(shape: &Shape, path: &str, all: &mut Vec<(String, String)>) {
        match shape {
            Shape::Object(object) => {
                for field in object.fields {
                    let path = if path.is_empty() { field.key.to_owned() } else { format!("{path}.{}", field.key) };
                    if let Some(default) = field.facets.default {
                        all.push((path.clone(), default.to_owned()));
                    }
                    collect_declared_defaults(&field.full_shape(), &path, all);
                }
            }
            Shape::List(item) => collect_declared_defaults(item, path, all),
            _ => {}
        }
    }

    #[test]
    fn validation_applies_every_declared_default() {
        let mut applied = defaulted_leaves(
            "model: {id: a/b, storage: {volumes: [{name: v, claimName: c, mountPath: /v}]}}\nengine: {type: vllm}\n\
             resources: {gpu: {count: 1}}",
        );
        applied.extend(defaulted_leaves(
            "model: {id: a/b}\nengine: {type: vllm}\nserving: {mode: disaggregated}\n\
             scaling: {prefill: {gpu: {count: 1}, memory: 1Gi}, decode: {gpu: {count: 1}, memory: 1Gi}}",
        ));
        let mut declared = Vec::new();
        collect_declared_defaults(&ModelDeployment::SHAPE, "", &mut declared);
        assert!(declared.len() >= 8, "{declared:?}");
        for default in declared {
            assert!(applied.contains(&default), "{default:?} is declared, and validation applies {applied:?}");
        }
    }
}
