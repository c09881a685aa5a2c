//! TensorRT-LLM's configuration keys, as the one `--override-engine-args` that Dynamo's wrapper takes.

use serde_json::{Map, Number, Value, json};

use crate::codes;
use crate::engines::{Argument, ArgumentValue, Invocation};
use crate::ir::Role;
use kubefoundry_diagnostics::Findings;
use kubefoundry_yaml::field_path::FieldPath;

const OVERRIDE: &str = "override-engine-args";
const MEMORY_FRACTION: &str = "free-gpu-memory-fraction";

/// Merges configuration keys, a role's defaults and what the user gave as `--override-engine-args` into one argument.
/// What the user said on a key wins. `None` means that a finding says what is wrong with the user's.
pub(super) fn write_engine_config(invocation: &mut Invocation, role: Role, findings: &mut Findings<'_>) -> Option<()> {
    let mut config = std::mem::take(&mut invocation.engine_config);
    let mut path = FieldPath::root();
    if let Some(given) = invocation.get(OVERRIDE).cloned() {
        overlay(&mut config, parse(&given, findings)?);
        path = given.path;
    }
    fill(&mut config, role_defaults(role));
    repeat_memory_fraction(&mut config, invocation);
    invocation.arguments.retain(|argument| argument.name != OVERRIDE);
    if !config.is_empty() {
        let value = ArgumentValue::Json(Value::Object(config));
        invocation.arguments.push(Argument { name: OVERRIDE.to_owned(), value, path });
    }
    Some(())
}

/// What the roles of disaggregated serving need: a way for KV blocks to travel, and no overlap where the next step of a
/// request runs elsewhere (upstream `examples/backends/trtllm/engine_configs/qwen3`).
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

/// The wrapper replaces its whole `kv_cache_config`, memory fraction included, by the one it is given.
fn repeat_memory_fraction(config: &mut Map<String, Value>, invocation: &Invocation) {
    let Some(Value::Object(cache)) = config.get_mut("kv_cache_config") else {
        return;
    };
    let fraction = invocation.get(MEMORY_FRACTION).and_then(|argument| match &argument.value {
        ArgumentValue::Number(number) => Some(number.clone()),
        ArgumentValue::Text(text) => text.parse().ok().and_then(Number::from_f64),
        ArgumentValue::On | ArgumentValue::Off(_) | ArgumentValue::List(_) | ArgumentValue::Json(_) => None,
    });
    if let Some(fraction) = fraction {
        cache.entry("free_gpu_memory_fraction").or_insert(Value::Number(fraction));
    }
}

fn parse(given: &Argument, findings: &mut Findings<'_>) -> Option<Map<String, Value>> {
    let value = match &given.value {
        ArgumentValue::Json(value) => Some(value.clone()),
        ArgumentValue::Text(text) => serde_json::from_str(text).ok(),
        ArgumentValue::On | ArgumentValue::Off(_) | ArgumentValue::List(_) | ArgumentValue::Number(_) => None,
    };
    if let Some(Value::Object(keys)) = value {
        return Some(keys);
    }
    let message = format!("{} is not a JSON object, which --{OVERRIDE} needs", given.path);
    findings
        .report(&codes::INVALID_ARGUMENT_VALUE, &given.path, message)
        .help("write each configuration key as its own entry of engine.args");
    None
}

/// Puts `over`'s keys over `config`'s, mapping by mapping.
fn overlay(config: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (config.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => overlay(below, above),
            (_, value) => {
                config.insert(key, value);
            }
        }
    }
}

/// Adds `defaults`' keys where `config` has none, mapping by mapping.
fn fill(config: &mut Map<String, Value>, defaults: Map<String, Value>) {
    for (key, default) in defaults {
        match (config.get_mut(&key), default) {
            (Some(Value::Object(existing)), Value::Object(default)) => fill(existing, default),
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
    fn what_is_given_wins_over_defaults_key_by_key() {
        let mut config = object(json!({"cache_transceiver_config": {"max_tokens_in_buffer": 8}, "a": null}));
        fill(&mut config, object(json!({"cache_transceiver_config": {"backend": "DEFAULT"}, "a": {}, "b": 1})));
        let expected = json!({
            "cache_transceiver_config": {"max_tokens_in_buffer": 8, "backend": "DEFAULT"}, "a": null, "b": 1
        });
        assert_eq!(Value::Object(config), expected);
    }

    #[test]
    fn a_given_override_lies_over_the_keys() {
        let mut config = object(json!({"kv_cache_config": {"enable_block_reuse": false, "dtype": "fp8"}}));
        overlay(&mut config, object(json!({"kv_cache_config": {"enable_block_reuse": true}, "seed": 1})));
        let expected = json!({"kv_cache_config": {"enable_block_reuse": true, "dtype": "fp8"}, "seed": 1});
        assert_eq!(Value::Object(config), expected);
    }
}
