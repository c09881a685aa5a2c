//! `/mutate`: writes the documented defaults into a specification, so that everybody sees what holds.

use kubefoundry_compiler::session::Session;
use serde_json::{Value, json};

use super::review::{Request, Verdict};

/// Answers about a ModelDeployment. One that is stored gets nothing new unless its specification is written anyway:
/// else a change of its labels would change what runs.
pub(super) fn review(request: &Request, session: &Session) -> Verdict {
    let Some(written) = request.written() else { return Verdict::allow() };
    if request.is_going() || !request.changes_spec() {
        return Verdict::allow();
    }
    let mut with_defaults = written.clone();
    if let Some(metadata) = with_defaults.get_mut("metadata").and_then(Value::as_object_mut) {
        // The apiserver may make the name later; no default depends on it.
        metadata.entry("name").or_insert_with(|| "unnamed".into());
    }
    with_defaults = session.default_values(&with_defaults);
    if let Some(metadata) = with_defaults.get_mut("metadata") {
        *metadata = written.get("metadata").cloned().unwrap_or_default();
    }
    let patch = json_patch::diff(written, &with_defaults);
    if patch.is_empty() { Verdict::allow() } else { Verdict::change(json!(patch)) }
}
