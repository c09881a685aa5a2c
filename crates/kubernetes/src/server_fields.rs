//! Fields that an API server, a controller or a client writes into an object, and not its author.

use serde_json::Value;

/// Metadata that an API server or a controller sets.
const SERVER_METADATA: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The annotation in which `kubectl apply` stores a copy of the object.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Removes the status, the metadata that servers and controllers set, and the copy that `kubectl apply` stores.
///
/// ```
/// use kubefoundry_kubernetes::server_fields;
/// use serde_json::json;
/// let mut live = json!({
///     "metadata": {"name": "m", "uid": "1", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}},
///     "spec": {}, "status": {"phase": "Running"},
/// });
/// server_fields::remove(&mut live);
/// assert_eq!(live, json!({"metadata": {"name": "m"}, "spec": {}}));
/// ```
pub fn remove(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    fields.shift_remove("status");
    let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.retain(|name, _| !SERVER_METADATA.contains(&name.as_str()));
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else { return };
    if annotations.shift_remove(LAST_APPLIED).is_some() && annotations.is_empty() {
        metadata.shift_remove("annotations");
    }
}
