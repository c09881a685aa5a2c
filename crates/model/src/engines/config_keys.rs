//! TensorRT-LLM: what is no flag of the wrapper is a key of the LLM API's configuration, nested where it belongs.

use serde_json::Value;

use super::given::{Given, GivenValue};
use super::invocation::Invocation;
use super::launcher::{Keys, Launcher};
use super::value::json_or_text;
use crate::codes;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_yaml::text::shorten;

/// Adds a configuration key. Its value is JSON when it is, text when it is not.
pub(super) fn add(
    given: &Given<'_>,
    keys: &Keys,
    launcher: &Launcher,
    invocation: &mut Invocation,
    findings: &mut Findings<'_>,
) {
    if !given.from_mapping {
        findings
            .report(
                &codes::INVALID_EXTRA_ARGUMENT,
                &given.path,
                format!("{} has no flag --{}", launcher.program, shorten(given.name)),
            )
            .help(keys.help);
        return;
    }
    let key = given.name.replace('-', "_");
    let Some((known, _)) = keys.table.lookup(&key) else {
        let reported = findings.report(
            &codes::UNKNOWN_ARGUMENT,
            FieldRef::key(&given.path),
            format!(
                "{key} is not a known configuration key of TensorRT-LLM; it is passed on, and the engine does not \
                     start if it does not know the key"
            ),
        );
        if let Some(suggestion) = keys.table.suggest(&key) {
            reported.help(format!("did you mean {:?}?", suggestion.replace('-', "_")));
        }
        insert(given, &[key.as_str()], value_of(given), invocation, findings);
        return;
    };
    let value = value_of(given);
    if let GivenValue::One(text) = given.value
        && let Err(problem) = known.check_value(text)
    {
        findings.report(
            &codes::INVALID_ARGUMENT_VALUE,
            &given.path,
            format!("{key} is {:?}, {problem}", shorten(text)),
        );
        return;
    }
    let full = known.key();
    let keys: Vec<&str> = full.split('.').collect();
    insert(given, &keys, value, invocation, findings);
}

fn value_of(given: &Given<'_>) -> Value {
    match given.value {
        GivenValue::One(text) => json_or_text(text),
        GivenValue::Nothing | GivenValue::Many(_) => Value::Bool(true),
    }
}

/// Puts a value in, leaf by leaf, so that two keys that set one leaf are found.
fn insert(given: &Given<'_>, keys: &[&str], value: Value, invocation: &mut Invocation, findings: &mut Findings<'_>) {
    if let Value::Object(fields) = &value
        && !fields.is_empty()
    {
        for (field, inner) in fields {
            let mut keys = keys.to_vec();
            keys.push(field);
            insert(given, &keys, inner.clone(), invocation, findings);
        }
        return;
    }
    if let Some(first) = invocation.key_path(keys).cloned() {
        findings
            .report(
                &codes::DUPLICATE_FLAG,
                FieldRef::key(&given.path),
                format!("{} is set twice: here and by {first}", keys.join(".")),
            )
            .related(&first, "first set here")
            .help("remove one of the two");
    } else {
        invocation.set_key(keys, value, given.path.clone());
    }
}
