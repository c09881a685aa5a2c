//! Finalizers of deployments and of claimed objects.
//!
//! Corresponds to `kube::runtime::finalizer`, which calls one of two closures; the controllers here have more states
//! ([`super::provider`]). Like kube's, a finalizer is changed by a JSON patch that tests what it changes: server-side apply
//! would create an object that has been deleted.

use serde_json::{Value, json};

use crate::cached_object::CachedObject;

/// Whether an object has this finalizer.
pub(crate) fn has(object: &CachedObject, finalizer: &str) -> bool {
    object.metadata.finalizers.as_ref().is_some_and(|all| all.iter().any(|one| one == finalizer))
}

/// Creates the JSON patch that adds or removes a finalizer. The patch fails if the list of finalizers has changed in
/// the meantime.
pub(crate) fn patch(object: &CachedObject, finalizer: &str, add: bool) -> Value {
    let before = object.metadata.finalizers.clone();
    let mut after = before.clone().unwrap_or_default();
    after.retain(|one| one != finalizer);
    if add {
        after.push(finalizer.to_owned());
    }
    json!([
        {"op": "test", "path": "/metadata/uid", "value": object.uid()},
        // A test against null also passes where the field is absent.
        {"op": "test", "path": "/metadata/finalizers", "value": before},
        {"op": if before.is_some() { "replace" } else { "add" }, "path": "/metadata/finalizers", "value": after},
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINALIZER: &str = "kubefoundry.ai/kaito-provider";

    fn patch_finalizers(finalizers: Value, add: bool) -> Value {
        let mut deployment = json!({"metadata": {"name": "phi", "uid": "u"}});
        deployment["metadata"]["finalizers"] = finalizers;
        let patch = patch(&CachedObject::new(deployment).unwrap(), FINALIZER, add);
        assert_eq!(patch[0], json!({"op": "test", "path": "/metadata/uid", "value": "u"}));
        json!([patch[1]["value"], patch[2]["op"], patch[2]["value"]])
    }

    #[test]
    fn keeps_finalizers_of_other_controllers() {
        assert_eq!(patch_finalizers(Value::Null, true), json!([null, "add", [FINALIZER]]));
        assert_eq!(patch_finalizers(json!(["a/b"]), true), json!([["a/b"], "replace", ["a/b", FINALIZER]]));
        assert_eq!(patch_finalizers(json!(["a/b", FINALIZER]), false), json!([["a/b", FINALIZER], "replace", ["a/b"]]));
        assert_eq!(patch_finalizers(json!([FINALIZER]), false), json!([[FINALIZER], "replace", []]));
    }
}
