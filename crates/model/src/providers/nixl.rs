//! How vLLM workers that only read prompts, or only write answers, hand over KV caches.

use serde_json::{Value, json};

use crate::ir::Role;

/// vLLM's `kv-transfer-config` of a role; none when one worker does both. `kv_both` would do for either role, is
/// deprecated in vLLM 0.33, and only needed by pools that swap roles (docs/design/0012).
pub(super) fn transfer_config(role: Role) -> Option<Value> {
    let role = match role {
        Role::Aggregated => return None,
        Role::Prefill => "kv_producer",
        Role::Decode => "kv_consumer",
    };
    Some(json!({ "kv_connector": "NixlConnector", "kv_role": role }))
}
