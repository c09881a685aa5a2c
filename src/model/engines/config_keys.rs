//! TensorRT-LLM: what is no flag of the wrapper is a key of the LLM API's configuration, nested where it belongs.

use serde_json::{Map, Value};

use super::invocation::Invocation;
use super::typed::insert_nested;
use super::user::{Given, GivenValue};
use super::value::json_or_text;
use super::vocabulary::Vocabulary;
use crate::diagnostic::{Findings, Place, codes};
use crate::wire::shorten;

/// Adds a configuration key. Its value is JSON when it is, text when it is not.
pub(super) fn add(given: &Given<'_>, vocabulary: &Vocabulary<'_>, invocation: &mut Invocation, findings: &mut Findings<'_>) {
    if !given.from_mapping {
        findings
            .report(
                &codes::INVALID_EXTRA_ARGUMENT,
                &given.path,
                format!("{} has no flag --{}", vocabulary.program, shorten(given.name)),
            )
            .help("extraArgs takes flags of the Dynamo wrapper; configuration keys go to engine.args");
        return;
    }
    let key = given.name.replace('-', "_");
    let Some(keys) = locate(&key, vocabulary) else {
        let reported = findings.report(
            &codes::UNKNOWN_ARGUMENT,
            Place::key(&given.path),
            format!("{key} is not a known configuration key of TensorRT-LLM; it is passed on, and an engine that does not know it will not start"),
        );
        if let Some(suggestion) = vocabulary.suggest(&key.replace('_', "-")) {
            reported.help(format!("did you mean {suggestion:?}?"));
        }
        insert(given, &[key.as_str()], value_of(given), invocation, findings);
        return;
    };
    let value = value_of(given);
    if matches!(&value, Value::String(text) if text.starts_with(['{', '['])) {
        findings
            .report(&codes::INVALID_ARGUMENT_VALUE, &given.path, format!("{key} is not valid JSON"))
            .help("write the value as one JSON object or list");
        return;
    }
    let keys: Vec<&str> = keys.split('.').collect();
    insert(given, &keys, value, invocation, findings);
}

fn value_of(given: &Given<'_>) -> Value {
    match given.value {
        GivenValue::One(text) => json_or_text(text),
        GivenValue::Nothing | GivenValue::Many(_) => Value::Bool(true),
    }
}

/// The full name of a key: itself at the top level, or the one nested key that ends in it.
fn locate(key: &str, vocabulary: &Vocabulary<'_>) -> Option<String> {
    let keys = vocabulary.keys.as_ref()?;
    let mut nested = None;
    for name in keys.names() {
        if name == key {
            return Some(name.to_owned());
        }
        if name.rsplit_once('.').is_some_and(|(_, last)| last == key) && nested.is_none() {
            nested = Some(name.to_owned());
        }
    }
    nested
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
    if is_set(&invocation.engine_config, keys) {
        findings
            .report(
                &codes::DUPLICATE_FLAG,
                Place::key(&given.path),
                format!("{} is given twice: here and by another field", keys.join(".")),
            )
            .help("remove one of the two");
    } else {
        insert_nested(&mut invocation.engine_config, keys, value);
    }
}

fn is_set(config: &Map<String, Value>, keys: &[&str]) -> bool {
    match keys {
        [] => true,
        [last] => config.contains_key(*last),
        [first, rest @ ..] => match config.get(*first) {
            Some(Value::Object(inner)) => is_set(inner, rest),
            Some(_) => true,
            None => false,
        },
    }
}
