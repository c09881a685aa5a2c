//! Values of flags: checked against the table, and given the type that the launcher wants.

use serde_json::{Number, Value};

use super::flags::{Flag, Repetition, ValueType};
use super::given::{Given, GivenValue};
use super::invocation::{Argument, ArgumentValue};
use super::launcher::{Charset, Launcher, ValueForm};
use crate::codes;
use kubefoundry_diagnostics::Findings;
use kubefoundry_yaml::text::shorten;

/// The value of a valued flag of the table.
pub(super) fn known(
    given: &Given<'_>,
    flag: &Flag,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) -> Option<ArgumentValue> {
    let texts: Vec<&str> = match &given.value {
        GivenValue::Nothing => {
            findings.report(&codes::INVALID_ARGUMENT_VALUE, &given.path, format!("--{} needs a value", flag.name));
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
        [text] => Some(typed(text, flag, launcher.form)),
        _ => Some(ArgumentValue::List(texts.iter().map(|text| (*text).to_owned()).collect())),
    }
}

/// The value of a flag that no table knows.
pub(super) fn unknown(text: &str, launcher: &Launcher) -> ArgumentValue {
    match launcher.form {
        ValueForm::Keywords => ArgumentValue::Json(json_or_text(text)),
        ValueForm::CommandLine | ValueForm::BareNumbers => ArgumentValue::Text(text.to_owned()),
    }
}

fn typed(text: &str, flag: &Flag, form: ValueForm) -> ArgumentValue {
    let plain = || ArgumentValue::Text(text.to_owned());
    match form {
        // Keyword arguments are Python values: dicts where a command line has JSON text.
        ValueForm::Keywords if flag.repeat == Repetition::List => match json_or_text(text) {
            list @ Value::Array(_) => ArgumentValue::Json(list),
            _ => ArgumentValue::Json(Value::Array(vec![Value::from(text)])),
        },
        ValueForm::Keywords => match flag.value_type {
            ValueType::Integer | ValueType::HumanInteger | ValueType::SiInteger => {
                flag.integer(text).map_or_else(plain, |value| ArgumentValue::Number(value.into()))
            }
            ValueType::Float => float(text).map_or_else(plain, ArgumentValue::Number),
            ValueType::Json | ValueType::JsonObject | ValueType::JsonOrText | ValueType::Boolean => {
                ArgumentValue::Json(json_or_text(text))
            }
            ValueType::Text | ValueType::Path => plain(),
        },
        ValueForm::BareNumbers => exact_number(text).map_or_else(plain, ArgumentValue::Number),
        ValueForm::CommandLine => match flag.value_type {
            ValueType::Json | ValueType::JsonObject => ArgumentValue::Json(json_or_text(text)),
            ValueType::JsonOrText => match json_or_text(text) {
                object @ Value::Object(_) => ArgumentValue::Json(object),
                _ => plain(),
            },
            _ => plain(),
        },
    }
}

/// JSON when it is, text when it is not.
pub(super) fn json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// A number whose own text is `text`, also once it is written as YAML, where `1.0` becomes `1`.
fn exact_number(text: &str) -> Option<Number> {
    let number: Number = serde_json::from_str(text).ok()?;
    (number.to_string() == text && !text.ends_with(".0") && !text.contains('e')).then_some(number)
}

fn float(text: &str) -> Option<Number> {
    exact_number(text).or_else(|| text.parse().ok().and_then(Number::from_f64))
}

/// Whether an argument may go to its launcher, which may hold text to some characters.
pub(super) fn is_acceptable(argument: &Argument, launcher: &Launcher, findings: &mut Findings<'_>) -> bool {
    let Some(Charset { marks, reason, help }) = launcher.charset else { return true };
    let texts: Vec<&str> = match &argument.value {
        ArgumentValue::Text(text) => vec![text],
        ArgumentValue::List(texts) => texts.iter().map(String::as_str).collect(),
        _ => return true,
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || marks.contains(c);
    let Some(found) = texts.iter().flat_map(|text| text.chars()).find(|c| !allowed(*c)) else { return true };
    let message = format!("--{} contains the character {found:?}, {reason}", argument.name);
    findings.report(&codes::UNSAFE_VALUE, &argument.path, message).help(help);
    false
}
