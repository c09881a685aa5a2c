//! Checks values of flags against the tables and converts them to the types that the launcher takes.

use serde_json::{Number, Value};

use super::user_flags::{UserFlag, UserFlagValue};
use crate::flags::{Flag, Repetition, ValueType};
use crate::invocation::{Argument, ArgumentValue};
use crate::launcher::{Charset, Launcher, ValueForm};
use kubefoundry_deployment::codes;
use kubefoundry_diagnostics::Findings;
use kubefoundry_yaml::text::{closest, shorten};

/// Converts the value of a flag that takes one. Returns `None` after reporting a missing or invalid value.
pub(crate) fn convert_known(
    user_flag: &UserFlag<'_>,
    flag: &Flag,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) -> Option<ArgumentValue> {
    let texts: Vec<&str> = match &user_flag.value {
        UserFlagValue::Absent => {
            findings.report(&codes::INVALID_ARGUMENT_VALUE, &user_flag.path, format!("--{} needs a value", flag.name));
            return None;
        }
        UserFlagValue::Single(text) => vec![text],
        UserFlagValue::Several(texts) => texts.clone(),
    };
    let mut is_valid = true;
    for text in &texts {
        if let Err(problem) = flag.check_value(text) {
            let message = format!("--{} is {:?}, {problem}", flag.name, shorten(text));
            let reported = findings.report(&codes::INVALID_ARGUMENT_VALUE, &user_flag.path, message);
            if let Some(close) = closest(text, flag.choices()) {
                reported.help(format!("did you mean {close:?}?"));
            }
            is_valid = false;
        } else if flag.needs_plugin(text) && !launcher.extra_values.contains(&(flag.name, *text)) {
            report_doubtful(user_flag, flag, text, launcher, findings);
        }
    }
    if !is_valid {
        return None;
    }
    match texts.as_slice() {
        [text] => Some(convert_text(text, flag, launcher.value_form)),
        _ => Some(ArgumentValue::List(texts.iter().map(|text| (*text).to_owned()).collect())),
    }
}

/// The number of known values that a message lists.
const MAX_LISTED_VALUES: usize = 8;

/// Warns about a value that only a plugin could add.
fn report_doubtful(
    user_flag: &UserFlag<'_>,
    flag: &Flag,
    text: &str,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) {
    let known: Vec<&str> = flag.known_values().collect();
    let message =
        format!("--{} is {:?}, which {} does not know without a plugin", flag.name, shorten(text), launcher.program);
    let reported = findings.report(&codes::DOUBTFUL_VALUE, &user_flag.path, message);
    if let Some(close) = closest(text, known.iter().copied()) {
        reported.help(format!("did you mean {close:?}?"));
        return;
    }
    let more = match known.len().saturating_sub(MAX_LISTED_VALUES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let listed = known.iter().take(MAX_LISTED_VALUES).copied().collect::<Vec<_>>().join(", ");
    reported.help(format!("use one of {listed}{more}, or an image with the plugin"));
}

/// Converts the value of a flag that no table has.
pub(crate) fn convert_unknown(text: &str, launcher: &Launcher) -> ArgumentValue {
    match launcher.value_form {
        ValueForm::Keywords => ArgumentValue::Json(json_or_text(text)),
        ValueForm::CommandLine | ValueForm::BareNumbers => ArgumentValue::Text(text.to_owned()),
    }
}

/// Converts a valid text to the type that the launcher takes.
fn convert_text(text: &str, flag: &Flag, form: ValueForm) -> ArgumentValue {
    let as_text = || ArgumentValue::Text(text.to_owned());
    match form {
        // Keyword arguments are Python values: dicts where a command line has JSON text.
        ValueForm::Keywords if flag.repeat == Repetition::List => match json_or_text(text) {
            list @ Value::Array(_) => ArgumentValue::Json(list),
            _ => ArgumentValue::Json(Value::Array(vec![Value::from(text)])),
        },
        ValueForm::Keywords => match flag.value_type {
            ValueType::Integer | ValueType::HumanInteger | ValueType::SiInteger => {
                flag.integer(text).map_or_else(as_text, |value| ArgumentValue::Number(value.into()))
            }
            ValueType::Float => float(text).map_or_else(as_text, ArgumentValue::Number),
            ValueType::Json | ValueType::JsonObject | ValueType::JsonOrText | ValueType::Boolean => {
                ArgumentValue::Json(json_or_text(text))
            }
            ValueType::Text | ValueType::Path => as_text(),
        },
        // A line break would end the argument in the runtime's log and in shells; JSON means the same without it.
        ValueForm::BareNumbers if flag.takes_json() && text.contains(['\n', '\r']) => match json_or_text(text) {
            Value::String(_) => as_text(),
            json => ArgumentValue::Text(json.to_string()),
        },
        ValueForm::BareNumbers => exact_number(text).map_or_else(as_text, ArgumentValue::Number),
        ValueForm::CommandLine => match flag.value_type {
            ValueType::Json | ValueType::JsonObject => ArgumentValue::Json(json_or_text(text)),
            ValueType::JsonOrText => match json_or_text(text) {
                object @ Value::Object(_) => ArgumentValue::Json(object),
                _ => as_text(),
            },
            _ => as_text(),
        },
    }
}

/// Parses JSON, or returns the text as a JSON string.
pub(crate) fn json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// Parses a number that is written again exactly as `text`. YAML would write `1.0` as `1`, so such a number is not
/// exact.
fn exact_number(text: &str) -> Option<Number> {
    let number: Number = serde_json::from_str(text).ok()?;
    (number.to_string() == text && !text.ends_with(".0") && !text.contains('e')).then_some(number)
}

fn float(text: &str) -> Option<Number> {
    exact_number(text).or_else(|| text.parse().ok().and_then(Number::from_f64))
}

/// Reports text with a character that the launcher does not allow ([`Charset`]). Returns whether the argument is
/// acceptable.
pub(crate) fn is_acceptable(argument: &Argument, launcher: &Launcher, findings: &mut Findings<'_>) -> bool {
    let Some(Charset { marks, reason, help }) = launcher.charset else { return true };
    let texts: Vec<&str> = match &argument.value {
        ArgumentValue::Text(text) => vec![text],
        ArgumentValue::List(texts) => texts.iter().map(String::as_str).collect(),
        _ => return true,
    };
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || marks.contains(c);
    let Some(character) = texts.iter().flat_map(|text| text.chars()).find(|c| !is_allowed(*c)) else { return true };
    let message = format!("--{} contains the character {character:?}, {reason}", argument.name);
    findings.report(&codes::UNSAFE_VALUE, &argument.path, message).help(help);
    false
}
