//! `/mutate`: writes the documented defaults into a specification, so that the stored object shows them.

use kubefoundry_compiler::session::Session;
use serde_json::{Value, json};

use super::review::{AdmissionRequest, AdmissionResponse};

/// Returns a patch with the defaults of a ModelDeployment. An update that does not change the specification gets none:
/// otherwise a change of labels could change the running model after an upgrade of the operator.
pub(super) fn review(request: &AdmissionRequest, session: &Session) -> AdmissionResponse {
    let Some(object) = request.new_object() else { return AdmissionResponse::allow() };
    if request.is_terminating() || !request.changes_spec() {
        return AdmissionResponse::allow();
    }
    let mut with_defaults = object.clone();
    if let Some(metadata) = with_defaults.get_mut("metadata").and_then(Value::as_object_mut) {
        // With `generateName` the apiserver sets the name later. Evaluation needs one, but no default depends on it.
        metadata.entry("name").or_insert_with(|| "unnamed".into());
    }
    with_defaults = session.default_values(&with_defaults);
    if let (Some(metadata), Some(original)) = (with_defaults.get_mut("metadata"), object.get("metadata")) {
        metadata.clone_from(original);
    }
    let patch = json_patch::diff(object, &with_defaults);
    if patch.is_empty() { AdmissionResponse::allow() } else { AdmissionResponse::patch(json!(patch)) }
}
