//! The transfer of KV caches between vLLM's prefill and decode workers.

use serde_json::{Value, json};

use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::Role;
use kubefoundry_diagnostics::Findings;
use kubefoundry_engines::{ArgumentValue, ImportedFlag, Invocation};

/// Returns vLLM's `kv-transfer-config` for a role, or `None` for an aggregated worker. `kv_both` would work for both
/// roles, but vLLM 0.33 deprecates it and only pools that swap roles need it (docs/design/0012).
pub fn transfer_config(role: Role) -> Option<Value> {
    let role = match role {
        Role::Aggregated => return None,
        Role::Prefill => "kv_producer",
        Role::Decode => "kv_consumer",
    };
    Some(json!({ "kv_connector": "NixlConnector", "kv_role": role }))
}

/// Adds the role to a `kv-transfer-config` of the user that names a connector but no role: both workers share the
/// user's flags, and vLLM requires the role (vllm/config/kv_transfer.py). An aggregated worker has no role of its own,
/// so there a missing one is reported. Returns whether the setting can be used.
pub fn complete_transfer_config(invocation: &mut Invocation, role: Role, findings: &mut Findings<'_>) -> bool {
    let Some(argument) = invocation.arguments.iter_mut().find(|argument| argument.name == "kv-transfer-config") else {
        return true;
    };
    let ArgumentValue::Json(Value::Object(settings)) = &mut argument.value else { return true };
    if settings.contains_key("kv_role") || !settings.contains_key("kv_connector") {
        return true;
    }
    if let Some(role) = transfer_config(role).as_ref().and_then(|config| config.get("kv_role")) {
        settings.insert("kv_role".to_owned(), role.clone());
        return true;
    }
    findings
        .report(
            &codes::INVALID_ARGUMENT_VALUE,
            &argument.path,
            "--kv-transfer-config names a kv_connector but no kv_role, without which vLLM does not start",
        )
        .help("add \"kv_role\": \"kv_both\" to the object");
    false
}

/// Removes the role from an imported `kv-transfer-config` that rendering would [complete](complete_transfer_config) with
/// it, so that prefill and decode have equal flags. The default setting stays whole.
pub fn remove_role(flags: &mut [ImportedFlag], role: Role) {
    let Some(default) = transfer_config(role) else { return };
    let Some(flag) = flags.iter_mut().find(|flag| flag.name == "kv-transfer-config") else { return };
    let Some(Value::Object(mut settings)) = flag.value().and_then(|text| serde_json::from_str(text).ok()) else {
        return;
    };
    if settings.get("kv_role") == default.get("kv_role") && Value::Object(settings.clone()) != default {
        settings.shift_remove("kv_role");
        flag.values = vec![Value::Object(settings).to_string()];
    }
}
