//! Values of flags: checked against the table, and given the type that the launcher wants.

use serde_json::{Number, Value};

use super::Launcher;
use super::flags::{Flag, Repeat, ValueType};
use super::given::{Given, GivenValue};
use super::invocation::{Argument, ArgumentValue};
use super::vocabulary::Vocabulary;
use crate::diagnostic::{Findings, codes};
use crate::wire::shorten;

/// The value of a valued flag of the table.
pub(super) fn known(
    given: &Given<'_>,
    flag: &Flag,
    vocabulary: &Vocabulary<'_>,
    findings: &mut Findings<'_>,
) -> Option<ArgumentValue> {
    let texts: Vec<&str> = match &given.value {
        GivenValue::Nothing => {
            findings.report(
                &codes::INVALID_ARGUMENT_VALUE,
                &given.path,
                format!("--{} needs a value, found none", flag.name),
            );
            return None;
        }
        GivenValue::One(text) => vec![text],
        GivenValue::Many(texts) => texts.clone(),
    };
    let mut fine = true;
    for text in &texts {
        if let Err(problem) = flag.check_value(text) {
            findings.report(
                &codes::INVALID_ARGUMENT_VALUE,
                &given.path,
                format!("--{} is {:?}, {problem}", flag.name, shorten(text)),
            );
            fine = false;
        }
    }
    if !fine {
        return None;
    }
    match texts.as_slice() {
        [text] => Some(typed(text, flag, vocabulary.launcher)),
        _ => Some(ArgumentValue::List(texts.iter().map(|text| (*text).to_owned()).collect())),
    }
}

/// The value of a flag that no table knows.
pub(super) fn unknown(text: &str, vocabulary: &Vocabulary<'_>) -> ArgumentValue {
    match vocabulary.launcher {
        Launcher::RayServe { .. } => ArgumentValue::Json(json_or_text(text)),
        _ => ArgumentValue::Text(text.to_owned()),
    }
}

fn typed(text: &str, flag: &Flag, launcher: Launcher<'_>) -> ArgumentValue {
    let plain = || ArgumentValue::Text(text.to_owned());
    match launcher {
        // Keyword arguments are Python values, and Ray reads dicts where a command line has JSON text.
        Launcher::RayServe { .. } if flag.repeat == Repeat::List => match json_or_text(text) {
            list @ Value::Array(_) => ArgumentValue::Json(list),
            _ => ArgumentValue::Json(Value::Array(vec![Value::from(text)])),
        },
        Launcher::RayServe { .. } => match flag.value_type {
            ValueType::Integer | ValueType::HumanInteger | ValueType::SiInteger => {
                flag.integer(text).map_or_else(plain, |value| ArgumentValue::Number(value.into()))
            }
            ValueType::Float => float(text).map_or_else(plain, ArgumentValue::Number),
            ValueType::Json | ValueType::JsonObject | ValueType::JsonOrText | ValueType::Boolean => {
                ArgumentValue::Json(json_or_text(text))
            }
            ValueType::Text | ValueType::Path => plain(),
        },
        // KAITO writes `str(value)`: a number must come out as it went in.
        Launcher::KaitoPreset => exact_number(text).map_or_else(plain, ArgumentValue::Number),
        Launcher::DynamoWorker { .. } | Launcher::VllmServer { .. } => match flag.value_type {
            ValueType::Json | ValueType::JsonObject => ArgumentValue::Json(json_or_text(text)),
            ValueType::JsonOrText => match json_or_text(text) {
                object @ Value::Object(_) => ArgumentValue::Json(object),
                _ => plain(),
            },
            _ => plain(),
        },
        Launcher::LlamaServer => plain(),
    }
}

/// JSON when it is, text when it is not.
pub(super) fn json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// A number whose own text is `text`.
fn exact_number(text: &str) -> Option<Number> {
    let number: Number = serde_json::from_str(text).ok()?;
    (number.to_string() == text).then_some(number)
}

fn float(text: &str) -> Option<Number> {
    exact_number(text).or_else(|| text.parse().ok().and_then(Number::from_f64))
}

/// Whether an argument may go to its launcher. Dynamo's operator may re-quote a worker's args into a shell for
/// multi-node, and quotes too little, so text is held to characters that mean nothing there (engine-flags facts §3).
pub(super) fn is_acceptable(argument: &Argument, vocabulary: &Vocabulary<'_>, findings: &mut Findings<'_>) -> bool {
    let Launcher::DynamoWorker { .. } = vocabulary.launcher else { return true };
    let texts: Vec<&str> = match &argument.value {
        ArgumentValue::Text(text) => vec![text],
        ArgumentValue::List(texts) => texts.iter().map(String::as_str).collect(),
        _ => return true,
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._/:@=,+-".contains(c);
    let Some(found) = texts.iter().flat_map(|text| text.chars()).find(|c| !allowed(*c)) else { return true };
    findings
        .report(
            &codes::UNSAFE_VALUE,
            &argument.path,
            format!("--{} has the character {found:?}, which Dynamo may hand to a shell", argument.name),
        )
        .help("Dynamo values are made of letters, digits and . _ / : @ = , + -");
    false
}
