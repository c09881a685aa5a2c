//! TensorRT-LLM's configuration keys, which Dynamo's wrapper takes in the flag `--override-engine-args`.

use serde_json::{Map, Number, Value, json};

use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::Role;
use kubefoundry_diagnostics::Findings;
use kubefoundry_engines::{Argument, ArgumentValue, Invocation};
use kubefoundry_yaml::field_path::FieldPath;

const OVERRIDE_FLAG: &str = "override-engine-args";
const MEMORY_FRACTION_FLAG: &str = "free-gpu-memory-fraction";

/// Merges the configuration keys, the defaults of the role and the user's `--override-engine-args` into one argument.
/// Keys of the user win. Returns `None` after reporting an invalid `--override-engine-args`.
pub(super) fn write_engine_config(invocation: &mut Invocation, role: Role, findings: &mut Findings<'_>) -> Option<()> {
    let mut config = std::mem::take(&mut invocation.engine_config);
    let mut path = FieldPath::root();
    if let Some(user_override) = invocation.get(OVERRIDE_FLAG).cloned() {
        overlay(&mut config, parse_override(&user_override, findings)?);
        path = user_override.path;
    }
    add_missing(&mut config, role_defaults(role));
    repeat_memory_fraction(&mut config, invocation);
    invocation.arguments.retain(|argument| argument.name != OVERRIDE_FLAG);
    if !config.is_empty() {
        let value = ArgumentValue::Json(Value::Object(config));
        invocation.arguments.push(Argument { name: OVERRIDE_FLAG.to_owned(), value, path });
    }
    Some(())
}

/// Returns the keys that a role of disaggregated serving needs: a transfer of KV blocks, and for prefill no overlap
/// scheduler, because the next step of a request runs on another worker (upstream
/// `examples/backends/trtllm/engine_configs/qwen3`).
fn role_defaults(role: Role) -> Map<String, Value> {
    let mut defaults = Map::new();
    if role != Role::Aggregated {
        defaults.insert("cache_transceiver_config".to_owned(), json!({"backend": "DEFAULT"}));
    }
    if role == Role::Prefill {
        defaults.insert("disable_overlap_scheduler".to_owned(), Value::Bool(true));
    }
    defaults
}

/// Copies `--free-gpu-memory-fraction` into a `kv_cache_config`, which replaces the wrapper's own one, fraction
/// included.
fn repeat_memory_fraction(config: &mut Map<String, Value>, invocation: &Invocation) {
    let Some(Value::Object(cache)) = config.get_mut("kv_cache_config") else {
        return;
    };
    let fraction = invocation.get(MEMORY_FRACTION_FLAG).and_then(|argument| match &argument.value {
        ArgumentValue::Number(number) => Some(number.clone()),
        ArgumentValue::Text(text) => text.parse().ok().and_then(Number::from_f64),
        ArgumentValue::On | ArgumentValue::Off(_) | ArgumentValue::List(_) | ArgumentValue::Json(_) => None,
    });
    if let Some(fraction) = fraction {
        cache.entry("free_gpu_memory_fraction").or_insert(Value::Number(fraction));
    }
}

/// Parses the user's `--override-engine-args` as a JSON object.
fn parse_override(argument: &Argument, findings: &mut Findings<'_>) -> Option<Map<String, Value>> {
    let value = match &argument.value {
        ArgumentValue::Json(value) => Some(value.clone()),
        ArgumentValue::Text(text) => serde_json::from_str(text).ok(),
        ArgumentValue::On | ArgumentValue::Off(_) | ArgumentValue::List(_) | ArgumentValue::Number(_) => None,
    };
    if let Some(Value::Object(keys)) = value {
        return Some(keys);
    }
    let message = format!("{} is not a JSON object, which --{OVERRIDE_FLAG} needs", argument.path);
    findings
        .report(&codes::INVALID_ARGUMENT_VALUE, &argument.path, message)
        .help("write each configuration key as its own entry of spec.engine.args");
    None
}

/// Merges `over` into `config`, mapping by mapping. Keys of `over` win.
fn overlay(config: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (config.get_mut(&key), value) {
            (Some(Value::Object(existing)), Value::Object(new)) => overlay(existing, new),
            (_, value) => {
                config.insert(key, value);
            }
        }
    }
}

/// Adds the keys of `defaults` that `config` lacks, mapping by mapping.
fn add_missing(config: &mut Map<String, Value>, defaults: Map<String, Value>) {
    for (key, default) in defaults {
        match (config.get_mut(&key), default) {
            (Some(Value::Object(existing)), Value::Object(default)) => add_missing(existing, default),
            (Some(_), _) => {}
            (None, default) => {
                config.insert(key, default);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("not an object: {other}"),
        }
    }

    #[test]
    fn keeps_given_keys_and_adds_missing_defaults() {
        let mut config = object(json!({"cache_transceiver_config": {"max_tokens_in_buffer": 8}, "a": null}));
        add_missing(&mut config, object(json!({"cache_transceiver_config": {"backend": "DEFAULT"}, "a": {}, "b": 1})));
        let expected = json!({
            "cache_transceiver_config": {"max_tokens_in_buffer": 8, "backend": "DEFAULT"}, "a": null, "b": 1
        });
        assert_eq!(Value::Object(config), expected);
    }

    #[test]
    fn an_override_wins_over_configuration_keys() {
        let mut config = object(json!({"kv_cache_config": {"enable_block_reuse": false, "dtype": "fp8"}}));
        overlay(&mut config, object(json!({"kv_cache_config": {"enable_block_reuse": true}, "seed": 1})));
        let expected = json!({"kv_cache_config": {"enable_block_reuse": true, "dtype": "fp8"}, "seed": 1});
        assert_eq!(Value::Object(config), expected);
    }
}
