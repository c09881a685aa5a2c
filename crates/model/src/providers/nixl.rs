//! The transfer of KV caches between vLLM's prefill and decode workers.

use serde_json::{Value, json};

use crate::ir::Role;

/// Returns vLLM's `kv-transfer-config` for a role, or `None` for an aggregated worker. `kv_both` would work for both
/// roles, but vLLM 0.33 deprecates it and only pools that swap roles need it (docs/design/0012).
pub(super) fn transfer_config(role: Role) -> Option<Value> {
    let role = match role {
        Role::Aggregated => return None,
        Role::Prefill => "kv_producer",
        Role::Decode => "kv_consumer",
    };
    Some(json!({ "kv_connector": "NixlConnector", "kv_role": role }))
}
