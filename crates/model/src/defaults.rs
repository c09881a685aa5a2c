//! The defaults that the specification states as values (docs/specification.md MD-1.17), written into an object.
//!
//! What follows from other fields (`model.servedName`, a mount path) stays out: written down it would stay when those change. So
//! does the resource of the GPUs, which not every provider takes.

use serde_json::{Map, Value};

use super::ir::{Deployment, Origin};
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// Writes them where the object says nothing. `deployment` is the object as it was read.
pub fn write(deployment: &Deployment, object: &mut Value) {
    for leaf in deployment.leaves() {
        if leaf.origin == Origin::Defaulted
            && is_value(&leaf.path)
            && let Ok(value) = serde_json::from_str(&leaf.value)
        {
            fill(object, leaf.path.segments(), value);
        }
    }
}

/// Whether the default of a field is one value, the same for every deployment.
fn is_value(path: &FieldPath) -> bool {
    let key = |segment: &'_ Segment| match segment {
        Segment::Key(key) => Some(key.to_string()),
        Segment::Index(_) => None,
    };
    let keys: Vec<String> = path.segments().iter().filter_map(key).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    matches!(
        keys.as_slice(),
        ["spec", "model", "source"]
            | ["spec", "model", "storage", "volumes", "purpose" | "readOnly" | "accessMode"]
            | ["spec", "engine", "trustRemoteCode" | "enforceEager"]
            | ["spec", "serving", "mode"]
            | ["spec", "scaling", "replicas"]
            | ["spec", "scaling", "prefill" | "decode", "replicas"]
    )
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
