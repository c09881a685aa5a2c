//! `/mutate`: writes the documented defaults into a specification, so that everybody sees what holds.

use kubefoundry::engine::Engine;
use serde_json::json;

use super::review::{Request, Verdict};

/// Answers about a ModelDeployment. One that is stored gets nothing new unless its specification is written anyway: else a
/// change of its labels would change what runs.
pub(super) fn review(request: &Request, engine: &Engine) -> Verdict {
    let Some(written) = request.written() else { return Verdict::allow() };
    if request.is_going() || !request.changes_spec() {
        return Verdict::allow();
    }
    let with_defaults = defaults(engine, written);
    let patch = json_patch::diff(written, &with_defaults);
    if patch.is_empty() { Verdict::allow() } else { Verdict::change(json!(patch)) }
}

/// Until the engine writes defaults: the object as it is.
fn defaults(_engine: &Engine, written: &serde_json::Value) -> serde_json::Value {
    written.clone()
}
