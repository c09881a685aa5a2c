//! Error messages and source positions for failed evaluations.

use cel::{ExecutionError, Value};
use serde_json::Value as Json;

use super::error::{EvaluationError, EvaluationErrorKind, brief};
use super::input::{self, PathError};
use super::lower::{InputField, variable};
use super::syntax::{Kind, Node};
use kubefoundry_yaml::field_path::Segment;

/// Returns the children of a node that are evaluated in its scope, in order of evaluation. The body of a macro is not
/// one.
pub(super) fn operands(node: &Node) -> Vec<&Node> {
    if node.path.is_some() {
        return Vec::new();
    }
    match &node.kind {
        Kind::List(elements) => elements.iter().collect(),
        Kind::Map(entries) => entries.iter().flat_map(|(key, value)| [key, value]).collect(),
        Kind::Select { operand, .. } | Kind::Not(operand) | Kind::Negate(operand) => vec![operand],
        Kind::Index { operand, index } => vec![operand, index],
        Kind::Binary { left, right, .. } => vec![left, right],
        Kind::Logic { terms, .. } => terms.iter().collect(),
        Kind::Conditional(parts) => parts.iter().collect(),
        Kind::Call(call) => call.arguments.iter().collect(),
        Kind::Macro(parts) => vec![&parts.range],
        _ => Vec::new(),
    }
}

/// Finds the first node that reads a variable.
pub(super) fn find_reader<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    if node.path.is_some() {
        return variable(node).is_some_and(|read| read == name).then_some(node);
    }
    let mut children = operands(node);
    if let Kind::Macro(parts) = &node.kind {
        children.extend(parts.filter.iter());
        children.push(&parts.body);
    }
    children.into_iter().find_map(|child| find_reader(child, name))
}

/// Builds the error for a field that could not be read. It points at the step of the path that failed.
pub(super) fn unreadable_field(input: &Json, field: &InputField, node: &Node) -> EvaluationError {
    let (step, error) = match input::find(input, &field.path) {
        Err(failure) => failure,
        Ok(_) => (0, PathError::Kind),
    };
    let segments = field.path.segments();
    // `node` reads the whole path. Its operands lead back to the node of the step that failed.
    let mut at = node;
    for _ in step + 1..segments.len() {
        if let Kind::Select { operand, .. } | Kind::Index { operand, .. } = &at.kind {
            at = operand;
        }
    }
    let (span, is_field_name) = match &at.kind {
        Kind::Select { field_span, .. } => (*field_span, true),
        Kind::Index { index, .. } => (index.span, false),
        _ => (at.span, true),
    };
    let (kind, message) = match (segments.get(step), error) {
        (Some(Segment::Key(name)), PathError::Key) if step == 0 => {
            (EvaluationErrorKind::MissingVariable, format!("no value was given for `{}`", brief(name)))
        }
        (Some(Segment::Key(name)), PathError::Key) if is_field_name => {
            let message = format!("no such field: `{}`; test it with has() first", brief(name));
            (EvaluationErrorKind::NoSuchField, message)
        }
        (Some(Segment::Key(name)), PathError::Key) => {
            (EvaluationErrorKind::NoSuchField, format!("no such key: {:?}", kubefoundry_yaml::text::shorten(name)))
        }
        (Some(Segment::Index(index)), PathError::Index) => {
            (EvaluationErrorKind::IndexOutOfRange, format!("the list has no element {index}"))
        }
        (Some(Segment::Index(_)), _) => {
            (EvaluationErrorKind::TypeMismatch, "only lists have numbered elements".to_owned())
        }
        _ => (EvaluationErrorKind::TypeMismatch, "only objects and maps have fields".to_owned()),
    };
    EvaluationError::new(kind, span, message)
}

/// Maximum number of values that a message names.
const MAX_NAMED_VALUES: usize = 3;

/// Returns the end of a message that names the types of values, and the values if they are short: `: int 1`.
pub(super) fn describe_values(values: &[Value]) -> String {
    let descriptions: Vec<String> = values.iter().take(MAX_NAMED_VALUES).map(describe_value).collect();
    if descriptions.is_empty() { String::new() } else { format!(": {}", descriptions.join(" and ")) }
}

fn describe_value(value: &Value) -> String {
    let ty = value.type_of();
    match value {
        Value::Bool(value) => format!("{ty} {value}"),
        Value::Int(value) => format!("{ty} {value}"),
        Value::UInt(value) => format!("{ty} {value}"),
        Value::Float(value) => format!("{ty} {value}"),
        Value::String(text) => format!("{ty} {:?}", kubefoundry_yaml::text::shorten(text)),
        _ => ty.to_string(),
    }
}

/// Describes an error of the `cel` crate. The crate's own messages are not used because they contain whole values of
/// any length.
pub(super) fn describe(error: &ExecutionError) -> (EvaluationErrorKind, String) {
    use EvaluationErrorKind as To;
    use ExecutionError as From;
    match error {
        From::NoSuchKey(name) => (To::NoSuchField, format!("no such key: {:?}", kubefoundry_yaml::text::shorten(name))),
        From::IndexOutOfBounds(_) => (To::IndexOutOfRange, "the list has no such element".to_owned()),
        From::DivisionByZero(_) | From::RemainderByZero(_) => (To::DivisionByZero, "division by 0".to_owned()),
        From::Overflow(..) => (To::Overflow, "the result does not fit into a 64-bit integer".to_owned()),
        From::FunctionError { message, .. } if message.contains("overflow") => {
            (To::Overflow, "the number does not fit into a 64-bit integer".to_owned())
        }
        From::FunctionError { function, .. } if function == "matches" => {
            (To::Conversion, "matches() was given a pattern that is not a regular expression, or too large".to_owned())
        }
        From::FunctionError { function, .. } if function == "evaluate" => {
            (To::TypeMismatch, "the rule cannot be evaluated for this input".to_owned())
        }
        From::FunctionError { function, .. } if function == "size" => {
            (To::TypeMismatch, "size() takes a string, list or map".to_owned())
        }
        From::FunctionError { function, .. } => {
            (To::Conversion, format!("{}() cannot convert this value", brief(function)))
        }
        From::UnsupportedBinaryOperator(name, left, right) => {
            let message = format!("a {} and a {} cannot be combined ({name})", left.type_of(), right.type_of());
            (To::TypeMismatch, message)
        }
        From::ValuesNotComparable(left, right) => {
            let message = format!("a {} and a {} cannot be compared", left.type_of(), right.type_of());
            (To::TypeMismatch, message)
        }
        _ => (To::TypeMismatch, "the value has the wrong type".to_owned()),
    }
}
