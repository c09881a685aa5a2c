//! Configuration keys of TensorRT-LLM. A name that is not a flag of the wrapper is a key of the LLM API's
//! configuration, at its place in the nesting.

use serde_json::Value;

use super::flag_value::json_or_text;
use super::unknown_flags;
use super::user_flags::{UserFlag, UserFlagValue};
use crate::invocation::Invocation;
use crate::launcher::{ConfigKeys, Launcher};
use crate::profile::EngineProfile;
use kubefoundry_deployment::codes;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_yaml::text::shorten;

/// Adds a configuration key. A value that parses as JSON is JSON; any other is a string.
pub(crate) fn add_config_key(
    user_flag: &UserFlag<'_>,
    config_keys: &ConfigKeys,
    profile: &'static EngineProfile,
    launcher: &Launcher,
    invocation: &mut Invocation,
    findings: &mut Findings<'_>,
) {
    if !user_flag.from_mapping {
        findings
            .report(
                &codes::INVALID_EXTRA_ARGUMENT,
                &user_flag.path,
                format!("{} has no flag --{}", launcher.program, shorten(user_flag.name)),
            )
            .help(config_keys.help);
        return;
    }
    let key = user_flag.name.replace('-', "_");
    let Some((known, _)) = config_keys.table.lookup(&key) else {
        unknown_flags::report_unknown_key(user_flag, &key, config_keys, profile, launcher, findings);
        insert_leaves(user_flag, &[key.as_str()], json_value(user_flag), invocation, findings);
        return;
    };
    if let UserFlagValue::Single(text) = user_flag.value
        && let Err(problem) = known.check_value(text)
    {
        findings.report(
            &codes::INVALID_ARGUMENT_VALUE,
            &user_flag.path,
            format!("{key} is {:?}, {problem}", shorten(text)),
        );
        return;
    }
    let dotted_key = known.key();
    let keys: Vec<&str> = dotted_key.split('.').collect();
    insert_leaves(user_flag, &keys, json_value(user_flag), invocation, findings);
}

fn json_value(user_flag: &UserFlag<'_>) -> Value {
    match user_flag.value {
        UserFlagValue::Single(text) => json_or_text(text),
        UserFlagValue::Absent | UserFlagValue::Several(_) => Value::Bool(true),
    }
}

/// Inserts a value leaf by leaf, so that two keys that set the same leaf are reported: `kv_cache_config` with a JSON
/// object may meet `kv_cache_config.dtype`.
fn insert_leaves(
    user_flag: &UserFlag<'_>,
    keys: &[&str],
    value: Value,
    invocation: &mut Invocation,
    findings: &mut Findings<'_>,
) {
    if let Value::Object(fields) = &value
        && !fields.is_empty()
    {
        for (field, inner) in fields {
            let mut keys = keys.to_vec();
            keys.push(field);
            insert_leaves(user_flag, &keys, inner.clone(), invocation, findings);
        }
        return;
    }
    if let Some(first) = invocation.key_path(keys).cloned() {
        findings
            .report(
                &codes::DUPLICATE_FLAG,
                FieldRef::key(&user_flag.path),
                format!("{} is set twice: here and by {first}", keys.join(".")),
            )
            .related(&first, "first set here")
            .help("remove one of the two");
    } else {
        invocation.set_key(keys, value, user_flag.path.clone());
    }
}
