//! Settings that prefill and decode must share: the form of the KV cache, which one role hands to the other, and the
//! connector that carries it.

use serde_json::Value;

use crate::invocation::{ArgumentValue, Invocation};
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{EngineType, Role};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_yaml::field_path::FieldPath;

/// A setting that both roles must have with the same value.
enum SharedSetting {
    /// A flag.
    Flag(&'static str),
    /// A key of the JSON value of a flag.
    JsonKey(&'static str, &'static str),
    /// A nested configuration key.
    ConfigKey(&'static [&'static str]),
}
use SharedSetting::{ConfigKey, Flag, JsonKey};

/// The flag of Dynamo's wrapper for configuration keys of TensorRT-LLM.
const OVERRIDE_FLAG: &str = "override-engine-args";

/// The settings by engine. vLLM: `compute_nixl_compatibility_hash` of
/// `vllm/distributed/kv_transfer/kv_connector/v1/nixl_connector.py` has the block size and the cache's type, and a
/// connector talks only to its own kind. SGLang: `register_to_bootstrap` of `sglang/srt/disaggregation/common/conn.py`
/// compares the page size and the cache's type. TensorRT-LLM: `CacheState` of `cpp/include/tensorrt_llm/executor` is
/// compared by `CacheFormatter::inquireSupport`.
const fn shared_settings(engine: EngineType) -> &'static [SharedSetting] {
    match engine {
        EngineType::Vllm => {
            &[Flag("block-size"), Flag("kv-cache-dtype"), JsonKey("kv-transfer-config", "kv_connector")]
        }
        EngineType::Sglang => &[Flag("page-size"), Flag("kv-cache-dtype"), Flag("disaggregation-transfer-backend")],
        EngineType::Trtllm => &[
            ConfigKey(&["kv_cache_config", "tokens_per_block"]),
            ConfigKey(&["kv_cache_config", "dtype"]),
            ConfigKey(&["cache_transceiver_config", "backend"]),
        ],
        EngineType::Llamacpp => &[],
    }
}

/// Reports settings that the engine requires to be equal in prefill and decode, and that differ. `undecided` are flags
/// that are left to the engine in one role on purpose.
pub fn check_shared_settings(
    engine: EngineType,
    prefill: &Invocation,
    decode: &Invocation,
    undecided: &[&str],
    findings: &mut Findings<'_>,
) {
    for setting in shared_settings(engine).iter().filter(|setting| !undecided.contains(&setting.flag())) {
        let (name, first) = setting.read(prefill, Role::Prefill);
        let (_, second) = setting.read(decode, Role::Decode);
        if first.value == second.value {
            continue;
        }
        // The role that departs from the other is the one with a field of its own.
        let (here, there) = if second.is_of_role(Role::Decode) { (second, first) } else { (first, second) };
        let Some(path) = &here.path else { continue };
        let message = format!(
            "{name} is {} in {} and {} in {}, but both must have the same, because one hands its KV cache to the other",
            here.describe(),
            here.role.as_str(),
            there.describe(),
            there.role.as_str()
        );
        let reported = findings.report(&codes::ROLES_DIFFER, FieldRef::value(path), message);
        let reported = match &there.path {
            Some(path) => reported.related(path, "the other value"),
            None => reported,
        };
        reported.help("set it in spec.engine.args, which both roles have");
    }
}

/// A setting of one role.
struct RoleSetting {
    role: Role,
    /// `None` leaves it to the engine.
    value: Option<Value>,
    path: Option<FieldPath>,
}

impl RoleSetting {
    fn describe(&self) -> String {
        self.value.as_ref().map_or_else(|| "not set".to_owned(), ToString::to_string)
    }

    /// Returns whether a field of a role sets the value, or removes the common one.
    fn is_of_role(&self, role: Role) -> bool {
        let scaling = ModelDeployment::path().spec().scaling();
        let base: FieldPath = match role {
            Role::Aggregated => return false,
            Role::Prefill => scaling.prefill().into(),
            Role::Decode => scaling.decode().into(),
        };
        self.path.as_ref().is_some_and(|path| path.starts_with(&base))
    }
}

impl SharedSetting {
    /// Returns the flag that has the setting.
    const fn flag(&self) -> &'static str {
        match self {
            Flag(name) | JsonKey(name, _) => name,
            ConfigKey(_) => OVERRIDE_FLAG,
        }
    }

    fn read(&self, invocation: &Invocation, role: Role) -> (String, RoleSetting) {
        let argument = |name: &str| invocation.get(name);
        let (name, value, path) = match self {
            Flag(name) => {
                let argument = argument(name);
                let value = argument.map(|argument| plain_value(&argument.value));
                (format!("--{name}"), value, argument.map(|argument| &argument.path))
            }
            JsonKey(name, key) => {
                let argument = argument(name);
                let value = argument.and_then(|argument| plain_value(&argument.value).get(*key).cloned());
                (format!("{key} of --{name}"), value, argument.map(|argument| &argument.path))
            }
            ConfigKey(keys) => {
                // A provider may have moved the keys to a flag.
                let flag = argument(OVERRIDE_FLAG).map(|argument| plain_value(&argument.value));
                let config = flag.unwrap_or_else(|| Value::Object(invocation.engine_config.clone()));
                let value = keys.iter().try_fold(&config, |value, key| value.get(*key));
                (keys.join("."), value.cloned(), invocation.key_path(keys))
            }
        };
        let path = path.filter(|path| !path.segments().is_empty()).cloned();
        (name, RoleSetting { role, value, path })
    }
}

/// Returns a value as JSON, in which a number is the same however it is written.
fn plain_value(value: &ArgumentValue) -> Value {
    match value {
        ArgumentValue::On => Value::Bool(true),
        ArgumentValue::Off(_) => Value::Bool(false),
        ArgumentValue::Number(number) => Value::Number(number.clone()),
        ArgumentValue::Text(text) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())),
        ArgumentValue::List(texts) => Value::from(texts.clone()),
        ArgumentValue::Json(json) => json.clone(),
    }
}
